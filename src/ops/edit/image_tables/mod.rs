//! Tables of device images in host files: a program registers its OpenMP images by an array, and the number of its rows.
//!
//! A removed image must leave the array, or the runtime reads zeros. The remaining rows move to the front, the number
//! becomes smaller, and all addresses stay. An image stays if its table cannot be found or understood.
//!
//! Layout: `__tgt_device_image` and `__tgt_bin_desc` of llvm/lib/Frontend/Offloading/OffloadWrapper.cpp (LLVM 10 to
//! 22). A row has the bounds of an image and of the host's entries: four pointers. A descriptor has a 32-bit number of
//! rows, padding to the size of a pointer, and the address of the array.

mod elf;
mod loaded;
mod macho;
mod objects;
mod pe;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use object::Endianness;
use object::elf::{FileHeader32, FileHeader64};
use object::macho::{MachHeader32, MachHeader64};
use object::pe::{ImageNtHeaders32, ImageNtHeaders64};
use object::read::FileKind;

use super::Result;
use super::patch::Patch;
use fatbin_core::base::bytes::{View, size_of_range};
use fatbin_core::base::content::Content;
use fatbin_core::base::range::{offset_from, range_at};
use fatbin_core::base::universal;
use fatbin_core::scan::inventory::{Container, File};
use fatbin_core::target::OffloadKind;
use loaded::{Form, LoadedFile, Pointer};

/// The changes of tables.
#[derive(Debug, Default)]
pub struct TableEdit<'data> {
    /// Patches that remove rows.
    pub patches: Vec<Patch<'data>>,
    /// Containers that must not be removed, by their offsets.
    pub fixed: BTreeMap<u64, Fixed>,
}

/// Reason why a container cannot be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fixed {
    /// A table without the form that LLVM's wrappers give it.
    #[error("no descriptor states the length of the table at {0:#x} that registers it")]
    UnknownLength(u64),
    /// The loader treats the pointers of two rows differently.
    #[error("the pointers of the table at {0:#x} that registers it differ in form")]
    MixedPointers(u64),
    /// A pointer to the container that is not in a row.
    #[error("the pointer at {0:#x}, which is in no known table, leads to it")]
    UnknownPointer(u64),
    /// A pointer in an object. The linker completes the table.
    #[error("the relocation at {0:#x} leads to it, and only the tables of linked files are changed")]
    Relocation(u64),
    /// An OpenMP image of a linked file without a row.
    #[error("the table that registers it was not found")]
    NoTable,
    /// A file whose loader writes pointers of an unknown form.
    #[error("the pointers of the file have an unknown form")]
    UnknownPointers,
}

/// A host file, which may be a slice of a universal file.
enum Host<'data> {
    /// A linked file.
    Loaded(LoadedFile<'data>),
    /// A linked file whose pointers cannot be read.
    Unknown,
    /// An object, whose pointers are relocations.
    Object,
}

/// Returns the changes of the tables of a file if the containers at the offsets in `removed` are removed.
pub fn without_containers<'data>(view: View<'data>, file: &File, removed: &[u64]) -> Result<TableEdit<'data>> {
    let mut all = TableEdit::default();
    let slices = universal::slices(view);
    let slices = slices.into_iter().filter_map(|slice| view.part("slice", slice.extent).ok());
    for host in [view].into_iter().chain(slices) {
        let place = host.range_in(view);
        let containers = Containers::of(file, &place, removed);
        if containers.removed.is_empty() {
            continue;
        }
        let edit = without(containers, host)?;
        all.fixed.extend(edit.fixed.into_iter().map(|(offset, why)| (offset_from(offset, place.start), why)));
        for patch in edit.patches {
            all.patches.push(patch.shifted(place.start));
        }
    }
    Ok(all)
}

/// The containers of a host file, with offsets from its start.
struct Containers {
    /// Ranges of all containers.
    ranges: Vec<Range<u64>>,
    /// Starts of the containers and of the images in them, each with the offset of the container.
    starts: HashMap<u64, u64>,
    /// Offsets of the containers to remove.
    removed: HashSet<u64>,
    /// Offsets of containers with OpenMP images.
    openmp: HashSet<u64>,
}

impl Containers {
    fn of(file: &File, place: &Range<u64>, removed: &[u64]) -> Self {
        let mut found =
            Containers { ranges: Vec::new(), starts: HashMap::new(), removed: HashSet::new(), openmp: HashSet::new() };
        for container in &file.containers {
            if let Some(range) = container.range().filter(|range| place.contains(&range.start)) {
                found.add(container, &range, place.start, removed.contains(&range.start));
            }
        }
        found
    }

    fn add(&mut self, container: &Container, range: &Range<u64>, base: u64, is_removed: bool) {
        let in_host = |offset: u64| offset.saturating_sub(base);
        let start = in_host(range.start);
        self.ranges.push(start..in_host(range.end));
        self.starts.insert(start, start);
        let images = container.images.iter().filter_map(|image| image.offset);
        self.starts.extend(images.map(|offset| (in_host(offset), start)));
        if is_removed {
            self.removed.insert(start);
        }
        if container.images.iter().any(|image| image.kind == Some(OffloadKind::OpenMp)) {
            self.openmp.insert(start);
        }
    }
}

/// Returns the changes of the tables of a host file; none for any other file.
fn without<'data>(containers: Containers, view: View<'data>) -> Result<TableEdit<'data>> {
    let host = match FileKind::parse(view.data()) {
        Ok(FileKind::Elf32) => elf::read::<FileHeader32<Endianness>>(view, &containers.ranges)?,
        Ok(FileKind::Elf64) => elf::read::<FileHeader64<Endianness>>(view, &containers.ranges)?,
        Ok(FileKind::Pe32) => pe::read::<ImageNtHeaders32>(view, &containers.ranges)?,
        Ok(FileKind::Pe64) => pe::read::<ImageNtHeaders64>(view, &containers.ranges)?,
        Ok(FileKind::MachO32) => macho::read::<MachHeader32<Endianness>>(view, &containers.ranges)?,
        Ok(FileKind::MachO64) => macho::read::<MachHeader64<Endianness>>(view, &containers.ranges)?,
        Ok(FileKind::Coff | FileKind::CoffBig) => Host::Object,
        _ => return Ok(TableEdit::default()),
    };
    match host {
        Host::Loaded(file) => Tables::read(&file, containers)?.without_containers(),
        Host::Object => Ok(TableEdit { fixed: objects::fixed(view, &containers), patches: Vec::new() }),
        Host::Unknown => {
            let fixed = containers.removed.iter().map(|start| (*start, Fixed::UnknownPointers)).collect();
            Ok(TableEdit { fixed, patches: Vec::new() })
        }
    }
}

/// A linked file, its containers, and its tables.
struct Tables<'a, 'data> {
    file: &'a LoadedFile<'data>,
    containers: Containers,
    /// Pointers to containers, by their offsets.
    pointers: BTreeMap<u64, Pointer>,
    /// Offsets of possible rows, with the offsets of their containers.
    rows: BTreeMap<u64, u64>,
    tables: Vec<Table>,
    /// Offsets of the rows of tables, and of descriptors, which have the same size.
    parts: BTreeSet<u64>,
}

/// An array of rows.
struct Table {
    /// Offsets of the rows.
    rows: Vec<u64>,
    /// Offsets of possible descriptors. If there are several, none is known to be one.
    counts: Vec<u64>,
}

impl<'a, 'data> Tables<'a, 'data> {
    fn read(file: &'a LoadedFile<'data>, containers: Containers) -> Result<Self> {
        let images = LoadedImages::new(file, &containers.ranges);
        let pointers: BTreeMap<_, _> = file.pointers_to(|value| images.at(value).is_some())?.into_iter().collect();
        let rows = images.rows(file.pointer, &pointers);
        let tables = tables(file, &rows)?;
        let parts = tables.iter().flat_map(|table| table.rows.iter().chain(&table.counts)).copied().collect();
        Ok(Tables { file, containers, pointers, rows, tables, parts })
    }

    fn without_containers(mut self) -> Result<TableEdit<'data>> {
        let mut fixed = self.unknown();
        loop {
            self.containers.removed.retain(|start| !fixed.contains_key(start));
            let edit = self.shortened()?;
            if edit.fixed.is_empty() {
                return Ok(TableEdit { fixed, ..edit });
            }
            fixed.extend(edit.fixed);
        }
    }

    /// Returns the containers to remove whose registration is not known.
    fn unknown(&self) -> BTreeMap<u64, Fixed> {
        let in_rows = self.tables.iter().flat_map(|table| &table.rows).filter_map(|row| self.rows.get(row));
        let in_rows: HashSet<u64> = in_rows.copied().collect();
        let mut fixed = BTreeMap::new();
        for (place, pointer) in &self.pointers {
            let container = self.file.offset(pointer.value).and_then(|offset| self.containers.starts.get(&offset));
            if let Some(start) = container.filter(|start| self.containers.removed.contains(*start))
                && !self.is_in_table(*place)
            {
                fixed.entry(*start).or_insert(Fixed::UnknownPointer(*place));
            }
        }
        for start in self.containers.openmp.difference(&in_rows) {
            // What is not loaded is not registered.
            if self.containers.removed.contains(start) && self.file.address(*start).is_some() {
                fixed.entry(*start).or_insert(Fixed::NoTable);
            }
        }
        fixed
    }

    /// Returns whether a pointer is in a row or in a descriptor. The bounds of the host's entries, which may be none, are
    /// often the start of a container.
    fn is_in_table(&self, place: u64) -> bool {
        let part = self.parts.range(..=place).next_back();
        part.is_some_and(|start| range_at(*start, self.file.row_size()).contains(&place))
    }

    /// Returns the patches of all tables, and the containers of tables that are not understood.
    fn shortened(&self) -> Result<TableEdit<'data>> {
        let mut edit = TableEdit::default();
        for table in &self.tables {
            let container = |place: &u64| self.rows.get(place).filter(|start| self.containers.removed.contains(*start));
            let kept: Vec<u64> = table.rows.iter().copied().filter(|place| container(place).is_none()).collect();
            if kept.len() == table.rows.len() {
                continue;
            }
            match self.shorten(table, &kept)? {
                Ok(patches) => edit.patches.extend(patches),
                Err(why) => edit.fixed.extend(table.rows.iter().filter_map(container).map(|start| (*start, why))),
            }
        }
        Ok(edit)
    }

    /// Moves the rows in `kept` to the front of a table, and states their number.
    fn shorten(&self, table: &Table, kept: &[u64]) -> Result<Result<Vec<Patch<'data>>, Fixed>> {
        let file = self.file;
        let (Some(&first), Some(&last)) = (table.rows.first(), table.rows.last()) else { return Ok(Ok(Vec::new())) };
        let [count] = table.counts[..] else { return Ok(Err(Fixed::UnknownLength(first))) };
        let forms = file.forms_in(first..offset_from(last, file.row_size()))?;
        let mut patches = Vec::new();
        for (&from, &to) in kept.iter().zip(&table.rows).filter(|(from, to)| from != to) {
            let places = |row| range_at(row, file.row_size()).step_by(file.pointer as usize);
            for (from, to) in places(from).zip(places(to)) {
                let form = |place| forms.get(&place).copied().unwrap_or(Form::Stored);
                let Some(copied) = file.copied((from, form(from)), (to, form(to)))? else {
                    return Ok(Err(Fixed::MixedPointers(first)));
                };
                patches.extend(copied);
            }
        }
        let number = file.word(u32::try_from(kept.len()).unwrap_or(u32::MAX));
        patches.extend(Patch::in_place(range_at(count, 4), Content::from(number.to_vec())));
        Ok(Ok(patches))
    }
}

/// Returns the arrays of rows that descriptors point to and state the lengths of.
fn tables(file: &LoadedFile<'_>, rows: &BTreeMap<u64, u64>) -> Result<Vec<Table>> {
    let addresses = rows.keys().filter_map(|row| Some((file.address(*row)?, *row)));
    let addresses: HashMap<u64, u64> = addresses.collect();
    let mut found: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for (place, pointer) in file.pointers_to(|value| addresses.contains_key(&value))? {
        let count = place.checked_sub(file.pointer).and_then(|at| Some((at, file.number(at)?)));
        if let (Some((at, length)), Some(first)) = (count, addresses.get(&pointer.value))
            && length > 0
            && row_places(*first, file, length).all(|row| rows.contains_key(&row))
        {
            found.entry(*first).or_default().push((at, length));
        }
    }
    let mut tables: Vec<Table> = Vec::new();
    let mut end = 0;
    for (first, descriptors) in found {
        let length = descriptors.iter().map(|(_, length)| *length).max().unwrap_or_default();
        let mut table = Table {
            rows: row_places(first, file, length).collect(),
            counts: descriptors.into_iter().map(|(at, _)| at).collect(),
        };
        if let Some(before) = tables.last_mut().filter(|_| first < end) {
            // A pointer into a table is a descriptor by chance.
            before.counts.append(&mut table.counts);
        }
        end = end.max(table.rows.last().map_or(0, |last| offset_from(*last, file.row_size())));
        tables.push(table);
    }
    Ok(tables)
}

/// Returns the offsets of the rows of an array.
fn row_places(first: u64, file: &LoadedFile<'_>, length: u64) -> impl Iterator<Item = u64> {
    (first..).step_by(file.row_size() as usize).take(length as usize)
}

/// Addresses of containers, each with the offset of the container, sorted.
struct LoadedImages(Vec<(Range<u64>, u64)>);

impl LoadedImages {
    fn new(file: &LoadedFile<'_>, containers: &[Range<u64>]) -> Self {
        let loaded = |range: &Range<u64>| {
            let address = file.address(range.start)?;
            Some((address..address.checked_add(size_of_range(range))?, range.start))
        };
        let mut images: Vec<_> = containers.iter().filter_map(loaded).collect();
        images.sort_by_cached_key(|(range, _)| range.start);
        LoadedImages(images)
    }

    /// Returns the container that has this address, or that ends there.
    fn at(&self, address: u64) -> Option<(&Range<u64>, u64)> {
        let after = self.0.partition_point(|(range, _)| range.start <= address);
        let mut before = self.0.get(..after)?.iter().rev().take(2);
        before.find(|(range, _)| address <= range.end).map(|(range, offset)| (range, *offset))
    }

    /// Returns the offsets of rows, with the offsets of their containers. A row is a pointer into a container, to its
    /// start or to the image in it, followed by a pointer to a later byte or the end.
    fn rows(&self, pointer: u64, pointers: &BTreeMap<u64, Pointer>) -> BTreeMap<u64, u64> {
        let row = |(place, start): (&u64, &Pointer)| {
            let end = pointers.get(&place.checked_add(pointer)?)?;
            let (range, container) = self.at(start.value)?;
            (start.value < end.value && end.value <= range.end).then_some((*place, container))
        };
        pointers.iter().filter_map(row).collect()
    }
}
