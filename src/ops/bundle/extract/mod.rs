//! `unbundle`: the files of a bundle, each into a file of its own.

mod archive;
mod matching;
mod single;

use std::path::{Path, PathBuf};

pub use archive::check_archive;

use super::CompressionStats;
use super::error::{BundleError, Result};
use super::members::is_archive;
use crate::codec::Limit;
use crate::format::bundle::FileType;
use crate::io::{Input, Output};
use crate::target::compatibility::{Fit, KindRules, TargetMismatch};

/// What to take out, and where to.
#[derive(Debug, Clone)]
pub struct UnbundleOptions {
    /// What the bundle has to be of; else its content tells.
    pub file_type: Option<FileType>,
    pub targets: Vec<RequestedTarget>,
    /// Whether a target that is not there gets an empty file. Then a file that is no bundle is the host's.
    pub allow_missing: bool,
    pub rules: KindRules,
    pub limit: Limit,
}

/// A file that is asked for by the id that it stands under, or one that it serves.
#[derive(Debug, Clone)]
pub struct RequestedTarget {
    pub id: String,
    pub output: PathBuf,
}

/// Called with the path of a bundle, the id of an entry of it, the id that was asked for, and whether the one serves the
/// other.
pub type Explain<'a> = dyn FnMut(&Path, &str, &str, &Result<Fit, TargetMismatch>) + 'a;

/// Takes files out of a bundle, or archives of files out of an archive of bundles. All outputs appear, or none.
pub fn unbundle(
    input: &Input,
    options: &UnbundleOptions,
    explain: &mut Explain,
    moved: &mut dyn FnMut(u64),
) -> Result<Option<CompressionStats>> {
    for (index, target) in options.targets.iter().enumerate() {
        if options.targets[..index].iter().any(|other| is_same_output(&other.output, &target.output)) {
            return Err(BundleError::SameOutput { path: target.output.clone() });
        }
    }
    if is_archive(input, options.file_type) {
        return archive::unbundle_archive(input, options, explain, moved).map(|()| None);
    }
    single::unbundle_file(input, options, explain, moved)
}

/// Makes all outputs appear.
fn commit_all(outputs: Vec<Output>) -> Result<()> {
    for output in outputs {
        output.commit()?;
    }
    Ok(())
}

/// Whether two paths are one file, or will be. What is written as it comes, as devices are, may be given twice.
fn is_same_output(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| Some((path.parent()?.join(".").canonicalize().ok()?, path.file_name()?.to_owned()));
    let is_special = std::fs::metadata(one).is_ok_and(|metadata| !metadata.is_file());
    !is_special && (place(one) == place(other) || same_file::is_same_file(one, other).unwrap_or(false))
}
