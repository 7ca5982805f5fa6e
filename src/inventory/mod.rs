//! The result model: what was found in a file, as plain data. What is printed is what is judged.
//!
//! A file holds containers, a container images, and an image may be a container itself: CUDA's fat binary in an offload
//! binary, an offload binary in another. Offsets and sizes are bytes; offsets count from the start of the file. What lies
//! inside a compressed container has none.

mod address;
mod contradiction;
mod origin;
mod walk;
mod wrapper;

use crate::codec::Codec;
use crate::error::Malformed;
use crate::format::{ContainerType, GroupPart, ImageKind, UnknownValue};
use crate::target::OffloadKind;

pub use address::{Address, DiskLocation};
pub use contradiction::contradicting_arch;
pub use origin::{Origin, origin, stored_origin};
pub use walk::{Leaves, NestedImage};
pub use wrapper::{Wrapper, WrapperKind, WrapperTarget};

/// A file and everything that was found in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// As the user gave it; of a member of an archive `ARCHIVE!MEMBER`.
    pub path: String,
    /// Absent for a file that could not be read.
    pub format: Option<FileFormat>,
    pub size: u64,
    /// Absent for what has been unpacked and for standard input.
    pub on_disk: Option<DiskLocation>,
    /// By offset.
    pub containers: Vec<Container>,
    /// The sections that are there for containers, by offset.
    pub sections: Vec<Section>,
    /// What registers containers with a runtime, by offset.
    pub wrappers: Vec<Wrapper>,
    /// How many bytes were not searched, because no header leads to them and only those were asked for that one does.
    pub unsearched: u64,
    /// What stood where a container should be and could not be read, by offset.
    pub errors: Vec<Malformed>,
    /// Why the file could not be read at all.
    pub failure: Option<String>,
}

/// What kind of file it is; the names are those of `fatbin scan --json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    Elf,
    Coff,
    Pe,
    /// Also one for several machines, a universal binary.
    MachO,
    /// LLVM bitcode. What is embedded in it is not looked for.
    Bitcode,
    /// An archive in which there is nothing to be listed.
    Archive,
    /// No host file: a container by itself, or anything else.
    Raw,
}

/// A section that is there for containers, and what its bytes are: in containers, padding between and behind them, or
/// unexplained. The three add up to its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub name: String,
    pub offset: u64,
    pub size: u64,
    pub in_containers: u64,
    pub padding: u64,
    pub unexplained: u64,
}

/// A section that holds something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionRef {
    pub name: String,
    /// Where it begins.
    pub offset: u64,
}

/// A container and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    pub container_type: ContainerType,
    pub version: Option<u32>,
    /// The section of the host file that holds it, where it has a name.
    pub section: Option<SectionRef>,
    /// Absent inside a compressed container.
    pub offset: Option<u64>,
    /// What is stored.
    pub size: u64,
    /// How all of it is stored; absent where it is not compressed.
    pub codec: Option<Codec>,
    pub images: Vec<Image>,
    /// Offset in the decompressed bytes of the container around it, else in the file.
    pub(crate) start: u64,
}

/// An image and where it stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Image {
    pub kind: Option<OffloadKind>,
    pub image_kind: ImageKind,
    pub triple: Option<String>,
    /// The processor with its features or suffix.
    pub arch: Option<String>,
    /// What the image's own header says, where the container says something else.
    pub own_arch: Option<String>,
    /// The bundle entry id.
    pub id: Option<String>,
    /// Everything that the container says in keys and values.
    pub strings: Vec<(String, String)>,
    /// Values of the container's fields that are not known.
    pub unknown: Vec<UnknownValue>,
    /// Absent inside a compressed container.
    pub offset: Option<u64>,
    /// What is stored; absent inside a compressed container, where images have no sizes of their own.
    pub size: Option<u64>,
    /// How it is stored; absent where the container knows one way only.
    pub codec: Option<Codec>,
    /// What it is once decompressed; absent where it is not compressed.
    pub full_size: Option<u64>,
    /// What made it, in its own words; of an image that is compressed only where it had to be decompressed anyway.
    pub producer: Option<String>,
    /// Which version of its form it has, known where the producer is looked for; see [`Origin`].
    pub format_version: Option<String>,
    /// Of the image once it is decompressed, where that was asked for.
    pub sha256: Option<[u8; 32]>,
    /// The containers that the image consists of, where it is no device image but holds some.
    pub containers: Vec<Container>,
    pub(crate) stored: StoredBytes,
}

/// Place of the stored bytes of an image, for reading them again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StoredBytes {
    /// Offset in the decompressed bytes of the container around it, else in the file.
    pub start: u64,
    /// Size in bytes.
    pub size: u64,
    /// Place in the decompressed bytes, for images that are compressed together.
    pub part: Option<GroupPart>,
}

impl File {
    /// A file of which nothing is known yet.
    pub fn empty(path: String) -> Self {
        let (containers, sections, wrappers, errors) = Default::default();
        let (format, on_disk, failure) = Default::default();
        File { path, format, size: 0, on_disk, containers, sections, wrappers, unsearched: 0, errors, failure }
    }

    /// A file that could not be read.
    pub fn unreadable(path: String, failure: String) -> Self {
        File { failure: Some(failure), ..File::empty(path) }
    }

    /// Whether there is anything to say of it.
    pub fn has_findings(&self) -> bool {
        !self.containers.is_empty() || !self.errors.is_empty() || self.failure.is_some()
    }
}

impl FileFormat {
    /// The name that users see.
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
    /// The name of the section that holds it.
    pub fn section_name(&self) -> Option<&str> {
        self.section.as_ref().map(|section| section.name.as_str())
    }
}

impl Image {
    /// Whether it is device code and not the host's.
    pub fn is_device_image(&self) -> bool {
        self.kind != Some(OffloadKind::Host)
    }

    /// Its size once it is decompressed, as far as it is known.
    pub fn decompressed_size(&self) -> Option<u64> {
        self.full_size.or(self.size)
    }

    /// The value of a key; the last one where it repeats.
    pub fn string(&self, key: &str) -> Option<&str> {
        self.strings.iter().rfind(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}
