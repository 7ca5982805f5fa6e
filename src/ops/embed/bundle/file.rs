//! Bundle files: a bundle in any of its forms, compressed or not, with its entries and their locations.
//!
//! The form is determined by the bytes; a specified file type only restricts it. Only tables are read, with two
//! exceptions: texts are searched for the lines between files, and a compressed bundle in any form but the binary one
//! must be decompressed to be read.

use std::borrow::Cow;
use std::ops::Range;

use fatbin_core::base::bytes::{Resource, View, record_memory};
use fatbin_core::base::code::{Code, Coded, ErrorClass};
use fatbin_core::base::error::{Error, Malformed};
use fatbin_core::base::io::Input;
use fatbin_core::format::bundle::{Bundle, BundleForm, BundleIndex, COMMENTS, FileType, HOST_CONTENT, MAGIC, text};
use fatbin_core::format::ccob::{self, Ccob};
use fatbin_core::host::rewrite;

/// Reason why the bundle at the start of a view could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleFileError {
    /// The bytes are not a bundle of the expected type.
    #[error("not a bundle")]
    NotABundle,
    /// The bundle is malformed.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The file could not be searched.
    #[error(transparent)]
    Search(#[from] Error),
}

impl Coded for BundleFileError {
    fn class(&self) -> ErrorClass {
        match self {
            BundleFileError::NotABundle => Code::NotABundle.into(),
            BundleFileError::Malformed(malformed) => malformed.class(),
            BundleFileError::Search(error) => error.class(),
        }
    }
}

type Result<T, E = BundleFileError> = std::result::Result<T, E>;

/// The first bundle of a file.
#[derive(Debug)]
pub struct BundleFile<'data> {
    /// Entries in the order of the bundle.
    pub entries: Vec<FileEntry<'data>>,
    /// Its stored form, where it is compressed.
    pub ccob: Option<Ccob<'data>>,
    /// The bytes after the bundle and its padding, if any.
    pub next: Option<View<'data>>,
}

/// An entry: an ID and its file.
#[derive(Debug)]
pub struct FileEntry<'data> {
    /// ID as written.
    pub id: String,
    /// Location of the file's bytes.
    pub location: Location<'data>,
}

/// Location of an entry's bytes.
#[derive(Debug)]
pub enum Location<'data> {
    /// In the view.
    InFile(View<'data>),
    /// In the decompressed bytes of the bundle.
    InStream(Range<u64>),
    /// The host's object, which also contains the sections of the bundle.
    HostObject(View<'data>),
    /// In memory, because the whole bundle had to be decompressed.
    Decompressed(Vec<u8>),
}

/// A view to read, and the expected form.
#[derive(Debug, Clone, Copy)]
pub struct BundleReader<'data> {
    /// Bytes to read.
    pub view: View<'data>,
    /// File that contains the view, if any: large files are searched in blocks.
    pub input: Option<&'data Input>,
    /// The expected type.
    pub file_type: Option<FileType>,
}

impl FileEntry<'_> {
    /// Returns the file. `stream` has the decompressed bytes of the bundle.
    pub fn bytes<'a>(&'a self, stream: &'a [u8]) -> Result<Cow<'a, [u8]>, Malformed> {
        Ok(match &self.location {
            Location::InFile(view) => view.data().into(),
            Location::InStream(range) => {
                stream.get(range.start as usize..range.end as usize).unwrap_or_default().into()
            }
            Location::HostObject(object) => extract_host(*object)?.to_vec().into(),
            Location::Decompressed(bytes) => bytes.into(),
        })
    }

    /// Returns the range in the decompressed bytes of the bundle, if the entry is in them.
    pub fn range_in_stream(&self) -> Option<Range<u64>> {
        match &self.location {
            Location::InStream(range) => Some(range.clone()),
            _ => None,
        }
    }
}

impl<'data> BundleReader<'data> {
    /// Creates a reader of a whole file.
    pub fn of_input(input: &'data Input, file_type: Option<FileType>) -> Self {
        BundleReader { view: input.view(), input: Some(input), file_type }
    }

    /// Reads the bundle at the start of the view; `None` where it is not a bundle. Malformed bundles are errors.
    pub fn read(&self) -> Result<Option<BundleFile<'data>>> {
        if self.view.starts_with(&ccob::MAGIC) {
            return self.compressed().map(Some);
        }
        let Some((entries, size)) = self.plain(self.view)? else { return Ok(None) };
        let next = size.and_then(|size| self.next_after(size));
        Ok(Some(BundleFile { entries, ccob: None, next }))
    }

    /// Calls `visit` with all bundles that are back to back, and returns their number. Only bundles may follow a
    /// bundle.
    /// `fail` converts errors of the reader.
    pub fn each<E>(
        self,
        fail: &dyn Fn(BundleFileError) -> E,
        visit: &mut dyn FnMut(BundleFile<'data>) -> Result<(), E>,
    ) -> Result<usize, E> {
        let mut reader = self;
        for count in 1.. {
            let Some(bundle) = reader.read().map_err(fail)? else {
                return if count == 1 { Ok(0) } else { Err(fail(BundleFileError::NotABundle)) };
            };
            let next = bundle.next;
            visit(bundle)?;
            let Some(next) = next else { return Ok(count) };
            reader.view = next;
        }
        unreachable!("files end")
    }

    /// Returns the bytes after a bundle of this size and its padding.
    fn next_after(&self, size: u64) -> Option<View<'data>> {
        let rest = self.view.from(size).skip_zeros();
        // Darwin's archives pad their members to multiples of eight, and count the padding.
        let is_filled = rest.size() < 8 && rest.data().iter().all(|&byte| byte == b'\n');
        (rest.size() > 0 && !is_filled).then_some(rest)
    }

    fn compressed(&self) -> Result<BundleFile<'data>> {
        let ccob = Ccob::read(self.view)?;
        let next = self.next_after(ccob.view.size());
        let is_binary = ccob.start(MAGIC.len())? == MAGIC;
        if is_binary && self.allows(|form| matches!(form, BundleForm::Binary | BundleForm::Object)) {
            let entries = index(&ccob)?;
            return Ok(BundleFile { entries, ccob: Some(ccob), next });
        }
        let decompressed = ccob.decompress()?;
        let inner = BundleReader { view: ccob.view.derived(&decompressed), input: None, ..*self };
        let Some((entries, _)) = inner.plain(inner.view)? else { return Err(BundleFileError::NotABundle) };
        let mut kept = Vec::new();
        for entry in entries {
            let bytes = entry.bytes(&[])?.into_owned();
            kept.push(FileEntry { id: entry.id, location: Location::Decompressed(bytes) });
        }
        Ok(BundleFile { entries: kept, ccob: Some(ccob), next })
    }

    /// Reads a bundle that is not compressed; also returns its size if it states one.
    fn plain<'a>(&self, view: View<'a>) -> Result<Option<(Vec<FileEntry<'a>>, Option<u64>)>> {
        let may_be_binary = self.allows(|form| matches!(form, BundleForm::Binary | BundleForm::Object));
        if may_be_binary && view.starts_with(MAGIC) {
            let bundle = Bundle::read(view)?;
            let entries = bundle.entries.into_iter();
            let entries =
                entries.map(|it| FileEntry { id: it.text.to_owned(), location: Location::InFile(it.code_object) });
            return Ok(Some((entries.collect(), Some(bundle.view.size()))));
        }
        if self.allows(|form| form == BundleForm::Object) && rewrite::object_format(view).is_some() {
            return Ok(object(view)?.map(|entries| (entries, None)));
        }
        if self.allows(|form| matches!(form, BundleForm::Text { .. })) {
            let marks = self.marks(view)?;
            let comments = match self.file_type.map(|file_type| file_type.form) {
                Some(BundleForm::Text { comment }) => vec![comment],
                _ => COMMENTS.to_vec(),
            };
            let Some(entries) = text::read(view, &marks, &comments)? else { return Ok(None) };
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
        let searcher = text::marks_searcher();
        let mut marks = Vec::new();
        input.blocks(start..start + view.size(), OVERLAP, |offset, block| {
            marks.extend(searcher.find_iter(block).map(|mark| offset - start + mark.start() as u64));
        })?;
        Ok(marks)
    }
}

/// Overlap between blocks in the search for marks, in bytes.
const OVERLAP: usize = text::MARK.len() - 1;

/// Reads the entries of a compressed binary bundle, decompressing only its start.
fn index<'data>(ccob: &Ccob<'data>) -> Result<Vec<FileEntry<'data>>, Malformed> {
    let mut size = FIRST_START;
    loop {
        let start = ccob.start(size)?;
        match BundleIndex::read(ccob.view.derived(&start), ccob.full_size) {
            Ok(index) => {
                let entries = index.entries.into_iter();
                return Ok(entries
                    .map(|it| FileEntry { id: it.text.to_owned(), location: Location::InStream(it.range) })
                    .collect());
            }
            // The index continues.
            Err(_) if start.len() == size && (size as u64) < ccob.full_size => size = size.saturating_mul(16),
            Err(error) => return Err(Malformed::new(error.field, ccob.stored.start(), error.cause)),
        }
    }
}

/// Number of bytes that are decompressed first. A real index has one or two kilobytes.
const FIRST_START: usize = 16 << 10;

/// Reads the entries of a bundle of objects; `None` for an object that is not a bundle.
fn object(view: View<'_>) -> Result<Option<Vec<FileEntry<'_>>>, Malformed> {
    let mut entries = Vec::new();
    for section in rewrite::sections_named(view, MAGIC)? {
        let id = section.name.strip_prefix(MAGIC).unwrap_or_default();
        view.charge("bundle entry", Resource::Memory, record_memory(size_of::<FileEntry>(), [id.len()]))?;
        let id = String::from_utf8_lossy(id).into_owned();
        let is_host = section.content.data() == HOST_CONTENT;
        let location = if is_host { Location::HostObject(view) } else { Location::InFile(section.content) };
        entries.push(FileEntry { id, location });
    }
    Ok((!entries.is_empty()).then_some(entries))
}

/// Returns the host's object without the sections of the bundle.
pub fn extract_host(object: View<'_>) -> Result<fatbin_core::base::content::Content<'_>, Malformed> {
    rewrite::without_sections(object, MAGIC)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fatbin_core::base::bytes::{Budget, Limits, object_tests};

    #[test]
    fn entries_that_share_a_long_name_exhaust_the_budget() {
        let name = [MAGIC.as_slice(), &[b'a'; 1 << 16], &[0]].concat();
        let bytes = object_tests::elf_sharing_a_name(500, &name);
        let budget = Budget::new(Limits::default(), bytes.len() as u64);
        let error = object(View::with_budget(&bytes, &budget)).err().unwrap();
        let expected = budget.over_limit(Resource::Memory);
        assert_eq!((error.field, error.cause), ("bundle entry", expected));
        assert!(matches!(object(View::new(&bytes)), Ok(Some(entries)) if entries.len() == 499));
    }
}
