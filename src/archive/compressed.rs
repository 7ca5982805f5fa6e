//! Files that are compressed as a whole: archives with one member that has no name of its own.

use std::io::{self, Write};

use super::{Member, MemberContent, Members};
use crate::bytes::View;

/// Largest window that is accepted, `--long=31`.
const LARGEST_WINDOW_LOG: u32 = 31;

/// Reads a gzip file, which may have several members (RFC 1952).
pub fn gzip(view: View<'_>) -> Members<'_> {
    let data = view.data();
    Ok(vec![packed(move |to| io::copy(&mut flate2::bufread::MultiGzDecoder::new(data), to).map(|_| ()))])
}

/// Reads Zstandard frames (RFC 8878).
pub fn zstd(view: View<'_>) -> Members<'_> {
    let data = view.data();
    Ok(vec![packed(move |to| {
        let mut decoder = zstd::Decoder::with_buffer(data)?;
        decoder.window_log_max(LARGEST_WINDOW_LOG)?;
        io::copy(&mut decoder, to).map(|_| ())
    })])
}

fn packed<'data>(unpack: impl FnOnce(&mut dyn Write) -> io::Result<()> + 'data) -> Member<'data> {
    Member { name: None, content: MemberContent::Packed(Box::new(unpack)) }
}
