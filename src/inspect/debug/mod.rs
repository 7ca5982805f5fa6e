//! Debug information of ELF images: how much there is, what was compiled, and where each kernel begins in its source.
//!
//! `gimli` reads DWARF; what is added here is what it takes to ask it about kernels. A kernel's place is that of its
//! declaration where a function entry says so (`DW_AT_decl_file`, `DW_AT_decl_line`), else the one that the line table
//! has for its first instruction: clang's `-gline-tables-only` and nvcc's `-lineinfo` leave only that.

mod budget;
mod lines;
mod reader;
mod sections;
mod units;

pub use sections::for_each_compressed;

use std::collections::BTreeMap;

use gimli::{DwarfSections, SectionId};

use super::elf::Elf;
use super::kernel::{LocatedKernel, SourceLine};
use crate::codec::Limit;
use crate::error::{Cause, Malformed};
use budget::{DwarfError, ParseBudget};
use sections::Section;

/// What there is of debug information.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DebugInfo {
    pub level: DebugLevel,
    pub units: Vec<CompileUnit>,
}

/// How much it says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum DebugLevel {
    #[default]
    None,
    /// Which source line an instruction comes from.
    Lines,
    /// Also functions, variables and types.
    Full,
}

impl DebugLevel {
    /// The name that users see.
    pub fn name(self) -> &'static str {
        match self {
            DebugLevel::None => "none",
            DebugLevel::Lines => "lines",
            DebugLevel::Full => "full",
        }
    }
}

/// What was compiled, by the words of the compiler.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompileUnit {
    pub name: Option<String>,
    pub directory: Option<String>,
    pub producer: Option<String>,
    /// The version of DWARF.
    pub version: u16,
}

/// Where the kernels' sources begin, by the addresses of their code.
struct KernelSources {
    known: BTreeMap<u64, Option<SourceLine>>,
    /// How many are not known yet.
    missing: usize,
}

impl KernelSources {
    fn new(entries: impl Iterator<Item = u64>) -> Self {
        let known: BTreeMap<u64, Option<SourceLine>> = entries.map(|entry| (entry, None)).collect();
        KernelSources { missing: known.len(), known }
    }

    /// Whether a kernel begins there and its source is not known yet.
    fn is_missing(&self, address: u64) -> bool {
        matches!(self.known.get(&address), Some(None))
    }

    fn insert(&mut self, entry: u64, source: SourceLine) {
        if let Some(unknown @ None) = self.known.get_mut(&entry) {
            *unknown = Some(source);
            self.missing -= 1;
        }
    }
}

/// The sections that are looked at. Where variables live and how to unwind is of no interest here.
const READ: [SectionId; 9] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugInfo,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
];

/// Reads the debug information of a file and notes the source of each kernel.
pub fn read(elf: &Elf<'_>, kernels: &mut [LocatedKernel], limit: Limit, problems: &mut Vec<Malformed>) -> DebugInfo {
    let mut load = |id| {
        if !READ.contains(&id) {
            return Section::default();
        }
        sections::load(elf, id, limit).unwrap_or_else(|problem| {
            problems.push(problem);
            Section::default()
        })
    };
    let Ok(sections) = DwarfSections::load(|id| Ok::<_, std::convert::Infallible>(load(id)));
    let mut dwarf = sections.borrow(|section| section.reader(sections::endian(elf)));
    let mut sources = KernelSources::new(kernels.iter().filter_map(|found| found.entry));
    let mut debug = DebugInfo::default();
    let mut budget = ParseBudget::new(elf.view.size());
    let read = units::read(&mut dwarf, &mut debug, &mut sources, &mut budget);
    problems.extend(read.err().map(|stop| malformed(elf, &stop)));
    for found in kernels {
        found.kernel.source = found.entry.and_then(|entry| sources.known.get(&entry).cloned().flatten());
    }
    debug
}

/// What stopped the reading, as an error about the section that leads to all others; `gimli` knows no files. A section may
/// state a place behind the end of the file, which is a problem of its own.
fn malformed(elf: &Elf<'_>, stop: &DwarfError) -> Malformed {
    let stored = |name: &&str| elf.bytes(&elf.section(name)?).ok();
    let section = [".debug_info", ".debug_line"].iter().find_map(stored);
    section.unwrap_or(elf.view).malformed("debug information", 0, Cause::Described(stop.to_string()))
}
