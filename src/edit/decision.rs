//! Decisions of an edit: the fate of each image, and the encoding of each container.

use std::borrow::Cow;

use super::Result;
use crate::codec::Compression;
use crate::error::Malformed;
use crate::format::ccob::Version as CcobVersion;
use crate::format::offload_binary::Version as OffloadBinaryVersion;
use crate::inventory::{Container, Image};

/// Decision about an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageEdit {
    /// The stored bytes stay as they are.
    Keep,
    /// The image is removed from its container.
    Drop,
    /// The image gets these bytes, uncompressed; its container states them with the codec that the image had.
    Replace(Vec<u8>),
}

/// Encoding of a rebuilt container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    /// Type, version and codecs stay.
    #[default]
    Same,
    /// A bundle in its binary form, uncompressed.
    Bundle,
    /// A compressed bundle.
    Ccob(CcobVersion, Compression),
    /// An offload binary of this version; `None` for uncompressed images.
    OffloadBinary(OffloadBinaryVersion, Option<Compression>),
    /// A CUDA fat binary whose entries have this codec; `None` for uncompressed entries.
    CudaFatbin(Option<Compression>),
}

/// An edit of a file.
pub trait Edit: Sync {
    /// Decides about an image that holds no containers.
    fn image(&self, image: &EditedImage<'_>) -> Result<ImageEdit>;

    /// Decides about the encoding of a container.
    fn encoding(&self, _container: &Container) -> Encoding {
        Encoding::Same
    }
}

/// An image about which an edit decides.
pub struct EditedImage<'a> {
    /// Index among the device images of the file; absent for the host entry of a bundle.
    pub index: Option<usize>,
    /// The image.
    pub image: &'a Image,
    /// The containers around it, from the outermost; never empty.
    pub containers: &'a [&'a Container],
    /// Returns its bytes, decompressed.
    pub bytes: &'a dyn Fn() -> Result<Cow<'a, [u8]>, Malformed>,
}
