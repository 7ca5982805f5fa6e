//! GCC's bytecode for optimization at link time, in objects of nvcc: it keeps the fat binary as compressed text.

use object::read::{File, Object, ObjectSection};

use fatbin_core::base::bytes::{ObjectBytes, Resource, View, text_work};

/// Starts of the names of sections with symbols of the bytecode, and with text of the assembler.
const SYMBOLS: &str = ".gnu.lto_.symtab";
pub const ASSEMBLY: &str = ".gnu.lto_.asm";

/// Function that the bytecode of an object of CUDA calls.
const REGISTRATION: &[u8] = b"__cudaRegisterFatBinary";

/// Returns whether a host object has a fat binary of CUDA in the text of its bytecode.
pub fn has_fat_binary(view: View<'_>) -> bool {
    let Ok(file) = File::parse(ObjectBytes(view)) else { return false };
    let mut has_assembly = false;
    let mut registers = false;
    for section in file.sections() {
        let name = section.name().unwrap_or_default();
        has_assembly |= name.starts_with(ASSEMBLY);
        if name.starts_with(SYMBOLS) {
            let data = section.data().unwrap_or_default();
            let is_charged = view.charge("symbols of bytecode", Resource::Work, text_work(data.len())).is_ok();
            registers |= is_charged && data.windows(REGISTRATION.len()).any(|window| window == REGISTRATION);
        }
    }
    has_assembly && registers
}
