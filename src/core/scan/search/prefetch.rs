//! Compressed containers that follow each other in a section, decompressed in parallel.
//!
//! Decompressing takes most of a scan's time, and most of that is the verification of the hash. MD5 of one stream
//! cannot be computed in parallel, but every container has a separate stream. Programs for AMD devices have a container
//! for each source file, and libraries have thousands of them.

use std::collections::BTreeMap;

use crate::base::bytes::View;
use crate::base::error::Malformed;
use crate::base::parallel::map_parallel;
use crate::format::{self, Compressed, Contents};

/// Maximum decompressed size of the containers of one batch. A larger container is decompressed alone.
const MAX_BATCH: u64 = 64 << 20;

/// Minimum decompressed size of a batch. For less, threads cost more than they gain.
const MIN_BATCH: u64 = 256 << 10;

/// Decompressed containers that have not been used yet.
#[derive(Default)]
pub struct Prefetch {
    /// Results by the offsets of the streams.
    decompressed: BTreeMap<u64, Result<Vec<u8>, Malformed>>,
    /// End of the containers that were considered for a batch, and are too small for one.
    considered: u64,
}

impl Prefetch {
    /// Decompresses the container at the start of `rest`, the rest of a section, with the containers that follow it. A
    /// container that no other follows is left to the caller.
    pub fn fill(&mut self, name: Option<&str>, contents: &Contents<'_>, rest: View<'_>) {
        let Contents::Compressed(first) = contents else { return };
        if self.decompressed.contains_key(&first.stored.start()) || rest.start() < self.considered {
            return;
        }
        self.decompressed.clear();
        let batch = batch(name, rest);
        let size: u64 = batch.iter().map(|it| it.full_size).sum();
        self.considered = batch.last().map_or(0, |last| last.stored.start());
        if batch.len() < 2 || size < MIN_BATCH {
            return;
        }
        // The threads do not charge. The charges are in file order.
        let charged: Vec<&Compressed> = batch.iter().take_while(|it| it.charge().is_ok()).collect();
        let mut decompressed = Vec::new();
        map_parallel(&charged, usize::MAX, |it| it.decompress_charged(), &mut |result| decompressed.push(result));
        self.decompressed = charged.iter().map(|it| it.stored.start()).zip(decompressed).collect();
    }

    /// Removes and returns the result for this container, if it was decompressed.
    pub fn take(&mut self, contents: &Contents<'_>) -> Option<Result<Vec<u8>, Malformed>> {
        match contents {
            Contents::Compressed(compressed) => self.decompressed.remove(&compressed.stored.start()),
            Contents::Images(_) => None,
        }
    }
}

/// The compressed containers at the start of `rest` that are decompressed together.
fn batch<'data>(name: Option<&'data str>, mut rest: View<'data>) -> Vec<Compressed<'data>> {
    let mut batch = Vec::new();
    let mut left = MAX_BATCH;
    while let Some(Ok(container)) = format::read_in_section(name, rest)
        && let Contents::Compressed(compressed) = container.contents
        && let Some(remaining) = left.checked_sub(compressed.full_size)
    {
        left = remaining;
        batch.push(compressed);
        rest = rest.from(container.view.size()).skip_zeros();
    }
    batch
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::bytes::{Budget, Limits};
    use crate::base::codec::{Codec, Compression};
    use crate::base::content::Content;
    use crate::base::error::Cause;
    use crate::format::{bundle, ccob};

    fn container(image: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let full = bundle::write(&[("hipv4-amdgcn-amd-amdhsa--gfx906", image)], 1).unwrap().to_vec();
        let content = Content::from(&full[..]);
        let how = Compression::new(Codec::Zstd);
        let mut stream = Vec::new();
        let written = ccob::compress(&content, how, ccob::Version::Three, &mut stream, &mut |_| ()).unwrap();
        ([written.header, stream].concat(), full)
    }

    #[test]
    fn consecutive_containers_are_decompressed_together_and_a_damaged_one_is_reported() {
        let (mut containers, fulls): (Vec<_>, Vec<_>) = (1..5).map(|byte| container(&vec![byte; 200_000])).unzip();
        // The stored hash.
        containers[2][24] ^= 1;
        let section: Vec<u8> = containers.iter().flat_map(|it| [&it[..], &[0; 40]].concat()).collect();
        let mut prefetch = Prefetch::default();
        let mut rest = View::new(&section);
        for (index, stored) in containers.iter().enumerate() {
            let contents = format::read(rest).unwrap().unwrap().contents;
            prefetch.fill(None, &contents, rest);
            assert_eq!(prefetch.decompressed.len(), containers.len() - index, "decompressed once");
            match prefetch.take(&contents).unwrap() {
                Ok(bytes) => assert_eq!((bytes, index == 2), (fulls[index].clone(), false)),
                Err(error) => assert!(index == 2 && matches!(error.cause, Cause::HashMismatch { .. }), "{error}"),
            }
            rest = rest.from(stored.len() as u64 + 40);
        }
    }

    #[test]
    fn single_and_small_containers_and_those_over_the_limit_are_left_to_the_caller() {
        let (one, _) = container(&vec![1; 300_000]);
        let (small, _) = container(&[1; 1000]);
        for (section, limit) in [(one.clone(), None), (small.repeat(3), None), (one.repeat(2), Some(200_000))] {
            let budget = Budget::new(Limits { decompressed: limit, factor: 1 }, 0);
            let mut prefetch = Prefetch::default();
            let view = View::with_budget(&section, &budget);
            let contents = format::read(view).unwrap().unwrap().contents;
            prefetch.fill(None, &contents, view);
            assert!(prefetch.take(&contents).is_none());
        }
    }
}
