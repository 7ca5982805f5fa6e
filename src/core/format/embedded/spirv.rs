//! SPIR-V modules between other data. No field states the size of a module; it ends after its last function.
//!
//! Source: SPIR-V specification 1.6, sections Physical Layout of a SPIR-V Module and Logical Layout of a Module; the
//! modules of libggml-vulkan.so, which end where their symbols end.

use super::{EmbeddedImage, Region, unexpected};
use crate::base::bytes::Resource;
use crate::base::error::{Cause, Malformed};
use crate::format::spirv::{self, Instruction};

/// Operations (SPIR-V specification, Instructions).
const OP_LINE: u16 = 8;
const OP_EXT_INST: u16 = 12;
const OP_MEMORY_MODEL: u16 = 14;
const OP_ENTRY_POINT: u16 = 15;
const OP_CAPABILITY: u16 = 17;
const OP_FUNCTION: u16 = 54;
const OP_FUNCTION_END: u16 = 56;
const OP_NO_LINE: u16 = 317;

/// Capability of modules without entry points.
const LINKAGE: u32 = 5;

/// Newest minor version, and the largest bound of identifiers that the specification requires to be supported.
const NEWEST_MINOR: u32 = 6;
const LARGEST_BOUND: u32 = 0x3f_ffff;

/// Reads the module that begins at an offset of the region.
pub fn find(region: Region<'_>, at: u64) -> Result<EmbeddedImage<'_>, Malformed> {
    let view = region.view.from(at);
    let [version, bound, schema] = [4, 12, 16].map(|at| view.u32("SPIR-V header", at));
    let version = version?;
    let bound = bound?;
    let schema = schema?;
    if version & 0xffff_00ff != 0x1_0000 || version >> 8 & 0xff > NEWEST_MINOR {
        return Err(unexpected(view, "SPIR-V version", 4, version.into(), "1.0 to 1.6"));
    }
    if bound == 0 || bound > LARGEST_BOUND {
        return Err(unexpected(view, "SPIR-V bound", 12, bound.into(), "1 to 4194303"));
    }
    if schema != 0 {
        return Err(unexpected(view, "SPIR-V schema", 16, schema.into(), "0"));
    }
    let mut module = Module::default();
    for instruction in spirv::instructions(view) {
        // Any bytes may follow the module.
        let Ok(instruction) = instruction else { break };
        view.charge("SPIR-V module", Resource::Work, 1)?;
        if !module.accepts(instruction) {
            break;
        }
    }
    let end = module.end().ok_or_else(|| {
        view.malformed("SPIR-V module", 0, Cause::Described("not a complete module with functions".to_owned()))
    })?;
    view.prefix("SPIR-V module", end).map(EmbeddedImage::new)
}

/// Properties of the instructions that were read.
#[derive(Debug, Default)]
struct Module {
    has_capability: bool,
    has_linkage: bool,
    has_memory_model: bool,
    has_entry_point: bool,
    /// End of the last function, while no other part of the module follows it.
    functions_end: Option<u64>,
    is_after_function: bool,
}

impl Module {
    /// Adds an instruction; returns false if it is not part of the module.
    fn accepts(&mut self, instruction: Instruction<'_>) -> bool {
        let count = instruction.operands().count();
        let is_first = !self.has_capability;
        let is_valid = match instruction.opcode {
            OP_CAPABILITY => {
                self.has_capability = true;
                self.has_linkage |= instruction.operands().next() == Some(LINKAGE);
                !self.has_memory_model && count == 1
            }
            _ if is_first => false,
            OP_MEMORY_MODEL => !std::mem::replace(&mut self.has_memory_model, true) && count == 2,
            OP_ENTRY_POINT => {
                self.has_entry_point = true;
                self.has_memory_model
            }
            OP_FUNCTION_END => count == 0 && !self.is_after_function && self.has_memory_model,
            OP_FUNCTION => count == 4 && self.has_memory_model,
            OP_LINE | OP_NO_LINE | OP_EXT_INST => true,
            _ => !self.is_after_function,
        };
        if is_valid {
            let is_between_functions = matches!(instruction.opcode, OP_LINE | OP_NO_LINE | OP_EXT_INST);
            self.is_after_function =
                instruction.opcode == OP_FUNCTION_END || self.is_after_function && is_between_functions;
            if instruction.opcode == OP_FUNCTION_END {
                self.functions_end = Some(instruction.end());
            }
        }
        is_valid
    }

    /// `None` if a part that every module has is missing.
    fn end(&self) -> Option<u64> {
        let is_module = self.has_memory_model && (self.has_entry_point || self.has_linkage);
        if is_module { self.functions_end } else { None }
    }
}
