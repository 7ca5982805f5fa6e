//! `.tgtimg`: a table of SYCL's images, an address and a size for each.
//!
//! Nothing else says where one image ends and the next begins when they stand uncompressed in a section. Source: the
//! wrapper of Intel's DPC++ (`SYCLOffloadWrapper`), which keeps the table for tools that look into finished files.

use std::ops::Range;

use super::pointers::{PointerTarget, Pointers};

/// The section with the table.
pub const SECTION: &str = ".tgtimg";

/// More images than any real file has; a bound for hostile ones.
pub const MAX_IMAGES: usize = 1 << 16;

/// The images that the table in this range of the host file tells of: sizes by offsets in the file, in which the host
/// file begins at `base`. One that lies elsewhere is left out.
pub fn read<'a>(range: Range<u64>, base: u64, pointers: &'a Pointers) -> impl Iterator<Item = (u64, u64)> + 'a {
    let row = 2 * pointers.size();
    let rows = range.clone().step_by(row as usize).filter(move |place| place + row <= range.end);
    let image = move |place: u64| match (pointers.at(place), pointers.word(place + pointers.size())) {
        (PointerTarget::Offset(offset), Some(size)) if size > 0 => Some((base.checked_add(offset)?, size)),
        _ => None,
    };
    rows.filter_map(image)
}
