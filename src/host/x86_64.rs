//! x86-64 under the System V ABI.

use object::Endianness;
use object::elf;

use super::architecture::{Architecture, CallFrame, Code, CodeRelocation};
use super::plan::{Address, Function, SymbolId};

/// The machine. Register numbers: System V ABI, AMD64 supplement, table 3.36.
pub const X86_64: Architecture = Architecture {
    machine: elf::EM_X86_64,
    flags: elf::FileFlags(0),
    endianness: Endianness::Little,
    function_alignment: 16,
    fill: &[0xcc], // int3
    absolute: elf::R_X86_64_64,
    relative: elf::R_X86_64_PC32,
    // The ABI's own type. LLVM writes it, GNU as writes PROGBITS; bfd, gold, lld and mold take both.
    eh_frame_type: elf::SHT_X86_64_UNWIND,
    call_frame: CallFrame {
        code_alignment: 1,
        data_alignment: -8,
        return_address: 16,
        stack_pointer: 7,
        entry_offset: 8,
        return_address_at: Some(-8),
    },
    compile,
};

const PUSH_RAX: u8 = 0x50;
const POP_RAX: u8 = 0x58;
const LEA_RDI_RIP: [u8; 3] = [0x48, 0x8d, 0x3d];
const CALL: u8 = 0xe8;
const JMP: u8 = 0xe9;
const RET: u8 = 0xc3;

/// The last call is a jump, as any optimising compiler makes it; the pushed word that the calls before it need keeps
/// the stack aligned to 16 and is never read.
fn compile(function: &Function) -> Code {
    let mut code = Code::default();
    let Some((last, before)) = function.calls.split_last() else {
        code.bytes.push(RET);
        return code;
    };
    if !before.is_empty() {
        code.bytes.push(PUSH_RAX);
        code.unwind.push((code.bytes.len() as u32, 16));
    }
    for call in before {
        load_argument(&mut code, call.argument);
        branch(&mut code, CALL, call.callee);
    }
    load_argument(&mut code, last.argument);
    if !before.is_empty() {
        code.bytes.push(POP_RAX);
        code.unwind.push((code.bytes.len() as u32, 8));
    }
    branch(&mut code, JMP, last.callee);
    code
}

fn load_argument(code: &mut Code, address: Address) {
    code.bytes.extend(LEA_RDI_RIP);
    relocate(code, elf::R_X86_64_PC32, address.symbol, address.offset as i64);
}

fn branch(code: &mut Code, opcode: u8, callee: SymbolId) {
    code.bytes.push(opcode);
    relocate(code, elf::R_X86_64_PLT32, callee, 0);
}

/// A 32-bit distance counted from its own end, hence 4 less than one that counts from its start.
fn relocate(code: &mut Code, kind: elf::RelocationType, symbol: SymbolId, offset: i64) {
    code.relocations.push(CodeRelocation { offset: code.bytes.len() as u64, kind, symbol, addend: offset - 4 });
    code.bytes.extend([0; 4]);
}
