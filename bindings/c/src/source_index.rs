//! Sources of instructions.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use fatbin_rs::image;

use crate::FATBIN_NONE;
use crate::error::{Failure, free, guard};
use crate::file::File;
use crate::pointers::{self, handle};
use crate::strings::Strings;

/// Sources of the instructions of an image.
#[derive(Debug)]
pub struct SourceIndex {
    index: image::SourceIndex,
    strings: Strings,
    frames: Vec<Frame>,
}

/// A function that an instruction belongs to. NULL and 0 are not known.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Frame {
    /// Name of the function.
    pub function: *const c_char,
    /// Path of the source file.
    pub file: *const c_char,
    /// Line, from 1 on.
    pub line: u32,
    /// Column, from 1 on.
    pub column: u32,
}

/// Reads the line table of an image. Free the result with fatbin_source_index_free; it does not depend on the file.
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_file_source_index(
    file: Option<&mut File>,
    index: usize,
    error: Option<&mut MaybeUninit<*mut Failure>>,
) -> Option<Box<SourceIndex>> {
    guard(error, None, || {
        let index = handle(file, "file")?.source_index(index)?;
        Ok(Some(Box::new(SourceIndex { index, strings: Strings::default(), frames: Vec::new() })))
    })
}

/// Returns the address of an offset in a function of the image; FATBIN_NONE if the image has no such function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_source_index_address(
    index: Option<&SourceIndex>,
    function: *const c_char,
    offset: u64,
) -> u64 {
    // SAFETY: a string, as the header requires.
    let function = unsafe { pointers::text(function, "function") };
    let address = index.zip(function.ok()).and_then(|(index, function)| index.index.address(function, offset));
    address.unwrap_or(FATBIN_NONE)
}

/// Looks an address up, and returns the number of its frames: the innermost inlined function first. 0 if nothing is known.
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_source_index_find(index: Option<&mut SourceIndex>, address: u64) -> usize {
    let Some(SourceIndex { index, strings, frames }) = index else { return 0 };
    frames.clear();
    for frame in index.frames(address) {
        frames.push(Frame {
            function: strings.add_optional(frame.function),
            file: strings.add_optional(frame.file),
            line: frame.line.unwrap_or(0),
            column: frame.column.unwrap_or(0),
        });
    }
    frames.len()
}

/// Writes a frame of the address that was looked up last. Pass `sizeof *frame` as the size. Returns false if the number is out of range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_source_index_frame(
    index: Option<&SourceIndex>,
    number: usize,
    frame: *mut Frame,
    frame_size: usize,
) -> bool {
    let record = index.and_then(|index| index.frames.get(number));
    // SAFETY: the record of the caller has this size.
    record.is_some_and(|it| unsafe { pointers::write_record(it, frame, frame_size, "frame") }.is_ok())
}

/// Frees an index with the strings of its frames. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_source_index_free(index: Option<Box<SourceIndex>>) {
    free(index);
}
