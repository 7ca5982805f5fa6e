//! Files of a split that are written, and get their names together.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::error::SplitProblem;
use super::index::{INDEX_NAME, Index, IndexFormat, IndexedBytes, IndexedFile};
use super::mode::mode;
use super::{Result, SplitError, SplitFile, join};
use crate::edit::patch::Patches;
use crate::edit::signature::Signatures;
use fatbin_core::base::io::{Access, FileSet, Input, Output, OutputKind, OutputName, Sink, commit_all};

/// Directory that the files are written to.
pub struct SplitDirectory<'a> {
    pub path: &'a Path,
    pub set: FileSet,
    pub access: Access,
    /// Signatures of the host file and of its members.
    pub signatures: Signatures,
}

/// Files that are complete and have no names yet.
pub struct PlannedSplit {
    pub outputs: Vec<Output>,
    pub index: Index,
    pub files: Vec<SplitFile>,
}

impl PlannedSplit {
    /// Starts with the host file.
    pub fn of_host(host: WrittenHost, format: IndexFormat, original: IndexedFile, directory: &Path) -> Self {
        let files = vec![written(directory, &host.file, Vec::new(), 0)];
        let mut index = Index::new(format, original, host.file);
        index.bytes = host.bytes;
        PlannedSplit { outputs: vec![host.output], files, index }
    }
}

/// Returns the name of the file in the index and in the directory.
pub fn file_name(input: &Input) -> Result<OutputName> {
    let name = input.path().file_name().and_then(|name| name.to_str());
    Ok(OutputName::parse(name.ok_or(SplitProblem::Name)?).map_err(SplitProblem::InvalidName)?)
}

/// A host file that is written, and original bytes that no part has.
pub struct WrittenHost {
    pub output: Output,
    pub file: IndexedFile,
    /// Bytes of checksums and of signatures, which differ from the original.
    pub bytes: Vec<IndexedBytes>,
}

impl SplitDirectory<'_> {
    /// Writes the host file: the input with changes that move no byte.
    pub fn host(&mut self, name: &OutputName, input: &Input, patches: Patches<'_>) -> Result<WrittenHost> {
        let view = input.view();
        let patches = self.signatures.check_in_place(&input.path().to_string_lossy(), view, patches);
        let patches = patches.map_err(|error| SplitError::Signed(Box::new(error)))?;
        let mut bytes = Vec::new();
        for span in patches.added() {
            bytes.push(IndexedBytes::new(span.start, view.between("signature", span.clone())?.data()));
        }
        let mut sink = Sink::new([input]);
        patches.push_to(view, &mut sink);
        let (output, file) = self.output(name, &sink)?;
        Ok(WrittenHost { output, file, bytes })
    }

    /// Writes an output in the directory, without its name, and returns its record in the index as `name`.
    pub fn output(&self, name: &OutputName, sink: &Sink<'_>) -> Result<(Output, IndexedFile)> {
        self.set.create_directory(self.path)?;
        let mut output = Output::create(self.set.output_in(self.path, name, OutputKind::Code)?)?;
        sink.write_to(&mut output)?;
        let file = IndexedFile::of(name.clone(), &output.written(self.access)?)?;
        Ok((output, file))
    }
}

/// Returns a file name that begins with `name` and ends with `extension`, with a processor between them.
pub fn part_name(name: &OutputName, arch: &str, extension: &str, taken: &mut BTreeSet<OutputName>) -> OutputName {
    let arch: String =
        arch.chars().map(|c| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '_' }).collect();
    let numbered = (2_u64..).map(|number| format!("{name}.{arch}-{number}.{extension}"));
    let names = std::iter::once(format!("{name}.{arch}.{extension}")).chain(numbered);
    let mut names = names.map(OutputName::of);
    names.find(|part| taken.insert(part.clone())).expect("there are more numbers than names")
}

/// Gives all files their names, if joining them gives the original.
pub fn commit(planned: PlannedSplit, directory: &SplitDirectory<'_>, input: &Input) -> Result<Vec<SplitFile>> {
    let PlannedSplit { mut outputs, mut index, files } = planned;
    check_index(directory.path, &index.file)?;
    index.mode = mode(input.path());
    let written = outputs.iter_mut().map(|output| output.written(directory.access));
    let written = written.collect::<Result<Vec<_>, _>>()?;
    if let Some((host, parts)) = written.split_first() {
        join::check(&index, host, parts)?;
    }
    drop(written);
    let index_name = OutputName::of(INDEX_NAME);
    let mut output = Output::create(directory.set.output_in(directory.path, &index_name, OutputKind::Code)?)?;
    output.write(index.to_text().as_bytes())?;
    outputs.push(output);
    // A host file without its device code is useless without the parts, so it gets its name last.
    outputs.rotate_left(1);
    if let (Some(host), Some(mode)) = (outputs.last_mut(), index.mode) {
        host.set_new_mode(mode)?;
    }
    commit_all(outputs, [input])?;
    Ok(files)
}

/// Returns an error if the directory has the index of another file.
fn check_index(directory: &Path, file: &OutputName) -> Result<()> {
    let Ok(text) = fs::read(directory.join(INDEX_NAME)) else { return Ok(()) };
    match Index::parse(&text) {
        Ok(index) if index.file == *file => Ok(()),
        Ok(index) => Err(SplitProblem::OtherFile { file: index.file.to_string() }),
        Err(_) => Err(SplitProblem::OtherFile { file: INDEX_NAME.to_owned() }),
    }
    .map_err(|problem| super::SplitError::from(problem).in_file(directory))
}

/// Returns the record of a file for reports.
pub fn written(directory: &Path, file: &IndexedFile, archs: Vec<String>, images: usize) -> SplitFile {
    SplitFile { path: directory.join(file.file.as_path()), size: file.size, archs, images }
}
