//! The runtimes, and the order that each of them tries images in. The data is from their sources and manuals.

use super::RejectReason;
use crate::analyze::requires::{
    CodeProperty, Driver, HIP_5_2, LIBOMPTARGET_16, LIBOMPTARGET_19, LIBOMPTARGET_22, Loader,
};
use fatbin_core::format::ContainerType;
use fatbin_core::scan::inventory::Image;
use fatbin_core::target::runs_on::CodeForm;
use fatbin_core::target::{OffloadKind, Platform};

/// Image selection of a runtime.
#[derive(Debug, PartialEq, Eq)]
pub struct Runtime {
    /// Offload kind of the images that are registered with it; `None` if programs pass images to it.
    pub kind: Option<OffloadKind>,
    /// Name of the runtime.
    pub name: &'static str,
    /// Releases with this order.
    pub release: &'static str,
    /// Description of the order.
    pub order: &'static str,
    /// The order.
    pub preference: Preference,
    /// Formats that it supports. It skips images for its devices in other formats.
    pub accepted_forms: &'static [CodeForm],
    /// Code that it does not load, if any was measured.
    pub loader: Option<&'static Loader>,
    /// Earlier releases with other rules, the newest first.
    pub earlier: &'static [&'static Runtime],
    /// The releases, the newest first, if they do not load the same code.
    pub parts: &'static [&'static Runtime],
}

/// The PTX that a driver prefers among PTX for one architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EqualPtx {
    /// The first in the container.
    First,
    /// The last in the container.
    Last,
}

/// Order of preference among several images that run on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preference {
    /// Machine code before PTX. Within each, the image for the highest version is first, then the most specific image,
    /// then one without Mercury code, then the first.
    Nearest {
        /// The PTX that is preferred among PTX for one architecture.
        equal_ptx: EqualPtx,
    },
    /// Code for the processor, then code for a generic processor, then code to be compiled; of each, the first image.
    Best,
    /// Like [`Preference::Best`], but for each kernel: an image has only some of the kernels, and all images for the
    /// selected target are loaded.
    BestForEachKernel,
    /// The first image that the runtime accepts, even if it does not run.
    First,
    /// The last image that the runtime accepts, even if it does not run.
    Last,
    /// All images for the platform, if each of them runs.
    All,
}

impl Preference {
    /// Returns whether a runtime selects a single image: no other holds kernels instead.
    pub fn selects_one(self) -> bool {
        !matches!(self, Preference::BestForEachKernel | Preference::All)
    }
}

/// A runtime without earlier releases, whose releases load the same code.
pub(super) const DEFAULT: Runtime = Runtime {
    kind: None,
    name: "",
    release: "",
    order: "",
    preference: Preference::Best,
    accepted_forms: &[],
    loader: None,
    earlier: &[],
    parts: &[],
};

/// The order in the container decides, so the result is defined even for an invalid bundle (with both `gfx90a` and
/// `gfx90a:xnack+`).
const RUNTIMES: [Runtime; 4] = [
    // NVIDIA's compatibility guides (Ampere, Ada, Hopper, Blackwell), Application Compatibility: a compatible cubin is
    // used unchanged. Otherwise PTX is compiled. Without either, the launch fails. No document defines which of several
    // images is "the best matching". Measured on an H100 with driver 580.159.04 (`scripts/gpu`): the nearest of
    // either, code with a suffix before code without, of equal images the first in the container. The driver chooses
    // among PTX by the target alone: PTX of a newer ISA than its own fails, even where it could compile other PTX.
    // Published measurements of driver 597.06 on a device of 8.9 (github.com/bechirBOUALI/cuda-fatbin-precedence,
    // SELECTION-RULE.md) agree, also that an entry is chosen by its header and there is no second try, and add: of
    // equal cubins one without bit 24 of the flags, of equal PTX the last.
    // (CUDA_FORCE_PTX_JIT=1 skips all cubins.)
    Runtime {
        kind: Some(OffloadKind::Cuda),
        name: "CUDA",
        release: "CUDA 11 to 13",
        order: "the nearest compatible cubin, else the nearest PTX",
        preference: Preference::Nearest { equal_ptx: EqualPtx::Last },
        accepted_forms: &[CodeForm::Machine, CodeForm::Ptx],
        earlier: &[&CUDA_580],
        ..DEFAULT
    },
    // ROCm 7, clr/hipamd/src/hip_fatbin.cpp, ExtractFatBinaryUsingCOMGR: the bundle is searched for the device's target
    // ID, then for the generic processor's, then for SPIR-V. For each the answer is the first entry that is compatible:
    // comgr, comgr-metadata.cpp, lookUpCodeObject; for compressed bundles the bundler's own loop. Earlier releases
    // support less: libamdhip64 of ROCm 5 knows neither the names of generic processors nor the name of SPIR-V.
    Runtime {
        kind: Some(OffloadKind::Hip),
        name: "HIP",
        release: "ROCm 7",
        order: "the first compatible entry for the processor, else for its generic processor, else SPIR-V",
        preference: Preference::Best,
        accepted_forms: &[CodeForm::Machine, CodeForm::SpirV],
        earlier: &[&HIP_OF_ROCM_6_4, &HIP_OF_ROCM_5],
        ..DEFAULT
    },
    // LLVM 22, offload/libomptarget/PluginManager.cpp, registerLib: images are tried in the order of their
    // registration, and a device that has one gets no other (since llvm-project#139147, May 2025). For the images that
    // a plugin accepts see PluginInterface.cpp, is_plugin_compatible and is_device_compatible (ELF files and bitcode;
    // SPIR-V for Level Zero). Measured with libomptarget 22 and its CUDA plugin, four orders of images:
    // scripts/gpu_trials/openmp.py.
    Runtime {
        kind: Some(OffloadKind::OpenMp),
        name: "libomptarget",
        release: "LLVM 21 and 22",
        order: "the first image that its plugin accepts",
        preference: Preference::First,
        accepted_forms: &[CodeForm::Machine, CodeForm::Bitcode, CodeForm::SpirV],
        loader: Some(&LIBOMPTARGET_22),
        earlier: &[&LIBOMPTARGET_BEFORE_21],
        parts: &[],
    },
    // Unified Runtime of DPC++ 2025, source/adapters/*/device.cpp, urDeviceSelectBinary: on Level Zero and OpenCL
    // AOT-compiled code, else SPIR-V; on CUDA and HIP the first image for the platform. That image is a fat binary
    // again.
    Runtime {
        kind: Some(OffloadKind::Sycl),
        name: "SYCL",
        release: "DPC++ 2025",
        order: "for each kernel, AOT-compiled code for the device, else SPIR-V",
        preference: Preference::BestForEachKernel,
        accepted_forms: &[CodeForm::Machine, CodeForm::Ptx, CodeForm::SpirV],
        ..DEFAULT
    },
];

/// A program loads a library by its name, and Metal compiles the functions that it uses. Source: Apple, Metal, Building a Library with
/// Metal's Command-Line Tools.
const METAL: Runtime = Runtime {
    kind: None,
    name: "Metal",
    release: "Metal 2 to 4",
    order: "the library that the program loads",
    preference: Preference::Best,
    accepted_forms: &[CodeForm::Air],
    ..DEFAULT
};

/// Source: llvm-project pull request 139112.
const HIP_OF_ROCM_6_4: Runtime = Runtime {
    kind: Some(OffloadKind::Hip),
    name: "HIP",
    release: "ROCm 6.4",
    order: "as later releases, but SPIR-V only with the ID spirv64-amd-amdhsa--amdgcnspirv",
    preference: Preference::Best,
    accepted_forms: &[CodeForm::Machine, CodeForm::SpirV],
    ..DEFAULT
};

/// Measured with libamdhip64 5.2.3. It does not know SPIR-V.
const HIP_OF_ROCM_5: Runtime = Runtime {
    kind: Some(OffloadKind::Hip),
    name: "HIP",
    release: HIP_5_2.release,
    order: "the first compatible entry for the processor",
    preference: Preference::Best,
    accepted_forms: &[CodeForm::Machine],
    loader: Some(&HIP_5_2),
    ..DEFAULT
};

const CUDA_580: Runtime = Runtime {
    kind: Some(OffloadKind::Cuda),
    name: "CUDA",
    release: "driver 580",
    order: "the nearest PTX, of equal PTX the first",
    preference: Preference::Nearest { equal_ptx: EqualPtx::First },
    accepted_forms: &[CodeForm::Machine, CodeForm::Ptx],
    ..DEFAULT
};

/// Each image that the plugin accepted replaced the previous one. Measured with libomptarget 15, 16 and 19, each with
/// two images for x86-64 in either order.
const LIBOMPTARGET_BEFORE_21: Runtime = Runtime {
    parts: &[
        &Runtime { release: LIBOMPTARGET_19.release, loader: Some(&LIBOMPTARGET_19), ..LIBOMPTARGET_OF_ANY_CODE },
        &Runtime { release: LIBOMPTARGET_16.release, loader: Some(&LIBOMPTARGET_16), ..LIBOMPTARGET_OF_ANY_CODE },
    ],
    ..LIBOMPTARGET_OF_ANY_CODE
};

const LIBOMPTARGET_OF_ANY_CODE: Runtime = Runtime {
    kind: Some(OffloadKind::OpenMp),
    name: "libomptarget",
    release: "LLVM 15 to 20",
    order: "the last image that its plugin accepts",
    preference: Preference::Last,
    accepted_forms: &[CodeForm::Machine, CodeForm::Bitcode],
    ..DEFAULT
};

/// GCC's OpenMP and OpenACC programs: see [`super::libgomp`].
const LIBGOMP: Runtime = Runtime {
    kind: Some(OffloadKind::OpenMp),
    name: "libgomp",
    release: "GCC 12",
    order: "all images for the platform",
    preference: Preference::All,
    accepted_forms: &[CodeForm::Machine, CodeForm::Ptx],
    ..DEFAULT
};

impl Runtime {
    /// Returns whether it selects images without checking all of their requirements.
    pub fn selects_without_full_check(&self) -> bool {
        matches!(self.preference, Preference::First | Preference::Last)
    }

    /// Returns the runtime that loads an image from a container.
    pub(super) fn of_image(container: ContainerType, image: &Image) -> &'static Runtime {
        if is_for_libgomp(container, image) {
            return &LIBGOMP;
        }
        Runtime::of(image.kind, Platform::of(image.triple.as_deref(), image.arch.as_deref()))
    }

    /// Returns the release of the runtime that a driver of NVIDIA belongs to.
    pub(super) fn with_driver(&'static self, driver: Option<&Driver>) -> &'static Runtime {
        match driver {
            Some(driver) if driver.is_at_most(580, (13, 0)) => self.on_old_driver(),
            _ => self,
        }
    }

    /// Returns the release of the runtime that drivers of NVIDIA up to 580 belong to.
    pub(super) fn on_old_driver(&'static self) -> &'static Runtime {
        if self.kind == CUDA_580.kind { &CUDA_580 } else { self }
    }

    /// Returns why it does not select an image that runs on the device.
    pub(super) fn skips(&self, image: &Image) -> Option<RejectReason> {
        let loader = self.loader?;
        self.unsupported(image, loader.skipped, false)
    }

    /// Returns why it fails to load an image that it selects.
    pub(super) fn fails_to_load(&self, image: &Image) -> Option<RejectReason> {
        let loader = self.loader?;
        self.unsupported(image, loader.unloadable, true)
    }

    fn unsupported(&self, image: &Image, properties: &[CodeProperty], is_selected: bool) -> Option<RejectReason> {
        if properties.is_empty() {
            return None;
        }
        let property = CodeProperty::of(image).into_iter().find(|property| properties.contains(property))?;
        let release = self.loader?.release;
        Some(RejectReason::Unsupported { runtime: self.name, release, property, is_selected })
    }

    /// Returns the runtime that images of a kind are registered with or, if the kind is unknown, the runtime that
    /// usually loads images for the platform. Host entries have none.
    pub fn of(kind: Option<OffloadKind>, platform: Option<Platform>) -> &'static Runtime {
        if platform == Some(Platform::Metal) {
            return &METAL;
        }
        let kind = kind.filter(|&kind| kind != OffloadKind::Host).unwrap_or(match platform {
            Some(Platform::Nvidia) => OffloadKind::Cuda,
            Some(Platform::Amd) => OffloadKind::Hip,
            Some(Platform::SpirV) => OffloadKind::Sycl,
            Some(Platform::Host | Platform::Metal) | None => OffloadKind::OpenMp,
        });
        RUNTIMES.iter().find(|runtime| runtime.kind == Some(kind)).expect("every kind but the host's has a runtime")
    }
}

/// Returns whether libgomp loads an image: GCC's programs have images without containers.
pub fn is_for_libgomp(container: ContainerType, image: &Image) -> bool {
    container == ContainerType::Embedded && image.kind == Some(OffloadKind::OpenMp)
}
