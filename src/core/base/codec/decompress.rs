//! Decompression of one stream in memory, to a known size.

use std::cell::RefCell;

use flate2::{Decompress, FlushDecompress, Status};
use zstd::zstd_safe;

use super::Codec;
use crate::base::activity::Work;
use crate::base::bytes::{Resource, View};
use crate::base::error::{Cause, Malformed};

/// Decompresses `stored` to the `full_size` bytes that its container states, and charges them to the budget of the
/// view.
pub fn decompress(codec: Codec, stored: View<'_>, full_size: u64) -> Result<Vec<u8>, Malformed> {
    let mut full = Vec::new();
    decompress_into(&mut full, codec, stored, full_size)?;
    Ok(full)
}

/// Like [`decompress`], into a buffer that may have been used before; its previous contents are lost. New memory is
/// mapped into a process page by page, which takes as long as decompressing LZ4 (libnvjpeg.so.12, 175 images: 7,400
/// page faults, 1,000 with one buffer).
pub fn decompress_into(full: &mut Vec<u8>, codec: Codec, stored: View<'_>, full_size: u64) -> Result<(), Malformed> {
    charge(codec, stored, full_size)?;
    decompress_charged(full, codec, stored, full_size)
}

/// Charges `full_size` bytes, unless no stream of the length of `stored` can decompress to that many.
pub fn charge(codec: Codec, stored: View<'_>, full_size: u64) -> Result<(), Malformed> {
    check_ratio(codec, stored, full_size)?;
    let decompressed = if codec == Codec::None { 0 } else { full_size };
    stored.charge(field(codec), Resource::Decompressed, decompressed)
}

/// Like [`decompress_into`], for a stream whose bytes are charged already.
pub fn decompress_charged(full: &mut Vec<u8>, codec: Codec, stored: View<'_>, full_size: u64) -> Result<(), Malformed> {
    let malformed = |cause| stored.malformed(field(codec), 0, cause);
    // zlib is too rare to optimize.
    let is_replaced = codec == Codec::Zlib || (full.capacity() as u64) < full_size;
    // A used buffer that is too small for one image is too small for the next. Only the pages in use take memory.
    let spare = if codec == Codec::Zlib || full.capacity() == 0 { 0 } else { full_size / 2 };
    if is_replaced {
        *full = Vec::new();
    }
    let reserved = full_size.checked_add(spare).and_then(|capacity| usize::try_from(capacity).ok());
    let reserved = reserved.is_some_and(|capacity| !is_replaced || full.try_reserve_exact(capacity).is_ok());
    if !reserved {
        return Err(malformed(Cause::NoMemory { size: full_size }));
    }
    match codec {
        Codec::None => {
            full.clear();
            full.extend_from_slice(stored.data());
        }
        Codec::Zstd => zstd_into(full, full_size as usize, stored).map_err(malformed)?,
        Codec::Zlib => zlib_into(full, stored.data()).map_err(malformed)?,
        Codec::Lz4 => lz4_into(full, full_size as usize, stored.data()).map_err(malformed)?,
        Codec::Opaque => return Err(malformed(Cause::UnsupportedCodec { codec: codec.name() })),
    }
    Work::Decompressed.record(full.len() as u64);
    match full.len() as u64 {
        size if size == full_size => Ok(()),
        size => Err(malformed(Cause::SizeMismatch { size, expected: full_size })),
    }
}

/// Largest number of decompressed bytes for one byte of a stream. A block of zstd has at least four bytes and
/// decompresses to at most 128 KiB (RFC 8878); deflate repeats at most 258 bytes for each quarter of a byte (RFC 1951);
/// a sequence of LZ4 adds at most 255 bytes for each byte of its length (LZ4 Block Format Description).
fn most_per_byte(codec: Codec) -> u64 {
    match codec {
        Codec::Zstd => (128 << 10) / 4,
        Codec::Zlib => 258 * 4,
        Codec::Lz4 => 255,
        Codec::None => 1,
        Codec::Opaque => u64::MAX,
    }
}

/// Rejects a size that no stream of this length can reach, before allocating memory that would not be filled.
pub(super) fn check_ratio(codec: Codec, stored: View<'_>, full_size: u64) -> Result<(), Malformed> {
    if full_size.div_ceil(most_per_byte(codec)) <= stored.size() {
        return Ok(());
    }
    let cause = Cause::Compressed(format!("{} bytes cannot give {full_size}", stored.size()));
    Err(stored.malformed(field(codec), 0, cause))
}

thread_local! {
    /// Takes 150 KB, so it is allocated once for all images.
    static ZSTD: RefCell<zstd_safe::DCtx<'static>> = RefCell::new(zstd_safe::DCtx::create());
}

/// Decompresses all frames in one call. It writes no further than `size`: a new vector has that capacity, and a used
/// one is passed as a slice of that length.
fn zstd_into(full: &mut Vec<u8>, size: usize, stored: View<'_>) -> Result<(), Cause> {
    let broken = |code| Cause::Compressed(zstd_safe::get_error_name(code).to_owned());
    ZSTD.with_borrow_mut(|context| {
        if full.capacity() == size {
            full.clear();
            return context.decompress(full, stored.data()).map(|_| ()).map_err(broken);
        }
        full.resize(size, 0);
        let written = context.decompress(&mut full[..], stored.data()).map_err(broken)?;
        full.truncate(written);
        Ok(())
    })
}

fn zlib_into(full: &mut Vec<u8>, stored: &[u8]) -> Result<(), Cause> {
    let mut stream = Decompress::new(true);
    let status = stream.decompress_vec(stored, full, FlushDecompress::Finish);
    match status.map_err(|error| Cause::Compressed(error.to_string()))? {
        Status::StreamEnd if stream.total_in() == stored.len() as u64 => Ok(()),
        Status::StreamEnd => {
            let behind = stored.get(stream.total_in() as usize..).unwrap_or_default().len();
            Err(Cause::Compressed(format!("the stream ends {behind} bytes early")))
        }
        _ if full.len() == full.capacity() => Err(Cause::Compressed("more than the stated size comes out".to_owned())),
        _ => Err(Cause::Compressed("the stream has no end".to_owned())),
    }
}

/// Decompresses a block, which has no end marker and ends with its bytes. The library checks every offset and writes no
/// further than the buffer (`LZ4_decompress_safe`). No block has more than 2 GiB.
fn lz4_into(full: &mut Vec<u8>, size: usize, stored: &[u8]) -> Result<(), Cause> {
    let stated = i32::try_from(size).map_err(|_| Cause::Compressed("more than 2 GiB in one block".to_owned()))?;
    full.resize(size, 0);
    let written = lz4::block::decompress_to_buffer(stored, Some(stated), full)
        .map_err(|_| Cause::Compressed("invalid sequence, or another size".to_owned()))?;
    full.truncate(written);
    Ok(())
}

/// Returns the name of the bytes in errors.
pub(super) fn field(codec: Codec) -> &'static str {
    match codec {
        Codec::None => "bytes",
        Codec::Lz4 => "LZ4 block",
        Codec::Zstd => "zstd stream",
        Codec::Zlib => "zlib stream",
        Codec::Opaque => "compressed bytes",
    }
}
