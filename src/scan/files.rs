//! From a path to the files that it stands for: the file itself, or of an archive the members.

use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::{Kept, Source};
use crate::archive::{self, MemberContent};
use crate::bytes::View;
use crate::codec::Limit;
use crate::error::{Cause, Error, Result};
use crate::inventory::OnDisk;
use crate::io::{FileUri, Input};

/// Archives in archives in archives: as deep as this is looked, for a file that contains itself never ends.
const DEEPEST: usize = 4;

/// A file, or a part of one that is a file by itself.
#[derive(Clone)]
pub struct Part {
    /// What people call it: `ARCHIVE!MEMBER` for a member.
    pub path: String,
    /// Its name in the archive that holds it, if one does.
    pub member: Option<String>,
    input: Arc<Input>,
    range: Range<u64>,
    kept: Arc<Kept>,
}

impl Part {
    /// All of a file.
    pub fn whole(path: String, input: Input) -> Part {
        let range = 0..input.size();
        Part { path, member: None, input: Arc::new(input), range, kept: Arc::default() }
    }

    /// The file on disk.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// These bytes of it, which are to be called `path`.
    fn cut(self, path: String, offset: u64, size: u64) -> Result<Part> {
        let limit = self.range.end - self.range.start;
        if offset.checked_add(size).is_none_or(|end| end > limit) {
            let why = Cause::OutOfBounds { offset, size, limit }.to_string();
            return Err(Error::Address { address: path, why });
        }
        let start = self.range.start + offset;
        Ok(Part { path, range: start..start + size, ..self })
    }

    /// Lets go of the file where it can be opened again.
    pub fn close(self) -> ClosedPart {
        let Part { path, member, input, range, kept } = self;
        let metadata = input.file().metadata().ok().filter(|_| input.is_on_disk());
        let file = match metadata {
            Some(metadata) => {
                let modified = metadata.modified().ok();
                FileOfPart::OnDisk { path: input.path().to_owned(), size: metadata.len(), modified }
            }
            None => FileOfPart::Open(input),
        };
        ClosedPart { path, member, file, range, kept }
    }
}

/// A part whose file is not kept open: of thousands of files, no system lets a program have all open at once.
pub struct ClosedPart {
    /// As of [`Part`].
    pub path: String,
    /// As of [`Part`].
    pub member: Option<String>,
    file: FileOfPart,
    range: Range<u64>,
    kept: Arc<Kept>,
}

/// Where a closed part's bytes are.
enum FileOfPart {
    OnDisk {
        path: PathBuf,
        size: u64,
        modified: Option<SystemTime>,
    },
    /// In a file without a name, which would be gone.
    Open(Arc<Input>),
}

impl ClosedPart {
    /// Opens the file again. That it is no longer the one that it was is an error.
    pub fn open(&self) -> Result<Part> {
        let input = match &self.file {
            FileOfPart::OnDisk { path, size, modified } => {
                let input = Input::open_file(path.clone())?;
                let now = input.file().metadata().map_err(Error::io(path, "read"))?;
                if now.len() != *size || input.size() != *size || now.modified().ok() != *modified {
                    return Err(Error::Changed { path: path.clone() });
                }
                Arc::new(input)
            }
            FileOfPart::Open(input) => Arc::clone(input),
        };
        let (path, member, range, kept) =
            (self.path.clone(), self.member.clone(), self.range.clone(), Arc::clone(&self.kept));
        Ok(Part { path, member, input, range, kept })
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

    fn release(&self) {
        self.input.release();
    }

    fn kept(&self) -> Option<&Kept> {
        Some(&self.kept)
    }

    fn on_disk(&self) -> Option<OnDisk> {
        self.input.on_disk().map(|it| OnDisk { offset: self.range.start, ..it })
    }
}

/// Which archives are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Archives {
    /// Static libraries, as linkers open them.
    Libraries,
    /// Also those that are made for people: wheels and other zip files, tar files, compressed files.
    All,
}

/// How files are opened.
#[derive(Debug, Clone, Copy)]
pub struct Opening {
    pub archives: Archives,
    /// How large a packed member may become.
    pub limit: Limit,
}

/// Calls `found` with each file that `path` stands for; instead of a path it may be a `file://` address of some bytes of
/// one. A member that cannot be had is an error among the others. Packed members take room on disk for as long as their
/// part is kept.
pub fn each_part(path: &Path, how: Opening, found: &mut dyn FnMut(Result<Part>)) -> Result<()> {
    let Some(uri) = FileUri::parse(path).transpose()? else {
        each_part_of(Input::open(path)?, path, how, found);
        return Ok(());
    };
    let name = path.to_string_lossy().into_owned();
    let whole = Part::whole(name.clone(), Input::open_file(uri.path.clone())?);
    let part = match uri.range {
        Some((offset, size)) => whole.cut(name, offset, size)?,
        None => whole,
    };
    expand(part, &uri.path, 0, how, found);
    Ok(())
}

/// The same of a file that is open already; members of a thin archive are looked for beside `path`.
pub fn each_part_of(input: Input, path: &Path, how: Opening, found: &mut dyn FnMut(Result<Part>)) {
    let part = Part::whole(input.path().to_string_lossy().into_owned(), input);
    expand(part, path, 0, how, found);
}

fn expand(part: Part, path: &Path, depth: usize, how: Opening, found: &mut dyn FnMut(Result<Part>)) {
    let form = archive::Form::of(part.view()).filter(|form| how.archives == Archives::All || form.is_library());
    let Some(form) = form.filter(|_| depth < DEEPEST) else { return found(Ok(part)) };
    let members = match (form.members)(part.view()) {
        Ok(members) => members,
        Err(malformed) => return found(Err(malformed.in_file(Path::new(&part.path)))),
    };
    for member in members {
        // A file that is compressed as a whole is still called what it is called.
        let name = member.name.as_ref().map_or(part.path.clone(), |name| format!("{}!{name}", part.path));
        let named = |part: Part| Part { member: member.name.clone().or(part.member.clone()), ..part };
        match member.content {
            MemberContent::Here(view) => {
                let start = part.range.start + view.start();
                let range = start..start + view.size();
                let input = Arc::clone(&part.input);
                let part = Part { path: name, member: None, input, range, kept: Arc::default() };
                expand(named(part), path, depth + 1, how, found);
            }
            MemberContent::Elsewhere(relative) => {
                let path = path.parent().unwrap_or(Path::new("")).join(relative);
                match Input::open_file(path.clone()) {
                    Ok(input) => expand(named(Part::whole(name, input)), &path, depth + 1, how, found),
                    Err(error) => found(Err(error)),
                }
            }
            MemberContent::Packed(unpack) => {
                let made = Input::made(Path::new(&name), &std::env::temp_dir(), |file| {
                    unpack(&mut Limited { to: file, left: how.limit.0 })
                });
                match made {
                    Ok(input) => expand(named(Part::whole(name, input)), path, depth + 1, how, found),
                    Err(error) => found(Err(error)),
                }
            }
            MemberContent::Unreadable(why) => found(Err(Error::UnreadableMember { path: name.into(), why })),
        }
    }
}

/// Takes so many bytes and no more: what is packed can become as large as it likes.
struct Limited<W> {
    to: W,
    left: u64,
}

impl<W: Write> Write for Limited<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let size = bytes.len() as u64;
        self.left =
            self.left.checked_sub(size).ok_or_else(|| io::Error::other("is larger than the limit once unpacked"))?;
        self.to.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
