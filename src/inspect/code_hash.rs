//! Hash of the code of an image. It is equal for two builds of one source that differ only in debug information, paths,
//! names of tools and generated names, so a different hash means different code.

use std::borrow::Cow;

use object::{Object, ObjectSection, SectionFlags, SectionKind};
use sha2::{Digest, Sha256};

use super::elf::Elf;
use super::generated_names::{has_generated_names, without_generated_names};
use crate::bytes::{Resource, View};
use crate::error::Malformed;
use crate::format::ImageKind;

/// Sections that describe how an image was built, or that change with debug information. In cubins these include
/// the toolkit's notes, which contain command lines; `.nv.info` refers to symbols by number and is one of the latter.
const SKIPPED_SECTIONS: [&str; 14] = [
    ".debug",
    ".nv_debug",
    ".rel.debug",
    ".rela.debug",
    ".rel.nv_debug",
    ".rela.nv_debug",
    ".nv.merc.debug",
    ".nv.merc.nv_debug",
    ".comment",
    ".note.gnu.build-id",
    ".note.nv.",
    ".symtab",
    ".strtab",
    ".shstrtab",
];

/// Returns the hash of the code and data of an image, or of all its bytes if its format is unknown. Sections may overlap, so
/// that hashing them exceeds the budget.
pub fn code_hash(image_kind: ImageKind, view: View<'_>) -> Result<[u8; 32], Malformed> {
    let mut hash = Sha256::new();
    match image_kind {
        ImageKind::Elf => match Elf::read(view) {
            Ok(elf) if has_names(&elf) => renamed_sections(&elf, &mut hash)?,
            Ok(elf) => sections(&elf, &mut hash)?,
            Err(_) => hash.update(view.data()),
        },
        ImageKind::Ptx => instructions(&without_generated_names(view.data()), &mut hash),
        _ => hash.update(view.data()),
    }
    Ok(hash.finalize().into())
}

/// Returns whether names of symbols or sections are generated.
fn has_names(elf: &Elf<'_>) -> bool {
    let tables = [".strtab", ".dynstr", ".shstrtab"].into_iter().filter_map(|name| elf.section(name));
    tables.filter_map(|table| elf.bytes(&table).ok()).any(|bytes| has_generated_names(bytes.data()))
}

/// Sections in which generated names change numbers, too: hashes and sizes of names, and their order.
const NAME_TABLES: [&[u8]; 4] = [b".hash", b".gnu.hash", b".dynsym", b".dynamic"];

/// Hashes sections without generated names, in an order that does not depend on these.
fn renamed_sections(elf: &Elf<'_>, hash: &mut Sha256) -> Result<(), Malformed> {
    hash.update(elf.machine().0.to_le_bytes());
    let mut hashes: Vec<[u8; 32]> = Vec::new();
    for section in elf.file.sections() {
        let name = section.name_bytes().unwrap_or_default();
        let (Ok(bytes), false) = (elf.bytes(&section), is_skipped(name) || NAME_TABLES.contains(&name)) else {
            continue;
        };
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
        bytes.charge("section", Resource::Work, bytes.size() / BYTES_PER_STEP)?;
        let mut own = Sha256::new();
        own.update(without_generated_names(name));
        own.update(sh_flags.0.to_le_bytes());
        // Machine code has no names. Identifiers of clang have 15 digits if the first of 16 is zero.
        let stable = match section.kind() {
            SectionKind::Text => Cow::Borrowed(bytes.data()),
            _ => without_generated_names(bytes.data()),
        };
        let size = if bytes.size() == 0 { section.size() } else { stable.len() as u64 };
        own.update(size.to_le_bytes());
        own.update(stable);
        hashes.push(own.finalize().into());
    }
    hashes.sort_unstable();
    for own in hashes {
        hash.update(own);
    }
    Ok(())
}

fn is_skipped(name: &[u8]) -> bool {
    SKIPPED_SECTIONS.iter().any(|prefix| name.starts_with(prefix.as_bytes()))
}

fn sections(elf: &Elf<'_>, hash: &mut Sha256) -> Result<(), Malformed> {
    hash.update(elf.machine().0.to_le_bytes());
    for section in elf.file.sections() {
        let name = section.name_bytes().unwrap_or_default();
        let (Ok(bytes), false) = (elf.bytes(&section), is_skipped(name)) else { continue };
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
        hash.update(sh_flags.0.to_le_bytes());
        hash.update(section.size().to_le_bytes());
        bytes.charge("section", Resource::Work, bytes.size() / BYTES_PER_STEP)?;
        hash.update(bytes.data());
    }
    Ok(())
}

/// Number of bytes that are hashed in a step of work.
pub(super) const BYTES_PER_STEP: u64 = 16;

/// Hashes the lines of PTX, without comments and source locations.
pub(super) fn instructions(text: &[u8], hash: &mut Sha256) {
    for line in text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii) {
        let is_skipped = line.is_empty() || [&b"//"[..], b".loc", b".file"].iter().any(|it| line.starts_with(it));
        if line.starts_with(b".section") {
            break;
        }
        if !is_skipped {
            hash.update(line);
            hash.update(b"\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(image_kind: ImageKind, bytes: &[u8]) -> [u8; 32] {
        code_hash(image_kind, View::new(bytes)).unwrap()
    }

    #[test]
    fn hash_depends_on_code_but_not_on_line_information() {
        let plain = include_bytes!("../../fixtures/answer-gfx90a.hsaco");
        let with_lines = include_bytes!("../../fixtures/answer-gfx90a-debug.hsaco");
        assert_ne!(plain[..], with_lines[..]);
        let mut changed = *plain;
        let code = Elf::read(View::new(plain)).unwrap().section(".text").unwrap().file_range().unwrap();
        changed[code.0 as usize] ^= 1;
        assert_eq!(hash(ImageKind::Elf, plain), hash(ImageKind::Elf, with_lines));
        assert_ne!(hash(ImageKind::Elf, plain), hash(ImageKind::Elf, &changed));
    }

    #[test]
    fn hash_of_ptx_ignores_comments_and_source_locations() {
        let plain = b".version 8.0\n.entry f()\n{\nret;\n}\n";
        let with_lines =
            b"// a compiler\n.version 8.0\n.file 1 \"/home/me/f.cu\"\n.entry f()\n{\n  .loc 1 2 3\nret;\n}\n\
                           .section .debug_str\n{\n}\n";
        assert_eq!(hash(ImageKind::Ptx, plain), hash(ImageKind::Ptx, with_lines));
        assert_ne!(hash(ImageKind::Ptx, plain), hash(ImageKind::Ptx, b".version 8.0\n.entry f()\n{\n}\n"));
    }
}
