//! A container as its reader returns it: the images in it, or a compressed container.

use super::{ContainerType, Image, ccob};
use crate::bytes::View;
use crate::codec::{self, Codec, Limit};
use crate::error::Malformed;

/// A container and the images in it, borrowed from the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container<'data> {
    pub container_type: ContainerType,
    /// The format's version, where it has one.
    pub version: Option<u32>,
    /// Exactly the bytes of the container.
    pub view: View<'data>,
    pub contents: Contents<'data>,
}

/// What a container holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents<'data> {
    Images(Vec<Image<'data>>),
    /// A container that has to be restored before it can be read.
    Compressed(Compressed<'data>),
}

impl<'data> Container<'data> {
    /// Its images; none where it has to be restored first.
    pub fn images(&self) -> &[Image<'data>] {
        match &self.contents {
            Contents::Images(images) => images,
            Contents::Compressed(_) => &[],
        }
    }
}

/// A container that is stored compressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compressed<'data> {
    pub codec: Codec,
    /// The stream.
    pub stored: View<'data>,
    /// The bytes that the stream gives.
    pub full_size: u64,
    /// What stands in front of them in the restored container.
    pub front: Vec<u8>,
    /// What the container says that comes out, where it does.
    pub hash: Option<ccob::StoredHash>,
}

impl Compressed<'_> {
    /// The container as it was before it was compressed.
    pub fn restore(&self, limit: Limit) -> Result<Vec<u8>, Malformed> {
        let full = codec::decompress(self.codec, self.stored, self.full_size, limit)?;
        if let Some(hash) = self.hash {
            hash.verify(&full)?;
        }
        Ok(self.behind_its_front(full))
    }

    /// The same of what was restored before. The hash was verified then, and takes four times as long as all else.
    pub fn restore_again(&self, limit: Limit) -> Result<Vec<u8>, Malformed> {
        codec::decompress(self.codec, self.stored, self.full_size, limit).map(|full| self.behind_its_front(full))
    }

    fn behind_its_front(&self, full: Vec<u8>) -> Vec<u8> {
        if self.front.is_empty() {
            return full;
        }
        let mut restored = self.front.clone();
        restored.extend(full);
        restored
    }
}
