//! Inventories: the containers and images of a file as plain data. `report` prints it, and `check` evaluates it.
//!
//! A file holds containers, and a container holds images. An image may itself be a container: a CUDA fat binary in an
//! offload binary, or an offload binary in another. Offsets and sizes are in bytes. Offsets count from the start of the
//! file. Data inside a compressed container has no offset.

#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod address;
mod code_names;
mod contradiction;
mod cuda_code;
mod device_link;
mod kpack;
mod not_opened;
mod origin;
mod property;
mod sign;
mod walk;
mod wrapper;

use std::ops::Range;

use crate::base::bytes::size_of_range;
use crate::base::code::{Coded, Remedy};
use crate::base::codec::Codec;
use crate::base::error::{Cause, Error, Malformed};
use crate::base::file_path::FilePath;
use crate::base::range::range_at;
use crate::format::KernelContent;
use crate::format::readers::Reader;
use crate::format::{ContainerType, GroupPart, ImageKind, UnknownValue};
use crate::target::{OffloadKind, triple};

pub use address::DiskLocation;
pub use contradiction::{OwnHeader, is_narrower};
pub use cuda_code::CudaCode;
pub use device_link::{CodeRole, DeviceLink, DeviceLinks, LinkInput, LinkPlace};
pub use kpack::{FoundArchive, KpackReference};
pub use not_opened::NotOpened;
pub use origin::{MetalFunctions, Origin, origin, stored_origin};
pub use property::{Property, PropertySet, PropertyValue};
pub use sign::{Sign, SignKind};
pub use walk::{NestedImage, Node};
pub use wrapper::{Registration, Wrapper, WrapperKind, WrapperTarget};

/// Inventory of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct File {
    /// Path as the user specified it; `ARCHIVE!MEMBER` for a member of an archive.
    pub path: FilePath,
    /// Format; absent for a file that could not be read.
    pub format: Option<FileFormat>,
    /// Size in bytes.
    pub size: u64,
    /// Bytes of a section with a second copy of the images, which is reported as a separate file.
    #[doc(hidden)]
    pub copy: u64,
    /// Place of its bytes on disk; absent for unpacked members and standard input.
    #[doc(hidden)]
    pub on_disk: Option<DiskLocation>,
    /// Containers, sorted by offset.
    pub containers: Vec<Container>,
    /// Sections for containers, sorted by offset.
    #[doc(hidden)]
    pub sections: Vec<Section>,
    /// Structures that register containers with a runtime, sorted by offset.
    #[doc(hidden)]
    pub wrappers: Vec<Wrapper>,
    /// Defects of the host half that make the loader or a runtime reject the file, or leave kernels without code, sorted by
    /// offset.
    #[doc(hidden)]
    pub host_defects: Vec<Malformed>,
    /// References to device code in kpack archives next to the file.
    #[doc(hidden)]
    pub kpack: Vec<KpackReference>,
    /// True if it has GIMPLE bytecode. GCC compiles images from it when the file is linked.
    #[doc(hidden)]
    pub has_gimple: bool,
    /// True if its offload entries have the layout of LLVM 20 and later.
    #[doc(hidden)]
    pub has_versioned_entries: bool,
    /// True if it is a host object, which must be linked.
    #[doc(hidden)]
    pub is_object: bool,
    /// Number of bytes that were not searched, because no header refers to them and the search by magic was disabled.
    pub unsearched: u64,
    /// Reason why files packed in this one were not opened. Its bytes were still searched.
    #[doc(hidden)]
    pub not_opened: Option<NotOpened>,
    /// Signs of device code, if no device code was found.
    #[doc(hidden)]
    pub signs: Vec<Sign>,
    /// Errors in containers, sorted by offset.
    pub errors: Vec<Malformed>,
    /// Reason why the file could not be read at all.
    #[doc(hidden)]
    pub failure: Option<String>,
    /// Change in the request that lets it be read.
    #[doc(hidden)]
    pub remedy: Option<Remedy>,
}

/// Format of a file, as named by `fatbin scan --json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileFormat {
    /// ELF.
    Elf,
    /// COFF object.
    Coff,
    /// PE executable or library.
    Pe,
    /// Mach-O, for one machine or several (universal binary).
    MachO,
    /// LLVM bitcode.
    Bitcode,
    /// Archive that was not opened, or whose members hold no device code.
    Archive,
    /// Not a host file: a standalone container, or any other bytes.
    Raw,
}

/// A section for containers. Its size is the sum of three parts: containers, padding between and after them, and
/// unexplained bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Name.
    pub name: String,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// Number of bytes in containers.
    pub in_containers: u64,
    /// Number of bytes of padding.
    pub padding: u64,
    /// Number of other bytes.
    pub unexplained: u64,
}

/// Name and offset of the section that holds a container or wrapper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionRef {
    /// Name.
    pub name: String,
    /// Offset in the file, in bytes.
    pub offset: u64,
}

/// A container and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct Container {
    /// Type of container.
    pub container_type: ContainerType,
    /// Version of its format, if the format has versions.
    pub version: Option<u32>,
    /// Section of the host file that holds it, if it has a name.
    #[doc(hidden)]
    pub section: Option<SectionRef>,
    /// Offset in the file; absent inside a compressed container.
    pub offset: Option<u64>,
    /// Stored size in bytes.
    pub size: u64,
    /// Codec of the container as a whole; absent if it is not compressed.
    pub codec: Option<Codec>,
    /// Relation to the wrappers of the file.
    pub registration: Registration,
    /// Images in the order of the container.
    pub images: Vec<Image>,
    /// Offset in the decompressed bytes of the container around it, else in the file.
    #[doc(hidden)]
    pub start: u64,
}

/// An image and its place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct Image {
    /// Offload kind, if the container states it.
    pub kind: Option<OffloadKind>,
    /// Format of its bytes.
    pub image_kind: ImageKind,
    /// Target triple.
    pub triple: Option<String>,
    /// Processor with its features or suffix.
    pub arch: Option<String>,
    /// Name of the host file's symbol that covers an embedded image.
    pub symbol: Option<String>,
    /// True if nothing states the end of the image, and its size was derived from its contents.
    pub size_is_estimated: bool,
    /// Processor in the image's header, if it contradicts the container.
    pub own_arch: Option<String>,
    /// Triple in the image's header, if it is for another system than the container states.
    #[doc(hidden)]
    pub own_triple: Option<String>,
    /// True for machine code that must be linked before a runtime loads it.
    #[doc(hidden)]
    pub is_unlinked: bool,
    /// What machine code or PTX holds that was read.
    #[doc(hidden)]
    pub content: KernelContent,
    /// Bundle entry ID.
    pub id: Option<String>,
    /// Keys and values in the container.
    pub strings: Vec<(String, String)>,
    /// Property sets that the program passes to SYCL's runtime with the image.
    #[doc(hidden)]
    pub property_sets: Vec<PropertySet>,
    /// Unknown values of the container's fields.
    #[doc(hidden)]
    pub unknown: Vec<UnknownValue>,
    /// Offset in the file; absent inside a compressed container.
    pub offset: Option<u64>,
    /// Stored size in bytes; absent for an image inside a compressed container.
    pub size: Option<u64>,
    /// Codec; absent if the format of the container has no compression of single images.
    pub codec: Option<Codec>,
    /// Decompressed size in bytes; absent if it is not compressed.
    pub full_size: Option<u64>,
    /// Name that the compiler or linker gives itself. For a compressed image, it is known only if the image had to be
    /// decompressed for another reason.
    pub producer: Option<String>,
    /// Version of its format. It is known under the same condition as the producer.
    pub format_version: Option<String>,
    /// Properties of NVIDIA code that its drivers depend on.
    #[doc(hidden)]
    pub cuda: CudaCode,
    /// The functions of a Metal library.
    #[doc(hidden)]
    pub metal: Option<Box<MetalFunctions>>,
    /// A filter does not accept the image, and reports leave it out.
    #[doc(hidden)]
    pub is_left_out: bool,
    /// SHA-256 of the decompressed image, if hashes were requested.
    pub sha256: Option<[u8; 32]>,
    /// Containers that make up the image, if it is not a device image itself.
    pub containers: Vec<Container>,
    #[doc(hidden)]
    pub stored: StoredBytes,
}

/// Keys of strings that name kernels, functions and variables. These keys may repeat.
pub const ENTRY_KINDS: [&str; 4] = ["kernel", "device-function", "function", "variable"];

/// Place of the stored bytes of an image, for reading them again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoredBytes {
    /// Offset in the decompressed bytes of the container around it, else in the file.
    pub start: u64,
    /// Size in bytes.
    pub size: u64,
    /// Place in the decompressed bytes, for images that are compressed together.
    pub part: Option<GroupPart>,
}

impl File {
    /// Creates an empty inventory.
    #[doc(hidden)]
    pub fn empty(path: FilePath) -> Self {
        File {
            path,
            format: None,
            size: 0,
            copy: 0,
            on_disk: None,
            containers: Vec::new(),
            sections: Vec::new(),
            wrappers: Vec::new(),
            host_defects: Vec::new(),
            kpack: Vec::new(),
            has_gimple: false,
            has_versioned_entries: false,
            is_object: false,
            unsearched: 0,
            not_opened: None,
            signs: Vec::new(),
            errors: Vec::new(),
            failure: None,
            remedy: None,
        }
    }

    /// Returns its size without a second copy of the images.
    #[doc(hidden)]
    pub fn own_size(&self) -> u64 {
        size_of_range(&(self.copy..self.size))
    }

    /// Creates the inventory of a file that could not be read.
    #[doc(hidden)]
    pub fn unreadable(path: FilePath, error: &Error) -> Self {
        File { failure: Some(error.to_string()), remedy: error.class().remedy, ..File::empty(path) }
    }

    /// Reason why files packed in this one were not opened. Its bytes were still searched.
    pub fn not_opened(&self) -> Option<&'static str> {
        self.not_opened.map(NotOpened::name)
    }

    /// True if the file may hold containers that were not found.
    #[doc(hidden)]
    pub fn is_incomplete(&self) -> bool {
        !self.errors.is_empty()
            || self.failure.is_some()
            || self.not_opened.is_some()
            || self.unknown_code().next().is_some()
    }

    /// Signs that the file itself has device code of an unknown kind. The code for calls and records may be in another
    /// file.
    #[doc(hidden)]
    pub fn unknown_code(&self) -> impl Iterator<Item = &Sign> {
        self.signs.iter().filter(|sign| matches!(sign.kind, SignKind::Section | SignKind::Magic))
    }

    /// Errors of the file, without its failure.
    pub fn reported_errors(&self) -> impl Iterator<Item = Error> {
        let path = self.path.printed();
        let not_opened =
            self.not_opened.map(|reason| Error::NotOpened { path: path.into(), reason: reason.to_string() });
        self.errors.iter().map(|error| error.clone().in_file(path)).chain(not_opened)
    }

    /// True if the file has device code: images, or code in kpack archives next to it.
    #[doc(hidden)]
    pub fn has_device_code(&self) -> bool {
        self.device_images().next().is_some() || self.kpack.iter().any(KpackReference::has_code)
    }

    /// True if the file holds containers or errors, or may hold containers that were not found.
    #[doc(hidden)]
    pub fn has_findings(&self) -> bool {
        !self.containers.is_empty() || !self.kpack.is_empty() || self.is_incomplete() || self.lacks_its_code()
    }

    /// True if the file launches or registers device code that it does not hold.
    #[doc(hidden)]
    pub fn lacks_its_code(&self) -> bool {
        let is_lost = |defect: &Malformed| matches!(defect.cause, Cause::LostDeviceCode { .. });
        self.host_defects.iter().any(is_lost) || !self.is_object && self.wrappers.iter().any(|it| it.defect().is_some())
    }
}

impl FileFormat {
    /// Name for reports.
    pub fn name(self) -> &'static str {
        match self {
            FileFormat::Elf => "elf",
            FileFormat::Coff => "coff",
            FileFormat::Pe => "pe",
            FileFormat::MachO => "mach-o",
            FileFormat::Bitcode => "bitcode",
            FileFormat::Archive => "archive",
            FileFormat::Raw => "raw",
        }
    }
}

impl Container {
    /// Range in the file; `None` inside a compressed container.
    #[doc(hidden)]
    pub fn range(&self) -> Option<Range<u64>> {
        let start = self.offset?;
        Some(range_at(start, self.size))
    }

    /// Name of the section that holds it.
    pub fn section_name(&self) -> Option<&str> {
        self.section.as_ref().map(|section| section.name.as_str())
    }

    /// The ID of a bundle entry for which a release refuses the bundle.
    #[doc(hidden)]
    pub fn id_refused_by(&self, reader: Reader) -> Option<&str> {
        if !matches!(self.container_type, ContainerType::Bundle | ContainerType::Ccob) {
            return None;
        }
        self.images.iter().filter_map(|image| image.id.as_deref()).find(|id| !reader.reads_bundle_with(id))
    }
}

impl Image {
    /// True for an image for a device. The host entry of a bundle, an entry with only properties and debug information
    /// without code are not device images.
    pub fn is_device_image(&self) -> bool {
        let has_no_code = [ImageKind::Metadata, ImageKind::DebugElf].contains(&self.image_kind);
        self.kind != Some(OffloadKind::Host) && !has_no_code
    }

    /// Number of its kind, if the kind is newer than this program.
    #[doc(hidden)]
    pub fn unknown_kind(&self) -> Option<u64> {
        self.unknown.iter().find(|it| it.field == UnknownValue::KIND).map(|it| it.value)
    }

    /// True for NVIDIA code with 32-bit addresses, which only 32-bit programs load.
    #[doc(hidden)]
    pub fn has_32_bit_addresses(&self) -> bool {
        self.triple.as_deref() == Some(triple::NVPTX)
    }

    /// True for LTO-IR whose bytes NVIDIA's tools have scrambled. It is intact, but only those tools can read it.
    #[doc(hidden)]
    pub fn is_scrambled(&self) -> bool {
        self.image_kind == ImageKind::Nvvm && self.codec == Some(Codec::Opaque)
    }

    /// Creates an image with a format and a target only.
    #[doc(hidden)]
    pub fn of_target(image_kind: ImageKind, triple: Option<String>, arch: Option<String>) -> Self {
        Image { image_kind, triple, arch, ..Image::default() }
    }

    /// Decompressed size in bytes, if known.
    pub fn decompressed_size(&self) -> Option<u64> {
        self.full_size.or(self.size)
    }

    /// Kernels, functions and variables that the container or the program states, each with its kind.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        let strings = self.strings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        strings.filter(|(key, _)| ENTRY_KINDS.contains(key))
    }

    /// Returns whether it is PTX that the driver links with all other PTX of its container for the same architecture:
    /// the entries of kind 0x40 are parts of one program (`nvcc -reloc-ptx`).
    #[doc(hidden)]
    pub fn is_part(&self) -> bool {
        self.image_kind == ImageKind::Ptx && self.string("linkage") == Some("relocatable")
    }

    /// Value of a key; the last one if the key repeats.
    pub fn string(&self, key: &str) -> Option<&str> {
        self.strings.iter().rfind(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}
