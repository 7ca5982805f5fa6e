//! The images of a file, read by several threads.
//!
//! One thread reads all images of a compressed stream, so the stream is decompressed once. Each batch of images has a
//! separate budget, which is charged to the budget of the file in image order. If the file has too little left for a
//! batch, this batch and all later ones are read again in the calling thread with the budget of the file. The results
//! are then the same as with a single thread, and only the work on the batches in the window is lost.

use std::collections::BTreeSet;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};

use super::stream_memory::StreamMemory;
use super::{ImageRef, Scan, Shared, compressed_containers};
use crate::base::bytes::{Budget, View, total};
use crate::base::codec::is_compressed;
use crate::base::parallel::{Results, map_parallel};
use crate::scan::Source;
use crate::scan::cache::CacheUse;
use crate::scan::inventory::NestedImage;

/// Minimum stored size of a batch, in bytes. For less, passing results between threads costs more than it gains.
const MIN_BATCH: u64 = 64 << 10;

/// Maximum number of streams in a batch. An image without a stream counts as one.
const MAX_STREAMS: usize = 16;

impl<S: Source> Scan<S> {
    /// Calls `work` in several threads, each time with some images and their indices in `images`. Calls `visit` in the
    /// calling thread with the indices and the results, in order.
    #[doc(hidden)]
    pub fn map_images<'scan, R: Send>(
        &'scan self,
        images: &[NestedImage<'scan>],
        work: impl Fn(usize, &ImageRef<'_>) -> R + Sync,
        visit: &mut dyn FnMut(usize, R),
    ) {
        let results = Results::new();
        let work = |index, image: &ImageRef<'_>| results.keep(work(index, image));
        self.map_keys(images, &work, &mut |index, key| visit(index, results.take(key)));
    }

    /// Like [`Scan::map_images`], with keys of the results.
    fn map_keys<'scan>(
        &'scan self,
        images: &[NestedImage<'scan>],
        work: &(dyn Fn(usize, &ImageRef<'_>) -> usize + Sync),
        visit: &mut dyn FnMut(usize, usize),
    ) {
        let batches = batches(images);
        let memory = StreamMemory::default();
        let reads = Reads { scan: self, work, names: Shared::default() };
        let file_budget = self.view().budget().expect("the view of a scan has a budget");
        let is_exhausted = AtomicBool::new(file_budget.exhaustion().is_some());
        let read_ahead = |batch: &Batch<'_, 'scan>| {
            if is_exhausted.load(Ordering::Relaxed) {
                return None;
            }
            let budget = file_budget.part();
            let mut taken = memory.take(batch.memory);
            Some((reads.keys(batch, self.view().charging(&budget), &mut taken.buffers), budget))
        };
        let mut own_buffers = Vec::new();
        let mut next = batches.iter();
        map_parallel(&batches, usize::MAX, read_ahead, &mut |ahead: Option<(Vec<usize>, Budget)>| {
            let Some(batch) = next.next() else { return };
            let fits = |part: &Budget| !is_exhausted.load(Ordering::Relaxed) && file_budget.charge_fitting_part(part);
            let keys = match ahead.filter(|(_, part)| fits(part)) {
                Some((keys, _)) => keys,
                None => {
                    is_exhausted.store(true, Ordering::Relaxed);
                    reads.keys(batch, self.view(), &mut own_buffers)
                }
            };
            self.drop_cached(&batch.first_reads);
            for ((index, _), key) in batch.images().zip(keys) {
                visit(index, key);
            }
        });
    }
}

/// The work on the images of a file.
struct Reads<'a, S> {
    scan: &'a Scan<S>,
    work: &'a (dyn Fn(usize, &ImageRef<'_>) -> usize + Sync),
    names: Shared,
}

impl<S: Source> Reads<'_, S> {
    /// Works on the images of a batch, and returns the keys of the results. `buffers` are for decompressed bytes.
    fn keys(&self, batch: &Batch<'_, '_>, view: View<'_>, buffers: &mut Vec<Vec<u8>>) -> Vec<usize> {
        let shared = Shared { buffers: mem::take(buffers), ..self.names.clone() };
        let reader = self.scan.reader_with(view, CacheUse::ReadsOnly(&batch.first_reads), shared);
        let keys = batch.images().map(|(index, it)| (self.work)(index, &reader.image(it.clone()))).collect();
        *buffers = reader.into_buffers();
        keys
    }
}

/// Consecutive images that one thread reads.
struct Batch<'a, 'scan> {
    /// Index of the first image.
    first: usize,
    images: &'a [NestedImage<'scan>],
    /// Start offsets of the compressed containers that no earlier batch reads.
    first_reads: Vec<u64>,
    /// Size of the largest decompressed stream in bytes, as stated in the file.
    memory: u64,
}

impl<'scan> Batch<'_, 'scan> {
    fn images(&self) -> impl Iterator<Item = (usize, &NestedImage<'scan>)> {
        (self.first..).zip(self.images)
    }
}

fn batches<'a, 'scan>(images: &'a [NestedImage<'scan>]) -> Vec<Batch<'a, 'scan>> {
    let mut groups: Vec<&[NestedImage<'scan>]> = Vec::new();
    let mut batches: Vec<Batch<'a, 'scan>> = Vec::new();
    let mut rest = images;
    let mut first = 0_usize;
    let mut seen = BTreeSet::new();
    let mut all_groups = images.chunk_by(share_stream).peekable();
    while let Some(group) = all_groups.next() {
        groups.push(group);
        // Stored parts of several containers may overlap, so the sum saturates.
        let size = total(groups.iter().filter_map(|group| group.first()).map(stored_size));
        if size >= MIN_BATCH || groups.len() == MAX_STREAMS || all_groups.peek().is_none() {
            let memory = groups.iter().map(|group| decompressed_size(group)).max().unwrap_or_default();
            let (images, after) = rest.split_at(groups.drain(..).map(<[_]>::len).sum());
            let first_reads = first_reads(images, &mut seen);
            batches.push(Batch { first, images, first_reads, memory });
            first = first.checked_add(images.len()).expect("an index of the images");
            rest = after;
        }
    }
    batches
}

/// Returns the start offsets of the compressed containers of the images that are not in `seen`, and adds them to it.
///
/// A container that the scan has charged is read once without another charge, for the images of one batch: for which of
/// several batches must not depend on timing.
pub fn first_reads(images: &[NestedImage<'_>], seen: &mut BTreeSet<u64>) -> Vec<u64> {
    let containers = images.iter().filter_map(|image| compressed_containers(image).next());
    containers.map(|container| container.start).filter(|start| seen.insert(*start)).collect()
}

/// True if two images are in one compressed stream.
fn share_stream(one: &NestedImage<'_>, other: &NestedImage<'_>) -> bool {
    match (compressed_containers(one).next(), compressed_containers(other).next()) {
        (Some(one), Some(other)) => std::ptr::eq(one, other),
        (None, None) => {
            let one = &one.image.stored;
            let other = &other.image.stored;
            one.part.is_some() && other.part.is_some() && (one.start, one.size) == (other.start, other.size)
        }
        _ => false,
    }
}

/// Decompressed size of the stream of these images in bytes. The size of a container is the sum of the sizes that its
/// images state, which saturates.
fn decompressed_size(images: &[NestedImage<'_>]) -> u64 {
    let size = |nested: &NestedImage<'_>| match &nested.image.stored.part {
        Some(part) => part.whole,
        None => nested.image.decompressed_size().unwrap_or_default(),
    };
    match images {
        [first, ..] if compressed_containers(first).next().is_some() => total(images.iter().map(size)),
        [first, ..] if is_compressed(first.image.codec) => size(first),
        _ => 0,
    }
}

/// Stored size of the stream, in bytes.
fn stored_size(nested: &NestedImage<'_>) -> u64 {
    compressed_containers(nested).next().map_or(nested.image.stored.size, |container| container.size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::bytes::Limits;
    use crate::base::codec::{Codec, Compression};
    use crate::base::content::Content;
    use crate::format::{bundle, ccob};
    use crate::scan::{CacheBudget, Options};

    #[test]
    fn a_container_is_charged_as_often_regardless_of_the_memory_that_other_files_have_left() {
        let bundle = bundle::write(&[("hipv4-amdgcn-amd-amdhsa--gfx906", &[7; 100_000][..])], 1).unwrap().to_vec();
        let mut stream = Vec::new();
        let how = Compression::new(Codec::Zstd);
        let content = Content::from(&bundle[..]);
        let written = ccob::compress(&content, how, ccob::Version::Three, &mut stream, &mut |_| ()).unwrap();
        let file = [written.header, stream].concat().repeat(3);
        for kept in [0, 1 << 30] {
            // The scan decompresses three containers, and the second pass two more.
            let limits = Limits { decompressed: Some(5 * bundle.len() as u64), factor: 1 };
            let budget = Budget::new(limits, 0);
            let view = View::with_budget(&file, &budget);
            let scan = Scan::with_options(view, Options::default(), Some(&CacheBudget::new(kept))).unwrap();
            let passes = [(); 2].map(|()| {
                let mut are_read = Vec::new();
                let images: Vec<NestedImage<'_>> = scan.file().nested_images().collect();
                scan.map_images(&images, |_, image| image.read().is_ok(), &mut |_, is_read| are_read.push(is_read));
                are_read
            });
            assert_eq!(passes, [[true; 3], [true, true, false]], "{kept} bytes kept");
        }
    }
}
