//! Symbols of the images that are arrays in a host file.
//!
//! The name of an array is the only identification that such an image has beside its own bytes. Without the search through all
//! bytes, symbols also lead to the images.

use std::collections::HashMap;
use std::ops::Range;

use object::read::{Object, ObjectSection, ObjectSymbol, Symbol};
use object::{BinaryFormat, SectionFlags, SectionIndex, SectionKind, SymbolKind, elf};

use super::findings::Findings;
use super::pointers::{HostFile, HostSection};
use super::structure::Structure;
use crate::bytes::{ObjectBytes, Resource, View, record_memory, text_work};
use crate::format::{ContainerType, embedded};

/// Size of the smallest array that can be an image, in bytes: the header of an ELF file.
const SMALLEST_IMAGE: u64 = 64;

/// Ends of the names of symbols for the end of an array. That of one array may be the start of the next: GNU ld's `-b binary` and
/// objcopy, TensorRT-LLM, tvm-ffi, incbin.h.
const ENDS: [&str; 2] = ["_end", "End"];

/// A symbol in the data of a host file.
#[derive(Debug, Clone, Copy)]
struct DataSymbol<'data> {
    name: &'data str,
    /// Its place in the file. In ELF files, symbols of assemblers and linkers have no size.
    range: Range64,
    /// Rank among symbols of one place; the smallest is the name of the array.
    rank: Rank,
}

/// A range that can be copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range64 {
    start: u64,
    end: u64,
}

/// Preference among symbols at one place: starts before ends, objects before others, global before local ones.
type Rank = (bool, bool, bool);

/// Adds the images that begin at symbols of data.
pub fn find_images<'data>(view: View<'data>, structure: &Structure<'data>, findings: &mut Findings) {
    let gaps = findings.unexplained(view.size());
    let mut end = 0;
    for symbol in data_symbols(structure) {
        let Range64 { start, end: symbol_end } = symbol.range;
        let size = symbol_end.saturating_sub(start);
        if start < end || (1..SMALLEST_IMAGE).contains(&size) {
            continue;
        }
        let after = gaps.partition_point(|gap| gap.start <= start);
        let gap = after.checked_sub(1).and_then(|index| gaps.get(index)).filter(|gap| gap.contains(&start));
        let Some(gap) = gap else { continue };
        let region = structure.region(view, start, &(start..gap.end));
        if let Some(image) = embedded::at_start(region) {
            end = image.view.range().end;
            findings.add(&image.container(), structure.section_at(start).as_ref());
        }
    }
}

/// Records the symbols of the images that were found.
pub fn name_images(structure: &Structure<'_>, findings: &mut Findings) {
    let is_embedded =
        |container: &&mut crate::inventory::Container| container.container_type == ContainerType::Embedded;
    if findings.containers.iter_mut().all(|container| !is_embedded(&container)) {
        return;
    }
    let symbols = data_symbols(structure);
    for container in findings.containers.iter_mut().filter(is_embedded) {
        let Some(offset) = container.offset else { continue };
        let after = symbols.partition_point(|symbol| symbol.range.start <= offset);
        // An array may begin with other data.
        let Some(nearest) = after.checked_sub(1).and_then(|index| symbols.get(index)) else { continue };
        let is_inside = nearest.range.start == offset || nearest.range.end > offset;
        let unnamed = container.images.first_mut().filter(|image| image.symbol.is_none());
        if is_inside && let Some(image) = unnamed {
            image.symbol = Some(nearest.name.to_owned());
        }
    }
}

/// Returns the symbols in the data of the host files, one for each place, in the order of the file.
fn data_symbols<'data>(structure: &Structure<'data>) -> Vec<DataSymbol<'data>> {
    let mut symbols: Vec<DataSymbol<'data>> = Vec::new();
    for &host in &structure.hosts {
        if let Ok(file) = HostFile::parse(ObjectBytes(host)) {
            add_symbols(&file, host, &mut symbols);
        }
    }
    symbols.sort_by_key(|symbol| (symbol.range.start, symbol.rank));
    symbols.dedup_by_key(|symbol| symbol.range.start);
    let starts: Vec<u64> = symbols.iter().map(|symbol| symbol.range.start).collect();
    for (symbol, next) in symbols.iter_mut().zip(starts.into_iter().skip(1)) {
        // In files of other formats no symbol has a size, and its range is the rest of the section so far.
        symbol.range.end = symbol.range.end.min(next.max(symbol.range.start));
    }
    symbols
}

fn add_symbols<'data>(file: &HostFile<'data>, host: View<'data>, symbols: &mut Vec<DataSymbol<'data>>) {
    let sections: HashMap<SectionIndex, (u64, Range<u64>)> = file
        .sections()
        .filter(is_data)
        .filter_map(|section| {
            let (offset, size) = section.file_range()?;
            Some((section.index(), (section.address(), offset..offset.saturating_add(size))))
        })
        .collect();
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        if host.charge("symbol", Resource::Work, 1).is_err() {
            return;
        }
        let Some(place) = symbol.section_index().and_then(|index| sections.get(&index)) else { continue };
        let Some((name, range)) = place_of(&symbol, place, host, file.format()) else { continue };
        let is_end = ENDS.iter().any(|end| name.ends_with(end));
        let rank = (is_end, symbol.kind() != SymbolKind::Data, !symbol.is_global());
        let size = record_memory(size_of::<DataSymbol<'_>>(), []);
        let work = text_work(name.len());
        if host.charge("symbol", Resource::Memory, size).is_err()
            || host.charge("symbol", Resource::Work, work).is_err()
        {
            return;
        }
        symbols.push(DataSymbol { name, range, rank });
    }
}

/// Returns whether arrays of constants may be in a section: those with relocations are not.
fn is_data<'data>(section: &HostSection<'data, '_>) -> bool {
    let is_executable = match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.contains(elf::SHF_EXECINSTR),
        _ => section.kind() == SectionKind::Text,
    };
    let is_relocated = section.name().is_ok_and(|name| name.starts_with(".data.rel.ro"));
    !is_executable && !is_relocated
}

/// Returns the name of a symbol and its place in the file.
fn place_of<'data>(
    symbol: &Symbol<'data, '_, ObjectBytes<'data>>,
    (address, section): &(u64, Range<u64>),
    host: View<'data>,
    format: BinaryFormat,
) -> Option<(&'data str, Range64)> {
    if matches!(symbol.kind(), SymbolKind::Section | SymbolKind::File) {
        return None;
    }
    let distance = symbol.address().checked_sub(*address)?;
    let start = section.start.checked_add(distance).filter(|start| *start < section.end)?;
    let has_size = format == BinaryFormat::Elf;
    let end = if has_size { start.saturating_add(symbol.size()).min(section.end) } else { section.end };
    let name = symbol.name().ok().filter(|name| !name.is_empty())?;
    // Mach-O prefixes the names of C with an underscore.
    let name = if format == BinaryFormat::MachO { name.strip_prefix('_').unwrap_or(name) } else { name };
    let base = host.start();
    Some((name, Range64 { start: base.saturating_add(start), end: base.saturating_add(end) }))
}
