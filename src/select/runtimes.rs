//! The runtimes, and in which order each of them chooses: data, read out of their sources and manuals.

use crate::target::runs_on::Form;
use crate::target::{OffloadKind, Platform};

/// A runtime as far as it chooses images.
#[derive(Debug, PartialEq, Eq)]
pub struct Runtime {
    /// The kind of the images that are registered with it.
    pub kind: OffloadKind,
    pub name: &'static str,
    /// The releases that the order was read from.
    pub release: &'static str,
    /// The order in words.
    pub order: &'static str,
    pub preference: Preference,
    /// What it takes; of what is for its devices it passes over everything else.
    pub accepted_forms: &'static [Form],
    /// The same in releases that chose in another order.
    pub earlier: Option<&'static Runtime>,
}

/// Which of several images that all run is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preference {
    /// Machine code before PTX; of either the one for the highest version, and of those the narrowest.
    Nearest,
    /// Code for the processor before code for a generic one before code to be compiled; of each the first.
    Best,
    /// As the best, but for each kernel anew: an image holds some of the kernels, and all that are for one target are taken.
    BestForEachKernel,
    /// The first that the runtime thinks will run, even if it does not.
    First,
    /// The last such one.
    Last,
}

/// What decides is the order in the container, so a bundle that it must not be (both `gfx90a` and `gfx90a:xnack+`) has
/// an answer too.
const RUNTIMES: [Runtime; 4] = [
    // NVIDIA's compatibility guides (Ampere, Ada, Hopper, Blackwell), Application Compatibility: a cubin that is
    // compatible is used as it is; otherwise PTX is compiled, and without either the launch fails. Which of several is
    // "the best matching" no document says. Published measurements of driver 597 on a device of 8.9 have the nearest of
    // either, of equal cubins the first and of equal PTX the last, by what the container says; that code with a suffix goes
    // before code without is an assumption. (CUDA_FORCE_PTX_JIT=1 passes over all cubins.)
    Runtime {
        kind: OffloadKind::Cuda,
        name: "CUDA",
        release: "CUDA 11 to 13",
        order: "the nearest compatible cubin, else the nearest PTX",
        preference: Preference::Nearest,
        accepted_forms: &[Form::Machine, Form::Ptx],
        earlier: None,
    },
    // ROCm 7, clr/hipamd/src/hip_fatbin.cpp, ExtractFatBinaryUsingCOMGR: the bundle is asked for the device's target id,
    // for the generic processor's and for SPIR-V, and they are tried in this order. For each the answer is the first entry
    // that is compatible: comgr, comgr-metadata.cpp, lookUpCodeObject; for compressed bundles the bundler's own loop.
    // Earlier releases know less: libamdhip64 of ROCm 5 has neither the names of generic processors nor that of SPIR-V.
    Runtime {
        kind: OffloadKind::Hip,
        name: "HIP",
        release: "ROCm 7",
        order: "the first compatible entry for the processor, else for its generic processor, else SPIR-V",
        preference: Preference::Best,
        accepted_forms: &[Form::Machine, Form::SpirV],
        earlier: None,
    },
    // LLVM 22, offload/libomptarget/PluginManager.cpp, registerLib: images are gone through in the order in which they
    // were registered, and a device that has one is given no other (since llvm-project#139147, May 2025). What a plugin accepts: PluginInterface.cpp,
    // is_plugin_compatible and is_device_compatible (ELF files and bitcode; SPIR-V for Level Zero).
    Runtime {
        kind: OffloadKind::OpenMp,
        name: "libomptarget",
        release: "LLVM 21 and 22",
        order: "the first image that its plugin accepts",
        preference: Preference::First,
        accepted_forms: &[Form::Machine, Form::Bitcode, Form::SpirV],
        earlier: Some(&LIBOMPTARGET_BEFORE_21),
    },
    // Unified Runtime of DPC++ 2025, source/adapters/*/device.cpp, urDeviceSelectBinary: on Level Zero and OpenCL what was
    // compiled ahead, else SPIR-V; on CUDA and HIP the first image for the platform, which is a fat binary again.
    Runtime {
        kind: OffloadKind::Sycl,
        name: "SYCL",
        release: "DPC++ 2025",
        order: "for each kernel what was compiled ahead for the device, else SPIR-V",
        preference: Preference::BestForEachKernel,
        accepted_forms: &[Form::Machine, Form::Ptx, Form::SpirV],
        earlier: None,
    },
];

/// Each image that the plugin accepted took the place of the one before. Measured with libomptarget 15, 16 and 19, each with
/// two images for x86-64 in either order.
const LIBOMPTARGET_BEFORE_21: Runtime = Runtime {
    kind: OffloadKind::OpenMp,
    name: "libomptarget",
    release: "LLVM 15 to 20",
    order: "the last image that its plugin accepts",
    preference: Preference::Last,
    accepted_forms: &[Form::Machine, Form::Bitcode],
    earlier: None,
};

impl Runtime {
    /// Whether it takes what it thinks will run.
    pub fn selects_without_full_check(&self) -> bool {
        matches!(self.preference, Preference::First | Preference::Last)
    }

    /// The runtime that images of a kind are registered with, or where the kind is not known the one that usually loads
    /// what is for a platform. Host entries have none.
    pub fn of(kind: Option<OffloadKind>, platform: Option<Platform>) -> &'static Runtime {
        let kind = kind.filter(|&kind| kind != OffloadKind::Host).unwrap_or(match platform {
            Some(Platform::Nvidia) => OffloadKind::Cuda,
            Some(Platform::Amd) => OffloadKind::Hip,
            Some(Platform::SpirV) => OffloadKind::Sycl,
            Some(Platform::Host) | None => OffloadKind::OpenMp,
        });
        RUNTIMES.iter().find(|runtime| runtime.kind == kind).expect("every kind but the host's has a runtime")
    }
}
