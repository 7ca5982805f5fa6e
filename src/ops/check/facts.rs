//! Facts that rules evaluate: the device images of a file, each with the target of its code and how it is stored.

use super::proof_status::ProofStatus;
use super::ptx_assembler::Assembly;
use super::target::PolicyTarget;
use super::verdict::ImageLocation;
use crate::analyze::select::is_for_libgomp;
use crate::analyze::survey::{ImageSurvey, Survey};
use fatbin_core::base::bytes::total;
use fatbin_core::base::codec::{Codec, is_compressed};
use fatbin_core::base::file_path::FilePath;
use fatbin_core::format::ImageKind;
use fatbin_core::format::KernelContent;
use fatbin_core::scan::inventory::{CodeRole, Container, DeviceLinks, FileFormat, Image, NestedImage, Registration};
use fatbin_core::target::nvcc_names::NvccForm;
use fatbin_core::target::runs_on::Incompatibility;
use fatbin_core::target::triple::is_vulkan;
use fatbin_core::target::{OffloadKind, TargetId, amdgpu, natural_order, nvptx};

/// Facts about a file.
pub struct FileFacts<'a> {
    pub survey: &'a Survey,
    /// Facts about its device images, in order.
    pub images: Vec<ImageFacts<'a>>,
    /// Result of comparing it with the proofs of changes.
    pub proof: &'a ProofStatus,
    /// Its PTX as ptxas assembled it; `None` if ptxas was not run.
    pub assemblies: Option<&'a [Assembly]>,
}

/// Facts about a device image.
pub struct ImageFacts<'a> {
    /// Index among the device images of the file.
    pub number: usize,
    pub image: &'a Image,
    pub inside: &'a ImageSurvey,
    pub code: ImageCode,
    /// Compression of the image, or of the container around it.
    pub codec: Option<Codec>,
    /// Least and largest number of bytes that it takes in the file. They differ for images that are compressed
    /// together, because such images have no individual sizes.
    pub stored: (u64, u64),
    /// A container around it states its target, and not only its own header.
    pub is_named: bool,
    /// The file registers other containers, and not the image's.
    pub is_unregistered: bool,
    /// False for relocatable code of a finished file that is no code for the devices that it states.
    pub is_code_of_file: bool,
}

/// Target of the code in an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageCode {
    /// A target that policies can name: machine code, PTX, code for a triple.
    For(PolicyTarget),
    /// Bitcode, NVVM, or relocatable code that no program loads: it is compiled or linked further, for a processor. Not
    /// bitcode that libomptarget compiles at run time.
    Intermediate(String),
    /// NVIDIA code with 32-bit addresses for an architecture. No 64-bit program loads it.
    For32Bit(String),
    /// Code for a system that no runtime of GPU programs uses, by its name in reports.
    OtherSystem(String),
    /// Code that no device needs, by its name in reports: it holds no kernel, or nothing loads it.
    Unneeded(String),
    /// Code that may be for any target.
    Unknown(UnknownCode),
    /// No code.
    Empty,
}

/// Reason why the target of code is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownCode {
    /// The image does not state its target, or its format is unknown.
    Target,
    /// The kind of the image is newer than this program.
    Kind,
    /// Tile IR. No document states the devices that it is compiled for.
    TileIr,
}

impl UnknownCode {
    /// Name in reports.
    fn label(self) -> &'static str {
        match self {
            UnknownCode::Target => "code of unknown architecture",
            UnknownCode::Kind => "code of unknown kind",
            UnknownCode::TileIr => "Tile IR",
        }
    }

    /// Returns the reason as a clause whose subject is the image.
    pub fn reason(self) -> &'static str {
        match self {
            UnknownCode::Target => "does not state its architecture",
            UnknownCode::Kind => "is of a kind that is newer than this program",
            UnknownCode::TileIr => "is Tile IR, which the driver may compile for any device",
        }
    }
}

impl ImageCode {
    fn of(image: &Image, is_linked: bool, is_code_of_file: bool, role: CodeRole) -> ImageCode {
        match ImageCode::stated(image) {
            ImageCode::For(target) if role == CodeRole::LeftBehind => {
                ImageCode::Unneeded(format!("{target} (not loaded)"))
            }
            ImageCode::For(target) if !is_code_of_file && image.content != KernelContent::Kernels => {
                let content = if image.content == KernelContent::Stubs { "stubs" } else { "no kernels" };
                ImageCode::Unneeded(format!("{target} ({content})"))
            }
            // libomptarget compiles bitcode for the processor when it loads it (clang -fopenmp-target-jit).
            ImageCode::Intermediate(arch) if is_linked && is_registered_bitcode(image) => {
                ImageCode::For(PolicyTarget::Native(arch))
            }
            ImageCode::For(target) if !is_code_of_file => ImageCode::Intermediate(target.to_string()),
            ImageCode::For(target) => match image.load_obstacle() {
                Some(Incompatibility::Unlinked) => ImageCode::Intermediate(target.to_string()),
                Some(_) => {
                    ImageCode::OtherSystem(format!("{target} for {}", image.loaded_triple().unwrap_or_default()))
                }
                None => ImageCode::For(target),
            },
            code => code,
        }
    }

    fn stated(image: &Image) -> ImageCode {
        let triple = image.triple.as_deref().and_then(|triple| triple.split('-').next()).unwrap_or_default();
        let arch = image.arch.as_deref().filter(|arch| !arch.is_empty());
        let canonical = |arch: &str| TargetId::parse(arch).map_or_else(|_| arch.to_owned(), |id| id.to_string());
        match (image.image_kind, arch) {
            _ if image.unknown_kind().is_some() => ImageCode::Unknown(UnknownCode::Kind),
            (ImageKind::Empty, _) => ImageCode::Empty,
            (_, Some(arch)) if image.has_32_bit_addresses() => ImageCode::For32Bit(arch.to_owned()),
            (ImageKind::TileIr, _) => ImageCode::Unknown(UnknownCode::TileIr),
            (ImageKind::MetalLibrary | ImageKind::MetalBinary, Some(arch)) => match PolicyTarget::parse(arch) {
                Ok(target) => ImageCode::For(target),
                Err(_) => ImageCode::Unknown(UnknownCode::Target),
            },
            (ImageKind::Ptx, arch) => match arch.and_then(nvptx::Arch::parse) {
                Some(arch) => ImageCode::For(PolicyTarget::Ptx(arch)),
                None => ImageCode::Unknown(UnknownCode::Target),
            },
            (ImageKind::Elf | ImageKind::PatchTokens | ImageKind::SpirV, Some(arch)) => {
                ImageCode::For(PolicyTarget::Native(canonical(arch)))
            }
            (ImageKind::SpirV, None) if triple.is_empty() || image.triple.as_deref().is_some_and(is_vulkan) => {
                ImageCode::For(PolicyTarget::Triple("spirv64"))
            }
            (ImageKind::Elf | ImageKind::SpirV, None) => match PolicyTarget::parse(triple) {
                Ok(target @ PolicyTarget::Triple(_)) => ImageCode::For(target),
                _ => ImageCode::Unknown(UnknownCode::Target),
            },
            (ImageKind::OptixIr, _) => ImageCode::Intermediate(image.image_kind.name().to_owned()),
            (ImageKind::Bitcode | ImageKind::Nvvm, arch) => match arch.and_then(nvptx::Arch::parse) {
                Some(arch) if image.image_kind == ImageKind::Nvvm => ImageCode::For(PolicyTarget::LtoIr(arch)),
                _ => ImageCode::Intermediate(arch.unwrap_or(image.image_kind.name()).to_owned()),
            },
            _ => ImageCode::Unknown(UnknownCode::Target),
        }
    }

    /// Returns the name in reports.
    pub fn label(&self) -> Option<String> {
        match self {
            ImageCode::For(target) => Some(target.to_string()),
            ImageCode::Intermediate(arch) => Some(format!("{arch} (unlinked)")),
            ImageCode::For32Bit(arch) => Some(format!("{arch} (32-bit)")),
            ImageCode::OtherSystem(name) | ImageCode::Unneeded(name) => Some(name.clone()),
            ImageCode::Unknown(why) => Some(why.label().to_owned()),
            ImageCode::Empty => None,
        }
    }
}

fn code(nested: &NestedImage<'_>, is_linked: bool, links: &DeviceLinks<'_>) -> ImageCode {
    let code = ImageCode::of(nested.image, is_linked, links.is_code_of_file(nested), links.role_of(nested));
    match code {
        // libgomp compares processors, and no features.
        ImageCode::For(PolicyTarget::Native(name))
            if is_for_libgomp(nested.container().container_type, nested.image) =>
        {
            ImageCode::For(PolicyTarget::Native(amdgpu::processor(&name).to_owned()))
        }
        code => code,
    }
}

impl<'a> FileFacts<'a> {
    pub fn new(survey: &'a Survey) -> Self {
        let mut sizes = StoredSizes::default();
        let links = DeviceLinks::of(&survey.file);
        let is_linked = !survey.file.is_object && survey.file.format != Some(FileFormat::Raw);
        let images = survey.file.nested_images().zip(&survey.image_surveys).map(|(nested, inside)| ImageFacts {
            number: nested.index,
            image: nested.image,
            inside,
            code: code(&nested, is_linked, &links),
            codec: codec(&nested),
            stored: sizes.of(&nested),
            is_code_of_file: links.is_code_of_file(&nested),
            is_named: nested.containers.iter().any(|container| container.container_type.descriptor().states_target),
            is_unregistered: nested.registration() == Registration::Unregistered,
        });
        let images = images.collect();
        FileFacts { survey, images, proof: &ProofStatus::Missing, assemblies: None }
    }

    pub fn path(&self) -> &'a FilePath {
        &self.survey.file.path
    }

    /// Returns the images that may be loaded. Images in containers that nothing registers are left out.
    pub fn loadable(&self) -> impl Iterator<Item = &ImageFacts<'a>> {
        self.images.iter().filter(|image| !image.is_unregistered)
    }

    /// Returns the target IDs of the machine code that may be loaded.
    pub fn native_targets(&self) -> Vec<&str> {
        let native = self.loadable().filter_map(|image| match &image.code {
            ImageCode::For(PolicyTarget::Native(id)) => Some(id.as_str()),
            _ => None,
        });
        native.collect()
    }

    /// Returns the architectures of the PTX that may be loaded.
    pub fn ptx(&self) -> impl Iterator<Item = nvptx::Arch> {
        self.loadable().filter_map(|image| match image.code {
            ImageCode::For(PolicyTarget::Ptx(arch)) => Some(arch),
            _ => None,
        })
    }

    /// Returns the unique targets of the images, in display order.
    pub fn archs(&self) -> Vec<String> {
        sorted(self.images.iter().filter_map(|image| image.code.label()).collect())
    }

    /// Returns the unique targets of the images as a clause.
    pub fn available(&self) -> String {
        match self.archs().as_slice() {
            [] => "no device code".to_owned(),
            archs => format!("available: {}", archs.join(", ")),
        }
    }

    /// Returns the number of bytes in containers with device code.
    pub fn stored(&self) -> u64 {
        let containers = self.survey.file.containers.iter();
        let with_code = containers.filter(|container| container.images().any(Image::is_device_image));
        total(with_code.map(|container| container.size))
    }
}

impl ImageFacts<'_> {
    pub fn location(&self) -> ImageLocation {
        ImageLocation { number: self.number, offset: self.image.offset, arch: self.arch() }
    }

    /// Returns the architecture by its name in policies.
    pub fn arch(&self) -> Option<String> {
        match &self.code {
            ImageCode::For(PolicyTarget::Ptx(arch)) => Some(NvccForm::Ptx.name(*arch)),
            _ => self.image.arch.clone(),
        }
    }

    /// Returns whether it is, or may be, machine code.
    pub fn is_machine_code(&self) -> bool {
        match self.code {
            ImageCode::For(PolicyTarget::Native(_)) => true,
            ImageCode::Unknown(why) => why != UnknownCode::TileIr,
            _ => false,
        }
    }
}

/// Returns whether a linked file registers bitcode for a processor with libomptarget.
fn is_registered_bitcode(image: &Image) -> bool {
    image.image_kind == ImageKind::Bitcode && image.kind == Some(OffloadKind::OpenMp) && image.arch.is_some()
}

/// Joins unique names of architectures in display order.
pub fn unique_list(labels: &[String]) -> String {
    sorted(labels.to_vec()).join(", ")
}

fn sorted(mut labels: Vec<String>) -> Vec<String> {
    labels.sort_by_cached_key(|label| natural_order(label));
    labels.dedup();
    labels
}

/// Returns the codec of an image. If the image has none, returns the codec of the outermost compressed container around
/// it.
fn codec(nested: &NestedImage<'_>) -> Option<Codec> {
    let own = nested.image.codec.filter(|codec| *codec != Codec::None);
    own.or(outermost_compressed(nested).and_then(|container| container.codec))
}

fn outermost_compressed<'a>(nested: &NestedImage<'a>) -> Option<&'a Container> {
    nested.containers.iter().copied().find(|container| is_compressed(container.codec))
}

/// Stored sizes of images, in the order of the file.
#[derive(Default)]
struct StoredSizes<'a> {
    /// The container that was looked at last, and whether a single image in it has bytes. Containers have many images.
    last: Option<(&'a Container, bool)>,
}

impl<'a> StoredSizes<'a> {
    /// Returns the least and the largest number of bytes that an image takes in the file. Images that are compressed
    /// together have no individual sizes; they share the size of the container.
    fn of(&mut self, nested: &NestedImage<'a>) -> (u64, u64) {
        let image = nested.image;
        if let Some(size) = image.size {
            return (size, size);
        }
        let container = outermost_compressed(nested).unwrap_or(nested.container());
        let is_alone = match self.last {
            Some((last, is_alone)) if std::ptr::eq(last, container) => is_alone,
            _ => {
                let mut with_bytes = container.images().filter(|image| image.decompressed_size() != Some(0));
                with_bytes.next().is_some() && with_bytes.next().is_none()
            }
        };
        self.last = Some((container, is_alone));
        if is_alone {
            return (container.size, container.size);
        }
        (0, container.size.min(image.full_size.unwrap_or(container.size)))
    }
}
