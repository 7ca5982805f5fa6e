//! `.tgtimg`: a table of SYCL images, with an address and a size for each.
//!
//! Nothing else records the boundaries of images that are stored uncompressed in one section. Source: the wrapper of Intel's
//! DPC++ (`SYCLOffloadWrapper`), which keeps the table for tools that read linked files.

use std::ops::Range;

use super::pointers::{PointerTarget, Pointers};

/// Section of the table.
pub const SECTION: &str = ".tgtimg";

/// Reads the table in this range of the host file, and returns the offset and size of each image; offsets are those of the
/// file, in which the host file starts at `base`. Images outside the file are left out.
pub fn read<'a>(range: Range<u64>, base: u64, pointers: &'a Pointers) -> impl Iterator<Item = (u64, u64)> + 'a {
    let row = pointers.size().saturating_mul(2);
    let rows = range.clone().step_by(row as usize).filter(move |place| range.end.saturating_sub(*place) >= row);
    let image = move |place: u64| match (pointers.at(place), pointers.word(place.saturating_add(pointers.size()))) {
        (PointerTarget::Offset(offset), Some(size)) if size > 0 => Some((base.checked_add(offset)?, size)),
        _ => None,
    };
    rows.filter_map(image)
}
