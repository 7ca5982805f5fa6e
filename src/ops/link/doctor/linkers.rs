//! The layouts of linkers, as data: the order of the sections of an output, and the names and flags that determine it.
//!
//! Sources: the default script of GNU ld 2.40 (`ld --verbose`, for x86-64 in each of its forms); outputs of GNU ld
//! 2.40, gold 1.16, LLVM's lld 22 and mold 1.10.1 from an object with sections of every class, as executables,
//! position-independent executables and shared libraries. Sections that neither a linker script nor the linker itself
//! names are *orphans*.

use std::path::Path;

/// A linker for ELF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linker {
    /// GNU ld.
    Bfd,
    /// GNU gold.
    Gold,
    /// LLVM's lld.
    Lld,
    /// mold.
    Mold,
}

/// Class of a section, which determines its placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    Note,
    ReadOnly,
    Code,
    Tls,
    Relro,
    Data,
    Bss,
    LargeReadOnly,
    LargeData,
    LargeBss,
}

/// Places in an output, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The section with this name.
    Named(&'static str),
    /// All sections of a class that the order does not name.
    Rest(Class),
}

/// How a linker recognizes large sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LargeBy {
    /// The names `.lrodata`, `.ldata` and `.lbss`.
    Name,
    /// The flag `SHF_X86_64_LARGE`.
    Flag,
    /// None: large sections are like all others.
    Nothing,
}

/// Rules of a linker's layout.
#[derive(Debug)]
pub struct Rules {
    /// Order of the sections.
    pub order: &'static [Place],
    /// Address of an executable that is not position-independent.
    pub base: u64,
    /// Property of large sections.
    pub large_by: LargeBy,
    /// True if orphans of a class are sorted by name, false if they are in the order of the inputs.
    pub sorts_names: bool,
    /// True if relocations in `.eh_frame` that do not reach their target are reported. Otherwise they are truncated.
    pub checks_unwind_tables: bool,
    /// Scripts with `INSERT`.
    pub inserts: Inserts,
}

/// Support of scripts that add sections with `INSERT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inserts {
    /// Such scripts are an error.
    Refused,
    /// Their patterns get the sections that the linker's own layout does not name.
    Orphans,
    /// Their patterns get all sections.
    All,
}

use Class::{Bss, Code, Data, LargeBss, LargeData, LargeReadOnly, Note, ReadOnly, Relro, Tls};
use Place::{Named, Rest};

const BFD: Rules = Rules {
    order: &[
        Rest(Note),
        Named(".init"),
        Named(".plt"),
        Named(".text"),
        Rest(Code),
        Named(".fini"),
        Named(".rodata"),
        Rest(ReadOnly),
        Rest(LargeReadOnly),
        Named(".eh_frame_hdr"),
        Named(".eh_frame"),
        Named(".gcc_except_table"),
        Rest(Tls),
        Named(".init_array"),
        Named(".fini_array"),
        Rest(Relro),
        Named(".dynamic"),
        Named(".got"),
        Named(".got.plt"),
        Named(".data"),
        Rest(Data),
        Rest(LargeData),
        Named(".bss"),
        Rest(Bss),
        Named(".lbss"),
        Rest(LargeBss),
        Named(".lrodata"),
        Named(".ldata"),
    ],
    base: 0x40_0000,
    large_by: LargeBy::Name,
    sorts_names: false,
    checks_unwind_tables: true,
    inserts: Inserts::Orphans,
};

const GOLD: Rules = Rules {
    order: &[
        Rest(Note),
        Named(".init"),
        Named(".plt"),
        Named(".text"),
        Rest(Code),
        Named(".fini"),
        Rest(ReadOnly),
        Named(".eh_frame"),
        Named(".eh_frame_hdr"),
        Rest(Tls),
        Rest(Relro),
        Named(".dynamic"),
        Named(".got"),
        Named(".got.plt"),
        Rest(Data),
        Rest(Bss),
        Rest(LargeBss),
        Rest(LargeReadOnly),
        Rest(LargeData),
    ],
    base: 0x40_0000,
    large_by: LargeBy::Flag,
    sorts_names: false,
    checks_unwind_tables: true,
    inserts: Inserts::Refused,
};

const LLD: Rules = Rules {
    order: &[
        Rest(Note),
        Rest(LargeReadOnly),
        Rest(ReadOnly),
        Named(".eh_frame_hdr"),
        Named(".eh_frame"),
        Rest(Code),
        Named(".plt"),
        Rest(Tls),
        Rest(Relro),
        Named(".dynamic"),
        Named(".got"),
        Rest(Data),
        Named(".got.plt"),
        Rest(Bss),
        Rest(LargeData),
        Rest(LargeBss),
    ],
    base: 0x20_0000,
    large_by: LargeBy::Flag,
    sorts_names: false,
    checks_unwind_tables: true,
    inserts: Inserts::All,
};

const MOLD: Rules = Rules {
    order: &[
        Rest(Note),
        Named(".eh_frame"),
        Named(".eh_frame_hdr"),
        Rest(ReadOnly),
        Named(".plt"),
        Rest(Code),
        Rest(Tls),
        Named(".dynamic"),
        Rest(Relro),
        Named(".got"),
        Named(".got.plt"),
        Rest(Data),
        Rest(Bss),
    ],
    base: 0x20_0000,
    large_by: LargeBy::Nothing,
    sorts_names: true,
    checks_unwind_tables: false,
    inserts: Inserts::Refused,
};

/// Input sections with one of these names are merged into the output section of that name. So are sections whose name
/// continues with a dot and more text.
const MERGED: [&str; 10] = [
    ".text",
    ".rodata",
    ".data.rel.ro",
    ".data",
    ".bss",
    ".tdata",
    ".tbss",
    ".init_array",
    ".fini_array",
    ".gcc_except_table",
];

/// The same for large sections.
const MERGED_LARGE: [&str; 3] = [".lrodata", ".ldata", ".lbss"];

/// Names of sections that only the loader writes.
const RELRO: [&str; 7] =
    [".data.rel.ro", ".init_array", ".fini_array", ".preinit_array", ".ctors", ".dtors", ".bss.rel.ro"];

impl Linker {
    /// All linkers.
    pub const ALL: [Linker; 4] = [Linker::Bfd, Linker::Gold, Linker::Lld, Linker::Mold];

    /// Name after `-fuse-ld=`.
    pub fn name(self) -> &'static str {
        match self {
            Linker::Bfd => "bfd",
            Linker::Gold => "gold",
            Linker::Lld => "lld",
            Linker::Mold => "mold",
        }
    }

    /// Name in sentences.
    pub fn title(self) -> &'static str {
        match self {
            Linker::Bfd => "GNU ld",
            Linker::Gold | Linker::Lld | Linker::Mold => self.name(),
        }
    }

    /// Linker with a name, or with a path of that name: `lld`, `/usr/bin/ld.lld-22`, `x86_64-linux-gnu-ld.bfd`.
    pub fn from_name(path: &Path) -> Option<Linker> {
        let name = path.file_name()?.to_str()?;
        let name = name.strip_suffix(".exe").unwrap_or(name);
        let unversioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-');
        let last = unversioned.rsplit(['.', '-', '/']).next()?;
        Linker::ALL.into_iter().find(|linker| linker.name() == last)
    }

    /// Rules of the layout.
    pub fn rules(self) -> &'static Rules {
        match self {
            Linker::Bfd => &BFD,
            Linker::Gold => &GOLD,
            Linker::Lld => &LLD,
            Linker::Mold => &MOLD,
        }
    }
}

impl Rules {
    /// Name of the output section of an input section.
    pub fn output_name<'a>(&self, name: &'a str) -> &'a str {
        let large: &[&str] = if self.large_by == LargeBy::Nothing { &[] } else { &MERGED_LARGE };
        let is_merged = |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.'));
        MERGED.iter().chain(large).find(|prefix| is_merged(prefix)).copied().unwrap_or(name)
    }

    /// True if a linker script may move the output section with this name.
    pub fn moves(&self, name: &str) -> bool {
        match self.inserts {
            Inserts::All => true,
            Inserts::Orphans => !self.names(name) && !MERGED.contains(&name),
            Inserts::Refused => false,
        }
    }

    /// Patterns of the input sections that are merged into an output section.
    pub fn patterns(&self, name: &str) -> Vec<String> {
        let is_merged = MERGED.contains(&name) || MERGED_LARGE.contains(&name);
        if is_merged { vec![name.to_owned(), format!("{name}.*")] } else { vec![name.to_owned()] }
    }

    /// True if the order names sections with this name.
    pub fn names(&self, name: &str) -> bool {
        self.order.iter().any(|place| matches!(place, Named(named) if *named == name))
    }
}

/// True if only the loader writes sections with this name.
pub fn is_relro(output_name: &str) -> bool {
    RELRO.contains(&output_name)
}
