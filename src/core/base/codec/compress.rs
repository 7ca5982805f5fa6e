//! Compression of output.

use std::io::{self, Write};

use zstd::zstd_safe::CParameter;

use super::Codec;
use super::window::LARGEST_WINDOW_LOG;
use crate::base::parallel::threads;

/// Codec and level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compression {
    /// [`Codec::Zstd`] or [`Codec::Zlib`]; for [`super::compress_block`], [`Codec::Zstd`] or [`Codec::Lz4`].
    pub codec: Codec,
    /// Level, in the codec's own numbers.
    pub level: i32,
}

/// Default levels of LLVM's tools (`llvm/Support/Compression.h`).
const ZSTD_LEVEL: i32 = 3;
const ZLIB_LEVEL: i32 = 6;

/// Largest levels.
const HIGHEST_ZSTD_LEVEL: i32 = 22;
const HIGHEST_ZLIB_LEVEL: i32 = 9;
const HIGHEST_LZ4_LEVEL: i32 = 12;

/// Window of a frame that zstd itself uses for long-distance matching, as a power of two.
const OWN_WINDOW_LOG: u32 = 27;

impl Compression {
    /// Returns the codec at the default level of LLVM's tools.
    pub fn new(codec: Codec) -> Self {
        Compression { codec, level: if codec == Codec::Zlib { ZLIB_LEVEL } else { ZSTD_LEVEL } }
    }

    /// Returns the codec at another level, if one is requested.
    pub fn at(self, level: Option<i32>) -> Result<Self, LevelError> {
        let level = level.map_or(Ok(self.level), |level| self.codec.check_level(level))?;
        Ok(Compression { level, ..self })
    }
}

/// Level that a codec does not have.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LevelError {
    /// A level, and the codec and its highest level.
    #[error("level {0}: invalid level; {name} has levels 1 to {2}", name = .1.name())]
    Unknown(i32, Codec, i32),
    /// A level without a codec.
    #[error("level {0}: nothing is compressed; add a codec")]
    Uncompressed(i32),
}

impl Codec {
    /// Returns the level if the codec has it.
    #[doc(hidden)]
    pub fn check_level(self, level: i32) -> Result<i32, LevelError> {
        let highest = match self {
            Codec::Zstd => HIGHEST_ZSTD_LEVEL,
            Codec::Zlib => HIGHEST_ZLIB_LEVEL,
            Codec::Lz4 => HIGHEST_LZ4_LEVEL,
            Codec::None | Codec::Opaque => return Err(LevelError::Uncompressed(level)),
        };
        let is_known = (1..=highest).contains(&level);
        if is_known { Ok(level) } else { Err(LevelError::Unknown(level, self, highest)) }
    }
}

/// Size of the part of a frame that one thread compresses. Matches in other parts are found by long-distance matching
/// only, so small parts make the result larger: with zstd's own 2 MiB, by 1 %; with these sizes it is smaller than the
/// output of one thread. (Two equal images of 150 MB: 41.70 MB in 2 MiB parts, 41.34 in 32 MiB, 41.33 by one thread.) A
/// bundle is split into sixteen parts if they have these sizes.
const PARTS: u64 = 16;
const PART_SIZES: std::ops::RangeInclusive<u64> = 16 << 20..=64 << 20;

/// Minimum size of an input that is compressed for speed, in bytes.
const LARGE: u64 = 64 << 20;

/// Parameters of long-distance matching. zstd's defaults sample twice as often and search twice as many places for each
/// sample; these values take 8 % less time in total, and shorter matches recover most of the loss. (150 MB of code,
/// level 3: 41.36 MB in 0.94 s of processor time with zstd's values, 41.44 MB in 0.86 s with these, 41.47 MB by
/// clang-offload-bundler 22.)
const FASTER_MATCHING: [CParameter; 3] =
    [CParameter::LdmHashRateLog(8), CParameter::LdmMinMatch(40), CParameter::LdmBucketSizeLog(2)];

/// Compresses runs of `size` bytes in total into `to`.
///
/// The zstd window is as large as the input (at most 2 GiB, or 1 GiB on a 32-bit host), with long-distance matching, so
/// that the images of one program compress against each other at any distance. One thread per processor is used; the
/// result does not depend on the number of threads.
pub fn compress<'a, W: Write>(
    runs: impl Iterator<Item = &'a [u8]>,
    size: u64,
    how: Compression,
    to: W,
) -> io::Result<W> {
    match how.codec {
        Codec::Zstd => zstd(runs, size, how.level, to),
        Codec::Zlib => {
            let level = flate2::Compression::new(how.level.clamp(0, HIGHEST_ZLIB_LEVEL) as u32);
            let mut encoder = flate2::write::ZlibEncoder::new(to, level);
            write_all(runs, &mut encoder)?;
            encoder.finish()
        }
        other => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("compression with {} is not supported", other.name()),
        )),
    }
}

fn zstd<'a, W: Write>(runs: impl Iterator<Item = &'a [u8]>, size: u64, level: i32, to: W) -> io::Result<W> {
    let mut encoder = zstd::Encoder::new(to, level)?;
    encoder.long_distance_matching(true)?;
    let window_log = u64::BITS.abs_diff(size.leading_zeros()).min(LARGEST_WINDOW_LOG);
    if window_log > OWN_WINDOW_LOG {
        encoder.window_log(window_log)?;
    }
    encoder.set_pledged_src_size(Some(size))?;
    encoder.include_contentsize(true)?;
    // A worker thread is used even for --threads 1: without one the frame is split differently.
    encoder.multithread(threads() as u32)?;
    let part = (size / PARTS).next_power_of_two().clamp(*PART_SIZES.start(), *PART_SIZES.end());
    encoder.set_parameter(CParameter::JobSize(part as u32))?;
    // Each part begins with as much of the previous one as the window covers.
    encoder.set_parameter(CParameter::OverlapSizeLog(9))?;
    if size >= LARGE {
        for parameter in FASTER_MATCHING {
            encoder.set_parameter(parameter)?;
        }
    }
    write_all(runs, &mut encoder)?;
    encoder.finish()
}

/// Size of the pieces that are passed to an encoder, in bytes.
const PIECE: usize = 1 << 20;

fn write_all<'a>(runs: impl Iterator<Item = &'a [u8]>, to: &mut impl Write) -> io::Result<()> {
    for run in runs {
        for piece in run.chunks(PIECE) {
            to.write_all(piece)?;
        }
    }
    Ok(())
}

/// A writer that counts bytes.
#[derive(Debug)]
pub struct Counted<W> {
    to: W,
    size: u64,
}

impl<W> Counted<W> {
    /// Creates a writer that passes bytes on to `to`.
    pub fn new(to: W) -> Self {
        Counted { to, size: 0 }
    }

    /// Number of bytes written so far.
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.size = self.size.checked_add(written as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
