//! The properties of an image, from the inventory and, where that is not enough, from its bytes.

use super::requirement::FIRST_WITH_ABI_8;
use super::{CodeProperty, Requirement};
use fatbin_core::base::codec::Codec;
use fatbin_core::format::readers::{Product, Reader};
use fatbin_core::format::{ContainerType, ImageKind};
use fatbin_core::scan::inventory::{CudaCode, File, Image, NestedImage};
use fatbin_core::target::bundle_entry_id::FoundByHip;
use fatbin_core::target::metal::{self, System};
use fatbin_core::target::nvptx::Arch;
use fatbin_core::target::{BundleEntryId, OffloadKind, Platform};

/// Bytes of a compressed cubin that state its toolkit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolkitBytes {
    /// The ELF header. It is at the start.
    Header,
    /// All: the notes may be anywhere.
    All,
}

/// Returns the bytes that state the toolkit of a compressed cubin. Returns `None` if the toolkit is known or does not
/// matter.
pub fn unread_toolkit(image: &Image) -> Option<ToolkitBytes> {
    let is_compressed = !matches!(image.codec, None | Some(Codec::None | Codec::Opaque));
    let CudaCode { abi_version, toolkit, .. } = image.cuda;
    match abi_version {
        _ if !is_compressed || toolkit.is_some() => None,
        None => None,
        Some(..=7) => Some(ToolkitBytes::Header),
        Some(8) if is_below_abi_8(image) => None,
        Some(_) => Some(ToolkitBytes::All),
    }
}

fn is_below_abi_8(image: &Image) -> bool {
    arch(image).is_some_and(|arch| arch.number < FIRST_WITH_ABI_8)
}

fn arch(image: &Image) -> Option<Arch> {
    image.arch.as_deref().and_then(Arch::parse)
}

fn system(image: &Image) -> Option<(System, metal::Release)> {
    image.triple.as_deref().and_then(System::of_triple)
}

/// Returns the products that load an image.
pub fn products(nested: &NestedImage<'_>) -> Vec<Product> {
    let platform = match Platform::of(nested.image.triple.as_deref(), nested.image.arch.as_deref()) {
        Some(Platform::Nvidia) => Some(Product::Cuda),
        Some(Platform::Amd) => Some(Product::Rocm),
        Some(Platform::Metal) => system(nested.image).map(|(system, _)| Product::Apple(system)),
        _ if nested.image.image_kind == ImageKind::Ptx => Some(Product::Cuda),
        _ => None,
    };
    let mut products: Vec<Product> = platform.into_iter().collect();
    if is_for_libomptarget(nested) {
        products.push(Product::Llvm);
    }
    for requirement in containers(nested) {
        if !products.contains(&requirement.product()) {
            products.push(requirement.product());
        }
    }
    products
}

/// Returns whether libomptarget loads an image. GCC's programs, which libgomp loads, have images without containers.
fn is_for_libomptarget(nested: &NestedImage<'_>) -> bool {
    nested.image.kind == Some(OffloadKind::OpenMp) && nested.container().container_type != ContainerType::Embedded
}

/// Returns the properties that determine the floors of an image of a file. `read` are the properties that its bytes state, if
/// they were read.
pub fn requirements(file: &File, nested: &NestedImage<'_>, read: Option<CudaCode>) -> Vec<Requirement> {
    let image = nested.image;
    let mut requirements: Vec<Requirement> = containers(nested).collect();
    if is_for_libomptarget(nested) {
        let limited = CodeProperty::of(image).into_iter().filter(|property| property.is_limited());
        requirements.extend(limited.map(Requirement::OpenMp));
        if file.has_versioned_entries {
            requirements.push(Requirement::VersionedEntries);
        }
    }
    let properties = CodeProperty::of(image);
    let code_objects = [(5, Requirement::CodeObject5), (6, Requirement::CodeObject6)];
    let own = code_objects.iter().filter(|(version, _)| properties.contains(&CodeProperty::CodeObject(*version)));
    requirements.extend(own.map(|(_, requirement)| *requirement));
    let is_cuda = products(nested).contains(&Product::Cuda);
    if let Some(kind) = image.unknown_kind()
        && is_cuda
    {
        requirements.push(Requirement::UnknownKind(kind));
    }
    if nested.container().container_type == ContainerType::CudaFatbin {
        requirements.extend(image.codec.filter(|codec| *codec != Codec::None).map(Requirement::Codec));
        if image.cuda.is_grouped {
            requirements.push(Requirement::Group);
        }
    }
    match image.image_kind {
        ImageKind::Elf if is_cuda => {
            requirements.push(toolkit(image, read));
            requirements.extend(arch(image).map(Requirement::Arch));
        }
        ImageKind::Ptx => requirements.push(Requirement::Ptx(image.cuda.ptx_version)),
        ImageKind::TileIr => requirements.push(Requirement::TileIr(image.cuda.ir_version)),
        ImageKind::Bitcode if is_for_libomptarget(nested) => requirements.push(Requirement::OpenMpBitcode),
        ImageKind::Bitcode => requirements.push(Requirement::Bitcode),
        ImageKind::MetalLibrary => {
            if let Some((system, release)) = system(image) {
                requirements.push(Requirement::System(system, release));
                let language = image.metal.as_ref().and_then(|functions| functions.language);
                requirements.extend(language.map(|language| Requirement::MetalLanguage(system, language)));
            }
        }
        _ => {}
    }
    let id = image.id.as_deref().and_then(BundleEntryId::parse);
    if let Some(id) = id
        && image.kind == Some(OffloadKind::Hip)
        && id.found_by_hip() != FoundByHip::Always
    {
        requirements.push(Requirement::EntryId(id.found_by_hip()));
    }
    requirements
}

fn toolkit(image: &Image, read: Option<CudaCode>) -> Requirement {
    match read.and_then(|read| read.toolkit).or(image.cuda.toolkit) {
        Some(release) => Requirement::Toolkit(release),
        None if image.cuda.abi_version == Some(8) && is_below_abi_8(image) => Requirement::AbiOfCuda13,
        None => Requirement::UnknownToolkit,
    }
}

/// Returns the versions of the containers around an image that only some releases read.
fn containers(nested: &NestedImage<'_>) -> impl Iterator<Item = Requirement> {
    nested.containers.iter().flat_map(|container| {
        let container_type = container.container_type;
        let version = container.version;
        let products = Reader::products_of(container_type, version).into_iter();
        products.map(move |(product, first)| Requirement::Container { product, container_type, version, first })
    })
}
