//! The images of one file as batches for several threads.
//!
//! Each batch has a separate reader. Images of one compressed stream stay in one batch, so no stream is decompressed
//! twice. The batches do not depend on the number of threads.

use std::collections::BTreeSet;
use std::ops::Range;

use super::job::{ExtractJob, total_size};
use crate::base::bytes;
use crate::scan::images::map::first_reads;
use crate::scan::inventory::NestedImage;

/// Smallest batch that is worth starting a thread for, in bytes. A batch is in memory until its budget is charged.
const MIN_BATCH: u64 = 1 << 20;

/// Maximum size of decompressed images that all threads together hold in memory, in bytes. A single larger image is
/// allowed.
const MAX_MEMORY: u64 = 256 << 20;

/// Images that one thread reads.
#[derive(Debug)]
pub struct Batch<'a> {
    pub index: usize,
    /// Range of the jobs.
    pub jobs: Range<usize>,
    pub images: Vec<NestedImage<'a>>,
    /// Start offsets of the compressed containers that no earlier batch reads.
    pub first_reads: Vec<u64>,
}

/// Returns the number of threads, up to `processors`, and the batches. All jobs are in one file, in order.
pub fn plan_batches<'a>(jobs: &[ExtractJob<'a>], processors: usize) -> (usize, Vec<Batch<'a>>) {
    let streams = streams(jobs);
    let size = |stream: &Range<usize>| total_size(&jobs[stream.clone()]);
    let largest = streams.iter().map(size).max().unwrap_or_default().max(1);
    let workers = (MAX_MEMORY / largest).clamp(1, processors.max(1) as u64);
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut sum = MIN_BATCH;
    for stream in streams {
        match ranges.last_mut() {
            Some(last) if sum < MIN_BATCH => last.end = stream.end,
            _ => {
                ranges.push(stream.clone());
                sum = 0;
            }
        }
        sum = bytes::total([size(&stream), sum]);
    }
    let mut seen = BTreeSet::new();
    let batches = ranges.into_iter().enumerate().map(|(index, range)| {
        let images: Vec<_> = jobs[range.clone()].iter().map(|job| job.found.nested.clone()).collect();
        let first_reads = first_reads(&images, &mut seen);
        Batch { index, jobs: range, images, first_reads }
    });
    (workers as usize, batches.collect())
}

/// Ranges of jobs whose images are decompressed together.
fn streams(jobs: &[ExtractJob<'_>]) -> Vec<Range<usize>> {
    let mut streams: Vec<Range<usize>> = Vec::new();
    for (index, job) in jobs.iter().enumerate() {
        match streams.last_mut() {
            Some(last) if may_share_stream(&jobs[last.start], job) => last.end = index + 1,
            _ => streams.push(index..index + 1),
        }
    }
    streams
}

/// True if two images may be in one stream. Such images have no stored size.
fn may_share_stream(one: &ExtractJob<'_>, other: &ExtractJob<'_>) -> bool {
    let one = &one.found.nested;
    let other = &other.found.nested;
    one.image.size.is_none() && other.image.size.is_none() && std::ptr::eq(one.containers[0], other.containers[0])
}
