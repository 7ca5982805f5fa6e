//! What gets embedded for each image that the user names: the bytes, what they say of themselves, and the container
//! that lets other tools list them.

use std::ops::Range;
use std::path::Path;

use crate::content::Content;
use crate::error::{Error, Result};
use crate::format::offload_binary::{self, Contents, Member, OffloadBinary, Version, Written};
use crate::format::{self, ContainerType, DeviceImage, ImageKind};
use crate::io::Input;
use crate::rewrite::openmp_notes;
use crate::target::{OffloadKind, amdgpu, nvptx};

/// What the user said of an image. What was not said is read from the image's own header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stated {
    pub triple: Option<String>,
    /// A processor, with features or suffix.
    pub arch: Option<String>,
}

/// Bytes to embed, which of them are the image, and what is known of it; what is not known is empty.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct EmbeddedImage<'data> {
    pub content: Content<'data>,
    pub image: Range<u64>,
    pub triple: String,
    pub arch: String,
    /// As an offload binary has it, see [`offload_binary::image_kind`].
    pub image_kind: u16,
    pub compile_options: String,
    pub link_options: String,
    /// Names of the kernels in it, where the offload binary around it lists them.
    pub symbols: Vec<String>,
}

/// How images are embedded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Embedding {
    pub kind: OffloadKind,
    /// What is put around an image that is no offload binary yet.
    pub form: Form,
}

/// What is put around an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    OffloadBinary,
    Raw,
    /// Nothing around it, but notes in it that say who made it.
    RawWithNotes,
}

/// Prepares one input: one image, or as many as it holds if it is a file of offload binaries already, which are
/// embedded as they are.
pub fn embed<'data>(input: &'data Input, stated: &Stated, how: Embedding) -> Result<Vec<EmbeddedImage<'data>>> {
    if input.size() == 0 {
        return Err(Error::EmptyImage { path: input.path().to_owned() });
    }
    match format::of_magic(input.view()).map(|format| format.container_type) {
        Some(ContainerType::OffloadBinary) => embed_offload_binaries(input, stated, how.kind),
        Some(_) => {
            let (path, found) = (input.path().to_owned(), "a fat binary".to_owned());
            Err(Error::NotADeviceImage { path, found, remedy: "extract its images and name them" })
        }
        None => embed_image(input, stated, how).map(|image| vec![image]),
    }
}

fn embed_image<'data>(input: &'data Input, stated: &Stated, how: Embedding) -> Result<EmbeddedImage<'data>> {
    let path = input.path();
    let view = input.view();
    let own = DeviceImage::identify(view);
    if own.image_kind == ImageKind::Elf {
        format::check_elf(view).map_err(|malformed| malformed.in_file(path))?;
    }
    stated.agrees_with(&own, path)?;
    let triple = stated.triple.as_deref().or(own.triple);
    let arch = stated.arch.as_deref().or(own.arch.as_deref()).unwrap_or_default();
    let image_kind = offload_binary::image_kind_of(own.image_kind);
    let about = |content, image| EmbeddedImage {
        content,
        image,
        triple: triple.unwrap_or_default().to_owned(),
        arch: arch.to_owned(),
        image_kind,
        ..Default::default()
    };
    match how.form {
        Form::OffloadBinary => {}
        Form::Raw => return Ok(about(Content::from(view.data()), 0..view.size())),
        Form::RawWithNotes => {
            let noted = openmp_notes::add(view, env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
            let noted = noted.map_err(|malformed| malformed.in_file(path))?;
            let size = noted.size();
            return Ok(about(noted, 0..size));
        }
    }
    let triple = triple.ok_or_else(|| Error::UnknownTriple { path: path.to_owned() })?;
    // Both are always there, as in the binaries that clang-linker-wrapper writes, and in this order.
    let strings = [("arch", arch), ("triple", triple)];
    let member = Member { image_kind, offload_kind: how.kind.bit(), flags: 0, strings: &strings, image: view.data() };
    let (content, image) = one_binary(&member, path)?;
    Ok(about(content, image))
}

fn embed_offload_binaries<'data>(
    input: &'data Input,
    stated: &Stated,
    kind: OffloadKind,
) -> Result<Vec<EmbeddedImage<'data>>> {
    let path = input.path();
    stated.refuse_for_container(path)?;
    let mut images = Vec::new();
    let mut rest = input.view();
    while rest.size() > 0 {
        let binary = OffloadBinary::read(rest).map_err(|malformed| malformed.in_file(path))?;
        if let Contents::Compressed(_) = binary.contents {
            let (path, found) = (path.to_owned(), "a compressed offload binary, which no runtime reads".to_owned());
            return Err(Error::NotADeviceImage { path, found, remedy: "extract its images and name them" });
        }
        for entry in binary.entries() {
            images.push(embed_entry(&binary, entry, kind, path)?);
        }
        rest = rest.from(binary.view.size());
    }
    Ok(images)
}

fn embed_entry<'data>(
    binary: &OffloadBinary<'data>,
    entry: &offload_binary::Entry<'data>,
    kind: OffloadKind,
    path: &Path,
) -> Result<EmbeddedImage<'data>> {
    if entry.offload_kind != kind.bit() {
        let found = match OffloadKind::from_bit(entry.offload_kind) {
            Some(kind) => kind.name().to_owned(),
            None => format!("offload kind {}", entry.offload_kind),
        };
        return Err(Error::KindMismatch { path: path.to_owned(), found, wanted: kind.name() });
    }
    if entry.image.size() == 0 {
        return Err(Error::EmptyImage { path: path.to_owned() });
    }
    let (content, image) = if binary.version == Version::One {
        let start = entry.image.start() - binary.view.start();
        (Content::from(binary.view.data()), start..start + entry.image.size())
    } else {
        // The runtimes of all releases read version 1 and nothing else.
        let member = Member {
            image_kind: entry.image_kind,
            offload_kind: entry.offload_kind,
            flags: 0,
            strings: &entry.strings,
            image: entry.image.data(),
        };
        one_binary(&member, path)?
    };
    let text = |key| entry.string(key).unwrap_or_default().to_owned();
    Ok(EmbeddedImage {
        content,
        image,
        triple: text("triple"),
        arch: text("arch"),
        image_kind: entry.image_kind,
        compile_options: text("compile-opts"),
        link_options: text("link-opts"),
        symbols: text("symbols").split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
    })
}

/// A binary of version 1 around one image, and where in it the image is.
fn one_binary<'data>(member: &Member<'_, 'data>, path: &Path) -> Result<(Content<'data>, Range<u64>)> {
    let written = offload_binary::write(Version::One, std::slice::from_ref(member));
    let Written { content, mut images } = written.ok_or_else(|| Error::TooLarge { path: path.to_owned() })?;
    Ok((content, images.remove(0)))
}

impl Stated {
    /// Nothing may be said of an image in a container, which says it itself.
    pub fn refuse_for_container(&self, path: &Path) -> Result<()> {
        let stated = [("triple", &self.triple), ("arch", &self.arch)];
        match stated.into_iter().find_map(|(property, value)| Some((property, value.clone()?))) {
            Some((property, value)) => Err(Error::StatedForContainer { path: path.to_owned(), property, value }),
            None => Ok(()),
        }
    }

    /// The processor may be said again, with features or a suffix that the header cannot state, but not another one.
    pub fn agrees_with(&self, own: &DeviceImage, path: &Path) -> Result<()> {
        match (&self.arch, &own.arch) {
            (Some(stated), Some(found)) if !same_processor(stated, found) => {
                let (path, stated, found) = (path.to_owned(), stated.clone(), found.clone());
                Err(Error::ArchMismatch { path, stated, found })
            }
            _ => Ok(()),
        }
    }
}

fn same_processor(a: &str, b: &str) -> bool {
    match (nvptx::Arch::parse(a), nvptx::Arch::parse(b)) {
        (Some(a), Some(b)) => a.number == b.number,
        _ => amdgpu::processor(a) == amdgpu::processor(b),
    }
}
