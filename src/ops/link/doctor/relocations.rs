//! Relocations of limited reach.
//!
//! Sources: System V ABI, AMD64 supplement, table 4.9; ELF for the Arm 64-bit architecture (2024Q3), section 5.7.

use std::ops::RangeInclusive;

use object::{Architecture, elf};

/// A relocation of limited reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// Type of the relocation.
    pub r_type: u32,
    /// Name.
    pub name: &'static str,
    /// True if the value is the distance from the place, false if it is an address.
    pub is_relative: bool,
    /// Range of the values.
    range: Range,
    /// Place that the value leads to.
    pub target: Target,
}

/// Range of the values of a relocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Range {
    /// 32 bits with a sign.
    Signed,
    /// 32 bits without a sign.
    Unsigned,
    /// 32 bits, with or without a sign.
    Either,
    /// 33 bits with a sign: the number of a page, in 21 bits.
    Pages,
}

/// Target of a relocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The symbol.
    Symbol,
    /// The symbol, or a stub that jumps to it.
    Stub,
    /// An entry of the global offset table for the symbol.
    Got,
    /// An entry of the global offset table, or the symbol itself if the linker changes the instruction.
    GotOrSymbol,
}

const fn reach(r_type: u32, name: &'static str, is_relative: bool, range: Range, target: Target) -> Reach {
    Reach { r_type, name, is_relative, range, target }
}

const X86_64: [Reach; 12] = [
    reach(elf::R_X86_64_PC32.0, "R_X86_64_PC32", true, Range::Signed, Target::Symbol),
    reach(elf::R_X86_64_PLT32.0, "R_X86_64_PLT32", true, Range::Signed, Target::Stub),
    reach(elf::R_X86_64_32.0, "R_X86_64_32", false, Range::Unsigned, Target::Symbol),
    reach(elf::R_X86_64_32S.0, "R_X86_64_32S", false, Range::Signed, Target::Symbol),
    reach(elf::R_X86_64_GOTPCREL.0, "R_X86_64_GOTPCREL", true, Range::Signed, Target::Got),
    reach(elf::R_X86_64_GOTPCRELX.0, "R_X86_64_GOTPCRELX", true, Range::Signed, Target::GotOrSymbol),
    reach(elf::R_X86_64_REX_GOTPCRELX.0, "R_X86_64_REX_GOTPCRELX", true, Range::Signed, Target::GotOrSymbol),
    reach(elf::R_X86_64_GOTTPOFF.0, "R_X86_64_GOTTPOFF", true, Range::Signed, Target::Got),
    reach(elf::R_X86_64_TLSGD.0, "R_X86_64_TLSGD", true, Range::Signed, Target::Got),
    reach(elf::R_X86_64_TLSLD.0, "R_X86_64_TLSLD", true, Range::Signed, Target::Got),
    reach(elf::R_X86_64_GOTPC32.0, "R_X86_64_GOTPC32", true, Range::Signed, Target::Got),
    reach(elf::R_X86_64_GOTPC32_TLSDESC.0, "R_X86_64_GOTPC32_TLSDESC", true, Range::Signed, Target::Got),
];

const AARCH64: [Reach; 6] = [
    reach(elf::R_AARCH64_PREL32.0, "R_AARCH64_PREL32", true, Range::Either, Target::Symbol),
    reach(elf::R_AARCH64_ABS32.0, "R_AARCH64_ABS32", false, Range::Either, Target::Symbol),
    reach(elf::R_AARCH64_ADR_PREL_PG_HI21.0, "R_AARCH64_ADR_PREL_PG_HI21", true, Range::Pages, Target::Symbol),
    reach(elf::R_AARCH64_ADR_GOT_PAGE.0, "R_AARCH64_ADR_GOT_PAGE", true, Range::Pages, Target::Got),
    reach(
        elf::R_AARCH64_TLSIE_ADR_GOTTPREL_PAGE21.0,
        "R_AARCH64_TLSIE_ADR_GOTTPREL_PAGE21",
        true,
        Range::Pages,
        Target::Got,
    ),
    reach(elf::R_AARCH64_TLSDESC_ADR_PAGE21.0, "R_AARCH64_TLSDESC_ADR_PAGE21", true, Range::Pages, Target::Got),
];

impl Reach {
    /// Relocation of a type; `None` if its reach is unlimited, or does not depend on the layout.
    pub fn of(machine: Architecture, r_type: u32) -> Option<Reach> {
        let table: &[Reach] = match machine {
            Architecture::X86_64 => &X86_64,
            Architecture::Aarch64 => &AARCH64,
            _ => return None,
        };
        table.iter().find(|reach| reach.r_type == r_type).copied()
    }

    /// True if relocations of a machine are known.
    pub fn is_known(machine: Architecture) -> bool {
        matches!(machine, Architecture::X86_64 | Architecture::Aarch64)
    }

    /// Value of the relocation.
    pub fn value(&self, place: u64, target: u64, addend: i64) -> i128 {
        let target = i128::from(target) + i128::from(addend);
        if self.is_relative { target - i128::from(place) } else { target }
    }

    /// True if a value fits.
    pub fn holds(&self, value: i128) -> bool {
        self.limits().contains(&value)
    }

    /// Minimum and maximum value.
    pub fn limits(&self) -> RangeInclusive<i128> {
        match self.range {
            Range::Signed => -(1 << 31)..=(1 << 31) - 1,
            Range::Unsigned => 0..=(1 << 32) - 1,
            Range::Either => -(1 << 31)..=(1 << 32) - 1,
            Range::Pages => -(1 << 32)..=(1 << 32) - 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reach_ends_at_two_and_four_gib() {
        let reach = |r_type: object::elf::RelocationType| Reach::of(Architecture::X86_64, r_type.0).unwrap();
        let near = reach(elf::R_X86_64_PC32);
        assert!(near.holds(near.value(0x1000, 0x8000_0fff, 0)) && !near.holds(near.value(0x1000, 0x8000_1000, 0)));
        assert!(near.holds(near.value(0x8000_0000, 4, -4)) && !near.holds(near.value(0x8000_0001, 4, -4)));
        assert!(!reach(elf::R_X86_64_32S).holds(0x8000_0000) && reach(elf::R_X86_64_32).holds(0xffff_ffff));
        assert_eq!(Reach::of(Architecture::X86_64, elf::R_X86_64_64.0), None);
    }
}
