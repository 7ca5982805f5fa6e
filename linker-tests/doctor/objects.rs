//! Objects of the trials: a program, and device sections of more than 2 GiB.

use std::fs::OpenOptions;
use std::path::Path;

use anyhow::{Context, Result};
use object::write::{Object, Relocation};
use object::{Architecture, BinaryFormat, Endianness, RelocationFlags, SectionFlags, SectionKind, elf};

use crate::harness::step::Step;
use crate::harness::tools::Tool;

/// Size of a device section, which is out of the reach of 32 bits.
const SIZE: u64 = 2200 << 20;

/// Flag of sections that may be far from all others (x86-64 psABI, table 4.3).
const SHF_X86_64_LARGE: u64 = 0x1000_0000;

/// A program whose code refers to data, zeros and constants by 32 bits, and that throws if it has an argument. `catch
/// (...)` needs no table of types, which mold would report as out of reach.
const PROGRAM: &str = r#"
#include <stdio.h>
int state = 1, zero[16];
static const int constants[64] = {1, 2, 3};
__attribute__((noinline)) void fail(int count) { if (count > 1) throw 1; }
int run(int count) {
    zero[count & 15] = constants[count & 63] + state;
    try { fail(count); } catch (...) { puts("caught"); }
    return zero[0];
}
#ifndef __PIC__
#define PROGRAM
#elif defined(__PIE__)
#define PROGRAM
#endif
#ifdef PROGRAM
int main(int count, char **) { return run(count); }
#endif
"#;

/// A device section.
#[derive(Clone, Copy)]
pub struct Image {
    /// Name.
    pub section: &'static str,
    /// True for a section with the flag of large ones.
    pub is_large: bool,
}

/// Compiles the program.
pub fn compile_program(directory: &Path, options: &[&str]) -> Result<()> {
    std::fs::write(directory.join("program.cc"), PROGRAM)?;
    let step = Step::new(directory, Tool::Cxx.path()?).args(["-O1", "-c", "program.cc", "-o", "program.o"]);
    step.args(options).run().map(drop)
}

/// Writes an object with a device section of 2,200 MiB, whose bytes are a hole, and a pointer to it.
pub fn write_image(directory: &Path, name: &str, image: Image) -> Result<()> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let flags = elf::SHF_ALLOC.0 | if image.is_large { SHF_X86_64_LARGE } else { 0 };
    let section = object.add_section(Vec::new(), image.section.into(), SectionKind::ReadOnlyData);
    object.section_mut(section).flags =
        SectionFlags::Elf { sh_flags: elf::SectionFlags(flags), sh_type: elf::SHT_PROGBITS };
    object.append_section_data(section, &[0; 8], 8);
    let pointer = object.add_section(Vec::new(), b".nvFatBinSegment".into(), SectionKind::Data);
    object.append_section_data(pointer, &[0; 8], 8);
    let (symbol, flags) = (object.section_symbol(section), RelocationFlags::Elf { r_type: elf::R_X86_64_64 });
    object.add_relocation(pointer, Relocation { offset: 0, symbol, addend: 0, flags })?;
    // Without it, the stack of the program would be executable.
    object.add_section(Vec::new(), b".note.GNU-stack".into(), SectionKind::Other);
    let mut bytes = object.write()?;
    let end = bytes.len() as u64;
    let header = section_header(&bytes, image.section).context("no section header")?;
    bytes[header + 24..header + 32].copy_from_slice(&end.to_le_bytes());
    bytes[header + 32..header + 40].copy_from_slice(&SIZE.to_le_bytes());
    let path = directory.join(name);
    std::fs::write(&path, bytes)?;
    OpenOptions::new().write(true).open(&path)?.set_len(end + SIZE)?;
    Ok(())
}

/// Returns the offset of the header of a section.
fn section_header(bytes: &[u8], name: &str) -> Option<usize> {
    let number = |at: usize, size: usize| {
        bytes[at..at + size].iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte))
    };
    let (headers, count, names) = (number(40, 8), number(60, 2), number(62, 2));
    let strings = number(headers + names * 64 + 24, 8);
    (0..count).map(|index| headers + index * 64).find(|&header| {
        let text = &bytes[strings + number(header, 4)..];
        text.starts_with(name.as_bytes()) && text.get(name.len()) == Some(&0)
    })
}
