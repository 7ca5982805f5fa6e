//! From a path to the files that it stands for: the file itself, or of an archive the members.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::Source;
use crate::archive::{self, MemberContent};
use crate::bytes::View;
use crate::error::Result;
use crate::io::Input;

/// Archives in archives in archives: as deep as this is looked, for a file that contains itself never ends.
const DEEPEST: usize = 4;

/// A file, or a part of one that is a file by itself.
pub struct Part {
    /// What people call it: `ARCHIVE!MEMBER` for a member.
    pub path: String,
    /// Its name in the archive that holds it, if one does.
    pub member: Option<String>,
    input: Arc<Input>,
    range: Range<u64>,
}

impl Part {
    /// All of a file.
    pub fn whole(path: String, input: Input) -> Part {
        let range = 0..input.size();
        Part { path, member: None, input: Arc::new(input), range }
    }

    /// These bytes for as long as the file is open: still borrowed if they are a part of it, a copy if they were made of it.
    pub fn keep(&self, bytes: &[u8]) -> Cow<'_, [u8]> {
        match self.input.offset_of(bytes) {
            Some(offset) => Cow::Borrowed(&self.input.view().data()[offset as usize..][..bytes.len()]),
            None => Cow::Owned(bytes.to_vec()),
        }
    }

    /// The file on disk.
    pub fn input(&self) -> &Input {
        &self.input
    }
}

impl Source for Part {
    fn view(&self) -> View<'_> {
        let data = self.input.view().data();
        // The range came from a view of the same mapping.
        View::new(&data[self.range.start as usize..self.range.end as usize])
    }

    fn blocks(&self, range: Range<u64>, overlap: usize, look: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        let start = self.range.start;
        self.input.blocks(start + range.start..start + range.end, overlap, |offset, bytes| look(offset - start, bytes))
    }
}

/// The files that `path` stands for. A member that cannot be had is an error among the others.
pub fn parts(path: &Path) -> Result<Vec<Result<Part>>> {
    Ok(parts_of(Input::open(path)?, path))
}

/// The same of a file that is open already; members of a thin archive are looked for beside `path`.
pub fn parts_of(input: Input, path: &Path) -> Vec<Result<Part>> {
    let mut found = Vec::new();
    expand(Part::whole(input.path().to_string_lossy().into_owned(), input), path, 0, &mut found);
    found
}

fn expand(part: Part, path: &Path, depth: usize, found: &mut Vec<Result<Part>>) {
    if depth == DEEPEST || !archive::is_archive(part.view()) {
        return found.push(Ok(part));
    }
    let members = match archive::members(part.view()) {
        Ok(members) => members,
        Err(malformed) => return found.push(Err(malformed.in_file(Path::new(&part.path)))),
    };
    for member in members {
        let name = format!("{}!{}", part.path, member.name);
        match member.content {
            MemberContent::Here(view) => {
                let start = part.range.start + view.start();
                let range = start..start + view.size();
                let input = Arc::clone(&part.input);
                expand(Part { path: name, member: Some(member.name), input, range }, path, depth + 1, found);
            }
            MemberContent::Elsewhere(relative) => {
                let path = path.parent().unwrap_or(Path::new("")).join(relative);
                match Input::open(&path) {
                    Ok(input) => {
                        let part = Part { member: Some(member.name), ..Part::whole(name, input) };
                        expand(part, &path, depth + 1, found);
                    }
                    Err(error) => found.push(Err(error)),
                }
            }
        }
    }
}
