//! Everything that is done with pointers of the caller. The header states what they must point to; NULL and text that is not
//! UTF-8 are errors.

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::{ptr, slice};

use crate::error::{Failure, Result};

/// Returns the handle, or an error about an argument that is NULL.
pub fn handle<T>(handle: Option<T>, name: &str) -> Result<T> {
    handle.ok_or_else(|| null(name))
}

/// Returns a string.
///
/// # Safety
///
/// `text` is NULL, or points to a string that ends in NUL and does not change while the result is used.
pub unsafe fn text<'a>(text: *const c_char, name: &str) -> Result<&'a str> {
    // SAFETY: the caller keeps the same promise.
    unsafe { optional_text(text, name) }?.ok_or_else(|| null(name))
}

/// Returns a string, or `None` for NULL.
///
/// # Safety
///
/// As for [`text`].
pub unsafe fn optional_text<'a>(text: *const c_char, name: &str) -> Result<Option<&'a str>> {
    // SAFETY: the caller keeps the same promise.
    let text = unsafe { bytes_of_text(text) };
    let text = text.map(|text| str::from_utf8(text)).transpose();
    text.map_err(|_| Failure::argument(format_args!("{name}: not a UTF-8 string")))
}

/// Returns a path. `-` is a file of that name, and not a standard stream.
///
/// # Safety
///
/// As for [`text`].
pub unsafe fn path(path: *const c_char, name: &str) -> Result<PathBuf> {
    // SAFETY: the caller keeps the same promise.
    let bytes = unsafe { bytes_of_text(path) }.ok_or_else(|| null(name))?;
    if bytes == b"-" {
        return Ok(PathBuf::from("./-"));
    }
    #[cfg(unix)]
    return Ok(std::os::unix::ffi::OsStrExt::from_bytes(bytes)).map(|path: &std::ffi::OsStr| PathBuf::from(path));
    #[cfg(not(unix))]
    match str::from_utf8(bytes) {
        Ok(path) => Ok(PathBuf::from(path)),
        Err(_) => Err(Failure::argument(format_args!("{name}: not a UTF-8 string"))),
    }
}

/// Returns `count` paths.
///
/// # Safety
///
/// As for [`array`]. Each pointer must meet the requirements of [`text`].
pub unsafe fn paths(paths: *const *const c_char, count: usize, name: &str) -> Result<Vec<PathBuf>> {
    // SAFETY: the caller promises that there are `count` pointers.
    let paths = unsafe { array(paths, count, name) }?;
    // SAFETY: the caller promises the same for each.
    paths.iter().map(|it| unsafe { path(*it, name) }).collect()
}

/// Returns `count` values, for as long as the caller promises to keep them.
///
/// # Safety
///
/// `values` is NULL, or points to `count` values that stay and do not change as long as the result is used.
pub unsafe fn array<'a, T>(values: *const T, count: usize, name: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if values.is_null() {
        return Err(null(name));
    }
    // SAFETY: the caller promises that the values are there and do not change.
    Ok(unsafe { slice::from_raw_parts(values, count) })
}

/// Passes bytes to the caller; none are NULL.
pub fn lend(bytes: &[u8], data: &mut MaybeUninit<*const u8>, size: &mut MaybeUninit<usize>) {
    data.write(if bytes.is_empty() { ptr::null() } else { bytes.as_ptr() });
    size.write(bytes.len());
}

/// Copies a record to the caller, whose record may be shorter or longer than this library's. The rest of a longer one is
/// zero.
///
/// # Safety
///
/// `to` is NULL, or points to `size` bytes that may be written.
pub unsafe fn write_record<T: Copy>(record: &T, to: *mut T, size: usize, name: &str) -> Result<()> {
    if to.is_null() {
        return Err(null(name));
    }
    let (known, from) = (size.min(size_of::<T>()), ptr::from_ref(record).cast::<u8>());
    let to = to.cast::<u8>();
    // SAFETY: the caller promises `size` bytes, and these are the first of them. They do not overlap a record of this
    // library.
    unsafe { ptr::copy_nonoverlapping(from, to, known) };
    // SAFETY: the rest of the same bytes.
    unsafe { ptr::write_bytes(to.add(known), 0, size - known) };
    Ok(())
}

/// Returns the bytes of a string without its NUL, or `None` for NULL.
///
/// # Safety
///
/// As for [`text`].
pub unsafe fn bytes_of_text<'a>(text: *const c_char) -> Option<&'a [u8]> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not NULL, so the caller promises a string.
    Some(unsafe { CStr::from_ptr(text) }.to_bytes())
}

fn null(name: &str) -> Failure {
    Failure::argument(format_args!("{name}: is NULL"))
}
