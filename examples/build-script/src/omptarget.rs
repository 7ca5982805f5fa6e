//! The call by which compilers launch a kernel of OpenMP.
//!
//! Source: LLVM 22, offload/include/Shared/APITypes.h and omptarget.h.

use std::ffi::c_void;
use std::ptr;

/// Version of [`KernelArguments`] in which kernels have no parameter for the runtime.
const VERSION: u32 = 2;

/// Mapping of a parameter: copied to the device and back, and passed to the kernel.
const TO_FROM_PARAMETER: i64 = 0x1 | 0x2 | 0x20;

/// The default device.
const DEFAULT_DEVICE: i64 = -1;

#[repr(C)]
struct KernelArguments {
    version: u32,
    count: u32,
    base_pointers: *const *mut c_void,
    pointers: *const *mut c_void,
    sizes: *const i64,
    types: *const i64,
    names: *const *mut c_void,
    mappers: *const *mut c_void,
    trip_count: u64,
    flags: u64,
    teams: [u32; 3],
    threads: [u32; 3],
    dynamic_memory: u32,
}

unsafe extern "C" {
    fn __tgt_target_kernel(
        location: *const c_void,
        device: i64,
        teams: i32,
        threads: i32,
        region: *const c_void,
        arguments: *const KernelArguments,
    ) -> i32;
}

/// Runs the kernel of a region with a pointer to `value` on the default device.
///
/// # Safety
///
/// The kernel has one parameter, a pointer to a `T`.
pub unsafe fn launch<T>(region: *const u8, value: &mut T) -> Result<(), String> {
    let pointer = ptr::from_mut(value).cast::<c_void>();
    let (size, kind) = (size_of::<T>() as i64, TO_FROM_PARAMETER);
    let arguments = KernelArguments {
        version: VERSION,
        count: 1,
        base_pointers: &raw const pointer,
        pointers: &raw const pointer,
        sizes: &raw const size,
        types: &raw const kind,
        names: ptr::null(),
        mappers: ptr::null(),
        trip_count: 0,
        flags: 0,
        teams: [1, 0, 0],
        threads: [1, 0, 0],
        dynamic_memory: 0,
    };
    // SAFETY: all pointers are valid during the call, and the caller knows the kernel.
    let status = unsafe { __tgt_target_kernel(ptr::null(), DEFAULT_DEVICE, 1, 1, region.cast(), &raw const arguments) };
    if status == 0 { Ok(()) } else { Err(format!("__tgt_target_kernel: status {status}")) }
}
