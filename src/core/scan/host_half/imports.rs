//! Functions that a host file uses from other files: those of offload runtimes, and stubs of kernels.
//!
//! Sources of the names: CUDA's and HIP's host headers, clang's CGCUDANV.cpp, LLVM's `openmp/libomptarget/exports` and
//! OffloadWrapper.cpp, GCC's `libgomp.map` and mkoffload.cc.

use object::read::{NameOrOrdinal, Object, ObjectSymbol};

use crate::base::bytes::{ObjectBytes, Resource, View};
use crate::base::short_text::{ShortText, words};
use crate::scan::structure::pointers::HostFile;

/// Part of the name of the function that launches a kernel of CUDA or HIP.
pub const STUB: &str = "__device_stub__";

/// Start of the names of functions that the object of `nvcc -dlink` defines, one for each module of the device link.
pub const LINKED_BINARY: &str = "__cudaRegisterLinkedBinary_";

/// Start of the names of wrappers of relocatable modules of CUDA. The object of `nvcc -dlink` refers to them.
const MODULE_WRAPPER: &str = "__fatbinwrap_";

/// Function that registers images with SYCL's runtime.
const SYCL_REGISTRATION: &str = "__sycl_register_lib";

/// A runtime whose functions host code calls by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostRuntime {
    Cuda,
    Hip,
    OpenMp,
    Libgomp,
}

static CUDA_LAUNCHES: [ShortText<32>; 9] = words(
    "cudaLaunch cudaLaunchKernel cudaLaunchKernel_ptsz cudaLaunchKernelExC cudaLaunchKernelExC_ptsz \
     cudaLaunchCooperativeKernel cudaLaunchCooperativeKernel_ptsz __cudaLaunchKernel __cudaLaunchKernel_ptsz",
);
static HIP_LAUNCHES: [ShortText<32>; 7] = words(
    "hipLaunchKernel hipLaunchKernel_spt hipLaunchByPtr hipLaunchKernelExC hipExtLaunchKernel \
     hipLaunchCooperativeKernel hipLaunchCooperativeKernel_spt",
);
static OPENMP_LAUNCHES: [ShortText<32>; 10] = words(
    "__tgt_target_kernel __tgt_target_kernel_nowait __tgt_target __tgt_target_nowait __tgt_target_mapper \
     __tgt_target_nowait_mapper __tgt_target_teams __tgt_target_teams_nowait __tgt_target_teams_mapper \
     __tgt_target_teams_nowait_mapper",
);
static LIBGOMP_LAUNCHES: [ShortText<32>; 4] = words("GOMP_target GOMP_target_ext GOACC_parallel GOACC_parallel_keyed");

static CUDA_REGISTRATIONS: [ShortText<28>; 1] = words("__cudaRegisterFatBinary");
static HIP_REGISTRATIONS: [ShortText<28>; 1] = words("__hipRegisterFatBinary");
static OPENMP_REGISTRATIONS: [ShortText<28>; 1] = words("__tgt_register_lib");
static LIBGOMP_REGISTRATIONS: [ShortText<28>; 2] = words("GOMP_offload_register GOMP_offload_register_ver");

impl HostRuntime {
    pub const ALL: [HostRuntime; 4] = [HostRuntime::Cuda, HostRuntime::Hip, HostRuntime::OpenMp, HostRuntime::Libgomp];

    fn launches(self) -> &'static [ShortText<32>] {
        match self {
            HostRuntime::Cuda => &CUDA_LAUNCHES,
            HostRuntime::Hip => &HIP_LAUNCHES,
            HostRuntime::OpenMp => &OPENMP_LAUNCHES,
            HostRuntime::Libgomp => &LIBGOMP_LAUNCHES,
        }
    }

    /// The function that registers images.
    pub fn registration(self) -> &'static str {
        self.registrations().last().map_or("", |name| name)
    }

    fn registrations(self) -> &'static [ShortText<28>] {
        match self {
            HostRuntime::Cuda => &CUDA_REGISTRATIONS,
            HostRuntime::Hip => &HIP_REGISTRATIONS,
            HostRuntime::OpenMp => &OPENMP_REGISTRATIONS,
            HostRuntime::Libgomp => &LIBGOMP_REGISTRATIONS,
        }
    }
}

/// Names that a host file refers to and does not define.
#[derive(Debug, Default)]
pub struct Imports<'data> {
    names: Vec<&'data str>,
}

impl<'data> Imports<'data> {
    /// Reads the undefined symbols of an object, or the imports of a linked file. Names that are not UTF-8, and those
    /// beyond the budget, are left out.
    pub fn read(host: View<'data>, is_object: bool) -> Imports<'data> {
        let Ok(file) = HostFile::parse(ObjectBytes(host)) else { return Imports::default() };
        let mut names = Vec::new();
        let mut add = |name: &'data [u8]| {
            // Mach-O adds an underscore before C names.
            let name = if host_adds_underscore(&file) { name.strip_prefix(b"_").unwrap_or(name) } else { name };
            names.extend(std::str::from_utf8(name));
            host.charge("symbol", Resource::Memory, size_of::<&str>() as u64).is_ok()
                && host.charge("symbol", Resource::Work, 1).is_ok()
        };
        if is_object {
            let undefined = file.symbols().filter(ObjectSymbol::is_undefined);
            for name in undefined.filter_map(|symbol| symbol.name_bytes().ok()) {
                if !add(name) {
                    break;
                }
            }
            return Imports { names };
        }
        for import in file.imports().into_iter().flatten().map_while(Result::ok) {
            if let NameOrOrdinal::Name(name) = import.name()
                && !add(name)
            {
                break;
            }
        }
        Imports { names }
    }

    /// The names, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &'data str> {
        self.names.iter().copied()
    }

    /// A function of this runtime that launches a kernel which the program has registered.
    pub fn launch(&self, runtime: HostRuntime) -> Option<&'static str> {
        self.names().find_map(|name| runtime.launches().iter().find(|known| **known == *name)).map(|known| &**known)
    }

    /// Returns whether the file registers images with SYCL's runtime.
    pub fn registers_sycl(&self) -> bool {
        self.names().any(|name| name == SYCL_REGISTRATION)
    }

    /// Returns whether the file registers images with this runtime.
    pub fn registers(&self, runtime: HostRuntime) -> bool {
        self.names().any(|name| is_registration(name, runtime))
    }

    /// A function whose name ends in the name of the one that registers images: `objcopy --prefix-symbols` renames the
    /// functions of runtimes, too.
    pub fn renamed_registration(&self, runtime: HostRuntime) -> Option<&'data str> {
        let is_renamed = |name: &str| runtime.registrations().iter().any(|known| name.ends_with(&**known));
        self.names().find(|name| is_renamed(name) && !is_registration(name, runtime))
    }

    /// A function that the object of `nvcc -dlink` defines.
    pub fn linked_binary(&self) -> Option<&'data str> {
        self.names().find(|name| name.starts_with(LINKED_BINARY))
    }

    /// A module of the device link whose wrapper another file defines.
    pub fn module_wrapper(&self) -> Option<&'data str> {
        self.names().find(|name| name.starts_with(MODULE_WRAPPER))
    }

    /// Functions that launch a kernel which another file defines.
    pub fn stubs(&self) -> impl Iterator<Item = &'data str> {
        self.names().filter(|name| name.contains(STUB))
    }
}

fn is_registration(name: &str, runtime: HostRuntime) -> bool {
    runtime.registrations().iter().any(|known| known == name)
}

fn host_adds_underscore(file: &HostFile<'_>) -> bool {
    file.format() == object::BinaryFormat::MachO
}
