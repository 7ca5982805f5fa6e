//! Any bytes as a file to search: nothing is missed, nothing lies outside, and how the file is read does not matter.

#![no_main]

use std::ops::Range;

use fatbin::bytes::View;
use fatbin::error::Result;
use fatbin::format::FORMATS;
use fatbin::inventory::{Container, File};
use fatbin::scan::{Source, scan};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let view = View::new(data);
    // Bitcode is refused.
    let Ok(file) = scan("file", &view) else { return };
    check_places(&file, view);
    check_nothing_is_missed(&file, view);
    assert_eq!(scan("file", &Blocks(view)).expect("and in blocks too"), file, "blocks give another result");
});

/// Containers lie in the file, in its order, and images lie in their containers. None is empty: what walks from one to
/// the next would stand still.
fn check_places(file: &File, view: View) {
    assert!(file.containers.is_sorted_by_key(|container| container.offset));
    for container in &file.containers {
        let outer = place(container);
        assert!(!outer.is_empty(), "a container of no size at {:#x}", outer.start);
        assert!(outer.end <= view.size(), "a container of {outer:?} in a file of {}", view.size());
        for image in &container.images {
            let (Some(offset), Some(size)) = (image.offset, image.size) else { continue };
            let inner = offset..offset + size;
            assert!(outer.start <= inner.start && inner.end <= outer.end, "an image of {inner:?} in {outer:?}");
        }
    }
}

fn place(container: &Container) -> Range<u64> {
    let offset = container.offset.expect("a container in the file has a place in it");
    offset..offset + container.size
}

/// The slow way to the same answer: a container that can be read at any offset was found, or begins inside one that was.
fn check_nothing_is_missed(file: &File, view: View) {
    let covered = |at: u64| file.containers.iter().any(|it| place(it).contains(&at));
    let data = view.data();
    for at in 0..data.len() {
        for format in FORMATS.iter().filter(|format| data[at..].starts_with(format.magic)) {
            let readable = (format.read)(view.from(at as u64)).is_ok();
            assert!(!readable || covered(at as u64), "a container at {at:#x} was not found");
        }
    }
}

/// The same bytes as a file gives them, in blocks; far smaller ones, so that every magic is cut in two somewhere.
struct Blocks<'data>(View<'data>);

impl Source for Blocks<'_> {
    fn view(&self) -> View<'_> {
        self.0
    }

    fn blocks(&self, range: Range<u64>, overlap: usize, look: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        for start in range.clone().step_by(61) {
            let from = start.saturating_sub(overlap as u64).max(range.start);
            let end = (start + 61).min(range.end);
            look(from, &self.0.data()[from as usize..end as usize]);
        }
        Ok(())
    }
}
