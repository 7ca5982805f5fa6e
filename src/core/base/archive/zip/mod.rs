//! Zip files, the format of wheels and many packages.

pub mod comparison;
mod contradiction;
pub(crate) mod directory;
pub mod entry;
mod magic;
pub mod number;
pub mod reader;
pub mod record;

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, Write};

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::{Member, MemberContent, Unpack, compressed};
use crate::base::bytes::{Resource, View, total};
use crate::base::error::{Cause, Malformed};
use directory::{Directory, END, END_SIZE};
use entry::{DEFLATED, ENCRYPTED, Entry, STORED};
use reader::{RecordUse, ZipReader};

/// First bytes of a zip file, the header of its first member.
pub const MAGIC: &[u8] = b"PK\x03\x04";

/// Returns the offset of the first member of a zip file that ends a view and follows other bytes, such as a script or a
/// program.
pub fn appended_start(view: View<'_>, may_have_comment: bool) -> Option<u64> {
    let last = view.size().checked_sub(END_SIZE)?;
    if !may_have_comment && !view.from(last).starts_with(&END.to_le_bytes()) {
        return None;
    }
    let directory = Directory::read(view, &|_| {}).ok().filter(|directory| directory.ends(view))?;
    let mut first = None;
    for entry in directory.entries.iter() {
        view.charge("zip directory", Resource::Work, 1).ok()?;
        let start = entry.ok()?.local_header().ok()?.whole.range_in(view).start;
        first = Some(first.map_or(start, |first: u64| first.min(start)));
    }
    first.filter(|&start| start > 0)
}

/// Checks that all readers find the same members.
pub fn check_whole(view: View<'_>) -> Result<(), Malformed> {
    let contradictions = ZipReader::read(view, "", RecordUse::Nothing, &|_| {})?.contradictions(&|_| {})?;
    contradictions.into_iter().next().map_or(Ok(()), Err)
}

/// Reads the files, without directories. Calls `read` with the number of bytes of each header that is read.
pub fn members<'data>(
    view: View<'data>,
    read: &dyn Fn(u64),
    take: &mut dyn FnMut(Member<'data>),
) -> Result<(), Malformed> {
    let directory = Directory::read(view, read)?;
    for index in directory.entries.files(read)? {
        take(member(view, &directory.entries.get(index)?, read)?);
    }
    Ok(())
}

/// Returns the member of an entry of the directory.
pub fn member<'data>(view: View<'data>, entry: &Entry<'data>, read: &dyn Fn(u64)) -> Result<Member<'data>, Malformed> {
    let name = decode_name(entry.name).into_owned();
    super::charge_name(view, name.as_bytes())?;
    let header = entry.local_header()?;
    read(entry.size);
    read(header.whole.size());
    let data = header.rest;
    let packed_size = entry.fields.compressed.value;
    let content = match entry.fields.method {
        _ if entry.fields.flags & ENCRYPTED != 0 => MemberContent::Unreadable("is encrypted".to_owned()),
        STORED => MemberContent::Here(data.prefix("zip member size", entry.fields.size.value)?),
        DEFLATED => {
            let stored = data.data().get(..packed_size as usize).unwrap_or(data.data());
            let expected = Expected::of(entry);
            MemberContent::Packed(Box::new(move |to: &mut dyn Write| inflate(stored, expected, to)))
        }
        method => {
            let stored = data.prefix("zip member size", packed_size).unwrap_or(data);
            match decoder(method, stored, entry.fields.size.value) {
                Some(unpack) => MemberContent::Packed(checked(unpack, Expected::of(entry))),
                None => MemberContent::Unreadable(format!(
                    "not opened: unsupported compression method ({}); unpack it with 7z",
                    method_name(method)
                )),
            }
        }
    };
    let size = Some(entry.fields.size.value);
    Ok(Member { packed_size: Some(packed_size), size, ..Member::new(Some(name), content) })
}

/// Decoder of a compression method that few writers use (APPNOTE.TXT 6.3.10, 4.4.5 and 5.8), for a member that
/// decompresses to `size` bytes.
fn decoder(method: u16, stored: View<'_>, size: u64) -> Option<Unpack<'_>> {
    match method {
        12 => Some(compressed::bzip2(stored)),
        14 => Some(compressed::lzma_in_zip(stored, size)),
        93 => Some(compressed::zstd(stored)),
        95 => Some(compressed::xz(stored)),
        _ => None,
    }
}

/// Checksum and size of a member that the directory states.
#[derive(Clone, Copy)]
struct Expected {
    crc32: u32,
    size: u64,
}

impl Expected {
    fn of(entry: &Entry<'_>) -> Self {
        Expected { crc32: entry.fields.crc32.value as u32, size: entry.fields.size.value }
    }

    fn check(self, crc: &Crc, size: u64) -> io::Result<()> {
        if crc.sum() != self.crc32 {
            return Err(io::Error::other("Invalid checksum"));
        }
        let Expected { size: expected, .. } = self;
        if size == expected { Ok(()) } else { Err(io::Error::other(Cause::SizeMismatch { size, expected })) }
    }
}

/// Writes what `unpack` writes, and verifies its checksum and size.
fn checked(unpack: Unpack<'_>, expected: Expected) -> Unpack<'_> {
    Box::new(move |to| {
        let mut to = Checked { to, crc: Crc::new(), size: 0 };
        unpack(&mut to)?;
        expected.check(&to.crc, to.size)
    })
}

struct Checked<'a> {
    to: &'a mut dyn Write,
    crc: Crc,
    size: u64,
}

impl Write for Checked<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write_all(bytes)?;
        self.crc.update(bytes);
        self.size = total([self.size, bytes.len() as u64]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Name of a compression method (APPNOTE.TXT 6.3.10, 4.4.5).
fn method_name(method: u16) -> Cow<'static, str> {
    Cow::Borrowed(match method {
        9 => "Deflate64",
        97 => "WavPack",
        98 => "PPMd",
        _ => return Cow::Owned(method.to_string()),
    })
}

/// Decodes a name in UTF-8 or code page 437.
pub fn decode_name(name: &[u8]) -> Cow<'_, str> {
    let text = str::from_utf8(name).map(Cow::Borrowed);
    text.unwrap_or_else(|_| Cow::Owned(name.iter().map(|&byte| code_page_437(byte)).collect()))
}

fn code_page_437(byte: u8) -> char {
    const UPPER: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
    match byte.checked_sub(0x80) {
        Some(place) => UPPER.chars().nth(place.into()).unwrap_or(char::REPLACEMENT_CHARACTER),
        None => byte.into(),
    }
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

/// Writes the bytes of a deflated member, and verifies their checksum and size.
fn inflate(stored: &[u8], expected: Expected, to: &mut dyn Write) -> io::Result<()> {
    INFLATER.with_borrow_mut(|Inflater { decoder, buffer }| {
        decoder.reset(false);
        let mut rest = stored;
        let mut crc = Crc::new();
        loop {
            let read = decoder.total_in();
            let written = decoder.total_out();
            let status = decoder.decompress(rest, buffer, FlushDecompress::None)?;
            let read = decoder.total_in().wrapping_sub(read);
            let written = decoder.total_out().wrapping_sub(written);
            rest = rest.get(read as usize..).unwrap_or_default();
            let block = buffer.get(..written as usize).unwrap_or_default();
            crc.update(block);
            to.write_all(block)?;
            match status {
                Status::StreamEnd => return expected.check(&crc, decoder.total_out()),
                Status::Ok | Status::BufError if read == 0 && written == 0 => {
                    return Err(io::Error::other("deflate stream ends early"));
                }
                Status::Ok | Status::BufError => {}
            }
        }
    })
}

#[cfg(test)]
mod tests;
