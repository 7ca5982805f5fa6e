//! AMD processors and target IDs, and their encoding in a code object's ELF header.
//!
//! A target ID is a processor followed by the features that its code requires: `gfx90a:sramecc+:xnack-`. Code works
//! with either setting of a feature that is not listed. The `e_flags` of a code object encode the same: a machine
//! number in the low byte, two bits each for xnack and sramecc, and for generic processors a version in the top byte.
//! Numbers: AMDGPU usage guide, section ELF code object; measured with clang 22.1.8, one kernel compiled for each.

use object::elf;

use super::processors::Processor;

/// `EI_OSABI` of code objects for HSA, which HIP and OpenMP load (AMDGPU usage document of LLVM, ELF header).
pub const ELFOSABI_HSA: elf::OsAbi = elf::OsAbi(64);

/// Returns the canonical target ID that a code object's `e_flags` encode, features in alphabetical order. `None` for a
/// machine number that is not in the table.
pub fn target_id_of_e_flags(e_flags: u32) -> Option<String> {
    let mut id = Processor::of_machine((e_flags & 0xff) as u8)?.name.to_string();
    // Two bits: 0 unsupported, 1 any, 2 off, 3 on; only the last two are part of the ID.
    for (shift, feature) in [(10, "sramecc"), (8, "xnack")] {
        match e_flags >> shift & 3 {
            2 => id += &format!(":{feature}-"),
            3 => id += &format!(":{feature}+"),
            _ => {}
        }
    }
    Some(id)
}

/// Returns the processor of a target ID, without its features.
pub fn processor(target_id: &str) -> &str {
    target_id.split(':').next().unwrap_or(target_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_e_flags_measured_with_clang() {
        let measured = [
            (0x22, "gfx700"),
            (0x52f, "gfx906"),
            (0x53f, "gfx90a"),
            (0x53f & !0x300 | 0x300, "gfx90a:xnack+"),
            (0x3f | 0x200 | 0xc00, "gfx90a:sramecc+:xnack-"),
            (0x54c, "gfx942"),
            (0x41, "gfx1100"),
            (0x100_0151, "gfx9-generic"),
            (0x100_055f, "gfx9-4-generic"),
        ];
        for (e_flags, id) in measured {
            assert_eq!(target_id_of_e_flags(e_flags).as_deref(), Some(id), "{e_flags:#x}");
        }
    }

    #[test]
    fn unassigned_machine_numbers_have_no_target_id() {
        assert_eq!(target_id_of_e_flags(0xff), None);
        assert_eq!(target_id_of_e_flags(0), None);
    }
}
