//! The trials of a case, and the outcome of a trial: passed, failed, or ignored because a tool is missing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use libtest_mimic::{Completion, Failed, Trial};

use crate::harness::build::{Build, Built, Form};
use crate::harness::directives::Case;
use crate::harness::tools::{Linker, Missing};
use crate::harness::verify;
use crate::harness::wrap::Wrapper;

/// Returns the trials of the case with this number: every linker and every form in one of them, and the comparison with the
/// reference. The matrix has all pairs of linker and form.
pub fn of_case(number: usize, case: Case) -> Vec<Trial> {
    let case = Arc::new(case);
    let mut trials = Vec::new();
    for (index, linker) in Linker::ALL.into_iter().enumerate() {
        let form = Form::ALL[(number + index) % Form::ALL.len()];
        let name = format!("{}/{}/{}", case.name, linker.name(), form.name());
        let case = Arc::clone(&case);
        trials.push(Trial::ignorable_test(name, move || completion(links_and_runs(&case, linker, form))));
    }
    let name = format!("{}/reference", case.name);
    trials.push(Trial::ignorable_test(name, move || completion(equals_the_reference(&case))));
    trials
}

/// Converts the result of a trial. A missing tool is reported as ignored, and fails in strict mode.
pub fn completion(result: Result<()>) -> Result<Completion, Failed> {
    let Err(error) = result else {
        return Ok(Completion::Completed);
    };
    let strict = std::env::var_os("FATBIN_STRICT").is_some_and(|value| value == "1");
    match error.downcast_ref::<Missing>() {
        Some(missing) if !strict || missing.is_optional => Ok(Completion::ignored_with(missing)),
        _ => Err(Failed::from(format!("{error:#}"))),
    }
}

fn links_and_runs(case: &Case, linker: Linker, form: Form) -> Result<()> {
    let directory = fresh_directory(&case.name, &format!("{}-{}", linker.name(), form.name()))?;
    let built = Build { case, directory: &directory, linker, form }.run(Wrapper::Ours)?;
    verify::prints_expected(case, &verify::run(case, &directory, &built)?)?;
    if !case.raw {
        holds_its_images(&directory, &built)?;
    }
    Ok(())
}

/// Checks that the images in offload binaries can be found; raw images are not in a container.
fn holds_its_images(directory: &Path, built: &Built) -> Result<()> {
    for file in [&built.carrier].into_iter().chain(&built.merged) {
        verify::scan_finds(directory, file, &built.images)?;
        verify::extract_gives_back(directory, file, &built.images)?;
    }
    // Last, because only this check needs LLVM.
    verify::objdump_lists(directory, &built.carrier, &built.images)
}

/// Checks that the program with LLVM's wrapper object prints `expected-stdout`, and the same with fatbin's.
fn equals_the_reference(case: &Case) -> Result<()> {
    let run = |wrapper, name: &str| {
        let directory = fresh_directory(&case.name, name)?;
        let (linker, form) = (Linker::Bfd, Form::Pie);
        let built = Build { case, directory: &directory, linker, form }.run(wrapper)?;
        verify::run(case, &directory, &built)
    };
    let theirs = run(Wrapper::Reference, "reference-theirs")?;
    verify::prints_expected(case, &theirs)?;
    let ours = run(Wrapper::Ours, "reference-ours")?;
    if ours.stdout != theirs.stdout {
        return Err(ours.error(format!("with LLVM's object the program prints:\n{}", theirs.stdout)));
    }
    Ok(())
}

/// Creates an empty directory for a trial. Files of an earlier run are removed: a failed step must not find them.
pub fn fresh_directory(case: &str, name: &str) -> Result<PathBuf> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(case).join(name);
    if directory.exists() {
        std::fs::remove_dir_all(&directory).with_context(|| directory.display().to_string())?;
    }
    std::fs::create_dir_all(&directory).with_context(|| directory.display().to_string())?;
    Ok(directory)
}

/// Runs a test in a directory whose path has no spaces, for programs that split paths at them: this directory if possible.
pub fn without_spaces(directory: &Path, test: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    if !directory.to_string_lossy().contains(' ') {
        return test(directory);
    }
    let directory = tempfile::tempdir()?;
    test(directory.path())
}
