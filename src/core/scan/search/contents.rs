//! Properties of an image that only its bytes state, and their hash.

use sha2::{Digest, Sha256};

use crate::base::activity::Work;
use crate::base::bytes::{Resource, View};
use crate::base::error::Malformed;
use crate::format::ImageKind;
use crate::scan::inventory::{CudaCode, Image, Origin, origin};

/// Number of bytes hashed per step of work.
const BYTES_PER_STEP: u64 = 64;

/// Hash and origin of an image.
#[derive(Debug)]
pub struct HashAndOrigin {
    sha256: Option<[u8; 32]>,
    origin: Origin,
}

impl HashAndOrigin {
    /// Reads a decompressed image, which is all of `view`, and charges the hashing.
    pub fn read(image_kind: ImageKind, view: View<'_>) -> Result<Self, Malformed> {
        view.charge("image", Resource::Work, view.size() / BYTES_PER_STEP)?;
        Work::Hashed.record(view.size());
        Ok(HashAndOrigin { sha256: Some(Sha256::digest(view.data()).into()), origin: origin(image_kind, view) })
    }

    /// Records the contents.
    pub fn record(self, image: &mut Image) {
        image.sha256 = self.sha256;
        let CudaCode { is_grouped, is_mercury, .. } = image.cuda;
        record_origin(self.origin, image);
        image.cuda = CudaCode { is_grouped, is_mercury, ..image.cuda };
    }
}

/// Records the origin of an image. The container may state the producer, too.
pub fn record_origin(origin: Origin, image: &mut Image) {
    image.producer = image.string("producer").map(str::to_owned).or(origin.producer);
    image.format_version = origin.format_version;
    image.cuda = origin.cuda;
    image.metal = origin.metal;
}
