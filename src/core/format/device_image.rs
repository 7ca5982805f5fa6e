//! Identification of a device image: its kind, and the triple and processor in its own header.

use std::borrow::Cow;

use super::container_type::{DX_CONTAINER_MAGIC, METAL_LIBRARY_MAGIC, SYCLBIN_MAGIC};
use super::{
    ContainerType, ImageKind, bitcode, device_elf, lto_ir, metal_binary, metal_library, ocloc_name, opencl_elf,
    patch_tokens, tile_ir,
};
use crate::base::bytes::View;
use crate::target::{Platform, musa, nvptx, triple};

/// First bytes of the kinds that are not containers; [`ContainerType::descriptor`] has the magics of containers.
/// Bitcode has a second form with a wrapper header (LLVM, Bitcode file format). SPIR-V is a sequence of words in either
/// byte order (SPIR-V specification, section Magic Number).
const MAGICS: [(&[u8], ImageKind); 14] = [
    (b"\x7fELF", ImageKind::Elf),
    (&bitcode::MAGIC, ImageKind::Bitcode),
    (&bitcode::WRAPPER_MAGIC, ImageKind::Bitcode),
    (b"\x03\x02\x23\x07", ImageKind::SpirV),
    (b"\x07\x23\x02\x03", ImageKind::SpirV),
    (&lto_ir::MAGIC, ImageKind::Nvvm),
    (&SYCLBIN_MAGIC, ImageKind::SyclBin),
    (&tile_ir::MAGIC, ImageKind::TileIr),
    (&patch_tokens::MAGIC, ImageKind::PatchTokens),
    (&METAL_LIBRARY_MAGIC, ImageKind::MetalLibrary),
    (&DX_CONTAINER_MAGIC, ImageKind::DxContainer),
    (&metal_binary::APPLE_GPU, ImageKind::MetalBinary),
    (&metal_binary::AMD_GPU, ImageKind::MetalBinary),
    (&metal_binary::INTEL_GPU, ImageKind::MetalBinary),
];

/// Value of bitcode's `target-cpu` for every processor.
const GENERIC: &str = "generic";

/// Properties of an image according to its own bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceImage {
    /// Kind of the image.
    pub image_kind: ImageKind,
    /// Triple; `None` if the image does not state it.
    pub triple: Option<Cow<'static, str>>,
    /// Processor with features or suffix; `None` if the image does not state it.
    pub arch: Option<String>,
    /// Size according to its own headers, in bytes; `None` if they do not state it.
    pub own_size: Option<u64>,
    /// True for an AMD code object that must be linked before a runtime loads it.
    pub is_unlinked: bool,
}

impl DeviceImage {
    /// Identifies an image by its first bytes and, for an ELF file, its headers. Headers that cannot be parsed leave
    /// the properties unknown: whether an image is valid is for the runtime to decide.
    pub fn identify(view: View<'_>) -> DeviceImage {
        let image_kind = kind_of(view);
        let mut image = DeviceImage { image_kind, triple: None, arch: None, own_size: None, is_unlinked: false };
        match image_kind {
            ImageKind::Elf => {
                if let Ok(elf) = device_elf::read(view) {
                    image.triple = elf.triple.map(Cow::Borrowed);
                    // OpenCL's files are for no machine. The triple stays unknown, because they also have SPIR-V.
                    let machine_code = || Some(DeviceImage::identify(opencl_elf::machine_code(view)?));
                    image.arch = elf.arch.or_else(|| machine_code()?.arch);
                    image.own_size = Some(elf.size);
                    image.is_unlinked = elf.is_unlinked;
                    if elf.is_debug_only {
                        image.image_kind = ImageKind::DebugElf;
                    }
                }
            }
            ImageKind::Ptx => {
                let ptx = nvptx::Ptx::read(view.data());
                image.triple = Some(Cow::Borrowed(ptx.map_or(triple::NVPTX64, nvptx::Ptx::triple)));
                image.arch = ptx.map(|ptx| ptx.target.to_owned());
            }
            ImageKind::Nvvm | ImageKind::OptixIr => {
                image.triple = Some(Cow::Borrowed(triple::NVPTX64));
                image.arch = lto_ir::LtoIr::read(view).arch.map(|arch| arch.to_string());
            }
            ImageKind::TileIr => {
                image.triple = Some(Cow::Borrowed(triple::NVPTX64));
                image.own_size = tile_ir::TileIr::read(view).ok().map(|file| file.size);
            }
            ImageKind::MetalLibrary => {
                if let Ok(library) = metal_library::MetalLibrary::read(view) {
                    image.triple = library.system.map(|(system, release)| Cow::Owned(system.triple(release)));
                    image.arch = library.system.map(|(system, _)| system.device().to_owned());
                    image.own_size = Some(library.view.size());
                }
            }
            ImageKind::PatchTokens => {
                image.triple = Some(Cow::Borrowed(triple::INTELGT));
                if let Ok(program) = patch_tokens::Program::read(view) {
                    image.arch = program.arch().map(str::to_owned);
                    image.own_size = Some(program.size);
                }
            }
            ImageKind::MetalBinary => image.arch = metal_binary::gpu(view),
            ImageKind::Bitcode => {
                image.triple = bitcode::triple(view).map(Cow::Owned);
                // Modules for other platforms state a processor of the host.
                if matches!(Platform::of(image.triple.as_deref(), None), Some(Platform::Amd | Platform::Nvidia)) {
                    image.arch = bitcode::processor(view).filter(|processor| processor != GENERIC);
                }
            }
            _ => {}
        }
        image
    }
}

/// Returns whether an image is device code, by the kind and the triple that its own bytes state. ELF files and bitcode
/// that do not state a device are for hosts: programs, libraries, and the objects of compilers that optimize at link
/// time.
pub fn is_device_code(image_kind: ImageKind, triple: Option<&str>) -> bool {
    match image_kind {
        ImageKind::Elf | ImageKind::Bitcode => {
            triple == Some(musa::TRIPLE)
                || matches!(Platform::of(triple, None), Some(Platform::Amd | Platform::Nvidia | Platform::SpirV))
        }
        ImageKind::Ptx
        | ImageKind::SpirV
        | ImageKind::Nvvm
        | ImageKind::OptixIr
        | ImageKind::TileIr
        | ImageKind::PatchTokens
        | ImageKind::MetalLibrary
        | ImageKind::MetalBinary => true,
        _ => false,
    }
}

/// Returns whether a file is a Mach-O file for a GPU.
pub fn is_metal_binary(view: View<'_>) -> bool {
    kind_of(view) == ImageKind::MetalBinary
}

/// Returns whether a file is bitcode for a host.
pub fn is_host_bitcode(view: View<'_>) -> bool {
    bitcode::is_bitcode(view) && !is_device_code(ImageKind::Bitcode, bitcode::triple(view).as_deref())
}

fn kind_of(view: View<'_>) -> ImageKind {
    if view.size() == 0 {
        return ImageKind::Empty;
    }
    if let Some(&(_, kind)) = MAGICS.iter().find(|(magic, _)| view.starts_with(magic)) {
        let is_optix = kind == ImageKind::Nvvm && lto_ir::form(view) == lto_ir::NvvmForm::Optix;
        return if is_optix { ImageKind::OptixIr } else { kind };
    }
    if let Some(container_type) = ContainerType::of_magic(view) {
        return container_type.descriptor().image_kind.unwrap_or_default();
    }
    if ocloc_name::is_archive(view) {
        return ImageKind::OclocArchive;
    }
    if nvptx::Ptx::read(view.data()).is_some() { ImageKind::Ptx } else { ImageKind::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identify(file: &str) -> DeviceImage {
        let path = format!("{}/../../fixtures/{file}", env!("CARGO_MANIFEST_DIR"));
        DeviceImage::identify(View::new(&std::fs::read(path).unwrap()))
    }

    #[test]
    fn identifies_triple_and_processor_by_the_header() {
        let cases = [
            ("answer-x86_64.so", ImageKind::Elf, "x86_64-unknown-linux-gnu", None),
            ("answer-gfx90a.hsaco", ImageKind::Elf, "amdgcn-amd-amdhsa", Some("gfx90a")),
            ("answer-gfx90a-xnack+.hsaco", ImageKind::Elf, "amdgcn-amd-amdhsa", Some("gfx90a:xnack+")),
            ("answer-sm_90.cubin", ImageKind::Elf, "nvptx64-nvidia-cuda", Some("sm_90")),
            ("answer-sm_75-32.cubin", ImageKind::Elf, "nvptx-nvidia-cuda", Some("sm_75")),
            ("answer-gen9.gen", ImageKind::PatchTokens, "spir64_gen-unknown-unknown", Some("gen9")),
            ("answer-sm_80.ptx", ImageKind::Ptx, "nvptx64-nvidia-cuda", Some("sm_80")),
        ];
        for (file, kind, triple, arch) in cases {
            let image = identify(file);
            assert_eq!(image.image_kind, kind, "{file}");
            assert_eq!(image.triple.as_deref(), Some(triple), "{file}");
            assert_eq!(image.arch.as_deref(), arch, "{file}");
        }
    }

    #[test]
    fn determines_the_size_of_elf_files() {
        for file in ["answer-x86_64.so", "answer-gfx90a.hsaco", "answer-sm_90.cubin", "answer-sm_75-32.cubin"] {
            let path = format!("{}/../../fixtures/{file}", env!("CARGO_MANIFEST_DIR"));
            let mut bytes = std::fs::read(path).unwrap();
            let size = bytes.len() as u64;
            bytes.extend_from_slice(b"something else after it");
            assert_eq!(DeviceImage::identify(View::new(&bytes)).own_size, Some(size), "{file}");
        }
    }

    #[test]
    fn variables_of_a_cubin_occupy_no_bytes() {
        let path = format!("{}/../../fixtures/answer-sm_90.cubin", env!("CARGO_MANIFEST_DIR"));
        let mut bytes = std::fs::read(path).unwrap();
        let whole = bytes.len() as u64;
        // `.nv.shared.reserved.0` is section 13. Cubins before CUDA 13 use other types for such sections.
        let header = 0x818 + 13 * 64;
        assert_eq!(bytes[header + 4..header + 8], 8_u32.to_le_bytes(), "SHT_NOBITS");
        bytes[header + 32..header + 40].copy_from_slice(&(1_u64 << 20).to_le_bytes());
        for (section_type, size) in [(8_u32, Some(whole)), (0x7000_000a, Some(whole)), (1, None)] {
            bytes[header + 4..header + 8].copy_from_slice(&section_type.to_le_bytes());
            assert_eq!(DeviceImage::identify(View::new(&bytes)).own_size, size, "{section_type:#x}");
        }
    }

    #[test]
    fn truncated_images_do_not_panic() {
        let path = format!("{}/../../fixtures/answer-gfx90a.hsaco", env!("CARGO_MANIFEST_DIR"));
        let bytes = std::fs::read(path).unwrap();
        for end in 0..bytes.len() {
            DeviceImage::identify(View::new(&bytes[..end]));
        }
    }
}
