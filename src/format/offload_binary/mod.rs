//! The offload binary, magic `10 FF 10 AD`: one device image with string properties.
//!
//! clang-offload-packager (today llvm-offload-binary) writes it, clang stores it in the section `.llvm.offloading` of
//! host objects, clang-linker-wrapper takes it out of there, links the device code and leaves the result in the same
//! form in the finished program. Several images are several binaries one after the other, each a multiple of eight
//! bytes. All integers are little-endian; all offsets count from the first byte of this binary.
//!
//! Layout of version 1 (LLVM 14 to 22): header, entry, string entries, string table, padding to 8, image, padding to 8.
//! Source: Clang Offload Packager document; `llvm/Object/OffloadBinary.h`; files written by LLVM 22.1.8.

mod raw;
mod read;
mod string_table;
mod write;

#[cfg(test)]
mod tests;

pub use raw::{MAGIC, SECTION_TYPE, image_kind};
pub use read::OffloadBinary;
pub use write::{Member, Written, write};

use super::{Container, ContainerType, Image, ImageKind};
use crate::bytes::View;
use crate::error::Malformed;
use crate::target::OffloadKind;

/// Alignment of a binary and of the image inside it, in bytes.
pub const ALIGNMENT: u64 = 8;

/// The value of the `image kind` field for an image of this content.
pub fn image_kind_of(image: ImageKind) -> u16 {
    match image {
        ImageKind::Elf | ImageKind::HostObject => image_kind::OBJECT,
        ImageKind::Bitcode => image_kind::BITCODE,
        ImageKind::Fatbin => image_kind::FATBINARY,
        ImageKind::Ptx => image_kind::PTX,
        // SPIR-V and NVVM have no value in version 1.
        ImageKind::SpirV | ImageKind::Nvvm | ImageKind::Empty | ImageKind::Unknown => image_kind::NONE,
    }
}

/// Reads the binary at the view's start as a container.
pub fn container(view: View<'_>) -> Result<Container<'_>, Malformed> {
    let binary = OffloadBinary::read(view)?;
    let kind = OffloadKind::from_bit(binary.offload_kind);
    let image = Image::new(binary.image, kind, binary.string("triple"), binary.string("arch"));
    Ok(Container {
        container_type: ContainerType::OffloadBinary,
        version: Some(binary.version),
        view: binary.view,
        images: vec![image],
    })
}
