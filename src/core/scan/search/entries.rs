//! The layout of offload entries, which the host code passes to libomptarget with the images.
//!
//! Entries of LLVM 20 and later are 56 bytes: a reserved number of 64 bits, a version, a kind, flags, and then the
//! pointers. Entries up to LLVM 19 are 32 bytes and begin with two pointers. Source: `struct __tgt_offload_entry` in
//! LLVM's `offload/include/Shared/APITypes.h` (20) and `omptarget.h` (19); objects of LLVM 15, 16, 19 and 22.

use crate::base::bytes::{Extent, View, size_of_range};
use crate::scan::structure::Structure;

/// Section of all entries since LLVM 21, and of OpenMP's before.
const SECTIONS: [&str; 2] = ["llvm_offload_entries", "omp_offloading_entries"];

/// Length of names in PE files, in bytes.
const PE_NAME_SIZE: usize = 8;

/// Version of the entries since LLVM 20, after the reserved number.
const VERSION_OFFSET: usize = 8;
const VERSION: u16 = 1;

/// Greatest number of a kind. In entries of 32 bytes the number is part of a pointer, or a relocation fills it.
const MAX_KIND: u16 = 0x1f;

/// True if a host file has entries of LLVM 20 or later.
pub fn are_versioned(view: View<'_>, structure: &Structure<'_>) -> bool {
    let is_named = |name: &str| {
        let stem = name.split('$').next().unwrap_or_default();
        SECTIONS.iter().any(|known| *known == stem || name.len() == PE_NAME_SIZE && known.starts_with(name))
    };
    let first = |range: &std::ops::Range<u64>| {
        let extent = Extent { offset: range.start, size: size_of_range(range) };
        view.record("offload entry", extent).ok().is_some_and(|section| is_versioned(section.data()))
    };
    structure.sections_named(is_named).any(|range| first(&range))
}

fn is_versioned(entry: &[u8]) -> bool {
    let Some((reserved, rest)) = entry.split_at_checked(VERSION_OFFSET) else { return false };
    let [version_low, version_high, kind_low, kind_high, ..] = *rest else { return false };
    let numbers = [[version_low, version_high], [kind_low, kind_high]];
    let is_in = |number: fn([u8; 2]) -> u16| {
        let [version, kind] = numbers.map(number);
        version == VERSION && (1..=MAX_KIND).contains(&kind)
    };
    reserved.iter().all(|&byte| byte == 0) && (is_in(u16::from_le_bytes) || is_in(u16::from_be_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_llvm_20_have_a_version() {
        let new = [&[0; 8][..], &[1, 0, 1, 0], &[0; 44]].concat();
        let big = [&[0; 8][..], &[0, 1, 0, 1], &[0; 44]].concat();
        let old = [&0x40_1000_u64.to_le_bytes()[..], &0x40_2000_u64.to_le_bytes(), &[0; 16]].concat();
        assert_eq!(
            [&new[..], &big, &old, &[0; 32], &new[..10], &[]].map(is_versioned),
            [true, true, false, false, false, false]
        );
    }
}
