//! Files of a split that are written, and get their names together.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::SplitProblem;
use super::index::{INDEX_NAME, Index, IndexedFile};
use super::mode::{mode, set_mode};
use super::{Result, SplitFile, join};
use crate::error::Error;
use crate::io::{Access, Input, Output, Sink, commit_all};

/// Files that are complete and have no names yet.
pub struct PlannedSplit {
    pub outputs: Vec<Output>,
    pub index: Index,
    pub files: Vec<SplitFile>,
}

/// Returns the name of the file in the index and in the directory.
pub fn file_name(input: &Input) -> Result<String> {
    let name = input.path().file_name().and_then(|name| name.to_str());
    Ok(name.ok_or(SplitProblem::Name)?.to_owned())
}

/// Writes an output in a directory, without its name, and returns its record in the index as `name`.
pub fn output(directory: &Path, name: &str, sink: &Sink<'_>, access: Access) -> Result<(Output, IndexedFile)> {
    let path = directory.join(name);
    let parent = path.parent().unwrap_or(directory);
    fs::create_dir_all(parent).map_err(Error::io(parent, "create"))?;
    let mut output = Output::create_in(parent, path.file_name().unwrap_or_default())?;
    sink.write_to(&mut output)?;
    let file = IndexedFile::of(name.to_owned(), &output.written(access)?)?;
    Ok((output, file))
}

/// Returns a file name that begins with `name` and ends with `extension`, with a processor between them.
pub fn part_name(name: &str, arch: &str, extension: &str, taken: &mut BTreeSet<String>) -> String {
    let arch: String =
        arch.chars().map(|c| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '_' }).collect();
    let mut part = format!("{name}.{arch}.{extension}");
    let mut number = 2_u64;
    while !taken.insert(part.clone()) {
        part = format!("{name}.{arch}-{number}.{extension}");
        number = number.saturating_add(1);
    }
    part
}

/// Gives all files their names, if joining them gives the original.
pub fn commit(planned: PlannedSplit, directory: &Path, input: &Input, access: Access) -> Result<Vec<SplitFile>> {
    let PlannedSplit { mut outputs, mut index, files } = planned;
    check_index(directory, &index.file)?;
    index.mode = mode(input.path());
    let written = outputs.iter_mut().map(|output| output.written(access));
    let written = written.collect::<Result<Vec<_>, _>>()?;
    if let Some((host, parts)) = written.split_first() {
        join::check(&index, host, parts)?;
    }
    drop(written);
    let mut output = Output::create_in(directory, INDEX_NAME)?;
    output.write(index.to_text().as_bytes())?;
    outputs.push(output);
    commit_all(outputs, [input])?;
    set_mode(&directory.join(&index.host.file), index.mode)?;
    Ok(files)
}

/// Returns an error if the directory has the index of another file.
fn check_index(directory: &Path, file: &str) -> Result<()> {
    let Ok(text) = fs::read(directory.join(INDEX_NAME)) else { return Ok(()) };
    match Index::parse(&text) {
        Ok(index) if index.file == file => Ok(()),
        Ok(index) => Err(SplitProblem::OtherFile { file: index.file }),
        Err(_) => Err(SplitProblem::OtherFile { file: INDEX_NAME.to_owned() }),
    }
    .map_err(|problem| super::SplitError::from(problem).in_file(directory))
}

/// Returns the record of a file for reports.
pub fn written(directory: &Path, file: &IndexedFile, archs: Vec<String>, images: usize) -> SplitFile {
    SplitFile { path: PathBuf::from(directory).join(&file.file), size: file.size, archs, images }
}
