//! Where pointers in a host file lead, without loading or linking it.
//!
//! What stands at a pointer's place says little: in an object it is the linker's to fill in, and in a shared library or a
//! position-independent program the loader's, and some linkers leave zeros there until then. So the relocation for the
//! place comes first. Only where there is none, the bytes are the address, as in programs with a fixed one, in PE files,
//! whose base relocations only move it, and with `-z pack-relative-relocs`.

use std::collections::HashMap;
use std::ops::Range;

use object::read::{
    File, Object, ObjectSection, ObjectSegment, ObjectSymbol, ObjectSymbolTable, Relocation, RelocationTarget,
};
use object::{BinaryFormat, ObjectKind, RelocationKind, SymbolIndex};

use crate::bytes::View;

/// As many relocations are kept; a bound for hostile files, far above what real wrappers and tables have.
const MAX_RELOCATIONS: usize = 1 << 18;

/// What a pointer leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PointerTarget<'data> {
    /// A byte of the file.
    Offset(u64),
    /// A symbol that another file has to define.
    Symbol(&'data str),
    Nothing,
}

/// The pointers in some sections of a host file.
pub struct Pointers<'file, 'data> {
    file: &'file File<'data>,
    /// The host file, which may be a part of the whole file.
    view: View<'data>,
    /// What is loaded from where.
    segments: AddressMap,
    /// By the places of the pointers, as offsets in the host file.
    relocated: HashMap<u64, PointerTarget<'data>>,
}

impl<'file, 'data: 'file> Pointers<'file, 'data> {
    /// Those in `sections` of the host file in `view`.
    pub fn read<'a>(
        file: &'file File<'data>,
        view: View<'data>,
        sections: impl Iterator<Item = &'a object::Section<'data, 'file>>,
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
                for (at, relocation) in section.relocations().filter(|(at, _)| *at < size) {
                    pointers.add(offset + at, &relocation, |index| file.symbol_by_index(index).ok());
                }
            }
        }
        let loaded = AddressMap::new(loaded);
        // A hostile file has many sections with the same relocations.
        let limit = usize::try_from(view.size()).unwrap_or(usize::MAX);
        for (address, relocation) in file.dynamic_relocations().into_iter().flatten().take(limit) {
            if let Some(place) = loaded.offset(address) {
                pointers.add(place, &relocation, |index| file.dynamic_symbol_table()?.symbol_by_index(index).ok());
            }
        }
        pointers
    }

    /// What the pointer at this offset of the host file leads to.
    pub fn at(&self, place: u64) -> PointerTarget<'data> {
        match (self.relocated.get(&place), self.word(place)) {
            (Some(target), _) => target.clone(),
            // In an object nothing has an address.
            (None, Some(address)) if address > 0 && self.file.kind() != ObjectKind::Relocatable => {
                match self.loaded_at(address) {
                    PointerTarget::Nothing if self.file.format() == BinaryFormat::MachO => self.chained(address),
                    target => target,
                }
            }
            _ => PointerTarget::Nothing,
        }
    }

    /// Newer Mach-O files have the pointers of a page in a chain: the distance to the next in the upper half of each, and
    /// in 36 bits the address, or how far it is from the start of the file as it is loaded. The highest bit is set where
    /// another file has what is pointed to. Source: `dyld_chained_ptr_64_rebase` in Apple's mach-o/fixup-chains.h.
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

    /// The size of a pointer.
    pub fn size(&self) -> u64 {
        if self.file.is_64() { 8 } else { 4 }
    }

    /// The word of a pointer's size at this offset of the host file.
    pub fn word(&self, place: u64) -> Option<u64> {
        self.number(place, self.size())
    }

    /// The number of at most eight bytes at this offset, in the byte order of the host.
    pub fn number(&self, place: u64, size: u64) -> Option<u64> {
        let bytes = self.view.part("number", place, place, size).ok()?.data().iter();
        let append = |number: u64, &byte: &u8| number << 8 | u64::from(byte);
        Some(if self.file.is_little_endian() { bytes.rev().fold(0, append) } else { bytes.fold(0, append) })
    }

    fn add<S: ObjectSymbol<'data>>(
        &mut self,
        place: u64,
        relocation: &Relocation,
        symbol: impl FnOnce(SymbolIndex) -> Option<S>,
    ) {
        if self.relocated.len() == MAX_RELOCATIONS {
            return;
        }
        let stored = if relocation.has_implicit_addend() { self.word(place).unwrap_or_default() } else { 0 };
        let addend = stored.wrapping_add_signed(relocation.addend());
        let is_pointer = relocation.kind() == RelocationKind::Absolute;
        let target = match relocation.target() {
            // What the loader adds its base to: RELATIVE on every machine.
            RelocationTarget::Absolute => self.loaded_at(addend),
            RelocationTarget::Symbol(index) if is_pointer => match symbol(index) {
                Some(symbol) => self.symbol_target(&symbol, addend),
                None => PointerTarget::Nothing,
            },
            // Mach-O: what is stored is an address, as if the object had been loaded.
            RelocationTarget::Section(index) if is_pointer => match self.file.section_by_index(index) {
                Ok(section) => section_target(&section, addend.wrapping_sub(section.address())),
                Err(_) => PointerTarget::Nothing,
            },
            _ => return,
        };
        self.relocated.insert(place, target);
    }

    fn symbol_target(&self, symbol: &impl ObjectSymbol<'data>, addend: u64) -> PointerTarget<'data> {
        if symbol.is_undefined() || symbol.is_common() {
            return symbol.name().map_or(PointerTarget::Nothing, PointerTarget::Symbol);
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

    /// The byte that has this address once the file is loaded.
    fn loaded_at(&self, address: u64) -> PointerTarget<'data> {
        self.segments.offset(address).map_or(PointerTarget::Nothing, PointerTarget::Offset)
    }
}

/// Which addresses belong to which bytes of a file, in the order of the addresses.
struct AddressMap(Vec<(Range<u64>, u64)>);

impl AddressMap {
    /// Of addresses, each with the offset and size of the bytes that begin there.
    fn new(parts: Vec<(u64, (u64, u64))>) -> Self {
        let range = |(address, (offset, size)): (u64, (u64, u64))| (address..address.saturating_add(size), offset);
        let mut map: Vec<(Range<u64>, u64)> = parts.into_iter().map(range).collect();
        map.sort_by_key(|(range, _)| range.start);
        AddressMap(map)
    }

    /// The address of the first byte of the file.
    fn start(&self) -> Option<u64> {
        self.0.iter().find(|(range, offset)| *offset == 0 && !range.is_empty()).map(|(range, _)| range.start)
    }

    fn offset(&self, address: u64) -> Option<u64> {
        let after = self.0.partition_point(|(range, _)| range.start <= address);
        let (range, offset) = self.0.get(after.checked_sub(1)?)?;
        range.contains(&address).then(|| offset.checked_add(address - range.start)).flatten()
    }
}

/// What stands so far behind the start of a section.
fn section_target<'data>(section: &object::Section<'data, '_>, at: u64) -> PointerTarget<'data> {
    match section.file_range() {
        Some((offset, size)) if at < size => {
            offset.checked_add(at).map_or(PointerTarget::Nothing, PointerTarget::Offset)
        }
        _ => PointerTarget::Nothing,
    }
}
