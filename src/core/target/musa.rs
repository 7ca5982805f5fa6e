//! GPUs of Moore Threads, whose runtime is MUSA.
//!
//! Source: output of mcc in MUSA 5.2 as published by projects that use it, and its header `MTGPUELF.h`.

use object::elf;

/// Triple of device code.
pub const TRIPLE: &str = "mtgpu-mt-musa";

/// Machine of device code. Other ELF files with this number are for ARCv3.
pub const EM_MTGPU: elf::Machine = elf::Machine(253);

/// Owner and type of the note that every ELF file for a GPU has.
pub const NOTE_OWNER: &[u8] = b"MTGPU";
pub const NOTE_TYPE: u32 = 0x40;
