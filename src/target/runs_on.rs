//! Compatibility of an image's code with a device: the load method, or the reason why it does not run. The tables of
//! the sources are the tests beside this file, row by row.
//!
//! NVIDIA: CUDA programming guide, Binary Compatibility and PTX Compatibility with the family- and
//! architecture-specific targets; compatibility guides for Ampere, Ada, Hopper and Blackwell. AMD: AMDGPU usage guide,
//! Target IDs and Generic Processor ABI. (A generic code object also has a version, which must be at least the one that
//! the processor's entry requires. Every entry requires 1 so far, the lowest version.) SPIR-V: drivers compile it when
//! they load it; AOT-compiled code for one of Intel's GPUs runs on that GPU only.

use super::compatibility::{self, Fit};
use super::device::{Device, Platform};
use super::nvptx::{self, Mismatch};
use super::triple;

/// Form of code, as far as drivers distinguish it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Machine,
    Ptx,
    SpirV,
    Bitcode,
    /// NVIDIA's intermediate representation for a device linker.
    LinkTime,
    /// Not loadable by any runtime.
    Other,
}

impl Form {
    /// Returns the name, as in "does not accept PTX".
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

/// Method by which a device runs code; smaller is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// Built for this processor.
    Exact,
    /// Built for an earlier processor that this one is compatible with.
    Compatible,
    /// Built for a generic processor that includes this one.
    Generic,
    /// Compiled from PTX when it is loaded.
    FromPtx,
    FromSpirV,
    FromBitcode,
}

impl Way {
    /// Returns the name in JSON.
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

    /// Returns the language that is compiled when the code is loaded; `None` for machine code.
    pub fn compiled_from(self) -> Option<&'static str> {
        match self {
            Way::FromPtx => Some("PTX"),
            Way::FromSpirV => Some("SPIR-V"),
            Way::FromBitcode => Some("LLVM bitcode"),
            Way::Exact | Way::Compatible | Way::Generic => None,
        }
    }
}

/// Formats the method as a clause.
impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Way::Exact => f.write_str("it is for this processor"),
            Way::Compatible => f.write_str("it is for an earlier compatible processor"),
            Way::Generic => f.write_str("it is for a generic processor that includes this one"),
            Way::FromPtx | Way::FromSpirV | Way::FromBitcode => {
                write!(f, "it is compiled from {} at load time", self.compiled_from().unwrap_or_default())
            }
        }
    }
}

/// Reason why code does not run on a device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    #[error("it is for {} devices", .0.name())]
    Platform(Platform),
    #[error("it does not state its target")]
    Unsaid,
    #[error("{0}")]
    TargetId(#[from] compatibility::Reason),
    #[error("{0}")]
    Capability(#[from] Mismatch),
    #[error("it is for {found}, not for {device}")]
    Other { found: String, device: String },
    #[error("it is AOT-compiled for an unspecified device; if for this one, it is selected first")]
    UnsaidDevice,
    #[error("it is input for a device linker, not machine code")]
    LinkTime,
    #[error("it is not in a form that runtimes load")]
    Form,
}

/// Code and the target that its container states.
#[derive(Debug, Clone, Copy)]
pub struct Code<'a> {
    pub form: Form,
    pub triple: Option<&'a str>,
    pub arch: Option<&'a str>,
}

impl Code<'_> {
    /// Returns the method by which a device runs the code, or the reason why it does not.
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

    /// Returns the method for this form of code: anything but machine code is compiled first.
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
            // Code that leaves features open ranks equally: it is built for this processor, and HIP accepts either.
            Fit::Exact | Fit::Compatible => Way::Exact,
            Fit::Generic => Way::Generic,
        }))
    }

    fn runs_on_nvidia(&self, number: u32) -> Result<Way, Obstacle> {
        let own = self.arch.and_then(nvptx::Arch::parse).ok_or(Obstacle::Unsaid)?;
        // Bitcode is compiled like PTX.
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
