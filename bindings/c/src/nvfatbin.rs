//! The functions of NVIDIA's nvFatbin, for programs that were written for it. `include/nvFatbin.h` declares them.

#![allow(non_snake_case, reason = "the names are NVIDIA's")]

use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::{ptr, slice};

use fatbin_rs::embed::{NvFatbin, NvFatbinError};

use crate::error::{caught, free};
use crate::pointers::{array, bytes_of_text as text};

/// A container under construction. It has copies of its images.
pub type Handle = NvFatbin<'static>;

/// Release of nvFatbin with this interface.
const RELEASE: (u32, u32) = (13, 5);

type Result<T, E = NvFatbinError> = std::result::Result<T, E>;

/// Runs the code behind a function, and returns its status.
fn status(call: impl FnOnce() -> Result<()>) -> u32 {
    let result = caught(call).unwrap_or(Err(NvFatbinError::Internal));
    result.map_or_else(|error| error.status(), |()| 0)
}

fn some<T>(pointer: Option<T>) -> Result<T> {
    pointer.ok_or(NvFatbinError::NullPointer)
}

/// Returns a copy of an image.
///
/// # Safety
///
/// `code` is null, or points to `size` bytes.
unsafe fn copied(code: *const c_void, size: usize) -> Result<Vec<u8>> {
    if code.is_null() {
        return Err(NvFatbinError::NullPointer);
    }
    // SAFETY: the caller promises the bytes.
    Ok(unsafe { slice::from_raw_parts(code.cast::<u8>(), size) }.to_vec())
}

/// Creates a container. After a mistake in the options, it has none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvFatbinCreate(
    handle_indirect: Option<&mut MaybeUninit<*mut Handle>>,
    options: *const *const c_char,
    count: usize,
) -> u32 {
    status(|| {
        let handle = some(handle_indirect)?;
        // SAFETY: the caller promises `count` pointers to strings.
        let options = unsafe { array(options, count, "options") };
        // SAFETY: as above.
        let given = options.map(|options| options.iter().map(|option| unsafe { text(*option) }).collect());
        let given: Option<Vec<&[u8]>> = given.ok().flatten();
        let created = some(given).and_then(NvFatbin::new);
        let (container, result) = match created {
            Ok(container) => (container, Ok(())),
            Err(error) => (NvFatbin::default(), Err(error)),
        };
        handle.write(Box::into_raw(Box::new(container)));
        result
    })
}

/// Frees a container, and sets its handle to null.
#[unsafe(no_mangle)]
pub extern "C" fn nvFatbinDestroy(handle_indirect: Option<&mut Option<Box<Handle>>>) -> u32 {
    status(|| {
        free(Some(some(some(handle_indirect)?.take())?));
        Ok(())
    })
}

/// Adds PTX.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvFatbinAddPTX(
    handle: Option<&mut Handle>,
    code: *const c_char,
    size: usize,
    arch: *const c_char,
    identifier: *const c_char,
    options: *const c_char,
) -> u32 {
    // SAFETY: the caller promises `size` bytes and strings.
    let (code, arch, identifier, options) =
        unsafe { (copied(code.cast(), size), text(arch), text(identifier), text(options)) };
    status(|| {
        let (handle, arch) = (some(handle)?, some(arch)?);
        handle.add_ptx(code?, arch, identifier.unwrap_or_default(), options.unwrap_or_default())
    })
}

/// Adds a cubin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvFatbinAddCubin(
    handle: Option<&mut Handle>,
    code: *const c_void,
    size: usize,
    arch: *const c_char,
    identifier: *const c_char,
) -> u32 {
    // SAFETY: the caller promises `size` bytes and strings.
    let (code, arch, identifier) = unsafe { (copied(code, size), text(arch), text(identifier)) };
    status(|| some(handle)?.add_cubin(code?, some(arch)?, identifier.unwrap_or_default()))
}

/// Adds LTO-IR, uncompressed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvFatbinAddLTOIR(
    handle: Option<&mut Handle>,
    code: *const c_void,
    size: usize,
    arch: *const c_char,
    identifier: *const c_char,
    options: *const c_char,
) -> u32 {
    // SAFETY: the caller promises `size` bytes and strings.
    let (code, arch, identifier, options) =
        unsafe { (copied(code, size), text(arch), text(identifier), text(options)) };
    status(|| {
        let (handle, arch) = (some(handle)?, some(arch)?);
        handle.add_lto_ir(code?, arch, identifier.unwrap_or_default(), options.unwrap_or_default())
    })
}

/// Refuses an index: no tool writes one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvFatbinAddIndex(
    handle: Option<&mut Handle>,
    code: *const c_void,
    size: usize,
    identifier: *const c_char,
) -> u32 {
    // SAFETY: the caller promises `size` bytes and a string.
    let (code, identifier) = unsafe { (copied(code, size), text(identifier)) };
    status(|| some(handle)?.add_index(code?, identifier.unwrap_or_default()))
}

/// Adds the PTX of a host object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvFatbinAddReloc(handle: Option<&mut Handle>, code: *const c_void, size: usize) -> u32 {
    // SAFETY: the caller promises `size` bytes.
    let code = unsafe { copied(code, size) };
    status(|| some(handle)?.add_reloc(code?))
}

/// Adds Tile IR.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvFatbinAddTileIR(
    handle: Option<&mut Handle>,
    code: *const c_void,
    size: usize,
    identifier: *const c_char,
    options: *const c_char,
) -> u32 {
    // SAFETY: the caller promises `size` bytes and strings.
    let (code, identifier, options) = unsafe { (copied(code, size), text(identifier), text(options)) };
    status(|| some(handle)?.add_tile_ir(code?, identifier.unwrap_or_default(), options.unwrap_or_default()))
}

/// Writes the container, and returns its size.
#[unsafe(no_mangle)]
pub extern "C" fn nvFatbinSize(handle: Option<&mut Handle>, size: Option<&mut MaybeUninit<usize>>) -> u32 {
    status(|| {
        let (handle, size) = (some(handle)?, some(size)?);
        size.write(handle.size()?);
        Ok(())
    })
}

/// Copies the container, whose size the caller knows from nvFatbinSize.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvFatbinGet(handle: Option<&Handle>, buffer: *mut c_void) -> u32 {
    status(|| {
        let handle = some(handle)?;
        if buffer.is_null() {
            return Err(NvFatbinError::NullPointer);
        }
        let container = handle.get()?;
        // SAFETY: the caller promises a buffer of this size. It does not overlap a container of this library.
        unsafe { ptr::copy_nonoverlapping(container.as_ptr(), buffer.cast(), container.len()) };
        Ok(())
    })
}

/// Returns the release of nvFatbin whose interface this is.
#[unsafe(no_mangle)]
pub extern "C" fn nvFatbinVersion(major: Option<&mut MaybeUninit<u32>>, minor: Option<&mut MaybeUninit<u32>>) -> u32 {
    status(|| {
        let (major, minor) = (some(major)?, some(minor)?);
        major.write(RELEASE.0);
        minor.write(RELEASE.1);
        Ok(())
    })
}

/// Returns the message of a status; null for success.
#[unsafe(no_mangle)]
pub extern "C" fn nvFatbinGetErrorString(result: u32) -> *const c_char {
    NvFatbinError::message_of(result).map_or(ptr::null(), CStr::as_ptr)
}
