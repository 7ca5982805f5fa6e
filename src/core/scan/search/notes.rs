//! Notes of `fatbin embed`, which name the sections that hold its records. Without the search through all bytes, only
//! these sections are searched. In a stripped program, nothing else leads to the images.

use std::ops::Range;

use object::Endianness;
use object::elf::FileHeader64;
use object::read::elf::NoteIterator;

use crate::base::bytes::{Extent, Resource, size_of_range};
use crate::base::elf_layout::is_big_endian;
use crate::format::embed_record::{NOTE_NAME, NOTE_SECTION, NOTE_TYPE, is_part_of};
use crate::scan::structure::Structure;

/// Alignment of names and descriptions of notes in bytes (gABI, Note Section), regardless of the section's alignment.
const ALIGNMENT: u64 = 4;

/// Maximum number of different names. An object has one, and few programs have objects with several.
const MAX_NAMES: usize = 16;

/// Ranges of the sections that notes name, in file order and without overlaps.
pub fn sections(structure: &Structure<'_>) -> Vec<Range<u64>> {
    let names = names(structure);
    let is_named = |name: &str| names.iter().any(|named| is_part_of(name, named));
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for range in structure.sections_named(is_named) {
        match ranges.last_mut() {
            // Only a damaged file has such sections.
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => ranges.push(range),
        }
    }
    ranges
}

/// Returns the names in the notes of a file. Linkers merge the note sections of all objects, so a section has a note
/// for each object.
fn names<'data>(structure: &Structure<'data>) -> Vec<&'data str> {
    let Some(host) = structure.hosts.first() else { return Vec::new() };
    let Some(range) = structure.sections_named(|name| name == NOTE_SECTION).next() else { return Vec::new() };
    let Some(distance) = range.start.checked_sub(host.start()) else { return Vec::new() };
    let Ok(section) = host.record("note", Extent { offset: distance, size: size_of_range(&range) }) else {
        return Vec::new();
    };
    let order = if is_big_endian(host.data()) { Endianness::Big } else { Endianness::Little };
    // Notes are the same in both widths.
    let notes = NoteIterator::<FileHeader64<Endianness>>::new(order, ALIGNMENT, section.data());
    let mut notes = notes.expect("a valid alignment");
    let mut names = Vec::new();
    while let Ok(Some(note)) = notes.next() {
        if section.charge("note", Resource::Work, 1).is_err() {
            break;
        }
        if note.name_bytes() != NOTE_NAME || note.n_type(order).0 != NOTE_TYPE {
            continue;
        }
        let name = section.derived(note.desc()).c_string("note description", 0).unwrap_or_default();
        if !name.is_empty() && !names.contains(&name) && names.len() < MAX_NAMES {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use object::write::Object;
    use object::{Architecture, BinaryFormat, SectionKind};

    use super::*;
    use crate::base::bytes::View;
    use crate::format::embed_record::record;
    use crate::scan::{Options, scan};

    fn note(owner: &[u8], kind: u32, section: &[u8], endianness: Endianness) -> Vec<u8> {
        let word = |value: u32| match endianness {
            Endianness::Little => value.to_le_bytes(),
            Endianness::Big => value.to_be_bytes(),
        };
        let mut note = [word(owner.len() as u32), word(section.len() as u32), word(kind)].concat();
        for bytes in [owner, section] {
            note.extend(bytes);
            note.resize(note.len().next_multiple_of(4), 0);
        }
        note
    }

    /// Returns the symbols of the images that are found in an object with these notes, without a search through all
    /// bytes. The object has no symbols.
    fn found(notes: &[u8], sections: &[&str], endianness: Endianness) -> Vec<String> {
        let architecture = if endianness == Endianness::Big { Architecture::S390x } else { Architecture::X86_64 };
        let mut object = Object::new(BinaryFormat::Elf, architecture, endianness);
        let image = std::fs::read(format!("{}/../../fixtures/answer-sm_90.cubin", env!("CARGO_MANIFEST_DIR"))).unwrap();
        for name in sections {
            let section = object.add_section(Vec::new(), name.as_bytes().to_vec(), SectionKind::ReadOnlyData);
            let bytes = [&b"text"[..], &record(name, image.len() as u64, 64), &image, &[0]].concat();
            object.append_section_data(section, &bytes, 64);
        }
        let section = object.add_section(Vec::new(), NOTE_SECTION.as_bytes().to_vec(), SectionKind::Note);
        object.append_section_data(section, notes, 4);
        let bytes = object.write().unwrap();
        let options = Options { structure_only: true, ..Options::default() };
        let file = scan(&View::new(&bytes), options).unwrap();
        assert_eq!(file.errors, []);
        file.device_images().map(|image| image.symbol.clone().unwrap_or_default()).collect()
    }

    #[test]
    fn notes_of_either_byte_order_lead_to_the_images() {
        for endianness in [Endianness::Little, Endianness::Big] {
            let own = |section: &str| note(NOTE_NAME, NOTE_TYPE, &[section.as_bytes(), &[0]].concat(), endianness);
            let sections = [".rodata", ".rodata.x", "files", "other"];
            assert_eq!(found(&own(".rodata"), &sections, endianness), [".rodata", ".rodata.x"]);
            let notes =
                [note(b"GNU\0", 3, b"1234567", endianness), own("files"), own("files"), own(".rodata")].concat();
            assert_eq!(found(&notes, &sections, endianness), [".rodata", ".rodata.x", "files"]);
        }
    }

    #[test]
    fn other_and_damaged_notes_lead_to_nothing() {
        let little = Endianness::Little;
        let own = note(NOTE_NAME, NOTE_TYPE, b".rodata\0", little);
        for notes in [
            vec![],
            own[..own.len() - 5].to_vec(),
            note(b"other\0\0", NOTE_TYPE, b".rodata\0", little),
            note(NOTE_NAME, 3, b".rodata\0", little),
            note(NOTE_NAME, NOTE_TYPE, b".rodata", little),
            note(NOTE_NAME, NOTE_TYPE, b"\0", little),
            note(NOTE_NAME, NOTE_TYPE, b".rodata\0", Endianness::Big),
        ] {
            assert_eq!(found(&notes, &[".rodata"], little), [""; 0], "{notes:?}");
        }
    }
}
