//! Expansion of a path to its inputs: the file, or the members of an archive.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::appended::{self, Appended};
use super::unpacked::unpacked;
use super::{InputSlice, unopened};
use crate::base::archive::zip::reader::{RecordUse, ZipReader};
use crate::base::archive::{self, MemberContent, RowComparison};
use crate::base::bytes::{Budget, Limits, MAX_NESTING, Resource, View};
use crate::base::error::{Error, Malformed, Result};
use crate::base::file_path::FilePath;
use crate::base::io::{Access, FileUri, Input, SharedSpool};
use crate::format::kernel_store;
use crate::scan::inventory::NotOpened;
use crate::scan::source::Source;

/// Kinds of archives that are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Archives {
    /// Static libraries, as linkers open them.
    Libraries,
    /// Static libraries and the archives of packages: wheels and other zip files, tar files, compressed files.
    All,
}

/// Options for opening files.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct OpenOptions {
    /// The archives whose members are inputs.
    pub(crate) archives: Archives,
    /// Limits on the resources for each file, with all of its members.
    pub(crate) limits: Limits,
    /// Access to files.
    #[doc(hidden)]
    pub access: Access,
    /// What is compared with the record of a wheel.
    pub(crate) record_use: RecordUse,
}

impl OpenOptions {
    /// Creates options for all archives, with default limits.
    pub fn new(access: Access) -> Self {
        OpenOptions { archives: Archives::All, limits: Limits::default(), access, record_use: RecordUse::default() }
    }

    /// Creates options for static libraries, which linkers open, with default limits.
    #[doc(hidden)]
    pub fn libraries(access: Access) -> Self {
        OpenOptions { archives: Archives::Libraries, ..OpenOptions::new(access) }
    }

    /// Sets the limits on the resources for each file.
    #[doc(hidden)]
    pub fn with_limits(self, limits: Limits) -> Self {
        OpenOptions { limits, ..self }
    }
}

/// Calls `take` with each input of `path`: the file, or the members of an archive. `path` may be a `file://` address of
/// a range of a file. A member that cannot be opened is an error among the inputs. Compressed members are decompressed
/// to a temporary file and stay there as long as their slices exist.
///
/// It is no iterator, because a member borrows its archive, which is itself a member that may be decompressed: an
/// iterator would keep the readers of all levels next to the bytes that they borrow, or list the members of an archive
/// before the first is opened. [`Scanner::scan`](crate::scan::Scanner::scan) is the iterator over scanned files.
pub fn each_input(path: &Path, options: OpenOptions, take: &mut dyn FnMut(Result<InputSlice>)) -> Result<()> {
    let Some(uri) = FileUri::parse(path).transpose()? else {
        expand_input(Input::open(path, options.access)?.with_limits(options.limits), path, options, take);
        return Ok(());
    };
    let name = FilePath::new(path);
    let whole = InputSlice::whole(
        name.clone(),
        Input::open_file(uri.path.clone(), options.access)?.with_limits(options.limits),
    );
    let slice = match uri.range {
        Some((offset, size)) => whole.at_address(name, offset, size)?,
        None => whole,
    };
    Expansion { options, take, is_exhausted: false }.expand(slice, &uri.path, MAX_NESTING);
    Ok(())
}

/// Like [`each_input`], for a file that is open. Members of a thin archive are looked up relative to `path`.
pub fn expand_input(input: Input, path: &Path, options: OpenOptions, take: &mut dyn FnMut(Result<InputSlice>)) {
    let slice = InputSlice::whole(FilePath::new(input.path()), input);
    Expansion { options, take, is_exhausted: false }.expand(slice, path, MAX_NESTING);
}

/// The opening of archives in archives.
pub struct Expansion<'a> {
    pub options: OpenOptions,
    pub take: &'a mut dyn FnMut(Result<InputSlice>),
    /// The budget of the file does not allow opening more members.
    pub is_exhausted: bool,
}

impl Expansion<'_> {
    /// Takes a file or its members, at most `levels` levels of archives.
    fn expand(&mut self, slice: InputSlice, path: &Path, levels: usize) {
        let opens_all = self.options.archives == Archives::All;
        if let Some(found) = if opens_all { kernel_store::members(slice.view()) } else { None } {
            return match levels.checked_sub(1) {
                Some(inner) => self.kernels(&slice, found, path, inner),
                None => (self.take)(Ok(InputSlice { not_opened: Some(NotOpened::NestedTooDeep), ..slice.clone() })),
            };
        }
        let format = archive::ArchiveFormat::of(slice.view()).filter(|format| opens_all || format.is_library());
        let not_opened = match (format, levels.checked_sub(1)) {
            (Some(format), Some(inner)) => return self.members(&slice, format, path, inner),
            (Some(_), None) => Some(NotOpened::NestedTooDeep),
            (None, inner) if opens_all => match unopened::format(slice.view()) {
                None => return self.with_appended(slice, path, inner),
                not_opened => not_opened,
            },
            (None, _) => None,
        };
        (self.take)(Ok(InputSlice { not_opened, ..slice }));
    }

    /// Takes a file that is not an archive, or its first part and the members of the archive behind it.
    fn with_appended(&mut self, slice: InputSlice, path: &Path, inner: Option<usize>) {
        let not_opened = |reason| Ok(InputSlice { not_opened: Some(reason), ..slice.clone() });
        let Some(appended) = appended::find(slice.view()) else { return self.object(slice) };
        let (start, zip) = match appended {
            Appended::NotOpened(reason) => return (self.take)(not_opened(reason)),
            Appended::Zip { format, start } => (start, Some(format)),
            Appended::File { start } => (start, None),
        };
        let Some(inner) = inner else { return (self.take)(not_opened(NotOpened::NestedTooDeep)) };
        let size = slice.view().from(start).size();
        let name = slice.path.clone();
        let first = slice.clone().cut(name.clone(), 0, start);
        let rest = slice.clone().cut(name, start, size);
        (self.take)(first.and_then(InputSlice::decode_bitcode));
        match (zip, rest) {
            // It may state offsets from the start of the whole file.
            (Some(format), _) => self.members(&slice, format, path, inner),
            (None, Ok(rest)) => self.expand(rest, path, inner),
            (None, Err(error)) => (self.take)(Err(error)),
        }
    }

    /// Takes a file without members, and the second copy of an object's device code.
    fn object(&mut self, slice: InputSlice) {
        let copy = slice.in_bitcode();
        (self.take)(slice.decode_bitcode());
        if let Some(copy) = copy {
            (self.take)(copy);
        }
    }

    /// Opens the members of an archive, with `inner` levels of archives in them. Members before a defect are inputs, as
    /// in an intact archive.
    fn members(&mut self, archive: &InputSlice, format: &archive::ArchiveFormat, path: &Path, inner: usize) {
        let budget = archive.input.budget();
        let mut opened = OpenArchive { slice: archive, path, inner, spool: SharedSpool::new(), budget };
        let count_read = |read| archive.input.count_read(read);
        let mut result = if format.is_zip() {
            self.zip_members(&mut opened, &count_read)
        } else {
            format.each_member(archive.view(), &count_read, &mut |member| self.charged_member(&mut opened, member))
        };
        if self.is_exhausted {
            return;
        }
        if result.is_ok() && self.options.archives == Archives::All && !format.is_zip() {
            result = format.check_whole(archive.view());
        }
        if let Err(malformed) = result {
            (self.take)(Err(malformed.in_file(archive.path.printed())));
        }
    }

    /// Opens the members of a zip file. Its contradictions precede them.
    fn zip_members(&mut self, archive: &mut OpenArchive<'_>, count_read: &dyn Fn(u64)) -> Result<(), Malformed> {
        let slice = archive.slice;
        let zip = ZipReader::read(slice.view(), &slice.path, self.options.record_use, count_read)?;
        for contradiction in zip.contradictions(count_read)? {
            (self.take)(Err(contradiction.in_file(slice.path.printed())));
        }
        let entries = &zip.directory.entries;
        for index in entries.files(count_read)? {
            let entry = entries.get(index)?;
            self.charged_member(archive, zip.member(slice.view(), &entry, count_read)?);
        }
        Ok(())
    }

    /// Opens the code objects of a library.
    fn kernels(&mut self, store: &InputSlice, found: archive::Members<'_>, path: &Path, inner: usize) {
        let budget = store.input.budget();
        let mut opened = OpenArchive { slice: store, path, inner, spool: SharedSpool::new(), budget };
        for member in found.members {
            self.charged_member(&mut opened, member);
        }
        if !self.is_exhausted
            && let Some(malformed) = found.defect
        {
            (self.take)(Err(malformed.in_file(store.path.printed())));
        }
    }

    /// Charges and opens a member.
    pub fn charged_member(&mut self, archive: &mut OpenArchive<'_>, member: archive::Member<'_>) {
        if self.is_exhausted {
            return;
        }
        if let Err(exhausted) = charge(archive.slice.view(), &member) {
            self.is_exhausted = true;
            return (self.take)(Err(exhausted.in_file(archive.slice.path.printed())));
        }
        self.member(archive, member);
    }

    /// Opens a member.
    pub fn member(&mut self, archive: &mut OpenArchive<'_>, member: archive::Member<'_>) {
        let OpenArchive { slice: archive, path, inner, ref mut spool, budget } = *archive;
        // A file that is compressed as a whole keeps its name.
        let name = member.name.as_ref().map_or(archive.path.clone(), |name| archive.path.with_member(name));
        let packed_size = member.packed_size;
        let mut comparison = member.comparison;
        let opened = match member.content {
            MemberContent::Here(view) => {
                let input = Arc::clone(&archive.input);
                let range = archive.in_input().outer_range(&view.range());
                let outermost = archive.outermost.clone();
                let not_opened = None;
                let decoded = None;
                let slice = InputSlice { path: name, not_opened, outermost, packed_size, decoded, input, range };
                let compared = comparison.as_mut().map_or(Ok(()), |comparison| slice.compare(comparison));
                compared.map(|()| (slice, path.to_owned()))
            }
            MemberContent::Elsewhere(_) if !archive.is_own_file() => Err(Error::UnreadableMember {
                path: PathBuf::from(name.as_str()),
                why: archive::NESTED_THIN_MEMBER.to_owned(),
            }),
            MemberContent::Elsewhere(relative) => {
                let path = path.parent().unwrap_or(Path::new("")).join(relative);
                let input = Input::open_file(path.clone(), self.options.access);
                input.map(|input| input.with_budget(budget.clone())).map(|input| (InputSlice::whole(name, input), path))
            }
            MemberContent::Packed(unpack) => {
                let input = unpacked(&name, unpack, comparison.as_mut(), (&archive.input, budget), spool);
                let whole = input.map(|input| InputSlice::whole(name, input));
                let outermost = archive.outermost.clone();
                whole.map(|slice| (InputSlice { outermost, packed_size, ..slice }, path.to_owned()))
            }
            MemberContent::Unreadable(why) => Err(Error::UnreadableMember { path: PathBuf::from(name.as_str()), why }),
        };
        match opened {
            Ok((slice, path)) => {
                if let Some(contradiction) = comparison.and_then(RowComparison::finish) {
                    (self.take)(Err(contradiction.in_file(archive.path.printed())));
                }
                let read = if Arc::ptr_eq(&slice.input, &archive.input) { slice.view().size() } else { 0 };
                self.expand(slice, &path, inner);
                archive.input.count_read(read);
            }
            Err(error) => (self.take)(Err(error)),
        }
    }
}

/// An archive whose members are opened.
pub struct OpenArchive<'a> {
    pub slice: &'a InputSlice,
    /// The file that members of a thin archive are relative to.
    pub path: &'a Path,
    /// Number of levels of archives in it that are opened.
    pub inner: usize,
    /// The file of its decompressed members.
    pub spool: SharedSpool,
    /// Budget of its members.
    pub budget: &'a Budget,
}

/// Charges a member of an archive. Several members may have the same bytes.
pub fn charge(archive: View<'_>, member: &archive::Member<'_>) -> Result<(), Malformed> {
    archive.charge("archive member", Resource::Members, 1)?;
    // A member that does not state its size is charged while it is unpacked. Once that exceeds the budget, nothing else
    // is unpacked.
    let is_packed = matches!(member.content, MemberContent::Packed(_));
    match archive.budget().filter(|budget| is_packed && budget.is_exhausted(Resource::Decompressed)) {
        Some(budget) => Err(archive.malformed("archive member", 0, budget.over_limit(Resource::Decompressed))),
        None => Ok(()),
    }
}
