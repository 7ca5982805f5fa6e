//! The images of one file as batches for several threads.
//!
//! Each thread has a separate reader. Images of one compressed stream stay in one batch, so no stream is decompressed
//! twice.

use std::ops::Range;

use super::job::{ExtractJob, total_size};
use crate::base::bytes;

/// Smallest batch that is worth starting a thread for, in bytes.
const MIN_BATCH: u64 = 1 << 20;

/// Batches per thread. With several, no thread is left with a large batch at the end.
const BATCHES_PER_WORKER: u64 = 8;

/// Maximum size of decompressed images that all threads together hold in memory, in bytes. A single larger image is
/// allowed.
const MAX_MEMORY: u64 = 256 << 20;

/// Returns the number of threads and the batches, as ranges of `jobs`. All jobs are in one file, in order.
pub fn plan_batches(jobs: &[ExtractJob<'_>], processors: usize) -> (usize, Vec<Range<usize>>) {
    let streams = streams(jobs);
    let size = |stream: &Range<usize>| total_size(&jobs[stream.clone()]);
    let total = total_size(jobs);
    let largest = streams.iter().map(size).max().unwrap_or_default().max(1);
    let workers = (MAX_MEMORY / largest).clamp(1, processors.max(1) as u64);
    let enough = (total / workers / BATCHES_PER_WORKER).max(MIN_BATCH);
    let mut batches = Vec::new();
    let mut batch = 0..0;
    let mut sum = 0;
    for stream in streams {
        batch.end = stream.end;
        sum = bytes::total([size(&stream), sum]);
        if sum >= enough {
            batches.push(batch.clone());
            (batch, sum) = (stream.end..stream.end, 0);
        }
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
    (workers as usize, batches)
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
