//! Compression of bytes on their way out.

use std::io::{self, Write};

use zstd::zstd_safe::CParameter;

use super::Codec;

/// How to compress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compression {
    /// [`Codec::Zstd`] or [`Codec::Zlib`].
    pub codec: Codec,
    /// The codec's own number.
    pub level: i32,
}

/// The levels that LLVM's tools take where nothing is said (`llvm/Support/Compression.h`).
const ZSTD_LEVEL: i32 = 3;
const ZLIB_LEVEL: i32 = 6;

/// The largest zlib level.
const HIGHEST_ZLIB_LEVEL: i32 = 9;

/// The largest window of a frame, as a power of two, and that which zstd itself takes for long-distance matching.
const LARGEST_WINDOW_LOG: u32 = 31;
const OWN_WINDOW_LOG: u32 = 27;

impl Compression {
    /// The codec at the level that LLVM's tools take.
    pub fn new(codec: Codec) -> Self {
        Compression { codec, level: if codec == Codec::Zlib { ZLIB_LEVEL } else { ZSTD_LEVEL } }
    }
}

/// How much of a frame is one thread's work. What stands in another part is found by long-distance matching alone, so
/// small parts make the result larger: with zstd's own 2 MiB, by 1 %; with these it is smaller than that of one thread.
/// (Two equal images of 150 MB: 41.70 MB in 2 MiB parts, 41.34 in 32 MiB, 41.33 by one thread.) A bundle is cut into
/// sixteen as long as that leaves parts of this size.
const PARTS: u64 = 16;
const PART_SIZES: std::ops::RangeInclusive<u64> = 16 << 20..=64 << 20;

/// From here on time counts.
const LARGE: u64 = 64 << 20;

/// What long-distance matching costs, against what it finds. zstd's own values sample twice as often and look into twice as
/// many places for each sample; these take 8 % less time of all together, and shorter matches give back most of what that
/// loses. (150 MB of code, level 3: 41.36 MB in 0.94 s of processor time with zstd's values, 41.44 MB in 0.86 s with
/// these, 41.47 MB by clang-offload-bundler 22.)
const FASTER_MATCHING: [CParameter; 3] =
    [CParameter::LdmHashRateLog(8), CParameter::LdmMinMatch(40), CParameter::LdmBucketSizeLog(2)];

/// Compresses `size` bytes, which come in runs, into `to`.
///
/// The zstd window is as large as the whole (up to 2 GiB), with long-distance matching, so that the images of one program
/// compress against each other however far apart they stand. As many threads work as there are processors; the result
/// does not depend on their number.
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
        other => Err(io::Error::new(io::ErrorKind::Unsupported, format!("nothing is compressed as {}", other.name()))),
    }
}

fn zstd<'a, W: Write>(runs: impl Iterator<Item = &'a [u8]>, size: u64, level: i32, to: W) -> io::Result<W> {
    let mut encoder = zstd::Encoder::new(to, level)?;
    encoder.long_distance_matching(true)?;
    let window_log = (u64::BITS - size.leading_zeros()).min(LARGEST_WINDOW_LOG);
    if window_log > OWN_WINDOW_LOG {
        encoder.window_log(window_log)?;
    }
    encoder.set_pledged_src_size(Some(size))?;
    encoder.include_contentsize(true)?;
    // Always threads, even where there is one processor only: with none the frame is cut differently.
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
    encoder.multithread(processors as u32)?;
    let part = (size / PARTS).next_power_of_two().clamp(*PART_SIZES.start(), *PART_SIZES.end());
    encoder.set_parameter(CParameter::JobSize(part as u32))?;
    // Each part begins with all of the window that it can see of the one before.
    encoder.set_parameter(CParameter::OverlapSizeLog(9))?;
    if size >= LARGE {
        for parameter in FASTER_MATCHING {
            encoder.set_parameter(parameter)?;
        }
    }
    write_all(runs, &mut encoder)?;
    encoder.finish()
}

/// In pieces that an encoder takes at once.
const PIECE: usize = 1 << 20;

fn write_all<'a>(runs: impl Iterator<Item = &'a [u8]>, to: &mut impl Write) -> io::Result<()> {
    for run in runs {
        for piece in run.chunks(PIECE) {
            to.write_all(piece)?;
        }
    }
    Ok(())
}

/// Counts what goes through.
pub struct Counted<W> {
    to: W,
    size: u64,
}

impl<W> Counted<W> {
    pub fn new(to: W) -> Self {
        Counted { to, size: 0 }
    }

    /// What went through so far, in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
