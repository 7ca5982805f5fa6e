//! Notes in a device image that name its producer: the section `.note.openmp`.
//!
//! clang-offload-wrapper of LLVM 13 to 15 could add them, with an option that its driver never used; it ran
//! llvm-objcopy on the image. Here the image's bytes keep their offsets: the note, a longer table of section names and
//! the section headers are appended, and only the file header changes.
//!
//! Three notes of name `LLVMOMPOFFLOAD`: type 1 the version of this scheme, `1.0`; type 2 the producer; type 3 the
//! producer's version; texts without NUL. Source: images wrapped by clang-offload-wrapper 14.0.6.

use object::elf::{self, FileHeader64, SectionHeader64};
use object::endian::{Endianness, U32, U64};
use object::pod::bytes_of;
use object::read::elf::{FileHeader, SectionHeader};

use crate::base::bytes::View;
use crate::base::content::Content;
use crate::base::elf_layout::ELF64;
use crate::base::error::{Cause, Malformed};
use crate::base::range::Cursor;

const SECTION_NAME: &[u8] = b".note.openmp\0";
const NOTE_NAME: &[u8] = b"LLVMOMPOFFLOAD\0";
const VERSION: &str = "1.0";

/// Returns the image with notes of this producer; an error if it is not a 64-bit ELF file with a section table.
pub fn add<'data>(image: View<'data>, producer: &str, version: &str) -> Result<Content<'data>, Malformed> {
    let fail = |error: object::Error| image.malformed("ELF header", 0, Cause::object_file(error));
    let header = FileHeader64::<Endianness>::parse(image.data()).map_err(fail)?;
    let endian = header.endian().map_err(fail)?;
    let names_index = header.shstrndx(endian, image.data()).map_err(fail)? as usize;
    let mut sections = header.section_headers(endian, image.data()).map_err(fail)?.to_vec();
    let no_names = || image.malformed("ELF section name table", ELF64.e_shstrndx, Cause::Unterminated);
    let names_section = sections.get_mut(names_index).ok_or_else(no_names)?;
    let old_names = names_section.data(endian, image.data()).map_err(fail)?;

    let notes = notes(endian, &[(1, VERSION), (2, producer), (3, version)]);
    let names = [old_names, SECTION_NAME].concat();
    let mut places = Cursor::at(image.size().next_multiple_of(4));
    let notes_place = places.take(notes.len() as u64);
    let names_place = places.take(names.len() as u64);
    let sections_offset = places.end().next_multiple_of(8);

    names_section.sh_offset = U64::new(endian, names_place.start);
    names_section.sh_size = U64::new(endian, names.len() as u64);
    sections.push(SectionHeader64 {
        sh_name: U32::new(endian, old_names.len() as u32),
        sh_type: U32::new(endian, elf::SHT_NOTE),
        sh_flags: U64::new(endian, elf::SectionFlags(0)),
        sh_addr: U64::new(endian, 0),
        sh_offset: U64::new(endian, notes_place.start),
        sh_size: U64::new(endian, notes.len() as u64),
        sh_link: U32::new(endian, 0),
        sh_info: U32::new(endian, 0),
        sh_addralign: U64::new(endian, 1),
        sh_entsize: U64::new(endian, 0),
    });
    let mut header = *header;
    header.e_shoff = U64::new(endian, sections_offset);
    let count = u16::try_from(sections.len()).ok().filter(|&count| count < elf::SHN_LORESERVE).ok_or_else(no_names)?;
    header.e_shnum = object::U16::new(endian, count);

    let mut content = Content::from(bytes_of(&header).to_vec());
    content.push(image.from(size_of_val(&header) as u64).data());
    content.align(4);
    content.push(notes);
    content.push(names);
    content.align(8);
    content.push(sections.iter().flat_map(|section| bytes_of(section).to_vec()).collect::<Vec<u8>>());
    Ok(content)
}

/// Returns the notes of these types and texts.
fn notes(endian: Endianness, texts: &[(u32, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &(kind, text) in texts {
        for word in [NOTE_NAME.len() as u32, text.len() as u32, kind] {
            bytes.extend(bytes_of(&U32::<Endianness, u32>::new(endian, word)));
        }
        for part in [NOTE_NAME, text.as_bytes()] {
            bytes.extend(part);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::read::{Object, ObjectSection};

    fn fixture() -> Vec<u8> {
        std::fs::read(format!("{}/../../fixtures/answer-gfx90a.hsaco", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    #[test]
    fn adds_the_notes_of_the_tool_and_changes_nothing_else() {
        let image = fixture();
        let with = add(View::new(&image), "LLVM", "14.0.6").unwrap().to_vec();
        let before = object::File::parse(&*image).unwrap();
        let after = object::File::parse(&*with).unwrap();
        let note = after.section_by_name(".note.openmp").unwrap();
        let expected = [
            b"\x0f\0\0\0\x03\0\0\0\x01\0\0\0LLVMOMPOFFLOAD\0\x001.0\0".as_slice(),
            b"\x0f\0\0\0\x04\0\0\0\x02\0\0\0LLVMOMPOFFLOAD\0\0LLVM",
            b"\x0f\0\0\0\x06\0\0\0\x03\0\0\0LLVMOMPOFFLOAD\0\x0014.0.6\0\0",
        ]
        .concat();
        assert_eq!(note.data().unwrap(), expected);
        for section in before.sections() {
            let name = section.name().unwrap();
            let same = after.section_by_name(name).unwrap();
            if name != ".shstrtab" {
                assert_eq!(same.data().unwrap(), section.data().unwrap(), "{name}");
            }
        }
        assert_eq!(after.sections().count(), before.sections().count() + 1);
        crate::format::check_elf(View::new(&with)).unwrap();
    }

    #[test]
    fn rejects_every_truncated_image() {
        let image = fixture();
        for end in 0..image.len() {
            assert!(add(View::new(&image[..end]), "LLVM", "14").is_err());
        }
    }
}
