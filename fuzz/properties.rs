//! Properties of every reader of a container and of every report, for arbitrary bytes.

use std::ops::Range;

use fatbin::Malformed;
use fatbin::{Budget, Limits, View};
use fatbin_core::format::ContainerView;

/// Decompressed bytes of one input: more would only slow the fuzzer down.
const DECOMPRESSED: u64 = 1 << 20;

/// Returns a budget for an input.
pub fn budget(data: &[u8]) -> Budget {
    budget_for(data, DECOMPRESSED)
}

/// Returns a budget for an input with this limit on decompressed bytes.
pub fn budget_for(data: &[u8], decompressed: u64) -> Budget {
    Budget::new(Limits::new(Some(decompressed), 1), data.len() as u64)
}

/// Number of bytes before the container when it is read as a part of a larger file.
const BEFORE: u64 = 24;

/// Reads the bytes on their own and as a part of a larger file, and compares the results.
///
/// Either both are rejected, or both yield the same container at its offset. A container truncated to its stated size
/// reads as the same container.
pub fn check_container(data: &[u8], read: impl for<'data> Fn(View<'data>) -> Result<ContainerView<'data>, Malformed>) {
    let alone = read(View::new(data));

    let mut larger = vec![0x5a; BEFORE as usize];
    larger.extend_from_slice(data);
    let within = read(View::new(&larger).from(BEFORE));
    assert_eq!(alone.is_ok(), within.is_ok(), "the result depends on the container's offset");

    let Ok(alone) = alone else { return };
    let within = within.expect("just compared");
    check_places(data, &alone);
    check_places(&larger, &within);
    assert_eq!(places(&within, BEFORE), places(&alone, 0), "the images depend on the container's offset");

    let cut = read(View::new(alone.view.data())).expect("a container does not need the bytes after it");
    assert_eq!(cut, alone, "the container depends on the bytes after it");
}

/// Checks that the images of a container share no bytes.
pub fn check_disjoint_images(
    data: &[u8],
    read: impl for<'data> Fn(View<'data>) -> Result<ContainerView<'data>, Malformed>,
) {
    let budget = budget(data);
    let Ok(container) = read(View::with_budget(data, &budget)) else { return };
    let sizes = container.images().iter().map(|image| image.view.size());
    assert!(sizes.sum::<u64>() <= container.view.size());
}

/// Checks that the container is in the file and its images are in the container, at their offsets.
fn check_places(file: &[u8], container: &ContainerView) {
    let outer = check_view(file, container.view);
    for image in container.images() {
        let inner = check_view(file, image.view);
        assert!(
            outer.start <= inner.start && inner.end <= outer.end,
            "an image of {inner:?} in a container of {outer:?}"
        );
    }
}

/// Checks that a view refers to the memory of the file at its offset and size, and returns its range.
pub fn check_view(file: &[u8], view: View) -> Range<u64> {
    let (start, size) = (view.start(), view.size());
    let end = start.checked_add(size).expect("a view ends within 64 bits");
    assert!(end <= file.len() as u64, "a view of {start}..{end} in a file of {} bytes", file.len());
    assert!(
        std::ptr::eq(&file[start as usize..end as usize], view.data()),
        "a view refers to other bytes than those at its offset"
    );
    start..end
}

/// Checks that a text neither controls a terminal nor hides parts of itself: no control characters but line feeds, no
/// bidirectional controls, no invisible characters.
pub fn check_text(text: &str) {
    let is_hostile = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    assert!(!text.contains(is_hostile), "hostile characters in {text:?}");
}

fn places(container: &ContainerView, before: u64) -> Vec<(u64, u64)> {
    container.images().iter().map(|image| (image.view.start() - before, image.view.size())).collect()
}
