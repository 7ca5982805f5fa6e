//! Tables of offload entries: what host code launches and uses on devices. It passes them to a runtime with the images.
//!
//! Entries of LLVM 20 and later are 56 bytes: a reserved number of 64 bits, a version, a kind, flags, and then the
//! pointers. Entries up to LLVM 19 are 32 bytes and begin with two pointers. Source: `struct __tgt_offload_entry` in
//! LLVM's `offload/include/Shared/APITypes.h` (20) and `omptarget.h` (19); objects of LLVM 15, 16, 19 and 22.

use std::ops::Range;

use super::imports::HostRuntime;
use crate::base::bytes::{Extent, View, size_of_range};
use crate::format::fat_binary_wrapper::PE_NAME_SIZE;
use crate::scan::structure::Structure;

/// Sections of entries, with the runtimes that receive them: of all kinds since LLVM 21, and of each kind before; the
/// functions of GCC's target regions.
const TABLES: [(&str, &[HostRuntime]); 5] = [
    ("llvm_offload_entries", &[HostRuntime::OpenMp, HostRuntime::Cuda, HostRuntime::Hip]),
    ("omp_offloading_entries", &[HostRuntime::OpenMp]),
    ("cuda_offloading_entries", &[HostRuntime::Cuda]),
    ("hip_offloading_entries", &[HostRuntime::Hip]),
    (LIBGOMP, &[HostRuntime::Libgomp]),
];

/// Section of the functions in GCC's target regions: one address each. Source: GCC, `omp-offload.cc`.
const LIBGOMP: &str = ".gnu.offload_funcs";

/// Sizes of entries: of a function of GCC, up to LLVM 19, and since LLVM 20.
const LIBGOMP_SIZE: u64 = 8;
const OLD_SIZE: u64 = 32;
const VERSIONED_SIZE: u64 = 56;

/// Version of the entries since LLVM 20, after the reserved number.
const VERSION_OFFSET: usize = 8;
const VERSION: u16 = 1;

/// Greatest number of a kind. In entries of 32 bytes the number is part of a pointer, or a relocation fills it.
const MAX_KIND: u16 = 0x1f;

/// A section of entries that is not empty.
#[derive(Debug, Clone)]
pub struct EntryTable {
    /// Runtimes that may receive the entries.
    pub runtimes: &'static [HostRuntime],
    /// Name of the section. PE files truncate it.
    pub section: &'static str,
    /// Place in the file.
    pub range: Range<u64>,
    /// True for entries of LLVM 20 and later.
    pub is_versioned: bool,
}

impl EntryTable {
    /// Number of entries.
    pub fn count(&self) -> u64 {
        let size = match self.section {
            LIBGOMP => LIBGOMP_SIZE,
            _ if self.is_versioned => VERSIONED_SIZE,
            _ => OLD_SIZE,
        };
        size_of_range(&self.range).div_ceil(size)
    }
}

/// Returns the sections of entries in a host file.
pub fn tables<'a>(view: View<'a>, structure: &'a Structure<'_>) -> impl Iterator<Item = EntryTable> + 'a {
    TABLES.into_iter().flat_map(move |(section, runtimes)| {
        structure.sections_named(move |name| is_named(name, section)).map(move |range| {
            let extent = Extent { offset: range.start, size: size_of_range(&range) };
            let is_versioned = view.record("offload entry", extent).is_ok_and(|entries| is_versioned(entries.data()));
            EntryTable { runtimes, section, range, is_versioned }
        })
    })
}

/// Returns whether a section has this name. COFF orders sections by the text after a dollar sign.
fn is_named(name: &str, known: &str) -> bool {
    let stem = name.split('$').next().unwrap_or_default();
    stem == known || name.len() == PE_NAME_SIZE && known.starts_with(name)
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
