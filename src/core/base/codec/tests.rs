//! Round trips, and streams that differ from what their container states.

use super::*;
use crate::base::bytes::{Budget, Limits, View};
use crate::base::error::{Cause, Malformed};

const CODECS: [Codec; 2] = [Codec::Zstd, Codec::Zlib];

/// Returns bytes that are neither immediate repetitions nor noise.
fn sample(size: usize) -> Vec<u8> {
    (0..size as u64).map(|i| (i * i / 7 + i / 1000) as u8).collect()
}

fn compressed(bytes: &[u8], codec: Codec) -> Vec<u8> {
    let runs = bytes.chunks(1000);
    compress(runs, bytes.len() as u64, Compression::new(codec), Vec::new()).unwrap()
}

#[test]
fn compressed_bytes_round_trip() {
    for codec in CODECS {
        for size in [0, 1, 999, 300_000] {
            let bytes = sample(size);
            let stored = compressed(&bytes, codec);
            assert_eq!(decompress(codec, View::new(&stored), size as u64).unwrap(), bytes);
        }
    }
}

#[test]
fn decompression_stops_at_the_stated_size() {
    for codec in CODECS {
        let stored = compressed(&sample(100_000), codec);
        for stated in [0, 1, 99_999, 100_001] {
            let error = decompress(codec, View::new(&stored), stated).unwrap_err();
            assert!(!error.to_string().is_empty(), "{codec:?} {stated}");
        }
        let budget = Budget::new(Limits { decompressed: Some(199_999), factor: 1 }, 0);
        let view = View::with_budget(&stored, &budget);
        decompress(codec, view, 100_000).unwrap();
        let error = decompress(codec, view, 100_000).unwrap_err();
        let cause = Cause::OverLimit { size: 100_000, left: 99_999, limit: 199_999 };
        assert_eq!(error.cause, cause);
    }
}

/// One literal run of five bytes, then a match: twelve bytes from five back (LZ4 block format), then the last literals.
const LZ4: [u8; 16] = *b"\x58abcde\x05\x00\x70vwxyz!!";

#[test]
fn an_lz4_block_is_decompressed_to_its_stated_size() {
    let full = decompress(Codec::Lz4, View::new(&LZ4), 24).unwrap();
    assert_eq!(full, b"abcdeabcdeabcdeabvwxyz!!");
    for stated in [0, 4, 23, 25, 1000] {
        decompress(Codec::Lz4, View::new(&LZ4), stated).unwrap_err();
    }
    for end in 0..LZ4.len() {
        decompress(Codec::Lz4, View::new(&LZ4[..end]), 24).unwrap_err();
    }
}

#[test]
fn hostile_lz4_blocks_are_errors_and_write_no_further_than_the_stated_size() {
    let cases: [(&str, &[u8]); 8] = [
        ("empty", b""),
        ("a match before the start", b"\x18a\x02\x00\x50vwxyz"),
        ("offset 0", b"\x18a\x00\x00\x50vwxyz"),
        ("literals beyond the end", b"\xf0\xff\xff\xffabc"),
        ("a length without its end", b"\xf0\xff\xff\xff\xff"),
        ("a match beyond the stated size", b"\x1fa\x01\x00\xff\xff\xff\x00\x50vwxyz"),
        ("an offset of one byte", b"\x18a\x01"),
        ("no last literals", b"\x58abcde\x05\x00"),
    ];
    for (name, block) in cases {
        for stated in [1, 24, 64] {
            let error = decompress(Codec::Lz4, View::new(block), stated).expect_err(name).to_string();
            assert!(error.starts_with("LZ4 block at 0x0: "), "{name}: {error}");
        }
    }
    for at in 0..LZ4.len() {
        for value in 0..=u8::MAX {
            let mut block = LZ4;
            block[at] = value;
            // A buffer that was used before must not lend its contents.
            let mut full = vec![0x55; 1000];
            if decompress_into(&mut full, Codec::Lz4, View::new(&block), 24).is_ok() {
                assert_eq!(full.len(), 24, "{at} {value}");
            }
        }
    }
}

/// A 32-bit host cannot allocate as much, so the block is not read there.
#[test]
fn an_lz4_block_of_more_than_2_gib_is_an_error() {
    let stored = vec![0; 9 << 20];
    let error = decompress(Codec::Lz4, View::new(&stored), 1 << 31).unwrap_err().to_string();
    let cause = if usize::BITS < 64 { "cannot allocate 2147483648 bytes" } else { "more than 2 GiB in one block" };
    assert!(error.contains(cause), "{error}");
}

/// A stated size above 2 GiB asks for the largest window, which is smaller on a 32-bit host.
#[test]
fn a_stream_of_any_stated_size_is_opened() {
    let stored = compressed(&sample(300_000), Codec::Zstd);
    for full_size in [1, 1 << 27, 1 << 30, 1 << 31, 1 << 33] {
        let start = decompress_start(Codec::Zstd, View::new(&stored), full_size, 1000).unwrap();
        assert_eq!(start, sample(300_000)[..1000], "{full_size}");
    }
}

#[test]
fn rejects_an_impossible_size_before_allocating() {
    for (codec, most) in [(Codec::Zstd, 32768), (Codec::Zlib, 1032)] {
        let stored = compressed(&sample(10), codec);
        let size = stored.len() as u64 * most;
        let error = decompress(codec, View::new(&stored), size + 1).unwrap_err();
        assert!(error.to_string().ends_with(&format!("{} bytes cannot give {}", stored.len(), size + 1)), "{error}");
        let error = decompress(codec, View::new(&stored), size).unwrap_err();
        assert!(!error.to_string().contains("cannot give"), "{error}");
        // The largest possible size is less than that.
        let zeros = compressed(&vec![0; 10_000_000], codec);
        assert!(decompress(codec, View::new(&zeros), 10_000_000).is_ok());
    }
}

#[test]
fn a_size_beyond_memory_is_an_error_and_not_an_abort() {
    let error = decompress(Codec::Opaque, View::new(b"stored"), u64::MAX >> 1).unwrap_err();
    assert!(error.to_string().contains("cannot allocate"), "{error}");
}

#[test]
fn truncated_and_damaged_streams_are_errors_or_have_the_stated_size() {
    for codec in CODECS {
        let bytes = sample(2000);
        let stored = compressed(&bytes, codec);
        for end in 0..stored.len() {
            decompress(codec, View::new(&stored[..end]), 2000).unwrap_err();
        }
        for at in 0..stored.len() {
            let mut flipped = stored.clone();
            flipped[at] ^= 0x55;
            if let Ok(full) = decompress(codec, View::new(&flipped), 2000) {
                assert_eq!(full.len(), 2000);
            }
        }
    }
}

#[test]
fn reading_in_pieces_equals_reading_at_once() {
    let bytes = sample(300_000);
    let in_pieces = |codec, stored: &[u8], size| -> Result<Vec<u8>, Malformed> {
        let mut stream = Stream::new(codec, View::new(stored), size)?;
        let mut all = Vec::new();
        let mut piece = [0; 777];
        loop {
            match stream.read(&mut piece)? {
                0 => return Ok(all),
                filled => all.extend_from_slice(&piece[..filled]),
            }
        }
    };
    for codec in CODECS {
        let stored = compressed(&bytes, codec);
        assert_eq!(in_pieces(codec, &stored, 300_000).as_deref(), Ok(&bytes[..]));
        for stated in [0, 1, 299_999, 300_001] {
            in_pieces(codec, &stored, stated).unwrap_err();
        }
        in_pieces(codec, &stored[..stored.len() - 1], 300_000).unwrap_err();
        in_pieces(codec, &[&stored[..], b"behind it"].concat(), 300_000).unwrap_err();
    }
}

#[test]
fn finds_the_end_of_a_stream_whatever_follows() {
    for codec in CODECS {
        let stored = compressed(&sample(200_000), codec);
        let behind = [&stored[..], &stored[..9]].concat();
        assert_eq!(stream_size(codec, View::new(&behind), 200_000), Ok(stored.len() as u64), "{codec:?}");
        stream_size(codec, View::new(&stored[..stored.len() - 1]), 200_000).unwrap_err();
        check_start(codec, View::new(&stored)).unwrap();
        check_start(codec, View::new(b"CCOB")).unwrap_err();
    }
}

#[test]
fn decompresses_the_start_of_a_truncated_stream() {
    let bytes = sample(500_000);
    for codec in CODECS {
        let stored = compressed(&bytes, codec);
        assert_eq!(decompress_start(codec, View::new(&stored), 300_000, 1000).unwrap(), &bytes[..1000]);
        assert_eq!(decompress_start(codec, View::new(&stored), 300_000, 600_000).unwrap(), bytes);
        let cut = View::new(&stored[..stored.len() - 1]);
        assert_eq!(decompress_start(codec, cut, 300_000, 1000).unwrap(), &bytes[..1000]);
        decompress_start(codec, View::new(b"no stream at all"), 300_000, 1000).unwrap_err();
    }
}

#[test]
fn equal_images_far_apart_are_stored_once() {
    // Noise, so that only the repetition can be compressed.
    let mut state = 1u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 56) as u8
    })
    .take(12 << 20)
    .collect();
    let runs = [&noise[..], &noise[..]];
    let size = 2 * noise.len();
    let stored = compress(runs.into_iter(), size as u64, Compression::new(Codec::Zstd), Vec::new()).unwrap();
    assert!(stored.len() < noise.len() + noise.len() / 16, "{}", stored.len());
}

/// Found by the fuzz target ccob: a decoder allocates the window that a frame states, here 1 GiB for nothing.
#[test]
fn a_small_stream_does_not_allocate_a_large_window() {
    // RFC 8878: magic, a single segment with four bytes of content size, an empty last block.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0x3d, 1, 0, 0];
    let mut stream = Stream::new(Codec::Zstd, View::new(&frame), 467).unwrap();
    let message = stream.read(&mut [0; 467]).unwrap_err().to_string();
    assert!(message.contains("too much memory"), "{message}");
    let message = decompress_start(Codec::Zstd, View::new(&frame), 467, 467).unwrap_err().to_string();
    assert!(message.contains("too much memory"), "{message}");
}
