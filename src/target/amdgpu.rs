//! AMD processors and target ids, and how a code object's ELF header states them.
//!
//! A target id is a processor followed by the features that its code fixes: `gfx90a:sramecc+:xnack-`. A feature that is
//! not named works either way. The `e_flags` of a code object hold the same: a machine number in the low byte, two bits
//! each for xnack and sramecc, and for generic processors a version in the top byte.
//! Numbers: AMDGPU usage guide, section ELF code object; measured with clang 22.1.8, one kernel compiled for each.

/// Machine number and processor. `gfx940` and `gfx941` are former names that files in the field still carry.
const PROCESSORS: [(u8, &str); 55] = [
    (0x20, "gfx600"),
    (0x21, "gfx601"),
    (0x22, "gfx700"),
    (0x23, "gfx701"),
    (0x24, "gfx702"),
    (0x25, "gfx703"),
    (0x26, "gfx704"),
    (0x28, "gfx801"),
    (0x29, "gfx802"),
    (0x2a, "gfx803"),
    (0x2b, "gfx810"),
    (0x2c, "gfx900"),
    (0x2d, "gfx902"),
    (0x2e, "gfx904"),
    (0x2f, "gfx906"),
    (0x30, "gfx908"),
    (0x31, "gfx909"),
    (0x32, "gfx90c"),
    (0x33, "gfx1010"),
    (0x34, "gfx1011"),
    (0x35, "gfx1012"),
    (0x36, "gfx1030"),
    (0x37, "gfx1031"),
    (0x38, "gfx1032"),
    (0x39, "gfx1033"),
    (0x3a, "gfx602"),
    (0x3b, "gfx705"),
    (0x3c, "gfx805"),
    (0x3d, "gfx1035"),
    (0x3e, "gfx1034"),
    (0x3f, "gfx90a"),
    (0x40, "gfx940"),
    (0x41, "gfx1100"),
    (0x42, "gfx1013"),
    (0x43, "gfx1150"),
    (0x44, "gfx1103"),
    (0x45, "gfx1036"),
    (0x46, "gfx1101"),
    (0x47, "gfx1102"),
    (0x48, "gfx1200"),
    (0x49, "gfx1250"),
    (0x4a, "gfx1151"),
    (0x4b, "gfx941"),
    (0x4c, "gfx942"),
    (0x4e, "gfx1201"),
    (0x4f, "gfx950"),
    (0x51, "gfx9-generic"),
    (0x52, "gfx10-1-generic"),
    (0x53, "gfx10-3-generic"),
    (0x54, "gfx11-generic"),
    (0x55, "gfx1152"),
    (0x58, "gfx1153"),
    (0x59, "gfx12-generic"),
    (0x5a, "gfx1251"),
    (0x5f, "gfx9-4-generic"),
];

/// The canonical target id in a code object's `e_flags`, features in alphabetical order. `None` for a machine number
/// that is not in the table.
pub fn target_id_of_e_flags(e_flags: u32) -> Option<String> {
    let machine = (e_flags & 0xff) as u8;
    let mut id = PROCESSORS.iter().find(|row| row.0 == machine)?.1.to_owned();
    // Two bits: 0 unsupported, 1 any, 2 off, 3 on; only the last two are said.
    for (shift, feature) in [(10, "sramecc"), (8, "xnack")] {
        match e_flags >> shift & 3 {
            2 => id += &format!(":{feature}-"),
            3 => id += &format!(":{feature}+"),
            _ => {}
        }
    }
    Some(id)
}

/// Generic processors and those that each covers (AMDGPU usage guide, generic processors).
const GENERIC: [(&str, &[&str]); 6] = [
    ("gfx9-generic", &["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"]),
    ("gfx9-4-generic", &["gfx940", "gfx941", "gfx942", "gfx950"]),
    ("gfx10-1-generic", &["gfx1010", "gfx1011", "gfx1012", "gfx1013"]),
    ("gfx10-3-generic", &["gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"]),
    ("gfx11-generic", &["gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"]),
    ("gfx12-generic", &["gfx1200", "gfx1201"]),
];

/// The processors that code for a generic one runs on; none for any other processor.
pub fn members_of_generic(processor: &str) -> &'static [&'static str] {
    GENERIC.iter().find(|(generic, _)| *generic == processor).map_or(&[], |(_, members)| members)
}

/// The processor of a target id, without its features.
pub fn processor(target_id: &str) -> &str {
    target_id.split(':').next().unwrap_or(target_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e_flags_measured_with_clang_give_the_target_id_they_were_compiled_for() {
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
    fn a_machine_number_that_nobody_assigned_has_no_target_id() {
        assert_eq!(target_id_of_e_flags(0xff), None);
        assert_eq!(target_id_of_e_flags(0), None);
    }

    #[test]
    fn no_number_and_no_name_stands_twice_in_the_table() {
        for (index, row) in PROCESSORS.iter().enumerate() {
            let twin = PROCESSORS[..index].iter().find(|other| other.0 == row.0 || other.1 == row.1);
            assert_eq!(twin, None, "{row:?}");
        }
    }
}
