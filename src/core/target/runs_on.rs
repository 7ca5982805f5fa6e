//! Compatibility of an image's code with a device: the load method, or the reason why the code does not run. Commands
//! use [`Code::runs_on`], or the rule of one vendor behind it. The tables of the sources are the tests in
//! `runs_on_tests.rs`, row by row, and the trials `compatibility/*` test every pair with the vendors' tools.
//!
//! NVIDIA: CUDA programming guide, Binary Compatibility and PTX Compatibility with the family- and
//! architecture-specific targets; compatibility guides for Ampere, Ada, Hopper and Blackwell; for 32-bit code 64-Bit
//! Compatibility, and ptxas, which refuses it for `sm_90` and, since CUDA 12.1, for all. AMD: AMDGPU usage guide,
//! Target IDs and Generic Processor ABI. (A generic code object also has a version, and the entry of each processor
//! requires a minimum. So far every entry requires 1, the lowest version.) SPIR-V: drivers compile it when they load
//! it; AOT-compiled code for one of Intel's GPUs runs on that GPU only. AIR: Metal compiles it for the GPU.

use super::compatibility::{self, Fit};
use super::device::{Device, Platform};
use super::intel::{Model, ModelFit};
use super::metal::System;
use super::nvptx::{self, CapabilityMismatch};
use super::{amdgpu, subarch, triple};

/// Architecture of triples for 32-bit code.
const NVPTX_32: &str = "nvptx";

/// Form of code, for the differences that matter to drivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeForm {
    /// Machine code.
    Machine,
    /// Relocatable machine code of AMD, which no runtime loads.
    Unlinked,
    /// PTX.
    Ptx,
    /// SPIR-V.
    SpirV,
    /// LLVM bitcode.
    Bitcode,
    /// AIR, in a Metal library.
    Air,
    /// NVIDIA's intermediate representation for a device linker.
    LinkTime,
    /// NVIDIA's Tile IR.
    TileIr,
    /// NVIDIA's OptiX IR.
    OptixIr,
    /// A kind that is newer than this program, by its number.
    UnknownKind(u64),
    /// Not loadable by any runtime.
    Other,
}

impl CodeForm {
    /// Name, as in "does not accept PTX".
    pub fn name(self) -> &'static str {
        match self {
            CodeForm::Machine => "machine code",
            CodeForm::Unlinked => "relocatable code",
            CodeForm::Ptx => "PTX",
            CodeForm::SpirV => "SPIR-V",
            CodeForm::Bitcode => "LLVM bitcode",
            CodeForm::Air => "AIR",
            CodeForm::LinkTime => "code for a device linker",
            CodeForm::TileIr => "Tile IR",
            CodeForm::OptixIr => "OptiX IR",
            CodeForm::UnknownKind(_) => "images of an unknown kind",
            CodeForm::Other => "images of this form",
        }
    }
}

/// How a device runs code; smaller is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LoadMethod {
    /// Built for this processor.
    Exact,
    /// Built for an earlier processor that this one is compatible with.
    Compatible,
    /// Built for a generic processor that includes this one.
    Generic,
    /// Machine code that is linked when it is loaded.
    Linked,
    /// Compiled from PTX when it is loaded.
    FromPtx,
    /// Compiled from SPIR-V when it is loaded.
    FromSpirV,
    /// Compiled from LLVM bitcode when it is loaded.
    FromBitcode,
    /// Compiled from AIR when it is loaded.
    FromAir,
}

impl LoadMethod {
    /// Name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            LoadMethod::Exact => "native",
            LoadMethod::Compatible => "compatible",
            LoadMethod::Generic => "generic",
            LoadMethod::Linked => "jit-link",
            LoadMethod::FromPtx => "jit-ptx",
            LoadMethod::FromSpirV => "jit-spirv",
            LoadMethod::FromBitcode => "jit-bitcode",
            LoadMethod::FromAir => "jit-air",
        }
    }

    /// Returns whether the driver compiles or links the code when it is loaded.
    pub fn is_at_load_time(self) -> bool {
        self >= LoadMethod::Linked
    }

    /// Language that is compiled when the code is loaded; `None` for machine code.
    pub fn compiled_from(self) -> Option<&'static str> {
        match self {
            LoadMethod::FromPtx => Some("PTX"),
            LoadMethod::FromSpirV => Some("SPIR-V"),
            LoadMethod::FromBitcode => Some("LLVM bitcode"),
            LoadMethod::FromAir => Some("AIR"),
            LoadMethod::Exact | LoadMethod::Compatible | LoadMethod::Generic | LoadMethod::Linked => None,
        }
    }
}

/// Formats the method as a clause.
impl std::fmt::Display for LoadMethod {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LoadMethod::Exact => f.write_str("it is for this processor"),
            LoadMethod::Compatible => f.write_str("it is for an earlier compatible processor"),
            LoadMethod::Generic => f.write_str("it is for a generic processor that includes this one"),
            LoadMethod::Linked => f.write_str("the driver links it at load time"),
            LoadMethod::FromPtx | LoadMethod::FromSpirV | LoadMethod::FromBitcode | LoadMethod::FromAir => {
                write!(f, "it is compiled from {} at load time", self.compiled_from().unwrap_or_default())
            }
        }
    }
}

/// Reason why code does not run on a device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Incompatibility {
    /// It is for devices of another platform.
    #[error("it is for {} devices", .0.name())]
    Platform(Platform),
    /// It does not state its target.
    #[error("it does not state its target")]
    Unspecified,
    /// Its target ID does not serve the device.
    #[error("{0}")]
    TargetId(#[from] compatibility::TargetMismatch),
    /// Its architecture does not run on the device.
    #[error("{0}")]
    Capability(#[from] CapabilityMismatch),
    /// It is for another device.
    #[error("it is for {found}, not for {device}")]
    Other {
        /// Target of the code.
        found: String,
        /// The device.
        device: String,
    },
    /// It is AOT-compiled for an unspecified device.
    #[error("it is AOT-compiled for an unspecified device; if for this one, it is selected first")]
    UnspecifiedDevice,
    /// It is a shader.
    #[error("it is a shader for Vulkan")]
    Shader,
    /// It is NVIDIA code with 32-bit addresses.
    #[error("it has 32-bit addresses, and 64-bit programs load 64-bit code only")]
    AddressSize,
    /// It is for another system than the runtimes of this platform.
    #[error("it is for {}, and HIP and OpenMP load code for {}", .0.name(), amdgpu::System::Hsa.name())]
    System(amdgpu::System),
    /// It is a relocatable object.
    #[error("it is relocatable (ET_REL), and must be linked first")]
    Unlinked,
    /// It is input for a device linker.
    #[error("it is input for a device linker, not machine code")]
    LinkTime,
    /// It is OptiX IR.
    #[error("it is OptiX IR, which the OptiX library compiles")]
    OptixIr,
    /// It is Tile IR. No document states which devices run it, or how it ranks among other code.
    #[error("it is Tile IR, which the driver may compile: NVIDIA does not document when it does")]
    TileIr,
    /// Its kind is newer than this program.
    #[error("unknown kind {0:#x}, newer than this program")]
    UnknownKind(u64),
    /// It is empty.
    #[error("it is empty")]
    Empty,
    /// It is not in a form that runtimes load.
    #[error("it is not in a form that runtimes load")]
    Form,
}

impl Incompatibility {
    /// Returns whether the code may run nevertheless, because the answer is unknown.
    pub fn is_undecided(&self) -> bool {
        matches!(self, Incompatibility::TileIr | Incompatibility::UnknownKind(_))
    }
}

/// Code and the target that its container states.
#[derive(Debug, Clone, Copy)]
pub struct Code<'a> {
    /// Form of the code.
    pub form: CodeForm,
    /// Target triple.
    pub triple: Option<&'a str>,
    /// Processor with features or suffix.
    pub arch: Option<&'a str>,
}

impl Code<'_> {
    /// Returns how a device runs the code, or the reason why it does not.
    pub fn runs_on(&self, device: &Device) -> Result<LoadMethod, Incompatibility> {
        if self.is_shader() {
            return if device.may_have_vulkan() { Ok(LoadMethod::FromSpirV) } else { Err(Incompatibility::Shader) };
        }
        match (Platform::of(self.triple, self.arch), self.form) {
            (_, CodeForm::LinkTime) => return Err(self.link_time(device)),
            (_, CodeForm::OptixIr) => return Err(Incompatibility::OptixIr),
            (_, CodeForm::Other) => return Err(Incompatibility::Form),
            (_, CodeForm::Unlinked) => return Err(Incompatibility::Unlinked),
            (None, _) => return Err(Incompatibility::Unspecified),
            (Some(platform), _) if platform != device.platform() => return Err(Incompatibility::Platform(platform)),
            (_, CodeForm::TileIr) => return Err(Incompatibility::TileIr),
            (_, CodeForm::UnknownKind(kind)) => return Err(Incompatibility::UnknownKind(kind)),
            _ => {}
        }
        match device {
            Device::Amd(target_id) => self.runs_on_amd(target_id),
            Device::Nvidia(number) => self.runs_on_nvidia(*number),
            Device::SpirV(model) => self.runs_on_spirv(model.as_deref(), device),
            Device::Apple(system) => match self.triple.and_then(System::of_triple) {
                Some((found, _)) if found == *system => Ok(self.loaded(LoadMethod::Exact)),
                found => {
                    let found = found.map(|(system, _)| system.device()).unwrap_or_default().to_owned();
                    Err(Incompatibility::Other { found, device: device.to_string() })
                }
            },
            Device::Host(architecture) => match self.triple.and_then(triple::architecture) {
                Some(found) if found == architecture => Ok(self.loaded(LoadMethod::Exact)),
                found => {
                    let found = found.unwrap_or_default().to_owned();
                    let device = architecture.clone();
                    Err(Incompatibility::Other { found, device })
                }
            },
        }
    }

    /// Returns why LTO-IR does not run on a device. A device linker takes LTO-IR for the devices that run PTX for the same
    /// architecture. Measured with nvJitLink 13.0.88 and 13.5.37, seven devices and nine files.
    fn link_time(&self, device: &Device) -> Incompatibility {
        let arch = self.arch.and_then(nvptx::Arch::parse);
        match (arch, device) {
            (Some(own), &Device::Nvidia(number)) => {
                let mismatch = own.check(nvptx::Arch { number, suffix: None }, true).err();
                mismatch.map_or(Incompatibility::LinkTime, Incompatibility::Capability)
            }
            _ => Incompatibility::LinkTime,
        }
    }

    /// Returns whether it is a shader, which drivers compile for Vulkan.
    pub fn is_shader(&self) -> bool {
        self.form == CodeForm::SpirV && self.triple.is_some_and(triple::is_vulkan)
    }

    /// Returns the method for this form of code. Anything but machine code is compiled first.
    fn loaded(&self, way: LoadMethod) -> LoadMethod {
        match self.form {
            CodeForm::Ptx => LoadMethod::FromPtx,
            CodeForm::SpirV => LoadMethod::FromSpirV,
            CodeForm::Bitcode => LoadMethod::FromBitcode,
            CodeForm::Air => LoadMethod::FromAir,
            _ => way,
        }
    }

    fn runs_on_amd(&self, target_id: &str) -> Result<LoadMethod, Incompatibility> {
        if self.form == CodeForm::SpirV {
            return Ok(LoadMethod::FromSpirV);
        }
        if let Some(system) = self.triple.and_then(amdgpu::System::of_triple)
            && system != amdgpu::System::Hsa
        {
            return Err(Incompatibility::System(system));
        }
        let arch = subarch::stated_arch(self.triple.unwrap_or_default(), self.arch);
        let fit = compatibility::serves(arch.ok_or(Incompatibility::Unspecified)?, target_id)?;
        Ok(self.loaded(match fit {
            // Code that leaves features open ranks equally: it is built for this processor, and HIP accepts either.
            Fit::Exact | Fit::Compatible => LoadMethod::Exact,
            Fit::Generic => LoadMethod::Generic,
        }))
    }

    fn runs_on_nvidia(&self, number: u32) -> Result<LoadMethod, Incompatibility> {
        if self.triple.and_then(triple::architecture) == Some(NVPTX_32) {
            return Err(Incompatibility::AddressSize);
        }
        let own = self.arch.and_then(nvptx::Arch::parse).ok_or(Incompatibility::Unspecified)?;
        // Bitcode is compiled like PTX.
        own.check(nvptx::Arch { number, suffix: None }, self.form != CodeForm::Machine)?;
        Ok(self.loaded(if own.number == number { LoadMethod::Exact } else { LoadMethod::Compatible }))
    }

    fn runs_on_spirv(&self, model: Option<&str>, device: &Device) -> Result<LoadMethod, Incompatibility> {
        if self.form != CodeForm::Machine {
            return Ok(self.loaded(LoadMethod::Exact));
        }
        let found = self.arch.ok_or(Incompatibility::UnspecifiedDevice)?;
        match model.and_then(Model::named).and_then(|model| model.fit(found)) {
            Some(ModelFit::Exact) => Ok(LoadMethod::Exact),
            Some(ModelFit::Compatible) => Ok(LoadMethod::Compatible),
            None => Err(Incompatibility::Other { found: found.to_owned(), device: device.to_string() }),
        }
    }
}
