//! Zip files, the format of wheels and many packages.

use std::cell::RefCell;
use std::io::{self, Cursor, Write};
use std::sync::LazyLock;

use aho_corasick::packed::Searcher;
use flate2::{Crc, Decompress, FlushDecompress, Status};
use zip::{CompressionMethod, ZipArchive};

use super::{Member, MemberContent};
use crate::base::bytes::{Resource, View};
use crate::base::error::{Cause, Malformed};

/// First bytes of a zip file, the header of its first member.
pub const MAGIC: &[u8] = b"PK\x03\x04";

/// First bytes of an entry of the directory, of the end record, and of the record before it in large files (APPNOTE.TXT
/// 6.3.10, 4.3.12, 4.3.16, 4.3.15).
const ENTRY: &[u8] = b"PK\x01\x02";
const END: &[u8] = b"PK\x05\x06";
const END_64_LOCATOR: &[u8] = b"PK\x06\x07";

/// Sizes of the end record and of the record before it, the offsets in the end record of the directory's size and of
/// the comment's size, and the largest size of a comment.
const END_SIZE: u64 = 22;
const END_64_LOCATOR_SIZE: u64 = 20;
const DIRECTORY_SIZE: u64 = 12;
const COMMENT_SIZE: u64 = 20;
const MAX_COMMENT: u64 = u16::MAX as u64;

/// Number of bytes searched in one step of work.
const BYTES_PER_STEP: u64 = 64;

/// Returns the offset of the first member of a zip file that ends a view and follows other bytes, such as a script or a
/// program.
pub fn appended_start(view: View<'_>, may_have_comment: bool) -> Option<u64> {
    let end = end_record(view, may_have_comment)?;
    let record = view.from(end);
    let size = u64::from(record.u32("zip directory size", DIRECTORY_SIZE).ok()?);
    let has_directory = end.checked_sub(size).is_some_and(|at| view.from(at).starts_with(ENTRY));
    let has_large_directory =
        end.checked_sub(END_64_LOCATOR_SIZE).is_some_and(|at| view.from(at).starts_with(END_64_LOCATOR));
    if !has_directory && !has_large_directory {
        return None;
    }
    let mut archive = ZipArchive::new(Cursor::new(view.data())).ok()?;
    let mut start = None;
    for index in 0..archive.len() {
        view.charge("zip directory", Resource::Work, 1).ok()?;
        let header = archive.by_index_raw(index).ok()?.header_start();
        start = Some(start.map_or(header, |first: u64| first.min(header)));
    }
    start.filter(|&start| start > 0)
}

/// Returns the offset of the end record. Its comment extends to the end of the view.
fn end_record(view: View<'_>, may_have_comment: bool) -> Option<u64> {
    let last = view.size().checked_sub(END_SIZE)?;
    let first = if may_have_comment { last.saturating_sub(MAX_COMMENT) } else { last };
    let tail = view.from(first).data();
    view.charge("zip comment", Resource::Work, tail.len() as u64 / BYTES_PER_STEP).ok()?;
    let mut ends = ends(tail).into_iter().rev().map(|at| first.saturating_add(at as u64)).filter(|at| *at <= last);
    ends.find(|&at| {
        let comment = view.from(at).u16("zip comment", COMMENT_SIZE);
        comment.is_ok_and(|size| u64::from(size) == last.saturating_sub(at))
    })
}

/// Offsets of the magic of the end record.
fn ends(bytes: &[u8]) -> Vec<usize> {
    static SEARCHER: LazyLock<Option<Searcher>> = LazyLock::new(|| Searcher::new([END]));
    match &*SEARCHER {
        Some(searcher) => searcher.find_iter(bytes).map(|found| found.start()).collect(),
        // Not every processor has the vector instructions.
        None => bytes.windows(END.len()).enumerate().filter(|(_, found)| *found == END).map(|(at, _)| at).collect(),
    }
}

/// Reads the files, without directories.
pub fn members<'data>(view: View<'data>, members: &mut Vec<Member<'data>>) -> Result<(), Malformed> {
    let mut archive = ZipArchive::new(Cursor::new(view.data())).map_err(|error| malformed(view, &error))?;
    for index in 0..archive.len() {
        let file = archive.by_index_raw(index).map_err(|error| malformed(view, &error))?;
        if file.is_dir() {
            continue;
        }
        let name = file.name().map_err(|error| malformed(view, &error))?.into_owned();
        super::charge_name(view, name.as_bytes())?;
        let content = match (file.compression(), file.data_start()) {
            _ if file.encrypted() => MemberContent::Unreadable("is encrypted".to_owned()),
            (CompressionMethod::Stored, Some(start)) => {
                MemberContent::Here(view.part("zip member size", start, start, file.size())?)
            }
            (CompressionMethod::Deflated, Some(start)) => {
                let rest = view.from(start).data();
                let stored = rest.get(..file.compressed_size() as usize).unwrap_or(rest);
                let crc32 = file.crc32();
                MemberContent::Packed(Box::new(move |to: &mut dyn Write| inflate(stored, crc32, to)))
            }
            (method, _) => MemberContent::Unreadable(format!("unsupported compression method ({method})")),
        };
        members.push(Member {
            name: Some(name),
            packed_size: Some(file.compressed_size()),
            size: Some(file.size()),
            content,
        });
    }
    Ok(())
}

/// Returns the offset of each member's entry in the central directory, in the order of `members`.
pub fn directory_offsets(view: View<'_>) -> Result<Vec<u64>, Malformed> {
    let mut archive = ZipArchive::new(Cursor::new(view.data())).map_err(|error| malformed(view, &error))?;
    let mut offsets = Vec::new();
    for index in 0..archive.len() {
        let file = archive.by_index_raw(index).map_err(|error| malformed(view, &error))?;
        if !file.is_dir() {
            view.charge("zip file", Resource::Memory, size_of::<u64>() as u64)?;
            offsets.push(file.central_header_start());
        }
    }
    Ok(offsets)
}

/// Number of decompressed bytes written at a time.
const BLOCK: usize = 32 << 10;

/// State of the decoder, and a buffer for its output.
struct Inflater {
    decoder: Decompress,
    buffer: Vec<u8>,
}

thread_local! {
    /// Shared by all members: memory freed between the retained results of thousands of members could not be used
    /// again.
    static INFLATER: RefCell<Inflater> =
        RefCell::new(Inflater { decoder: Decompress::new(false), buffer: vec![0; BLOCK] });
}

/// Writes the bytes of a deflated member, and verifies their checksum.
fn inflate(stored: &[u8], crc32: u32, to: &mut dyn Write) -> io::Result<()> {
    INFLATER.with_borrow_mut(|Inflater { decoder, buffer }| {
        decoder.reset(false);
        let (mut rest, mut crc) = (stored, Crc::new());
        loop {
            let (read, written) = (decoder.total_in(), decoder.total_out());
            let status = decoder.decompress(rest, buffer, FlushDecompress::None)?;
            let (read, written) = (decoder.total_in().wrapping_sub(read), decoder.total_out().wrapping_sub(written));
            rest = rest.get(read as usize..).unwrap_or_default();
            let block = buffer.get(..written as usize).unwrap_or_default();
            crc.update(block);
            to.write_all(block)?;
            match status {
                Status::StreamEnd if crc.sum() == crc32 => return Ok(()),
                Status::StreamEnd => return Err(io::Error::other("Invalid checksum")),
                Status::Ok | Status::BufError if read == 0 && written == 0 => {
                    return Err(io::Error::other("deflate stream ends early"));
                }
                Status::Ok | Status::BufError => {}
            }
        }
    })
}

fn malformed(view: View<'_>, error: &zip::result::ZipError) -> Malformed {
    view.malformed("zip file", 0, Cause::Described(error.to_string()))
}
