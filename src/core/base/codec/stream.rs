//! Streams: decompression in pieces, and detection of the start and end of a stream.

use std::fmt;
use std::io::Read;

use flate2::bufread::ZlibDecoder;
use zstd::zstd_safe;

use super::decompress::{charge, field};
use super::window::zstd_decoder;
use super::{Codec, lz4_start};
use crate::base::activity::Work;
use crate::base::bytes::{Cursor, Resource, View};
use crate::base::error::{Cause, Malformed};

/// A stream that is decompressed as it is read. It needs as much memory as the codec's window, regardless of the size
/// of the output. The output has exactly the stated size, or reading it is an error.
pub struct Stream<'data> {
    decoder: Decoder<'data>,
    codec: Codec,
    stored: View<'data>,
    full_size: u64,
    /// Number of bytes that are still to be decompressed.
    left: u64,
}

/// The decoder of a codec.
enum Decoder<'data> {
    Plain(&'data [u8]),
    Zstd(Box<zstd::Decoder<'static, &'data [u8]>>),
    Zlib(Box<ZlibDecoder<&'data [u8]>>),
}

impl fmt::Debug for Stream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("codec", &self.codec).field("left", &self.left).finish_non_exhaustive()
    }
}

impl Read for Decoder<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Decoder::Plain(bytes) => bytes.read(buffer),
            Decoder::Zstd(decoder) => decoder.read(buffer),
            Decoder::Zlib(decoder) => decoder.read(buffer),
        }
    }
}

impl<'data> Decoder<'data> {
    fn new(codec: Codec, stored: View<'data>, full_size: u64) -> Result<Self, Malformed> {
        let malformed = |cause| stored.malformed(field(codec), 0, cause);
        let broken = |error: std::io::Error| malformed(Cause::Compressed(error.to_string()));
        match codec {
            Codec::None => Ok(Decoder::Plain(stored.data())),
            Codec::Zstd => {
                let decoder = zstd_decoder(stored, full_size).map_err(broken)?;
                Ok(Decoder::Zstd(Box::new(decoder)))
            }
            Codec::Zlib => Ok(Decoder::Zlib(Box::new(ZlibDecoder::new(stored.data())))),
            Codec::Lz4 | Codec::Opaque => Err(malformed(Cause::UnsupportedCodec { codec: codec.name() })),
        }
    }
}

/// Decompresses the first bytes of `stored`, at most `size` of `full_size`. The result is shorter if the stream ends or
/// is malformed before that. The index of a bundle is at its start, so this lists a bundle without decompressing all of
/// it.
pub fn decompress_start(codec: Codec, stored: View<'_>, full_size: u64, size: usize) -> Result<Vec<u8>, Malformed> {
    let malformed = |cause| stored.malformed(field(codec), 0, cause);
    if codec == Codec::Lz4 {
        stored.charge(field(codec), Resource::Decompressed, size as u64)?;
        let start = lz4_start::start(stored.data(), usize::try_from(full_size).unwrap_or(size).min(size));
        return start.ok_or_else(|| malformed(Cause::Compressed("invalid sequence".to_owned())));
    }
    let decoder = Decoder::new(codec, stored, full_size)?;
    stored.charge(field(codec), Resource::Decompressed, size as u64)?;
    let mut start = Vec::new();
    match decoder.take(size as u64).read_to_end(&mut start) {
        Err(error) if start.is_empty() => Err(malformed(Cause::Compressed(error.to_string()))),
        _ => Ok(start),
    }
}

impl<'data> Stream<'data> {
    /// Opens a stream that decompresses to `full_size` bytes.
    pub fn new(codec: Codec, stored: View<'data>, full_size: u64) -> Result<Self, Malformed> {
        charge(codec, stored, full_size)?;
        let decoder = Decoder::new(codec, stored, full_size)?;
        Ok(Stream { decoder, codec, stored, full_size, left: full_size })
    }

    /// Fills `buffer`, or reads to the end of the stream if that comes first. Returns the number of bytes; 0 at the
    /// end.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Malformed> {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let filled = left.min(buffer.len());
        let (mut unfilled, _) = buffer.split_at_mut(filled);
        while !unfilled.is_empty() {
            let size = self.some(unfilled)?;
            if size == 0 {
                let size = self.full_size.abs_diff(self.left);
                return Err(self.malformed(Cause::SizeMismatch { size, expected: self.full_size }));
            }
            self.left = self.left.checked_sub(size as u64).expect("at most the bytes that are left were read");
            Work::Decompressed.record(size as u64);
            (_, unfilled) = unfilled.split_at_mut(size);
        }
        if filled == 0 && !buffer.is_empty() {
            self.end()?;
        }
        Ok(filled)
    }

    /// Checks that nothing follows the stated bytes.
    fn end(&mut self) -> Result<(), Malformed> {
        if self.some(&mut [0])? > 0 {
            return Err(self.malformed(Cause::Compressed("more than the stated size comes out".to_owned())));
        }
        match &self.decoder {
            Decoder::Zlib(decoder) if !decoder.get_ref().is_empty() => {
                let behind = decoder.get_ref().len();
                Err(self.malformed(Cause::Compressed(format!("the stream ends {behind} bytes early"))))
            }
            _ => Ok(()),
        }
    }

    fn some(&mut self, buffer: &mut [u8]) -> Result<usize, Malformed> {
        self.decoder.read(buffer).map_err(|error| self.malformed(Cause::Compressed(error.to_string())))
    }

    fn malformed(&self, cause: Cause) -> Malformed {
        self.stored.malformed(field(self.codec), 0, cause)
    }
}

/// First bytes of a zstd frame (RFC 8878).
pub const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Magic numbers of skippable zstd frames (RFC 8878).
const ZSTD_SKIPPABLE: std::ops::RangeInclusive<u32> = 0x184d_2a50..=0x184d_2a5f;

/// Size of the header of a skippable frame: its magic number and its size (RFC 8878).
const SKIPPABLE_HEADER: u64 = 8;

/// Returns the size of the frame at the start of a view if it is skippable.
pub fn skippable_frame_size(view: View<'_>) -> Option<u64> {
    let magic = view.u32("zstd magic number", 0).ok()?;
    let content = view.u32("zstd frame size", 4).ok()?;
    let size = SKIPPABLE_HEADER.checked_add(content.into())?;
    (ZSTD_SKIPPABLE.contains(&magic) && size <= view.size()).then_some(size)
}

/// Pads a stream to this size with a skippable frame; does nothing if no frame fits.
pub fn pad_with_skippable_frame(stream: &mut Vec<u8>, size: u64) {
    let left = size.checked_sub(stream.len() as u64).and_then(|left| left.checked_sub(SKIPPABLE_HEADER));
    if let Some(content) = left.and_then(|left| u32::try_from(left).ok()) {
        stream.extend(ZSTD_SKIPPABLE.start().to_le_bytes());
        stream.extend(content.to_le_bytes());
        stream.resize(size as usize, 0);
    }
}

/// Size of the header of a block, in bytes (RFC 8878).
const ZSTD_BLOCK_HEADER: u64 = 3;

/// Returns an error unless the bytes begin like a stream of this codec. The check covers only a few bits, to reject
/// coincidences early.
pub fn check_start(codec: Codec, stored: View<'_>) -> Result<(), Malformed> {
    let begins = match codec {
        Codec::Zstd => {
            let magic = stored.u32(field(codec), 0)?;
            magic == u32::from_le_bytes(ZSTD_MAGIC) || ZSTD_SKIPPABLE.contains(&magic)
        }
        Codec::Zlib => {
            // RFC 1950: method 8 in the low bits, and the two bytes together a multiple of 31.
            let header = stored.u16(field(codec), 0)?.swap_bytes();
            header >> 8 & 0xf == 8 && header % 31 == 0
        }
        Codec::None | Codec::Lz4 | Codec::Opaque => true,
    };
    let cause = || Cause::Compressed("it does not begin as one".to_owned());
    begins.then_some(()).ok_or_else(|| stored.malformed(field(codec), 0, cause()))
}

/// Returns the size of the first stream in `stored`, in bytes; it decompresses to `full_size` bytes, and more may
/// follow it. A zstd frame is walked from block to block. A zlib stream must be decompressed, because only that shows
/// its end.
pub fn stream_size(codec: Codec, stored: View<'_>, full_size: u64) -> Result<u64, Malformed> {
    let malformed = |cause| stored.malformed(field(codec), 0, cause);
    match codec {
        Codec::Zstd => {
            let mut frames = Cursor::new(stored);
            loop {
                let rest = frames.rest();
                rest.charge(field(codec), Resource::Work, 1)?;
                let frame = zstd_safe::find_frame_compressed_size(rest.data());
                // The walk takes a step for each block, which has a header of three bytes.
                let walked = frame.unwrap_or(rest.data().len()) as u64;
                rest.charge(field(codec), Resource::Work, walked.div_ceil(ZSTD_BLOCK_HEADER))?;
                let frame =
                    frame.map_err(|code| malformed(Cause::Compressed(zstd_safe::get_error_name(code).to_owned())))?;
                frames.take(field(codec), frame as u64)?;
                if rest.u32(field(codec), 0)? == u32::from_le_bytes(ZSTD_MAGIC) {
                    return Ok(frames.at());
                }
            }
        }
        Codec::Zlib => {
            charge(codec, stored, full_size)?;
            let mut decoder = ZlibDecoder::new(stored.data());
            // One byte more shows that the stream does not end there.
            let size = std::io::copy(&mut (&mut decoder).take(full_size.saturating_add(1)), &mut std::io::sink())
                .map_err(|error| malformed(Cause::Compressed(error.to_string())))?;
            if size != full_size {
                return Err(malformed(Cause::SizeMismatch { size, expected: full_size }));
            }
            Ok(decoder.total_in())
        }
        Codec::None | Codec::Lz4 | Codec::Opaque => Err(malformed(Cause::UnsupportedCodec { codec: codec.name() })),
    }
}

/// Returns the decompressed size that the zstd frame at the start of `stored` states.
pub fn frame_content_size(stored: View<'_>) -> Result<u64, Malformed> {
    let stated = zstd_safe::get_frame_content_size(stored.data()).ok().flatten();
    stated.ok_or_else(|| {
        let cause = Cause::Compressed("the zstd frame does not state its decompressed size".to_owned());
        stored.malformed(field(Codec::Zstd), 0, cause)
    })
}
