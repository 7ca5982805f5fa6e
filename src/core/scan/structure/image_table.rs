//! `.tgtimg`: a table of SYCL images, with an address and a size for each.
//!
//! Nothing else records the boundaries of images that are stored uncompressed in one section. Intel's DPC++ keeps the
//! table for tools that read linked files. Source: its wrapper (`SYCLOffloadWrapper`).

use std::ops::Range;

use super::pointers::{PointerTarget, Pointers};

/// Section of the table.
pub const SECTION: &str = ".tgtimg";

/// Row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageRow {
    /// Offset of the row in the file, in bytes.
    pub offset: u64,
    /// Offset of the image in the file; `None` if its address is outside the file's bytes.
    pub image: Option<u64>,
    /// Size of the image, in bytes.
    pub size: u64,
}

/// Reads the rows in this range of the host file, which starts at `base` of the file. Rows without a size are left out.
/// So are rows whose images another file defines.
pub fn read<'a>(range: Range<u64>, base: u64, pointers: &'a Pointers) -> impl Iterator<Item = ImageRow> + 'a {
    let row_size = pointers.size() << 1;
    let end = range.end;
    let read = move |place: u64| {
        if place.checked_add(row_size)? > end {
            return None;
        }
        let size = pointers.word(place.checked_add(pointers.size())?).filter(|size| *size > 0)?;
        let image = match pointers.at(place) {
            PointerTarget::Offset(offset) => Some(base.checked_add(offset)?),
            PointerTarget::Nothing => None,
            PointerTarget::Symbol(_) => return None,
        };
        Some(ImageRow { offset: base.checked_add(place)?, image, size })
    };
    range.step_by(row_size as usize).filter_map(read)
}
