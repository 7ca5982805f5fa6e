//! Decompression of bundles without output, to verify and to time them.

use std::convert::Infallible;
use std::path::Path;
use std::time::{Duration, Instant};

use super::error::Result;
use super::members::each_member;
use fatbin_core::base::bytes::View;
use fatbin_core::base::codec::Codec;
use fatbin_core::base::io::Input;
use fatbin_core::format::ccob::{self, Ccob, Failure};

/// Figures of a compression or decompression.
#[derive(Debug, Clone, PartialEq)]
pub struct CompressionStats {
    /// Version of the compressed form.
    pub version: u16,
    /// Codec of the stream.
    pub codec: Codec,
    /// Level of compression; absent for decompression.
    pub level: Option<i32>,
    /// Size of the uncompressed bytes.
    pub full_size: u64,
    /// Size of the stream, without the header.
    pub stored_size: u64,
    /// Hash of the uncompressed bytes.
    pub hash: u64,
    /// Elapsed time.
    pub time: Duration,
}

impl CompressionStats {
    /// Returns the figures of a bundle that was decompressed in this time.
    pub(super) fn of_decompression(ccob: &ccob::Ccob, time: Duration) -> CompressionStats {
        CompressionStats {
            version: ccob.version.number(),
            codec: ccob.codec,
            level: None,
            full_size: ccob.full_size,
            stored_size: ccob.stored.size(),
            hash: ccob.hash.value,
            time,
        }
    }
}

/// Decompresses the compressed bundles at the start of a file and returns their figures; none where the file begins
/// with something else.
pub fn decompression_stats(input: &Input) -> Result<Vec<CompressionStats>> {
    stats_of(input.view(), input.path())
}

/// Calls `report` with the size and the figures of every member of an archive.
pub fn member_decompression_stats(input: &Input, report: &mut dyn FnMut(u64, Vec<CompressionStats>)) -> Result<()> {
    each_member(input, &mut |member| {
        report(member.view.size(), stats_of(member.view, &member.path)?);
        Ok(())
    })
}

fn stats_of(mut view: View, path: &Path) -> Result<Vec<CompressionStats>> {
    let mut all = Vec::new();
    while view.starts_with(&ccob::MAGIC) {
        let start = Instant::now();
        let ccob = Ccob::read(view).map_err(|malformed| malformed.in_file(path))?;
        ccob.each_piece(|_| Ok::<(), Infallible>(())).map_err(|failure| match failure {
            Failure::Malformed(malformed) => malformed.in_file(path),
            Failure::Consumer(never) => match never {},
        })?;
        all.push(CompressionStats::of_decompression(&ccob, start.elapsed()));
        view = view.from(ccob.view.size()).skip_zeros();
    }
    Ok(all)
}
