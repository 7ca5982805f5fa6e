//! Size of wavefronts that the name of a kernel states.
//!
//! A template argument of rocPRIM's kernels is a value of `rocprim::arch::wavefront::target` (rocPRIM, Intrinsics,
//! Hardware architecture): 0 for 32 lanes, 1 for 64, as code objects for gfx9 and for later processors in wheels of
//! ROCm 7 show. The host launches the kernel for the wavefronts of the device: 64 lanes up to gfx9, then 32 (LLVM, User
//! Guide for AMDGPU Backend, Target Features, wavefrontsize64). So each device lacks the kernels for the other size.

use fatbin_core::target::Device;
use fatbin_core::target::amdgpu::processor;

/// The type of the argument in a mangled name; the value follows.
const ARGUMENT: &str = "arch9wavefront6targetE";

/// Size of a wavefront.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wavefront {
    Lanes32,
    Lanes64,
}

impl Wavefront {
    /// Returns the size that a mangled name states.
    pub fn of_name(name: &str) -> Option<Wavefront> {
        let (_, value) = name.split_once(ARGUMENT)?;
        match value.as_bytes() {
            [b'0', b'E', ..] => Some(Wavefront::Lanes32),
            [b'1', b'E', ..] => Some(Wavefront::Lanes64),
            _ => None,
        }
    }

    /// Returns whether a device launches kernels for this size.
    pub fn is_of(self, device: &Device) -> bool {
        let Device::Amd(name) = device else { return true };
        let number = processor(name).trim_start_matches("gfx");
        // The last two digits are the minor version and the stepping.
        let is_64 = number.len() <= "90a".len();
        is_64 == (self == Wavefront::Lanes64)
    }
}
