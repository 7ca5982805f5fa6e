//! Comparison of outputs whose bytes differ for a known reason.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use object::read::archive::ArchiveFile;
use object::{Object, ObjectKind, ObjectSection, ObjectSymbol, SectionFlags};

use super::session::without_random_names;
use super::table::Reason;
use crate::dropin::Side;
use crate::harness::fatbin_program;
use crate::harness::step::Step;

/// Sections whose contents depend on the order of symbols' names, and the hash of all sections.
const ORDERED_SECTIONS: [&str; 4] = [".symtab", ".strtab", ".shstrtab", ".note.gnu.build-id"];

/// Prefix of the sections where clang-offload-bundler stores a bundle.
const BUNDLE_SECTION: &str = "__CLANG_OFFLOAD_BUNDLE__";

/// A section: name, address, flags and contents.
type Section = (String, u64, SectionFlags, Vec<u8>);

/// Returns whether the contents of a file of both sides agree.
pub fn agree(reason: Reason, directory: &Path, name: &str, theirs: &[u8], ours: &[u8]) -> Result<bool> {
    Ok(match reason {
        Reason::Compression => images(directory, Side::Theirs, name)? == images(directory, Side::Ours, name)?,
        Reason::TemporaryNames => without_random_names(theirs) == without_random_names(ours),
        Reason::Layout => objects(theirs, false)? == objects(ours, false)?,
        Reason::HostObject => objects(theirs, true)? == objects(ours, true)?,
        Reason::ListOrder => false,
    })
}

/// Returns the images of a file as `fatbin extract` writes them, by name.
fn images(directory: &Path, side: Side, file: &str) -> Result<Vec<(String, Vec<u8>)>> {
    let to = format!("images/{side:?}/{file}");
    let extract = Step::new(directory, fatbin_program()).arg("extract");
    let done = extract.arg(format!("{side:?}/{file}")).args(["-o", &to]).run()?;
    let read = |path: &str| Ok((path.replace(&to, ""), std::fs::read(directory.join(path))?));
    let images: Vec<_> = done.stdout.lines().map(read).collect::<Result<_>>()?;
    ensure!(!images.is_empty(), "{}", done.error("no image"));
    Ok(images)
}

/// Returns the contents of an object, or of the members of an archive, which may have random names.
fn objects(bytes: &[u8], without_bundles: bool) -> Result<Vec<(Vec<Section>, Vec<String>)>> {
    let Ok(archive) = ArchiveFile::parse(bytes) else {
        return Ok(vec![contents(bytes, without_bundles)?]);
    };
    let members = archive.members().map(|member| contents(member?.data(bytes)?, without_bundles));
    let members: Vec<_> = members.collect::<Result<_>>()?;
    ensure!(!members.is_empty(), "empty archive");
    Ok(members)
}

/// Returns the sections of an object in order, and the symbols of a relocatable one, sorted.
fn contents(bytes: &[u8], without_bundles: bool) -> Result<(Vec<Section>, Vec<String>)> {
    let object = object::File::parse(bytes).context("not an object")?;
    let mut sections = Vec::new();
    for section in object.sections() {
        let name = section.name()?;
        let is_of_bundle = without_bundles && name.starts_with(BUNDLE_SECTION);
        if !is_of_bundle && !ORDERED_SECTIONS.contains(&name) {
            sections.push((name.to_owned(), section.address(), section.flags(), section.data()?.to_vec()));
        }
    }
    ensure!(!sections.is_empty(), "no sections");
    let mut symbols = Vec::new();
    if object.kind() == ObjectKind::Relocatable {
        for symbol in object.symbols() {
            let section = symbol.section_index().map(|index| object.section_by_index(index)).transpose()?;
            let section = section.map(|section| section.name().map(str::to_owned)).transpose()?;
            symbols.push(format!("{} {section:?} {:#x} {:?}", symbol.name()?, symbol.address(), symbol.flags()));
        }
        symbols.sort();
    }
    Ok((sections, symbols))
}
