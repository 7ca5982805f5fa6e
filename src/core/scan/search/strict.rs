//! The offload binaries of a file as LLVM's own tools find them, for fatbin's replacements of these tools.
//!
//! Binaries are read only from their sections, back to back. Images are not searched for containers. Any invalid byte
//! is an error for the whole file, where the scanner would continue. Source: files that llvm-offload-binary 22.1.8
//! accepts and rejects; several entries and compression, llvm-project pull requests 169425 and 222774.

use object::SectionFlags;
use object::read::{File, FileKind, Object, ObjectSection};

use crate::base::bytes::{Extent, ObjectBytes, View};
use crate::base::error::{Cause, Malformed};
use crate::format::offload_binary::{ALIGNMENT, MAGIC, OffloadBinary, OffloadBinaryContents, SECTION_TYPE, Version};
use crate::scan::structure::compressed_section;

/// Prefix of the names of COFF sections with offload binaries. ELF sections are recognized by their type.
const COFF_SECTION: &[u8] = b".llvm.offloading";

/// Returns all offload binaries in `view`. They are the whole file, or are stored in sections of an object, program or
/// library. Any other file has none. Versions after `newest` are an error.
pub fn offload_binaries(view: View<'_>, newest: Version) -> Result<Vec<OffloadBinary<'_>>, Malformed> {
    offload_binaries_in(view, newest, &|_| true)
}

/// Returns the binaries like [`offload_binaries`], from the sections whose names `is_read` selects.
pub fn offload_binaries_in<'data>(
    view: View<'data>,
    newest: Version,
    is_read: &dyn Fn(&[u8]) -> bool,
) -> Result<Vec<OffloadBinary<'data>>, Malformed> {
    let mut binaries = Vec::new();
    if view.starts_with(&MAGIC) {
        read_all(view, newest, &mut binaries)?;
        return Ok(binaries);
    }
    let kind = FileKind::parse(view.data());
    if !matches!(kind, Ok(FileKind::Elf32 | FileKind::Elf64 | FileKind::Coff | FileKind::CoffBig)) {
        return Ok(binaries);
    }
    let invalid = |error: object::Error| view.malformed("object file", 0, Cause::object_file(error));
    for section in File::parse(ObjectBytes(view)).map_err(invalid)?.sections() {
        let has_binaries = match section.flags() {
            SectionFlags::Elf { sh_type, .. } => sh_type == SECTION_TYPE,
            _ => section.name_bytes().map_err(invalid)?.starts_with(COFF_SECTION),
        };
        if has_binaries
            && is_read(section.name_bytes().map_err(invalid)?)
            && let Some((offset, size)) = section.file_range()
        {
            let bytes = view.part("section", Extent { offset, size })?;
            if let Some(error) = compressed_section(section.flags(), bytes) {
                return Err(error);
            }
            read_all(bytes, newest, &mut binaries)?;
        }
    }
    Ok(binaries)
}

fn read_all<'data>(
    mut rest: View<'data>,
    newest: Version,
    binaries: &mut Vec<OffloadBinary<'data>>,
) -> Result<(), Malformed> {
    while rest.size() > 0 {
        let binary = OffloadBinary::read(rest)?;
        if binary.version > newest {
            let supported = if newest == Version::One { "1 in LLVM 22" } else { "1 and 2 in LLVM 23" };
            let cause = Cause::UnsupportedVersion { value: binary.version.number().into(), supported };
            return Err(rest.malformed("offload binary version", 4, cause));
        }
        // A compressed binary states its size without the padding after it.
        let size = match binary.contents {
            OffloadBinaryContents::Entries(_) => binary.view.size(),
            OffloadBinaryContents::Compressed(_) => binary.view.size().next_multiple_of(ALIGNMENT).min(rest.size()),
        };
        // No reader accepts a binary of size 0, so the loop ends.
        rest = rest.from(size);
        binaries.push(binary);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::offload_binary::{OffloadBinaryImage, write};

    fn binary(version: Version, image: &[u8]) -> Vec<u8> {
        let strings = [("triple", "nvptx64")];
        let member = OffloadBinaryImage { image_kind: 1, offload_kind: 2, flags: 0, strings: &strings, image };
        write(version, &[member]).unwrap().content.to_vec()
    }

    fn images(bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        images_up_to(Version::One, bytes)
    }

    fn images_up_to(newest: Version, bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let binaries = offload_binaries(View::new(bytes), newest).map_err(|error| error.to_string())?;
        let entries = binaries.iter().flat_map(OffloadBinary::entries);
        Ok(entries.map(|entry| entry.image.data().to_vec()).collect())
    }

    #[test]
    fn binaries_must_be_back_to_back() {
        let one = binary(Version::One, b"one");
        let two = binary(Version::One, b"two");
        assert_eq!(images(&[one.clone(), two.clone()].concat()).unwrap(), [b"one", b"two"]);
        for between in [&b"\0\0\0\0\0\0\0\0"[..], b"junk"] {
            let error = images(&[&one, between, &two].concat()).unwrap_err();
            assert!(error.starts_with(&format!("offload binary magic at {:#x}: ", one.len())), "{error}");
        }
    }

    #[test]
    fn images_are_not_searched_for_binaries() {
        let inner = binary(Version::One, b"inner");
        assert_eq!(images(&binary(Version::One, &inner)).unwrap(), [inner]);
    }

    #[test]
    fn rejects_versions_that_llvm_22_does_not_support() {
        for version in [Version::Two, Version::Three] {
            let error = images(&binary(version, b"image")).unwrap_err();
            assert!(error.ends_with("(supported: 1 in LLVM 22)"), "{error}");
        }
    }

    #[test]
    fn reads_binaries_of_several_versions_and_entries_back_to_back() {
        let strings = [("triple", "nvptx64")];
        let member = |image: &'static [u8]| OffloadBinaryImage {
            image_kind: 1,
            offload_kind: 2,
            flags: 0,
            strings: &strings,
            image,
        };
        let two = write(Version::Two, &[member(b"one"), member(b"two")]).unwrap().content.to_vec();
        let file = [two, binary(Version::One, b"three")].concat();
        assert_eq!(images_up_to(Version::Two, &file).unwrap(), [&b"one"[..], b"two", b"three"]);
        let error = images_up_to(Version::Two, &binary(Version::Three, b"image")).unwrap_err();
        assert!(error.ends_with("(supported: 1 and 2 in LLVM 23)"), "{error}");
        assert_eq!(images_up_to(Version::Three, &binary(Version::Three, b"image")).unwrap(), [b"image"]);
    }

    #[test]
    fn other_files_have_no_binaries_and_broken_objects_are_errors() {
        assert!(images(b"").unwrap().is_empty());
        assert!(images(b"hello, world").unwrap().is_empty());
        assert!(images(&[b"........", binary(Version::One, b"x").as_slice()].concat()).unwrap().is_empty());
        let mut object = [0; 64];
        object[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        object[40..48].fill(0xff);
        let error = images(&object).unwrap_err();
        assert!(error.starts_with("object file at 0x0: "), "{error}");
    }
}
