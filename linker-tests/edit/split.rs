//! `fatbin split` and `fatbin join`: real libraries in parts and back. An independent reader reads the archives that
//! HIP loads code from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use super::prune::LOAD;
use super::{fatbin, scanned, trial, unzipped};
use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Linker, Tool};
use crate::kpack::archive_py;
use crate::real_files::path_of;
use crate::runtimes::{directories_of, hip_library};

/// Packages, and the patterns of their libraries.
const PACKAGES: [(&str, &str); 6] = [
    ("bitsandbytes", "*cuda12?.so"),
    ("bitsandbytes-windows", "*cuda12?.dll"),
    ("nvjpeg", "*libnvjpeg*"),
    ("pennylane", "*amdgpu_ops*"),
    ("qiskit-aer", "*controller_wrappers*.so"),
    ("rocrand", ""),
];

/// Devices that compare code in archives with code in bundles.
const DEVICES: [&str; 4] =
    ["gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack+", "gfx908:sramecc+:xnack-", "gfx906:sramecc+:xnack-"];

pub fn trials() -> Vec<Trial> {
    let files = PACKAGES.map(|(name, pattern)| {
        trial(format!("split/files/{name}"), move |directory| joins_to_the_identical_file(directory, name, pattern))
    });
    let archives = [("rocrand", ""), ("pennylane", "*amdgpu_ops*")].map(|(name, pattern)| {
        trial(format!("split/kpack/{name}"), move |directory| archives_have_the_same_code(directory, name, pattern))
    });
    let mixed = Linker::ALL.map(|linker| {
        trial(format!("split/mixed/{}", linker.name()), move |directory| mixed_targets_are_found(directory, linker))
    });
    let others = [trial("split/loads".to_owned(), a_split_library_loads), trial("split/dll".to_owned(), splits_a_dll)];
    files.into_iter().chain(archives).chain(mixed).chain(others).collect()
}

fn libraries(directory: &Path, name: &'static str, pattern: &str) -> Result<Vec<PathBuf>> {
    let path = path_of(name)?;
    if pattern.is_empty() { Ok(vec![path]) } else { unzipped(directory, &path, pattern) }
}

fn joins_to_the_identical_file(directory: &Path, name: &'static str, pattern: &str) -> Result<()> {
    for library in libraries(directory, name, pattern)? {
        let parts = directory.join(format!("{}.parts", file_name(&library)?));
        fatbin(directory).arg("split").arg(&library).arg("-o").arg(&parts).run()?;
        // Status 1: there is nothing to find.
        let scan = Step::new(directory, "/bin/sh").args(["-c", "\"$0\" scan \"$1\" || [ $? = 1 ]"]);
        let done = scan.arg(fatbin_program()).arg(parts.join(file_name(&library)?)).run()?;
        ensure!(done.stdout.contains("no device images"), "{}", done.error("device code is left"));
        fatbin(directory).arg("join").arg(&parts).args(["-o", "joined"]).run()?;
        Step::new(directory, "cmp").arg(&library).arg("joined").run()?;
    }
    Ok(())
}

fn file_name(path: &Path) -> Result<&str> {
    path.file_name().and_then(|name| name.to_str()).context("a file name")
}

/// The independent reader finds the same code objects in the archives as `scan` in the library, and HIP's loader finds what its
/// runtime selected from the bundles.
fn archives_have_the_same_code(directory: &Path, name: &'static str, pattern: &str) -> Result<()> {
    for library in libraries(directory, name, pattern)? {
        let (before, _) = scanned(directory, &library)?;
        let is_compressed = before.iter().any(|image| image.container_type == "ccob");
        let mut expected: Vec<(String, String)> = before.into_iter().map(|image| (image.arch, image.sha256)).collect();
        expected.sort();
        for compress in [None, Some("--compress")] {
            let split = fatbin(directory).arg("split").arg(&library).args(["-o", "parts", "--to=kpack"]);
            split.args(compress).run()?;
            fatbin(directory).args(["verify", "parts"]).run()?;
            let mut found: Vec<(String, String)> = code_in_archives(directory)?.into_iter().map(|it| it.1).collect();
            found.sort();
            ensure!(found == expected, "{}: found {found:#?}\nexpected {expected:#?}", library.display());
            let join = fatbin(directory).args(["join", "parts", "-o", "joined"]).run();
            if is_compressed {
                ensure!(join.is_err(), "{}: joined without what it takes", library.display());
            } else {
                join?;
                Step::new(directory, "cmp").arg(&library).arg("joined").run()?;
            }
            std::fs::remove_dir_all(directory.join("parts"))?;
        }
    }
    Ok(())
}

/// Returns the code objects in the archives of a split file: key, arch and SHA-256, as the independent reader lists them.
fn code_in_archives(directory: &Path) -> Result<Vec<(String, (String, String))>> {
    let archives = std::fs::read_dir(directory.join("parts/.kpack"))?.map(|entry| Ok(entry?.path()));
    let archives = archives.collect::<Result<Vec<_>>>()?;
    let done = archive_py(directory)?.arg("read").args(archives).run()?;
    let code = |line: &str| {
        let (rest, sha256) = line.rsplit_once(' ')?;
        let (key, arch) = rest.rsplit_once(' ')?;
        Some((key.to_owned(), (arch.to_owned(), sha256.to_owned())))
    };
    done.stdout.lines().map(code).collect::<Option<_>>().context("a line of the reader")
}

/// Target IDs and machine numbers of the bundles in a library: no two have the same ones.
const BUNDLES: [&[(&str, u8)]; 4] = [
    &[("gfx90a", 0x3f), ("gfx908", 0x30)],
    &[("gfx90a:xnack+", 0x3f)],
    &[("gfx90a", 0x3f), ("gfx906", 0x2f)],
    &[("gfx90a:xnack-", 0x3f), ("gfx90a:xnack+", 0x3f)],
];

/// A library of source files that were compiled for different targets: both generations of the loader find exactly the code
/// that the runtime selected from the bundles.
fn mixed_targets_are_found(directory: &Path, linker: Linker) -> Result<()> {
    link_mixed_targets(directory, linker)?;
    fatbin(directory).args(["split", "libmixed.so", "-o", "parts", "--to=kpack"]).run()?;
    let (before, _) = scanned(directory, &directory.join("libmixed.so"))?;
    let archived: BTreeMap<String, Vec<(String, String)>> =
        code_in_archives(directory)?.into_iter().fold(BTreeMap::new(), |mut all, (key, code)| {
            all.entry(key).or_insert_with(Vec::new).push(code);
            all
        });
    for device in DEVICES {
        let choices = selected(directory, "libmixed.so", device)?["choices"].as_array().context("choices")?.clone();
        let split = selected(directory, "parts/libmixed.so", device)?;
        let code = split["kpack"][0]["devices"][0]["code"].as_array().context("code")?;
        ensure!(choices.len() == BUNDLES.len() && code.len() == BUNDLES.len(), "{device}: {choices:?} {code:?}");
        for (index, (choice, code)) in choices.iter().zip(code).enumerate() {
            let chosen = choice["answers"][0]["chosen"].as_u64();
            let expected = chosen.and_then(|number| before.get(number as usize)).map(|image| image.sha256.as_str());
            for answer in code["answers"].as_array().context("answers")? {
                let arch = answer["arch"].as_str();
                let versions = archived.get(&format!("libmixed.so#{index}")).context("a code object")?;
                let found = arch.and_then(|arch| versions.iter().find(|it| it.0 == arch)).map(|it| it.1.as_str());
                ensure!(found == expected, "{device}, #{index}: {answer}, expected {expected:?}");
            }
        }
    }
    fatbin(directory).args(["join", "parts", "-o", "joined"]).run()?;
    Step::new(directory, "cmp").args(["libmixed.so", "joined"]).run()?;
    loads(directory, &directory.join("parts/libmixed.so"), String::new())
}

/// Links `libmixed.so` from a wrapper object for each bundle.
fn link_mixed_targets(directory: &Path, linker: Linker) -> Result<()> {
    let mut objects = Vec::new();
    for (number, targets) in BUNDLES.into_iter().enumerate() {
        let mut bundle = fatbin(directory).args(["bundle", "--raw", "--type=o", "--align=4096"]);
        bundle = bundle.args(["-o", &format!("{number}.hipfb"), "--target=host-x86_64-unknown-linux-gnu=/dev/null"]);
        for (id, machine) in targets {
            let mut code = std::fs::read(fixture("answer-gfx90a.hsaco")?)?;
            // Different bytes for each: the padding of the ELF header's identification.
            (code[48], code[15]) = (*machine, u8::try_from(number)?);
            // Setting of xnack in e_flags: any, off, on.
            code[49] = if id.ends_with('+') {
                0x07
            } else if id.ends_with('-') {
                0x06
            } else {
                0x05
            };
            let name = format!("{number}.{id}");
            std::fs::write(directory.join(&name), code)?;
            bundle = bundle.arg(format!("--target=hipv4-amdgcn-amd-amdhsa--{id}={name}"));
        }
        bundle.run()?;
        let object = format!("{number}.o");
        let entry = format!("--entry=kernel{number}=stub");
        fatbin(directory)
            .args(["wrap", "--kind=hip", "--allow-missing-kernels", &entry, "-o", &object, &format!("{number}.hipfb")])
            .run()?;
        objects.push(object);
    }
    std::fs::write(directory.join("stub.c"), STUB)?;
    let link = Step::new(directory, Tool::Cc.path()?).args(linker.cc_flags()?);
    link.args(["-fPIC", "-shared", "-o", "libmixed.so", "stub.c"]).args(objects).run().map(|_| ())
}

/// A host program for the wrapper objects: the functions that they call, without a runtime.
const STUB: &str = "
void stub(void) {}
void **__hipRegisterFatBinary(const void *data) { return 0; }
void __hipUnregisterFatBinary(void **handle) {}
int __hipRegisterFunction() { return 0; }
void __hipRegisterVar() {}
void __hipRegisterManagedVar() {}
void __hipRegisterSurface() {}
void __hipRegisterTexture() {}
";

/// Returns what `select` answers for a file.
fn selected(directory: &Path, file: &str, device: &str) -> Result<Value> {
    let select = "\"$0\" select --json --device \"$1\" \"$2\" || [ $? = 1 ]";
    let done = Step::new(directory, "/bin/sh").args(["-c", select, fatbin_program(), device, file]).run()?;
    let document: Value = serde_json::from_str(&done.stdout)?;
    Ok(document["files"][0].clone())
}

/// A library without its device code still loads and unloads, also with the real runtime.
fn a_split_library_loads(directory: &Path) -> Result<()> {
    let hip = directories_of(&[&hip_library("5")?]);
    for format in ["files", "kpack"] {
        let rocrand = path_of("rocrand")?;
        fatbin(directory).arg("split").arg(&rocrand).args(["-o", format, "--format", format]).run()?;
        loads(directory, &directory.join(format).join(file_name(&rocrand)?), hip.clone())?;
    }
    let nvjpeg = unzipped(directory, &path_of("nvjpeg")?, "*libnvjpeg*")?;
    let library = nvjpeg.first().context("a library")?;
    fatbin(directory).arg("split").arg(library).args(["-o", "nvjpeg"]).run()?;
    loads(directory, &directory.join("nvjpeg").join(file_name(library)?), String::new())
}

fn loads(directory: &Path, library: &Path, directories: String) -> Result<()> {
    std::fs::write(directory.join("load.c"), LOAD)?;
    Step::new(directory, Tool::Cc.path()?).args(["load.c", "-o", "load"]).run()?;
    let load = Step::new(directory, directory.join("load")).arg(library);
    load.env("LD_LIBRARY_PATH", directories).run().map(|_| ())
}

/// Wrappers of a DLL, whose sections have names of eight bytes.
fn splits_a_dll(directory: &Path) -> Result<()> {
    let code = fixture("answer-gfx90a.hsaco")?;
    let wrap = fatbin(directory).args([
        "wrap",
        "--kind=hip",
        "--host=x86_64-pc-windows-msvc",
        "--allow-missing-kernels",
        "--entry=kernel=stub",
    ]);
    wrap.args(["-o", "wrapper.obj"]).arg(code).run()?;
    // Without a C library.
    std::fs::write(directory.join("stub.c"), format!("{STUB}int atexit(void (*function)(void)) {{ return 0; }}\n"))?;
    let clang = Step::new(directory, Tool::Clang.path()?).args(["--target=x86_64-pc-windows-msvc", "-c", "stub.c"]);
    clang.args(["-o", "stub.obj"]).run()?;
    let link = Step::new(directory, Tool::LldLink.path()?).args(["/dll", "/noentry", "/out:x.dll", "/nodefaultlib"]);
    link.args(["stub.obj", "wrapper.obj"]).run()?;
    fatbin(directory).args(["split", "x.dll", "-o", "parts", "--to=kpack"]).run()?;
    fatbin(directory).args(["verify", "parts"]).run()?;
    fatbin(directory).args(["select", "--device=gfx90a", "parts/x.dll"]).run()?;
    fatbin(directory).args(["join", "parts", "-o", "joined"]).run()?;
    Step::new(directory, "cmp").args(["x.dll", "joined"]).run().map(|_| ())
}
