//! The one fat binary that CUDA and HIP register: taken as it is, or made of the images that the user names.
//!
//! HIP's is an offload bundle with an empty entry for the host in front, each code object aligned to 4096 bytes, as
//! `clang-offload-bundler -bundle-align=4096` makes it. CUDA's is NVIDIA's container of cubins and PTX.

use std::path::Path;

use super::embedded::{EmbeddedImage, Stated};
use crate::content::Content;
use crate::error::{Error, Result};
use crate::format::{self, ContainerType, DeviceImage, ImageKind, bundle, ccob, cuda_fatbin};
use crate::io::Input;
use crate::target::{OffloadKind, nvptx, triple};

/// What code objects in a bundle for HIP are aligned to, in bytes; its loader maps pages.
const BUNDLE_ALIGNMENT: u64 = 4096;

/// The fat binary for `kind`, CUDA or HIP, of these inputs; `host` is the triple of the host's entry in a bundle. With
/// `raw` a single input is taken for one whatever it is: the runtimes look at it only when something is launched.
pub fn fat_binary<'data>(
    inputs: &[(&'data Input, &Stated)],
    kind: OffloadKind,
    raw: bool,
    host: &str,
) -> Result<EmbeddedImage<'data>> {
    let content = match inputs {
        [(input, stated)] if raw || is_fat_binary(input, kind) => {
            stated.refuse_for_container(input.path())?;
            Content::from(input.view().data())
        }
        _ if kind == OffloadKind::Cuda => cuda(inputs)?,
        _ => hip(inputs, host)?,
    };
    Ok(EmbeddedImage { image: 0..content.size(), content, ..Default::default() })
}

fn is_fat_binary(input: &Input, kind: OffloadKind) -> bool {
    let view = input.view();
    match kind {
        OffloadKind::Cuda => DeviceImage::identify(view).image_kind == ImageKind::Fatbin,
        _ => {
            let found = format::of_magic(view).map(|format| format.container_type);
            // HIP's runtime decompresses a compressed bundle, whatever its version.
            found == Some(ContainerType::Bundle) || view.starts_with(&ccob::MAGIC)
        }
    }
}

/// An image for the GPUs of one vendor, and the processor it is for.
struct GpuImage<'data> {
    path: &'data Path,
    bytes: &'data [u8],
    image_kind: ImageKind,
    arch: String,
}

/// Checks that an input is an image for this triple, and what it is for.
fn gpu_image<'data>(input: &'data Input, stated: &Stated, kind: OffloadKind, triple: &str) -> Result<GpuImage<'data>> {
    let path = input.path();
    if input.size() == 0 {
        return Err(Error::EmptyImage { path: path.to_owned() });
    }
    let own = DeviceImage::identify(input.view());
    if own.image_kind == ImageKind::Elf {
        format::check_elf(input.view()).map_err(|malformed| malformed.in_file(path))?;
    }
    let stated_triple = stated.triple.as_deref();
    if stated_triple.or(own.triple) != Some(triple) || own.triple.is_some_and(|own| own != triple) {
        let found = describe(own.image_kind, stated_triple.or(own.triple));
        let takes = match kind {
            OffloadKind::Cuda => "CUDA takes cubins and PTX, or one CUDA fat binary",
            _ => "HIP takes AMD code objects, or one offload bundle",
        };
        return Err(Error::NotADeviceImage { path: path.to_owned(), found, remedy: takes });
    }
    stated.agrees_with(&own, path)?;
    let arch = stated.arch.clone().or(own.arch).ok_or_else(|| Error::UnknownArch { path: path.to_owned() })?;
    Ok(GpuImage { path, bytes: input.view().data(), image_kind: own.image_kind, arch })
}

fn describe(kind: ImageKind, triple: Option<&str>) -> String {
    match (kind, triple) {
        (ImageKind::Ptx, _) => "PTX".to_owned(),
        (ImageKind::Unknown, None) => "of no known kind".to_owned(),
        (kind, Some(triple)) => format!("{} for {triple}", kind.name()),
        (kind, None) => format!("{} for no known target", kind.name()),
    }
}

fn hip<'data>(inputs: &[(&'data Input, &Stated)], host: &str) -> Result<Content<'data>> {
    let mut ids = vec![format!("host-{host}-")];
    let mut code_objects: Vec<&[u8]> = vec![&[]];
    for (input, stated) in inputs {
        let image = gpu_image(input, stated, OffloadKind::Hip, triple::AMDGCN)?;
        let id = format!("hipv4-{}--{}", triple::AMDGCN, image.arch);
        if ids.contains(&id) {
            return Err(Error::DuplicateImage { path: image.path.to_owned(), arch: image.arch });
        }
        ids.push(id);
        code_objects.push(image.bytes);
    }
    let entries: Vec<(&str, &[u8])> = ids.iter().map(String::as_str).zip(code_objects).collect();
    bundle::write(&entries, BUNDLE_ALIGNMENT).ok_or_else(|| too_large(inputs))
}

fn cuda<'data>(inputs: &[(&'data Input, &Stated)]) -> Result<Content<'data>> {
    let mut known = Vec::new();
    let mut members = Vec::new();
    for (input, stated) in inputs {
        let image = gpu_image(input, stated, OffloadKind::Cuda, triple::NVPTX64)?;
        // A cubin cannot state that it is for a family; whoever compiled it can.
        let suffix = nvptx::Arch::parse(&image.arch).and_then(|arch| arch.suffix);
        let member = cuda_fatbin::Member::new(input.view(), suffix);
        members.push(member.map_err(|malformed| malformed.in_file(image.path))?);
        let id = (image.image_kind, image.arch.clone());
        if known.contains(&id) {
            return Err(Error::DuplicateImage { path: image.path.to_owned(), arch: image.arch });
        }
        known.push(id);
    }
    cuda_fatbin::write(&members).ok_or_else(|| too_large(inputs))
}

fn too_large(inputs: &[(&Input, &Stated)]) -> Error {
    Error::TooLarge { path: inputs[0].0.path().to_owned() }
}
