//! Symbols of images in data arrays of a host file.
//!
//! Such an image is identified only by the name of its array and by its bytes. Without the search through all bytes,
//! symbols also lead to the images.

use std::collections::HashMap;
use std::ops::Range;

use object::read::{Object, ObjectSection, ObjectSymbol, Symbol};
use object::{BinaryFormat, SectionFlags, SectionIndex, SectionKind, SymbolKind, SymbolSection, elf};

use super::findings::Findings;
use crate::base::bytes::{ObjectBytes, Resource, View, record_memory, size_of_range, text_work};
use crate::base::range::{moved, offset_from, range_at};
use crate::format::{ContainerType, embedded};
use crate::scan::structure::Structure;
use crate::scan::structure::pointers::{HostFile, HostSection};

/// Size of the smallest array that can be an image, in bytes: the header of an ELF file.
const SMALLEST_IMAGE: u64 = 64;

/// Suffixes of the names of symbols for the end of an array. The end of one array may be the start of the next: GNU
/// ld's `-b binary` and objcopy, TensorRT-LLM, tvm-ffi, incbin.h.
const ENDS: [&str; 2] = ["_end", "End"];

/// Suffix of the names of symbols whose value is the size of an array, and the memory that one of them takes.
const SIZE: &str = "_size";
const SIZE_RECORD: u64 = 64;

/// A symbol in the data of a host file.
#[derive(Debug, Clone)]
struct DataSymbol<'data> {
    name: &'data str,
    /// Its place in the file. In ELF files, symbols of assemblers and linkers have no size.
    range: Range<u64>,
    /// Rank among symbols at one place. The smallest rank names the array.
    rank: Rank,
}

/// Preference among symbols at one place: starts before ends, objects before others, global before local ones.
type Rank = (bool, bool, bool);

/// Adds the images that begin at symbols of data.
pub fn find_images<'data>(view: View<'data>, structure: &Structure<'data>, findings: &mut Findings) {
    let gaps = findings.unexplained(view.size());
    let mut end = 0;
    for symbol in DataSymbols::read(structure).places {
        let start = symbol.range.start;
        let size = size_of_range(&symbol.range);
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
        |container: &&mut crate::scan::inventory::Container| container.container_type == ContainerType::Embedded;
    if findings.containers.iter_mut().all(|container| !is_embedded(&container)) {
        return;
    }
    let symbols = DataSymbols::read(structure);
    for container in findings.containers.iter_mut().filter(is_embedded) {
        let offset = container.offset.unwrap_or_default();
        let size = container.size;
        if let Some(image) = container.images.first_mut().filter(|image| image.symbol.is_none()) {
            image.symbol = symbols.name_at(offset).or_else(|| symbols.name_of_size(size)).map(str::to_owned);
        }
    }
}

/// The symbols of the host files that refer to data.
#[derive(Debug, Default)]
struct DataSymbols<'data> {
    /// One symbol for each place, in file order.
    places: Vec<DataSymbol<'data>>,
    /// Names of arrays by their size, from absolute symbols for sizes; `None` if two arrays have the same size.
    sizes: HashMap<u64, Option<&'data str>>,
}

impl<'data> DataSymbols<'data> {
    fn read(structure: &Structure<'data>) -> Self {
        let mut symbols = DataSymbols::default();
        for (file, host) in structure.parsed_hosts() {
            symbols.add(&file, host);
        }
        let places = &mut symbols.places;
        places.sort_by_cached_key(|symbol| (symbol.range.start, symbol.rank));
        places.dedup_by_key(|symbol| symbol.range.start);
        let starts: Vec<u64> = places.iter().map(|symbol| symbol.range.start).collect();
        for (symbol, next) in places.iter_mut().zip(starts.into_iter().skip(1)) {
            // In files of other formats, no symbol has a size, and so far its range is the rest of the section.
            symbol.range.end = symbol.range.end.min(next.max(symbol.range.start));
        }
        symbols
    }

    /// Name of the array with this byte. An array may begin with data other than an image.
    fn name_at(&self, offset: u64) -> Option<&'data str> {
        let after = self.places.partition_point(|symbol| symbol.range.start <= offset);
        let nearest = self.places.get(after.checked_sub(1)?)?;
        (nearest.range.start == offset || nearest.range.end > offset).then_some(nearest.name)
    }

    /// Name of the only array of this size. tvm-ffi embeds arrays with local symbols, and exports their size. The
    /// symbol for the size is left after stripping.
    fn name_of_size(&self, size: u64) -> Option<&'data str> {
        self.sizes.get(&size).copied().flatten()
    }

    fn add_size(&mut self, symbol: &Symbol<'data, '_, ObjectBytes<'data>>) {
        let name = symbol.name().ok().and_then(|name| name.strip_suffix(SIZE));
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            let known = self.sizes.entry(symbol.address()).or_insert(Some(name));
            *known = known.filter(|known| *known == name);
        }
    }

    fn add(&mut self, file: &HostFile<'data>, host: View<'data>) {
        let sections: HashMap<SectionIndex, (u64, Range<u64>)> = file
            .sections()
            .filter(is_data)
            .filter_map(|section| {
                let (offset, size) = section.file_range()?;
                Some((section.index(), (section.address(), range_at(offset, size))))
            })
            .collect();
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            if host.charge("symbol", Resource::Work, 1).is_err() {
                return;
            }
            if symbol.section() == SymbolSection::Absolute
                && host.charge("symbol", Resource::Memory, SIZE_RECORD).is_ok()
            {
                self.add_size(&symbol);
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
            self.places.push(DataSymbol { name, range, rank });
        }
    }
}

/// True if a section may hold arrays of constants. Sections with relocations do not.
fn is_data<'data>(section: &HostSection<'data, '_>) -> bool {
    let is_executable = match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.contains(elf::SHF_EXECINSTR),
        _ => section.kind() == SectionKind::Text,
    };
    let is_relocated = section.name().is_ok_and(|name| name.starts_with(".data.rel.ro"));
    !is_executable && !is_relocated
}

fn place_of<'data>(
    symbol: &Symbol<'data, '_, ObjectBytes<'data>>,
    (address, section): &(u64, Range<u64>),
    host: View<'data>,
    format: BinaryFormat,
) -> Option<(&'data str, Range<u64>)> {
    if matches!(symbol.kind(), SymbolKind::Section | SymbolKind::File) {
        return None;
    }
    let distance = symbol.address().checked_sub(*address)?;
    let start = section.start.checked_add(distance).filter(|start| *start < section.end)?;
    let has_size = format == BinaryFormat::Elf;
    let end = if has_size { offset_from(start, symbol.size()).min(section.end) } else { section.end };
    let name = symbol.name().ok().filter(|name| !name.is_empty())?;
    // Mach-O adds an underscore before C names.
    let name = if format == BinaryFormat::MachO { name.strip_prefix('_').unwrap_or(name) } else { name };
    Some((name, moved(&(start..end), host.start())))
}
