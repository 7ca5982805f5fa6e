//! Code for Intel's GPUs in the layout that preceded zebin: headers, and lists of patch tokens about kernels.
//!
//! A program is a header, a list of tokens, and kernels. A kernel is a header, its name, four heaps, the first of which
//! is its code, and a list of tokens. The program states a core family, which is all that drivers compare with their
//! device, and no product. ocloc 22.43 writes this layout unless `--format zebin` asks for the other, in a section of
//! OpenCL's ELF file with the name `Intel(R) OpenCL Device Binary`, or alone with `-gen_file`. Source: Intel,
//! compute-runtime, `patch_list.h` and `device_binary_format_patchtokens.cpp`; output of ocloc 22.43, whose zebin
//! states the same figures.

#[cfg(test)]
mod tests;

use crate::base::bytes::{Cursor, Resource, View};
use crate::base::error::{Cause, Malformed};
use crate::target::intel;

/// First bytes of a program.
pub const MAGIC: [u8; 4] = *b"CTNI";

/// Sizes of the headers of a program, a kernel and a token.
const PROGRAM_HEADER_SIZE: u64 = 28;
const KERNEL_HEADER_SIZE: u64 = 40;
const TOKEN_HEADER_SIZE: u64 = 8;

/// A program whose kernels and tokens have been walked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program<'data> {
    /// Version of the layout. ocloc 22.43 writes 1081, and drivers accept that of their own release only.
    pub version: u32,
    /// Number of the core family.
    pub core: u32,
    /// Size of a pointer, in bytes.
    pub pointer_size: u32,
    /// Kernels in the order of the file.
    pub kernels: Vec<ProgramKernel<'data>>,
    /// Size of the program in bytes.
    pub size: u64,
}

/// A kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramKernel<'data> {
    /// Name that the runtime looks up.
    pub name: &'data str,
    /// Header, name, heaps and tokens.
    pub whole: View<'data>,
    /// Code, with its padding.
    pub code: View<'data>,
    /// List of tokens, which [`tokens`] reads.
    pub tokens: View<'data>,
}

/// A token: a statement about a kernel.
#[derive(Debug, Clone, Copy)]
pub struct Token<'data> {
    /// Number of its kind.
    pub number: u32,
    /// Contents after its header.
    pub contents: View<'data>,
}

impl<'data> Token<'data> {
    /// Returns a number in the contents; `None` after their end. Later versions append numbers.
    pub fn word(&self, index: u64) -> Option<u32> {
        self.contents.u32("patch token", index.checked_mul(4)?).ok()
    }
}

impl<'data> Program<'data> {
    /// Reads the program at the start of a view that may extend beyond it.
    pub fn read(view: View<'data>) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(view);
        let header = cursor.take("Intel program header", PROGRAM_HEADER_SIZE)?;
        if !header.starts_with(&MAGIC) {
            let value = u64::from(header.u32("Intel program magic", 0)?);
            return Err(view.malformed("Intel program magic", 0, Cause::Unexpected { value, expected: "CTNI" }));
        }
        let version = header.u32("Intel program version", 4)?;
        let core = header.u32("Intel core family", 8)?;
        let pointer_size = header.u32("Intel pointer size", 12)?;
        if ![4, 8].contains(&pointer_size) {
            let cause = Cause::Unexpected { value: pointer_size.into(), expected: "4 or 8" };
            return Err(view.malformed("Intel pointer size", 12, cause));
        }
        let count = header.u32("Intel kernel count", 16)?;
        let list_size = header.u32("Intel program tokens", 24)?;
        check_tokens(cursor.take_stated(header.field("Intel program tokens", 24), list_size.into())?)?;
        let mut kernels = Vec::new();
        for _ in 0..count {
            view.charge("Intel kernel", Resource::Memory, size_of::<ProgramKernel<'_>>() as u64)?;
            kernels.push(kernel(view, &mut cursor)?);
        }
        Ok(Program { version, core, pointer_size, kernels, size: cursor.at() })
    }

    /// Returns the name of the core family; `None` for an unknown one.
    pub fn arch(&self) -> Option<&'static str> {
        intel::core_name(self.core)
    }
}

/// Reads the next kernel.
fn kernel<'data>(program: View<'data>, cursor: &mut Cursor<'data>) -> Result<ProgramKernel<'data>, Malformed> {
    let start = cursor.at();
    let header = cursor.take("Intel kernel header", KERNEL_HEADER_SIZE)?;
    let mut part = |field, at| {
        let size = header.u32(field, at)?;
        cursor.take_stated(header.field(field, at), size.into())
    };
    let name = part("Intel kernel name", 12)?;
    let code = part("Intel kernel heap", 20)?;
    for (field, at) in [("general state heap", 24), ("dynamic state heap", 28), ("surface state heap", 32)] {
        part(field, at)?;
    }
    let tokens = part("Intel kernel tokens", 16)?;
    check_tokens(tokens)?;
    let name = name.c_string("Intel kernel name", 0)?;
    Ok(ProgramKernel { name, whole: program.between("Intel kernel", start..cursor.at())?, code, tokens })
}

/// Reads a list of tokens.
pub fn tokens(list: View<'_>) -> impl Iterator<Item = Result<Token<'_>, Malformed>> {
    let mut cursor = Cursor::new(list);
    std::iter::from_fn(move || {
        if cursor.rest().size() == 0 {
            return None;
        }
        let token = token(&mut cursor);
        if token.is_err() {
            // Nothing after an invalid size can be read.
            cursor = Cursor::new(list.from(list.size()));
        }
        Some(token)
    })
}

fn token<'data>(cursor: &mut Cursor<'data>) -> Result<Token<'data>, Malformed> {
    let rest = cursor.rest();
    rest.charge("patch token", Resource::Work, 1)?;
    let number = rest.u32("patch token", 0)?;
    let size = u64::from(rest.u32("patch token size", 4)?);
    let token = cursor.take_stated(rest.field("patch token size", 4), size)?;
    if size < TOKEN_HEADER_SIZE {
        let cause = Cause::Unexpected { value: size, expected: "at least 8" };
        return Err(rest.malformed("patch token size", 4, cause));
    }
    Ok(Token { number, contents: token.from(TOKEN_HEADER_SIZE) })
}

fn check_tokens(list: View<'_>) -> Result<(), Malformed> {
    tokens(list).try_for_each(|token| token.map(|_| ()))
}
