//! What runs on what: whether an image's code runs on a device, how, or why not. The tables of the
//! sources, row by row, are the tests beside this file.
//!
//! NVIDIA: CUDA programming guide, Binary Compatibility and PTX Compatibility with the family- and architecture-specific
//! targets; compatibility guides for Ampere, Ada, Hopper and Blackwell. AMD: AMDGPU usage guide, Target IDs and Generic
//! Processor ABI. (A generic code object also has a version, which must be at least what the processor's entry asks for.
//! Every entry asks for 1 so far, and that is the lowest there is.) SPIR-V: what a driver takes is compiled when it is
//! loaded; code compiled ahead for one of Intel's GPUs is for that one.

use super::compatibility::{self, Fit};
use super::device::{Device, Platform};
use super::nvptx::{self, Mismatch};
use super::triple;

/// What code is made of, as far as a driver cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Machine,
    Ptx,
    SpirV,
    Bitcode,
    /// NVIDIA's intermediate representation for a device linker.
    LinkTime,
    /// Nothing that a runtime could load.
    Other,
}

impl Form {
    /// As in "takes no PTX".
    pub fn name(self) -> &'static str {
        match self {
            Form::Machine => "machine code",
            Form::Ptx => "PTX",
            Form::SpirV => "SPIR-V",
            Form::Bitcode => "LLVM bitcode",
            Form::LinkTime => "code for a device linker",
            Form::Other => "images of this form",
        }
    }
}

/// How code comes to run on a device; the better, the smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// It is for this processor.
    Exact,
    /// It is for an earlier processor that this one is compatible with.
    Compatible,
    /// It is for a generic processor that stands for the device's.
    Generic,
    /// It is compiled when it is loaded.
    FromPtx,
    FromSpirV,
    FromBitcode,
}

impl Way {
    /// The name that programs see.
    pub fn name(self) -> &'static str {
        match self {
            Way::Exact => "native",
            Way::Compatible => "compatible",
            Way::Generic => "generic",
            Way::FromPtx => "jit-ptx",
            Way::FromSpirV => "jit-spirv",
            Way::FromBitcode => "jit-bitcode",
        }
    }

    /// What it is compiled from when it is loaded; `None` for what is not.
    pub fn compiled_from(self) -> Option<&'static str> {
        match self {
            Way::FromPtx => Some("PTX"),
            Way::FromSpirV => Some("SPIR-V"),
            Way::FromBitcode => Some("LLVM bitcode"),
            Way::Exact | Way::Compatible | Way::Generic => None,
        }
    }
}

/// In words.
impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Way::Exact => f.write_str("it is for this processor"),
            Way::Compatible => f.write_str("it is for an earlier processor that this one is compatible with"),
            Way::Generic => f.write_str("it is for a generic processor that stands for this one"),
            Way::FromPtx | Way::FromSpirV | Way::FromBitcode => {
                write!(f, "it is compiled from {} when it is loaded", self.compiled_from().unwrap_or_default())
            }
        }
    }
}

/// Why code does not run on a device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    #[error("it is for {} devices", .0.name())]
    Platform(Platform),
    #[error("it does not say what it is for")]
    Unsaid,
    #[error("{0}")]
    TargetId(#[from] compatibility::Reason),
    #[error("{0}")]
    Capability(#[from] Mismatch),
    #[error("it is for {found}, not for {device}")]
    Other { found: String, device: String },
    #[error("it was compiled ahead and does not say for which device; if for this one, it is taken first")]
    UnsaidDevice,
    #[error("it is for a device linker, which was to make machine code of it")]
    LinkTime,
    #[error("it is nothing that a runtime could load")]
    Form,
}

/// Code, and what its container says it is for.
#[derive(Debug, Clone, Copy)]
pub struct Code<'a> {
    pub form: Form,
    pub triple: Option<&'a str>,
    pub arch: Option<&'a str>,
}

impl Code<'_> {
    /// Whether it runs on a device, and how.
    pub fn runs_on(&self, device: &Device) -> Result<Way, Obstacle> {
        match (Platform::of(self.triple, self.arch), self.form) {
            (_, Form::LinkTime) => return Err(Obstacle::LinkTime),
            (_, Form::Other) => return Err(Obstacle::Form),
            (None, _) => return Err(Obstacle::Unsaid),
            (Some(platform), _) if platform != device.platform() => return Err(Obstacle::Platform(platform)),
            _ => {}
        }
        match device {
            Device::Amd(target_id) => self.runs_on_amd(target_id),
            Device::Nvidia(number) => self.runs_on_nvidia(*number),
            Device::SpirV(model) => self.runs_on_spirv(model.as_deref(), device),
            Device::Host(architecture) => match self.triple.and_then(triple::architecture) {
                Some(found) if found == architecture => Ok(self.loaded(Way::Exact)),
                found => {
                    let (found, device) = (found.unwrap_or_default().to_owned(), architecture.clone());
                    Err(Obstacle::Other { found, device })
                }
            },
        }
    }

    /// What is no machine code is compiled first.
    fn loaded(&self, way: Way) -> Way {
        match self.form {
            Form::Ptx => Way::FromPtx,
            Form::SpirV => Way::FromSpirV,
            Form::Bitcode => Way::FromBitcode,
            _ => way,
        }
    }

    fn runs_on_amd(&self, target_id: &str) -> Result<Way, Obstacle> {
        if self.form == Form::SpirV {
            return Ok(Way::FromSpirV);
        }
        let fit = compatibility::serves(self.arch.ok_or(Obstacle::Unsaid)?, target_id)?;
        Ok(self.loaded(match fit {
            // What code leaves open is no lesser way for it: it was made for this processor, and HIP takes either.
            Fit::Exact | Fit::Compatible => Way::Exact,
            Fit::Generic => Way::Generic,
        }))
    }

    fn runs_on_nvidia(&self, number: u32) -> Result<Way, Obstacle> {
        let own = self.arch.and_then(nvptx::Arch::parse).ok_or(Obstacle::Unsaid)?;
        // Bitcode is compiled as PTX is.
        own.check(nvptx::Arch { number, suffix: None }, self.form != Form::Machine)?;
        Ok(self.loaded(if own.number == number { Way::Exact } else { Way::Compatible }))
    }

    fn runs_on_spirv(&self, model: Option<&str>, device: &Device) -> Result<Way, Obstacle> {
        if self.form != Form::Machine {
            return Ok(self.loaded(Way::Exact));
        }
        let found = self.arch.ok_or(Obstacle::UnsaidDevice)?;
        if model == Some(found) || device.to_string() == found {
            return Ok(Way::Exact);
        }
        Err(Obstacle::Other { found: found.to_owned(), device: device.to_string() })
    }
}
