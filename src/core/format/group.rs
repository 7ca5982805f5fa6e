//! Images that are compressed as one stream: a cache of the decompressed bytes while one image after another is read.

use std::borrow::Cow;

use super::ImageView;
use crate::base::bytes::View;
use crate::base::codec::is_compressed;
use crate::base::error::Malformed;

/// The most recently decompressed bytes: an image, or all images of a group. The images of a group follow each other,
/// so one entry suffices, and no more than one is kept in memory.
#[derive(Debug, Default)]
pub struct GroupCache<'data> {
    stream: Option<View<'data>>,
    full: Vec<u8>,
    /// Number of decompressions of groups, for tests.
    decompressions: usize,
}

impl<'data> GroupCache<'data> {
    /// Creates a cache that reuses a buffer.
    pub fn with_buffer(buffer: Vec<u8>) -> Self {
        GroupCache { full: buffer, ..GroupCache::default() }
    }

    /// Returns the buffer, to be reused.
    pub fn into_buffer(self) -> Vec<u8> {
        self.full
    }

    /// Returns the bytes of an image, like [`ImageView::bytes`]. All images passed to one cache must be of one
    /// container.
    pub fn bytes<'a>(&'a mut self, image: &ImageView<'data>) -> Result<Cow<'a, [u8]>, Malformed> {
        if !is_compressed(image.codec) {
            return image.bytes();
        }
        if image.part.is_none() {
            self.stream = None;
            image.decompress_into(&mut self.full)?;
            return Ok(Cow::Borrowed(image.own_bytes(&self.full)?));
        }
        // No two streams of a container begin at one offset.
        if self.stream.is_none_or(|view| (view.start(), view.size()) != (image.view.start(), image.view.size())) {
            self.stream = None;
            image.decompress_into(&mut self.full)?;
            self.stream = Some(image.view);
            self.decompressions = self.decompressions.wrapping_add(1);
        }
        Ok(Cow::Borrowed(image.own_bytes(&self.full)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::codec::Codec;
    use crate::format::{GroupPart, ImageKind};

    #[test]
    fn a_group_is_decompressed_once_for_all_of_its_images() {
        let payload = b"first image, second image";
        let stored = zstd::bulk::compress(payload, 3).unwrap();
        let image = |offset, size| ImageView {
            image_kind: ImageKind::Unknown,
            codec: Some(Codec::Zstd),
            full_size: Some(size),
            part: Some(GroupPart { offset, whole: payload.len() as u64 }),
            ..ImageView::new(View::new(&stored), None, None, None)
        };
        let mut group = GroupCache::default();
        for (offset, size) in [(0, 11), (13, 12), (0, 11)] {
            let image = image(offset, size);
            let own = image.bytes().unwrap();
            assert_eq!(&*own, &payload[offset as usize..][..size as usize]);
            assert_eq!(group.bytes(&image).unwrap(), own);
        }
        assert_eq!(group.decompressions, 1);
        assert!(group.bytes(&image(20, 6)).is_err());
    }
}
