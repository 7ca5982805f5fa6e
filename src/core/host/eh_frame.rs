//! `.eh_frame`: how to unwind through the functions, written by gimli.
//!
//! The program runs without it until something walks the stack through a constructor: a C++ exception out of a
//! runtime's registration, a profiler, a debugger.

use gimli::write::{
    Address, CallFrameInstruction, CommonInformationEntry, EhFrame, EndianVec, FrameDescriptionEntry, FrameTable,
    Writer,
};
use gimli::{DW_EH_PE_pcrel, DW_EH_PE_sdata4, DwEhPe, Encoding, Format, Register, RunTimeEndian};
use object::Endianness;

use super::architecture::Architecture;
use super::assembler::{CompiledFunction, UnwindRule};

/// Factor of data offsets.
const DATA_ALIGNMENT: i8 = -8;

/// Contents of the section.
pub struct UnwindInformation {
    /// Bytes of the section.
    pub bytes: Vec<u8>,
    /// For each function, in order, the offset of the field that must hold the distance to its first byte.
    pub function_starts: Vec<u64>,
}

/// Builds the unwind information of compiled functions.
pub fn build(architecture: &Architecture, functions: &[CompiledFunction]) -> gimli::write::Result<UnwindInformation> {
    let frame = &architecture.call_frame;
    let encoding = Encoding { format: Format::Dwarf32, version: 1, address_size: 8 };
    let register = Register(frame.return_address);
    let mut cie = CommonInformationEntry::new(encoding, frame.code_alignment, DATA_ALIGNMENT, register);
    cie.fde_address_encoding = DwEhPe(DW_EH_PE_pcrel.0 | DW_EH_PE_sdata4.0);
    cie.add_instruction(CallFrameInstruction::Cfa(Register(frame.stack_pointer), frame.entry_offset));
    if let Some(offset) = frame.return_address_at {
        cie.add_instruction(CallFrameInstruction::Offset(register, offset));
    }

    let mut table = FrameTable::default();
    let cie = table.add_cie(cie);
    for (index, code) in functions.iter().enumerate() {
        let mut fde = FrameDescriptionEntry::new(Address::Symbol { symbol: index, addend: 0 }, code.bytes.len() as u32);
        for &(offset, rule) in &code.unwind {
            let instruction = match rule {
                UnwindRule::FrameAt(offset) => CallFrameInstruction::CfaOffset(offset),
                UnwindRule::Saved { register, at } => CallFrameInstruction::Offset(Register(register), at),
                UnwindRule::Restored { register } => CallFrameInstruction::Restore(Register(register)),
                UnwindRule::ReturnAddressSignature => CallFrameInstruction::NegateRaState,
            };
            fde.add_instruction(offset, instruction);
        }
        table.add_fde(cie, fde);
    }
    let endian = match architecture.endianness {
        Endianness::Little => RunTimeEndian::Little,
        Endianness::Big => RunTimeEndian::Big,
    };
    let mut section = EhFrame(Relocated { bytes: EndianVec::new(endian), function_starts: Vec::new() });
    table.write_eh_frame(&mut section)?;
    Ok(UnwindInformation { bytes: section.0.bytes.into_vec(), function_starts: section.0.function_starts })
}

/// A gimli writer that leaves each function's address zero and records its offset.
struct Relocated {
    bytes: EndianVec<RunTimeEndian>,
    function_starts: Vec<u64>,
}

impl Writer for Relocated {
    type Endian = RunTimeEndian;

    fn endian(&self) -> RunTimeEndian {
        self.bytes.endian()
    }

    fn len(&self) -> usize {
        self.bytes.len()
    }

    fn write(&mut self, bytes: &[u8]) -> gimli::write::Result<()> {
        self.bytes.write(bytes)
    }

    fn write_at(&mut self, offset: usize, bytes: &[u8]) -> gimli::write::Result<()> {
        self.bytes.write_at(offset, bytes)
    }

    fn write_eh_pointer(&mut self, address: Address, encoding: DwEhPe, size: u8) -> gimli::write::Result<()> {
        match address {
            Address::Symbol { .. } => {
                self.function_starts.push(self.bytes.len() as u64);
                self.write_eh_pointer_data(0, encoding.format(), size)
            }
            Address::Constant(_) => self.bytes.write_eh_pointer(address, encoding, size),
        }
    }
}
