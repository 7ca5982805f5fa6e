//! The way through real linkers and real runtimes.
//!
//! A wrapper object is right when a linker that knows nothing of it puts it into a program, and the program's runtime
//! then finds its device images. Neither can be seen by looking at the object, so these tests link it and run the result.
//!
//! Each directory in `cases` is a case: `main.c`, whose first lines say what goes with it (see [`harness::directives`]), and
//! `expected-stdout`, what the finished program prints. Every case is linked by every linker in every form, and each
//! combination is a trial of its own, named `case/linker/form`:
//!
//! ```text
//! cargo test --test linker-tests                    # everything
//! cargo test --test linker-tests registration/lld   # one case, one linker
//! ```
//!
//! A trial compiles the host program, has `fatbin wrap` make the object ([`harness::wrap`]), links ([`harness::build`]), runs the program
//! and compares its output, and then asks `fatbin scan`, `fatbin extract` and `llvm-objdump --offloading` for the images in
//! the result ([`harness::verify`]). One more trial a case, `case/reference`, has LLVM's own tools make the object instead and
//! demands that the two programs print the same.
//!
//! What has to hold of every kind, ABI and host, and not of a case, is the [`matrix`]. What releases of real runtimes
//! accept are the [`runtimes`], what it must not take from a program is in [`link_hygiene`].
//!
//! wild takes part where it is installed, and may be missing even in strict mode: no package has it, and building it takes
//! longer than all trials together. Last run: wild 0.10.0 on Debian 12, all 21 trials passed.
//!
//! clang-linker-wrapper cannot be called alone; [`linker_wrapper`] has clang call it and compares the objects.
//!
//! Where the program stands in for one of LLVM's tools, both are called and compared: [`dropin`].
//!
//! What `fatbin inspect` says of compiled kernels is compared with what LLVM's and NVIDIA's tools say: [`inspect`].
//!
//! Archives of bundles are taken apart by both, and device linkers get what comes out: [`bundle_archives`].
//!
//! The page of `--html` is opened in a browser: [`page`].
//!
//! Where other projects call the program from, an action, a hook and a function of CMake: [`ci`].
//!
//! What registers containers is followed in files of every format: [`wrappers`].
//!
//! The reports of `fatbin check` follow their published schemas, and its policies hold for real files: [`check`].
//!
//! Files that people install are read by us and by others: [`real_files`]. Real files that are full of magics and hold no
//! image are looked at as well ([`false_magics`]). What today's tools do wrong, ours does right: [`upstream_bugs`].
//!
//! What a trial makes stays in `target/tmp/case/linker-form` to be looked at. A trial that lacks a tool is ignored and
//! says which Debian package has it ([`harness::tools`]); with `FATBIN_STRICT=1` in the environment it fails instead, so that a
//! machine which is to prove something cannot pass by having nothing installed.

mod bundle_archives;
mod check;
mod ci;
mod debian;
mod dropin;
mod false_magics;
mod harness;
mod inspect;
mod link_hygiene;
mod linker_wrapper;
mod matrix;
mod page;
mod real_files;
mod runtimes;
mod upstream_bugs;
mod versions;
mod windows;
mod wrappers;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};
use libtest_mimic::{Arguments, Trial};

use harness::directives::Case;
use harness::{sweep, trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    match trials() {
        Ok(trials) => {
            let start = SystemTime::now();
            let conclusion = libtest_mimic::run(&arguments, trials);
            sweep::after_libomptarget(start);
            conclusion.exit_code()
        }
        // A case that cannot be read is no trial that could fail under its own name: nothing runs until it is right.
        Err(error) => {
            eprintln!("linker-tests: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn trials() -> Result<Vec<Trial>> {
    let mut trials = Vec::new();
    for directory in case_directories()? {
        let case = Case::read(&directory)?;
        trials.extend(trial::of_case(case));
    }
    trials.extend(false_magics::trials());
    trials.extend(linker_wrapper::trials());
    trials.extend(matrix::trials());
    trials.extend(runtimes::trials());
    trials.extend(link_hygiene::trials());
    trials.extend(dropin::trials());
    trials.extend(versions::trials());
    trials.extend(inspect::trials());
    trials.extend(bundle_archives::trials());
    trials.extend(page::trials());
    trials.extend(wrappers::trials());
    trials.extend(check::trials());
    trials.extend(real_files::trials());
    trials.extend(upstream_bugs::trials());
    trials.extend(ci::trials());
    trials.extend(windows::trials());
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
