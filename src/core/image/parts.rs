//! Parts of an image that differ between builds of one source, each by its hash.
//!
//! Two images with equal code hashes differ in some of these parts. The parts are the causes of the difference.

use std::collections::BTreeSet;

use object::{Object, ObjectSection, ObjectSymbol, SymbolFlags, SymbolKind};
use sha2::{Digest, Sha256};

use super::code_hash::BYTES_PER_STEP;
use super::debug;
use super::elf::{AnyElf, Elf, Width, with_elf};
use super::generated_names::{GeneratedNames, without_generated_names};
use crate::base::bytes::{Resource, View};
use crate::base::error::Malformed;
use crate::format::ptx::{is_file_line, is_section_line, is_source_line};
use crate::format::{ImageKind, is_debug_section};

/// A part of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Build IDs.
    BuildId,
    /// Identifiers of translation units in names.
    ModuleId,
    /// Names of temporary files.
    TemporaryName,
    /// Paths on the machine where it was built.
    Path,
    /// Time stamps of source files in line tables.
    TimeStamp,
    /// Names, versions and options of tools.
    Tool,
    /// Bytes of debug information. Most other parts change them, too.
    DebugBytes,
    /// Symbols, without generated names.
    Symbols,
}

impl Part {
    /// All parts.
    pub const ALL: [Part; 8] = [
        Part::BuildId,
        Part::ModuleId,
        Part::TemporaryName,
        Part::Path,
        Part::TimeStamp,
        Part::Tool,
        Part::DebugBytes,
        Part::Symbols,
    ];
}

/// Hash of each part of an image.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageParts([[u8; 32]; Part::ALL.len()]);

impl ImageParts {
    /// Hash of a part.
    pub fn get(&self, part: Part) -> [u8; 32] {
        let index = Part::ALL.iter().position(|it| *it == part);
        index.and_then(|index| self.0.get(index)).copied().unwrap_or_default()
    }
}

/// Prefixes of the names of sections that name tools.
const TOOLS: [&[u8]; 2] = [b".note.nv.", b".comment"];

/// Other sections that hold names.
const NAMES: [&[u8]; 3] = [b".strtab", b".shstrtab", b".dynstr"];

/// Hashes of the parts of an image.
pub fn image_parts(image_kind: ImageKind, view: View<'_>) -> Result<ImageParts, Malformed> {
    let mut parts = PartHashes::default();
    parts.update(Part::Path, super::build_paths(image_kind, view)?.iter().map(String::as_bytes));
    match image_kind {
        ImageKind::Elf => {
            if let Ok(elf) = AnyElf::read(view) {
                with_elf!(elf, elf => parts.add_elf(&elf))?;
            }
        }
        ImageKind::Ptx => parts.add_ptx(view.data()),
        _ => {}
    }
    Ok(parts.finish())
}

#[derive(Default)]
struct PartHashes {
    hashes: [Sha256; Part::ALL.len()],
    names: GeneratedNames,
}

impl PartHashes {
    fn update<'t>(&mut self, part: Part, texts: impl Iterator<Item = &'t [u8]>) {
        let index = Part::ALL.iter().position(|it| *it == part);
        let Some(hash) = index.and_then(|index| self.hashes.get_mut(index)) else { return };
        for text in texts {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        }
    }

    fn add_elf(&mut self, elf: &Elf<'_, impl Width>) -> Result<(), Malformed> {
        self.add_sections(elf)?;
        self.add_symbols(elf);
        let stamps: Vec<[u8; 8]> = debug::time_stamps(elf).into_iter().map(u64::to_le_bytes).collect();
        self.update(Part::TimeStamp, stamps.iter().map(|stamp| &stamp[..]));
        Ok(())
    }

    fn add_sections(&mut self, elf: &Elf<'_, impl Width>) -> Result<(), Malformed> {
        for section in elf.file.sections() {
            let name = section.name_bytes().unwrap_or_default();
            let Ok(bytes) = elf.bytes(&section) else { continue };
            let is_any = |prefixes: &[&[u8]]| prefixes.iter().any(|prefix| name.starts_with(prefix));
            let is_debug = is_debug_section(name);
            let is_tool = is_any(&TOOLS);
            let is_build_id = name == b".note.gnu.build-id";
            if !is_debug && !is_tool && !is_build_id && !is_any(&NAMES) {
                continue;
            }
            bytes.charge("section", Resource::Work, bytes.size() / BYTES_PER_STEP)?;
            self.names.collect(bytes.data());
            if is_build_id {
                self.update(Part::BuildId, [bytes.data()].into_iter());
            } else if is_debug {
                self.update(Part::DebugBytes, [name, bytes.data()].into_iter());
            } else if is_tool {
                self.update(Part::Tool, [name, &without_generated_names(bytes.data())].into_iter());
            }
        }
        Ok(())
    }

    /// Adds symbols by name. The names are sorted, because generated names change the order of symbols. Section symbols
    /// are left out.
    fn add_symbols(&mut self, elf: &Elf<'_, impl Width>) {
        let mut symbols = BTreeSet::new();
        for symbol in elf.file.symbols().filter(|symbol| symbol.kind() != SymbolKind::Section) {
            let name = symbol.name_bytes().unwrap_or_default();
            if is_debug_section(name) {
                continue;
            }
            let flags = match symbol.flags() {
                SymbolFlags::Elf { st_info, st_other, .. } => [st_info.0, st_other.0],
                _ => [0, 0],
            };
            symbols.insert((without_generated_names(name).into_owned(), symbol.size(), flags));
        }
        for (name, size, flags) in symbols {
            self.update(Part::Symbols, [&name[..], &size.to_le_bytes(), &flags].into_iter());
        }
    }

    /// Adds a text. The comments before its first directive name tools, and the directives `.file` may have time
    /// stamps.
    fn add_ptx(&mut self, text: &[u8]) {
        self.names.collect(text);
        let lines = || text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        let head = lines().take_while(|line| line.is_empty() || line.starts_with(b"//"));
        let head: Vec<_> = head.map(without_generated_names).collect();
        self.update(Part::Tool, head.iter().map(|line| &line[..]));
        // `.file 1 "path", time stamp, size`
        let stamps = lines().filter(|line| is_file_line(line));
        let stamps = stamps.filter_map(|line| line.rsplitn(2, |&byte| byte == b'"').next());
        self.update(Part::TimeStamp, stamps.filter(|stamp| !stamp.is_empty()));
        self.update(Part::DebugBytes, lines().filter(|line| is_source_line(line)));
        self.update(Part::DebugBytes, lines().skip_while(|line| !is_section_line(line)));
    }

    fn finish(mut self) -> ImageParts {
        let names = std::mem::take(&mut self.names);
        self.update(Part::ModuleId, names.modules.iter().map(Vec::as_slice));
        self.update(Part::TemporaryName, names.temporaries.iter().map(Vec::as_slice));
        ImageParts(self.hashes.map(|hash| hash.finalize().into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares two PTX texts.
    fn differing(old: &str, new: &str) -> Vec<Part> {
        let parts = |text: &str| image_parts(ImageKind::Ptx, View::new(text.as_bytes())).unwrap();
        let old = parts(old);
        let new = parts(new);
        Part::ALL.into_iter().filter(|part| old.get(*part) != new.get(*part)).collect()
    }

    #[test]
    fn each_part_of_ptx_is_hashed_apart() {
        let text = "// Cuda compilation tools, release 13.5, V13.5.37\n.version 9.5\n.target sm_90\n\
                    .file 1 \"/home/me/k.cu\", 1700000000, 99\n.entry _debbe712_4_k_cu_3c7ab8be_f() {\n.loc 1 2 3\nret;\n}\n";
        let cases: [(&str, &str, &[Part]); 6] = [
            ("ret;", "ret;", &[]),
            ("V13.5.37", "V13.5.38", &[Part::Tool]),
            ("1700000000", "1700000001", &[Part::TimeStamp, Part::DebugBytes]),
            ("/home/me", "/home/you", &[Part::Path, Part::DebugBytes]),
            ("debbe712", "acb73014", &[Part::ModuleId]),
            (".loc 1 2", ".loc 1 4", &[Part::DebugBytes]),
        ];
        for (from, to, expected) in cases {
            assert_eq!(differing(text, &text.replace(from, to)), expected, "{from}");
        }
    }

    #[test]
    fn debug_information_and_paths_are_parts_of_elf_images() {
        let parts = |bytes: &[u8]| image_parts(ImageKind::Elf, View::new(bytes)).unwrap();
        let plain = parts(include_bytes!("../../../fixtures/answer-gfx90a.hsaco"));
        let debug = parts(include_bytes!("../../../fixtures/answer-gfx90a-debug.hsaco"));
        assert_ne!(plain.get(Part::DebugBytes), debug.get(Part::DebugBytes));
        for part in [Part::ModuleId, Part::TemporaryName, Part::BuildId] {
            assert_eq!(plain.get(part), debug.get(part), "{part:?}");
        }
    }
}
