//! Real runtimes, in all available releases: the final test of what the judge of the matrix verifies.
//!
//! OpenMP programs compiled by one release of clang run their target regions with that release's libomptarget on the host's
//! own processor. CUDA and HIP need a GPU for that; without one, a program must still start, register, receive an answer from
//! the runtime, and exit.
//!
//! `scripts/test` fetches runtimes that cannot be installed side by side into directories of `target/runtimes`.

mod choosing;
mod devices;
mod sycl;

use std::path::{Path, PathBuf};

use anyhow::Result;
use fatbin::OffloadKind;
use fatbin_ops::embed::llvm::Release;
use fatbin_ops::embed::llvm::wrapper_abi::FlagRules;
use libtest_mimic::Trial;

use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Linker, Missing, Tool, fetched, find_in, llvm_tool, not_fetched};
use crate::harness::trial::{completion, fresh_directory};
use crate::matrix::images::Images;

/// Host, which is also the target of the regions.
pub const HOST: &str = "x86_64-pc-linux-gnu";

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for linker in Linker::ALL {
        let mut trial = |name: String, test: fn(&Path, &'static str, Linker) -> Result<()>, release: &'static str| {
            let directory = format!("runtimes/{name}");
            let run = move || completion(test(&fresh_directory(&directory, linker.name())?, release, linker));
            trials.push(Trial::ignorable_test(format!("runtimes/{name}/{}", linker.name()), run));
        };
        for release in ["15", "16", "19", "22"] {
            trial(format!("openmp-{release}"), openmp, release);
            // The linker does not affect the runtime.
            if linker == Linker::Bfd {
                trial(format!("openmp-{release}-choosing"), choosing::openmp, release);
                trial(
                    format!("openmp-{release}-devices"),
                    |directory, release, _| devices::load(directory, release),
                    release,
                );
                trial(
                    format!("openmp-{release}-cubin-of-cuda-13"),
                    |directory, release, _| devices::load_cubin_of_cuda_13(directory, release),
                    release,
                );
            }
        }
        for release in ["11", "12", "13"] {
            trial(format!("cuda-{release}"), cuda, release);
        }
        trial("hip-5".to_owned(), hip, "5");
        if linker == Linker::Bfd {
            trial("hip-5-choosing".to_owned(), choosing::hip, "5");
        }
    }
    let register = || completion(sycl::register(&fresh_directory("runtimes/sycl-9", "register")?));
    trials.push(Trial::ignorable_test("runtimes/sycl-9", register));
    trials
}

/// `openmp/main.c`, which runs one region and one variable on the device, with everything of this release.
fn openmp(directory: &Path, release: &str, linker: Linker) -> Result<()> {
    let libomp = openmp_library(release, "libomp.so.5")?;
    let libomptarget = openmp_library(release, &format!("libomptarget.so.{release}"))?;
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/cases/openmp");
    let clang = || -> Result<Step> {
        let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
        let step =
            Step::new(directory, clang).args(["-O1", "-fPIE", "-fopenmp"]).arg(format!("-fopenmp-targets={HOST}"));
        Ok(step.arg("-c").arg(case.join("main.c")))
    };
    clang()?.args(["--offload-host-only", "-o", "host.o"]).run()?;
    clang()?.args(["--offload-device-only", "-fPIC", "-DMARKER=42", "-o", "device.o"]).run()?;
    Step::new(directory, Tool::Cc.path()?).args(["-shared", "-o", "device.so", "device.o"]).run()?;

    let expected = std::fs::read_to_string(case.join("expected-stdout"))?;
    let flags = ["-Wl,--no-as-needed".into(), libomp.clone().into_os_string(), libomptarget.clone().into_os_string()];
    let abi = format!("llvm{release}");
    // The ABI is given by name or detected from the host object: both must work with this release.
    for (name, choice) in [("stated", ["--abi", abi.as_str()]), ("matched", ["--match", "host.o"])] {
        let step = wrap(directory).args(["--kind", "openmp"]).args(choice);
        step.arg(format!("--image=file=device.so,triple={HOST}")).args(["-o", "wrapper.o"]).run()?;
        let step = Step::new(directory, Tool::Cc.path()?).args(linker.cc_flags()?);
        step.args(["-pie", "-o", name, "host.o", "wrapper.o"]).args(&flags).run()?;
        let step = Step::new(directory, directory.join(name))
            .env("LD_LIBRARY_PATH", directories_of(&[&libomp, &libomptarget]));
        let done = step.env("OMP_TARGET_OFFLOAD", "MANDATORY").run()?;
        if done.stdout != expected {
            return Err(done.error(format!("expected: {expected}")));
        }
    }
    Ok(())
}

/// The newest libomptarget is installed; others would replace it and are fetched.
pub fn openmp_library(release: &str, name: &str) -> Result<PathBuf> {
    let installed = PathBuf::from(format!("/usr/lib/llvm-{release}/lib"));
    let fetched = fetched(&format!("openmp-{release}")).join(format!("usr/lib/llvm-{release}/lib"));
    let found = find_in(&fetched, name).or_else(|| find_in(&installed, name).filter(|_| release == "22"));
    found.ok_or_else(|| match release {
        "22" => Missing::new(name, "liboffload-22 and libomp-22-dev").into(),
        _ => not_fetched(name).into(),
    })
}

fn cuda(directory: &Path, release: &str, linker: Linker) -> Result<()> {
    let library = find_in(&fetched(&format!("cuda-{release}")), &format!("libcudart.so.{release}"));
    let library = library.ok_or_else(|| not_fetched(&format!("libcudart.so.{release}")))?;
    starts_and_ends(directory, "cuda", linker, &library)
}

fn hip(directory: &Path, release: &str, linker: Linker) -> Result<()> {
    starts_and_ends(directory, "hip", linker, &hip_library(release)?)
}

/// Returns the HIP runtime of this release.
pub fn hip_library(release: &str) -> Result<PathBuf> {
    let name = format!("libamdhip64.so.{release}");
    let library = find_in(&fetched("hip-5").join("usr/lib/x86_64-linux-gnu"), &name);
    Ok(library.ok_or_else(|| not_fetched(&name))?)
}

/// Runs a program with entries from the command line only, once for each release.
fn starts_and_ends(directory: &Path, kind: &str, linker: Linker, library: &Path) -> Result<()> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("linker-tests/runtimes/{kind}.c"));
    Step::new(directory, Tool::Cc.path()?).args(["-O1", "-fPIE", "-c"]).arg(source).args(["-o", "host.o"]).run()?;
    let images = Images::write(directory)?;
    let offload_kind = if kind == "cuda" { OffloadKind::Cuda } else { OffloadKind::Hip };
    for abi in Release::wrapping(offload_kind) {
        let mut step = wrap(directory).args(["--kind", kind, "--abi", abi, "--entry=answer_kernel=kernel_stub"]);
        step = step.args(["--entry=plain,size=16", "--entry=constant,size=16,flags=0x10"]);
        // HIP 5 crashes on a managed variable without a GPU, because it allocates at once, also with LLVM's object.
        if kind == "cuda" && Release::named(abi).is_some_and(|it| it.wrapper.flags == FlagRules::BitsAndManaged) {
            step = step.arg("--entry=managed,size=16,flags=1,data=16,aux=managed_pointer");
        }
        if kind == "hip" {
            step = step.args(["--entry=surface,size=8,flags=2,data=2", "--entry=texture,size=8,flags=3,data=2"]);
        }
        step.args(images.of(kind)).args(["-o", "wrapper.o"]).run()?;
        let step = Step::new(directory, Tool::Cc.path()?).args(linker.cc_flags()?);
        // The runtime's libraries must be found at the start of the program.
        let step = step.args(["-pie", "-Wl,--allow-shlib-undefined", "-o", abi, "host.o", "wrapper.o"]);
        step.arg(library).run()?;
        let done =
            Step::new(directory, directory.join(abi)).env("LD_LIBRARY_PATH", directories_of(&[library])).run()?;
        if done.stdout != "runs\n" {
            return Err(done.error(format!("--abi {abi}: expected: runs")));
        }
    }
    Ok(())
}

fn wrap(directory: &Path) -> Step {
    // The images of some trials stand for others.
    Step::new(directory, fatbin_program()).args(["wrap", "--allow-missing-kernels"])
}

/// As LD_LIBRARY_PATH: the libraries of the runtimes would not inherit a run path. Libraries that a runtime needs from
/// other packages were fetched with it, into the directory where Debian has them.
pub fn directories_of(libraries: &[&Path]) -> String {
    let own = libraries.iter().filter_map(|library| library.parent().map(Path::to_owned));
    let beside =
        libraries.iter().filter_map(|library| library.ancestors().find(|directory| directory.ends_with("usr/lib")));
    let directories = own.chain(beside.map(|directory| directory.join("x86_64-linux-gnu")));
    directories.map(|directory| directory.display().to_string()).collect::<Vec<_>>().join(":")
}
