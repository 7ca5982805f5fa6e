//! Any bytes as a file to scan: no container is missed, none lies outside, and every way of reading gives the same result.

#![no_main]

use std::ops::Range;

use fatbin::Result;
use fatbin::scan::{Container, File, FilePath, Scan, Source};
use fatbin::{Budget, Limits, View};
use fatbin_core::base::codec::{Codec, ZSTD_MAGIC, stream_size};
use fatbin_core::format::FORMATS;
use fatbin_fuzz::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let budget = Budget::new(Limits::default(), data.len() as u64);
    let view = View::with_budget(data, &budget);
    let Ok(scan) = Scan::new(view) else { return };
    let file = scan.file();
    check_places(file, view);
    check_nothing_is_missed(file, view);
    check_images(&scan);
    if budget.exhaustion().is_some() {
        return;
    }
    let in_blocks = Scan::new(Blocks(view)).expect("blocks can be scanned, too");
    assert_eq!(in_blocks.file(), file, "scanning block by block gives another result");
});

/// Reads every image forwards and backwards: the bytes do not depend on what was read before.
fn check_images(scan: &Scan<View<'_>>) {
    let forwards: Vec<_> = scan.images().map(|image| image.bytes().map(|bytes| bytes.to_vec()).ok()).collect();
    let images: Vec<_> = scan.images().collect();
    assert!(images.iter().enumerate().all(|(index, image)| image.index() == index));
    for (image, expected) in images.iter().zip(&forwards).rev() {
        let again = image.bytes().map(|bytes| bytes.to_vec());
        if scan.source().budget().is_some_and(|budget| budget.exhaustion().is_some()) {
            return;
        }
        assert_eq!(&again.ok(), expected);
    }
}

/// Checks that containers are in the file, in order, and images in their containers. A container must not be empty, because
/// a search that continues after it would not advance.
fn check_places(file: &File, view: View) {
    assert!(file.containers.is_sorted_by_key(|container| container.offset));
    for container in &file.containers {
        let outer = place(container);
        assert!(!outer.is_empty(), "an empty container at {:#x}", outer.start);
        assert!(outer.end <= view.size(), "a container of {outer:?} in a file of {}", view.size());
        for image in &container.images {
            let (Some(offset), Some(size)) = (image.offset, image.size) else { continue };
            let inner = offset..offset + size;
            assert!(outer.start <= inner.start && inner.end <= outer.end, "an image of {inner:?} in {outer:?}");
        }
    }
}

fn place(container: &Container) -> Range<u64> {
    let offset = container.offset.expect("a container in the file has an offset");
    offset..offset + container.size
}

/// Tries every offset: each readable container must have been found, or start inside one that was found, or inside of a
/// zstd frame.
fn check_nothing_is_missed(file: &File, view: View) {
    let data = view.data();
    let frames: Vec<Range<u64>> = (0..data.len() as u64)
        .filter(|&at| data[at as usize..].starts_with(&ZSTD_MAGIC))
        .filter_map(|at| Some(at..at + stream_size(Codec::Zstd, view.from(at), 0).ok()?))
        .collect();
    let places = || file.containers.iter().map(place).chain(frames.iter().cloned());
    let covered = |at: u64| places().any(|place| place.contains(&at));
    for at in 0..data.len() {
        for format in FORMATS.iter().filter(|format| data[at..].starts_with(format.magic)) {
            let readable = (format.read)(view.from(at as u64)).is_ok();
            assert!(!readable || covered(at as u64), "a container at {at:#x} was not found");
        }
    }
}

/// Source that yields small blocks, so that every magic is split by a block boundary in some input.
struct Blocks<'data>(View<'data>);

impl Source for Blocks<'_> {
    fn path(&self) -> FilePath {
        self.0.path()
    }

    fn view(&self) -> View<'_> {
        self.0
    }

    fn blocks(&self, range: Range<u64>, overlap: usize, visit: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        for start in range.clone().step_by(61) {
            let from = start.saturating_sub(overlap as u64).max(range.start);
            let end = (start + 61).min(range.end);
            visit(from, &self.0.data()[from as usize..end as usize]);
        }
        Ok(())
    }
}
