//! Debug information of ELF images: its level, the compile units, and the source line of each kernel.
//!
//! `gimli` parses DWARF; this module looks up the kernels. A kernel's source line comes from the declaration in its
//! function entry (`DW_AT_decl_file`, `DW_AT_decl_line`). Without one, it is the line of its first instruction in the
//! line table. clang's `-gline-tables-only` and nvcc's `-lineinfo` emit only line tables.

mod budget;
mod collected;
mod index;
mod lines;
mod reader;
mod rows;
mod scopes;
mod sections;
mod units;

pub use index::{Frame, SourceIndex};
pub use sections::for_each_compressed;

use std::collections::{BTreeMap, BTreeSet};

use gimli::{DwarfSections, SectionId};

use super::elf::{Elf, Width};
use super::kernel::{LocatedKernel, SourceLine};
use crate::base::error::{Cause, Malformed};
use budget::{DwarfError, ParseBudget};
use sections::DebugSection;

/// Debug information of an image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct DebugInfo {
    /// Level of detail.
    pub level: DebugLevel,
    /// Compile units, in order.
    pub units: Vec<CompileUnit>,
}

/// Level of detail of debug information.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum DebugLevel {
    /// No debug information.
    #[default]
    None,
    /// Source lines of instructions.
    Lines,
    /// Also functions, variables and types.
    Full,
}

impl DebugLevel {
    /// Returns the name in reports, JSON and policies.
    pub fn name(self) -> &'static str {
        match self {
            DebugLevel::None => "none",
            DebugLevel::Lines => "lines",
            DebugLevel::Full => "full",
        }
    }
}

/// A compile unit, as described by the compiler.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct CompileUnit {
    /// Path of the source file.
    pub name: Option<String>,
    /// Working directory of the compiler.
    pub directory: Option<String>,
    /// Name and version of the compiler.
    pub producer: Option<String>,
    /// Name of the file with its debug information, if this is not in the image (split DWARF).
    pub split_file: Option<String>,
    /// DWARF version.
    pub version: u16,
}

/// Source lines of the kernels, by the addresses of their code.
struct KernelSources {
    known: BTreeMap<u64, SourceLine>,
    /// Addresses of the kernels whose source line is not known yet.
    missing: BTreeSet<u64>,
}

impl KernelSources {
    fn new(entries: impl Iterator<Item = u64>) -> Self {
        KernelSources { missing: entries.collect(), known: BTreeMap::new() }
    }

    /// True if a kernel begins at this address and its source line is not known yet.
    fn is_missing(&self, address: u64) -> bool {
        self.missing.contains(&address)
    }

    fn insert(&mut self, entry: u64, source: SourceLine) {
        if self.missing.remove(&entry) {
            self.known.insert(entry, source);
        }
    }
}

/// Sections that are read. Locations of variables and unwind information are not needed.
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

/// Loads a section. One that cannot be loaded is a problem.
fn load<'data>(elf: &Elf<'data, impl Width>, id: SectionId, problems: &mut Vec<Malformed>) -> DebugSection<'data> {
    if !READ.contains(&id) {
        return DebugSection::default();
    }
    sections::load(elf, id).unwrap_or_else(|problem| {
        problems.push(problem);
        DebugSection::default()
    })
}

/// Reads the debug information of a file and sets the source line of each kernel.
pub fn read(elf: &Elf<'_, impl Width>, kernels: &mut [LocatedKernel], problems: &mut Vec<Malformed>) -> DebugInfo {
    let Ok(sections) = DwarfSections::load(|id| Ok::<_, std::convert::Infallible>(load(elf, id, problems)));
    let mut dwarf = sections.borrow(|section| section.reader(sections::endian(elf)));
    let mut sources = KernelSources::new(kernels.iter().filter_map(|found| found.entry));
    let mut debug = DebugInfo::default();
    let budget = ParseBudget(elf.view);
    let read = units::read(&mut dwarf, &mut debug, &mut sources, budget);
    problems.extend(read.err().map(|error| malformed(elf, error)));
    for found in kernels {
        found.kernel.source = found.entry.and_then(|entry| sources.known.get(&entry).cloned());
    }
    debug
}

/// Time stamps of source files in the line tables of a file. There are none if the tables cannot be parsed; the
/// inspection reports that error.
pub fn time_stamps(elf: &Elf<'_, impl Width>) -> Vec<u64> {
    let load = |id| {
        let is_read = [SectionId::DebugLine, SectionId::DebugLineStr, SectionId::DebugStr].contains(&id);
        Ok::<_, std::convert::Infallible>(if is_read {
            sections::load(elf, id).unwrap_or_default()
        } else {
            DebugSection::default()
        })
    };
    let Ok(sections) = DwarfSections::load(load);
    let dwarf = sections.borrow(|section| section.reader(sections::endian(elf)));
    lines::Lines::time_stamps(&dwarf, ParseBudget(elf.view)).unwrap_or_default()
}

/// Converts an error of `gimli`, which does not know files. The new error names the section that refers to all others.
/// A section with an offset beyond the end of the file is a separate problem.
fn malformed(elf: &Elf<'_, impl Width>, error: DwarfError) -> Malformed {
    let error = match error {
        DwarfError::BudgetExhausted(malformed) => return malformed,
        DwarfError::Malformed(_) | DwarfError::UnknownFile { .. } => error,
    };
    let stored = |name: &&str| elf.bytes(&elf.section(name)?).ok();
    let section = [".debug_info", ".debug_line"].iter().find_map(stored);
    section.unwrap_or(elf.view).malformed("debug information", 0, Cause::Described(error.to_string()))
}
