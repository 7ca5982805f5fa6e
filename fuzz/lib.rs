//! What holds for every reader of a container, whatever the bytes.

use std::ops::Range;

use fatbin::bytes::View;
use fatbin::error::Malformed;
use fatbin::format::Container;

/// How many bytes stand before the container when it is read as a part of something larger.
const BEFORE: u64 = 24;

/// Reads the bytes as they are, and again as what they are in a real file: a part of something larger.
///
/// Either both are refused, or both give the same container at its own place; and a container cut out at the size that
/// it states reads as the same container.
pub fn check_container(data: &[u8], read: impl for<'data> Fn(View<'data>) -> Result<Container<'data>, Malformed>) {
    let alone = read(View::new(data));

    let mut larger = vec![0x5a; BEFORE as usize];
    larger.extend_from_slice(data);
    let within = read(View::new(&larger).from(BEFORE));
    assert_eq!(alone.is_ok(), within.is_ok(), "the verdict depends on where the container stands");

    let Ok(alone) = alone else { return };
    let within = within.expect("just compared");
    check_places(data, &alone);
    check_places(&larger, &within);
    assert_eq!(places(&within, BEFORE), places(&alone, 0), "the images depend on where the container stands");

    let cut = read(View::new(alone.view.data())).expect("a container is whole without what stands behind it");
    assert_eq!(cut, alone, "the container depends on what stands behind it");
}

/// The container lies in the file and its images lie in the container, at the offsets that they state.
fn check_places(file: &[u8], container: &Container) {
    let outer = check_view(file, container.view);
    for image in container.images() {
        let inner = check_view(file, image.view);
        assert!(
            outer.start <= inner.start && inner.end <= outer.end,
            "an image of {inner:?} in a container of {outer:?}"
        );
    }
}

/// A view shows the bytes of the file that its offset and size say: the very same memory, not equal bytes elsewhere.
pub fn check_view(file: &[u8], view: View) -> Range<u64> {
    let (start, size) = (view.start(), view.size());
    let end = start.checked_add(size).expect("a view ends within 64 bits");
    assert!(end <= file.len() as u64, "a view of {start}..{end} in a file of {} bytes", file.len());
    assert!(std::ptr::eq(&file[start as usize..end as usize], view.data()), "a view shows other bytes than it says");
    start..end
}

fn places(container: &Container, before: u64) -> Vec<(u64, u64)> {
    container.images().iter().map(|image| (image.view.start() - before, image.view.size())).collect()
}
