//! The offload bundle, magic `__CLANG_OFFLOAD_BUNDLE__`: several code objects with an ID each.
//!
//! It has a form for each type of file ([`FileType`]). The binary form is described here, the text form in [`text`]. In
//! the form for objects, each code object is a section of the host's object, named by the magic and the ID.
//!
//! clang-offload-bundler writes the binary form for HIP (the section `.hip_fatbin` contains bundles back to back, each
//! aligned to 4096 bytes) and for every input that is not an object file. It has no total size: it ends where its last
//! code object ends, and the reader of a section must determine what follows. All integers are little-endian; all
//! offsets count from the magic.
//!
//! Layout: magic, u64 number of entries, entries (u64 offset, u64 size, u64 ID length, ID without NUL), code objects.
//! Source: Clang Offload Bundler document; AMDGPU usage guide, Bundled Code Object Layout; LLVM 22.1.8.

mod file_type;
mod raw;
mod read;
pub mod text;
mod write;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod text_tests;

pub use file_type::{BundleForm, COMMENTS, FILE_TYPES, FileType};
pub use raw::MAGIC_TEXT;

/// Alignment of code objects in a bundle that HIP registers, in bytes; its loader maps pages.
pub const HIP_ALIGNMENT: u64 = 4096;
pub use raw::{HOST_CONTENT, MAGIC, section_name};
pub use read::{Bundle, BundleEntry, BundleIndex, BundleIndexEntry};
pub use write::write_contents;
pub use write::{check_ids, write};

use super::{ContainerType, ContainerView, ImageKind, ImageView};
use crate::base::bytes::View;
use crate::base::error::Malformed;
use crate::target::OffloadKind;

/// Reads the bundle at the view's start as a container; host entries are among its images.
pub fn container(view: View<'_>) -> Result<ContainerView<'_>, Malformed> {
    let bundle = Bundle::read(view)?;
    let images = bundle.entries.iter().map(image).collect();
    Ok(ContainerView::new(ContainerType::Bundle, None, bundle.view, images))
}

fn image<'data>(entry: &BundleEntry<'data>) -> ImageView<'data> {
    let mut image = ImageView::new(entry.code_object, Some(entry.id.kind), Some(entry.id.triple), entry.id.target_id);
    image.id = Some(entry.text);
    if entry.id.kind == OffloadKind::Host && image.image_kind == ImageKind::Elf {
        image.image_kind = ImageKind::HostObject;
    }
    image
}
