//! Hash of the code of an image. It is equal for two builds of one source that differ only in debug information, paths,
//! names of tools and generated names, so a different hash means different code.

use std::borrow::Cow;
use std::ops::Range;

use object::{Object, ObjectSection, SectionFlags, SectionKind};
use sha2::{Digest, Sha256};

use super::elf::{AnyElf, Elf, Width, with_elf};
use super::generated_names::{SectionNames, has_generated_names, without_generated_names};
use crate::base::activity::Work;
use crate::base::bytes::{Resource, View};
use crate::base::error::Malformed;
use crate::format::ImageKind;
use crate::format::ptx::{is_section_line, is_source_line};

/// Sections that describe how an image was built, or that change with debug information. In cubins, the toolkit's notes
/// contain command lines, and `.nv.info` refers to symbols by number, so it changes with debug information.
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

/// Digests of an image that together determine its bytes. Bytes that the hash of the code includes unchanged are not
/// hashed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageDigests {
    /// Hash of the code and data, or of all bytes if the format is unknown.
    pub code: [u8; 32],
    /// Hash of all other bytes: headers, symbols, debug information, notes.
    pub rest: [u8; 32],
}

/// Digests of an image. Sections may overlap, so hashing them can exceed the budget.
pub fn image_digests(image_kind: ImageKind, view: View<'_>) -> Result<ImageDigests, Malformed> {
    let mut hashed = HashedCode::read(image_kind, view)?;
    let rest = hashed.rest(view)?;
    Ok(ImageDigests { code: hashed.code.finalize().into(), rest })
}

/// Hash of the code and data of an image, or of all its bytes if its format is unknown.
pub fn code_hash(image_kind: ImageKind, view: View<'_>) -> Result<[u8; 32], Malformed> {
    HashedCode::read(image_kind, view).map(|hashed| hashed.code.finalize().into())
}

/// Hash of the code, and the ranges of the image that it includes unchanged.
#[derive(Default)]
struct HashedCode {
    code: Sha256,
    ranges: Vec<Range<u64>>,
    /// Hashes of sections in file order, if the hash of the code has a different order.
    sections: Vec<[u8; 32]>,
}

impl HashedCode {
    fn read(image_kind: ImageKind, view: View<'_>) -> Result<Self, Malformed> {
        let mut hashed = HashedCode::default();
        match image_kind {
            ImageKind::Elf => match AnyElf::read(view) {
                Ok(elf) => with_elf!(elf, elf => of_elf(&elf, &mut hashed))?,
                Err(_) => hashed.whole(view),
            },
            ImageKind::Ptx => instructions(&without_generated_names(view.data()), &mut hashed.code),
            _ => hashed.whole(view),
        }
        Ok(hashed)
    }

    fn whole(&mut self, view: View<'_>) {
        self.code.update(view.data());
        self.ranges.push(0..view.size());
    }

    /// Hashes the positions and the order of the ranges, and all bytes outside them.
    fn rest(&mut self, view: View<'_>) -> Result<[u8; 32], Malformed> {
        view.charge("image", Resource::Work, view.size() / BYTES_PER_STEP)?;
        Work::Hashed.record(view.size());
        let mut hash = Sha256::new();
        for range in &self.ranges {
            hash.update(range.start.to_le_bytes());
            hash.update(range.end.to_le_bytes());
        }
        for section in &self.sections {
            hash.update(section);
        }
        self.ranges.sort_unstable_by_key(|range| (range.start, range.end));
        let mut at = 0;
        for range in self.ranges.iter().chain([&(view.size()..view.size())]) {
            if at < range.start {
                hash.update(view.between("image", at..range.start)?.data());
            }
            at = at.max(range.end);
        }
        Ok(hash.finalize().into())
    }
}

fn of_elf(elf: &Elf<'_, impl Width>, hashed: &mut HashedCode) -> Result<(), Malformed> {
    if has_names(elf) { renamed_sections(elf, hashed) } else { sections(elf, hashed) }
}

/// True if names of symbols or sections are generated.
fn has_names(elf: &Elf<'_, impl Width>) -> bool {
    let tables = [".strtab", ".dynstr", ".shstrtab"].into_iter().filter_map(|name| elf.section(name));
    tables.filter_map(|table| elf.bytes(&table).ok()).any(|bytes| has_generated_names(bytes.data()))
}

/// Sections whose numbers also change with generated names: hashes and sizes of names, and their order.
const NAME_TABLES: [&[u8]; 4] = [b".hash", b".gnu.hash", b".dynsym", b".dynamic"];

/// Hashes sections without generated names, in an order that does not depend on generated names.
fn renamed_sections(elf: &Elf<'_, impl Width>, hashed: &mut HashedCode) -> Result<(), Malformed> {
    let mut names = SectionNames::default();
    hashed.code.update(elf.machine().0.to_le_bytes());
    for section in elf.file.sections() {
        let name = section.name_bytes().unwrap_or_default();
        let (Ok(bytes), false) = (elf.bytes(&section), is_skipped(name) || NAME_TABLES.contains(&name)) else {
            continue;
        };
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
        bytes.charge("section", Resource::Work, bytes.size() / BYTES_PER_STEP)?;
        let mut own = Sha256::new();
        for part in names.stable(name) {
            own.update(part);
        }
        own.update(sh_flags.0.to_le_bytes());
        // Machine code has no names. Identifiers of clang have 15 digits if the first of 16 is zero.
        let stable = match section.kind() {
            SectionKind::Text => Cow::Borrowed(bytes.data()),
            _ => without_generated_names(bytes.data()),
        };
        let size = if bytes.size() == 0 { section.size() } else { stable.len() as u64 };
        own.update(size.to_le_bytes());
        if let Cow::Borrowed(_) = stable {
            hashed.ranges.push(bytes.range_in(elf.view));
        }
        own.update(stable);
        hashed.sections.push(own.finalize().into());
    }
    let mut sorted = hashed.sections.clone();
    sorted.sort_unstable();
    for own in sorted {
        hashed.code.update(own);
    }
    Ok(())
}

fn is_skipped(name: &[u8]) -> bool {
    SKIPPED_SECTIONS.iter().any(|prefix| name.starts_with(prefix.as_bytes()))
}

fn sections(elf: &Elf<'_, impl Width>, hashed: &mut HashedCode) -> Result<(), Malformed> {
    hashed.code.update(elf.machine().0.to_le_bytes());
    for section in elf.file.sections() {
        let name = section.name_bytes().unwrap_or_default();
        let (Ok(bytes), false) = (elf.bytes(&section), is_skipped(name)) else { continue };
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
        hashed.code.update((name.len() as u64).to_le_bytes());
        hashed.code.update(name);
        hashed.code.update(sh_flags.0.to_le_bytes());
        hashed.code.update(section.size().to_le_bytes());
        bytes.charge("section", Resource::Work, bytes.size() / BYTES_PER_STEP)?;
        hashed.code.update(bytes.data());
        hashed.ranges.push(bytes.range_in(elf.view));
    }
    Ok(())
}

/// Number of bytes hashed per step of work.
pub(super) const BYTES_PER_STEP: u64 = 16;

/// Hashes the lines of PTX, without comments and source locations.
pub(super) fn instructions(text: &[u8], hash: &mut Sha256) {
    for line in text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii) {
        if line.starts_with(b".") && is_section_line(line) {
            break;
        }
        let is_directive = line.starts_with(b".");
        let is_skipped = line.is_empty() || line.starts_with(b"//") || is_directive && is_source_line(line);
        if !is_skipped {
            hash.update(line);
            hash.update(b"\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::elf::Header64;
    use super::*;

    fn hash(image_kind: ImageKind, bytes: &[u8]) -> [u8; 32] {
        code_hash(image_kind, View::new(bytes)).unwrap()
    }

    #[test]
    fn hash_depends_on_code_but_not_on_line_information() {
        let plain = include_bytes!("../../../fixtures/answer-gfx90a.hsaco");
        let with_lines = include_bytes!("../../../fixtures/answer-gfx90a-debug.hsaco");
        assert_ne!(plain[..], with_lines[..]);
        let mut changed = *plain;
        let code = Elf::<Header64>::read(View::new(plain)).unwrap().section(".text").unwrap().file_range().unwrap();
        changed[code.0 as usize] ^= 1;
        assert_eq!(hash(ImageKind::Elf, plain), hash(ImageKind::Elf, with_lines));
        assert_ne!(hash(ImageKind::Elf, plain), hash(ImageKind::Elf, &changed));
    }

    #[test]
    fn the_digests_of_an_image_depend_on_each_byte() {
        let names = b"// a\n.version 8.0\n.entry _debbe712_4_k_cu_3c7ab8be_f()\n{\nret;\n}\n";
        let mut renamed = include_bytes!("../../../fixtures/answer-sm_90-debug.cubin").to_vec();
        let string = renamed.windows(13).position(|bytes| bytes == b"answer_kernel").unwrap();
        renamed[string..string + 13].copy_from_slice(b"_deadbeef_4_k");
        let images: [(ImageKind, &[u8]); 6] = [
            (ImageKind::Elf, include_bytes!("../../../fixtures/answer-gfx90a-debug.hsaco")),
            (ImageKind::Elf, include_bytes!("../../../fixtures/answer-sm_90.cubin")),
            (ImageKind::Elf, &renamed),
            (ImageKind::Ptx, include_bytes!("../../../fixtures/answer-sm_80.ptx")),
            (ImageKind::Ptx, names),
            (ImageKind::Unknown, b"unknown"),
        ];
        for (kind, bytes) in images {
            let digests = |bytes: &[u8]| image_digests(kind, View::new(bytes)).unwrap();
            let expected = digests(bytes);
            assert_eq!(expected.code, hash(kind, bytes));
            for at in 0..bytes.len() {
                let mut changed = bytes.to_vec();
                changed[at] ^= 0x20;
                assert_ne!(digests(&changed), expected, "byte {at} of {kind:?}");
            }
        }
    }

    #[test]
    fn hash_of_ptx_ignores_comments_and_source_locations() {
        let plain = b".version 8.0\n.entry f()\n{\nret;\n}\n";
        let with_lines =
            b"// a compiler\n.version 8.0\n.file 1 \"/home/me/f.cu\"\n.entry f()\n{\n  .loc 1 2 3\nret;\n}\n\
                           .section .debug_str\n{\n}\n";
        assert_eq!(hash(ImageKind::Ptx, plain), hash(ImageKind::Ptx, with_lines));
        assert_ne!(hash(ImageKind::Ptx, plain), hash(ImageKind::Ptx, b".version 8.0\n.entry f()\n{\n}\n"));
        let local = |size| format!(".version 8.0\n.entry f()\n{{\n.local .b8 a[{size}];\nret;\n}}\n");
        assert_ne!(hash(ImageKind::Ptx, local(4).as_bytes()), hash(ImageKind::Ptx, local(8).as_bytes()));
    }
}
