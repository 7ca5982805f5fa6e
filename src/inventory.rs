//! The result model: what was found in a file, as plain data. What is printed is what is judged.
//!
//! Offsets and sizes are bytes; offsets count from the start of the file.

use crate::codec::Codec;
use crate::error::Malformed;
use crate::format::{self, ContainerType, ImageKind};
use crate::target::OffloadKind;

/// A file and everything that was found in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// As the user gave it.
    pub path: String,
    /// Absent for a file that could not be read.
    pub format: Option<FileFormat>,
    pub size: u64,
    /// By offset.
    pub containers: Vec<Container>,
    /// What stood where a container should be and could not be read, by offset.
    pub errors: Vec<Malformed>,
    /// Why the file could not be read at all.
    pub failure: Option<String>,
}

/// What kind of file it is; the names are those of `fatbin scan --json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    Elf,
    /// No host file: a container by itself, or anything else.
    Raw,
}

/// A container and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    pub container_type: ContainerType,
    pub version: Option<u32>,
    /// The section of the host file that holds it, where it has a name.
    pub section: Option<String>,
    pub offset: u64,
    pub size: u64,
    pub images: Vec<Image>,
}

/// An image and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    pub kind: Option<OffloadKind>,
    pub image_kind: ImageKind,
    pub triple: Option<String>,
    /// The processor with its features or suffix.
    pub arch: Option<String>,
    /// The bundle entry id.
    pub id: Option<String>,
    pub offset: u64,
    /// What is stored.
    pub size: u64,
    /// How it is stored; absent where the container knows one way only.
    pub codec: Option<Codec>,
    /// What it is once decompressed; absent where it is not compressed.
    pub full_size: Option<u64>,
}

impl File {
    /// A file that could not be read.
    pub fn unreadable(path: String, failure: String) -> Self {
        File { path, format: None, size: 0, containers: Vec::new(), errors: Vec::new(), failure: Some(failure) }
    }

    /// The images that are for a device, in the order of the file: all but the host's entries in bundles.
    pub fn device_images(&self) -> impl Iterator<Item = &Image> {
        self.containers.iter().flat_map(|container| &container.images).filter(|it| it.kind != Some(OffloadKind::Host))
    }
}

impl FileFormat {
    /// The name that users see.
    pub fn name(self) -> &'static str {
        match self {
            FileFormat::Elf => "elf",
            FileFormat::Raw => "raw",
        }
    }
}

impl Container {
    /// Keeps what was read of a container, without its bytes.
    pub fn new(container: &format::Container, section: Option<&str>) -> Self {
        Container {
            container_type: container.container_type,
            version: container.version,
            section: section.map(str::to_owned),
            offset: container.view.start(),
            size: container.view.size(),
            images: container.images.iter().map(Image::new).collect(),
        }
    }
}

impl Image {
    fn new(image: &format::Image) -> Self {
        Image {
            kind: image.kind,
            image_kind: image.image_kind,
            triple: image.triple.clone(),
            arch: image.arch.clone(),
            id: image.id.map(str::to_owned),
            offset: image.view.start(),
            size: image.view.size(),
            codec: image.codec,
            full_size: image.full_size,
        }
    }
}
