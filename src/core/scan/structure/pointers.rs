//! Destinations of pointers in a host file, without loading or linking it.
//!
//! The stored bytes of a pointer are often incomplete. In an object, the linker fills them in. In a shared library or a
//! position-independent program, the loader does, and some linkers leave zeros until then. The relocation at that
//! offset therefore takes precedence. The bytes are the address only if there is no relocation: in programs with a
//! fixed address, in PE files, whose base relocations only move it, and with `-z pack-relative-relocs`. Android's packed
//! relocations are read from their section.

use std::collections::HashMap;
use std::ops::Range;

use object::read::{
    File, Object, ObjectSection, ObjectSegment, ObjectSymbol, ObjectSymbolTable, Relocation, RelocationTarget,
};
use object::{BinaryFormat, ObjectKind, RelocationKind, SectionFlags, SymbolIndex};

use super::android_relocations::{self, PackedKind, PackedRelocations};
use crate::base::bytes::{Extent, ObjectBytes, Resource, View, text_work};
use crate::base::error::Malformed;
use crate::base::range::range_at;

/// A host file. Reads are charged to the budget.
pub type HostFile<'data> = File<'data, ObjectBytes<'data>>;

/// Section of a host file.
pub type HostSection<'data, 'file> = object::Section<'data, 'file, ObjectBytes<'data>>;

/// Destination of a pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PointerTarget<'data> {
    /// Offset in the file.
    Offset(u64),
    /// Symbol that another file must define.
    Symbol(&'data str),
    /// Null or invalid pointer.
    Nothing,
}

/// The pointers in some sections of a host file.
pub struct Pointers<'file, 'data> {
    file: &'file HostFile<'data>,
    /// The host file, which may be a part of the whole file.
    view: View<'data>,
    /// Offsets of the loaded bytes by address.
    segments: AddressMap,
    /// Destinations of relocated pointers, by the offsets of the pointers in the host file.
    relocated: HashMap<u64, PointerTarget<'data>>,
}

impl<'file, 'data: 'file> Pointers<'file, 'data> {
    /// Reads the pointers in `sections` of the host file in `view`.
    pub fn read<'a>(
        file: &'file HostFile<'data>,
        view: View<'data>,
        sections: impl Iterator<Item = &'a HostSection<'data, 'file>>,
    ) -> Self
    where
        'data: 'a,
        'file: 'a,
    {
        let segments = file.segments().map(|it| (it.address(), it.file_range())).collect();
        let mut pointers = Pointers { file, view, segments: AddressMap::new(segments), relocated: HashMap::new() };
        let mut loaded = Vec::new();
        for section in sections {
            let Some((offset, size)) = section.file_range() else { continue };
            loaded.push((section.address(), (offset, size)));
            if file.kind() == ObjectKind::Relocatable {
                for (at, relocation) in section.relocations() {
                    // A hostile file can have many sections with the same relocations.
                    if pointers.charge().is_err() {
                        break;
                    }
                    if at >= size {
                        continue;
                    }
                    if let Some(place) = offset.checked_add(at) {
                        pointers.add(place, &relocation, |index| file.symbol_by_index(index).ok());
                    }
                }
            }
        }
        let loaded = AddressMap::new(loaded);
        pointers.add_packed(&loaded);
        for (address, relocation) in file.dynamic_relocations().into_iter().flatten() {
            if pointers.charge().is_err() {
                break;
            }
            if let Some(place) = loaded.offset(address) {
                pointers.add(place, &relocation, |index| file.dynamic_symbol_table()?.symbol_by_index(index).ok());
            }
        }
        pointers
    }

    /// Offsets of the relocated pointers, and their destinations.
    pub fn relocated(&self) -> impl Iterator<Item = (u64, &PointerTarget<'data>)> {
        self.relocated.iter().map(|(place, target)| (*place, target))
    }

    /// Destination of the pointer at this offset of the host file.
    pub fn at(&self, place: u64) -> PointerTarget<'data> {
        match (self.relocated.get(&place), self.word(place)) {
            (Some(target), _) => target.clone(),
            // Nothing in an object has an address.
            (None, Some(address)) if address > 0 && self.file.kind() != ObjectKind::Relocatable => {
                match self.loaded_at(address) {
                    PointerTarget::Nothing if self.file.format() == BinaryFormat::MachO => self.chained(address),
                    target => target,
                }
            }
            _ => PointerTarget::Nothing,
        }
    }

    /// Returns the destination of a chained pointer. Newer Mach-O files link the pointers of a page: the upper half of
    /// each pointer holds the distance to the next. 36 bits hold the address, or its distance from the start of the
    /// loaded file. The highest bit is set if the destination is in another file. Source: `dyld_chained_ptr_64_rebase`
    /// in Apple's mach-o/fixup-chains.h.
    fn chained(&self, pointer: u64) -> PointerTarget<'data> {
        let address = pointer & ((1 << 36) - 1);
        if pointer >> 63 != 0 {
            return PointerTarget::Nothing;
        }
        match self.loaded_at(address) {
            PointerTarget::Nothing => self
                .segments
                .start()
                .map_or(PointerTarget::Nothing, |start| self.loaded_at(start.wrapping_add(address))),
            target => target,
        }
    }

    /// Size of a pointer in bytes.
    pub fn size(&self) -> u64 {
        if self.file.is_64() { 8 } else { 4 }
    }

    /// Pointer-sized word at this offset of the host file.
    pub fn word(&self, place: u64) -> Option<u64> {
        self.number(place, self.size())
    }

    /// Number of `size` bytes, at most eight, at this offset, in the byte order of the host.
    pub fn number(&self, place: u64, size: u64) -> Option<u64> {
        let bytes = self.view.record("number", Extent { offset: place, size }).ok()?.data().iter();
        let append = |number: u64, &byte: &u8| number << 8 | u64::from(byte);
        Some(if self.file.is_little_endian() { bytes.rev().fold(0, append) } else { bytes.fold(0, append) })
    }

    /// Charges a relocation.
    fn charge(&self) -> Result<(), Malformed> {
        self.view.charge("relocation", Resource::Work, 1)
    }

    fn add<S: ObjectSymbol<'data>>(
        &mut self,
        place: u64,
        relocation: &Relocation,
        symbol: impl FnOnce(SymbolIndex) -> Option<S>,
    ) {
        let stored = if relocation.has_implicit_addend() { self.word(place).unwrap_or_default() } else { 0 };
        let addend = stored.wrapping_add_signed(relocation.addend());
        let is_pointer = relocation.kind() == RelocationKind::Absolute;
        let target = match relocation.target() {
            // The loader adds its base: RELATIVE on every machine.
            RelocationTarget::Absolute => self.loaded_at(addend),
            RelocationTarget::Symbol(index) if is_pointer => match symbol(index) {
                Some(symbol) => self.symbol_target(&symbol, addend),
                None => PointerTarget::Nothing,
            },
            // Mach-O: the stored value is an address, as if the object had been loaded.
            RelocationTarget::Section(index) if is_pointer => match self.file.section_by_index(index) {
                Ok(section) => section_target(&section, addend.wrapping_sub(section.address())),
                Err(_) => PointerTarget::Nothing,
            },
            _ => return,
        };
        self.insert(place, target);
    }

    /// Adds the relocations in Android's packed form.
    fn add_packed(&mut self, loaded: &AddressMap) {
        let is_packed = |section: &HostSection<'data, 'file>| match section.flags() {
            SectionFlags::Elf { sh_type, .. } => android_relocations::SECTION_TYPES.contains(&sh_type),
            _ => false,
        };
        for section in self.file.sections().filter(is_packed) {
            let Some((offset, size)) = section.file_range() else { continue };
            let Ok(bytes) = self.view.part("packed relocations", Extent { offset, size }) else { continue };
            for relocation in PackedRelocations::new(bytes).into_iter().flatten() {
                if self.charge().is_err() {
                    return;
                }
                let Some(place) = loaded.offset(relocation.address) else { continue };
                let stored = || self.word(place).unwrap_or_default();
                let addend = relocation.addend.map_or_else(stored, i64::cast_unsigned);
                let target = match relocation.kind(self.file.architecture(), self.file.is_64()) {
                    Some(PackedKind::Relative) => self.loaded_at(addend),
                    Some(PackedKind::Symbol(index)) => {
                        let table = self.file.dynamic_symbol_table();
                        let symbol = table.and_then(|table| table.symbol_by_index(SymbolIndex(index as usize)).ok());
                        symbol.map_or(PointerTarget::Nothing, |symbol| self.symbol_target(&symbol, addend))
                    }
                    None => continue,
                };
                self.insert(place, target);
            }
        }
    }

    fn insert(&mut self, place: u64, target: PointerTarget<'data>) {
        let size = size_of::<(u64, PointerTarget<'_>)>() as u64;
        if self.view.charge("relocation", Resource::Memory, size).is_ok() {
            self.relocated.insert(place, target);
        }
    }

    fn symbol_target(&self, symbol: &impl ObjectSymbol<'data>, addend: u64) -> PointerTarget<'data> {
        if symbol.is_undefined() || symbol.is_common() {
            let name = symbol.name().ok();
            let name = name.filter(|name| self.view.charge("symbol", Resource::Work, text_work(name.len())).is_ok());
            return name.map_or(PointerTarget::Nothing, PointerTarget::Symbol);
        }
        if self.file.kind() != ObjectKind::Relocatable {
            return self.loaded_at(symbol.address().wrapping_add(addend));
        }
        match symbol.section_index().map(|index| self.file.section_by_index(index)) {
            Some(Ok(section)) => {
                let offset = symbol.address().wrapping_sub(section.address());
                section_target(&section, offset.wrapping_add(addend))
            }
            _ => PointerTarget::Nothing,
        }
    }

    /// Returns the byte that has this address when the file is loaded.
    fn loaded_at(&self, address: u64) -> PointerTarget<'data> {
        self.segments.offset(address).map_or(PointerTarget::Nothing, PointerTarget::Offset)
    }
}

/// Ranges of addresses with the offsets of their bytes in the file, sorted by address.
struct AddressMap(Vec<(Range<u64>, u64)>);

impl AddressMap {
    /// Creates a map from addresses, each with the offset and size of the bytes at it.
    fn new(parts: Vec<(u64, (u64, u64))>) -> Self {
        let range = |(address, (offset, size)): (u64, (u64, u64))| (range_at(address, size), offset);
        let mut map: Vec<(Range<u64>, u64)> = parts.into_iter().map(range).collect();
        map.sort_by_cached_key(|(range, _)| range.start);
        AddressMap(map)
    }

    /// Address of the first byte of the file.
    fn start(&self) -> Option<u64> {
        self.0.iter().find(|(range, offset)| *offset == 0 && !range.is_empty()).map(|(range, _)| range.start)
    }

    fn offset(&self, address: u64) -> Option<u64> {
        let after = self.0.partition_point(|(range, _)| range.start <= address);
        let (range, offset) = self.0.get(after.checked_sub(1)?)?;
        if range.contains(&address) { offset.checked_add(address.checked_sub(range.start)?) } else { None }
    }
}

/// Returns the byte at this distance from the start of a section.
fn section_target<'data>(section: &HostSection<'data, '_>, at: u64) -> PointerTarget<'data> {
    match section.file_range() {
        Some((offset, size)) if at < size => {
            offset.checked_add(at).map_or(PointerTarget::Nothing, PointerTarget::Offset)
        }
        _ => PointerTarget::Nothing,
    }
}
