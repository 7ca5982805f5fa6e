//! Compression of a buffer by one call of the codec's library, for formats whose bytes are compared with the output of
//! the tools that define them.

use std::io;

use lz4::block::CompressionMode;

use super::{Codec, Compression};

/// Compresses a buffer to one zstd frame that states its size (`ZSTD_compress`), or to an LZ4 block
/// (`LZ4_compress_HC`). `compress` uses threads and makes smaller frames of large inputs, but its bytes differ.
pub fn compress_block(bytes: &[u8], how: Compression) -> io::Result<Vec<u8>> {
    match how.codec {
        Codec::Zstd => zstd::bulk::compress(bytes, how.level),
        Codec::Lz4 => lz4::block::compress(bytes, Some(CompressionMode::HIGHCOMPRESSION(how.level)), false),
        other => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("compression of blocks with {} is not supported", other.name()),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::bytes::View;
    use crate::base::codec::{decompress, frame_content_size};
    use md5::{Digest, Md5};

    /// Returns PTX that repeats with variations, and the NUL that follows a text in a fat binary. It is long enough for
    /// every level to find different matches.
    fn sample() -> Vec<u8> {
        let mut state = 1_u32;
        let mut text = b".version 8.8\n".to_vec();
        while text.len() < 200_000 {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
            text.extend(format!("add.s32 %r{}, %r{}, {};\n", state >> 26, state >> 20 & 31, state >> 16 & 7).bytes());
        }
        text.push(0);
        text
    }

    #[test]
    fn blocks_round_trip_and_frames_state_their_size() {
        let text = sample();
        for size in [0, 1, 12, 13, 999, text.len()] {
            for (codec, level) in [(Codec::Zstd, 5), (Codec::Zstd, 19), (Codec::Lz4, 3), (Codec::Lz4, 12)] {
                let stored = compress_block(&text[..size], Compression { codec, level }).unwrap();
                assert_eq!(decompress(codec, View::new(&stored), size as u64).unwrap(), &text[..size]);
                if codec == Codec::Zstd {
                    assert_eq!(frame_content_size(View::new(&stored)), Ok(size as u64));
                }
            }
        }
        let error = compress_block(&text, Compression::new(Codec::Zlib)).unwrap_err().to_string();
        assert_eq!(error, "compression of blocks with zlib is not supported");
    }

    /// Sizes and hashes of the payloads that fatbinary 13.5 writes for the sample with `--compress-mode=default`,
    /// `size` and `speed`. It contains libzstd 1.5.7; a library that finds different matches makes different bytes.
    #[test]
    fn the_libraries_make_the_bytes_of_fatbinary_13_5() {
        let text = sample();
        assert_eq!(zstd::zstd_safe::version_string(), "1.5.7");
        let cases = [
            (Codec::Zstd, 5, 32077, "15bb9c7dcb36d0e35b3ae0052a571ebf"),
            (Codec::Zstd, 19, 23973, "8a1ab7cf96d6281a2a9baad0d1644acc"),
            (Codec::Lz4, 3, 52457, "2100cd45f9cdcf0ee3c827dce6a23234"),
        ];
        for (codec, level, size, expected) in cases {
            let stored = compress_block(&text, Compression { codec, level }).unwrap();
            let mut hash = Md5::new();
            hash.update(&stored);
            let hash: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!((stored.len(), hash.as_str()), (size, expected), "{codec:?} {level}");
        }
    }
}
