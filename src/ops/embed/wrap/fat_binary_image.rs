//! The single fat binary that CUDA and HIP register: an existing one unchanged, or one built from images.
//!
//! HIP's fat binary is an offload bundle. Its first entry is empty and for the host, and each code object is aligned to
//! 4096 bytes, as `clang-offload-bundler -bundle-align=4096` makes it. CUDA's is NVIDIA's container of cubins and PTX.

use std::path::Path;

use super::embedded::{EmbeddedImage, SourceImage};
use super::error::ImageError;
use fatbin_core::base::bytes::View;
use fatbin_core::base::content::Content;
use fatbin_core::base::error::Malformed;
use fatbin_core::format::{self, DeviceImage, ImageKind, RegisteringRuntime, bundle, cuda_fatbin};
use fatbin_core::target::{OffloadKind, Platform, TargetId, compatibility, nvptx, subarch, triple};

/// Result of building a fat binary.
type Result<T, E = ImageError> = std::result::Result<T, E>;

/// Returns the fat binary for `kind`, CUDA or HIP; `host` is the triple of the host's entry in a bundle. With `raw`, a
/// single source is embedded unchanged and unchecked: the runtimes read it only when something is launched.
pub fn fat_binary<'data>(
    sources: &[SourceImage<'data>],
    kind: OffloadKind,
    raw: bool,
    host: &str,
) -> Result<EmbeddedImage<'data>> {
    let content = match sources {
        [source] if raw || is_fat_binary(source.view, kind) => {
            source.target.reject_for_container(source.path)?;
            if !raw {
                check_containers(source.view).map_err(|malformed| malformed.in_file(source.path))?;
            }
            Content::from(source.view.data())
        }
        _ if kind == OffloadKind::Cuda => build_cuda_fatbin(sources)?,
        _ => build_hip_bundle(sources, host)?,
    };
    Ok(EmbeddedImage { image: 0..content.size(), content, ..Default::default() })
}

fn is_fat_binary(view: View, kind: OffloadKind) -> bool {
    let runtime = if kind == OffloadKind::Cuda { RegisteringRuntime::Cuda } else { RegisteringRuntime::Hip };
    // HIP's runtime decompresses compressed bundles of every version.
    format::of_magic(view).is_some_and(|format| format.container_type.descriptor().registered_with == Some(runtime))
}

/// Checks that the containers at the start of a file, with padding between them, are complete.
fn check_containers(mut rest: View<'_>) -> Result<(), Malformed> {
    while let Some(format) = format::of_magic(rest) {
        rest = rest.from((format.read)(rest)?.view.size()).skip_zeros();
    }
    Ok(())
}

/// An image for the GPUs of one vendor.
struct GpuImage<'data> {
    path: &'data Path,
    bytes: &'data [u8],
    image_kind: ImageKind,
    arch: String,
}

/// Checks that a source is an image for this triple, and determines its processor.
fn gpu_image<'data>(source: &SourceImage<'data>, kind: OffloadKind, triple: &str) -> Result<GpuImage<'data>> {
    let path = source.path;
    let view = source.view;
    if view.size() == 0 {
        return Err(ImageError::Empty { path: path.to_owned() });
    }
    let own = DeviceImage::identify(view);
    format::check_image_file(own.image_kind, view).map_err(|malformed| malformed.in_file(path))?;
    let found = source.target.triple.as_deref().or(own.triple.as_deref());
    let is_other = |found: &str| subarch::legacy_triple(found) != triple;
    if found.is_none_or(is_other) || own.triple.as_deref().is_some_and(is_other) {
        let found = describe(own.image_kind, found);
        let remedy = match kind {
            OffloadKind::Cuda => "CUDA takes cubins and PTX, or one CUDA fat binary",
            _ => "HIP takes AMD code objects, or one offload bundle",
        };
        return Err(ImageError::NotADeviceImage { path: path.to_owned(), found, remedy });
    }
    if own.is_unlinked {
        let found = format!("relocatable {}", describe(own.image_kind, found));
        return Err(ImageError::NotADeviceImage { path: path.to_owned(), found, remedy: "link it first" });
    }
    source.target.check_against(&own, path)?;
    source.target.check_existence(&own, path)?;
    let stated = source.target.arch.as_deref();
    let arch = subarch::image_arch(found.unwrap_or_default(), stated, own.arch.as_deref()).map(canonical);
    let arch = arch.ok_or_else(|| ImageError::UnknownArch { path: path.to_owned() })?;
    Ok(GpuImage { path, bytes: view.data(), image_kind: own.image_kind, arch })
}

/// Returns the canonical form of an arch, or the arch itself if it has none.
fn canonical(arch: &str) -> String {
    TargetId::parse(arch).map_or_else(|_| arch.to_owned(), |id| id.to_string())
}

pub fn describe(kind: ImageKind, triple: Option<&str>) -> String {
    match (kind, triple) {
        (ImageKind::Ptx, _) => "PTX".to_owned(),
        (ImageKind::Unknown, None) => "of unknown kind".to_owned(),
        (kind, Some(triple)) => {
            let taken = match Platform::of(Some(triple), None) {
                Some(Platform::Amd) => ", which HIP takes",
                Some(Platform::Nvidia) => ", which CUDA takes",
                _ => "",
            };
            format!("{} for {triple}{taken}", kind.name())
        }
        (kind, None) => format!("{} for an unknown target", kind.name()),
    }
}

fn build_hip_bundle<'data>(sources: &[SourceImage<'data>], host: &str) -> Result<Content<'data>> {
    let mut ids = vec![format!("host-{host}-")];
    let mut code_objects: Vec<&[u8]> = vec![&[]];
    for source in sources {
        let image = gpu_image(source, OffloadKind::Hip, triple::AMDGCN)?;
        let id = format!("hipv4-{}--{}", triple::AMDGCN, image.arch);
        if ids.contains(&id) {
            return Err(ImageError::Duplicate { path: image.path.to_owned(), arch: image.arch });
        }
        ids.push(id);
        code_objects.push(image.bytes);
    }
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    if let Some((one, other)) = compatibility::conflicting_entries(&ids) {
        return Err(ImageError::Conflict { one, other });
    }
    let entries: Vec<(&str, &[u8])> = ids.into_iter().zip(code_objects).collect();
    bundle::write(&entries, bundle::HIP_ALIGNMENT).ok_or_else(|| too_large(sources))
}

fn build_cuda_fatbin<'data>(sources: &[SourceImage<'data>]) -> Result<Content<'data>> {
    let mut known = Vec::new();
    let mut members = Vec::new();
    for source in sources {
        let image = gpu_image(source, OffloadKind::Cuda, triple::NVPTX64)?;
        // A cubin cannot record that it is for a family; the user can specify it.
        let suffix = nvptx::Arch::parse(&image.arch).and_then(|arch| arch.suffix);
        let member = cuda_fatbin::FatbinImage::new(source.view, suffix);
        members.push(member.map_err(|malformed| malformed.in_file(image.path))?);
        let id = (image.image_kind, image.arch.clone());
        if known.contains(&id) {
            return Err(ImageError::Duplicate { path: image.path.to_owned(), arch: image.arch });
        }
        known.push(id);
    }
    cuda_fatbin::write(&members).ok_or_else(|| too_large(sources))
}

fn too_large(sources: &[SourceImage]) -> ImageError {
    let path = sources.first().map(|source| source.path.to_owned()).unwrap_or_default();
    ImageError::TooLarge { path }
}
