//! A file that is a bundle in one of its forms, compressed or not: what is in it, and where.
//!
//! Which form it is shows in its bytes; a file type that is stated only narrows down what is believed. Nothing but tables is
//! read, with two exceptions: texts are searched for the lines between files, and a compressed bundle of anything but the
//! binary form has to be restored to be read at all.

use std::ops::Range;
use std::path::{Path, PathBuf};

use memchr::memmem;

use crate::bytes::View;
use crate::codec::Limit;
use crate::error::{Error, Malformed};
use crate::format::bundle::{Bundle, BundleForm, BundleIndex, COMMENTS, FileType, HOST_CONTENT, MAGIC, text};
use crate::format::ccob::{self, Ccob, Failure};
use crate::io::Input;
use crate::rewrite;

/// Reason why the bundle at the start of a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum BundleFileError {
    /// The file is not a bundle of the expected type.
    #[error("{}", not_a_bundle(.path, .file_type))]
    NotABundle {
        /// The file, or the member of an archive.
        path: PathBuf,
        /// The expected type; `None` where any was accepted.
        file_type: Option<FileType>,
    },
    /// An error about the file.
    #[error(transparent)]
    File(#[from] Error),
}

/// Formats the error for a file that is not a bundle of the expected type.
pub(super) fn not_a_bundle(path: &Path, file_type: &Option<FileType>) -> String {
    match file_type {
        Some(it) => format!("{}: not a bundle of type {} ({})", path.display(), it.name, it.meaning),
        None => format!("{}: not a bundle", path.display()),
    }
}

type Result<T, E = BundleFileError> = std::result::Result<T, E>;

/// The first bundle of a file.
pub struct BundleFile<'data> {
    pub entries: Vec<FileEntry<'data>>,
    /// How it is stored, where it is compressed.
    pub ccob: Option<Ccob<'data>>,
    /// Where more than padding follows it; counted like the offsets of the view.
    pub more_at: Option<u64>,
}

/// An id and the file that stands under it.
pub struct FileEntry<'data> {
    pub id: String,
    pub location: Location<'data>,
}

/// Where the bytes of a file are.
pub enum Location<'data> {
    InFile(View<'data>),
    /// In what the compressed bundle gives.
    InStream(Range<u64>),
    /// All around: the bundle is the host's object, with sections added to it.
    HostObject(View<'data>),
    /// In memory, because they had to be restored with all else.
    Decompressed(Vec<u8>),
}

/// What to read, and as what.
#[derive(Clone, Copy)]
pub struct BundleReader<'data> {
    pub path: &'data Path,
    pub view: View<'data>,
    /// The file that the view is of, where it is of one: large ones are searched without being looked at as a whole.
    pub input: Option<&'data Input>,
    /// What it has to be.
    pub file_type: Option<FileType>,
    pub limit: Limit,
}

impl FileEntry<'_> {
    /// Where it is in what the compressed bundle gives, if it is there.
    pub fn range_in_stream(&self) -> Option<Range<u64>> {
        match &self.location {
            Location::InStream(range) => Some(range.clone()),
            _ => None,
        }
    }
}

impl<'data> BundleReader<'data> {
    /// A file of its own.
    pub fn of_input(input: &'data Input, file_type: Option<FileType>, limit: Limit) -> Self {
        BundleReader { path: input.path(), view: input.view(), input: Some(input), file_type, limit }
    }

    /// The bundle at the start of the view; `None` where it is none. Bytes that begin as one and are not are an error.
    pub fn read(&self) -> Result<Option<BundleFile<'data>>> {
        if self.view.starts_with(&ccob::MAGIC) {
            return self.compressed().map(Some);
        }
        let Some((entries, size)) = self.plain(self.view)? else { return Ok(None) };
        let more_at = size.and_then(|size| self.behind(size));
        Ok(Some(BundleFile { entries, ccob: None, more_at }))
    }

    /// Calls `look` with all bundles that stand one behind the other, and says how many there were. What follows a bundle
    /// has to be one.
    pub fn each<E: From<BundleFileError>>(
        self,
        look: &mut dyn FnMut(BundleFile<'data>) -> Result<(), E>,
    ) -> Result<usize, E> {
        let mut reader = self;
        for count in 0.. {
            let Some(bundle) = reader.read()? else {
                return if count == 0 { Ok(0) } else { Err(reader.not_a_bundle().into()) };
            };
            let more_at = bundle.more_at;
            look(bundle)?;
            let Some(offset) = more_at else { return Ok(count + 1) };
            reader.view = reader.view.from(offset - reader.view.start());
        }
        unreachable!("a file ends")
    }

    /// Where the first byte that is no padding follows.
    fn behind(&self, size: u64) -> Option<u64> {
        let rest = self.view.from(size).skip_zeros();
        // Darwin's archives fill their members up to multiples of eight, and count that in.
        let is_filled = rest.size() < 8 && rest.data().iter().all(|&byte| byte == b'\n');
        (rest.size() > 0 && !is_filled).then_some(rest.start())
    }

    fn compressed(&self) -> Result<BundleFile<'data>> {
        let ccob = Ccob::read(self.view).map_err(|error| self.broken(error))?;
        let more_at = self.behind(ccob.view.size());
        let is_binary = ccob.start(MAGIC.len()).map_err(|error| self.broken(error))? == MAGIC;
        if is_binary && self.allows(|form| matches!(form, BundleForm::Binary | BundleForm::Object)) {
            let entries = index(&ccob).map_err(|error| self.broken(error))?;
            return Ok(BundleFile { entries, ccob: Some(ccob), more_at });
        }
        let restored = ccob.decompress(self.limit).map_err(|error| self.broken(error))?;
        let inner = BundleReader { path: self.path, view: View::new(&restored), input: None, ..*self };
        let Some((entries, _)) = inner.plain(inner.view)? else { return Err(self.not_a_bundle()) };
        let mut kept = Vec::new();
        for FileEntry { id, location } in entries {
            let bytes = match location {
                Location::InFile(view) => view.data().to_vec(),
                Location::HostObject(object) => extract_host(object).map_err(|error| self.broken(error))?.to_vec(),
                Location::InStream(_) | Location::Decompressed(_) => unreachable!("it is not compressed again"),
            };
            kept.push(FileEntry { id, location: Location::Decompressed(bytes) });
        }
        Ok(BundleFile { entries: kept, ccob: Some(ccob), more_at })
    }

    /// What is not compressed, and its size if it states one.
    fn plain<'a>(&self, view: View<'a>) -> Result<Option<(Vec<FileEntry<'a>>, Option<u64>)>> {
        let broken = |error| self.broken(error);
        let may_be_binary = self.allows(|form| matches!(form, BundleForm::Binary | BundleForm::Object));
        if may_be_binary && view.starts_with(MAGIC) {
            let bundle = Bundle::read(view).map_err(broken)?;
            let entries = bundle.entries.into_iter();
            let entries =
                entries.map(|it| FileEntry { id: it.text.to_owned(), location: Location::InFile(it.code_object) });
            return Ok(Some((entries.collect(), Some(bundle.view.size()))));
        }
        if self.allows(|form| form == BundleForm::Object) && rewrite::object_format(view).is_some() {
            return Ok(object(view).map_err(broken)?.map(|entries| (entries, None)));
        }
        if self.allows(|form| matches!(form, BundleForm::Text { .. })) {
            let marks = self.marks(view)?;
            let comments = match self.file_type.map(|file_type| file_type.form) {
                Some(BundleForm::Text { comment }) => vec![comment],
                _ => COMMENTS.to_vec(),
            };
            let Some(entries) = text::read(view, &marks, &comments).map_err(broken)? else { return Ok(None) };
            let entries = entries.into_iter();
            let entries =
                entries.map(|it| FileEntry { id: it.text.to_owned(), location: Location::InFile(it.code_object) });
            return Ok(Some((entries.collect(), None)));
        }
        Ok(None)
    }

    fn allows(&self, form: impl FnOnce(BundleForm) -> bool) -> bool {
        self.file_type.is_none_or(|file_type| form(file_type.form))
    }

    fn marks(&self, view: View) -> Result<Vec<u64>> {
        let in_file = self.input.and_then(|input| Some((input, input.offset_of(view.data())?)));
        let Some((input, start)) = in_file else { return Ok(text::marks(view.data())) };
        let finder = memmem::Finder::new(text::MARK);
        let mut marks = Vec::new();
        input.blocks(start..start + view.size(), text::MARK.len() - 1, |offset, block| {
            marks.extend(finder.find_iter(block).map(|at| offset + at as u64 - start));
        })?;
        Ok(marks)
    }

    fn broken(&self, malformed: Malformed) -> BundleFileError {
        malformed.in_file(self.path).into()
    }

    /// Returns the error for a file that is not a bundle.
    pub fn not_a_bundle(&self) -> BundleFileError {
        BundleFileError::NotABundle { path: self.path.to_owned(), file_type: self.file_type }
    }
}

/// The entries of a compressed binary bundle, from as much of its start as that takes.
fn index<'data>(ccob: &Ccob<'data>) -> Result<Vec<FileEntry<'data>>, Malformed> {
    let mut size = FIRST_START;
    loop {
        let start = ccob.start(size)?;
        match BundleIndex::read(View::new(&start), ccob.full_size) {
            Ok(index) => {
                let entries = index.entries.into_iter();
                return Ok(entries
                    .map(|it| FileEntry { id: it.text.to_owned(), location: Location::InStream(it.range) })
                    .collect());
            }
            // There is more of it.
            Err(_) if start.len() == size && (size as u64) < ccob.full_size => size *= 16,
            Err(error) => return Err(Malformed { offset: ccob.stored.start(), ..error }),
        }
    }
}

/// How much of a compressed bundle is looked at first. A real index has a kilobyte or two.
const FIRST_START: usize = 16 << 10;

/// Calls `take` with the pieces of parts of what a compressed bundle gives, as they come by, and whom the part is for. The
/// whole of it is gone through, for only that verifies it.
pub fn each_piece_of<T>(
    ccob: &Ccob,
    path: &Path,
    mut parts: Vec<(Range<u64>, T)>,
    take: &mut dyn FnMut(&mut T, &[u8]) -> Result<(), Error>,
    moved: &mut dyn FnMut(u64),
) -> Result<(), Error> {
    let mut at = 0;
    let result = ccob.each_piece(|piece| {
        let end = at + piece.len() as u64;
        for (range, whom) in &mut parts {
            let (from, to) = (range.start.clamp(at, end), range.end.clamp(at, end));
            if from < to {
                take(whom, &piece[(from - at) as usize..(to - at) as usize])?;
            }
        }
        at = end;
        moved(piece.len() as u64);
        Ok(())
    });
    result.map_err(|failure| match failure {
        Failure::Malformed(malformed) => malformed.in_file(path),
        Failure::Consumer(error) => error,
    })
}

/// The entries of a bundle of objects; `None` for an object that is no bundle.
fn object(view: View<'_>) -> Result<Option<Vec<FileEntry<'_>>>, Malformed> {
    let mut entries = Vec::new();
    for section in rewrite::sections_named(view, MAGIC)? {
        let id = String::from_utf8_lossy(&section.name[MAGIC.len()..]).into_owned();
        let is_all_around = section.content.data() == HOST_CONTENT;
        let location = if is_all_around { Location::HostObject(view) } else { Location::InFile(section.content) };
        entries.push(FileEntry { id, location });
    }
    Ok((!entries.is_empty()).then_some(entries))
}

/// The host's object without what was added to it.
pub fn extract_host(object: View<'_>) -> Result<crate::content::Content<'_>, Malformed> {
    rewrite::without_sections(object, MAGIC)
}
