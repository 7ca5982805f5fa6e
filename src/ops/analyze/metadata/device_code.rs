//! Device code of a package: the part that package metadata can describe.

use std::collections::BTreeSet;
use std::fmt;

use fatbin_core::format::ImageKind;
use fatbin_core::scan::inventory::{DeviceLinks, File, Image, NestedImage, Registration};
use fatbin_core::target::compatibility::generic_id_of_hip;
use fatbin_core::target::processors::{FORMER, Processor};
use fatbin_core::target::target_id::cut;
use fatbin_core::target::{Device, OffloadKind, Platform, TargetId, nvptx};

/// Largest number of an NVIDIA architecture; a container can state any. Ranges of devices are searched up to it.
pub(super) const MAX_NUMBER: u32 = 999;

/// Vendor's platform, by its name in metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Backend {
    /// NVIDIA's CUDA.
    Cuda,
    /// AMD's ROCm.
    Rocm,
    /// Intel's GPUs.
    Xpu,
}

impl Backend {
    /// All backends, in order.
    pub const ALL: [Backend; 3] = [Backend::Cuda, Backend::Rocm, Backend::Xpu];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Cuda => "cuda",
            Backend::Rocm => "rocm",
            Backend::Xpu => "xpu",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Machine code of AMD.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AmdCode {
    /// Target ID.
    pub id: String,
    /// True if HIP looks for its ID in a bundle.
    pub is_looked_up: bool,
}

/// Device code of one file or of a package. Input of a device linker (bitcode, LTO-IR) and code for host processors are
/// left out, because no device loads it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceCode {
    /// Architectures of NVIDIA machine code.
    pub cubins: BTreeSet<nvptx::Arch>,
    /// Architectures of PTX.
    pub ptx: BTreeSet<nvptx::Arch>,
    /// NVIDIA devices that relocatable code is linked for at load time, by the driver. The other fields may list code
    /// for some of them, too.
    pub linked: BTreeSet<u32>,
    /// True if the driver links relocatable code for all later devices.
    pub is_linked_later: bool,
    /// AMD machine code.
    pub amd: BTreeSet<AmdCode>,
    /// True if there is SPIR-V that AMD's runtime compiles for any processor.
    pub has_amd_spirv: bool,
    /// True if there is SPIR-V or machine code for Intel's GPUs.
    pub has_intel: bool,
    /// Images whose devices are not known.
    pub undetermined: Vec<UndeterminedImage>,
}

/// An image whose devices are not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndeterminedImage {
    /// Path of the file.
    pub path: String,
    /// Index among the device images of the file.
    pub number: usize,
    /// The reason, as a clause whose subject is the image.
    pub reason: &'static str,
}

impl DeviceCode {
    /// Returns the device code of a file.
    pub fn of_file(file: &File) -> DeviceCode {
        let links = DeviceLinks::of(file);
        let mut code = DeviceCode {
            linked: nvptx::NUMBERS.into_iter().filter(|number| links.serves(*number)).collect(),
            is_linked_later: links.serves_later_devices(),
            ..DeviceCode::default()
        };
        let counts = |nested: &NestedImage<'_>| {
            nested.registration() != Registration::Unregistered && links.is_code_of_file(nested)
        };
        for NestedImage { index: number, image, .. } in file.nested_images().filter(counts) {
            if let Err(reason) = code.add(image) {
                code.undetermined.push(UndeterminedImage { path: file.path.to_string(), number, reason });
            }
        }
        code
    }

    /// Adds an image, or returns the reason why its devices are not known.
    pub fn add(&mut self, image: &Image) -> Result<(), &'static str> {
        let arch = image.arch.as_deref().filter(|arch| !arch.is_empty());
        let nvidia = || match arch.and_then(nvptx::Arch::parse) {
            Some(arch) if arch.number <= MAX_NUMBER => Ok(arch),
            Some(_) => Err("states an architecture that does not exist"),
            None => Err("does not state its architecture"),
        };
        if image.unknown_kind().is_some() {
            return Err("is of a kind that is newer than this program");
        }
        // Debug information and code that no runtime loads serve no device.
        if image.image_kind == ImageKind::DebugElf || image.load_obstacle().is_some() {
            return Ok(());
        }
        match (Platform::of(image.triple.as_deref(), arch), image.image_kind) {
            // Only 32-bit programs load it.
            _ if image.has_32_bit_addresses() => {}
            (_, ImageKind::Empty | ImageKind::Bitcode | ImageKind::Nvvm | ImageKind::OptixIr)
            | (Some(Platform::Host), _) => {}
            // The tag of the wheel states the system.
            (Some(Platform::Metal), _) => {}
            (_, ImageKind::TileIr) => return Err("is Tile IR, which the driver may compile for any device"),
            (_, ImageKind::Ptx) => drop(self.ptx.insert(nvidia()?)),
            (Some(Platform::Nvidia), ImageKind::Elf) => drop(self.cubins.insert(nvidia()?)),
            (Some(Platform::Amd), ImageKind::SpirV) => self.has_amd_spirv = true,
            (Some(Platform::Amd), ImageKind::Elf) => {
                let arch = arch.ok_or("does not state its processor")?;
                let id = TargetId::parse(arch).map_or_else(|_| arch.to_owned(), |id| id.to_string());
                let is_looked_up = image.id.is_some() && image.kind == Some(OffloadKind::Hip);
                self.amd.insert(AmdCode { id, is_looked_up });
            }
            // The offline compiler packs machine code for several GPUs into an archive, whose triple is spir64_gen.
            (Some(Platform::SpirV), _) | (None, ImageKind::SpirV) => self.has_intel = true,
            _ => return Err("does not state its target"),
        }
        Ok(())
    }

    /// Adds all code of `other`.
    pub fn merge(&mut self, other: DeviceCode) {
        self.cubins.extend(other.cubins);
        self.ptx.extend(other.ptx);
        self.linked.extend(other.linked);
        self.is_linked_later |= other.is_linked_later;
        self.amd.extend(other.amd);
        self.has_amd_spirv |= other.has_amd_spirv;
        self.has_intel |= other.has_intel;
        self.undetermined.extend(other.undetermined);
    }

    /// Drops the code for all other backends.
    pub fn keep(&mut self, backend: Backend) {
        if backend != Backend::Cuda {
            self.cubins.clear();
            self.ptx.clear();
            self.linked.clear();
            self.is_linked_later = false;
        }
        if backend != Backend::Rocm {
            self.amd.clear();
            self.has_amd_spirv = false;
        }
        self.has_intel &= backend == Backend::Xpu;
    }

    /// Returns whether there is no code for any device.
    pub fn is_empty(&self) -> bool {
        self.undetermined.is_empty() && self.backends().is_empty()
    }

    /// Returns the backends that the code is for.
    pub fn backends(&self) -> Vec<Backend> {
        Backend::ALL.into_iter().filter(|backend| self.has(*backend)).collect()
    }

    /// Returns whether there is code for a backend.
    pub fn has(&self, backend: Backend) -> bool {
        match backend {
            Backend::Cuda => !self.cubins.is_empty() || !self.ptx.is_empty() || !self.linked.is_empty(),
            Backend::Rocm => !self.amd.is_empty() || self.has_amd_spirv,
            Backend::Xpu => self.has_intel,
        }
    }

    /// Returns whether machine code runs on an NVIDIA device, whose compute capability times ten is `number`.
    pub fn has_cubin_for(&self, number: u32) -> bool {
        runs(&self.cubins, number, false)
    }

    /// Returns whether the driver can compile PTX, or link relocatable code, for an NVIDIA device.
    pub fn has_ptx_for(&self, number: u32) -> bool {
        self.linked.contains(&number) || runs(&self.ptx, number, true)
    }

    /// Returns whether there is code for an AMD processor.
    pub fn has_code_for(&self, processor: &str) -> bool {
        self.has_amd_spirv || self.amd_processors().contains(processor)
    }

    /// Returns the names of the code in display order: `sm_90a`, `compute_90` for PTX, `gfx90a:xnack+`, `spirv`.
    pub fn names(&self) -> Vec<String> {
        let ptx = self.ptx.iter().map(|arch| arch.to_string().replacen("sm_", "compute_", 1));
        let mut names: Vec<String> = self.cubins.iter().map(ToString::to_string).chain(ptx).collect();
        let amd: BTreeSet<&String> = self.amd.iter().map(|code| &code.id).collect();
        names.extend(amd.into_iter().cloned());
        if self.has_amd_spirv {
            names.push("amdgcnspirv".to_owned());
        }
        if self.has_intel {
            names.push("spirv".to_owned());
        }
        names
    }

    /// Returns whether PTX runs on every later NVIDIA device: PTX with a suffix does not.
    pub fn is_forward_compatible(&self) -> bool {
        self.is_linked_later || self.ptx.iter().any(|arch| arch.suffix.is_none())
    }

    /// Returns the processors that AMD machine code runs on, without features. A generic processor is replaced by its
    /// members.
    pub fn amd_processors(&self) -> BTreeSet<&str> {
        self.amd.iter().flat_map(AmdCode::processors).collect()
    }
}

impl AmdCode {
    /// Returns the processors that the code runs on, without features. Processors that were never sold are left out, and
    /// members of a generic processor for which HIP does not find the code.
    pub fn processors(&self) -> Vec<&str> {
        let processor = cut(&self.id).0;
        let members = Processor::members(processor);
        if members.is_empty() {
            return vec![processor];
        }
        let is_found = |name: &&str| !self.is_looked_up || is_generic_code_found(name);
        members.into_iter().filter(|name| !FORMER.contains(name)).filter(is_found).collect()
    }
}

/// Returns whether HIP finds generic code in bundles, whatever features of the processor are on.
fn is_generic_code_found(processor: &str) -> bool {
    let devices = Device::parse(processor).unwrap_or_default();
    devices.iter().all(|device| match device {
        Device::Amd(id) => generic_id_of_hip(id).is_some_and(|id| id.is_ok()),
        _ => false,
    })
}

fn runs(archs: &BTreeSet<nvptx::Arch>, number: u32, is_ptx: bool) -> bool {
    archs.iter().any(|arch| arch.runs_on(nvptx::Arch { number, suffix: None }, is_ptx))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Returns code for these names: `sm_90a`, `compute_90` for PTX, `gfx90a:xnack+`, `spirv`, `amdgcnspirv`.
    pub fn code(names: &str) -> DeviceCode {
        let mut code = DeviceCode::default();
        for name in names.split_whitespace() {
            let (image_kind, triple, arch) = match name {
                "spirv" => (ImageKind::SpirV, "spir64-unknown-unknown", None),
                "amdgcnspirv" => (ImageKind::SpirV, "spirv64-amd-amdhsa", Some(name.to_owned())),
                _ if name.starts_with("gfx") => (ImageKind::Elf, "amdgcn-amd-amdhsa", Some(name.to_owned())),
                _ if name.starts_with("sm_") => (ImageKind::Elf, "nvptx64-nvidia-cuda", Some(name.to_owned())),
                _ => (ImageKind::Ptx, "nvptx64-nvidia-cuda", Some(name.replace("compute_", "sm_"))),
            };
            let image = Image { image_kind, triple: Some(triple.to_owned()), arch, ..Image::default() };
            code.add(&image).unwrap();
        }
        code
    }

    /// HIP looks for `gfx9-generic:sramecc-:xnack-` on a gfx906, and no generic code has that feature.
    #[test]
    fn generic_code_in_bundles_is_for_the_processors_that_hip_finds_it_for() {
        for (is_looked_up, has_gfx906) in [(true, false), (false, true)] {
            let code = AmdCode { id: "gfx9-generic".to_owned(), is_looked_up };
            let processors = code.processors();
            assert!(processors.contains(&"gfx900"), "{processors:?}");
            assert_eq!(processors.contains(&"gfx906"), has_gfx906, "{processors:?}");
        }
        let code = AmdCode { id: "gfx12-generic".to_owned(), is_looked_up: true };
        assert_eq!(code.processors(), ["gfx1200", "gfx1201"]);
    }

    #[test]
    fn sorts_code_by_backend() {
        let found = code("sm_80 sm_100 sm_90a compute_90 gfx90a:xnack+ gfx9-4-generic spirv");
        let archs: Vec<String> = found.cubins.iter().map(ToString::to_string).collect();
        assert_eq!(archs, ["sm_80", "sm_90a", "sm_100"]);
        assert_eq!(found.backends(), Backend::ALL);
        let processors: Vec<&str> = found.amd_processors().into_iter().collect();
        assert_eq!(processors, ["gfx90a", "gfx942", "gfx950"]);
        assert!(found.is_forward_compatible() && !code("compute_90a").is_forward_compatible());
    }

    #[test]
    fn input_of_device_linkers_and_host_code_is_left_out() {
        let mut found = DeviceCode::default();
        for (image_kind, triple) in
            [(ImageKind::Bitcode, "amdgcn-amd-amdhsa"), (ImageKind::Elf, "x86_64-unknown-linux-gnu")]
        {
            found.add(&Image { image_kind, triple: Some(triple.to_owned()), ..Image::default() }).unwrap();
        }
        assert!(found.is_empty());
    }

    #[test]
    fn archives_of_the_offline_compiler_are_for_intel() {
        let image_kind = ImageKind::Unknown;
        let triple = Some("spir64_gen".to_owned());
        let mut found = DeviceCode::default();
        found.add(&Image { image_kind, triple, ..Image::default() }).unwrap();
        assert_eq!(found.backends(), [Backend::Xpu]);
    }

    #[test]
    fn code_without_a_target_is_undetermined() {
        let image =
            |image_kind, triple: &str| Image { image_kind, triple: Some(triple.to_owned()), ..Image::default() };
        for image in [
            image(ImageKind::Elf, "nvptx64-nvidia-cuda"),
            image(ImageKind::Ptx, "nvptx64-nvidia-cuda"),
            image(ImageKind::Elf, "amdgcn-amd-amdhsa"),
            image(ImageKind::TileIr, "nvptx64-nvidia-cuda"),
            image(ImageKind::Unknown, "nonsense"),
            Image { arch: Some("sm_4000000000".to_owned()), ..image(ImageKind::Elf, "nvptx64-nvidia-cuda") },
        ] {
            assert!(DeviceCode::default().add(&image).is_err(), "{image:?}");
        }
    }
}
