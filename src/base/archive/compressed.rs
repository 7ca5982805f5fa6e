//! Files that are compressed as a whole, read as archives with one unnamed member.

use std::io::{self, Read, Write};

use super::{Member, MemberContent};
use crate::base::bytes::{Resource, View};
use crate::base::codec::{Codec, check_start, largest_window_log};
use crate::base::error::Malformed;

/// Reads a gzip file, which may have several members (RFC 1952).
pub fn gzip<'data>(view: View<'data>, members: &mut Vec<Member<'data>>) -> Result<(), Malformed> {
    let data = view.data();
    members.push(packed(move |to| io::copy(&mut flate2::bufread::MultiGzDecoder::new(data), to).map(|_| ())));
    Ok(())
}

/// Reads Zstandard frames (RFC 8878). A decoder allocates the window that a frame states, so a window larger than
/// everything that the file may decompress to is an error.
pub fn zstd<'data>(view: View<'data>, members: &mut Vec<Member<'data>>) -> Result<(), Malformed> {
    let data = view.data();
    let most = view.budget().map_or(u64::MAX, |budget| budget.limit(Resource::Decompressed));
    members.push(packed(move |to| {
        let mut decoder = zstd::Decoder::with_buffer(data)?;
        decoder.window_log_max(largest_window_log(most))?;
        io::copy(&mut decoder, to).map(|_| ())
    }));
    Ok(())
}

/// Reads a zlib stream (RFC 1950).
pub fn zlib<'data>(view: View<'data>, members: &mut Vec<Member<'data>>) -> Result<(), Malformed> {
    let data = view.data();
    members.push(packed(move |to| io::copy(&mut flate2::bufread::ZlibDecoder::new(data), to).map(|_| ())));
    Ok(())
}

/// Number of bytes to decompress to recognize a zlib stream.
const ZLIB_PROBE: u64 = 4 << 10;

/// Returns whether a file is a zlib stream. Other files begin with the same two bytes of header, but not with valid
/// blocks.
pub fn is_zlib(view: View<'_>) -> bool {
    if check_start(Codec::Zlib, view).is_err() {
        return false;
    }
    let mut start = flate2::bufread::ZlibDecoder::new(view.data()).take(ZLIB_PROBE);
    io::copy(&mut start, &mut io::sink()).is_ok_and(|size| size > 0)
}

fn packed<'data>(unpack: impl FnOnce(&mut dyn Write) -> io::Result<()> + 'data) -> Member<'data> {
    Member { name: None, packed_size: None, size: None, content: MemberContent::Packed(Box::new(unpack)) }
}
