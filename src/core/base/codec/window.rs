//! Decoders that allocate a window of a size that the stream states. Only this module creates them.
//!
//! A window is at most as large as what the file may decompress to, or as the window that the codec's own program uses
//! without an option for more, if that is larger. Decompressing everything in one call needs no window.

use std::io;
#[cfg(feature = "files")]
use std::io::BufRead;

#[cfg(feature = "files")]
use liblzma::bufread::XzDecoder;
#[cfg(feature = "files")]
use liblzma::stream::{self, CONCATENATED, Stream};

use crate::base::bytes::{Resource, View};

/// `--long=27`, the largest window that a frame of any size may request. zstd's own program has the same limit.
const WINDOW_LOG: u32 = 27;

/// `--long=31`, the largest window that zstd supports; on a 32-bit host, `--long=30` (`ZSTD_WINDOWLOG_MAX` of zstd.h).
pub const LARGEST_WINDOW_LOG: u32 = if usize::BITS < 64 { 30 } else { 31 };

/// Dictionary of the highest level of xz (`-9`). Files of this level state it, regardless of their size.
#[cfg(feature = "files")]
const USUAL_DICTIONARY: u64 = 64 << 20;

/// Largest dictionary that is accepted.
#[cfg(feature = "files")]
const LARGEST_DICTIONARY: u64 = 1 << 30;

/// Memory of a decoder without its dictionary (`xz --list -vv` prints 65 MiB for `-9`).
#[cfg(feature = "files")]
const DECODER: u64 = 1 << 20;

/// Returns the largest window, as a power of two, that a frame may request if it decompresses to at most this size.
fn largest_window_log(full_size: u64) -> u32 {
    u64::BITS.abs_diff(full_size.leading_zeros()).clamp(WINDOW_LOG, LARGEST_WINDOW_LOG)
}

/// Number of bytes that a file may decompress to.
fn most_decompressed(view: View<'_>) -> u64 {
    view.budget().map_or(u64::MAX, |budget| budget.limit(Resource::Decompressed))
}

/// Creates a decoder of zstd frames that decompress to at most `full_size` bytes.
pub fn zstd_decoder(view: View<'_>, full_size: u64) -> io::Result<zstd::Decoder<'static, &[u8]>> {
    let mut decoder = zstd::Decoder::with_buffer(view.data())?;
    decoder.window_log_max(largest_window_log(full_size.min(most_decompressed(view))))?;
    Ok(decoder)
}

/// Decompresses zstd frames to at most `most` bytes in one call.
#[cfg(feature = "files")]
pub fn zstd_block(view: View<'_>, most: u64) -> io::Result<Vec<u8>> {
    zstd::bulk::decompress(view.data(), most as usize)
}

/// Formats of streams with a dictionary.
#[cfg(feature = "files")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XzFormat {
    /// Several streams (The .xz File Format 1.2.1).
    Xz,
    /// One stream of xz. What follows it is not read.
    OneXz,
    /// Several members of lzip.
    Lzip,
    /// The format before xz.
    Lzma,
}

/// Creates a decoder of `reader`, bytes of the file that `view` is a part of.
#[cfg(feature = "files")]
pub fn xz_decoder<R: BufRead>(reader: R, view: View<'_>, format: XzFormat) -> Result<XzDecoder<R>, stream::Error> {
    let dictionary = most_decompressed(view).clamp(USUAL_DICTIONARY, LARGEST_DICTIONARY);
    xz_block_decoder(reader, dictionary, format)
}

/// Creates a decoder of `reader` with a dictionary of at most `dictionary` bytes.
#[cfg(feature = "files")]
pub fn xz_block_decoder<R: BufRead>(
    reader: R,
    dictionary: u64,
    format: XzFormat,
) -> Result<XzDecoder<R>, stream::Error> {
    let memory = dictionary.saturating_add(DECODER);
    let stream = match format {
        XzFormat::Xz => Stream::new_stream_decoder(memory, CONCATENATED),
        XzFormat::OneXz => Stream::new_stream_decoder(memory, 0),
        XzFormat::Lzip => Stream::new_lzip_decoder(memory, CONCATENATED),
        XzFormat::Lzma => Stream::new_lzma_decoder(memory),
    };
    Ok(XzDecoder::new_stream(reader, stream?))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::base::bytes::{Budget, Limits};

    /// A zstd frame of one block that states a window, and no size (RFC 8878, 3.1.1.1.2).
    pub fn frame(bytes: &[u8], window_log: u8) -> Vec<u8> {
        let block = (bytes.len() as u32) << 3 | 1;
        let [block @ .., _] = block.to_le_bytes();
        [&[0x28, 0xb5, 0x2f, 0xfd, 0, (window_log - 10) << 3][..], &block, bytes].concat()
    }

    #[test]
    fn a_frame_has_no_larger_window_than_its_file_may_decompress_to() {
        for (limit, size, largest) in [
            (None, u64::MAX, 27),
            (Some(1 << 20), u64::MAX, 27),
            (Some(1 << 28), u64::MAX, 29),
            (Some(u64::MAX), 1 << 28, 29),
            (Some(1 << 28), 1 << 30, 29),
            (Some(u64::MAX), u64::MAX, 31),
        ] {
            for window_log in [20, 27, 28, 29, 30, 31] {
                let frame = frame(b"text", window_log);
                let budget = Budget::new(Limits { decompressed: limit, factor: 1 }, 0);
                let mut decoder = zstd_decoder(View::with_budget(&frame, &budget), size).unwrap();
                let mut read = Vec::new();
                let result = decoder.read_to_end(&mut read);
                let is_read = result.is_ok() && read == b"text";
                assert_eq!(is_read, u32::from(window_log) <= largest, "{limit:?} {size} {window_log}: {result:?}");
            }
        }
    }

    #[cfg(feature = "files")]
    #[test]
    fn a_block_needs_no_window() {
        assert_eq!(zstd_block(View::new(&frame(b"text", 31)), 4).unwrap(), b"text");
        zstd_block(View::new(&frame(b"text", 31)), 3).unwrap_err();
    }
}
