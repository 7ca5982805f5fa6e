//! Relocations that do not reach their targets.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::collections::BTreeMap;

use object::read::{File, Object, ObjectSection, ObjectSymbol, Relocation, RelocationTarget};
use object::{Architecture, RelocationFlags, SymbolIndex};

use super::inputs::{LinkedFile, for_each_object};
use super::layout::Layout;
use super::line::{LinkLine, OutputType};
use super::linkers::Linker;
use super::object_file::{InputSection, elf_object};
use super::problem::{Effect, Problem, ProblemKind};
use super::relocations::{Reach, Target};
use super::resolve::Resolution;
use super::{DoctorError, DoctorOptions, Result};
use fatbin_core::base::bytes::{ObjectBytes, Resource};
use fatbin_core::base::range::offset_from;
use fatbin_core::scan::Source;

/// Section with unwind tables.
const UNWIND: &str = ".eh_frame";

/// Minimum end address of an output with relocations out of reach: the output must span 2 GiB.
const REACH: u64 = 1 << 31;

/// Relocations between two sections of the output. None of them reaches its target.
#[derive(Debug)]
pub struct Overflow {
    /// Host object of the first.
    path: String,
    /// Section of the host object.
    section: String,
    /// Offset in the host object.
    offset: u64,
    /// Symbol.
    symbol: String,
    /// Machine.
    machine: Architecture,
    /// Type of the relocation.
    reach: Reach,
    /// Address of the place.
    place: u64,
    /// Address of the target.
    target: u64,
    /// Value.
    value: i128,
    /// Number of relocations.
    pub count: usize,
}

/// Objects of a link, and what is known about them.
struct Search<'a> {
    layout: &'a Layout,
    objects: &'a [LinkedFile],
    resolution: &'a Resolution,
    output_type: OutputType,
    /// Overflows, by the names of the output sections of place and target.
    found: BTreeMap<(String, String), Overflow>,
}

/// Finds the relocations that do not reach their targets, by the sections of place and target.
pub fn find(
    layout: &Layout,
    objects: &[LinkedFile],
    resolution: &Resolution,
    line: &LinkLine,
    options: &DoctorOptions,
) -> Result<Vec<Overflow>> {
    if layout.end() < REACH {
        return Ok(Vec::new());
    }
    for file in resolution.linked().filter_map(|number| objects.get(number)) {
        if let Some(machine) = file.object.machine.filter(|machine| !Reach::is_known(*machine)) {
            return Err(DoctorError::UnknownMachine { path: file.path.clone(), machine });
        }
    }
    let output_type = line.placement.output_type;
    let mut search = Search { layout, objects, resolution, output_type, found: BTreeMap::new() };
    for_each_object(line, options, &mut |number, slice, _| {
        if resolution.is_linked(number)
            && let Some(file) = elf_object(slice.view())
        {
            for section in objects.get(number).iter().flat_map(|file| &file.object.sections) {
                let Some((_, address)) = layout.place(number, section.index) else { continue };
                search.add_section(&file, number, section, address, &|| {
                    slice.view().charge("relocation", Resource::Work, 1).is_ok()
                });
            }
        }
        Ok(())
    })?;
    Ok(search.found.into_values().collect())
}

impl Search<'_> {
    fn add_section<'data>(
        &mut self,
        file: &File<'data, ObjectBytes<'data>>,
        number: usize,
        section: &InputSection,
        address: u64,
        charge: &dyn Fn() -> bool,
    ) {
        let machine = file.architecture();
        let Ok(read) = file.section_by_index(object::SectionIndex(section.index)) else { return };
        for (at, relocation) in read.relocations() {
            if !charge() {
                return;
            }
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            let Some(reach) = Reach::of(machine, r_type.0) else { continue };
            let place = offset_from(address, at);
            let Some(symbol) = symbol_index(&relocation) else { continue };
            let Some((target, name)) = self.target(file, number, symbol, reach, place, relocation.addend()) else {
                continue;
            };
            let value = reach.value(place, target, relocation.addend());
            if reach.holds(value) {
                continue;
            }
            let path = self.objects.get(number).map_or(String::new(), |object| object.path.clone());
            let section_name = |address| self.layout.section_at(address).map_or("", |section| &section.name).to_owned();
            let key = (section_name(place), section_name(target));
            let offset = offset_from(section.offset, at);
            let section = section.name.clone();
            let overflow =
                || Overflow { path, section, offset, symbol: name, machine, reach, place, target, value, count: 0 };
            self.found.entry(key).or_insert_with(overflow).count += 1;
        }
    }

    /// Address that a relocation refers to, and the name of the symbol; `None` if the address is unknown.
    fn target<'data>(
        &self,
        file: &File<'data, ObjectBytes<'data>>,
        number: usize,
        index: SymbolIndex,
        reach: Reach,
        place: u64,
        addend: i64,
    ) -> Option<(u64, String)> {
        let symbol = file.symbol_by_index(index).ok()?;
        let name = symbol.name().unwrap_or_default();
        let own = match symbol.section_index() {
            Some(section) if !symbol.is_global() => {
                self.layout.place(number, section.0).map(|(_, address)| address.wrapping_add(symbol.address()))
            }
            _ => self.global(name),
        };
        let made = |section: &str| Some(self.layout.section(section)?.address);
        let is_preemptible = self.output_type == OutputType::Shared && symbol.is_global();
        let address = match (reach.target, own) {
            (Target::Symbol, Some(address)) => Some(address),
            (Target::Stub, Some(address)) if !is_preemptible => Some(address),
            (Target::Stub, _) => made(".plt"),
            // The linker makes a copy of a variable of a shared library, or finds nothing for a weak symbol.
            (Target::Symbol, None) if symbol.is_weak() => None,
            (Target::Symbol, None) => made(".bss"),
            (Target::GotOrSymbol, Some(address)) if !is_preemptible => {
                let reaches = reach.holds(reach.value(place, address, addend));
                if reaches { Some(address) } else { made(".got") }
            }
            (Target::Got | Target::GotOrSymbol, _) => made(".got"),
        };
        let section = symbol.section_index().and_then(|index| self.objects.get(number)?.object.section(index.0));
        let name = if name.is_empty() { section.map_or("", |section| &section.name) } else { name };
        Some((address?, name.to_owned()))
    }

    /// Address of a symbol that an object or the linker defines.
    fn global(&self, name: &str) -> Option<u64> {
        if let Some((object, definition)) = self.resolution.definition(name) {
            return match definition.section {
                Some(section) => {
                    self.layout.place(object, section).map(|(_, address)| address.wrapping_add(definition.value))
                }
                // A common symbol.
                None => self.layout.section(".bss").map(|section| section.address),
            };
        }
        let start = name.strip_prefix("__start_").and_then(|section| self.layout.section(section));
        let stop = name.strip_prefix("__stop_").and_then(|section| self.layout.section(section));
        match name {
            "_GLOBAL_OFFSET_TABLE_" => self.layout.section(".got.plt").map(|section| section.address),
            _ => start.map(|it| it.address).or_else(|| stop.map(|it| offset_from(it.address, it.size))),
        }
    }
}

fn symbol_index(relocation: &Relocation) -> Option<SymbolIndex> {
    match relocation.target() {
        RelocationTarget::Symbol(index) => Some(index),
        _ => None,
    }
}

impl Overflow {
    /// Describes the problem.
    pub fn problem(&self, layout: &Layout, linker: Linker, script_helps: bool) -> Problem {
        let section_name = |address| layout.section_at(address).map_or("", |section| section.name.as_str());
        let is_unwind = section_name(self.place) == UNWIND && !linker.rules().checks_unwind_tables;
        let causes = self.causes(layout);
        let limits = self.reach.limits();
        let symbol = &self.symbol;
        let mut message = format!(
            "{} against {symbol} out of range: {} is not in [{}, {}]; {} places {} {}",
            self.reach.name,
            self.value,
            limits.start(),
            limits.end(),
            linker.title(),
            causes,
            if self.reach.is_relative {
                format!("between {} and {}", section_name(self.place), section_name(self.target))
            } else {
                format!("before {}", section_name(self.target))
            },
        );
        if is_unwind {
            message += "; mold truncates it without a message, so that exceptions are not caught";
        }
        Problem {
            kind: ProblemKind::RelocationOverflow,
            effect: if is_unwind { Effect::BrokenOutput } else { Effect::LinkFails },
            path: self.path.clone(),
            section: Some(self.section.clone()),
            offset: Some(self.offset),
            symbol: Some(self.symbol.clone()),
            count: self.count,
            message,
            remedy: remedy(linker, self.machine, script_helps),
        }
    }

    /// Large sections that cause the distance.
    fn causes(&self, layout: &Layout) -> String {
        let from = if self.reach.is_relative { self.place } else { 0 };
        let large = layout.large_between(from, self.target).map(|it| format!("{} ({} bytes)", it.name, it.size));
        let large: Vec<String> = large.collect();
        if large.is_empty() { "other sections".to_owned() } else { large.join(" and ") }
    }
}

/// Remedy. Only x86-64 has large sections: GNU ld and gold place them last, lld does with an option, and mold places
/// them between unwind tables and code.
fn remedy(linker: Linker, machine: Architecture, script_helps: bool) -> String {
    let script = "link with GNU ld or lld and the script of --script FILE";
    let large = match linker {
        _ if machine != Architecture::X86_64 => None,
        Linker::Bfd | Linker::Gold => Some("store the images in large sections (fatbin wrap --large-images)"),
        Linker::Lld => {
            Some("store the images in large sections (fatbin wrap --large-images) and link with -z lrodata-after-bss")
        }
        Linker::Mold => None,
    };
    match (linker, script_helps, large) {
        (Linker::Bfd | Linker::Lld, true, _) => {
            "write a linker script with --script FILE and link with -T FILE".to_owned()
        }
        (_, true, Some(large)) => format!("{script}, or {large}"),
        (_, true, None) => format!("{script}, which {} does not read", linker.title()),
        (_, false, Some(large)) => format!("{large}, or link fewer targets"),
        (_, false, None) => "link fewer targets".to_owned(),
    }
}
