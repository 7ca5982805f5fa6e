//! The unwind information of Windows, made from the unwind rules of a compiled function.
//!
//! Both formats describe the prologue by one code per instruction. The rules of a prologue are: the frame grows, and
//! registers are saved. The first rule of another kind belongs to the epilogue. x64 recognizes an epilogue by its
//! instructions; on ARM64, separate codes describe it.
//! Source: Microsoft, x64 exception handling; ARM64 exception handling.

use crate::host::architecture::UnwindFormat;
use crate::host::assembler::{CompiledFunction, UnwindRule};

/// An instruction of a prologue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PrologueStep {
    /// Offset of the next instruction.
    end: u32,
    /// Effect of the instruction.
    effect: Effect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// The frame grows by this number of bytes.
    Allocate(u32),
    /// A register, in DWARF's numbers, is saved at this distance from the caller's frame.
    Save(u16, i32),
}

/// Returns the unwind information of a function.
pub fn information(format: UnwindFormat, function: &CompiledFunction) -> Vec<u8> {
    match format {
        UnwindFormat::X64 => x64(function),
        UnwindFormat::Arm64 => arm64(function),
    }
}

/// Returns the steps of the prologue. The size of the frame on entry is `entry`.
fn prologue(function: &CompiledFunction, entry: i32) -> Vec<PrologueStep> {
    let mut frame = entry;
    let mut steps = Vec::new();
    for &(end, rule) in &function.unwind {
        let effect = match rule {
            UnwindRule::FrameAt(size) if size > frame => {
                let growth = size - frame;
                frame = size;
                Effect::Allocate(growth as u32)
            }
            UnwindRule::Saved { register, at } => Effect::Save(register, at),
            _ => break,
        };
        steps.push(PrologueStep { end, effect });
    }
    steps
}

/// `UNWIND_INFO`: version 1 without flags, size of the prologue, number of codes, no frame register; then the codes,
/// the last instruction's first.
fn x64(function: &CompiledFunction) -> Vec<u8> {
    const PUSH_NONVOLATILE: u8 = 0;
    const ALLOCATE_LARGE: u8 = 1;
    const ALLOCATE_SMALL: u8 = 2;
    const RETURN_ADDRESS: i32 = 8;

    let steps = prologue(function, RETURN_ADDRESS);
    let size = steps.last().map_or(0, |step| step.end) as u8;
    let mut codes = Vec::new();
    let mut pushed = None;
    for step in steps.iter().rev() {
        let end = step.end as u8;
        match step.effect {
            // A push is one instruction with two rules. The numbers of the saved registers, rbx and r14, are DWARF's.
            Effect::Save(register, _) => {
                codes.push([end, PUSH_NONVOLATILE | (register as u8) << 4]);
                pushed = Some(step.end);
            }
            Effect::Allocate(8) if pushed == Some(step.end) => {}
            Effect::Allocate(bytes @ 8..=128) => codes.push([end, ALLOCATE_SMALL | ((bytes / 8 - 1) as u8) << 4]),
            Effect::Allocate(bytes) => {
                codes.extend([[end, ALLOCATE_LARGE], ((bytes / 8) as u16).to_le_bytes()]);
            }
        }
    }
    let count = codes.len() as u8;
    if !codes.len().is_multiple_of(2) {
        codes.push([0; 2]);
    }
    [[1, size], [count, 0]].into_iter().chain(codes).flatten().collect()
}

/// A header of one word, then the codes of the prologue, last instruction first, and the codes of the only epilogue in
/// the order of its instructions. Both end with the code for the return.
fn arm64(function: &CompiledFunction) -> Vec<u8> {
    const END: u8 = 0xe4;
    const FIRST_SAVED: u16 = 19;

    let steps = prologue(function, 0);
    let allocated: u32 = steps.iter().map(|step| if let Effect::Allocate(size) = step.effect { size } else { 0 }).sum();
    let units = (allocated / 16) as u16;
    // alloc_s below 512 bytes, else alloc_m.
    let allocate = if units < 32 { vec![units as u8] } else { (0xc000 | units).to_be_bytes().to_vec() };
    let saves: Vec<[u8; 2]> = steps
        .iter()
        .filter_map(|step| match step.effect {
            // save_reg, with the distance from the stack pointer in units of 8.
            Effect::Save(register, at) => {
                let offset = (allocated as i32 + at) as u16 / 8;
                Some((0xd000 | (register - FIRST_SAVED) << 6 | offset).to_be_bytes())
            }
            Effect::Allocate(_) => None,
        })
        .collect();
    let mut codes: Vec<u8> = saves.iter().rev().flatten().copied().collect();
    codes.extend(allocate.iter().chain([&END]));
    let epilogue = codes.len() as u32;
    codes.extend(saves.iter().flatten());
    codes.extend(allocate.iter().chain([&END]));
    codes.resize(codes.len().next_multiple_of(4), 0);

    const ONE_EPILOGUE: u32 = 1 << 21;
    let instructions = function.bytes.len() as u32 / 4;
    let words = codes.len() as u32 / 4;
    let header = instructions | ONE_EPILOGUE | epilogue << 22 | words << 27;
    header.to_le_bytes().into_iter().chain(codes).collect()
}
