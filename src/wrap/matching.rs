//! Reading from a host object what a wrapper object has to agree with.
//!
//! Clang leaves the offload entries in the host object: the section's name and the size of an entry tell the generation,
//! the file header the machine. Nobody who links with our object has to know either.

use object::read::{Object, ObjectSection, ObjectSymbol};

use super::abi::{ENTRY_SYMBOL, GENERATIONS, Generation, OLD_ENTRY_SYMBOL};
use crate::error::{Error, Result};
use crate::format::DeviceImage;
use crate::io::Input;
use crate::target::OffloadKind;

/// What a host object says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    pub generation: Generation,
    /// The triple of its machine.
    pub host: &'static str,
    /// The symbols of its entries, in the order of the file.
    pub entry_symbols: Vec<String>,
}

/// The newest releases with each of the names that clang has given to the symbols of entries. Up to those the layouts
/// agree.
const ENTRY_SYMBOLS: [(&str, &str); 2] = [(OLD_ENTRY_SYMBOL, "llvm17"), (ENTRY_SYMBOL, "llvm19")];

/// Reads a host object that was compiled with offloading of `kind`.
pub fn read(input: &Input, kind: OffloadKind) -> Result<Match> {
    let path = input.path();
    let refuse = |what: &str| Error::NotAHostObject { path: path.to_owned(), what: what.to_owned() };
    let file = object::File::parse(input.view().data())
        .map_err(|error| refuse(&format!("is no object that can be read: {error}")))?;
    let host = DeviceImage::identify(input.view()).triple;
    let host = host.ok_or_else(|| refuse("is no 64-bit ELF object for a machine that fatbin knows"))?;
    let known = || GENERATIONS.iter().rev().filter(|generation| generation.constructor_priority(kind).is_some());
    let section = known()
        .find_map(|generation| file.section_by_name(generation.entry_section(kind)))
        .ok_or_else(|| Error::NoOffloadEntries { path: path.to_owned() })?;
    let name = section.name().unwrap_or_default();

    let mut entry_symbols = Vec::new();
    let mut old_name = None;
    let mut entry_size = section.size();
    for symbol in file.symbols().filter(|symbol| symbol.section_index() == Some(section.index())) {
        let Ok(text) = symbol.name() else { continue };
        if let Some((_, generation)) = ENTRY_SYMBOLS.iter().find(|(prefix, _)| text.starts_with(prefix)) {
            old_name = old_name.or(Some(*generation));
            entry_size = symbol.size();
            // A local one cannot be referred to from elsewhere.
            entry_symbols.extend(symbol.is_global().then(|| text.to_owned()));
        }
    }
    let generation = known()
        .filter(|it| it.entry_section(kind) == name && u64::from(it.entries.size()) == entry_size)
        // The newest release that agrees; main and aomp are no releases and nothing in the object tells them.
        .filter(|it| it.name.starts_with("llvm"))
        .find(|it| it.entries.size() != 32 || Some(it.name) == old_name)
        .ok_or_else(|| {
            refuse(&format!("has offload entries of {entry_size} bytes in {name}, which no release makes"))
        })?;
    Ok(Match { generation: *generation, host, entry_symbols })
}
