//! The library of fatbin for C. `include/fatbin.h` is generated from the functions and types here.
//!
//! Each function catches panics ([`error::guard`]), so none crosses the border. [`pointers`] has all that is done with pointers
//! of the caller; handles are references or boxes, which need no unsafe code.

#![deny(missing_docs)]

mod check;
mod error;
mod file;
mod nvfatbin;
mod open_scan;
mod pointers;
mod producers;
mod records;
mod select;
mod source_index;
mod strings;
mod wrapper;

use std::ffi::c_char;

/// Version of the interface that this header describes. It grows with each addition.
pub const FATBIN_ABI_VERSION: u32 = 2;

/// An offset, a size or a version that does not exist.
pub const FATBIN_NONE: u64 = u64::MAX;

/// An index that does not exist.
pub const FATBIN_NO_INDEX: usize = usize::MAX;

/// Returns the version of the interface of the loaded library. A program that was compiled with a FATBIN_ABI_VERSION up to
/// this number runs with it.
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_abi_version() -> u32 {
    FATBIN_ABI_VERSION
}

/// Returns the version of the loaded library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_version() -> *const c_char {
    const VERSION: &std::ffi::CStr =
        match std::ffi::CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => panic!("a version without NUL"),
        };
    VERSION.as_ptr()
}
