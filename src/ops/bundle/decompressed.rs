//! `decompressed`: compressed bundles taken out and thrown away, to verify and to time them.

use std::convert::Infallible;
use std::path::Path;
use std::time::{Duration, Instant};

use super::members::each_member;
use crate::bytes::View;
use crate::codec::Codec;
use crate::error::Result;
use crate::format::ccob::{self, Ccob, Failure};
use crate::io::Input;

/// What compression or decompression has done.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    pub version: u16,
    pub codec: Codec,
    /// Absent where it was decompressed.
    pub level: Option<i32>,
    pub full_size: u64,
    /// Of the stream, without the header.
    pub stored_size: u64,
    pub hash: u64,
    pub time: Duration,
}

impl Figures {
    /// Of a compressed bundle that was decompressed in this time.
    pub(super) fn restored(ccob: &ccob::Ccob, time: Duration) -> Figures {
        Figures {
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

/// The figures of each of the compressed bundles that a file begins with; none where it begins with something else.
pub fn decompressed(input: &Input) -> Result<Vec<Figures>> {
    figures(input.view(), input.path())
}

/// Calls `told` with the size and the figures of every member of an archive.
pub fn decompressed_members(input: &Input, told: &mut dyn FnMut(u64, Vec<Figures>)) -> Result<()> {
    each_member(input, &mut |member| {
        told(member.view.size(), figures(member.view, &member.path)?);
        Ok(())
    })
}

fn figures(mut view: View, path: &Path) -> Result<Vec<Figures>> {
    let mut all = Vec::new();
    while view.starts_with(&ccob::MAGIC) {
        let start = Instant::now();
        let ccob = Ccob::read(view).map_err(|malformed| malformed.in_file(path))?;
        ccob.each_piece(|_| Ok::<(), Infallible>(())).map_err(|failure| match failure {
            Failure::Malformed(malformed) => malformed.in_file(path),
            Failure::Consumer(never) => match never {},
        })?;
        all.push(Figures::restored(&ccob, start.elapsed()));
        view = view.from(ccob.view.size()).skip_zeros();
    }
    Ok(all)
}
