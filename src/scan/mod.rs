//! Finding device images in a file: by structure first, then by magic in whatever structure did not explain.
//!
//! A host file's headers lead to the sections that tools keep containers in, so a library of gigabytes costs the
//! reading of some kilobytes. But real libraries also keep containers in `.rodata`, linkers rename sections, and files
//! lose their section headers. Hence the second pass over all other bytes, where a container counts only when
//! everything that it states holds: four bytes that look like a magic occur in any large file.

mod magic;
mod structure;
mod walk;

use std::ops::Range;

use crate::bytes::View;
use crate::error::{Malformed, Result};
use crate::inventory::{Container, File, FileFormat};
use crate::io::Input;

/// Something to search: headers are looked at through the view, the rest goes by block by block.
pub trait Source {
    /// All bytes.
    fn view(&self) -> View<'_>;

    /// Calls `look(offset, bytes)` for one block after another of `range`; each begins with the last `overlap` bytes of
    /// the one before.
    fn blocks(&self, range: Range<u64>, overlap: usize, look: &mut dyn FnMut(u64, &[u8])) -> Result<()>;
}

impl Source for Input {
    fn view(&self) -> View<'_> {
        Input::view(self)
    }

    fn blocks(&self, range: Range<u64>, overlap: usize, look: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        Input::blocks(self, range, overlap, look)
    }
}

/// Bytes in memory are one block.
impl Source for View<'_> {
    fn view(&self) -> View<'_> {
        *self
    }

    fn blocks(&self, range: Range<u64>, _overlap: usize, look: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        look(range.start, &self.data()[range.start as usize..range.end as usize]);
        Ok(())
    }
}

/// Lists every container in `source`; `path` is what the result will call it.
pub fn scan(path: &str, source: &impl Source) -> Result<File> {
    let view = source.view();
    let structure = structure::read(view);
    let mut findings = Findings::default();
    for section in &structure.sections {
        walk::walk(section.view, Some(&section.name), &mut findings);
    }
    for range in findings.unexplained(view.size()) {
        magic::search(source, range, &structure, &mut findings)?;
    }
    Ok(findings.into_file(path, structure.format, view.size()))
}

/// What was found so far.
#[derive(Debug, Default)]
struct Findings {
    containers: Vec<Container>,
    errors: Vec<Malformed>,
}

impl Findings {
    /// The ranges of a file of `size` bytes that no container covers.
    fn unexplained(&self, size: u64) -> Vec<Range<u64>> {
        let mut covered: Vec<Range<u64>> = self.containers.iter().map(|it| it.offset..it.offset + it.size).collect();
        covered.sort_unstable_by_key(|range| range.start);
        let mut ranges = Vec::new();
        let mut end = 0;
        for range in covered {
            if range.start > end {
                ranges.push(end..range.start);
            }
            end = end.max(range.end);
        }
        if end < size {
            ranges.push(end..size);
        }
        ranges
    }

    fn into_file(mut self, path: &str, format: FileFormat, size: u64) -> File {
        self.containers.sort_by_key(|container| container.offset);
        self.errors.sort_by_key(|error| error.offset);
        let (path, format) = (path.to_owned(), Some(format));
        File { path, format, size, containers: self.containers, errors: self.errors, failure: None }
    }
}

#[cfg(test)]
mod tests;
