//! What gets embedded for each image that the user names: the bytes, what they say of themselves, and the container
//! that lets other tools list them.

use std::ops::Range;

use crate::content::Content;
use crate::error::{Error, Result};
use crate::format::offload_binary::{self, Member, OffloadBinary};
use crate::format::{self, ContainerType, DeviceImage, ImageKind};
use crate::io::Input;
use crate::target::{OffloadKind, amdgpu};

/// What the user said of an image. What was not said is read from the image's own header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stated {
    pub triple: Option<String>,
    /// A processor, with features or suffix.
    pub arch: Option<String>,
}

/// Bytes to embed, and which of them are the image.
#[derive(Debug, PartialEq, Eq)]
pub struct EmbeddedImage<'data> {
    pub content: Content<'data>,
    pub image: Range<u64>,
}

/// Prepares one input: one image, or as many as it holds if it is a file of offload binaries already, which are
/// embedded as they are. `raw` leaves out the offload binary that is otherwise put around an image.
pub fn embed<'data>(
    input: &'data Input,
    stated: &Stated,
    kind: OffloadKind,
    raw: bool,
) -> Result<Vec<EmbeddedImage<'data>>> {
    if input.size() == 0 {
        return Err(Error::EmptyImage { path: input.path().to_owned() });
    }
    match format::of_magic(input.view()).map(|format| format.container_type) {
        Some(ContainerType::OffloadBinary) => embed_offload_binaries(input, stated, kind),
        Some(_) => {
            let (path, found) = (input.path().to_owned(), "an offload bundle");
            Err(Error::NotADeviceImage { path, found, remedy: "unbundle it and name the images in it" })
        }
        None => embed_image(input, stated, kind, raw).map(|image| vec![image]),
    }
}

fn embed_image<'data>(
    input: &'data Input,
    stated: &Stated,
    kind: OffloadKind,
    raw: bool,
) -> Result<EmbeddedImage<'data>> {
    let path = input.path();
    let view = input.view();
    let own = DeviceImage::identify(view);
    if own.image_kind == ImageKind::Elf {
        format::check_elf(view).map_err(|malformed| malformed.in_file(path))?;
    }
    if let (Some(stated), Some(found)) = (&stated.arch, &own.arch)
        && amdgpu::processor(stated) != amdgpu::processor(found)
    {
        return Err(Error::ArchMismatch { path: path.to_owned(), stated: stated.clone(), found: found.clone() });
    }
    if raw {
        return Ok(EmbeddedImage { content: Content::from(view.data()), image: 0..view.size() });
    }
    let triple = stated.triple.as_deref().or(own.triple);
    let triple = triple.ok_or_else(|| Error::UnknownTriple { path: path.to_owned() })?;
    let arch = stated.arch.as_deref().or(own.arch.as_deref()).unwrap_or_default();
    // Both are always there, as in the binaries that clang-linker-wrapper writes, and in this order.
    let strings = [("arch", arch), ("triple", triple)];
    let image_kind = offload_binary::image_kind_of(own.image_kind);
    let member = Member { image_kind, offload_kind: kind.bit(), flags: 0, strings: &strings, image: view.data() };
    let written = offload_binary::write(&member).ok_or_else(|| Error::TooLarge { path: path.to_owned() })?;
    Ok(EmbeddedImage { content: written.content, image: written.image })
}

fn embed_offload_binaries<'data>(
    input: &'data Input,
    stated: &Stated,
    kind: OffloadKind,
) -> Result<Vec<EmbeddedImage<'data>>> {
    let path = input.path();
    if let Some((property, value)) = stated.first() {
        return Err(Error::StatedForOffloadBinary { path: path.to_owned(), property, value: value.to_owned() });
    }
    let mut images = Vec::new();
    let mut rest = input.view();
    while rest.size() > 0 {
        let binary = OffloadBinary::read(rest).map_err(|malformed| malformed.in_file(path))?;
        if binary.offload_kind != kind.bit() {
            let found = match OffloadKind::from_bit(binary.offload_kind) {
                Some(kind) => kind.name().to_owned(),
                None => format!("offload kind {}", binary.offload_kind),
            };
            return Err(Error::KindMismatch { path: path.to_owned(), found, wanted: kind.name() });
        }
        if binary.image.size() == 0 {
            return Err(Error::EmptyImage { path: path.to_owned() });
        }
        let start = binary.image.start() - binary.view.start();
        let image = start..start + binary.image.size();
        images.push(EmbeddedImage { content: Content::from(binary.view.data()), image });
        rest = rest.from(binary.view.size());
    }
    Ok(images)
}

impl Stated {
    /// The first thing that was said, with its name on the command line.
    fn first(&self) -> Option<(&'static str, &str)> {
        let triple = self.triple.as_deref().map(|value| ("triple", value));
        triple.or(self.arch.as_deref().map(|value| ("arch", value)))
    }
}
