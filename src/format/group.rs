//! Images that are compressed as one stream: a cache of the decompressed bytes while one image after another is read.

use std::borrow::Cow;

use super::Image;
use crate::bytes::View;
use crate::codec::{Codec, Limit};
use crate::error::Malformed;

/// The most recently decompressed bytes: an image, or all images of a group. The images of a group follow each other,
/// so one entry suffices, and no more than one is kept in memory.
#[derive(Debug, Default)]
pub struct Group<'data> {
    of: Option<View<'data>>,
    full: Vec<u8>,
    /// Number of decompressions of groups.
    times: usize,
}

impl<'data> Group<'data> {
    /// Creates a cache that reuses a buffer.
    pub fn reusing(buffer: Vec<u8>) -> Self {
        Group { full: buffer, ..Group::default() }
    }

    /// Returns the buffer, to be reused.
    pub fn into_room(self) -> Vec<u8> {
        self.full
    }

    /// Returns the bytes of an image, like [`Image::bytes`]. All images passed to one cache must be of one container.
    pub fn bytes<'a>(&'a mut self, image: &Image<'data>, limit: Limit) -> Result<Cow<'a, [u8]>, Malformed> {
        if matches!(image.codec, None | Some(Codec::None)) {
            return image.bytes(limit);
        }
        if image.part.is_none() {
            self.of = None;
            image.decompress_into(&mut self.full, limit)?;
            return Ok(Cow::Borrowed(&self.full[image.own_range(&self.full)?]));
        }
        // No two streams of a container begin at one offset.
        if self.of.is_none_or(|view| (view.start(), view.size()) != (image.view.start(), image.view.size())) {
            self.of = None;
            image.decompress_into(&mut self.full, limit)?;
            self.of = Some(image.view);
            self.times += 1;
        }
        Ok(Cow::Borrowed(&self.full[image.own_range(&self.full)?]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{ImageKind, Part};

    #[test]
    fn a_group_is_decompressed_once_for_all_of_its_images() {
        let payload = b"first image, second image";
        let stored = zstd::bulk::compress(payload, 3).unwrap();
        let image = |offset, size| Image {
            image_kind: ImageKind::Unknown,
            codec: Some(Codec::Zstd),
            full_size: Some(size),
            part: Some(Part { offset, whole: payload.len() as u64 }),
            ..Image::new(View::new(&stored), None, None, None)
        };
        let mut group = Group::default();
        for (offset, size) in [(0, 11), (13, 12), (0, 11)] {
            let image = image(offset, size);
            let own = image.bytes(Limit::default()).unwrap();
            assert_eq!(&*own, &payload[offset as usize..][..size as usize]);
            assert_eq!(group.bytes(&image, Limit::default()).unwrap(), own);
        }
        assert_eq!(group.times, 1);
        assert!(group.bytes(&image(20, 6), Limit::default()).is_err());
    }
}
