//! Decisions of an edit: the fate of each image, and the encoding of each container.

use std::borrow::Cow;
use std::fmt;

use super::Result;
use fatbin_core::base::codec::Codec;
use fatbin_core::base::error::Malformed;
use fatbin_core::format::ccob::Version as CcobVersion;
use fatbin_core::format::offload_binary::Version as OffloadBinaryVersion;
use fatbin_core::scan::inventory::{Container, Image};

/// Decision about an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageEdit {
    /// The stored bytes stay as they are.
    Keep,
    /// The image is removed from its container. The host entry of a bundle stays: it has no device code.
    Drop,
    /// The image gets these bytes, uncompressed. Its container stores them with the codec of the old image.
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
    Ccob(CcobVersion, Recompression),
    /// An offload binary of this version; `None` for uncompressed images.
    OffloadBinary(OffloadBinaryVersion, Option<Recompression>),
    /// A CUDA fat binary whose entries have this codec; `None` for uncompressed entries.
    CudaFatbin(Option<Recompression>),
    /// A kpack archive; `None` for uncompressed code objects, else each is a frame of zstd.
    Kpack(Option<Recompression>),
}

/// Codec of a rebuilt container, and its level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recompression {
    /// The codec.
    pub codec: Codec,
    /// The level.
    pub effort: Effort,
}

/// Level of compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// The level that the tools for the container use by default. If the result is larger than the container was, the
    /// next stronger ones.
    Fit,
    /// This level.
    Level(i32),
    /// The strongest levels; the smallest result is taken.
    Best,
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

impl fmt::Debug for EditedImage<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EditedImage").field("index", &self.index).finish_non_exhaustive()
    }
}
