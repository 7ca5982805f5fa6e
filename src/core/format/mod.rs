//! Containers of device images: each format reads a view and returns what it contains as views of the same bytes.
//!
//! A format knows neither paths nor host files: a bundle in a section of an archive member is only a slice of a slice.
//! Each reader can be tested and fuzzed alone. A new format takes a separate directory and a variant of
//! [`ContainerType`]; the type's descriptor asks for everything else.

#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

pub mod bitcode;
pub mod bundle;
pub mod bundle_section;
pub mod ccob;
#[cfg(feature = "files")]
mod code_file;
mod container;
mod container_type;
pub mod cuda_fatbin;
mod device_elf;
mod device_image;
pub mod dx_container;
pub mod embed_record;
pub mod embedded;
pub mod fat_binary_wrapper;
mod group;
pub mod hcf;
mod image;
mod image_kind;
mod kernel_content;
#[cfg(feature = "files")]
pub mod kernel_store;
pub mod kpack;
pub mod lto_ir;
mod magic;
pub mod metal_archive;
pub mod metal_binary;
pub mod metal_library;
pub mod ocloc_archive;
mod ocloc_name;
pub mod offload_binary;
pub mod opencl_elf;
pub mod oxart;
pub mod patch_tokens;
pub mod ptx;
pub mod readers;
mod recognize;
pub mod spirv;
pub mod stored_hash;
pub mod syclbin;
#[cfg(feature = "full")]
pub mod tensile_library;
pub mod tile_ir;

#[cfg(feature = "files")]
pub use code_file::is_code_file;
pub use container::{Compressed, CompressedContents, ContainerView, Contents, Fate};
pub use container_type::ContainerType;
pub use container_type::{RegisteringRuntime, SelectionScope, WrapInput};
pub use device_elf::read as read_elf;
pub use device_elf::{MERCURY_TWIN, has_stored_bytes, is_32_bit_cubin, is_debug_section, is_device_machine};
pub use device_image::DeviceImage;
pub use device_image::{is_device_code, is_host_bitcode, is_metal_binary};
pub use group::GroupCache;
pub use image::{GroupPart, ImageView, UnknownValue};
pub use image::{image_range, reject_overlaps, without_nul};
pub use image_kind::ImageKind;
pub use kernel_content::KernelContent;
pub use recognize::{
    FORMATS, Format, ReadContainer, bare_device_file, bare_image, check_elf, check_image, check_image_file, device_elf,
    not_a_container, of_magic, read, read_in_section,
};
pub use recognize::{compressed_container, compressed_images, read_in_image};
