//! Code signatures of Mach-O files: hashes of all pages in front of the signature, in code directories.
//!
//! A signature without a certificate is ad hoc. Linkers write one, and the hashes of changed pages can be written again.
//! macOS ends a process that touches a page with another hash.
//!
//! Source: Apple, xnu, osfmk/kern/cs_blobs.h.

use std::io::{self, Write};
use std::ops::Range;

use object::macho::{
    CS_ADHOC, CS_HASHTYPE_SHA256, CS_HASHTYPE_SHA256_TRUNCATED, CSSLOT_SIGNATURESLOT, LC_CODE_SIGNATURE,
    LinkeditDataCommand, MachHeader32, MachHeader64,
};
use object::read::FileKind;
use object::read::macho::{self, CodeDirectory, CodeSignatureBlob, MachHeader};
use object::{BigEndian, Endianness, Pod};
use sha2::{Digest, Sha256};

use super::Change;
use crate::base::bytes::{Extent, Resource, View};
use crate::base::error::{Cause, Malformed};
use crate::base::range::range_at;
use crate::base::universal;

/// The signature of a Mach-O file, which may be a slice of a universal file.
#[derive(Debug)]
pub struct CodeSignature<'data> {
    file: View<'data>,
    directories: Vec<PageHashes<'data>>,
    /// False with a certificate, or with a code directory that is not among `directories`.
    is_ad_hoc: bool,
}

/// The hashes of a code directory.
#[derive(Debug)]
pub struct PageHashes<'data> {
    file: View<'data>,
    stored: View<'data>,
    hash_size: u64,
    page_size: u64,
    /// Number of signed bytes.
    limit: u64,
}

/// Maximum number of code directories (xnu: one, and five alternatives).
const MAX_DIRECTORIES: usize = 6;

/// Number of bytes that are hashed in a step of work.
const BYTES_PER_STEP: u64 = 64;

/// Returns the signatures of the Mach-O files in a view.
pub fn signatures(view: View<'_>) -> Vec<CodeSignature<'_>> {
    let slices = universal::slices(view);
    let slices = slices.into_iter().filter_map(|slice| view.part("slice", slice.extent).ok());
    [view].into_iter().chain(slices).filter_map(CodeSignature::of).collect()
}

/// Returns whether a change breaks a signature that is not renewed.
pub fn is_broken(view: View<'_>, change: &Change) -> bool {
    touched(view, change).any(|signature| !signature.is_renewed_after(change))
}

/// Returns the code directories that get the hashes of changed pages.
pub fn renewed<'data>(view: View<'data>, change: &Change) -> Vec<PageHashes<'data>> {
    let renewed = touched(view, change).filter(|it| it.is_renewed_after(change));
    renewed.flat_map(|signature| signature.directories).collect()
}

/// Returns the signatures of the files that change.
fn touched<'data>(view: View<'data>, change: &Change) -> impl Iterator<Item = CodeSignature<'data>> {
    signatures(view).into_iter().filter(move |signature| {
        let file = signature.file.range_in(view);
        change.spans.iter().any(|span| span.start < file.end && file.start < span.end)
    })
}

impl<'data> CodeSignature<'data> {
    /// Returns the signature of a Mach-O file for one machine.
    fn of(file: View<'data>) -> Option<Self> {
        let extent = match FileKind::parse(file.data()) {
            Ok(FileKind::MachO32) => stated::<MachHeader32<Endianness>>(file),
            Ok(FileKind::MachO64) => stated::<MachHeader64<Endianness>>(file),
            _ => None,
        }?;
        let unknown = CodeSignature { file, directories: Vec::new(), is_ad_hoc: false };
        let Ok(data) = file.part("code signature", extent) else { return Some(unknown) };
        let Ok(signature) = macho::CodeSignature::parse(data.data()) else { return Some(unknown) };
        let mut found = CodeSignature { is_ad_hoc: true, ..unknown };
        for blob in signature.blobs() {
            if data.charge("code signature", Resource::Work, 1).is_err() {
                found.is_ad_hoc = false;
                break;
            }
            found.is_ad_hoc &= blob.is_ok_and(|blob| found.add(data, &blob));
        }
        found.is_ad_hoc &= !found.directories.is_empty();
        Some(found)
    }

    /// Adds a blob. Returns whether an ad hoc signature can have it.
    fn add(&mut self, data: View<'data>, blob: &CodeSignatureBlob<'data>) -> bool {
        if blob.slot() == CSSLOT_SIGNATURESLOT {
            return blob.contents().is_empty();
        }
        let Ok(directory) = blob.code_directory() else { return false };
        let Some(directory) = directory else { return true };
        let is_added = self.directories.len() < MAX_DIRECTORIES;
        let hashes =
            if is_added { PageHashes::of(self.file, data.from(blob.offset().into()), &directory) } else { None };
        let is_computable = hashes.is_some();
        self.directories.extend(hashes);
        is_computable && directory.header().flags.get(BigEndian).0 & CS_ADHOC.0 != 0
    }

    fn is_renewed_after(&self, change: &Change) -> bool {
        self.is_ad_hoc && change.keeps_offsets
    }

    /// Returns the first page that differs from its hash in a code directory.
    pub fn defect(&self) -> Result<Option<Malformed>, Malformed> {
        for directory in &self.directories {
            if let Some(defect) = directory.defect()? {
                return Ok(Some(defect));
            }
        }
        Ok(None)
    }
}

/// Returns the place of the signature as the load command states it.
fn stated<Header: MachHeader<Endian = Endianness> + Pod>(file: View<'_>) -> Option<Extent> {
    let header = Header::parse(file.data(), 0).ok()?;
    let endian = header.endian().ok()?;
    let mut commands = header.load_commands(endian, file.data(), 0).ok()?;
    while let Ok(Some(command)) = commands.next() {
        file.charge("Mach-O load command", Resource::Work, 1).ok()?;
        if command.cmd() == LC_CODE_SIGNATURE {
            let place = command.data::<LinkeditDataCommand<Endianness>>();
            let unknown = Extent { offset: u64::MAX, size: 0 };
            return Some(place.map_or(unknown, |place| Extent {
                offset: place.dataoff.get(endian).into(),
                size: place.datasize.get(endian).into(),
            }));
        }
    }
    None
}

impl<'data> PageHashes<'data> {
    /// Returns the hashes of a code directory; `None` for those of another algorithm, or of pages that the file lacks.
    fn of(file: View<'data>, blob: View<'data>, directory: &CodeDirectory<'data>) -> Option<Self> {
        let header = directory.header();
        let is_sha_256 = [CS_HASHTYPE_SHA256, CS_HASHTYPE_SHA256_TRUNCATED].contains(&header.hash_type);
        let hash_size = u64::from(header.hash_size);
        let limit = directory.code_limit();
        let page_size = match header.page_size {
            0 => limit.max(1),
            bits => 1_u64.checked_shl(bits.into())?,
        };
        let pages = u64::from(header.n_code_slots.get(BigEndian));
        let has_parts = directory.scatter_offset().is_some_and(|offset| offset != 0);
        let is_known = is_sha_256 && !has_parts && (1..=32).contains(&hash_size);
        if !is_known || pages != limit.div_ceil(page_size) || limit > file.size() {
            return None;
        }
        let offset = header.hash_offset.get(BigEndian).into();
        let stored = blob.part("code directory", Extent { offset, size: pages.checked_mul(hash_size)? }).ok()?;
        Some(PageHashes { file, stored, hash_size, page_size, limit })
    }

    /// Range of the hashes in a view around the file.
    pub fn stored_in(&self, view: View<'_>) -> Range<u64> {
        self.stored.range_in(view)
    }

    /// Starts to compute the hashes of a view around the file.
    pub fn hasher_in(&self, view: View<'_>) -> Result<PageHasher<'_>, Malformed> {
        self.file.charge("code signature", Resource::Work, self.limit / BYTES_PER_STEP)?;
        let before = self.file.range_in(view).start;
        Ok(PageHasher { pages: self, before, left: self.limit, page: Sha256::new(), in_page: 0, hashes: Vec::new() })
    }

    fn defect(&self) -> Result<Option<Malformed>, Malformed> {
        let mut hasher = self.hasher_in(self.file)?;
        hasher.write_all(self.file.data()).expect("hashes can be written");
        let hashes = hasher.finish();
        let size = self.hash_size as usize;
        let pages = self.stored.data().chunks(size).zip(hashes.chunks(size)).map(|(stored, own)| stored != own);
        let count = pages.len();
        let mut stale = (0_u64..).zip(pages).filter(|(_, differs)| *differs).map(|(page, _)| page).peekable();
        let Some(&first) = stale.peek() else { return Ok(None) };
        let number = stale.count();
        let cause =
            format!("{number} of {count} pages differ from their hashes, so macOS does not run them; sign it again");
        let page = range_at(first.saturating_mul(self.page_size), self.page_size);
        Ok(Some(self.file.malformed("code signature of the page", page.start, Cause::Described(cause))))
    }
}

/// Computes the hashes of the pages of a file that is written to it, with the bytes in front of it.
#[derive(Debug)]
pub struct PageHasher<'a> {
    pages: &'a PageHashes<'a>,
    /// Number of bytes that precede the file.
    before: u64,
    /// Number of signed bytes that are not hashed yet.
    left: u64,
    page: Sha256,
    in_page: u64,
    hashes: Vec<u8>,
}

impl PageHasher<'_> {
    /// Returns the hashes, one after another.
    pub fn finish(mut self) -> Vec<u8> {
        if self.in_page > 0 {
            self.end_page();
        }
        self.hashes
    }

    fn end_page(&mut self) {
        let hash = self.page.finalize_reset();
        self.hashes.extend(hash.iter().take(self.pages.hash_size as usize));
        self.in_page = 0;
    }
}

impl Write for PageHasher<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let skipped = self.before.min(bytes.len() as u64);
        self.before = self.before.abs_diff(skipped);
        let mut rest = bytes.get(skipped as usize..).unwrap_or_default();
        while !rest.is_empty() && self.left > 0 {
            let size = self.pages.page_size.abs_diff(self.in_page).min(self.left).min(rest.len() as u64);
            let (now, later) = rest.split_at(size as usize);
            self.page.update(now);
            self.left = self.left.abs_diff(size);
            self.in_page = self.in_page.saturating_add(size);
            if self.in_page == self.pages.page_size {
                self.end_page();
            }
            rest = later;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
