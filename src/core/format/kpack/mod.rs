//! The kpack archive, magic `KPAK`: code objects of ROCm's libraries, in a separate file for each processor.
//!
//! TheRock, AMD's build of ROCm, moves the bundles of its libraries into such archives, so a package for one processor
//! has code for that processor only. The host file keeps a [marker](KpackMarker) with the places of the archives. The
//! HIP runtime loads code objects by the name of the binary and an index.
//!
//! Layout of version 1: a header of 64 bytes, blobs, and a table of contents in MessagePack at the end of the file.
//! Integers of the header are little-endian; offsets count from the first byte. Source: ROCm/rocm-kpack at e3483286
//! (February 2026): its documentation, writer and reader.

mod defects;
mod layout;
mod marker;
pub(super) mod message_pack;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub use layout::{MAGIC, Scheme};
pub use marker::{ARCH_PLACEHOLDER, KpackMarker, entry_key};
pub use read::{KpackArchive, KpackEntry};
pub use write::{KpackMember, KpackProperties, write};
pub use write::{StoredMember, compress, write_stored};

use super::{ContainerType, ContainerView, ImageKind, ImageView};
use crate::base::bytes::View;
use crate::base::codec::Codec;
use crate::base::error::Malformed;
use crate::target::{OffloadKind, triple};

/// Reads the archive at the view's start as a container.
pub fn container(view: View<'_>) -> Result<ContainerView<'_>, Malformed> {
    let archive = KpackArchive::read(view)?;
    let images = archive.images().collect();
    Ok(ContainerView::new(ContainerType::Kpack, Some(layout::VERSION), archive.view, images))
}

impl<'data> KpackArchive<'data> {
    /// Returns the code objects as images.
    pub fn images(&self) -> impl Iterator<Item = ImageView<'data>> {
        self.entries.iter().map(|entry| image(self.scheme, entry))
    }
}

/// The archive states the properties of the image; compressed bytes state nothing.
fn image<'data>(scheme: Scheme, entry: &KpackEntry<'data>) -> ImageView<'data> {
    let codec = match scheme {
        Scheme::None => Codec::None,
        Scheme::ZstdPerKernel => Codec::Zstd,
    };
    ImageView {
        kind: Some(OffloadKind::Hip),
        image_kind: if entry.code_type == layout::HSACO { ImageKind::Elf } else { ImageKind::Unknown },
        triple: Some(triple::AMDGCN.to_owned()),
        arch: Some(entry.arch.to_owned()).filter(|arch| !arch.is_empty()),
        id: Some(entry.key),
        strings: Vec::new(),
        unknown: Vec::new(),
        view: entry.stored,
        codec: Some(codec),
        full_size: (scheme != Scheme::None).then_some(entry.original_size),
        code_version: None,
        is_mercury: false,
        part: None,
        has_stated_end: true,
        symbol: None,
    }
}
