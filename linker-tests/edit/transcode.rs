//! `fatbin transcode` and `fatbin replace`: real libraries whose containers get other forms, read by the vendors' tools, and
//! containers of these tools in both forms.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use super::{Found, fatbin, scanned, trial, unzipped};
use crate::harness::directives::fixture;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, llvm_tool};
use crate::real_files::path_of;

/// Libraries with CUDA: the package, and the pattern of the library.
const CUDA: [(&str, &str); 2] = [("bitsandbytes", "*cuda128.so"), ("nvjpeg", "*libnvjpeg*")];

/// Libraries with bundles, and the release of the bundler that accepts their IDs: ROCm 5 names the host by three parts of a
/// triple.
const HIP: [(&str, &str, &str); 2] = [("pennylane", "*amdgpu_ops*", "22"), ("rocrand", "", "19")];

/// Names of entries of bundles.
const HOST: &str = "host-x86_64-unknown-linux-gnu-";
const TARGETS: [&str; 2] = ["hip-amdgcn-amd-amdhsa--gfx90a:xnack+", "hip-amdgcn-amd-amdhsa--gfx942"];

pub fn trials() -> Vec<Trial> {
    let cuda = CUDA.map(|(package, pattern)| {
        trial(format!("transcode/cuda/{package}"), move |directory| cuda_library(directory, package, pattern))
    });
    let hip = HIP.map(|(package, pattern, release)| {
        trial(format!("transcode/hip/{package}"), move |directory| hip_library(directory, package, pattern, release))
    });
    let other = [
        trial("transcode/bundler".to_owned(), bundles_of_the_bundler),
        trial("transcode/fatbinary".to_owned(), containers_of_fatbinary),
        trial("transcode/offload-binary".to_owned(), offload_binaries_of_the_tool),
        trial("replace/cuobjdump".to_owned(), a_replaced_text),
    ];
    cuda.into_iter().chain(hip).chain(other).collect()
}

fn library(directory: &Path, package: &'static str, pattern: &str) -> Result<PathBuf> {
    let path = path_of(package)?;
    if pattern.is_empty() {
        return Ok(path);
    }
    unzipped(directory, &path, pattern)?.into_iter().next().context("a library in the package")
}

/// Returns the images without their offsets.
fn images(directory: &Path, path: &Path) -> Result<Vec<(String, String, String)>> {
    let (found, done) = scanned(directory, path)?;
    ensure!(!found.is_empty(), "{}", done.error("no images"));
    Ok(found.into_iter().map(|Found { arch, image, sha256, .. }| (arch, image, sha256)).collect())
}

/// Returns the contents of all files that cuobjdump extracts, by their number and extension.
fn extracted(directory: &Path, library: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let out = directory.join("extracted");
    std::fs::create_dir(&out)?;
    for option in ["-xelf", "-xptx"] {
        // Without -all, relocatable device code is skipped.
        Step::new(&out, Tool::Cuobjdump.path()?).args(["-all", option, "all"]).arg(library).run()?;
    }
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(&out)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).context("a name")?;
        // LIBRARY.NUMBER.ARCH.EXTENSION
        let parts: Vec<&str> = name.rsplitn(4, '.').take(3).collect();
        files.insert(parts.join("."), std::fs::read(&path)?);
    }
    std::fs::remove_dir_all(out)?;
    ensure!(!files.is_empty(), "cuobjdump extracts nothing from {}", library.display());
    Ok(files)
}

/// In every codec, cuobjdump extracts the same files.
fn cuda_library(directory: &Path, package: &'static str, pattern: &str) -> Result<()> {
    let library = library(directory, package, pattern)?;
    let (expected, ours) = (extracted(directory, &library)?, images(directory, &library)?);
    for form in ["zstd", "lz4", "zstd --level 19"] {
        let new = directory.join("new.so");
        let done = fatbin(directory)
            .args(["transcode", "--to"])
            .args(form.split(' '))
            .arg(&library)
            .args(["-o", "new.so"])
            .run()?;
        ensure!(images(directory, &new)? == ours, "{}", done.error("other images"));
        let found = extracted(directory, &new)?;
        ensure!(found == expected, "{}", done.error(format!("cuobjdump extracts {} other files", found.len())));
        let sizes = [&library, &new].map(|path| std::fs::metadata(path).map(|it| it.len()));
        ensure!(sizes[0].as_ref().ok() == sizes[1].as_ref().ok(), "{}", done.error("another size"));
    }
    // To LZ4 and back to LZ4 of the other: the same bytes, because the encoder is the same.
    for (form, from, to) in [("lz4", "new.so", "one.so"), ("zstd", "one.so", "two.so"), ("lz4", "two.so", "three.so")] {
        fatbin(directory).args(["transcode", "--to", form, from, "-o", to]).run()?;
    }
    let [one, three] = ["one.so", "three.so"].map(|name| std::fs::read(directory.join(name)));
    ensure!(one? == three?, "LZ4 by way of zstd has other bytes");
    Ok(())
}

/// Returns range and type of each outermost container of a file.
fn containers(directory: &Path, path: &Path) -> Result<Vec<(usize, usize, Vec<String>)>> {
    let done = fatbin(directory).args(["scan", "--json"]).arg(path).run()?;
    let document: Value = serde_json::from_str(&done.stdout)?;
    let containers = document["files"][0]["containers"].as_array().context("containers")?;
    containers
        .iter()
        .map(|container| {
            let number = |name: &str| container[name].as_u64().map(|it| it as usize).context("a number");
            let ids = container["images"].as_array().context("images")?.iter();
            let ids = ids.filter_map(|image| image["id"].as_str()).filter(|id| !id.starts_with("host-"));
            Ok((number("offset")?, number("size")?, ids.map(str::to_owned).collect()))
        })
        .collect()
}

/// Returns what the bundler unbundles from the containers of a file, one after another.
fn unbundled(directory: &Path, path: &Path, release: &str) -> Result<Vec<Vec<u8>>> {
    let tool = llvm_tool("clang-offload-bundler", release, &format!("clang-tools-{release}"))?;
    let bytes = std::fs::read(path)?;
    let mut images = Vec::new();
    for (offset, size, ids) in containers(directory, path)? {
        std::fs::write(directory.join("bundle"), &bytes[offset..offset + size])?;
        let step = Step::new(directory, &tool).args(["-type=o", "-unbundle", "-input=bundle"]);
        let outputs = (0..ids.len()).map(|index| format!("-output=image{index}"));
        step.arg(format!("-targets={}", ids.join(","))).args(outputs).run()?;
        for index in 0..ids.len() {
            images.push(std::fs::read(directory.join(format!("image{index}")))?);
        }
    }
    ensure!(!images.is_empty(), "no images in {}", path.display());
    Ok(images)
}

/// Bundles are compressed in place; the bundler reads them, and back they are the same bytes.
fn hip_library(directory: &Path, package: &'static str, pattern: &str, release: &str) -> Result<()> {
    let library = library(directory, package, pattern)?;
    let (expected, ours) = (unbundled(directory, &library, release)?, images(directory, &library)?);
    // Release 19 reads version 2.
    for form in if release == "19" { &["ccob2"][..] } else { &["ccob2", "ccob3", "ccob3,zlib"] } {
        let new = directory.join("new.so");
        let done = fatbin(directory).args(["transcode", "--to", form]).arg(&library).args(["-o", "new.so"]).run()?;
        ensure!(images(directory, &new)? == ours, "{}", done.error("other images"));
        ensure!(unbundled(directory, &new, release)? == expected, "{}", done.error("the bundler has other images"));
        fatbin(directory).args(["transcode", "--to", "plain", "new.so", "-o", "back.so"]).run()?;
        ensure!(
            std::fs::read(directory.join("back.so"))? == std::fs::read(&library)?,
            "{}",
            done.error("not the same back")
        );
    }
    Ok(())
}

/// The bundler's own bundles, plain and compressed, in the other form.
fn bundles_of_the_bundler(directory: &Path) -> Result<()> {
    let tool = Tool::OffloadBundler.path()?;
    let inputs = [
        fixture("answer-gfx90a-xnack+.hsaco")?,
        fixture("answer-gfx942.hsaco").or_else(|_| fixture("answer-gfx90a.hsaco"))?,
    ];
    let bundle = |name: &str, options: &[&str]| {
        let step =
            Step::new(directory, &tool).args(["-type=o", "-bundle-align=4096", "-input=/dev/null"]).args(options);
        let inputs = inputs.iter().map(|path| format!("-input={}", path.display()));
        step.args(inputs).arg(format!("-targets={HOST},{}", TARGETS.join(","))).arg(format!("-output={name}")).run()
    };
    bundle("plain", &[])?;
    bundle("compressed", &["-compress"])?;
    let read = |name: &str| std::fs::read(directory.join(name));
    let transcode =
        |form: &str, from: &str, to: &str| fatbin(directory).args(["transcode", "--to", form, from, "-o", to]).run();
    let done = transcode("plain", "compressed", "ours")?;
    ensure!(read("ours")? == read("plain")?, "{}", done.error("not the bundle that was compressed"));
    for form in ["ccob2", "ccob3"] {
        let done = transcode(form, "plain", "ours")?;
        for (target, input) in TARGETS.iter().zip(&inputs) {
            let step = Step::new(directory, &tool).args(["-type=o", "-unbundle", "-input=ours", "-output=image"]);
            step.arg(format!("-targets={target}")).run()?;
            ensure!(read("image")? == std::fs::read(input)?, "{}", done.error(format!("{target} differs")));
        }
    }
    // The tool's stream in the other version.
    transcode("ccob2", "compressed", "ours")?;
    let done = transcode("ccob3", "ours", "back")?;
    ensure!(read("back")? == read("compressed")?, "{}", done.error("the stream has changed"));
    Ok(())
}

/// Containers of fatbinary in each of its modes: from one to the other the bytes are the tool's.
fn containers_of_fatbinary(directory: &Path) -> Result<()> {
    let tool = Tool::Fatbinary.path()?;
    let cubin = fixture("answer-sm_90.cubin")?;
    let ptx = ".version 8.8\n.target sm_100f\n.address_size 64\n.visible .entry kernel()\n{\n\tret;\n}\n";
    std::fs::write(directory.join("a.ptx"), ptx)?;
    for (name, options) in [
        ("none", &["--compress-mode=none"][..]),
        ("zstd", &["--compress-all"]),
        ("size", &["--compress-mode=size", "--compress-all"]),
        ("lz4", &["--compress-mode=speed", "--compress-all"]),
    ] {
        let step = Step::new(directory, &tool).args(["--64", "--ident=src/a.cu", "--cmdline=-v"]).args(options);
        let cubin = format!("--image3=kind=elf,sm=90,file={}", cubin.display());
        step.args([&cubin, "--image3=kind=ptx,sm=100f,file=a.ptx", &format!("--create={name}")]).run()?;
    }
    let read = |name: &str| std::fs::read(directory.join(name));
    for from in ["none", "zstd", "size", "lz4"] {
        for (to, form) in
            [("none", "none"), ("zstd", "zstd --level 5"), ("size", "zstd --level 19"), ("lz4", "lz4 --level 3")]
        {
            let done =
                fatbin(directory).args(["transcode", "--to"]).args(form.split(' ')).args([from, "-o", "ours"]).run()?;
            ensure!(
                read("ours")? == read(to)?,
                "{}",
                done.error(format!("{from} to {to} is not what fatbinary writes"))
            );
        }
    }
    Ok(())
}

/// Offload binaries of the tool in newer versions and back.
fn offload_binaries_of_the_tool(directory: &Path) -> Result<()> {
    let tool = Tool::OffloadBinary.path()?;
    let (amd, nvidia) = (fixture("answer-gfx90a.hsaco")?, fixture("answer-sm_90.cubin")?);
    let images = [
        format!("--image=file={},triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=openmp", amd.display()),
        format!("--image=file={},triple=nvptx64-nvidia-cuda,arch=sm_90,kind=cuda", nvidia.display()),
    ];
    Step::new(directory, &tool).args(["-o", "packed"]).args(&images).run()?;
    let read = |name: &str| std::fs::read(directory.join(name));
    for form in ["v2", "v3", "v3,zstd", "v3,zlib"] {
        let done = fatbin(directory).args(["transcode", "--to", form, "packed", "-o", "new"]).run()?;
        fatbin(directory).args(["transcode", "--to", "v1", "new", "-o", "back"]).run()?;
        for (target, input) in [("arch=gfx90a", &amd), ("arch=sm_90", &nvidia)] {
            Step::new(directory, &tool).args(["back", &format!("--image=file=image,{target}")]).run()?;
            ensure!(read("image")? == std::fs::read(input)?, "{}", done.error(format!("{target} differs")));
        }
        // The order of the tool's strings is kept, and its string table has the same layout.
        ensure!(read("back")? == read("packed")?, "{}", done.error("back in version 1 it is not the same"));
    }
    Ok(())
}

/// A text replaced in a linked library, which cuobjdump extracts with all others.
fn a_replaced_text(directory: &Path) -> Result<()> {
    let library = library(directory, "qiskit-aer", "*controller_wrappers*.so")?;
    let expected = extracted(directory, &library)?;
    let (found, done) = scanned(directory, &library)?;
    let number = found.iter().position(|image| image.image == "ptx").with_context(|| done.error("no PTX"))?;
    fatbin(directory).arg("extract").arg(&library).args(["-o", "images"]).run()?;
    let name = std::fs::read_dir(directory.join("images"))?.flatten().map(|entry| entry.path());
    let is_it = |path: &PathBuf| path.to_string_lossy().contains(&format!(".{number}-cuda-"));
    let old = name.into_iter().find(is_it).context("the text")?;
    let text = std::fs::read_to_string(&old)? + "// a line\n";
    std::fs::write(directory.join("new.ptx"), &text)?;
    let run = fatbin(directory).args(["replace", "--image", &format!("{number}=new.ptx")]).arg(&library);
    let done = run.args(["-o", "new.so"]).run()?;
    let found = extracted(directory, &directory.join("new.so"))?;
    let changed: Vec<_> = expected.iter().filter(|(name, bytes)| found.get(*name) != Some(bytes)).collect();
    ensure!(
        found.len() == expected.len() && changed.len() == 1,
        "{}",
        done.error(format!("{} changed", changed.len()))
    );
    let new = found.get(changed[0].0).context("the new text")?;
    ensure!(new.starts_with(text.as_bytes()), "{}", done.error("cuobjdump extracts another text"));
    Ok(())
}
