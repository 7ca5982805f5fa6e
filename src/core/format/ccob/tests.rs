//! Round trips, output of clang-offload-bundler, comparison with a naive reader, and a table of defects.

use std::io::Read;

use super::*;
use crate::base::codec::{Codec, Compression};
use crate::base::content::Content;
use crate::base::error::Cause;
use crate::format::bundle;

const IDS: [&str; 2] = ["host-x86_64-unknown-linux-gnu-", "hipv4-amdgcn-amd-amdhsa--gfx906"];

/// Output of `clang-offload-bundler -type=bc -compress` of LLVM 22.1.8, then 19.1.7, for these IDs, an empty file and
/// one with `dev1`.
#[rustfmt::skip]
const OF_LLVM_22: &[u8] = b"CCOB\x03\0\x01\0\x96\0\0\0\0\0\0\0\x91\0\0\0\0\0\0\0\xa1\x3b\x09\x43\x41\x1d\xbe\x9e\
    \x28\xb5\x2f\xfd\x20\x91\x6d\x03\0\x84\x05__CLANG_OFFLOAD_BUNDLE__\x02\0\x8d\0\x1e\0host-x86_64-unknown-linux-gnu-\
    \x04\x1fipv4-amdgcnhsa--gfx906dev1\x08\0\xbb\0\x2a\xc1\x01\x61\x20\x0b\xb3\x22\x0e\x0c\x18\x48\x2c\x06\xc6";
#[rustfmt::skip]
const OF_LLVM_19: &[u8] = b"CCOB\x02\0\x01\0\x8e\0\0\0\x91\0\0\0\xa1\x3b\x09\x43\x41\x1d\xbe\x9e\
    \x28\xb5\x2f\xfd\x20\x91\x6d\x03\0\x84\x05__CLANG_OFFLOAD_BUNDLE__\x02\0\x8d\0\x1e\0host-x86_64-unknown-linux-gnu-\
    \x04\x1fipv4-amdgcnhsa--gfx906dev1\x08\0\xbb\0\x2a\xc1\x01\x61\x20\x0b\xb3\x22\x0e\x0c\x18\x48\x2c\x06\xc6";

fn plain(image: &[u8]) -> Vec<u8> {
    bundle::write(&[(IDS[0], b""), (IDS[1], image)], 1).unwrap().to_vec()
}

fn compressed(bytes: &[u8], codec: Codec, version: Version) -> Vec<u8> {
    let mut stream = Vec::new();
    let written = compress(&Content::from(bytes), Compression::new(codec), version, &mut stream, &mut |_| ()).unwrap();
    assert_eq!(written.stored_size, stream.len() as u64);
    [written.header, stream].concat()
}

/// Writes a bundle in every version and codec.
fn all_encodings(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut ways = Vec::new();
    for codec in [Codec::Zstd, Codec::Zlib] {
        ways.push(compressed(bytes, codec, Version::One));
        ways.extend([Version::Two, Version::Three].map(|version| compressed(bytes, codec, version)));
    }
    ways
}

/// Decompresses as at a prompt, without checks.
fn naive(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let stream = match bytes[4] {
        1 => &bytes[20..],
        2 => &bytes[24..u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize],
        _ => &bytes[32..u64::from_le_bytes(bytes[8..16].try_into().unwrap()) as usize],
    };
    let mut full = Vec::new();
    match bytes[6] {
        0 => flate2::read::ZlibDecoder::new(stream).read_to_end(&mut full)?,
        _ => zstd::Decoder::new(stream)?.single_frame().read_to_end(&mut full)?,
    };
    Ok(full)
}

fn pieces(ccob: &Ccob) -> Result<Vec<u8>, Malformed> {
    let mut all = Vec::new();
    let taken = ccob.each_piece(|piece| {
        all.extend_from_slice(piece);
        Ok::<_, std::convert::Infallible>(())
    });
    match taken {
        Ok(()) => Ok(all),
        Err(Failure::Malformed(malformed)) => Err(malformed),
        Err(Failure::Consumer(never)) => match never {},
    }
}

#[test]
fn every_version_and_codec_round_trips() {
    for image in [&b""[..], b"code", &vec![7; 3_000_000]] {
        let full = plain(image);
        for bytes in all_encodings(&full) {
            let ccob = Ccob::read(View::new(&bytes)).unwrap();
            assert_eq!(ccob.view.size(), bytes.len() as u64);
            assert_eq!(ccob.decompress().unwrap(), full);
            assert_eq!(pieces(&ccob).unwrap(), full);
            assert_eq!(naive(&bytes).unwrap(), full);
            assert_eq!(ccob.start(40).unwrap(), full[..40]);
        }
    }
}

#[test]
fn reads_and_writes_the_same_bytes_as_the_reference() {
    let full = plain(b"dev1");
    for (bytes, version) in [(OF_LLVM_22, Version::Three), (OF_LLVM_19, Version::Two)] {
        let ccob = Ccob::read(View::new(bytes)).unwrap();
        assert_eq!((ccob.version, ccob.codec, ccob.hash.value), (version, Codec::Zstd, 0x9ebe_1d41_4309_3ba1));
        assert_eq!(ccob.decompress().unwrap(), full);
        assert_eq!(compressed(&full, Codec::Zstd, version), bytes);
    }
}

#[test]
fn consecutive_bundles_are_separated_by_size_and_not_by_magic() {
    let full = plain(b"code");
    // A frame that decoders skip, with bytes that a search would mistake for the next bundle.
    let trap = [&b"\x50\x2a\x4d\x18\x0c\0\0\0"[..], b"CCOB\x03\0\x01\0\x20\0\0\0"].concat();
    let mut bytes = Vec::new();
    let mut sizes = Vec::new();
    for way in all_encodings(&full) {
        let (header, stream) = way.split_at(Ccob::read(View::new(&way)).unwrap().version.header_size() as usize);
        let mut trapped = way.clone();
        if way[6] == 1 {
            trapped = [header, &trap, stream].concat();
            let total = (way.len() + trap.len()) as u32;
            if way[4] > 1 {
                trapped[8..12].copy_from_slice(&total.to_le_bytes());
            }
        }
        sizes.push(trapped.len() as u64);
        bytes.extend(trapped);
    }
    let mut rest = View::new(&bytes);
    for size in sizes {
        let ccob = Ccob::read(rest).unwrap();
        assert_eq!(ccob.view.size(), size);
        assert_eq!(ccob.decompress().unwrap(), full);
        rest = rest.from(size);
    }
    assert_eq!(rest.size(), 0);
}

#[test]
fn rejects_every_truncation() {
    for bytes in all_encodings(&plain(b"some code that is not very long")) {
        for end in 0..bytes.len() {
            let read = Ccob::read(View::new(&bytes[..end])).and_then(|ccob| ccob.decompress());
            read.unwrap_err();
        }
    }
}

#[test]
fn a_bundle_does_not_depend_on_bytes_after_it() {
    for bytes in all_encodings(&plain(b"some code")) {
        let header = Header::read(View::new(&bytes)).unwrap();
        let Some(whole) = header.total_size else { continue };
        let header_size = header.version.header_size();
        for total_size in header_size + 1..whole {
            let shorter = Header { total_size: Some(total_size), ..header };
            let bytes = [&shorter.to_bytes(), &bytes[header_size as usize..]].concat();
            let alone = View::new(&bytes[..total_size as usize]);
            assert_eq!(Ccob::read(View::new(&bytes)).is_ok(), Ccob::read(alone).is_ok(), "{total_size} bytes");
        }
    }
}

#[test]
fn extreme_field_values_do_not_panic() {
    let full = plain(b"some code");
    let extremes =
        [0, 1, 2, 3, 31, 32, 33, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 40, u64::MAX - 7, u64::MAX];
    for good in all_encodings(&full) {
        let header_size = Ccob::read(View::new(&good)).unwrap().version.header_size() as usize;
        for at in (4..header_size).step_by(2) {
            for value in extremes {
                for width in [1, 2, 4, 8] {
                    let mut bytes = good.clone();
                    let width = width.min(header_size - at);
                    bytes[at..at + width].copy_from_slice(&u64::to_le_bytes(value)[..width]);
                    let Ok(ccob) = Ccob::read(View::new(&bytes)) else { continue };
                    let whole = ccob.decompress();
                    let pieces = pieces(&ccob);
                    assert_eq!(whole.as_ref().ok(), pieces.as_ref().ok(), "{bytes:x?}");
                    if let Ok(whole) = whole {
                        assert_eq!(naive(&bytes).unwrap(), whole, "{bytes:x?}");
                    }
                }
            }
        }
    }
}

#[test]
fn errors_state_field_offset_and_value() {
    let two = compressed(&plain(b"code"), Codec::Zlib, Version::Two);
    let three = compressed(&plain(b"code"), Codec::Zstd, Version::Three);
    let size = three.len();
    #[rustfmt::skip]
    let defects: [(&[u8], usize, u64, usize, String); 13] = [
        (&three, 0, 0, 1, "compressed bundle magic at 0x0: invalid value 0x424f4300, expected CCOB".into()),
        (&three, 4, 0, 2, "compressed bundle version at 0x4: unsupported version 0 (supported: 1, 2 and 3)".into()),
        (&three, 4, 99, 2, "compressed bundle version at 0x4: unsupported version 99 (supported: 1, 2 and 3)".into()),
        (&three, 6, 2, 2, "compressed bundle method at 0x6: invalid value 0x2, expected 0 (zlib) or 1 (zstd)".into()),
        (&three, 6, 0, 2, "zlib stream at 0x20: cannot decompress: it does not begin as one".into()),
        (&three, 8, 0, 8, "compressed bundle total size at 0x8: invalid value 0x0, expected more than the size of the header".into()),
        (&three, 8, 32, 8, "compressed bundle total size at 0x8: invalid value 0x20, expected more than the size of the header".into()),
        (&three, 8, size as u64 + 1, 8, format!("compressed bundle total size at 0x8: offset 0 with size {} is out of bounds ({size} bytes available)", size + 1)),
        (&three, 8, u64::MAX, 8, format!("compressed bundle total size at 0x8: offset 0 with size 18446744073709551615 is out of bounds ({size} bytes available)")),
        (&three, 16, 144, 8, "zstd stream at 0x20: cannot decompress: Destination buffer is too small".into()),
        (&three, 16, 146, 8, "zstd stream at 0x20: decompressed to 145 bytes, expected 146".into()),
        (&three, 16, 1 << 40, 8, "zstd stream at 0x20: cannot decompress: 118 bytes cannot give 1099511627776".into()),
        (&two, 16, 0, 8, format!("compressed bundle hash at 0x10: hash mismatch: stored 0x0000000000000000, computed {:#018x}", hash([&plain(b"code")[..]].into_iter()))),
    ];
    for (good, at, value, width, message) in defects {
        let mut bytes = good.to_vec();
        bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
        let error = Ccob::read(View::new(&bytes)).and_then(|ccob| ccob.decompress()).unwrap_err();
        assert_eq!(error.to_string(), message);
        let by_piece = Ccob::read(View::new(&bytes)).and_then(|ccob| pieces(&ccob)).unwrap_err();
        assert_eq!((by_piece.field, by_piece.offset), (error.field, error.offset), "{message}");
    }
}

#[test]
fn a_damaged_stream_never_passes_verification() {
    let full = plain(&(0..2000u32).map(|i| (i * i / 7) as u8).collect::<Vec<_>>());
    for good in all_encodings(&full) {
        for at in 32..good.len() {
            let mut bytes = good.clone();
            bytes[at] ^= 0x10;
            if let Ok(decompressed) = Ccob::read(View::new(&bytes)).and_then(|ccob| ccob.decompress()) {
                assert_eq!(decompressed, full, "a byte without meaning at {at}");
            }
        }
    }
}

#[test]
fn rejects_a_bundle_larger_than_its_version_can_state() {
    // More than a host of 32 bits can allocate.
    let part = vec![0; 1 << 24];
    let mut content = Content::new();
    for _ in 0..256 {
        content.append(Content::from(&part[..]));
    }
    let refused =
        compress(&content, Compression::new(Codec::Zstd), Version::Two, std::io::sink(), &mut |_| ()).unwrap_err();
    assert_eq!(refused.to_string(), "4294967296 bytes exceed the limit of version 2 (4294967295); use version 3");
}

#[test]
fn the_consumer_of_pieces_may_stop() {
    let bytes = compressed(&plain(&vec![1; 5_000_000]), Codec::Zstd, Version::Three);
    let mut count = 0;
    let stopped = Ccob::read(View::new(&bytes)).unwrap().each_piece(|_| {
        count += 1;
        if count == 2 { Err("enough") } else { Ok(()) }
    });
    assert!(matches!(stopped, Err(Failure::Consumer("enough"))));
    assert_eq!(count, 2);
}

#[test]
fn containers_are_decompressed_and_verified() {
    let full = plain(b"code");
    let mut bytes = compressed(&full, Codec::Zstd, Version::Three);
    let decompress = |bytes: &[u8]| {
        let container = container(View::new(bytes)).unwrap();
        assert_eq!(container.container_type, ContainerType::Ccob);
        assert_eq!((container.version, container.images().len()), (Some(3), 0));
        let Contents::Compressed(compressed) = &container.contents else { panic!("it is compressed") };
        compressed.decompress()
    };
    assert_eq!(decompress(&bytes).unwrap(), full);
    bytes[24] ^= 1;
    let error = decompress(&bytes).unwrap_err();
    assert!(matches!(error.cause, Cause::HashMismatch { .. }) && error.offset == 24, "{error}");
}
