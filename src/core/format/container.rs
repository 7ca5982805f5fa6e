//! A container as its reader returns it: its images, or a compressed container.

use super::stored_hash::StoredHash;
use super::{ContainerType, ImageView};
use crate::base::bytes::View;
use crate::base::codec::{self, Codec};
use crate::base::content::Content;
use crate::base::error::Malformed;
use crate::target::OffloadKind;

/// A container and its images, borrowed from the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerView<'data> {
    /// Type of the container.
    pub container_type: ContainerType,
    /// Version of the format, if it has one.
    pub version: Option<u32>,
    /// The bytes of the container, without anything that follows it.
    pub view: View<'data>,
    /// Contents of the container.
    pub contents: Contents<'data>,
}

/// Contents of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents<'data> {
    /// Images, in the order of the container.
    Images(Vec<ImageView<'data>>),
    /// A container that must be decompressed before it can be read.
    Compressed(Compressed<'data>),
}

impl<'data> ContainerView<'data> {
    /// Returns a container whose images need no decompression of the whole.
    pub(super) fn new(
        container_type: ContainerType,
        version: Option<u32>,
        view: View<'data>,
        images: Vec<ImageView<'data>>,
    ) -> Self {
        ContainerView { container_type, version, view, contents: Contents::Images(images) }
    }

    /// Returns the images; empty if the container must be decompressed first.
    pub fn images(&self) -> &[ImageView<'data>] {
        match &self.contents {
            Contents::Images(images) => images,
            Contents::Compressed(_) => &[],
        }
    }
}

/// Fate of an image in a container that is written again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate<'data> {
    /// The stored bytes stay.
    Keep,
    /// The image is left out.
    Drop,
    /// The image has these bytes. The container may compress them.
    Replace(Content<'data>),
}

/// A container that is stored compressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compressed<'data> {
    /// Codec of the stream.
    pub codec: Codec,
    /// Compressed stream.
    pub stored: View<'data>,
    /// Size of the decompressed stream, in bytes.
    pub full_size: u64,
    /// Bytes that precede the decompressed stream in the decompressed container.
    pub prefix: Vec<u8>,
    /// Hash of the decompressed bytes, if the container states one.
    pub hash: Option<StoredHash>,
    /// Contents of the decompressed bytes.
    pub contents: CompressedContents<'data>,
}

/// Contents of decompressed bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompressedContents<'data> {
    /// A container.
    Container,
    /// An image of SYCL, with the properties that its section states.
    SyclImage {
        /// Offload kind.
        kind: Option<OffloadKind>,
        /// Target triple.
        triple: Option<&'data str>,
    },
}

impl Compressed<'_> {
    /// Decompresses the container and verifies its hash.
    pub fn decompress(&self) -> Result<Vec<u8>, Malformed> {
        self.charge()?;
        self.decompress_charged()
    }

    /// Charges the decompressed bytes to the budget of the view.
    pub fn charge(&self) -> Result<(), Malformed> {
        codec::charge(self.codec, self.stored, self.full_size)
    }

    /// Like [`Self::decompress`], after [`Self::charge`].
    pub fn decompress_charged(&self) -> Result<Vec<u8>, Malformed> {
        let mut full = Vec::new();
        codec::decompress_charged(&mut full, self.codec, self.stored, self.full_size)?;
        if let Some(hash) = self.hash {
            hash.verify(&full)?;
        }
        Ok(self.with_prefix(full))
    }

    /// Like [`Self::decompress`], without verifying the hash: an earlier call did, and hashing takes four times as long
    /// as decompressing.
    pub fn decompress_unverified(&self) -> Result<Vec<u8>, Malformed> {
        codec::decompress(self.codec, self.stored, self.full_size).map(|full| self.with_prefix(full))
    }

    fn with_prefix(&self, full: Vec<u8>) -> Vec<u8> {
        if self.prefix.is_empty() {
            return full;
        }
        let mut container = self.prefix.clone();
        container.extend(full);
        container
    }
}
