//! Every form of device code that vendors' tools write. fatbin reads and extracts each output. The vendor's own
//! extraction must have the same number of images with the same bytes.
//!
//! | module | trials |
//! |---|---|
//! | [`nvcc`] | nvcc 13.0 and 13.5, compared with cuobjdump |
//! | [`ptxas`] | cubins of ptxas 11.8, 12.0 and 12.9, compared with cuobjdump |
//! | [`clang`] | HIP and OpenMP of every clang, compared with clang-offload-bundler and llvm-offload-binary |
//! | [`clang_cuda`] | CUDA of clang 22, compared with cuobjdump |
//!
//! PyPI has all of nvcc since release 13.0, and only ptxas of earlier ones. 13.0 is the first and 13.5 the last; of CUDA 11 and
//! 12, the last and the first and last release are used. What nvcc of CUDA 11.8 to 12.8 writes is in [`crate::cuobjdump`] and
//! [`crate::real_files`]: packages that people build with these releases.

mod clang;
mod clang_cuda;
pub mod nvcc;
mod ptxas;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::trial::{completion, fresh_directory, without_spaces};

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for release in nvcc::RELEASES {
        trials.push(trial(format!("nvcc/{release}"), move |directory| nvcc::outputs(directory, release)));
    }
    trials.push(trial("clang/cuda".to_owned(), clang_cuda::objects));
    trials.push(trial("nvcc/tile-ir".to_owned(), nvcc::tile_ir));
    for release in ptxas::RELEASES {
        trials.push(trial(format!("ptxas/{release}"), move |directory| ptxas::cubins(directory, release)));
    }
    for release in clang::RELEASES {
        trials.push(trial(format!("clang/{release}"), move |directory| clang::outputs(directory, release)));
    }
    trials
}

fn trial(name: String, test: impl Fn(&Path) -> Result<()> + Send + 'static) -> Trial {
    let directory = name.replace('/', "-");
    Trial::ignorable_test(format!("vendors/{name}"), move || {
        // cuobjdump names files after the part of the input's path before a space.
        completion(fresh_directory("vendors", &directory).and_then(|directory| without_spaces(&directory, test)))
    })
}

/// Numbers of files with equal contents.
type Contents = BTreeMap<Vec<u8>, usize>;

/// Returns the contents of the files in a directory whose names are of a form.
fn contents(directory: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<Contents> {
    let mut contents = Contents::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if is_wanted(&entry.file_name().to_string_lossy()) {
            *contents.entry(std::fs::read(entry.path())?).or_default() += 1;
        }
    }
    Ok(contents)
}

/// Extracts the images of a file with fatbin, and returns the contents of all images with one of the extensions.
fn extracted(directory: &Path, file: &str, extensions: &[&str]) -> Result<Contents> {
    let output = directory.join("ours");
    if output.exists() {
        std::fs::remove_dir_all(&output)?;
    }
    std::fs::create_dir(&output)?;
    let name = "{number}-{file}.{extension}";
    let arguments = ["extract", "--name", name, file, "-o", "ours"];
    Step::new(directory, fatbin_program()).args(arguments).run()?;
    contents(&output, |name| extensions.iter().any(|extension| name.ends_with(extension)))
}

/// Creates an empty directory for the files of a vendor's tool.
fn fresh_output(directory: &Path) -> Result<std::path::PathBuf> {
    let output = directory.join("theirs");
    if output.exists() {
        std::fs::remove_dir_all(&output)?;
    }
    std::fs::create_dir(&output)?;
    Ok(output)
}

/// Requires equal contents, and a number of files, which guards against an omission common to both tools.
fn equal(what: &str, ours: &Contents, theirs: &Contents, number: usize) -> Result<()> {
    let count = |contents: &Contents| contents.values().sum::<usize>();
    ensure!(ours == theirs, "{what}: {} images, and {} of the vendor's tool, differ", count(ours), count(theirs));
    ensure!(count(ours) == number, "{what}: {} images instead of {number}", count(ours));
    Ok(())
}
