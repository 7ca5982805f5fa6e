//! Tables of device images in linked ELF files: a program registers its OpenMP images by an array, and the number of
//! its rows.
//!
//! A removed image must leave the array, or the runtime reads zeros. The remaining rows move to the front, the number
//! becomes smaller, and all addresses stay. Each pointer is stored at its place, as the addend of a relocation for the
//! place, or both; relocations are the loader's and stay where they are, so that only their addends change.
//!
//! Layout: `__tgt_device_image` and `__tgt_bin_desc` of llvm/lib/Frontend/Offloading/OffloadWrapper.cpp (LLVM 10 to
//! 22). A row has the bounds of an image and of the host's entries; a descriptor has a 32-bit number of rows and, after
//! four bytes of padding, the address of the array.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use object::elf::{DT_RELA, DT_RELASZ, FileHeader64, PF_X, PT_DYNAMIC, PT_LOAD, ProgramHeader64, Rela64};
use object::endian::{Endian, Endianness};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, Rela};

use super::patch::Patch;
use super::{EditError, Result};
use crate::base::bytes::{Extent, Resource, View, size_of_range};
use crate::base::content::Content;
use crate::base::elf_layout::ELF64;
use crate::base::range::{offset_from, range_at};

/// Size of a row and of a pointer, in bytes.
const ROW: u64 = 32;
const POINTER: u64 = 8;

/// Distance of the number of rows before the address of the array.
const COUNT_BEFORE: u64 = 8;

/// Size of a relocation, in bytes.
const RELOCATION_SIZE: u64 = ELF64.rela_size;

/// Number of bytes of data that are searched for pointers in a step of work.
const BYTES_PER_STEP: u64 = 64;

/// Returns the patches that remove images from the tables of a linked ELF file. `containers` are the ranges of all
/// containers, and `removed` the offsets of the containers to remove.
pub fn without_images<'data>(
    view: View<'data>,
    containers: &[Range<u64>],
    removed: &[u64],
) -> Result<Vec<Patch<'data>>> {
    let Some(file) = LoadedFile::read(view, containers)? else { return Ok(Vec::new()) };
    let images = LoadedImages::new(&file, containers);
    let pointers = file.pointers_to(|value| images.at(value).is_some())?;
    let rows = images.rows(&pointers);
    let mut patches = Vec::new();
    for array in arrays(&rows) {
        let is_kept = |place: &u64| rows.get(place).is_some_and(|container| !removed.contains(container));
        let kept: Vec<u64> = array.iter().copied().filter(is_kept).collect();
        if kept.len() < array.len() {
            file.shorten(&array, &kept, &mut patches)?;
        }
    }
    Ok(patches)
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
    fn rows(&self, pointers: &HashMap<u64, Pointer>) -> BTreeMap<u64, u64> {
        let row = |(place, start): (&u64, &Pointer)| {
            let end = pointers.get(&place.checked_add(POINTER)?)?;
            let (range, container) = self.at(start.value)?;
            (start.value < end.value && end.value <= range.end).then_some((*place, container))
        };
        pointers.iter().filter_map(row).collect()
    }
}

/// Groups rows that follow each other.
fn arrays(rows: &BTreeMap<u64, u64>) -> Vec<Vec<u64>> {
    let mut arrays: Vec<Vec<u64>> = Vec::new();
    for &place in rows.keys() {
        match arrays.last_mut() {
            Some(array) if array.last().and_then(|last| last.checked_add(ROW)) == Some(place) => array.push(place),
            _ => arrays.push(vec![place]),
        }
    }
    arrays
}

/// A pointer in the file.
#[derive(Debug, Clone, Copy)]
struct Pointer {
    /// The address that it has in the loaded file, before it is moved.
    value: u64,
    /// Offset of the addend in its relocation, if it has one.
    addend: Option<u64>,
}

/// A file as the loader sees it.
struct LoadedFile<'data> {
    view: View<'data>,
    endian: Endianness,
    /// Offsets and addresses of loaded bytes.
    segments: Vec<(Range<u64>, u64)>,
    /// Parts of loaded data that hold no containers.
    data: Vec<Range<u64>>,
    /// Range of the relocations.
    relocations: Range<u64>,
}

impl<'data> LoadedFile<'data> {
    /// Reads the headers; `None` for a file that is not a linked 64-bit ELF file.
    fn read(view: View<'data>, containers: &[Range<u64>]) -> Result<Option<Self>> {
        let Ok(header) = FileHeader64::<Endianness>::parse(view.data()) else { return Ok(None) };
        let Ok(endian) = header.endian() else { return Ok(None) };
        let programs = header.program_headers(endian, view.data()).unwrap_or_default();
        let is_loaded = |program: &&ProgramHeader64<Endianness>| program.p_type(endian) == PT_LOAD;
        let loaded: Vec<_> = programs.iter().filter(is_loaded).collect();
        if loaded.is_empty() {
            return Ok(None);
        }
        let range = |program: &ProgramHeader64<Endianness>| {
            let (offset, size) = program.file_range(endian);
            range_at(offset, size)
        };
        let segments: Vec<_> = loaded.iter().map(|program| (range(program), program.p_vaddr(endian))).collect();
        let is_code = |program: &ProgramHeader64<Endianness>| program.p_flags(endian).0 & PF_X.0 != 0;
        let mut file = LoadedFile { view, endian, data: Vec::new(), segments, relocations: 0..0 };
        for program in programs.iter().filter(|program| program.p_type(endian) == PT_DYNAMIC) {
            let entries = program.dynamic(endian, view.data()).ok().flatten().unwrap_or_default();
            let entry = |tag| entries.iter().find(|entry| entry.d_tag(endian) == tag).map(|entry| entry.d_val(endian));
            if let (Some(at), Some(size)) = (entry(DT_RELA).and_then(|at| file.offset(at)), entry(DT_RELASZ)) {
                file.relocations = range_at(at, size.wrapping_sub(size % RELOCATION_SIZE));
            }
        }
        // The addends of relocations are not pointers.
        let mut others = containers.to_vec();
        others.push(file.relocations.clone());
        others.sort_by_cached_key(|range| range.start);
        file.data = loaded.iter().filter(|it| !is_code(it)).flat_map(|it| outside(range(it), &others)).collect();
        Ok(Some(file))
    }

    /// Returns the pointers to addresses that `is_wanted` accepts, by their offsets in the file.
    fn pointers_to(&self, is_wanted: impl Fn(u64) -> bool) -> Result<HashMap<u64, Pointer>> {
        let mut found = HashMap::new();
        for range in &self.data {
            self.view.charge("pointer", Resource::Work, size_of_range(range) / BYTES_PER_STEP)?;
            let start = range.start.next_multiple_of(POINTER);
            let part = self.view.part("segment", Extent { offset: start, size: size_of_range(&(start..range.end)) })?;
            let words = part.data().as_chunks::<{ POINTER as usize }>().0;
            for (place, &word) in (start..range.end).step_by(POINTER as usize).zip(words) {
                let value = self.endian.read_u64(word);
                if is_wanted(value) {
                    found.insert(place, Pointer { value, addend: None });
                }
            }
        }
        let relocated = self.relocations()?.filter(|(_, pointer)| is_wanted(pointer.value));
        found.extend(relocated);
        Ok(found)
    }

    /// Returns the relocated pointers with their offsets in the file.
    fn relocations(&self) -> Result<impl Iterator<Item = (u64, Pointer)>> {
        let start = self.relocations.start;
        let table = self.view.part("relocations", Extent { offset: start, size: size_of_range(&self.relocations) })?;
        let relocations: &[Rela64<Endianness>] = object::slice_from_all_bytes(table.data()).unwrap_or_default();
        self.view.charge("relocation", Resource::Work, relocations.len() as u64)?;
        let places = self.relocations.clone().step_by(RELOCATION_SIZE as usize);
        Ok(places.zip(relocations).filter_map(move |(place, relocation)| {
            let value = relocation.r_addend(self.endian).cast_unsigned();
            let at = offset_from(place, ELF64.r_addend);
            Some((self.offset(relocation.r_offset(self.endian))?, Pointer { value, addend: Some(at) }))
        }))
    }

    /// Moves the rows in `kept` to the front of an array, and states their number.
    fn shorten(&self, array: &[u64], kept: &[u64], patches: &mut Vec<Patch<'data>>) -> Result<()> {
        let Some(&first) = array.first() else { return Ok(()) };
        let unknown = EditError::UnknownTable { offset: first };
        let address = self.address(first).ok_or(unknown)?;
        let descriptors = self.pointers_to(|value| value == address)?;
        let length = array.len() as u64;
        let count_at = |place: &u64| {
            let at = place.checked_sub(COUNT_BEFORE)?;
            (self.number(at)? == length).then_some(at)
        };
        let counts: Vec<u64> = descriptors.keys().filter_map(count_at).collect();
        let [count] = counts[..] else { return Err(EditError::UnknownTable { offset: first }) };
        let places = self.row_pointers(array)?;
        for (&from, &to) in kept.iter().zip(array).filter(|(from, to)| from != to) {
            let [from, to] = [from, to].map(|row| range_at(row, ROW).step_by(POINTER as usize));
            for (from, to) in from.zip(to) {
                self.copy_pointer(from, to, &places, patches)?;
            }
        }
        let number = self.endian.write_u32(u32::try_from(kept.len()).unwrap_or(u32::MAX));
        patches.extend(Patch::in_place(range_at(count, 4), Content::from(number.to_vec())));
        Ok(())
    }

    /// Returns the offsets of the addends of the relocations for rows, by the places of the pointers.
    fn row_pointers(&self, array: &[u64]) -> Result<HashMap<u64, u64>> {
        let (Some(&first), Some(&last)) = (array.first(), array.last()) else { return Ok(HashMap::new()) };
        let rows = first..offset_from(last, ROW);
        let own = self.relocations()?.filter(|(place, _)| rows.contains(place));
        Ok(own.filter_map(|(place, pointer)| Some((place, pointer.addend?))).collect())
    }

    /// Copies a pointer: its stored bytes, and the addend of its relocation.
    fn copy_pointer(
        &self,
        from: u64,
        to: u64,
        addends: &HashMap<u64, u64>,
        patches: &mut Vec<Patch<'data>>,
    ) -> Result<()> {
        let mut copy = |from, to: u64| -> Result<()> {
            let bytes = self.view.record("pointer", Extent { offset: from, size: POINTER })?.data();
            patches.extend(Patch::in_place(range_at(to, POINTER), Content::from(bytes)));
            Ok(())
        };
        copy(from, to)?;
        match (addends.get(&from), addends.get(&to)) {
            (Some(&from), Some(&to)) => copy(from, to),
            (None, None) => Ok(()),
            _ => Err(EditError::UnknownTable { offset: to }),
        }
    }

    fn number(&self, at: u64) -> Option<u64> {
        let bytes = self.view.record("number of images", Extent { offset: at, size: 4 }).ok()?.data();
        Some(u64::from(self.endian.read_u32(bytes.try_into().ok()?)))
    }

    fn address(&self, offset: u64) -> Option<u64> {
        let (range, address) = self.segments.iter().find(|(range, _)| range.contains(&offset))?;
        address.checked_add(offset.checked_sub(range.start)?)
    }

    fn offset(&self, address: u64) -> Option<u64> {
        self.segments.iter().find_map(|(range, start)| {
            let offset = range.start.checked_add(address.checked_sub(*start)?)?;
            range.contains(&offset).then_some(offset)
        })
    }
}

/// Returns the parts of a range that are outside of the others. `others` is sorted.
fn outside(range: Range<u64>, others: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut parts = Vec::new();
    let mut start = range.start;
    for other in others {
        parts.push(start..other.start.min(range.end));
        start = start.max(other.end);
    }
    parts.push(start..range.end);
    parts.retain(|part| part.start < part.end);
    parts
}
