//! `unbundle`: extracts each file of a bundle into a separate file.

mod archive;
mod matching;
mod single;
mod stream;

use std::path::{Path, PathBuf};

pub use archive::check_archive;

use super::CompressionStats;
use super::error::Result;
use super::members::is_archive;
use fatbin_core::base::error;
use fatbin_core::base::io::{FileSet, Input, Output, OutputKind, OutputPath};
use fatbin_core::format::bundle::FileType;
use fatbin_core::target::compatibility::{Fit, KindRules, TargetMismatch};

/// Entries to extract, and their outputs.
#[derive(Debug, Clone)]
pub struct UnbundleOptions {
    /// Type of the bundled files; determined by the content where absent.
    pub file_type: Option<FileType>,
    /// Requested targets.
    pub targets: Vec<RequestedTarget>,
    /// Writes an empty file for a missing target instead of failing. A file that is not a bundle then counts as the
    /// host's.
    pub allow_missing: bool,
    /// Rules for the equivalence of offload kinds.
    pub rules: KindRules,
    /// Ignores data after the first bundle of a file that is not an archive, instead of failing.
    pub only_first: bool,
    /// Accepts the input as an output, and writes existing outputs in place.
    pub replaces_input: bool,
}

/// A requested target: the ID of an entry, or an ID that the entry serves, and the output.
#[derive(Debug, Clone)]
pub struct RequestedTarget {
    /// Requested ID.
    pub id: String,
    /// Exact ID of the entry to extract if none serves the requested ID. Another tool stores the target under this ID.
    pub fallback: Option<String>,
    /// File to write.
    pub output: PathBuf,
}

/// Observer of matching. Its arguments are the path of a bundle, the ID of one of its entries, the requested ID, and
/// whether the entry serves the requested ID.
pub type Explain<'a> = dyn FnMut(&Path, &str, &str, &Result<Fit, TargetMismatch>) + 'a;

/// Extracts files from a bundle, or archives of files from an archive of bundles. All outputs appear, or none.
pub fn unbundle(
    input: &Input,
    options: &UnbundleOptions,
    explain: &mut Explain,
    moved: &mut dyn FnMut(u64),
) -> Result<Option<CompressionStats>> {
    if is_archive(input, options.file_type) {
        return archive::unbundle_archive(input, options, explain, moved).map(|()| None);
    }
    single::unbundle_file(input, options, explain, moved)
}

/// Creates the outputs of all targets.
fn create_outputs(input: &Input, options: &UnbundleOptions, create: CreateOutput) -> error::Result<Vec<Output>> {
    let set = FileSet::of_inputs([input]);
    let set = set.accepting_inputs(options.replaces_input).updating(options.replaces_input);
    options.targets.iter().map(|target| create(set.output(&target.output, OutputKind::Code)?)).collect()
}

/// [`Output::create`] or [`Output::update`].
type CreateOutput = fn(OutputPath) -> error::Result<Output>;
