//! Containers of device images: each format reads a view and returns what it holds as views of the same bytes.
//!
//! A format knows neither paths nor host files, so a bundle inside a section inside an archive is only a slice of a
//! slice, and each reader can be tested and fuzzed alone. Adding a format is a folder of its own and a row in
//! [`FORMATS`].

pub mod bundle;
pub mod bundle_section;
pub mod ccob;
pub mod cuda_fatbin;
mod device_elf;
mod device_image;
pub mod fat_binary_wrapper;
mod group;
pub mod offload_binary;
mod origin;

pub use device_image::{DeviceImage, ImageKind};
pub use group::Group;
pub use origin::{Origin, origin};

use std::borrow::Cow;
use std::ops::Range;

use crate::bytes::View;
use crate::codec::{self, Codec, Limit};
use crate::error::{Cause, Malformed};
use crate::target::{OffloadKind, compatibility, nvptx, triple};

/// What kind of container images were found in; the names are those of `fatbin scan --json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContainerType {
    /// `10 FF 10 AD`, written by clang-offload-packager.
    OffloadBinary,
    /// `__CLANG_OFFLOAD_BUNDLE__`, written by clang-offload-bundler, in its binary form.
    Bundle,
    /// `CCOB`, a compressed bundle.
    Ccob,
    /// `50 ED 55 BA`, written by NVIDIA's fatbinary.
    CudaFatbin,
    /// A section that is an entry of a bundle.
    BundleSection,
    /// An image of SYCL in a section of images.
    SyclImage,
    /// No container at all: a device ELF file that stands where containers are looked for.
    DeviceElf,
    /// The same of PTX, LLVM bitcode and SPIR-V.
    Ptx,
    Bitcode,
    SpirV,
}

impl ContainerType {
    pub const ALL: [ContainerType; 10] = [
        ContainerType::OffloadBinary,
        ContainerType::Bundle,
        ContainerType::Ccob,
        ContainerType::CudaFatbin,
        ContainerType::SyclImage,
        ContainerType::BundleSection,
        ContainerType::DeviceElf,
        ContainerType::Ptx,
        ContainerType::Bitcode,
        ContainerType::SpirV,
    ];

    /// The type with this name.
    pub fn named(name: &str) -> Option<ContainerType> {
        ContainerType::ALL.into_iter().find(|it| it.name() == name)
    }

    /// The name that users see.
    pub fn name(self) -> &'static str {
        match self {
            ContainerType::OffloadBinary => "offload-binary",
            ContainerType::Bundle => "bundle",
            ContainerType::Ccob => "ccob",
            ContainerType::CudaFatbin => "cuda-fatbin",
            ContainerType::BundleSection => "bundle-section",
            ContainerType::SyclImage => "sycl-image",
            ContainerType::DeviceElf => "device-elf",
            ContainerType::Ptx => "ptx",
            ContainerType::Bitcode => "bitcode",
            ContainerType::SpirV => "spirv",
        }
    }
}

/// A container and the images in it, borrowed from the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container<'data> {
    pub container_type: ContainerType,
    /// The format's version, where it has one.
    pub version: Option<u32>,
    /// Exactly the bytes of the container.
    pub view: View<'data>,
    pub contents: Contents<'data>,
}

/// What a container holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents<'data> {
    Images(Vec<Image<'data>>),
    /// A container that has to be restored before it can be read.
    Compressed(Compressed<'data>),
}

impl<'data> Container<'data> {
    /// Its images; none where it has to be restored first.
    pub fn images(&self) -> &[Image<'data>] {
        match &self.contents {
            Contents::Images(images) => images,
            Contents::Compressed(_) => &[],
        }
    }
}

/// A container that is stored compressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compressed<'data> {
    pub codec: Codec,
    /// The stream.
    pub stored: View<'data>,
    /// The bytes that the stream gives.
    pub full_size: u64,
    /// What stands in front of them in the restored container.
    pub front: Vec<u8>,
    /// What the container says that comes out, where it does.
    pub hash: Option<ccob::StoredHash>,
}

impl Compressed<'_> {
    /// The container as it was before it was compressed.
    pub fn restore(&self, limit: Limit) -> Result<Vec<u8>, Malformed> {
        let full = codec::decompress(self.codec, self.stored, self.full_size, limit)?;
        if let Some(hash) = self.hash {
            hash.verify(&full)?;
        }
        Ok(self.behind_its_front(full))
    }

    /// The same of what was restored before. The hash was verified then, and takes four times as long as all else.
    pub fn restore_again(&self, limit: Limit) -> Result<Vec<u8>, Malformed> {
        codec::decompress(self.codec, self.stored, self.full_size, limit).map(|full| self.behind_its_front(full))
    }

    fn behind_its_front(&self, full: Vec<u8>) -> Vec<u8> {
        if self.front.is_empty() {
            return full;
        }
        let mut restored = self.front.clone();
        restored.extend(full);
        restored
    }
}

/// A device image and what its container says of it. What the container leaves open is taken from the image's own
/// header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image<'data> {
    /// Absent where the container does not say, or says something unknown.
    pub kind: Option<OffloadKind>,
    pub image_kind: ImageKind,
    pub triple: Option<String>,
    /// The processor, with features or suffix: `gfx90a:xnack+`, `sm_90a`.
    pub arch: Option<String>,
    /// The bundle entry id as it stands in the file.
    pub id: Option<&'data str>,
    /// What else the container says, as keys and values; `triple` and `arch` are among them.
    pub strings: Vec<(&'data str, &'data str)>,
    /// Values that mean something which is not known here.
    pub unknown: Vec<Unknown>,
    /// The image as it is stored.
    pub view: View<'data>,
    /// How it is stored; absent where the format knows one way only.
    pub codec: Option<Codec>,
    /// Its size once it is decompressed; absent where it is not compressed.
    pub full_size: Option<u64>,
    /// Where it stands in what the stored bytes give, if several images are compressed as one.
    pub part: Option<Part>,
}

/// A part of decompressed bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub offset: u64,
    /// The size of all of them.
    pub whole: u64,
}

/// A field of a container with a value that is not in its specification, kept to be reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unknown {
    pub field: &'static str,
    pub value: u64,
}

impl<'data> Image<'data> {
    /// An image with what the container says of it, completed from the image's header. Empty strings say nothing.
    fn new(view: View<'data>, kind: Option<OffloadKind>, triple: Option<&str>, arch: Option<&str>) -> Self {
        let own = DeviceImage::identify(view);
        let said = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
        Image {
            kind,
            image_kind: own.image_kind,
            triple: said(triple).or(own.triple.map(str::to_owned)),
            arch: said(arch).or(own.arch),
            id: None,
            strings: Vec::new(),
            unknown: Vec::new(),
            view,
            codec: None,
            full_size: None,
            part: None,
        }
    }

    /// The arch in the image's own header, where code for that is not code for what the container states.
    pub fn contradicting_arch(&self) -> Option<String> {
        let is_plain = matches!(self.codec, None | Some(Codec::None));
        let own = DeviceImage::identify(self.view).arch.filter(|_| is_plain)?;
        let stated = self.arch.as_ref()?;
        let agree = match (nvptx::Arch::parse(stated), nvptx::Arch::parse(&own)) {
            // Headers of cubins cannot state every suffix.
            (Some(stated), Some(own)) => stated.number == own.number && (own.suffix.is_none() || own == stated),
            // A container may narrow down what the code leaves open.
            _ => compatibility::serves(&own, stated).is_ok(),
        };
        (!agree).then_some(own)
    }

    /// What the image says of its maker, where it can be read without being decompressed.
    pub fn origin(&self) -> Origin {
        let is_plain = matches!(self.codec, None | Some(Codec::None));
        if is_plain { origin(self.image_kind, self.view) } else { Origin::default() }
    }

    /// The image itself, decompressed where it is stored compressed. An ELF file ends where its own headers say, and PTX
    /// before the NUL that ends it in memory; what follows is its container's affair.
    pub fn bytes(&self, limit: Limit) -> Result<Cow<'data, [u8]>, Malformed> {
        if matches!(self.codec, None | Some(Codec::None)) {
            return Ok(Cow::Borrowed(self.view.data()));
        }
        let mut full = Vec::new();
        self.decompress_into(&mut full, limit)?;
        let own = self.own_range(&full)?;
        full.truncate(own.end);
        full.drain(..own.start);
        Ok(Cow::Owned(full))
    }

    /// All that the stored bytes give, with the other images that are compressed together with this one.
    fn decompress_into(&self, full: &mut Vec<u8>, limit: Limit) -> Result<(), Malformed> {
        let whole = self.part.map_or(self.full_size.unwrap_or_default(), |part| part.whole);
        codec::decompress_into(full, self.codec.unwrap_or(Codec::None), self.view, whole, limit)
    }

    /// Returns the range of the image in these bytes.
    fn own_range(&self, full: &[u8]) -> Result<Range<usize>, Malformed> {
        let offset = self.part.map_or(0, |part| part.offset);
        image_range(self.image_kind, full, offset, self.full_size.unwrap_or_default())
            .map_err(|error| self.view.malformed(error.field, 0, error.cause))
    }
}

/// Returns the range of an image in a decompressed stream, in which the container states `offset` and `size`. An ELF file
/// ends where its headers state, and PTX before the NULs that end it in memory.
pub fn image_range(kind: ImageKind, stream: &[u8], offset: u64, size: u64) -> Result<Range<usize>, Malformed> {
    let own = View::new(stream).part("image in a group", 0, offset, size)?;
    let own_size = match kind {
        ImageKind::Ptx => without_nul(own.data()),
        // The headers of a truncated file state more than there is.
        _ => DeviceImage::identify(own).own_size.unwrap_or(size).min(size),
    };
    Ok(offset as usize..(offset + own_size) as usize)
}

/// How many bytes there are before the NULs at the end.
pub fn without_nul(text: &[u8]) -> u64 {
    text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last as u64 + 1)
}

/// A container format as the scanner needs it.
pub struct Format {
    pub container_type: ContainerType,
    /// The bytes that a container begins with.
    pub magic: &'static [u8],
    /// Reads the container that begins at the view's first byte. The view may go on behind the container; everything
    /// that is stated in the container is checked before it is believed, so that bytes which only look like the magic
    /// are an error.
    pub read: for<'data> fn(View<'data>) -> Result<Container<'data>, Malformed>,
}

/// Every format that is found by its magic.
pub const FORMATS: [Format; 4] = [
    Format {
        container_type: ContainerType::OffloadBinary,
        magic: &offload_binary::MAGIC,
        read: offload_binary::container,
    },
    Format { container_type: ContainerType::Bundle, magic: bundle::MAGIC, read: bundle::container },
    Format { container_type: ContainerType::Ccob, magic: &ccob::MAGIC, read: ccob::container },
    Format { container_type: ContainerType::CudaFatbin, magic: &cuda_fatbin::MAGIC, read: cuda_fatbin::container },
];

/// The format whose magic the view begins with.
pub fn of_magic(view: View) -> Option<&'static Format> {
    FORMATS.iter().find(|format| view.starts_with(format.magic))
}

/// Reads the container that begins at the view's first byte, or an image without one; `None` where neither does.
pub fn read(view: View<'_>) -> Option<Result<Container<'_>, Malformed>> {
    match of_magic(view) {
        Some(format) => Some((format.read)(view)),
        None => bare_image(view).map(Ok),
    }
}

/// Reads what begins at the view's first byte in a section of this name.
pub fn read_in_section<'data>(
    name: Option<&'data str>,
    view: View<'data>,
) -> Option<Result<Container<'data>, Malformed>> {
    match name.and_then(bundle_section::entry_id) {
        Some(id) => Some(bundle_section::container(id, view)),
        None => read(view),
    }
}

/// How many bytes are shown of what is not known.
const SHOWN: usize = 8;

/// The error for bytes that should begin a container and begin none.
pub fn not_a_container(field: &'static str, view: View<'_>) -> Malformed {
    let first: Vec<String> = view.data().iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
    view.malformed(field, 0, Cause::NotAContainer { first: first.join(" ") })
}

/// Whether the view holds a whole ELF file: readable headers and everything that they point to.
pub fn check_elf(view: View) -> Result<(), Malformed> {
    device_elf::read(view).map(|_| ())
}

/// The image without a container that begins at the view's first byte, where containers are to be expected: an ELF file
/// up to the end that it states, anything else up to the end of the view.
pub fn bare_image(view: View<'_>) -> Option<Container<'_>> {
    let container_type = match DeviceImage::identify(view).image_kind {
        ImageKind::Elf => return device_elf(view),
        ImageKind::Ptx => ContainerType::Ptx,
        ImageKind::Bitcode => ContainerType::Bitcode,
        ImageKind::SpirV => ContainerType::SpirV,
        _ => return None,
    };
    let contents = Contents::Images(vec![Image::new(view, None, None, None)]);
    Some(Container { container_type, version: None, view, contents })
}

/// A file that is a device image and nothing else. ELF files for host machines are programs and libraries here, whatever
/// they are elsewhere. One for a device whose headers do not hold, as of a download that was cut short, is an error: inside
/// a container it would be the runtime's to judge, but here nothing else would say that there is any device code.
pub fn bare_device_file(view: View<'_>) -> Option<Result<Container<'_>, Malformed>> {
    let Some(container) = bare_image(view) else { return device_elf::broken(view).map(Err) };
    let for_a_device = |image: &Image| [triple::AMDGCN, triple::NVPTX64].map(Some).contains(&image.triple.as_deref());
    let is_one = container.container_type != ContainerType::DeviceElf || container.images().iter().any(for_a_device);
    is_one.then_some(Ok(container))
}

/// The device ELF file that begins at the view's first byte, as a container of one image; `None` for any other bytes
/// and for a machine without a known triple.
pub fn device_elf(view: View<'_>) -> Option<Container<'_>> {
    let image = DeviceImage::identify(view);
    let view = view.part("ELF file", 0, 0, image.own_size?).ok()?;
    image.triple?;
    let contents = Contents::Images(vec![Image::new(view, None, None, None)]);
    Some(Container { container_type: ContainerType::DeviceElf, version: None, view, contents })
}
