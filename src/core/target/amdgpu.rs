//! AMD processors and target IDs, and their encoding in a code object's ELF header.
//!
//! A target ID is a processor followed by the features that its code requires: `gfx90a:sramecc+:xnack-`. Code works
//! with either setting of a feature that is not listed. The header of a code object encodes the same, in a different
//! way in each version of the format:
//!
//! | version | `EI_ABIVERSION` | processor | features |
//! |---|---|---|---|
//! | 2 | 0 | note `NT_AMD_HSA_ISA_VERSION` | xnack in the note; sramecc is off |
//! | 3 | 1 | low byte of `e_flags` | a bit each: on or off |
//! | 4, 5 | 2, 3 | low byte of `e_flags` | two bits each: unsupported, any, off, on |
//! | 6 | 4 | like 4; generic processors have a version in the top byte | like 4 |
//!
//! Before version 4, code cannot leave a feature open: compilers switch on each feature that the user leaves open.
//! Files for other systems than HSA have the flags of version 3.
//!
//! Source: AMDGPU usage guide, section ELF code object; `llvm/BinaryFormat/ELF.h`. Numbers were measured with clang
//! 14.0 and 22.1.8, one kernel compiled for each processor. The rows of version 2 are the answers of AMD's comgr 2.4.0
//! for each note (`amd_comgr_get_data_isa_name`).

use object::elf;

use super::processors::Processor;

/// `EI_OSABI` of code objects for HSA, which HIP and OpenMP load.
pub const ELFOSABI_HSA: elf::OsAbi = elf::OsAbi(64);

/// Triple of code for HSA.
pub const HSA_TRIPLE: &str = "amdgcn-amd-amdhsa";

/// Owner and type of the note that states the processor in version 2.
pub const ISA_NOTE: (&[u8], u32) = (b"AMD", 3);

/// System that loads the code: the third part of a triple, and `EI_OSABI` in a code object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// HSA, the runtime below HIP and OpenMP.
    Hsa,
    /// PAL, the library below AMD's drivers for Vulkan and DirectX.
    Pal,
    /// Mesa.
    Mesa,
    /// Code without a system.
    None,
}

/// Systems with their `EI_OSABI`, triples, and the names of the systems in triples.
const SYSTEMS: [(System, u8, &str, &str); 4] = [
    (System::Hsa, ELFOSABI_HSA.0, HSA_TRIPLE, "amdhsa"),
    (System::Pal, 65, "amdgcn-amd-amdpal", "amdpal"),
    (System::Mesa, 66, "amdgcn-mesa-mesa3d", "mesa3d"),
    (System::None, 0, "amdgcn-unknown-unknown", "unknown"),
];

impl System {
    /// Returns the system in a triple; `None` if the triple does not state one.
    pub fn of_triple(triple: &str) -> Option<System> {
        let name = triple.split('-').nth(2)?;
        SYSTEMS.iter().find(|(_, _, _, known)| *known == name).map(|(system, ..)| *system)
    }

    /// Name for readers.
    pub fn name(self) -> &'static str {
        match self {
            System::Hsa => "HSA (ELF OS ABI 64)",
            System::Pal => "PAL (ELF OS ABI 65)",
            System::Mesa => "Mesa (ELF OS ABI 66)",
            System::None => "no system (ELF OS ABI 0)",
        }
    }
}

/// Fields of a code object's ELF header that identify its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// `EI_OSABI`.
    pub os_abi: u8,
    /// `EI_ABIVERSION`.
    pub abi_version: u8,
    /// `e_flags`.
    pub e_flags: u32,
}

impl Header {
    /// Returns the triple; `None` for an unknown system.
    pub fn triple(self) -> Option<&'static str> {
        SYSTEMS.iter().find(|(_, os_abi, ..)| *os_abi == self.os_abi).map(|(_, _, triple, _)| *triple)
    }

    /// Returns whether it is a code object of version 2, whose processor is in a note.
    pub fn has_isa_note(self) -> bool {
        self.os_abi == ELFOSABI_HSA.0 && self.abi_version == 0
    }

    /// Returns the canonical target ID that `e_flags` encodes, features in alphabetical order. `None` for a machine
    /// number that is not in the table.
    pub fn target_id(self) -> Option<String> {
        let processor = Processor::of_machine((self.e_flags & 0xff) as u8)?;
        let mut id = processor.name.to_string();
        let has_one_bit = self.os_abi != ELFOSABI_HSA.0 || self.abi_version < 2;
        for (feature, flag, shift) in [("sramecc", 0x200, 10), ("xnack", 0x100, 8)] {
            let setting = if has_one_bit {
                processor.features().contains(&feature).then_some(self.e_flags & flag != 0)
            } else {
                // Two bits: 0 unsupported, 1 any, 2 off, 3 on; only the last two are part of the ID.
                let setting = self.e_flags >> shift & 3;
                (setting > 1).then_some(setting == 3)
            };
            if let Some(on) = setting {
                id += &format!(":{feature}{}", if on { '+' } else { '-' });
            }
        }
        Some(id)
    }
}

/// Version of an instruction set: major, minor, stepping.
pub type IsaVersion = [u32; 3];

/// Processors of GFX9 by the stepping in a note of version 2, and whether xnack is on. An odd stepping is the processor
/// before it with xnack.
const GFX9_STEPPINGS: [(u32, &str); 9] = [
    (0, "gfx900:xnack-"),
    (1, "gfx900:xnack+"),
    (2, "gfx902:xnack-"),
    (3, "gfx902:xnack+"),
    (4, "gfx904:xnack-"),
    (5, "gfx904:xnack+"),
    (6, "gfx906:sramecc-:xnack-"),
    (7, "gfx906:sramecc-:xnack+"),
    (12, "gfx90c:xnack-"),
];

/// Returns the target ID of an instruction set in a note of version 2; `None` for a later instruction set.
pub fn target_id_of_isa([major, minor, stepping]: IsaVersion) -> Option<String> {
    let id = match [major, minor, stepping] {
        [6, 0, 0..=2] | [7, 0, 0..=5] => return Some(format!("gfx{major}{minor}{stepping}")),
        [8, 0, 0 | 2] => "gfx802",
        [8, 0, 1] => "gfx801:xnack+",
        [8, 0, 3 | 4] => "gfx803",
        [8, 0, 5] => "gfx805",
        [8, 1, 0] => "gfx810:xnack+",
        [9, 0, _] => GFX9_STEPPINGS.iter().find(|(known, _)| *known == stepping)?.1,
        _ => return None,
    };
    Some(id.to_owned())
}

/// Returns the processor of a target ID, without its features.
pub fn processor(target_id: &str) -> &str {
    target_id.split(':').next().unwrap_or(target_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target_id(os_abi: u8, abi_version: u8, e_flags: u32) -> Option<String> {
        Header { os_abi, abi_version, e_flags }.target_id()
    }

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
            assert_eq!(target_id(64, 2, e_flags).as_deref(), Some(id), "{e_flags:#x}");
            assert_eq!(target_id(64, 4, e_flags).as_deref(), Some(id), "{e_flags:#x}");
        }
    }

    /// Flags of clang 14 with `-mcode-object-version=3`, and of clang 22 for PAL and Mesa; the names are comgr's.
    #[test]
    fn decodes_the_bits_of_version_3() {
        let measured = [
            (0x12c, "gfx900:xnack+"),
            (0x2c, "gfx900:xnack-"),
            (0x32f, "gfx906:sramecc+:xnack+"),
            (0x22f, "gfx906:sramecc+:xnack-"),
            (0x130, "gfx908:sramecc-:xnack+"),
            (0x33f, "gfx90a:sramecc+:xnack+"),
            (0x133, "gfx1010:xnack+"),
            (0x36, "gfx1030"),
        ];
        for (e_flags, id) in measured {
            for (os_abi, abi_version) in [(64, 1), (65, 0), (66, 0), (0, 0)] {
                assert_eq!(target_id(os_abi, abi_version, e_flags).as_deref(), Some(id), "{os_abi} {e_flags:#x}");
            }
        }
    }

    #[test]
    fn unassigned_machine_numbers_have_no_target_id() {
        assert_eq!(target_id(64, 4, 0xff), None);
        assert_eq!(target_id(64, 4, 0), None);
        assert_eq!(target_id_of_isa([10, 1, 0]), None);
        assert_eq!(target_id_of_isa([9, 0, 8]), None);
    }

    #[test]
    fn the_triple_states_the_system() {
        let triple = |os_abi| Header { os_abi, abi_version: 0, e_flags: 0 }.triple();
        assert_eq!(
            [64, 65, 66].map(|it| triple(it).and_then(System::of_triple)),
            [Some(System::Hsa), Some(System::Pal), Some(System::Mesa)]
        );
        assert_eq!((triple(0).and_then(System::of_triple), triple(3)), (Some(System::None), None));
        assert_eq!(
            ["amdgcn--", "amdgcn", "amdgpu9.0a-amd-amdhsa"].map(System::of_triple),
            [None, None, Some(System::Hsa)]
        );
    }
}
