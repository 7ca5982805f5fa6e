//! Predicted addresses of the sections of an output.

use std::collections::HashMap;

use object::{SectionKind, elf};

use super::inputs::LinkedFile;
use super::line::Placement;
use super::linkers::{Class, LargeBy, Place, Rules, is_relro};
use super::object_file::InputSection;
use super::resolve::Resolution;
use super::script::{Script, ScriptSection};
use fatbin_core::base::range::offset_from;

/// Page size. Parts with different permissions are aligned to it.
const PAGE: u64 = 0x1000;

/// Estimated size of the headers and of each section that the linker makes. Only distances above 2 GiB matter.
const ESTIMATE: u64 = 0x1000;

/// Sections that the linker makes.
const MADE: [&str; 5] = [".got", ".got.plt", ".plt", ".dynamic", ".eh_frame_hdr"];

/// Minimum size of a section that is moved, or named as the cause of an overflow.
pub const LARGE: u64 = 16 << 20;

/// A section of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputSection {
    /// Name.
    pub name: String,
    /// Address.
    pub address: u64,
    /// Size in bytes.
    pub size: u64,
    /// Class, which determines the placement.
    pub(super) class: Class,
    /// Alignment.
    align: u64,
    /// Contents: object, index of the section.
    inputs: Vec<(usize, usize)>,
}

/// Predicted layout of an output.
#[derive(Debug)]
pub struct Layout {
    /// Sections, sorted by address.
    sections: Vec<OutputSection>,
    /// Places of input sections by object and index: the output section, and the address.
    places: HashMap<(usize, usize), (usize, u64)>,
}

impl Layout {
    /// Predicts the layout of a link with scripts.
    pub fn new(objects: &[LinkedFile], resolution: &Resolution, placement: Placement, scripts: &[Script]) -> Layout {
        let rules = placement.linker.rules();
        let sections = collect(objects, resolution, rules, scripts);
        let sections = order(sections, rules, placement.places_large_last, scripts);
        let default = if placement.output_type.is_position_independent() { 0 } else { rules.base };
        assign(sections, objects, placement.base.unwrap_or(default))
    }

    /// Output section of an input section, and the address of the input section.
    pub fn place(&self, object: usize, section: usize) -> Option<(&OutputSection, u64)> {
        let &(index, address) = self.places.get(&(object, section))?;
        Some((self.sections.get(index)?, address))
    }

    /// Section with a name.
    pub fn section(&self, name: &str) -> Option<&OutputSection> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// Large sections between two addresses.
    pub fn large_between(&self, one: u64, other: u64) -> impl Iterator<Item = &OutputSection> {
        let low = one.min(other);
        let high = one.max(other);
        self.sections.iter().filter(move |it| it.size >= LARGE && it.address < high && it.address + it.size > low)
    }

    /// Names of the large read-only sections.
    pub fn large_read_only(&self) -> impl Iterator<Item = &str> {
        let is_read_only = |it: &OutputSection| matches!(it.class, Class::ReadOnly | Class::LargeReadOnly);
        self.sections.iter().filter(move |it| is_read_only(it) && it.size >= LARGE).map(|it| it.name.as_str())
    }

    /// Section that contains an address, or ends there.
    pub fn section_at(&self, address: u64) -> Option<&OutputSection> {
        let after = self.sections.partition_point(|section| section.address <= address);
        self.sections.get(after.checked_sub(1)?)
    }

    /// Address of the end.
    pub fn end(&self) -> u64 {
        self.sections.last().map_or(0, |section| section.address + section.size)
    }

    /// Sections, sorted by address.
    pub fn into_sections(self) -> Vec<OutputSection> {
        self.sections.into_iter().filter(|section| section.size > 0 && !MADE.contains(&section.name.as_str())).collect()
    }
}

/// Output sections, in the order of the first input of each.
fn collect(objects: &[LinkedFile], resolution: &Resolution, rules: &Rules, scripts: &[Script]) -> Vec<OutputSection> {
    let mut sections: Vec<OutputSection> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for number in resolution.linked() {
        for input in objects[number].object.sections.iter().filter(|section| section.is_loaded()) {
            if resolution.is_dropped(number, input.index) {
                continue;
            }
            let name = output_name(input, rules, scripts);
            let class = class(input, name, rules);
            let index = *known.entry(name.to_owned()).or_insert(sections.len());
            if index == sections.len() {
                sections.push(empty(name, class));
            }
            let output = &mut sections[index];
            output.class = output.class.max(class);
            output.align = output.align.max(input.align);
            output.inputs.push((number, input.index));
        }
    }
    sections.extend(MADE.map(|name| OutputSection { size: ESTIMATE, ..empty(name, Class::ReadOnly) }));
    sections
}

fn empty(name: &str, class: Class) -> OutputSection {
    OutputSection { name: name.to_owned(), address: 0, size: 0, class, align: 1, inputs: Vec::new() }
}

/// Name of an input section's output section, from a script or from the linker's own layout.
fn output_name<'a>(input: &'a InputSection, rules: &Rules, scripts: &'a [Script]) -> &'a str {
    let name = rules.output_name(&input.name);
    let mut of_scripts = scripts.iter().flat_map(|script| &script.sections);
    match of_scripts.find(|section| section.takes(&input.name)) {
        Some(section) if rules.moves(name) => &section.name,
        _ => name,
    }
}

fn class(input: &InputSection, output_name: &str, rules: &Rules) -> Class {
    let is_bss = input.kind == SectionKind::UninitializedData;
    let is_writable = input.has(elf::SHF_WRITE.0);
    let is_large = rules.large_by == LargeBy::Flag && input.is_large();
    if is_large {
        match (is_writable, is_bss) {
            (false, _) => Class::LargeReadOnly,
            (true, false) => Class::LargeData,
            (true, true) => Class::LargeBss,
        }
    } else if input.has(elf::SHF_TLS.0) {
        Class::Tls
    } else if input.has(elf::SHF_EXECINSTR.0) {
        Class::Code
    } else if is_writable && is_relro(output_name) {
        Class::Relro
    } else if is_writable {
        if is_bss { Class::Bss } else { Class::Data }
    } else if input.kind == SectionKind::Note {
        Class::Note
    } else {
        Class::ReadOnly
    }
}

/// Sorts sections by the order of the linker, and then by the scripts.
fn order(sections: Vec<OutputSection>, rules: &Rules, large_last: bool, scripts: &[Script]) -> Vec<OutputSection> {
    let of_scripts = |name: &str| scripts.iter().flat_map(|script| &script.sections).any(|it| it.name == name);
    let (mut inserted, mut rest): (Vec<_>, Vec<_>) = sections.into_iter().partition(|it| of_scripts(&it.name));
    if rules.sorts_names {
        rest.sort_by(|one, other| one.name.cmp(&other.name));
    }
    let mut ordered = Vec::new();
    for place in rules.order {
        let is_here = |section: &OutputSection| match place {
            Place::Named(name) => section.name == *name,
            Place::Rest(class) => section.class == *class && !rules.names(&section.name),
        };
        let (here, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(is_here);
        ordered.extend(here);
        rest = others;
    }
    ordered.extend(rest);
    if large_last {
        let large: Vec<_> = ordered.extract_if(.., |section| section.class == Class::LargeReadOnly).collect();
        let at = ordered.iter().rposition(|section| section.class == Class::Bss).map_or(ordered.len(), |at| at + 1);
        ordered.splice(at..at, large);
    }
    for Script { sections, is_after, anchor } in scripts {
        let at = ordered.iter().position(|section| section.name == *anchor);
        let at = at.map_or(ordered.len(), |at| if *is_after { at + 1 } else { at });
        let mut own = Vec::new();
        for ScriptSection { name, .. } in sections {
            own.extend(inserted.extract_if(.., |section| section.name == *name));
        }
        ordered.splice(at..at, own);
    }
    ordered
}

/// Assigns addresses.
fn assign(mut sections: Vec<OutputSection>, objects: &[LinkedFile], base: u64) -> Layout {
    let mut places = HashMap::new();
    let mut address = offset_from(base, ESTIMATE);
    let mut previous = Class::Note;
    for (index, section) in sections.iter_mut().enumerate() {
        let is_new_part = permissions(section.class) != permissions(previous);
        previous = section.class;
        address = align(address, if is_new_part { PAGE.max(section.align) } else { section.align });
        section.address = address;
        address = offset_from(address, section.size);
        for &(number, input) in &section.inputs {
            let Some(input) = objects[number].object.section(input) else { continue };
            address = align(address, input.align);
            places.insert((number, input.index), (index, address));
            address = offset_from(address, input.size);
        }
        section.size = address - section.address;
    }
    Layout { sections, places }
}

fn permissions(class: Class) -> u8 {
    match class {
        Class::Note | Class::ReadOnly | Class::LargeReadOnly => 0,
        Class::Code => 1,
        Class::Tls | Class::Relro | Class::Data | Class::Bss | Class::LargeData | Class::LargeBss => 2,
    }
}

fn align(address: u64, align: u64) -> u64 {
    address.checked_next_multiple_of(align.max(1)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::doctor::line::OutputType;
    use crate::link::doctor::linkers::Linker;
    use crate::link::doctor::object_file::HostObject;
    use fatbin_core::base::elf_layout::SHF_X86_64_LARGE;

    const A: u64 = elf::SHF_ALLOC.0;
    const WA: u64 = A | elf::SHF_WRITE.0;
    const AX: u64 = A | elf::SHF_EXECINSTR.0;
    const LARGE_A: u64 = A | SHF_X86_64_LARGE.0;

    /// Object with sections of 100 bytes each.
    fn file(sections: &[(&str, u64)]) -> LinkedFile {
        let section = |(index, &(name, flags)): (usize, &(&str, u64))| InputSection {
            index,
            name: name.to_owned(),
            offset: 0,
            size: 100,
            align: 16,
            flags,
            kind: if name.starts_with(".bss") { SectionKind::UninitializedData } else { SectionKind::ReadOnlyData },
        };
        let sections = sections.iter().enumerate().map(section).collect();
        LinkedFile::of_object("a.o", false, HostObject { sections, ..HostObject::default() })
    }

    fn layout(linker: Linker, output_type: OutputType, places_large_last: bool, scripts: &[Script]) -> Layout {
        let first = [(".text.f", AX), (".nv_fatbin", A), (".rodata", A), (".data", WA), (".eh_frame", A)];
        let second = [(".bss.x", WA), (".lrodata.y", LARGE_A), (".aaa", A), (".nv_fatbin", A), (".init_array", WA)];
        let objects = [file(&first), file(&second), file(&[(".llvm.offloading", A | elf::SHF_EXCLUDE.0), ("note", 0)])];
        let placement = Placement { linker, output_type, base: None, places_large_last };
        Layout::new(&objects, &Resolution::new(&objects), placement, scripts)
    }

    fn names(layout: Layout) -> Vec<String> {
        layout.into_sections().into_iter().map(|section| section.name).collect()
    }

    #[test]
    fn linkers_order_sections_as_measured() {
        let orders = [
            (Linker::Bfd, ".text .rodata .nv_fatbin .aaa .eh_frame .init_array .data .bss .lrodata"),
            (Linker::Gold, ".text .nv_fatbin .rodata .aaa .eh_frame .init_array .data .bss .lrodata"),
            (Linker::Lld, ".lrodata .nv_fatbin .rodata .aaa .eh_frame .text .init_array .data .bss"),
            (Linker::Mold, ".eh_frame .aaa .lrodata.y .nv_fatbin .rodata .text .init_array .data .bss"),
        ];
        for (linker, order) in orders {
            assert_eq!(names(layout(linker, OutputType::Pie, false, &[])).join(" "), order, "{linker:?}");
        }
        let last = names(layout(Linker::Lld, OutputType::Pie, true, &[]));
        assert_eq!(last.join(" "), ".nv_fatbin .rodata .aaa .eh_frame .text .init_array .data .bss .lrodata");
    }

    #[test]
    fn scripts_move_what_the_linker_lets_them() {
        let text = "SECTIONS { .nv_fatbin : { *(.nv_fatbin) } .r : { *(.rodata) } } INSERT AFTER .bss;";
        let scripts = Script::parse(text).unwrap();
        let bfd = names(layout(Linker::Bfd, OutputType::Pie, false, &scripts));
        assert_eq!(bfd.join(" "), ".text .rodata .aaa .eh_frame .init_array .data .bss .nv_fatbin .lrodata");
        let lld = names(layout(Linker::Lld, OutputType::Pie, false, &scripts));
        assert_eq!(lld.join(" "), ".lrodata .aaa .eh_frame .text .init_array .data .bss .nv_fatbin .r");
    }

    #[test]
    fn addresses_follow_sizes_and_alignment() {
        let pie = layout(Linker::Bfd, OutputType::Pie, false, &[]);
        let (section, address) = pie.place(1, 3).unwrap();
        assert_eq!((section.name.as_str(), section.size, address - section.address), (".nv_fatbin", 212, 112));
        assert_eq!(pie.place(2, 0).map(|(_, address)| address), None, "excluded");
        assert_eq!(pie.section_at(address).map(|section| section.name.as_str()), Some(".nv_fatbin"));
        let fixed = layout(Linker::Bfd, OutputType::Executable, false, &[]);
        assert_eq!(fixed.place(1, 3).map(|(_, moved)| moved - address), Some(0x40_0000));
        // Pages separate parts with different permissions.
        let page = |name: &str| pie.section(name).unwrap().address / PAGE;
        assert!(page(".text") < page(".rodata") && page(".rodata") < page(".data") && pie.end() < 0x2_0000);
    }
}
