//! Bytes of an image from its entry in the inventory.

use std::borrow::Cow;
use std::cell::RefCell;

use fatbin_core::base::bytes::View;
use fatbin_core::base::codec::{self, Codec};
use fatbin_core::base::error::Malformed;
use fatbin_core::format;
use fatbin_core::scan::inventory::Image;

/// Reads the images of one container. The images of a group are decompressed once.
#[derive(Debug, Default)]
pub struct ImageBytes {
    /// Offset of a group in the inventory, and its decompressed bytes.
    group: RefCell<Option<(u64, Vec<u8>)>>,
}

impl ImageBytes {
    /// Returns the bytes of an image, decompressed. `stored` is its stored bytes.
    pub fn read<'data>(&self, stored: View<'data>, image: &Image) -> Result<Cow<'data, [u8]>, Malformed> {
        let codec = match image.codec {
            None | Some(Codec::None) => return Ok(Cow::Borrowed(stored.data())),
            Some(codec) => codec,
        };
        let full_size = image.full_size.unwrap_or_default();
        let Some(part) = image.stored.part else {
            let mut full = codec::decompress(codec, stored, full_size)?;
            let range = format::image_range(image.image_kind, stored.derived(&full), 0, full_size)?;
            full.truncate(range.end);
            return Ok(Cow::Owned(full));
        };
        let mut group = self.group.borrow_mut();
        let id = image.stored.start;
        if group.as_ref().is_none_or(|(known, _)| *known != id) {
            *group = Some((id, codec::decompress(codec, stored, part.whole)?));
        }
        let full = group.as_ref().map(|(_, full)| full.as_slice()).unwrap_or_default();
        let range = format::image_range(image.image_kind, stored.derived(full), part.offset, full_size)?;
        Ok(Cow::Owned(full.get(range).unwrap_or_default().to_vec()))
    }
}
