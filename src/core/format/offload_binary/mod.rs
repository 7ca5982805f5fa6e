//! The offload binary, magic `10 FF 10 AD`: device images with string properties.
//!
//! clang-offload-packager (now llvm-offload-binary) writes it, clang stores it in the section `.llvm.offloading` of
//! host objects, and clang-linker-wrapper extracts it, links the device code and stores the result in the same form in
//! the finished program. Each binary is a multiple of eight bytes, so that linkers can concatenate them. All integers
//! are little-endian; all offsets count from the first byte of this binary.
//!
//! Layout: header, entries, string entries, string table, padding to 8, images, each with padding to 8. There are three
//! versions, see [`Version`]. A binary of version 1 contains one image, and several images are several binaries. From
//! version 2 on, one binary contains them all. From version 3 on, everything after the header may be one compressed
//! stream. Source: Clang Offload Packager document; `llvm/Object/OffloadBinary.h`; files written by LLVM 22.1.8; for
//! version 2 LLVM 23 (#169425, #197456), for version 3 LLVM's main branch (#222774).

mod raw;
mod read;
mod string_table;
mod syclbin;
pub mod symbols;
mod write;

#[cfg(test)]
mod tests;

pub use raw::{MAGIC, SECTION_TYPE, Version, flag, image_kind};
pub use read::{OffloadBinary, OffloadBinaryContents, OffloadBinaryEntry};
pub use write::write_contents;
pub use write::{OffloadBinaryImage, OffloadBinaryOutput, check, compress, write};

use std::path::Path;

use super::{ContainerType, ContainerView, ImageKind, ImageView, UnknownValue, bundle_section};
use crate::base::bytes::View;
use crate::base::error::Malformed;
use crate::target::OffloadKind;

/// Alignment of a binary and of the images inside it, in bytes.
pub const ALIGNMENT: u64 = 8;

/// Returns the value of the `image kind` field for an image of this kind.
pub fn image_kind_of(image: ImageKind) -> u16 {
    match image {
        ImageKind::Elf | ImageKind::DebugElf | ImageKind::HostObject => image_kind::OBJECT,
        ImageKind::Bitcode => image_kind::BITCODE,
        ImageKind::Fatbin | ImageKind::Bundle | ImageKind::CompressedBundle => image_kind::FATBINARY,
        ImageKind::Ptx => image_kind::PTX,
        // SPIR-V has a value only in LLVM's main branch, see `image_kind::SPIRV`; NVVM and Tile IR have none.
        ImageKind::SpirV
        | ImageKind::Nvvm
        | ImageKind::OptixIr
        | ImageKind::TileIr
        | ImageKind::MetalLibrary
        | ImageKind::MetalBinary
        | ImageKind::PatchTokens
        | ImageKind::OclocArchive
        | ImageKind::OffloadBinary
        | ImageKind::SyclBin
        | ImageKind::DxContainer
        | ImageKind::Metadata
        | ImageKind::Empty
        | ImageKind::Unknown => image_kind::NONE,
    }
}

/// Returns the name of an `image kind` value: the extension of such a file in LLVM's tools.
pub fn image_kind_name(value: u16) -> &'static str {
    IMAGE_KINDS.iter().find(|(_, known)| *known == value).map_or("", |(name, _)| name)
}

/// Returns the value of the `image kind` field for the extension of a file, as LLVM's tools do: the text after the last
/// dot, even where the name begins with the dot.
pub fn image_kind_of_file(path: &Path) -> u16 {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    IMAGE_KINDS.iter().find(|(known, _)| extension == Some(known)).map_or(image_kind::NONE, |&(_, value)| value)
}

const IMAGE_KINDS: [(&str, u16); 5] = [
    ("o", image_kind::OBJECT),
    ("bc", image_kind::BITCODE),
    ("cubin", image_kind::CUBIN),
    ("fatbin", image_kind::FATBINARY),
    ("s", image_kind::PTX),
];

/// Reads the binary at the view's start as a container.
pub fn container(view: View<'_>) -> Result<ContainerView<'_>, Malformed> {
    let binary = OffloadBinary::read(view)?;
    Ok(ContainerView {
        container_type: ContainerType::OffloadBinary,
        version: Some(binary.version.number()),
        view: binary.view,
        contents: match binary.contents {
            OffloadBinaryContents::Compressed(compressed) => super::Contents::Compressed(compressed),
            OffloadBinaryContents::Entries(entries) => {
                let images = entries.iter().map(|entry| image(binary.version, entry));
                super::Contents::Images(images.collect::<Result<_, _>>()?)
            }
        },
    })
}

fn image<'data>(version: Version, entry: &OffloadBinaryEntry<'data>) -> Result<ImageView<'data>, Malformed> {
    let kind = OffloadKind::from_bit(entry.offload_kind);
    let mut image = ImageView::new(entry.code()?, kind, entry.string("triple"), entry.string("arch"));
    if entry.is_metadata(version) || entry.is_syclbin_metadata() {
        image.image_kind = ImageKind::Metadata;
    }
    // DPC++ compresses images of the new offload model with `--offload-compress` (intel/llvm #22605).
    if kind == Some(OffloadKind::Sycl)
        && let Some(frame) = bundle_section::frame(image.view)?
        && frame.stored.size() == image.view.size()
    {
        image.set_frame(frame.image_kind, frame.full_size);
    }
    image.strings = strings(entry);
    let known_flags = if version > Version::One { flag::METADATA } else { 0 };
    let fields = [
        ("offload kind", u64::from(entry.offload_kind), kind.is_some() || entry.offload_kind == 0),
        ("image kind", u64::from(entry.image_kind), is_known_kind(version, entry, image.image_kind)),
        ("flags", u64::from(entry.flags), entry.flags & !known_flags == 0),
    ];
    let unknown = fields.into_iter().filter(|(.., known)| !known);
    image.unknown = unknown.map(|(field, value, _)| UnknownValue { field, value }).collect();
    Ok(image)
}

/// Returns the strings of an entry. A table of symbols becomes the kernels that it names.
fn strings<'data>(entry: &OffloadBinaryEntry<'data>) -> Vec<(&'data str, &'data str)> {
    let mut strings = Vec::new();
    for (key, value) in &entry.strings {
        match std::str::from_utf8(value) {
            Ok(text) if *key != symbols::KEY || !symbols::is_table(value) => strings.push((*key, text)),
            _ => strings.extend(entry.symbols().into_iter().map(|name| ("kernel", name))),
        }
    }
    strings
}

/// Returns whether the specification has this value of the `image kind` field. Values that two tools use differently
/// count as known if the contents agree with one of them.
fn is_known_kind(version: Version, entry: &OffloadBinaryEntry<'_>, contents: ImageKind) -> bool {
    let is_syclbin = contents == ImageKind::SyclBin || entry.is_syclbin();
    match entry.image_kind {
        ..=image_kind::PTX => true,
        image_kind::SPIRV => version > Version::One || contents == ImageKind::SpirV || is_syclbin,
        image_kind::SYCLBIN => is_syclbin,
        _ => false,
    }
}
