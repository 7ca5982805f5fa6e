//! Containers in another encoding, with the same images.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::{Edit, EditError, EditedImage, Effort, Encoding, FileEdit, ImageEdit, Recompression, Result};
use fatbin_core::base::codec::{Codec, LevelError};
use fatbin_core::format::ContainerType;
use fatbin_core::format::ccob::Version as CcobVersion;
use fatbin_core::format::offload_binary::Version as OffloadBinaryVersion;
use fatbin_core::format::readers::{Reader, Support};
use fatbin_core::scan::inventory::{Container, File, Node};
use fatbin_core::target::Device;

/// Form of containers of one or several types, as `fatbin transcode --to` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContainerForm {
    /// A bundle without compression.
    Plain,
    /// A compressed bundle of version 2.
    Ccob2,
    /// A compressed bundle of version 3.
    Ccob3,
    /// An offload binary of version 1.
    V1,
    /// An offload binary of version 2.
    V2,
    /// An offload binary of version 3.
    V3,
    /// Images without compression.
    None,
    /// Images compressed by LZ4.
    Lz4,
    /// Images or bundles compressed by zstd.
    Zstd,
    /// Images or bundles compressed by zlib.
    Zlib,
}

impl ContainerForm {
    /// All forms, with their names and the containers that take them.
    #[doc(hidden)]
    pub const NAMES: [(&'static str, &'static str, ContainerForm); 10] = [
        ("plain", "Bundles: uncompressed", ContainerForm::Plain),
        ("ccob2", "Bundles: compressed, format version 2", ContainerForm::Ccob2),
        ("ccob3", "Bundles: compressed, format version 3", ContainerForm::Ccob3),
        ("v1", "Offload binaries: format version 1, of one image each", ContainerForm::V1),
        ("v2", "Offload binaries: format version 2", ContainerForm::V2),
        ("v3", "Offload binaries: format version 3", ContainerForm::V3),
        (
            "none",
            "Entries of CUDA fat binaries, kpack archives, and offload binaries of version 3: uncompressed",
            ContainerForm::None,
        ),
        ("lz4", "Entries of CUDA fat binaries: LZ4", ContainerForm::Lz4),
        (
            "zstd",
            "Entries of CUDA fat binaries, kpack archives, offload binaries of version 3, and compressed bundles: zstd",
            ContainerForm::Zstd,
        ),
        ("zlib", "Offload binaries of version 3, and compressed bundles: zlib", ContainerForm::Zlib),
    ];

    /// Returns the form of this name, such as `ccob2`.
    pub fn from_name(name: &str) -> Option<Self> {
        ContainerForm::NAMES.iter().find(|(known, ..)| *known == name).map(|(.., form)| *form)
    }
}

/// Form of bundles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BundleForm {
    /// Uncompressed.
    Plain,
    /// Compressed, in this version of the format.
    Compressed(CcobVersion),
}

/// Sets a choice that is made once.
fn set<T>(choice: &mut Option<T>, value: T) -> std::result::Result<(), SeveralForms> {
    if choice.replace(value).is_some() { Err(SeveralForms) } else { Ok(()) }
}

/// Requested encodings; containers of other types stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transcoding {
    /// Form of bundles.
    pub bundle: Option<BundleForm>,
    /// Version of offload binaries.
    pub offload_binary: Option<OffloadBinaryVersion>,
    /// Codec of compressed bundles, of offload binaries of version 3, of kpack archives and of the entries of CUDA fat
    /// binaries, for each format that supports it.
    pub codec: Option<Codec>,
    /// Level of compression.
    pub effort: Effort,
}

/// Several forms for containers of one type.
#[derive(Debug, thiserror::Error)]
#[error(
    "several forms for containers of one type; use at most one of plain, ccob2, ccob3, one of v1, v2, v3, and one of none, \
     lz4, zstd, zlib"
)]
pub struct SeveralForms;

impl Transcoding {
    /// Returns the encodings of these forms. Compression has the levels of the tools that write such containers.
    pub fn of_forms(forms: &[ContainerForm]) -> std::result::Result<Self, SeveralForms> {
        let (mut bundle, mut offload_binary, mut codec) = (None, None, None);
        for form in forms {
            match form {
                ContainerForm::Plain => set(&mut bundle, BundleForm::Plain)?,
                ContainerForm::Ccob2 => set(&mut bundle, BundleForm::Compressed(CcobVersion::Two))?,
                ContainerForm::Ccob3 => set(&mut bundle, BundleForm::Compressed(CcobVersion::Three))?,
                ContainerForm::V1 => set(&mut offload_binary, OffloadBinaryVersion::One)?,
                ContainerForm::V2 => set(&mut offload_binary, OffloadBinaryVersion::Two)?,
                ContainerForm::V3 => set(&mut offload_binary, OffloadBinaryVersion::Three)?,
                ContainerForm::None => set(&mut codec, Codec::None)?,
                ContainerForm::Lz4 => set(&mut codec, Codec::Lz4)?,
                ContainerForm::Zstd => set(&mut codec, Codec::Zstd)?,
                ContainerForm::Zlib => set(&mut codec, Codec::Zlib)?,
            }
        }
        Ok(Transcoding { bundle, offload_binary, codec, effort: Effort::Fit })
    }

    /// Sets the level, or else the strongest levels if `best`.
    pub fn at(self, level: Option<i32>, best: bool) -> std::result::Result<Self, LevelError> {
        let effort = match level {
            Some(level) => Effort::Level(self.codec.unwrap_or(Codec::Zstd).check_level(level)?),
            None if best => Effort::Best,
            None => Effort::Fit,
        };
        Ok(Transcoding { effort, ..self })
    }

    /// Returns the encoding of a container; [`Encoding::Same`] if none is requested for its type.
    pub fn of(&self, container: &Container) -> Encoding {
        match container.container_type {
            ContainerType::Bundle | ContainerType::Ccob => self.bundle(container),
            ContainerType::OffloadBinary => self.offload_binary(container),
            ContainerType::CudaFatbin => match self.codec {
                Some(Codec::None) => Encoding::CudaFatbin(None),
                Some(codec @ (Codec::Lz4 | Codec::Zstd)) => Encoding::CudaFatbin(Some(self.recompression(codec))),
                _ => Encoding::Same,
            },
            ContainerType::Kpack => match self.codec {
                Some(Codec::None) => Encoding::Kpack(None),
                Some(Codec::Zstd) => Encoding::Kpack(Some(self.recompression(Codec::Zstd))),
                _ => Encoding::Same,
            },
            ContainerType::Oxart
            | ContainerType::MetalLibrary
            | ContainerType::SyclBin
            | ContainerType::DxContainer
            | ContainerType::Hcf
            | ContainerType::MetalArchive
            | ContainerType::MetalBinary
            | ContainerType::OclocArchive
            | ContainerType::SyclImage
            | ContainerType::BundleSection
            | ContainerType::DeviceElf
            | ContainerType::Ptx
            | ContainerType::Bitcode
            | ContainerType::SpirV
            | ContainerType::LtoIr
            | ContainerType::OptixIr
            | ContainerType::TileIr
            | ContainerType::PatchTokens
            | ContainerType::Embedded => Encoding::Same,
        }
    }

    fn bundle(&self, container: &Container) -> Encoding {
        let codec = self.codec.filter(|codec| is_stream_codec(*codec));
        let own_version = container.version.and_then(|version| CcobVersion::from_number(version.into()));
        match (self.bundle, codec, own_version) {
            (Some(BundleForm::Plain), ..) => Encoding::Bundle,
            (Some(BundleForm::Compressed(version)), codec, _) => {
                let codec = codec.or(container.codec).unwrap_or(Codec::Zstd);
                Encoding::Ccob(version, self.recompression(codec))
            }
            (None, Some(codec), Some(version)) => Encoding::Ccob(version, self.recompression(codec)),
            (None, ..) => Encoding::Same,
        }
    }

    fn offload_binary(&self, container: &Container) -> Encoding {
        let own = container.version.and_then(OffloadBinaryVersion::from_number);
        let Some(version) = self.offload_binary.or(own) else { return Encoding::Same };
        if version < OffloadBinaryVersion::Three {
            return if self.offload_binary.is_some() { Encoding::OffloadBinary(version, None) } else { Encoding::Same };
        }
        match (self.codec, self.offload_binary) {
            (Some(Codec::None), _) => Encoding::OffloadBinary(version, None),
            (Some(codec), _) if is_stream_codec(codec) => {
                Encoding::OffloadBinary(version, Some(self.recompression(codec)))
            }
            // Without a codec, a compressed binary stays compressed.
            (_, Some(_)) => Encoding::OffloadBinary(version, container.codec.map(|codec| self.recompression(codec))),
            (_, None) => Encoding::Same,
        }
    }

    fn recompression(&self, codec: Codec) -> Recompression {
        Recompression { codec, effort: self.effort }
    }
}

fn is_stream_codec(codec: Codec) -> bool {
    matches!(codec, Codec::Zstd | Codec::Zlib)
}

impl Edit for Transcoding {
    fn image(&self, _: &EditedImage<'_>) -> Result<ImageEdit> {
        Ok(ImageEdit::Keep)
    }

    fn encoding(&self, container: &Container) -> Encoding {
        self.of(container)
    }
}

impl FileEdit for Transcoding {
    fn edit<'a>(&'a self, _: &'a File) -> Result<Box<dyn Edit + 'a>> {
        Ok(Box::new(*self))
    }

    fn devices(&self, _: &File) -> Vec<Device> {
        Vec::new()
    }
}

/// Number of containers, at any depth, that have a requested encoding.
pub fn requested(file: &File, transcoding: &Transcoding) -> usize {
    containers(file).filter(|container| transcoding.of(container) != Encoding::Same).count()
}

/// Returns the types of the containers of a file, each with the names of the forms that these containers take.
pub fn available(file: &File) -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut available: BTreeMap<_, Vec<&str>> = BTreeMap::new();
    for container in containers(file) {
        let forms = available.entry(container.container_type.name()).or_default();
        for (name, .., form) in ContainerForm::NAMES {
            let is_taken = Transcoding::of_forms(&[form]).is_ok_and(|it| it.of(container) != Encoding::Same);
            if is_taken && !forms.contains(&name) {
                forms.push(name);
            }
        }
    }
    available
}

/// Returns the first release of each product that reads all containers of a file.
pub fn first_readers(file: &File) -> Vec<Reader> {
    let mut first: Vec<Reader> = Vec::new();
    for container in containers(file) {
        let codecs = container.images.iter().filter_map(|image| image.codec);
        for reader in Reader::first_of(container.container_type, container.version, codecs) {
            match first.iter_mut().find_map(|known| known.later(reader).map(|later| (known, later))) {
                Some((known, later)) => *known = later,
                None => first.push(reader),
            }
        }
    }
    first
}

/// Checks that releases read all containers of a file.
pub fn check_readers(file: &File, readers: &[Reader]) -> Result<()> {
    for container in containers(file) {
        for reader in readers {
            if let Some(id) = container.id_refused_by(*reader) {
                return Err(EditError::ShortId { reader: *reader, id: id.to_owned() });
            }
            let codecs = container.images.iter().filter_map(|image| image.codec);
            let support = codecs.map(|codec| reader.decompresses(container.container_type, codec));
            let mut support = support.chain([reader.reads(container.container_type, container.version)]);
            if let Some(first) = support.find_map(|support| match support {
                Support::No(first) => Some(first),
                Support::Yes | Support::NotApplicable => None,
            }) {
                let container = container.container_type.name();
                return Err(EditError::Unreadable { reader: *reader, container, first });
            }
        }
    }
    Ok(())
}

fn containers(file: &File) -> impl Iterator<Item = &Container> {
    file.walk().filter_map(|node| match node {
        Node::Container(container) => Some(container),
        Node::Image(_) => None,
    })
}
