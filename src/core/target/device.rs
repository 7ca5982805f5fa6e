//! Devices by the names that users write: `gfx90a:sramecc+:xnack-`, `sm_90`, `x86_64`, `spir64`, `intel_gpu_pvc`.
//!
//! A name describes a device, not the requirements of code: on a device, every feature that it supports is either on or
//! off, and it has no suffix. A name that leaves features open denotes several devices, and an answer must hold for
//! each.

use std::fmt;

use super::intel::{self, Model};
use super::nvcc_names::{NvidiaCode, Spelling};
use super::processors::{PROCESSORS, Processor};
use super::subarch::{self, Subarch};
use super::target_id::{InvalidTargetId, TargetId};
use super::{gpu_names, metal, nvptx, triple};
use crate::base::code::{Code, Coded, ErrorClass};
use crate::base::spelling::Suggestions;

/// Platform: the driver that loads images, regardless of the runtime above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Platform {
    /// AMD's drivers.
    Amd,
    /// NVIDIA's driver.
    Nvidia,
    /// Level Zero and OpenCL, which accept SPIR-V.
    SpirV,
    /// Metal, which accepts AIR.
    Metal,
    /// The host's processor.
    Host,
}

impl Platform {
    /// Name, as in "code for AMD devices".
    pub fn name(self) -> &'static str {
        match self {
            Platform::Amd => "AMD",
            Platform::Nvidia => "NVIDIA",
            Platform::SpirV => "SPIR-V",
            Platform::Metal => "Apple",
            Platform::Host => "host",
        }
    }

    /// Returns the platform of code with this triple, or with this arch if the triple does not determine it; `None` if
    /// neither does.
    pub fn of(triple: Option<&str>, arch: Option<&str>) -> Option<Platform> {
        let stated = triple.and_then(|triple| {
            // Shaders are for every platform with Vulkan.
            if triple::is_vulkan(triple) {
                return None;
            }
            let mut parts = triple.split('-');
            let architecture = parts.next()?;
            let vendor = parts.next();
            Some(match architecture {
                _ if subarch::is_amdgpu(triple) => Platform::Amd,
                // AMD's flavor of SPIR-V, which its runtime compiles.
                "spirv64" if vendor == Some("amd") => Platform::Amd,
                "nvptx64" | "nvptx" => Platform::Nvidia,
                // spir64_gen and spir64_x86_64 are AOT-compiled, but loaded by the same drivers.
                word if word.starts_with("spir") => Platform::SpirV,
                word if word.starts_with(metal::AIR64) => Platform::Metal,
                _ => triple::architecture(triple).map(|_| Platform::Host)?,
            })
        });
        stated.or_else(|| {
            let processor = super::amdgpu::processor(arch?);
            let is_known = Processor::named(processor).is_some() || Subarch::processor_named(processor).is_some();
            if metal::System::named(processor).is_some() || metal::is_gpu_name(processor) {
                return Some(Platform::Metal);
            }
            if intel::is_name(processor) {
                return Some(Platform::SpirV);
            }
            let is_amd = processor == "amdgcnspirv" || is_known;
            let nvidia = || nvptx::Arch::parse(processor).map(|_| Platform::Nvidia);
            if is_amd { Some(Platform::Amd) } else { nvidia() }
        })
    }
}

/// A device, with a value for everything that code can depend on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Device {
    /// Canonical target ID that sets every feature of its processor.
    Amd(String),
    /// Compute capability times ten: 90 is 9.0.
    Nvidia(u32),
    /// Device whose driver accepts SPIR-V, with its name if one was given: `pvc`.
    SpirV(Option<String>),
    /// System of Apple, whose driver accepts AIR.
    Apple(metal::System),
    /// Host processor, as the first part of a triple.
    Host(String),
}

/// Names of devices, for an unknown name that is not similar to any.
const EXAMPLES: &str = "; examples: H100, sm_90, MI300X, gfx90a:sramecc+:xnack-, intel_gpu_pvc, x86_64";

/// Reason why a text is not the name of a device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidDevice {
    /// The name is an invalid target ID.
    #[error(transparent)]
    #[doc(hidden)]
    TargetId(InvalidTargetId),
    /// The name is of a generic processor.
    #[error("{name} is a generic processor, not a device; specify one of: {}", .members.join(", "))]
    Generic {
        /// The name.
        name: String,
        /// Processors that it includes.
        members: Vec<&'static str>,
    },
    /// The name is an image format.
    #[error("{name} is an image format, not a device; specify the device, such as gfx942:sramecc+:xnack-")]
    Form {
        /// The name.
        name: String,
    },
    /// The name has the suffix of an architecture.
    #[error("devices have no suffix: {name} is code for device {device}")]
    Suffix {
        /// The name.
        name: String,
        /// Name without the suffix.
        device: String,
    },
    /// The name is unknown.
    #[error("unknown device {name:?}{}", if .suggestions.0.is_empty() { EXAMPLES.to_owned() } else { .suggestions.to_string() })]
    Unknown {
        /// The name.
        name: String,
        /// Similar names.
        #[doc(hidden)]
        suggestions: Suggestions,
    },
}

#[doc(hidden)]
impl Coded for InvalidDevice {
    fn class(&self) -> ErrorClass {
        match self {
            InvalidDevice::TargetId(error) => error.class(),
            InvalidDevice::Generic { .. }
            | InvalidDevice::Form { .. }
            | InvalidDevice::Suffix { .. }
            | InvalidDevice::Unknown { .. } => Code::UnknownDevice.into(),
        }
    }
}

/// Name of a SPIR-V device without further properties.
const SPIRV: &str = "spir64";

/// Names of devices other than GPUs.
const OTHER_NAMES: [&str; 7] = ["x86_64", "aarch64", "riscv64", "powerpc64le", "s390x", "loongarch64", SPIRV];

/// Returns names of devices, for suggestions and completions.
pub fn device_names() -> impl Iterator<Item = String> {
    let processors = processor_names().filter(|name| !name.ends_with("-generic"));
    let others = OTHER_NAMES.into_iter().chain(metal::System::ALL.iter().map(|system| system.device()));
    processors.chain(intel::device_names()).chain(others.map(str::to_owned)).chain(gpu_names::names())
}

fn unknown(name: &str) -> InvalidDevice {
    if let Some(gpu) = gpu_names::beginning(name) {
        return InvalidDevice::Unknown { name: name.to_owned(), suggestions: Suggestions(vec![gpu]) };
    }
    let suggestions = match Suggestions::new(name, device_names()) {
        Suggestions(names) if names.is_empty() => gpu_names::suggestions(name),
        suggestions => suggestions,
    };
    InvalidDevice::Unknown { name: name.to_owned(), suggestions }
}

/// Returns the names of all processors of AMD and NVIDIA.
pub fn processor_names() -> impl Iterator<Item = String> {
    let nvidia = nvptx::NUMBERS.iter().map(|number| format!("sm_{number}"));
    nvidia.chain(PROCESSORS.iter().map(|processor| processor.name.to_string()))
}

/// Returns whether a name denotes a processor of AMD, NVIDIA or Intel, or code for one. It may have features or a
/// suffix.
pub fn names_processor(name: &str) -> bool {
    if intel::is_name(name) {
        return true;
    }
    match NvidiaCode::parse(name) {
        Some(code) => nvptx::NUMBERS.contains(&code.arch.number),
        None => !matches!(TargetId::parse(name), Err(InvalidTargetId::UnknownProcessor { .. })),
    }
}

impl Device {
    /// Returns the devices that a name denotes: one, or one for each setting of the features of an AMD processor
    /// that it leaves open. `H100` and `9.0` denote the same device as `sm_90`.
    pub fn parse(name: &str) -> Result<Vec<Device>, InvalidDevice> {
        if let Some(code) = NvidiaCode::parse(name).filter(|it| it.spelling == Spelling::Torch && it.arch.is_known()) {
            let device = nvptx::Arch { suffix: None, ..code.arch };
            let is_device = code.arch.suffix.is_none() && code.forms.len() == 1;
            let suffix = || InvalidDevice::Suffix { name: name.to_owned(), device: device.to_string() };
            return if is_device { Ok(vec![Device::Nvidia(device.number)]) } else { Err(suffix()) };
        }
        if nvptx::Arch::parse(name).is_some_and(|arch| !arch.is_known()) {
            return Err(unknown(name));
        }
        match (Device::of_code(name), gpu_names::named(name)) {
            (Err(_), Some((_, device))) => Device::of_code(device),
            (devices, _) => devices,
        }
    }

    /// Returns the devices that code for an architecture is for. Files may have code for architectures that are newer
    /// than the tables.
    #[doc(hidden)]
    pub fn of_code(name: &str) -> Result<Vec<Device>, InvalidDevice> {
        let owned = || name.to_owned();
        if let Some(arch) = nvptx::Arch::parse(name) {
            let device = nvptx::Arch { suffix: None, ..arch };
            return match arch.suffix {
                Some(_) => Err(InvalidDevice::Suffix { name: owned(), device: device.to_string() }),
                None => Ok(vec![Device::Nvidia(arch.number)]),
            };
        }
        if name == "amdgcnspirv" {
            return Err(InvalidDevice::Form { name: owned() });
        }
        if name == SPIRV {
            return Ok(vec![Device::SpirV(None)]);
        }
        if let Some(system) = metal::System::named(name) {
            return Ok(vec![Device::Apple(system)]);
        }
        if let Some(model) = name.strip_prefix(intel::PREFIX) {
            return intel_devices(model).ok_or_else(|| unknown(name));
        }
        if let Some(devices) = intel_devices(name) {
            return Ok(devices);
        }
        // LLVM has an architecture `arc`, and Intel GPUs such as `arc-b580`.
        if Platform::of(Some(name), None) == Some(Platform::Host) && gpu_names::named(name).is_none() {
            return Ok(vec![Device::Host(triple::architecture(name).unwrap_or(name).to_owned())]);
        }
        match TargetId::parse(name) {
            Ok(id) => amd(&id),
            Err(InvalidTargetId::UnknownProcessor { closest: None, .. }) if !name.starts_with("gfx") => {
                Err(unknown(name))
            }
            Err(cause) => Err(InvalidDevice::TargetId(cause)),
        }
    }

    /// Returns whether a driver of the platform may have Vulkan: it compiles shaders.
    #[doc(hidden)]
    pub fn may_have_vulkan(&self) -> bool {
        matches!(self.platform(), Platform::Amd | Platform::Nvidia | Platform::SpirV)
    }

    /// Platform of the device.
    #[doc(hidden)]
    pub fn platform(&self) -> Platform {
        match self {
            Device::Amd(_) => Platform::Amd,
            Device::Nvidia(_) => Platform::Nvidia,
            Device::SpirV(_) => Platform::SpirV,
            Device::Apple(_) => Platform::Metal,
            Device::Host(_) => Platform::Host,
        }
    }
}

/// Parses a name without its prefix: one device, or one for each model of a product family. `None` for an unknown name.
fn intel_devices(name: &str) -> Option<Vec<Device>> {
    match Model::all_named(name).as_slice() {
        [] => None,
        [_] if Model::named(name).is_some() => Some(vec![Device::SpirV(Some(intel::spelled(name)))]),
        models => Some(models.iter().map(|model| Device::SpirV(Some(model.name.to_string()))).collect()),
    }
}

/// Returns a device for every setting of the features that an ID leaves open.
fn amd(id: &TargetId<'_>) -> Result<Vec<Device>, InvalidDevice> {
    let Some(processor) = Processor::named(id.processor()) else {
        return Err(InvalidDevice::Unknown { name: id.to_string(), suggestions: Suggestions::default() });
    };
    let members = Processor::members(&processor.name);
    if !members.is_empty() {
        return Err(InvalidDevice::Generic { name: processor.name.to_string(), members });
    }
    let mut names = vec![processor.name.to_string()];
    for feature in processor.features() {
        let settings = match id.feature(feature) {
            Some(true) => &["+"][..],
            Some(false) => &["-"],
            None => &["+", "-"],
        };
        let with = |name: &String| settings.iter().map(|sign| format!("{name}:{feature}{sign}")).collect::<Vec<_>>();
        names = names.iter().flat_map(with).collect();
    }
    Ok(names.into_iter().map(Device::Amd).collect())
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Amd(name) | Device::Host(name) => f.write_str(name),
            Device::Nvidia(number) => write!(f, "sm_{number}"),
            Device::SpirV(None) => f.write_str(SPIRV),
            Device::Apple(system) => f.write_str(system.device()),
            Device::SpirV(Some(model)) => write!(f, "{}{model}", intel::PREFIX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_every_setting_that_it_leaves_open() {
        let cases = [
            ("gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"),
            ("gfx90a:xnack-:sramecc+", "gfx90a:sramecc+:xnack-"),
            ("gfx90a:xnack-", "gfx90a:sramecc+:xnack- gfx90a:sramecc-:xnack-"),
            ("gfx900", "gfx900:xnack+ gfx900:xnack-"),
            ("gfx942", "gfx942:sramecc+:xnack+ gfx942:sramecc+:xnack- gfx942:sramecc-:xnack+ gfx942:sramecc-:xnack-"),
            ("gfx1100", "gfx1100"),
            ("fiji", "gfx803"),
            ("amdgpu11.00", "gfx1100"),
            ("sm_90", "sm_90"),
            ("x86_64", "x86_64"),
            ("x86_64-unknown-linux-gnu", "x86_64"),
            ("arm64", "aarch64"),
            ("spir64", "spir64"),
            ("macos", "macos"),
            ("intel_gpu_pvc", "intel_gpu_pvc"),
            ("intel_gpu_dg2_g10", "intel_gpu_dg2_g10"),
            ("intel_gpu_12_55_8", "intel_gpu_12_55_8"),
            ("pvc", "intel_gpu_pvc"),
            ("arc-b580", "intel_gpu_bmg_g21"),
            ("ARL-H", "intel_gpu_arl_h"),
            ("bmg", "intel_gpu_bmg_g21 intel_gpu_bmg_g31"),
            ("intel_gpu_arl-h", "intel_gpu_arl_h"),
            ("intel_gpu_dg2", "intel_gpu_acm_g10 intel_gpu_acm_g11 intel_gpu_acm_g12"),
            ("H100", "sm_90"),
            ("9.0", "sm_90"),
            ("12.1", "sm_121"),
            (
                "AMD Instinct MI100",
                "gfx908:sramecc+:xnack+ gfx908:sramecc+:xnack- gfx908:sramecc-:xnack+ gfx908:sramecc-:xnack-",
            ),
        ];
        for (name, devices) in cases {
            let parsed: Vec<String> = Device::parse(name).unwrap().iter().map(ToString::to_string).collect();
            assert_eq!(parsed.join(" "), devices, "{name}");
        }
    }

    #[test]
    fn rejects_names_that_are_not_devices() {
        let cases = [
            ("sm_90a", "devices have no suffix: sm_90a is code for device sm_90"),
            ("10.0a", "devices have no suffix: 10.0a is code for device sm_100"),
            ("12.0+PTX", "devices have no suffix: 12.0+PTX is code for device sm_120"),
            ("gfx12-generic", "gfx12-generic is a generic processor, not a device; specify one of: gfx1200, gfx1201"),
            (
                "amdgcnspirv",
                "amdgcnspirv is an image format, not a device; specify the device, such as gfx942:sramecc+:xnack-",
            ),
            ("gfx9O6", "unknown processor \"gfx9O6\"; did you mean gfx906?"),
            (
                "intel_gpu_dg2_g13",
                "unknown device \"intel_gpu_dg2_g13\"; did you mean intel_gpu_dg2_g10 or intel_gpu_dg2_g11 or \
                 intel_gpu_dg2_g12?",
            ),
            ("gfx1100:xnack+", "gfx1100 does not support feature \"xnack\" (supported: none)"),
            (
                "hopper",
                "unknown device \"hopper\"; examples: H100, sm_90, MI300X, gfx90a:sramecc+:xnack-, intel_gpu_pvc, x86_64",
            ),
            ("sm_93", "unknown device \"sm_93\"; did you mean sm_53 or sm_90?"),
            ("sm_999", "unknown device \"sm_999\"; did you mean sm_89 or sm_90?"),
            ("rtx-409O", "unknown device \"rtx-409O\"; did you mean RTX-4090?"),
        ];
        for (name, message) in cases {
            assert_eq!(Device::parse(name).unwrap_err().to_string(), message);
        }
        // A report of the error with its causes states each once.
        assert!(std::error::Error::source(&Device::parse("gfx9O6").unwrap_err()).is_none());
        assert_eq!(Device::of_code("sm_999"), Ok(vec![Device::Nvidia(999)]));
    }

    #[test]
    fn the_triple_determines_the_platform_before_the_arch() {
        let cases = [
            (Some("amdgcn-amd-amdhsa"), None, Some(Platform::Amd)),
            (Some("amdgpu9.0a-amd-amdhsa"), None, Some(Platform::Amd)),
            (Some("spirv64-amd-amdhsa"), Some("amdgcnspirv"), Some(Platform::Amd)),
            (Some("spirv64-intel"), None, Some(Platform::SpirV)),
            (Some("spir64_gen-unknown-unknown"), None, Some(Platform::SpirV)),
            (Some("nvptx64-nvidia-cuda"), Some("sm_90"), Some(Platform::Nvidia)),
            (Some("air64_v26-apple-macosx14.0.0"), None, Some(Platform::Metal)),
            (Some("x86_64-pc-linux-gnu"), None, Some(Platform::Host)),
            (None, Some("gfx9-generic:xnack-"), Some(Platform::Amd)),
            (None, Some("sm_90a"), Some(Platform::Nvidia)),
            (Some("nonsense"), None, None),
            (None, None, None),
        ];
        for (triple, arch, platform) in cases {
            assert_eq!(Platform::of(triple, arch), platform, "{triple:?} {arch:?}");
        }
    }
}
