//! Tests with real linkers, real runtimes and the reference tools.
//!
//! A wrapper object is correct if a linker that does not know it links it into a program, and the program's runtime then
//! finds its device images. The object alone does not show either, so these tests link it and run the result.
//!
//! Each directory in `cases` is a case: `main.c`, whose first lines are directives (see [`harness::directives`]), and
//! `expected-stdout`, the output of the linked program. Every linker and every form is in one trial of each case,
//! `case/linker/form`:
//!
//! ```text
//! cargo test --test linker-tests                    # everything
//! cargo test --test linker-tests registration/lld   # one case, one linker
//! ```
//!
//! A trial compiles the host program, makes the object with `fatbin wrap` ([`harness::wrap`]), links ([`harness::build`]),
//! runs the program and compares its output, and then finds the images in the result with `fatbin scan`, `fatbin extract`
//! and `llvm-objdump --offloading` ([`harness::verify`]). One more trial per case, `case/reference`, makes the object with
//! LLVM's tools and requires that both programs print the same.
//!
//! | module | trials |
//! |---|---|
//! | [`matrix`] | requirements for every offload kind, ABI generation and host |
//! | [`runtimes`] | releases of real runtimes with the generations that they accept |
//! | [`link_hygiene`] | effects of the wrapper object on the rest of a program |
//! | [`ir`] | LLVM IR of the wrappers, compiled by the compilers that call them |
//! | [`link`] | `fatbin link`, and clang-linker-wrapper compared with its replacement |
//! | [`doctor`] | `fatbin doctor`, compared with links of device sections of more than 2 GiB |
//! | [`linker_wrapper`] | objects of clang-linker-wrapper, called by clang, compared with fatbin's |
//! | [`device_link`] | relocatable CUDA code of nvcc's programs, and nvlink about the links at load time |
//! | [`dropin`] | each drop-in, compared with the LLVM tool that it replaces |
//! | [`drivers`] | command lines of every clang with the original tools and with the drop-ins |
//! | [`edit`] | commands that change finished files, on real libraries and programs |
//! | [`embedded`] | images without a container: ways to embed them, and real libraries |
//! | [`embed`] | objects of `fatbin embed`, linked by every linker, for every system, and in programs in C, C++ and Rust |
//! | [`build_script`] | the example of a build script, built by cargo and run with libomptarget |
//! | [`bundle_archives`] | archives of bundles, unbundled by both programs, and the output as input of device linkers |
//! | [`versions`] | offload binaries of versions 2 and 3, read by an independent reader |
//! | [`gpu`] | CUDA files on a GPU, or on a stand-in for libcuda that records each call |
//! | [`gomp`] | programs that GCC compiles for NVIDIA and AMD |
//! | [`host_bitcode`] | objects of hosts that are bitcode, of every clang and of rustc |
//! | [`inspect`] | `fatbin inspect`, compared with the output of LLVM's and NVIDIA's tools |
//! | [`counts`] | `scripts/count` and programs that became slower |
//! | [`coverage`] | kernels by device in libraries of nvcc, and in torchvision |
//! | [`compatibility`] | the devices that run each kind of code, compared with NVIDIA's and LLVM's tools |
//! | [`check`] | reports of `fatbin check` against their published schemas, and policies for real files |
//! | [`metadata`] | metadata of packages, read by variantlib, the loader of Hugging Face's kernels and conda's rattler |
//! | [`causes`] | causes of differences between two builds of one source |
//! | [`book`] | the book that is built from the documents, and its pages in a browser |
//! | [`metal`] | Metal libraries of a real wheel |
//! | [`packages`] | packages of every form, written by dpkg-deb, rpmbuild, cpio, xz and others |
//! | [`page`] | the page of `--html` in a browser |
//! | [`features`] | the lists of features, compared with the help of the tools and the names of all trials |
//! | [`fatbinary`] | containers that NVIDIA's fatbinary writes, its drop-in, and `fatbin pack --kind cuda` |
//! | [`cuobjdump`] | NVIDIA's cuobjdump, compared with its drop-in |
//! | [`release`] | released packages of fatbin, installed by their tools |
//! | [`roc_obj`] | ROCm's roc-obj-ls and roc-obj-extract, compared with the drop-ins |
//! | [`vendors`] | every form that vendors' tools write, compared with the vendors' own extraction |
//! | [`wrappers`] | registration structures in files of every format |
//! | [`readme`] | the answers in the README |
//! | [`real_files`], [`false_magics`] | packages that people install, and files full of magics without any image |
//! | [`requires`] | floors of the output of NVIDIA's tools, and of packages that people install |
//! | [`size`] | sums of `fatbin size` on packages that people install, and categories compared with cubloaty |
//! | [`kernel_stores`] | databases and storages of kernels that Python writes |
//! | [`kpack`] | kpack archives of an independent writer and reader |
//! | [`other_kinds`] | SYCLBIN, DirectX, HCF, IREE, MUSA and symbols of SYCL, of an independent writer |
//! | [`oxart`] | artifact bundles of cuda-oxide, compared with its published crate |
//! | [`zebin`] | Level Zero binaries of Intel's ocloc |
//! | [`sycl`] | property sets of libraries that DPC++ has linked |
//! | [`threads`] | output with several threads and with one, on packages that people install |
//! | [`triples`] | triples of bitcode and SPIR-V |
//! | [`truncated`] | libraries that were cut |
//! | [`upstream_bugs`] | bugs of LLVM's and NVIDIA's tools |
//! | [`ci`] | the GitHub action, the pre-commit hook and the CMake function |
//! | [`shells`] | completions in zsh and fish |
//! | [`native`] | the C library, its header and examples, under valgrind and a sanitizer |
//! | [`integrations`] | the example for CMake, Meson and Bazel, which runs with libomptarget; Bazel's cache |
//! | [`python`] | the wheel for Python, built, installed and tested |
//!
//! The files of a trial stay in `target/tmp/case/linker-form`. A trial without a tool is ignored with the name of the Debian
//! package that provides it ([`harness::tools`]); with `FATBIN_STRICT=1` in the environment it fails instead.

mod book;
mod build_script;
mod bundle_archives;
mod causes;
mod check;
mod ci;
mod compatibility;
mod counts;
mod coverage;
mod cuobjdump;
mod debian;
mod device_link;
mod doctor;
mod drivers;
mod dropin;
mod edit;
mod embed;
mod embedded;
mod false_magics;
mod fatbinary;
mod features;
mod gomp;
mod gpu;
mod harness;
mod host_bitcode;
mod inspect;
mod integrations;
mod ir;
mod kernel_stores;
mod kpack;
mod link;
mod link_hygiene;
mod linker_wrapper;
mod matrix;
mod metadata;
mod metal;
mod native;
mod other_kinds;
mod oxart;
mod packages;
mod page;
mod python;
mod readme;
mod real_files;
mod release;
mod requires;
mod roc_obj;
mod runtimes;
mod shells;
mod size;
mod sycl;
mod tasks;
mod threads;
mod triples;
mod truncated;
mod upstream_bugs;
mod vendors;
mod versions;
mod wrappers;
mod zebin;

use std::fs::File;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};
use libtest_mimic::{Arguments, Trial};

use harness::directives::Case;
use harness::{lock, sweep, trial, wine};

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // One more than there are processors, because trials wait for files, emulators and each other's builds.
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    arguments.test_threads.get_or_insert(processors + 1);
    match exclusive_trials(&arguments) {
        Ok((_lock, trials)) => {
            let start = SystemTime::now();
            let conclusion = libtest_mimic::run(&arguments, trials);
            sweep::after_libomptarget(start);
            wine::stop_server();
            conclusion.exit_code()
        }
        // A case that cannot be read has no trials that could fail: nothing runs.
        Err(error) => {
            eprintln!("linker-tests: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the trials, and the lock that they must hold.
fn exclusive_trials(arguments: &Arguments) -> Result<(Option<File>, Vec<Trial>)> {
    let lock = if arguments.list { None } else { Some(lock::wait_for_other_runs("linker-tests")?) };
    Ok((lock, trials()?))
}

fn trials() -> Result<Vec<Trial>> {
    let mut trials = Vec::new();
    for (number, directory) in case_directories()?.into_iter().enumerate() {
        let case = Case::read(&directory)?;
        trials.extend(trial::of_case(number, case));
    }
    trials.extend(false_magics::trials());
    trials.extend(truncated::trials());
    trials.extend(triples::trials());
    trials.extend(fatbinary::trials());
    trials.extend(cuobjdump::trials());
    trials.extend(device_link::trials());
    trials.extend(requires::trials());
    trials.extend(roc_obj::trials());
    trials.extend(size::trials());
    trials.extend(vendors::trials());
    trials.extend(compatibility::trials());
    trials.extend(link::trials());
    trials.extend(linker_wrapper::trials());
    trials.extend(matrix::trials());
    trials.extend(runtimes::trials());
    trials.extend(link_hygiene::trials());
    trials.extend(doctor::trials());
    trials.extend(dropin::trials());
    trials.extend(edit::trials());
    trials.extend(embedded::trials());
    trials.extend(embed::trials());
    trials.extend(drivers::trials());
    trials.extend(versions::trials());
    trials.extend(host_bitcode::trials());
    trials.extend(inspect::trials());
    trials.extend(bundle_archives::trials());
    trials.extend(metal::trials());
    trials.extend(packages::trials());
    trials.extend(page::trials());
    trials.extend(book::trials());
    trials.extend(ir::trials());
    trials.extend(wrappers::trials());
    trials.extend(check::trials());
    trials.extend(counts::trials());
    trials.extend(coverage::trials());
    trials.extend(readme::trials());
    trials.extend(causes::trials());
    trials.extend(metadata::trials());
    trials.extend(kernel_stores::trials());
    trials.extend(kpack::trials());
    trials.extend(other_kinds::trials());
    trials.extend(oxart::trials());
    trials.extend(gomp::trials());
    trials.extend(gpu::trials());
    trials.extend(shells::trials());
    trials.extend(sycl::trials());
    trials.extend(threads::trials());
    trials.extend(zebin::trials());
    trials.extend(real_files::trials());
    trials.extend(upstream_bugs::trials());
    trials.extend(ci::trials());
    trials.extend(release::trials());
    trials.extend(build_script::trials());
    trials.extend(native::trials());
    trials.extend(python::trials());
    trials.extend(tasks::trials());
    trials.extend(integrations::trials());
    trials.extend(features::trials(trials.iter().map(|trial| trial.name().to_owned()).collect()));
    longest_first(trials)
}

/// Trials that take longest, so that none of them is the last. Those that compile crates are apart: meanwhile cargo lets no
/// other build begin.
const FIRST: [&str; 20] = [
    "native/interface",
    "vendors/nvcc/13.5",
    "link/response-files",
    "link/clients/nvidia-bitcode",
    "link/forms",
    "python/wheel",
    "size/what-if/fatbinary",
    "size/sums/bitsandbytes-windows",
    "compatibility/lld",
    "compatibility/bundler",
    "build-script/example",
    "compatibility/ptxas",
    "vendors/nvcc/13.0",
    "link/clients/optimization",
    "release/archive",
    "integrations/bazel",
    "integrations/bazel-cache",
    "link/earlier-releases",
    "cuobjdump/libraries/bitsandbytes",
    "tasks/crates",
];

/// Moves the trials of [`FIRST`] to the front.
fn longest_first(mut trials: Vec<Trial>) -> Result<Vec<Trial>> {
    for name in FIRST {
        ensure!(trials.iter().any(|trial| trial.name() == name), "there is no trial {name}");
    }
    let place = |trial: &Trial| FIRST.iter().position(|name| *name == trial.name());
    trials.sort_by_key(|trial| place(trial).unwrap_or(FIRST.len()));
    Ok(trials)
}

/// Returns the directories in `cases`, sorted by name.
fn case_directories() -> Result<Vec<PathBuf>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/cases");
    let mut directories = Vec::new();
    for entry in std::fs::read_dir(&root).with_context(|| root.display().to_string())? {
        directories.push(entry?.path());
    }
    ensure!(!directories.is_empty(), "{}: no cases", root.display());
    directories.sort();
    Ok(directories)
}
