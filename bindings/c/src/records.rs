//! Records for containers and images, filled from an inventory.

use std::collections::HashMap;
use std::ffi::c_char;
use std::ptr;

use fatbin_rs::scan::{self as inventory, ImageRef};
use fatbin_rs::{Codec, OffloadKind};

use crate::strings::Strings;
use crate::{FATBIN_NO_INDEX, FATBIN_NONE};

/// A container of images. Strings are valid until the file is freed. Later releases may add fields at the end.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Container {
    /// Path of the file, or ARCHIVE!MEMBER.
    pub path: *const c_char,
    /// Type, as in the output of "fatbin scan --json": "offload-binary", "bundle", "ccob", "cuda-fatbin" and others.
    pub container_type: *const c_char,
    /// Section that holds it, or NULL.
    pub section: *const c_char,
    /// Codec of the container as a whole, or NULL if it is not compressed.
    pub codec: *const c_char,
    /// Index of the container around it, or FATBIN_NO_INDEX.
    pub parent: usize,
    /// Offset in the file; FATBIN_NONE inside a compressed container.
    pub offset: u64,
    /// Stored size in bytes.
    pub size: u64,
    /// Version of its format, or FATBIN_NONE.
    pub version: u64,
}

/// A device image. Strings are valid until the file is freed. Later releases may add fields at the end.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Image {
    /// Path of the file, or ARCHIVE!MEMBER.
    pub path: *const c_char,
    /// Type of the innermost container, see fatbin_container.
    pub container_type: *const c_char,
    /// Offload kind, "openmp", "cuda", "hip" or "sycl", or NULL if the container does not state it.
    pub offload_kind: *const c_char,
    /// Target triple, or NULL.
    pub triple: *const c_char,
    /// Processor with its features or suffix, such as "gfx90a:xnack+" or "sm_90a", or NULL.
    pub arch: *const c_char,
    /// Bundle entry ID, or NULL.
    pub entry_id: *const c_char,
    /// Symbol of the host file that covers the image, or NULL.
    pub symbol: *const c_char,
    /// Format of the bytes: "elf", "ptx", "spirv", "bitcode" and others.
    pub image_type: *const c_char,
    /// Extension of files with such an image, without a dot.
    pub extension: *const c_char,
    /// Codec: "none", "lz4", "zstd", "zlib" or "opaque"; that of the container if it is compressed as a whole.
    pub codec: *const c_char,
    /// SHA-256 of the decompressed image, 32 bytes, or NULL without FATBIN_OPEN_HASH.
    pub sha256: *const u8,
    /// Index of the innermost container.
    pub container: usize,
    /// Offset in the file; FATBIN_NONE inside a compressed container.
    pub offset: u64,
    /// Stored size in bytes; FATBIN_NONE inside a compressed container.
    pub stored_size: u64,
    /// Size in bytes, decompressed; FATBIN_NONE where only decompression shows it.
    pub size: u64,
    /// True if the image or a container around it is compressed.
    pub compressed: bool,
}

/// Records of a file and its members, in order, and their strings. The hashes come from the inventory.
#[derive(Debug, Default)]
pub struct Records {
    pub containers: Vec<Container>,
    pub images: Vec<Image>,
    strings: Strings,
}

/// Global indices of the containers of one inventory.
#[derive(Debug, Default)]
pub struct ContainerIndices(HashMap<*const inventory::Container, usize>);

impl ContainerIndices {
    pub fn of(&self, container: &inventory::Container) -> usize {
        self.0.get(&ptr::from_ref(container)).copied().unwrap_or(FATBIN_NO_INDEX)
    }
}

impl Records {
    /// Adds the records of a file or member. `images` are the images of `file`.
    pub fn add(&mut self, file: &inventory::File, images: &[ImageRef<'_>]) -> ContainerIndices {
        let mut indices = ContainerIndices::default();
        self.containers(file, &file.containers, FATBIN_NO_INDEX, &mut indices);
        for image in images {
            self.image(file, image, &indices);
        }
        indices
    }

    /// Adds containers and those in their images. The library limits their depth.
    fn containers(
        &mut self,
        file: &inventory::File,
        containers: &[inventory::Container],
        parent: usize,
        indices: &mut ContainerIndices,
    ) {
        for container in containers {
            let index = self.containers.len();
            indices.0.insert(container, index);
            self.container(file, container, parent);
            for image in &container.images {
                self.containers(file, &image.containers, index, indices);
            }
        }
    }

    fn container(&mut self, file: &inventory::File, container: &inventory::Container, parent: usize) {
        self.containers.push(Container {
            path: self.strings.add(&file.path),
            container_type: self.strings.add(container.container_type.name()),
            section: self.strings.add_optional(container.section_name()),
            codec: self.strings.add_optional(container.codec.map(Codec::name)),
            parent,
            offset: container.offset.unwrap_or(FATBIN_NONE),
            size: container.size,
            version: container.version.map_or(FATBIN_NONE, u64::from),
        });
    }

    fn image(&mut self, file: &inventory::File, image: &ImageRef<'_>, indices: &ContainerIndices) {
        let around = image.containers();
        let Some(container) = around.last() else { unreachable!("an image is in a container") };
        let whole = around.iter().rev().find_map(|container| container.codec);
        let codec = image.codec.filter(|codec| *codec != Codec::None).or(whole).unwrap_or(Codec::None);
        self.images.push(Image {
            path: self.strings.add(&file.path),
            container_type: self.strings.add(container.container_type.name()),
            offload_kind: self.strings.add_optional(image.kind.map(OffloadKind::name)),
            triple: self.strings.add_optional(image.triple.as_deref()),
            arch: self.strings.add_optional(image.arch.as_deref()),
            entry_id: self.strings.add_optional(image.id.as_deref()),
            symbol: self.strings.add_optional(image.symbol.as_deref()),
            image_type: self.strings.add(image.image_kind.name()),
            extension: self.strings.add(image.extension()),
            codec: self.strings.add(codec.name()),
            // A part of the inventory, which lives as long as the file.
            sha256: image.sha256.as_ref().map_or(ptr::null(), |hash| hash.as_ptr()),
            container: indices.of(container),
            offset: image.offset.unwrap_or(FATBIN_NONE),
            stored_size: image.size.unwrap_or(FATBIN_NONE),
            size: image.decompressed_size().unwrap_or(FATBIN_NONE),
            compressed: codec != Codec::None,
        });
    }
}
