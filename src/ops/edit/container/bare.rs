//! Images without a container, and sections that are one image.

use super::Fate;
use super::effort::{self, Unit};
use crate::edit::decision::{Effort, Recompression};
use crate::edit::{EditError, Result};
use fatbin_core::base::bytes::View;
use fatbin_core::base::codec::{self, Codec};
use fatbin_core::base::content::Content;
use fatbin_core::scan::inventory::Container;

/// Writes the image, or nothing if it is dropped. An image of SYCL is compressed as before. A stream that is itself the
/// container keeps its size, because programs state it.
pub fn write<'data>(view: View<'data>, container: &Container, fates: Vec<Fate<'data>>) -> Result<Content<'data>> {
    super::check_count(view, 1, &fates)?;
    let codec = container.codec.or(container.images.first().and_then(|image| image.codec)).unwrap_or(Codec::None);
    match fates.into_iter().next() {
        None | Some(Fate::Keep) => Ok(Content::from(view.data())),
        Some(Fate::Drop) => Ok(Content::new()),
        Some(Fate::Replace(bytes)) if codec == Codec::None => Ok(bytes),
        Some(Fate::Replace(bytes)) => {
            let how = Recompression { codec, effort: Effort::Fit };
            let stream = effort::compress(how, Unit::Container, container.size, |how| {
                let mut stream = codec::compress(bytes.runs(), bytes.size(), how, Vec::new())?;
                if container.codec.is_some() {
                    codec::pad_with_skippable_frame(&mut stream, container.size);
                }
                let size = stream.len() as u64;
                Ok((stream, size))
            });
            stream.map(Content::from).map_err(EditError::Compress)
        }
    }
}
