//! `fatbin prune`: what is left of real libraries, as the vendors' tools see it, and programs that run afterwards.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use super::{Found, fatbin, scanned, trial, unzipped};
use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, llvm_tool};
use crate::harness::wine::wine;
use crate::real_files::path_of;
use crate::runtimes::{HOST, directories_of, hip_library, openmp_library};

/// A real package: the pattern of its libraries, and the devices to keep.
struct Package {
    name: &'static str,
    pattern: &'static str,
    devices: [&'static str; 2],
}

/// Libraries with CUDA, with HIP, and with both.
const PACKAGES: [Package; 6] = [
    Package { name: "bitsandbytes", pattern: "*cuda*.so", devices: ["sm_86", "sm_90"] },
    Package { name: "bitsandbytes-windows", pattern: "*cuda*.dll", devices: ["sm_75", "sm_89"] },
    Package { name: "qiskit-aer", pattern: "*controller_wrappers*.so", devices: ["sm_86", "sm_75"] },
    Package { name: "nvjpeg", pattern: "*libnvjpeg*", devices: ["sm_86", "sm_100"] },
    Package { name: "pennylane", pattern: "*amdgpu_ops*", devices: ["gfx942", "gfx90a"] },
    Package { name: "rocrand", pattern: "", devices: ["gfx90a", "gfx1030"] },
];

pub fn trials() -> Vec<Trial> {
    let packages = PACKAGES.iter().map(|package| {
        trial(format!("prune/{}", package.name), move |directory| leaves_what_devices_need(directory, package))
    });
    let releases = ["15", "19", "22"]
        .map(|release| trial(format!("prune/openmp-{release}"), move |directory| openmp_runs(directory, release)));
    packages
        .chain(releases)
        .chain([
            trial("prune/dali".to_owned(), ptx_is_the_only_way),
            trial("prune/cublas".to_owned(), lower_minor_versions_are_kept),
            trial("prune/loads".to_owned(), libraries_load),
            trial("prune/openmp-windows".to_owned(), windows_registers_the_rest),
        ])
        .collect()
}

/// A library with cubins of CUDA 12.1 that cuobjdump rejects, pruned or not. It reads no DLL either.
const GIVES_UP_ON: &str = "libbitsandbytes_cuda121.so";

fn libraries(directory: &Path, package: &Package) -> Result<Vec<PathBuf>> {
    let path = path_of(package.name)?;
    if package.pattern.is_empty() { Ok(vec![path]) } else { unzipped(directory, &path, package.pattern) }
}

/// Pruned to one and to two devices, a library has exactly the images that `select` answers, at the same places and with the
/// same bytes, and the vendors' tools list the same.
fn leaves_what_devices_need(directory: &Path, package: &Package) -> Result<()> {
    for library in libraries(directory, package)? {
        let (before, _) = scanned(directory, &library)?;
        for devices in [&package.devices[..1], &package.devices[..]] {
            let expected = needed(directory, &library, &before, devices)?;
            let prune = fatbin(directory).args(["prune", "--device", &devices.join(",")]);
            let done = prune.arg(&library).args(["-o", "pruned"]).run()?;
            let (after, _) = scanned(directory, Path::new("pruned"))?;
            ensure!(after == expected, "{}", done.error(format!("left: {after:#?}\nexpected: {expected:#?}")));
            fatbin(directory).args(["verify", "pruned"]).run()?;
            let (old, new) = (std::fs::metadata(&library)?.len(), std::fs::metadata(directory.join("pruned"))?.len());
            ensure!(old == new, "{}", done.error("the size of a linked file has changed"));
            let is_readable = package.name != "bitsandbytes-windows" && !library.ends_with(GIVES_UP_ON);
            match after.first().map(|image| image.container_type.as_str()) {
                Some("cuda-fatbin") if is_readable => cuobjdump_lists(directory, &after)?,
                Some("cuda-fatbin") => {}
                _ => bundler_lists(directory, &after, package)?,
            }
        }
    }
    Ok(())
}

/// Reason of `fatbin select` against the input of a device link whose output runs.
const RELOCATABLE: &str = "relocatable code, which the driver links only where no linked code runs";

/// Reason of `fatbin select` against a container that nothing registers.
const UNREGISTERED: &str = "no wrapper registers its container";

/// Returns the images that `fatbin select` selects from each container on some device, and the input of device links that
/// runs there.
fn needed(directory: &Path, library: &Path, before: &[Found], devices: &[&str]) -> Result<Vec<Found>> {
    let mut needed = BTreeSet::new();
    for device in devices {
        // Status 1 if there is a container without code for the device.
        let select = "\"$0\" select --json --device \"$1\" \"$2\" || [ $? = 1 ]";
        let shell = Step::new(directory, "/bin/sh").args(["-c", select, fatbin_program(), device]);
        let done = shell.arg(library).run()?;
        let document: Value = serde_json::from_str(&done.stdout)?;
        let choices = document["files"][0]["choices"].as_array().context("choices")?;
        for choice in choices {
            for answer in choice["answers"].as_array().context("answers")? {
                for image in answer["images"].as_array().context("images")? {
                    let is_linked_later = image["reason"] == RELOCATABLE && is_linked_for(device, image)?;
                    // A program may pass a container that nothing registers to the driver by itself.
                    let is_unregistered = image["reason"] == UNREGISTERED && image["image"] == "elf";
                    let may_be_loaded = is_unregistered && image["arch"] == *device;
                    if image["chosen"] == true || is_linked_later || may_be_loaded {
                        needed.insert(image["index"].as_u64().context("an index")?);
                    }
                }
            }
        }
    }
    let images = before.iter().enumerate().filter(|(number, _)| needed.contains(&(*number as u64)));
    Ok(images.map(|(_, image)| image.clone()).collect())
}

/// Returns whether nvlink takes an image for a device: a cubin of the same major and no later minor version, or PTX of no later
/// version.
fn is_linked_for(device: &str, image: &Value) -> Result<bool> {
    let number = |name: &str| name.trim_start_matches("sm_").parse::<u32>().ok();
    let (Some(device), Some(own)) = (number(device), image["arch"].as_str().and_then(number)) else { return Ok(false) };
    let is_near = image["image"] == "ptx" || own / 10 == device / 10;
    Ok(is_near && own <= device)
}

/// Compares with NVIDIA's lists of cubins and PTX.
fn cuobjdump_lists(directory: &Path, after: &[Found]) -> Result<()> {
    for (option, image) in [("-lelf", "elf"), ("-lptx", "ptx")] {
        let step = Step::new(directory, Tool::Cuobjdump.path()?).args(["-all", option, "pruned"]).run();
        let mut expected: Vec<&str> =
            after.iter().filter(|it| it.image == image).map(|image| image.arch.as_str()).collect();
        if expected.is_empty() {
            // Some releases end with status 255 if there is nothing to list.
            continue;
        }
        let done = step?;
        let mut listed: Vec<&str> = done.stdout.lines().filter_map(|line| line.rsplit('.').nth(1)).collect();
        listed.sort_unstable();
        expected.sort_unstable();
        ensure!(listed == expected, "{}", done.error(format!("fatbin finds {expected:?}")));
    }
    Ok(())
}

/// Compares with the list that clang-offload-bundler makes of each bundle, cut out at the offsets of `fatbin scan`.
fn bundler_lists(directory: &Path, after: &[Found], package: &Package) -> Result<()> {
    let tool = match package.name {
        // ROCm 5 names the host by three parts of a triple, which release 22 rejects.
        "rocrand" => llvm_tool("clang-offload-bundler", "19", "clang-tools-19")?,
        _ => Tool::OffloadBundler.path()?,
    };
    let bytes = std::fs::read(directory.join("pruned"))?;
    for bundle in after.chunk_by(|one, other| one.container == other.container) {
        std::fs::write(directory.join("bundle"), &bytes[usize::try_from(bundle[0].container)?..])?;
        let done = Step::new(directory, &tool).args(["-type=o", "-list", "-input=bundle"]).run()?;
        let listed: Vec<&str> = done.stdout.lines().filter(|id| !id.starts_with("host")).collect();
        let is_listed = |(id, image): (&&str, &Found)| id.ends_with(&format!("-{}", image.arch));
        let is_equal = listed.len() == bundle.len() && listed.iter().zip(bundle).all(is_listed);
        ensure!(is_equal, "{}", done.error(format!("fatbin finds {bundle:?}")));
    }
    Ok(())
}

/// DALI pruned by name and lost its way to newer devices: of a translation unit without machine code, PTX for an earlier
/// processor is all that there is.
fn ptx_is_the_only_way(directory: &Path) -> Result<()> {
    library(directory, &[&["sm_75.cubin", "sm_80.cubin"], &["sm_75.ptx"]])?;
    let by_name = fatbin(directory).args(["prune", "--keep", "sm_80", "library.so", "-o", "by-name.so"]).run()?;
    ensure!(by_name.report.contains("sm_75 loses 2 images"), "{}", by_name.error("no warning"));
    let of = |library| served(directory, library, "sm_80");
    ensure!((of("library.so")?, of("by-name.so")?) == (2, 1), "pruning by name loses a container");
    fatbin(directory).args(["prune", "--device", "sm_80", "library.so", "-o", "for-device.so"]).run()?;
    ensure!(of("for-device.so")? == 2, "a container is without code");
    let (left, done) = scanned(directory, Path::new("for-device.so"))?;
    let left: Vec<(&str, &str)> = left.iter().map(|image| (image.arch.as_str(), image.image.as_str())).collect();
    ensure!(left == [("sm_80", "elf"), ("sm_75", "ptx")], "{}", done.error("left"));
    Ok(())
}

/// cuBLAS on a device of 8.6 runs the code for 8.0 where it has no other: NVIDIA's guide for nvprune names both for
/// that reason.
fn lower_minor_versions_are_kept(directory: &Path) -> Result<()> {
    library(directory, &[&["sm_80.cubin", "sm_86.cubin"], &["sm_75.cubin", "sm_80.cubin", "sm_90.cubin"]])?;
    fatbin(directory).args(["prune", "--keep", "sm_86", "library.so", "-o", "by-name.so"]).run()?;
    let of = |library| served(directory, library, "sm_86");
    ensure!((of("library.so")?, of("by-name.so")?) == (2, 1), "pruning by name loses a container");
    fatbin(directory).args(["prune", "--device", "sm_86", "library.so", "-o", "for-device.so"]).run()?;
    ensure!(of("for-device.so")? == 2, "a container is without code");
    let (left, done) = scanned(directory, Path::new("for-device.so"))?;
    let left: Vec<&str> = left.iter().map(|image| image.arch.as_str()).collect();
    ensure!(left == ["sm_86", "sm_80"], "{}", done.error("left"));
    Ok(())
}

/// Links a library with CUDA fat binaries of these images, each named by processor and form, and registered by a wrapper.
fn library(directory: &Path, fat_binaries: &[&[&str]]) -> Result<()> {
    let ptx = String::from_utf8(std::fs::read(fixture("answer-sm_80.ptx")?)?)?;
    let mut objects = Vec::new();
    for (number, images) in fat_binaries.iter().enumerate() {
        let pack = format!("{number}.fatbin");
        let mut step = fatbin(directory).args(["pack", "--kind", "cuda", "-o", &pack]);
        for image in *images {
            let (arch, form) = image.split_once('.').context("an image is named ARCH.FORM")?;
            std::fs::write(
                directory.join("source.ptx"),
                ptx.replace("sm_80", arch).replace(".version 7.0", ".version 8.0"),
            )?;
            if form == "ptx" {
                std::fs::copy(directory.join("source.ptx"), directory.join(image))?;
            } else {
                let ptxas = Step::new(directory, Tool::Ptxas.path()?).args(["-arch", arch, "source.ptx", "-o"]);
                ptxas.arg(image).run()?;
            }
            step = step.arg(image);
        }
        step.run()?;
        let object = format!("{number}.o");
        fatbin(directory).args(["wrap", "--kind", "cuda", "-o", &object, &pack]).run()?;
        objects.push(object);
    }
    let link = Step::new(directory, Tool::Cc.path()?).args(["-shared", "-o", "library.so"]).args(objects);
    link.run().map(drop)
}

/// Returns the number of containers that have code for a device.
fn served(directory: &Path, library: &str, device: &str) -> Result<usize> {
    let done = fatbin(directory).args(["select", "--json", "--device", device, library]).run()?;
    Ok(done.stdout.matches("\"chosen\": true").count())
}

/// A program with images for three processors keeps only the host's image, and runs its region under libomptarget. It
/// is linked at a fixed address or not, with pointers in plain or in packed relocations.
fn openmp_runs(directory: &Path, release: &'static str) -> Result<()> {
    let libomp = openmp_library(release, "libomp.so.5")?;
    let libomptarget = openmp_library(release, &format!("libomptarget.so.{release}"))?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/cases/openmp/main.c");
    let clang = || -> Result<Step> {
        let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
        let step = Step::new(directory, clang).args(["-O1", "-fPIE", "-fPIC", "-fopenmp", "-c", "-DMARKER=41"]);
        Ok(step.arg(format!("-fopenmp-targets={HOST}")).arg(&source))
    };
    clang()?.args(["--offload-host-only", "-o", "host.o"]).run()?;
    clang()?.args(["--offload-device-only", "-o", "device.o"]).run()?;
    Step::new(directory, Tool::Cc.path()?).args(["-shared", "-o", "device.so", "device.o"]).run()?;
    let [gfx90a, sm_90] =
        ["answer-gfx90a.hsaco", "answer-sm_90.cubin"].map(|name| fixture(name).map(|it| it.display().to_string()));
    let images = [
        format!("--image=file={},triple=amdgcn-amd-amdhsa,arch=gfx90a", gfx90a?),
        format!("--image=file=device.so,triple={HOST}"),
        format!("--image=file={},triple=nvptx64-nvidia-cuda,arch=sm_90", sm_90?),
    ];
    let abi = format!("llvm{release}");
    fatbin(directory).args(["wrap", "--kind", "openmp", "--abi", &abi, "-o", "wrapper.o"]).args(images).run()?;
    for form in [&["-pie"][..], &["-no-pie"], &["-pie", "-Wl,-z,pack-relative-relocs"]] {
        let link = Step::new(directory, Tool::Cc.path()?).args(form).args(["-o", "program", "host.o", "wrapper.o"]);
        link.arg("-Wl,--no-as-needed").args([&libomp, &libomptarget]).run()?;
        fatbin(directory).args(["prune", "--device", "x86_64", "program", "-o", "pruned"]).run()?;
        let (left, done) = scanned(directory, Path::new("pruned"))?;
        ensure!(left.len() == 1, "{}", done.error("expected one image"));
        Step::new(directory, "/bin/chmod").args(["+x", "pruned"]).run()?;
        let run = Step::new(directory, directory.join("pruned"));
        let run = run.env("LD_LIBRARY_PATH", directories_of(&[&libomp, &libomptarget]));
        let done = run.env("OMP_TARGET_OFFLOAD", "MANDATORY").run()?;
        ensure!(done.stdout.starts_with("device wrote 41,"), "{}", done.error("the region did not run"));
        let listed = Step::new(directory, Tool::Objdump.path()?).args(["--offloading", "pruned"]).run()?;
        let count = listed.stdout.matches("OFFLOADING IMAGE").count();
        ensure!(count == 1, "{}", listed.error("expected one image"));
    }
    Ok(())
}

/// A stand-in for libomptarget that prints the first bytes and the size of each image.
const REGISTER: &str = r#"
#include <stdio.h>
struct image { unsigned char *start, *end; void *entries[2]; };
struct descriptor { int count; struct image *images; void *entries[2]; };
void __tgt_register_lib(struct descriptor *it) {
    for (int i = 0; i < it->count; i++)
        printf("%02x%c%c%c %d\n", it->images[i].start[0], it->images[i].start[1], it->images[i].start[2],
               it->images[i].start[3], (int)(it->images[i].end - it->images[i].start));
}
void __tgt_unregister_lib(struct descriptor *it) {}
int main(void) { return 0; }
"#;

/// A program for Windows registers the images that are left, at a fixed address or not.
fn windows_registers_the_rest(directory: &Path) -> Result<()> {
    std::fs::write(directory.join("register.c"), REGISTER)?;
    let [gfx90a, sm_90] = ["answer-gfx90a.hsaco", "answer-sm_90.cubin"].map(fixture);
    let wrap =
        fatbin(directory).args(["wrap", "--kind", "openmp", "--host", "x86_64-w64-windows-gnu", "-o", "wrapper.obj"]);
    wrap.args([gfx90a?, sm_90?]).run()?;
    for form in [&["-Wl,--dynamicbase"][..], &["-Wl,--disable-dynamicbase,--disable-reloc-section"]] {
        let link = Step::new(directory, Tool::MingwCc.path()?).args(form);
        link.args(["-o", "program.exe", "register.c", "wrapper.obj"]).run()?;
        for (drop, expected) in [("gfx90a", "7fELF 3312"), ("sm_90", "7fELF 3456")] {
            fatbin(directory).args(["prune", "--drop", drop, "-o", "pruned.exe", "program.exe"]).run()?;
            let output = wine(directory, &directory.join("pruned.exe"), &[])?;
            let registered = String::from_utf8_lossy(&output.stdout);
            ensure!(registered.trim_end() == expected, "{form:?} {drop}: {registered}");
        }
    }
    Ok(())
}

/// Loads a library, resolves every symbol, runs its constructors and destructors.
pub const LOAD: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library || dlclose(library)) {
        puts(dlerror());
        return 1;
    }
    return 0;
}
"#;

/// Pruned libraries load, and register what is left with the runtimes that they are linked with.
fn libraries_load(directory: &Path) -> Result<()> {
    std::fs::write(directory.join("load.c"), LOAD)?;
    Step::new(directory, Tool::Cc.path()?).args(["load.c", "-o", "load"]).run()?;
    let nvjpeg = unzipped(directory, &path_of("nvjpeg")?, "*libnvjpeg*")?;
    let hip = hip_library("5")?;
    let cases = [(nvjpeg[0].clone(), "sm_86", String::new()), (path_of("rocrand")?, "gfx90a", directories_of(&[&hip]))];
    for (library, device, directories) in cases {
        fatbin(directory).args(["prune", "--device", device]).arg(library).args(["-o", "pruned.so"]).run()?;
        let load = Step::new(directory, directory.join("load")).arg(directory.join("pruned.so"));
        load.env("LD_LIBRARY_PATH", directories).run()?;
    }
    Ok(())
}
