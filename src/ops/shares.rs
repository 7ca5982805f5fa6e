//! The images of one file dealt out to several workers.
//!
//! Each worker looks into the containers of its images by itself. So images that come out of one compressed stream stay
//! together: nobody is to decompress that twice.

use std::ops::Range;

use super::extract::{ToExtract, whole_size};

/// A share is not worth a thread's while below this many bytes.
const SMALLEST: u64 = 1 << 20;

/// So many shares has a worker to take, so that none is left with a large one at the end.
const SHARES_OF_A_WORKER: u64 = 4;

/// What all workers together may hold of decompressed images, or one of them if it is larger.
const MEMORY: u64 = 256 << 20;

/// How many workers there are to be of these, and what each takes at a time, as ranges of `images`, which are those of one
/// file in their order.
pub fn deal(images: &[ToExtract<'_>], processors: usize) -> (usize, Vec<Range<usize>>) {
    let streams = streams(images);
    let size = |stream: &Range<usize>| whole_size(&images[stream.clone()]);
    let total = whole_size(images);
    let largest = streams.iter().map(size).max().unwrap_or_default().max(1);
    let workers = (MEMORY / largest).clamp(1, processors.max(1) as u64);
    let enough = (total / workers / SHARES_OF_A_WORKER).max(SMALLEST);
    let (mut shares, mut share, mut sum) = (Vec::new(), 0..0, 0);
    for stream in streams {
        share.end = stream.end;
        sum = size(&stream).saturating_add(sum);
        if sum >= enough {
            shares.push(share.clone());
            (share, sum) = (stream.end..stream.end, 0);
        }
    }
    shares.extend((!share.is_empty()).then_some(share));
    (workers as usize, shares)
}

/// The images that have to stay together.
fn streams(images: &[ToExtract<'_>]) -> Vec<Range<usize>> {
    let mut streams: Vec<Range<usize>> = Vec::new();
    for (index, image) in images.iter().enumerate() {
        match streams.last_mut().filter(|last| share_a_stream(&images[last.start], image)) {
            Some(last) => last.end = index + 1,
            None => streams.push(index..index + 1),
        }
    }
    streams
}

/// Whether two images may be of one stream: then neither has a size of its own as it is stored.
fn share_a_stream(one: &ToExtract<'_>, other: &ToExtract<'_>) -> bool {
    let outermost = |image: &ToExtract<'_>| image.containers.first().map(|container| std::ptr::from_ref(*container));
    one.image.size.is_none() && other.image.size.is_none() && outermost(one) == outermost(other)
}
