//! Releases of runtimes, and code that each does not load although its processor fits the device.
//!
//! Measured with Debian's libomptarget 15.0.6, 16.0.6, 19.1.7 and 22.1.8 and libamdhip64 5.2.3, above libraries that stand
//! in for the driver and record what is loaded. Releases between them were not measured.

use fatbin_core::format::ImageKind;
use fatbin_core::scan::inventory::Image;
use fatbin_core::target::nvptx::Arch;
use fatbin_core::target::{Platform, amdgpu};

use super::LlvmReleases;

/// A property of code that not every runtime supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeProperty {
    /// Version of an AMD code object.
    CodeObject(u8),
    /// Code for a generic processor of AMD.
    GenericProcessor,
    /// A cubin with the ELF header of CUDA 13 (ABI version 8).
    CubinAbi8,
    /// A cubin for an architecture with three digits.
    ThreeDigits,
}

/// Releases of a runtime that load the same code.
#[derive(Debug, PartialEq, Eq)]
pub struct Loader {
    /// Name of the releases.
    pub release: &'static str,
    /// Properties of images that it does not select.
    pub skipped: &'static [CodeProperty],
    /// Properties of images that it selects, and then fails to load.
    pub unloadable: &'static [CodeProperty],
}

use CodeProperty::{CodeObject, CubinAbi8, GenericProcessor, ThreeDigits};

/// libomptarget reads two digits of a name such as `sm_100`. Release 15 selects no code for generic processors, and
/// release 16 only for GFX9, if the agent of ROCr lists the processor.
pub const LIBOMPTARGET_16: Loader =
    Loader { release: "LLVM 15 and 16", skipped: &[GenericProcessor, ThreeDigits], unloadable: &[] };

/// libomptarget before it supported code object version 6 and cubins of CUDA 13.
pub const LIBOMPTARGET_19: Loader = Loader {
    release: "LLVM 19",
    skipped: &[CodeObject(3), CodeObject(6), GenericProcessor, CubinAbi8],
    unloadable: &[],
};

/// libomptarget selects code for generic processors if the agent of ROCr lists them.
pub const LIBOMPTARGET_22: Loader =
    Loader { release: "LLVM 22", skipped: &[CodeObject(3), CodeObject(4)], unloadable: &[] };

/// HIP finds no entry for a generic processor, and fails with 303 for code objects that it selects.
pub const HIP_5_2: Loader =
    Loader { release: "ROCm 5.2", skipped: &[GenericProcessor], unloadable: &[CodeObject(5), CodeObject(6)] };

/// Measured releases of libomptarget, each with its major version.
pub const LIBOMPTARGET: [(u32, &Loader); LlvmReleases::MEASURED.len()] =
    [(15, &LIBOMPTARGET_16), (16, &LIBOMPTARGET_16), (19, &LIBOMPTARGET_19), (22, &LIBOMPTARGET_22)];

impl CodeProperty {
    /// Returns the properties of an image. The version of a code object is known unless the image is compressed.
    pub fn of(image: &Image) -> Vec<CodeProperty> {
        if image.image_kind != ImageKind::Elf {
            return Vec::new();
        }
        let mut properties = Vec::new();
        match Platform::of(image.triple.as_deref(), image.arch.as_deref()) {
            Some(Platform::Amd) => {
                let version = image.format_version.as_deref().and_then(|version| version.parse().ok());
                properties.extend(version.map(CodeObject));
                if image.loaded_arch().is_some_and(|arch| amdgpu::processor(arch).ends_with("-generic")) {
                    properties.push(GenericProcessor);
                }
            }
            Some(Platform::Nvidia) => {
                if image.cuda.abi_version.is_some_and(|version| version >= 8) {
                    properties.push(CubinAbi8);
                }
                if image.loaded_arch().and_then(Arch::parse).is_some_and(|arch| arch.number >= 100) {
                    properties.push(ThreeDigits);
                }
            }
            _ => {}
        }
        properties
    }

    /// Returns whether some releases do not load code with this property.
    pub fn is_limited(self) -> bool {
        !self.llvm().are_all()
    }

    /// Returns the releases of libomptarget that load code with this property.
    pub fn llvm(self) -> LlvmReleases {
        let loads = LIBOMPTARGET.iter().filter(|(_, loader)| !loader.refuses(self));
        LlvmReleases::of(loads.map(|(major, _)| *major))
    }
}

/// Returns the properties of an image that the libomptarget of a release does not load, and the measured releases that
/// do. Such an image is left out without a word.
pub fn left_out_by_llvm(image: &Image, major: u32) -> Vec<(CodeProperty, LlvmReleases)> {
    let newest = LlvmReleases::MEASURED.last().copied().unwrap_or_default();
    let major = major.min(newest);
    let properties = CodeProperty::of(image).into_iter().map(|property| (property, property.llvm()));
    let is_measured = LlvmReleases::MEASURED.contains(&major);
    properties.filter(|(_, releases)| is_measured && !releases.majors().any(|own| own == major)).collect()
}

impl Loader {
    /// Returns whether it does not load code with a property.
    pub fn refuses(&self, property: CodeProperty) -> bool {
        self.skipped.contains(&property) || self.unloadable.contains(&property)
    }
}

/// Formats the property as a noun.
impl std::fmt::Display for CodeProperty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CodeObject(version) => write!(f, "code object version {version}"),
            GenericProcessor => f.write_str("code for a generic processor"),
            CubinAbi8 => f.write_str("cubin with ABI 8"),
            ThreeDigits => f.write_str("cubin for 10.0 or later"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_of_libomptarget_load_what_was_measured() {
        let cases = [
            (CodeObject(3), "LLVM 15 to 16"),
            (CodeObject(4), "LLVM 15 to 19"),
            (CodeObject(6), "LLVM 15 to 16 and LLVM 22 or newer"),
            (GenericProcessor, "LLVM 22 or newer"),
            (CubinAbi8, "LLVM 15 to 16 and LLVM 22 or newer"),
            (ThreeDigits, "LLVM 19 or newer"),
        ];
        for (property, expected) in cases {
            assert_eq!(property.llvm().to_string(), expected, "{property}");
        }
        assert!(CodeObject(5).llvm().are_all());
        assert_eq!(ThreeDigits.llvm().and(CubinAbi8.llvm()).to_string(), "LLVM 22 or newer");
    }
}
