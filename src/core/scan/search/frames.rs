//! zstd frames in the data of a file, without a container that describes them. Programs embed compressed libraries like
//! this. They are not containers, but a frame that contains device code is reported.

use std::io::Read;

use super::hints::{LONGEST, Pattern};
use crate::base::bytes::{Extent, Resource, View};
use crate::base::codec::ZSTD_MAGIC;
use crate::base::codec::window::zstd_decoder;
use crate::base::error::{Cause, Malformed};
use crate::scan::structure;

/// Sizes of the fields of a frame in bytes (RFC 8878, 3.1.1.1). The two lowest bits of the descriptor select the size
/// of the dictionary ID, and the two highest select the size of the content size.
const DICTIONARY_SIZES: [u64; 4] = [0, 1, 2, 4];
const CONTENT_SIZES: [u64; 4] = [0, 2, 4, 8];

/// Bits of the descriptor: one segment (then there is always a content size, but no window descriptor); must be zero;
/// checksum.
const SINGLE_SEGMENT: u8 = 1 << 5;
const RESERVED: u8 = 1 << 3;
const HAS_CHECKSUM: u8 = 1 << 2;

const BLOCK_HEADER: u64 = 3;
const CHECKSUM: u64 = 4;

/// Types of blocks: one byte that is repeated, and a value that no block has.
const REPEATED: u32 = 1;
const INVALID: u32 = 3;

/// Maximum size of a block in bytes.
const MAX_BLOCK: u32 = 128 << 10;

/// Number of decompressed bytes in memory at a time, and number of them that are searched again with the next bytes.
const WINDOW: usize = 8 << 20;
const OVERLAP: usize = 1 << 20;

/// Size of the frame at the start of a view, from the headers of its blocks; `None` if there is no frame.
pub fn size(view: View<'_>) -> Option<u64> {
    let descriptor = *view.data().get(ZSTD_MAGIC.len())?;
    if !view.starts_with(&ZSTD_MAGIC) || descriptor & RESERVED != 0 {
        return None;
    }
    let is_single = descriptor & SINGLE_SEGMENT != 0;
    let content_size = match CONTENT_SIZES.get(usize::from(descriptor >> 6))? {
        0 => u64::from(is_single),
        size => *size,
    };
    let dictionary = DICTIONARY_SIZES.get(usize::from(descriptor & 3))?;
    let header = [ZSTD_MAGIC.len() as u64, 1, u64::from(!is_single), *dictionary, content_size];
    let mut at: u64 = header.iter().sum();
    loop {
        view.charge("zstd frame", Resource::Work, 1).ok()?;
        let [first, second, third] =
            view.record("zstd block", Extent { offset: at, size: BLOCK_HEADER }).ok()?.data().try_into().ok()?;
        let header = u32::from_le_bytes([first, second, third, 0]);
        let is_last = header & 1 != 0;
        let kind = header >> 1 & 3;
        let size = header >> 3;
        if kind == INVALID || size > MAX_BLOCK {
            return None;
        }
        let stored = if kind == REPEATED { 1 } else { size.into() };
        at = at.checked_add(BLOCK_HEADER)?.checked_add(stored)?;
        if is_last {
            let end = at.checked_add(if descriptor & HAS_CHECKSUM != 0 { CHECKSUM } else { 0 })?;
            return view.prefix("zstd frame", end).ok().map(|_| end);
        }
    }
}

/// Error for a frame that contains device code. `frame` is all of its bytes. `Err` if it cannot be decompressed.
pub fn find_device_code(frame: View<'_>) -> Result<Option<Malformed>, Malformed> {
    let broken = |error: std::io::Error| frame.malformed("zstd frame", 0, Cause::Compressed(error.to_string()));
    let mut decoder = zstd_decoder(frame, u64::MAX).map_err(broken)?.single_frame();
    let mut window = Vec::new();
    loop {
        let kept = window.len();
        let read = decoder.by_ref().take(WINDOW as u64).read_to_end(&mut window).map_err(broken)?;
        frame.charge("zstd frame", Resource::Decompressed, read as u64)?;
        if read == 0 {
            return Ok(None);
        }
        if has_device_code(frame.derived(&window), kept == 0) {
            let cause = "device code in a zstd frame without a container is not read; decompress the frame, and specify the result";
            return Ok(Some(frame.malformed("zstd frame", 0, Cause::Described(cause.to_owned()))));
        }
        let searched = window.len().saturating_sub(OVERLAP);
        window.drain(..searched);
    }
}

/// True if bytes contain a container or an image, or the start of one. Bytes that are a device image as a whole count,
/// too.
fn has_device_code(bytes: View<'_>, is_start: bool) -> bool {
    if is_start && crate::format::bare_device_file(bytes).is_some() {
        return true;
    }
    let structure = structure::read(bytes.from(bytes.size()));
    let everything = 0..bytes.size();
    // Then the rest may be in the next window.
    let is_full = bytes.data().len().checked_add(*LONGEST).is_none_or(|size| size > WINDOW);
    let mut at = 0;
    while let Some((pattern, found)) = Pattern::find(bytes.data(), at) {
        let is_frame = matches!(pattern, Pattern::ZstdFrame);
        match pattern.read(bytes, found as u64, &structure, &everything) {
            _ if is_frame => {}
            Ok(_) => return true,
            Err(error) if error.cause.is_truncation() && is_full => return true,
            Err(_) => {}
        }
        at = found.saturating_add(1);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(bytes: &[u8], options: impl FnOnce(&mut zstd::Encoder<'_, Vec<u8>>)) -> Vec<u8> {
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
        options(&mut encoder);
        std::io::Write::write_all(&mut encoder, bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// Compares with the sizes that the zstd library finds, for frames of every form.
    #[test]
    fn sizes_are_those_of_the_library() {
        let contents = [
            vec![],
            vec![7; 10],
            vec![0; 1 << 20],
            (0..300_000_u32).map(|it| (it.wrapping_mul(it) >> 7) as u8).collect(),
        ];
        for bytes in &contents {
            for checksum in [false, true] {
                for is_sized in [false, true] {
                    let frame = frame(bytes, |encoder| {
                        encoder.include_checksum(checksum).unwrap();
                        if is_sized {
                            encoder.set_pledged_src_size(Some(bytes.len() as u64)).unwrap();
                        }
                    });
                    let expected = zstd::zstd_safe::find_frame_compressed_size(&frame).unwrap() as u64;
                    let followed = [&frame[..], b"other bytes"].concat();
                    assert_eq!(size(View::new(&followed)), Some(expected), "{} {checksum} {is_sized}", bytes.len());
                    let cut = &frame[..frame.len() - 1];
                    assert_eq!(size(View::new(cut)), None);
                }
            }
        }
        assert_eq!(size(View::new(b"\x28\xb5\x2f\xfd\xff\xff\xff\xff")), None);
    }
}
