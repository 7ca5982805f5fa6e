//! Files that are compressed as a whole, and members of archives in the same formats.

use std::io::{self, Read};

use ::bzip2::bufread::MultiBzDecoder;

use super::Unpack;
use crate::base::bytes::View;
use crate::base::codec::window::{XzFormat, xz_decoder, zstd_decoder};
use crate::base::codec::{Codec, check_start};

/// Unpacks a gzip file, which may have several members (RFC 1952).
pub fn gzip(view: View<'_>) -> Unpack<'_> {
    copied(flate2::bufread::MultiGzDecoder::new(view.data()))
}

/// Unpacks a zlib stream (RFC 1950).
pub fn zlib(view: View<'_>) -> Unpack<'_> {
    copied(flate2::bufread::ZlibDecoder::new(view.data()))
}

/// Unpacks Zstandard frames (RFC 8878).
pub fn zstd(view: View<'_>) -> Unpack<'_> {
    Box::new(move |to| io::copy(&mut zstd_decoder(view, u64::MAX)?, to).map(|_| ()))
}

/// Unpacks bzip2 streams.
pub fn bzip2(view: View<'_>) -> Unpack<'_> {
    copied(MultiBzDecoder::new(view.data()))
}

/// Unpacks LZ4 frames. Source: LZ4 Frame Format Description 1.6.
pub fn lz4(view: View<'_>) -> Unpack<'_> {
    Box::new(move |to| {
        let mut data = view.data();
        while !data.is_empty() {
            let mut frame = ::lz4::Decoder::new(&mut data)?;
            io::copy(&mut frame, to)?;
            frame.finish().1.map_err(|_| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        }
        Ok(())
    })
}

/// Unpacks xz streams. Source: The .xz File Format 1.2.1.
pub fn xz(view: View<'_>) -> Unpack<'_> {
    by_liblzma(view, XzFormat::Xz)
}

/// Unpacks lzip members.
pub fn lzip(view: View<'_>) -> Unpack<'_> {
    by_liblzma(view, XzFormat::Lzip)
}

/// Unpacks a file of lzma, the format before xz.
pub fn lzma(view: View<'_>) -> Unpack<'_> {
    by_liblzma(view, XzFormat::Lzma)
}

/// Size of the properties of lzma (APPNOTE.TXT 6.3.10, 5.8.8): a byte, and the size of the dictionary.
const LZMA_PROPERTIES: u16 = 5;

/// Unpacks a member of a zip file that is compressed by lzma: the version of the writer, the size of the properties, the
/// properties, and a stream. The header of an lzma file has the properties, and the decompressed size.
pub fn lzma_in_zip(view: View<'_>, size: u64) -> Unpack<'_> {
    Box::new(move |to| {
        let stated = view.u16("lzma properties size", 2).map_err(io::Error::other)?;
        let properties = view.from(4).data().get(..LZMA_PROPERTIES.into()).unwrap_or_default();
        if stated != LZMA_PROPERTIES || properties.is_empty() {
            return Err(io::Error::other("the properties of lzma have another size"));
        }
        let header = [properties, &size.to_le_bytes()].concat();
        let stream = view.from(LZMA_STREAM_IN_ZIP).data();
        copied(xz_decoder(header.chain(stream), view, XzFormat::Lzma)?)(to)
    })
}

/// Offset of the stream in a member of a zip file.
const LZMA_STREAM_IN_ZIP: u64 = 9;

fn copied<'data>(mut decoder: impl Read + 'data) -> Unpack<'data> {
    Box::new(move |to| io::copy(&mut decoder, to).map(|_| ()))
}

fn by_liblzma(view: View<'_>, format: XzFormat) -> Unpack<'_> {
    Box::new(move |to| copied(xz_decoder(view.data(), view, format)?)(to))
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

/// Offsets in the header of an lzma file: the size of the dictionary, the decompressed size, and the first byte of the
/// stream, which is 0. Source: LZMA SDK, `lzma-specification.txt`.
const LZMA_DICTIONARY: u64 = 1;
const LZMA_SIZE: u64 = 5;
const LZMA_STREAM: u64 = 13;

/// Smallest accepted dictionary of lzma in bytes, and largest accepted decompressed size. Other files begin with the
/// same bytes.
const LZMA_MIN_DICTIONARY: u32 = 1 << 12;
const LZMA_MAX_SIZE: u64 = 1 << 40;

/// True if the header of an lzma file is plausible. The dictionary size is a power of two, or one and a half times a
/// power of two. The decompressed size is stated, or unknown (all ones).
pub fn is_lzma(view: View<'_>) -> bool {
    let dictionary = view.u32("lzma dictionary", LZMA_DICTIONARY).unwrap_or_default();
    let size = view.u64("lzma size", LZMA_SIZE).unwrap_or_default();
    let is_usual = dictionary >= LZMA_MIN_DICTIONARY && matches!(dictionary >> dictionary.trailing_zeros(), 1 | 3);
    let has_size = size == u64::MAX || (1..=LZMA_MAX_SIZE).contains(&size);
    is_usual && has_size && view.from(LZMA_STREAM).starts_with(&[0])
}

/// Offset of the first block of a bzip2 file, and the magic numbers of a block and of the end of an empty file.
const BZIP2_BLOCK: u64 = 4;
const BZIP2_STARTS: [&[u8]; 2] = [b"\x31\x41\x59\x26\x53\x59", b"\x17\x72\x45\x38\x50\x90"];

/// True if a block follows the magic of bzip2, which text may begin with.
pub fn is_bzip2(view: View<'_>) -> bool {
    BZIP2_STARTS.iter().any(|start| view.from(BZIP2_BLOCK).starts_with(start))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use ::bzip2::Compression;
    use ::bzip2::write::BzEncoder;
    use liblzma::stream::{Check, Filters, LzmaOptions, Stream};
    use liblzma::write::XzEncoder;

    use super::super::{ArchiveFormat, MemberContent};
    use super::*;
    use crate::base::bytes::{Budget, Limits};

    const TEXT: &[u8] = b"hello hello hello\n";

    fn options(dictionary: u32) -> LzmaOptions {
        let mut options = LzmaOptions::new_preset(1).unwrap();
        options.dict_size(dictionary);
        options
    }

    fn xz_of(bytes: &[u8], dictionary: u32) -> Vec<u8> {
        let stream = Stream::new_stream_encoder(Filters::new().lzma2(&options(dictionary)), Check::Crc64).unwrap();
        let mut encoder = XzEncoder::new_stream(Vec::new(), stream);
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn lzma_of(bytes: &[u8], dictionary: u32) -> Vec<u8> {
        let mut encoder = XzEncoder::new_stream(Vec::new(), Stream::new_lzma_encoder(&options(dictionary)).unwrap());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn bzip2_of(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = BzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn lz4_of(bytes: &[u8]) -> Vec<u8> {
        let checksum = ::lz4::ContentChecksum::ChecksumEnabled;
        let mut encoder = ::lz4::EncoderBuilder::new().checksum(checksum).build(Vec::new()).unwrap();
        encoder.write_all(bytes).unwrap();
        let (bytes, finished) = encoder.finish();
        finished.map(|()| bytes).unwrap()
    }

    /// Output of lzip 1.23 for [`TEXT`].
    const LZIP: &[u8] = b"LZIP\x01\x0c\x004\x19I\xee\x8d\xe9O~!\xb6 \xb7\xff\xff\xba4\x00\x00;|\x8a\xdf\x12\x00\x00\x00\x00\x00\x00\x00-\x00\x00\x00\x00\x00\x00\x00";

    fn unpacked(bytes: &[u8], limits: Limits) -> Result<Vec<u8>, String> {
        let budget = Budget::new(limits, bytes.len() as u64);
        let view = View::with_budget(bytes, &budget);
        let format = ArchiveFormat::of(view).ok_or("not recognized")?;
        let member = format.members(view).members.remove(0);
        let MemberContent::Packed(unpack) = member.content else { panic!("a compressed file") };
        let mut unpacked = Vec::new();
        unpack(&mut unpacked).map(|()| unpacked).map_err(|error| error.to_string())
    }

    #[test]
    fn streams_are_unpacked_one_after_another_and_damage_is_an_error() {
        let forms = [xz_of(TEXT, 1 << 20), LZIP.to_vec(), bzip2_of(TEXT), lz4_of(TEXT), lzma_of(TEXT, 1 << 20)];
        for (index, bytes) in forms.iter().enumerate() {
            let limits = Limits::default();
            assert_eq!(unpacked(bytes, limits).unwrap(), TEXT, "{index}");
            // A file of lzma is one stream.
            if index < 4 {
                assert_eq!(unpacked(&bytes.repeat(3), limits).unwrap(), TEXT.repeat(3), "{index}");
            }
            for cut in 0..bytes.len() {
                // Without its end marker, lzma has no end.
                let is_whole = index == 4 && unpacked(&bytes[..cut], limits).as_deref() == Ok(TEXT);
                assert!(is_whole || unpacked(&bytes[..cut], limits).is_err(), "{index} cut at {cut}");
            }
            for at in 0..bytes.len() {
                let mut flipped = bytes.clone();
                flipped[at] ^= 0x55;
                let read = unpacked(&flipped, limits);
                // Only lzma has no checksum.
                assert!(index == 4 || read.is_err() || read.as_deref() == Ok(TEXT), "{index} flipped at {at}");
            }
        }
        assert!(unpacked(&bzip2_of(b""), Limits::default()).unwrap().is_empty());
        for text in [&b"BZh9 is text"[..], b"]\0\0 text, and more of it"] {
            assert!(ArchiveFormat::of(View::new(text)).is_none());
        }
    }

    #[test]
    fn a_small_file_does_not_allocate_a_large_dictionary() {
        for pack in [xz_of, lzma_of] {
            assert_eq!(unpacked(&pack(TEXT, 64 << 20), Limits::default()).unwrap(), TEXT);
            let large = pack(TEXT, 128 << 20);
            assert_eq!(unpacked(&large, Limits::default()).unwrap_err(), "memory limit reached");
            let limits = Limits { decompressed: Some(128 << 20), ..Limits::default() };
            assert_eq!(unpacked(&large, limits).unwrap(), TEXT);
            let limits = Limits { decompressed: Some(u64::MAX), ..Limits::default() };
            assert_eq!(unpacked(&pack(TEXT, (1 << 30) + (1 << 29)), limits).unwrap_err(), "memory limit reached");
        }
    }
}
