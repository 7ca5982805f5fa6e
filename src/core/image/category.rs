//! Categories of the bytes of an image, and the category of each section of an ELF file.

use object::elf::{self, SectionFlags, SectionType};

use crate::format::{ImageKind, is_debug_section};

/// Category of bytes in an image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Category {
    /// Machine code.
    Code,
    /// PTX, other code that is compiled later, and images that cannot be read. Reports use the kind of the image.
    #[default]
    Undivided,
    /// Constants, and everything else that is loaded and only read, such as AMD's kernel descriptors.
    Constants,
    /// Initial values of variables.
    Data,
    /// Debug information.
    Debug,
    /// Symbol tables, their names and hashes.
    Symbols,
    /// Properties of kernels that a runtime reads: `.nv.info`, `.ze_info`.
    Attributes,
    /// Code and tables of Mercury, which the driver finishes: `.nv.capmerc`, `.nv.merc`.
    Mercury,
    /// Relocations.
    Relocations,
    /// Notes. Those of AMD have the properties of kernels.
    Notes,
    /// Sections that are not loaded and have no other category.
    Metadata,
    /// Header, program headers, section headers.
    Headers,
    /// Bytes between all others.
    Padding,
}

impl Category {
    /// Name in reports. Undivided bytes have the name of the image's kind.
    pub fn name(self, image_kind: ImageKind) -> &'static str {
        match self {
            Category::Code => "code",
            Category::Undivided => image_kind.name(),
            Category::Constants => "constants",
            Category::Data => "data",
            Category::Debug => "debug",
            Category::Symbols => "symbols",
            Category::Attributes => "attributes",
            Category::Mercury => "mercury",
            Category::Relocations => "relocations",
            Category::Notes => "notes",
            Category::Metadata => "metadata",
            Category::Headers => "headers",
            Category::Padding => "padding",
        }
    }

    /// Category of a section. Its name decides, then its type, then its flags.
    pub fn of_section(name: &[u8], section_type: SectionType, flags: SectionFlags) -> Category {
        if is_debug_section(name) {
            return Category::Debug;
        }
        let by_name = BY_NAME.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, category)| *category);
        let by_type = || BY_TYPE.iter().find(|(known, _)| *known == section_type).map(|(_, category)| *category);
        let by_flag = || BY_FLAG.iter().find(|(flag, _)| flags.contains(*flag)).map(|(_, category)| *category);
        by_name.or_else(by_type).or_else(by_flag).unwrap_or(Category::Metadata)
    }
}

/// Names of sections whose type and flags do not state what they are for. Source: cubins of ptxas 11.8 to 13.5, and
/// zebins of ocloc.
const BY_NAME: [(&[u8], Category); 7] = [
    (b".nv.capmerc", Category::Mercury),
    (b".nv.merc", Category::Mercury),
    (b".nv.constant", Category::Constants),
    (b".nv.info", Category::Attributes),
    (b".ze_info", Category::Attributes),
    (b".nv.rel.action", Category::Relocations),
    (b".nv.resolvedrela", Category::Relocations),
];

const BY_TYPE: [(SectionType, Category); 15] = [
    (elf::SHT_SYMTAB, Category::Symbols),
    (elf::SHT_DYNSYM, Category::Symbols),
    (elf::SHT_SYMTAB_SHNDX, Category::Symbols),
    (elf::SHT_STRTAB, Category::Symbols),
    (elf::SHT_HASH, Category::Symbols),
    (elf::SHT_GNU_HASH, Category::Symbols),
    (elf::SHT_GNU_VERSYM, Category::Symbols),
    (elf::SHT_GNU_VERDEF, Category::Symbols),
    (elf::SHT_GNU_VERNEED, Category::Symbols),
    (elf::SHT_REL, Category::Relocations),
    (elf::SHT_RELA, Category::Relocations),
    (elf::SHT_RELR, Category::Relocations),
    (elf::SHT_NOTE, Category::Notes),
    (elf::SHT_DYNAMIC, Category::Metadata),
    (elf::SHT_GROUP, Category::Metadata),
];

/// The first flag that a section has decides.
const BY_FLAG: [(SectionFlags, Category); 3] =
    [(elf::SHF_EXECINSTR, Category::Code), (elf::SHF_WRITE, Category::Data), (elf::SHF_ALLOC, Category::Constants)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_type_and_flags_of_a_section_decide_in_this_order() {
        let plain = elf::SHT_PROGBITS;
        let none = SectionFlags(0);
        let cases: [(&[u8], SectionType, SectionFlags, Category); 12] = [
            (b".nv.merc.debug_line", plain, none, Category::Debug),
            (b".nv.merc.rela.text.f", elf::SHT_RELA, none, Category::Mercury),
            (b".nv.capmerc.text.f", plain, none, Category::Mercury),
            (b".rela.debug_line", elf::SHT_RELA, none, Category::Relocations),
            (b".nv.constant0.f", plain, elf::SHF_ALLOC, Category::Constants),
            (b".nv.info.f", elf::SHT_PROGBITS, none, Category::Attributes),
            (b".text.f", plain, elf::SHF_ALLOC | elf::SHF_EXECINSTR, Category::Code),
            (b".nv.global.init", plain, elf::SHF_ALLOC | elf::SHF_WRITE, Category::Data),
            (b".rodata", plain, elf::SHF_ALLOC, Category::Constants),
            (b".note", elf::SHT_NOTE, elf::SHF_ALLOC, Category::Notes),
            (b".dynamic", elf::SHT_DYNAMIC, elf::SHF_ALLOC | elf::SHF_WRITE, Category::Metadata),
            (b".comment", plain, none, Category::Metadata),
        ];
        for (name, section_type, flags, expected) in cases {
            let name_text = String::from_utf8_lossy(name);
            assert_eq!(Category::of_section(name, section_type, flags), expected, "{name_text}");
        }
    }
}
