//! Recognition of containers, and of images without one.

use super::container_type::Recognition;
use super::device_image::is_device_code;
use super::{
    Compressed, CompressedContents, ContainerType, ContainerView, Contents, DeviceImage, ImageKind, ImageView, bitcode,
    bundle, bundle_section, ccob, cuda_fatbin, dx_container, hcf, kpack, lto_ir, metal_archive, metal_binary,
    metal_library, ocloc_archive, ocloc_name, offload_binary, oxart, patch_tokens, ptx, spirv, syclbin, tile_ir,
};
use crate::base::bytes::View;
use crate::base::error::{Cause, Malformed};

/// Reads the container that begins at the view's first byte.
///
/// The view may extend beyond the container. Everything that the container states is checked before it is used, so
/// bytes that only resemble the magic are an error.
pub type ReadContainer = for<'data> fn(View<'data>) -> Result<ContainerView<'data>, Malformed>;

/// A container format that is found by its magic.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// Type of the containers.
    pub container_type: ContainerType,
    /// The bytes that a container begins with.
    pub magic: &'static [u8],
    /// Reader of a container.
    pub read: ReadContainer,
}

/// Every format that is found by its magic, in the order of `ContainerType::ALL`.
pub const FORMATS: [Format; format_count()] = formats();

/// `None` for types without a magic.
const fn reader(container_type: ContainerType) -> Option<ReadContainer> {
    match container_type {
        ContainerType::OffloadBinary => Some(offload_binary::container),
        ContainerType::Bundle => Some(bundle::container),
        ContainerType::Ccob => Some(ccob::container),
        ContainerType::CudaFatbin => Some(cuda_fatbin::container),
        ContainerType::Kpack => Some(kpack::container),
        ContainerType::Oxart => Some(oxart::container),
        ContainerType::MetalLibrary => Some(metal_library),
        ContainerType::SyclBin => Some(syclbin::container),
        ContainerType::DxContainer => Some(dx_container::container),
        ContainerType::Hcf => Some(hcf::container),
        ContainerType::MetalArchive => Some(metal_archive::container),
        ContainerType::MetalBinary
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
        | ContainerType::Embedded => None,
    }
}

#[expect(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "evaluated by the compiler")]
const fn format_count() -> usize {
    let mut count = 0;
    let mut index = 0;
    while index < ContainerType::ALL.len() {
        if let Recognition::Magic(_) = ContainerType::ALL[index].descriptor().recognition {
            count += 1;
        }
        index += 1;
    }
    count
}

#[expect(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "evaluated by the compiler")]
const fn formats() -> [Format; format_count()] {
    let first = Format { container_type: ContainerType::OffloadBinary, magic: &[], read: offload_binary::container };
    let mut formats = [first; format_count()];
    let mut count = 0;
    let mut index = 0;
    while index < ContainerType::ALL.len() {
        let container_type = ContainerType::ALL[index];
        // A type with a magic and no reader does not compile, nor does a type with a reader and no magic.
        match (container_type.descriptor().recognition, reader(container_type)) {
            (Recognition::Magic(magic), Some(read)) => {
                formats[count] = Format { container_type, magic, read };
                count += 1;
            }
            (Recognition::Magic(_), None) | (_, Some(_)) => panic!("a magic needs a reader"),
            (_, None) => {}
        }
        index += 1;
    }
    formats
}

/// Returns the format whose magic the view begins with.
pub fn of_magic(view: View) -> Option<&'static Format> {
    FORMATS.iter().find(|format| view.starts_with(format.magic))
}

/// Reads the container at the view's first byte, or the image without a container; `None` if there is neither.
pub fn read(view: View<'_>) -> Option<Result<ContainerView<'_>, Malformed>> {
    match of_magic(view) {
        Some(format) => Some((format.read)(view)),
        None => bare_image(view).map(Ok),
    }
}

/// Like [`read`], in a section of this name.
pub fn read_in_section<'data>(
    name: Option<&'data str>,
    view: View<'data>,
) -> Option<Result<ContainerView<'data>, Malformed>> {
    match name.and_then(bundle_section::entry_id) {
        Some(id) => Some(bundle_section::container(id, view)),
        None => read(view),
    }
}

/// Reads the container at the start of a view of an image; `None` if there is none.
pub fn read_in_image<'data>(
    image: &ImageView<'_>,
    view: View<'data>,
) -> Option<Result<ContainerView<'data>, Malformed>> {
    let can_be_image = |format: &&Format| format.container_type.descriptor().image_kind.is_some();
    match of_magic(view) {
        Some(format) => can_be_image(&format).then(|| (format.read)(view)),
        None if ocloc_name::is_archive(view) => {
            Some(ocloc_archive::container(image.kind, image.triple.as_deref(), view))
        }
        None => None,
    }
}

/// Reads the container at the view's first byte. It is compressed as a whole, and the scan has found its type.
pub fn compressed_container(container_type: ContainerType, view: View<'_>) -> Result<Compressed<'_>, Malformed> {
    let container = match container_type {
        ContainerType::SyclImage => Some(bundle_section::container(bundle_section::UNNAMED, view)),
        _ => read(view),
    };
    match container {
        Some(Ok(ContainerView { contents: Contents::Compressed(compressed), .. })) => Ok(compressed),
        Some(Err(error)) => Err(error),
        _ => Err(not_a_container("compressed container", view)),
    }
}

/// Returns the images in the decompressed bytes of a container.
pub fn compressed_images<'data>(
    contents: CompressedContents<'_>,
    view: View<'data>,
) -> Result<Vec<ImageView<'data>>, Malformed> {
    match contents {
        CompressedContents::SyclImage { kind, triple } => Ok(vec![ImageView::new(view, kind, triple, None)]),
        CompressedContents::Container => match read(view) {
            Some(Ok(ContainerView { contents: Contents::Images(images), .. })) => Ok(images),
            Some(Ok(_)) => Err(view.malformed("compressed container", 0, Cause::CompressedTwice)),
            Some(Err(error)) => Err(error),
            None => Err(not_a_container("compressed container", view)),
        },
    }
}

/// Number of bytes that an error shows.
const SHOWN: usize = 8;

/// Returns the error for bytes that are not a container.
pub fn not_a_container(field: &'static str, view: View<'_>) -> Malformed {
    let first: Vec<String> = view.data().iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
    view.malformed(field, 0, Cause::NotAContainer { first: first.join(" ") })
}

/// Reads the Metal library at the start of a view as a container of one image.
pub fn metal_library(view: View<'_>) -> Result<ContainerView<'_>, Malformed> {
    let library = metal_library::MetalLibrary::read(view)?;
    if let Some(first) = library.functions().next() {
        first?;
    }
    Ok(container_of_image(ContainerType::MetalLibrary, library.view))
}

/// Checks that the view is a complete ELF file: its headers and everything that they point to.
pub fn check_elf(view: View) -> Result<(), Malformed> {
    super::device_elf::read(view).map(|_| ())
}

/// Checks that an image of this kind is complete, if its format allows such a check. The view contains nothing else.
pub fn check_image(image_kind: ImageKind, view: View<'_>) -> Result<(), Malformed> {
    match image_kind {
        ImageKind::Elf | ImageKind::DebugElf => check_elf(view),
        ImageKind::Ptx => ptx::check(view),
        ImageKind::SpirV => spirv::check(view),
        ImageKind::Bitcode => bitcode::check(view),
        ImageKind::TileIr => tile_ir::TileIr::read(view).map(|_| ()),
        ImageKind::MetalLibrary => metal_library::check(view),
        ImageKind::MetalBinary => metal_binary::check(view),
        ImageKind::PatchTokens => patch_tokens::Program::read(view).map(|_| ()),
        ImageKind::Fatbin
        | ImageKind::OffloadBinary
        | ImageKind::Bundle
        | ImageKind::CompressedBundle
        | ImageKind::SyclBin
        | ImageKind::DxContainer => of_magic(view).map_or(Ok(()), |format| (format.read)(view).map(|_| ())),
        ImageKind::OclocArchive => ocloc_archive::members(view).map(|_| ()),
        ImageKind::Nvvm
        | ImageKind::OptixIr
        | ImageKind::Metadata
        | ImageKind::Empty
        | ImageKind::HostObject
        | ImageKind::Unknown => Ok(()),
    }
}

/// Checks a file that is an image of this kind.
pub fn check_image_file(image_kind: ImageKind, view: View<'_>) -> Result<(), Malformed> {
    match image_kind {
        ImageKind::Ptx => ptx::check_file(view),
        ImageKind::SpirV => spirv::check_file(view),
        _ => check_image(image_kind, view),
    }
}

/// Reads the image without a container at the view's first byte, where containers are expected: an ELF file up to its
/// own end, anything else up to the end of the view.
pub fn bare_image(view: View<'_>) -> Option<ContainerView<'_>> {
    let container_type = match DeviceImage::identify(view).image_kind {
        ImageKind::Elf => return device_elf(view),
        ImageKind::Ptx => ContainerType::Ptx,
        ImageKind::Bitcode => ContainerType::Bitcode,
        ImageKind::SpirV => ContainerType::SpirV,
        ImageKind::Nvvm => return Some(lto_ir_file(view)),
        ImageKind::OptixIr => ContainerType::OptixIr,
        ImageKind::TileIr => ContainerType::TileIr,
        ImageKind::MetalBinary => ContainerType::MetalBinary,
        ImageKind::PatchTokens => ContainerType::PatchTokens,
        _ => return None,
    };
    Some(container_of_image(container_type, view))
}

/// Reads a file that is a device image without a container. ELF files and bitcode for host machines are excluded. A
/// device ELF file with malformed headers, such as a truncated download, is an error: inside a container the runtime
/// would decide, but here nothing else would indicate device code.
pub fn bare_device_file(view: View<'_>) -> Option<Result<ContainerView<'_>, Malformed>> {
    let Some(container) = bare_image(view) else { return super::device_elf::broken(view).map(Err) };
    let is_one = container.images().iter().any(|image| is_device_code(image.image_kind, image.triple.as_deref()));
    is_one.then_some(Ok(container))
}

/// Reads the device ELF file at the view's first byte as a container of one image; `None` for any other bytes and for a
/// machine without a known triple.
pub fn device_elf(view: View<'_>) -> Option<ContainerView<'_>> {
    let image = DeviceImage::identify(view);
    if image.image_kind != ImageKind::Elf {
        return None;
    }
    let view = view.prefix("ELF file", image.own_size?).ok()?;
    image.triple?;
    Some(container_of_image(ContainerType::DeviceElf, view))
}

/// Property of LTO-IR that nvJitLink has linked. nvJitLink links it again.
const LINKED: (&str, &str) = ("linkage", "linked");

fn lto_ir_file(view: View<'_>) -> ContainerView<'_> {
    let mut image = ImageView::new(view, None, None, None);
    if lto_ir::form(view) == lto_ir::NvvmForm::Linked {
        image.strings.push(LINKED);
    }
    ContainerView::new(ContainerType::LtoIr, None, view, vec![image])
}

/// Returns a view of an image as a container of it.
fn container_of_image(container_type: ContainerType, view: View<'_>) -> ContainerView<'_> {
    ContainerView::new(container_type, None, view, vec![ImageView::new(view, None, None, None)])
}
