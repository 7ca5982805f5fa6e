//! Properties that a wrapper object must share with a host object, read from that host object.
//!
//! Clang leaves the offload entries in the host object: the section's name and the size of an entry determine the
//! release, the file header the machine. The user needs to specify neither. Bitcode of a host has the section's name and
//! the version of its compiler.

use std::borrow::Cow;
use std::path::Path;

use object::read::{Object, ObjectSection, ObjectSymbol};
use object::{Architecture, BinaryFormat, ObjectKind};

use super::error::WrapError;
use crate::embed::llvm::wrapper_abi::{ENTRY_SYMBOLS, EntryLayout};
use crate::embed::llvm::{NEWEST, RELEASES, Release};
use fatbin_core::base::bytes::{ObjectBytes, View};
use fatbin_core::format::{DeviceImage, bitcode};
use fatbin_core::host::Host;
use fatbin_core::target::OffloadKind;

/// Properties of a host object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedHost {
    /// Newest release that writes such entries.
    pub release: Release,
    /// Triple of the machine.
    pub host: &'static str,
    /// Global symbols of the entries, in the order of the file.
    pub entry_symbols: Vec<String>,
}

/// Entries of a host object.
struct FoundEntries {
    section: String,
    /// Size of one entry in bytes.
    size: u64,
    /// Prefix of the entries' symbols; `None` without such symbols.
    symbol_prefix: Option<&'static str>,
    /// Global symbols, in the order of the file.
    symbols: Vec<String>,
}

/// Entries of a kind in a host object or in a host's bitcode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedEntries {
    /// Newest release that writes such entries.
    pub release: Release,
    /// Global symbols of the entries, in the order of the file.
    pub symbols: Vec<String>,
}

/// Reads a host object that was compiled with offloading of `kind`.
pub fn read(view: View, path: &Path, kind: OffloadKind) -> Result<MatchedHost, WrapError> {
    let file = object::File::parse(ObjectBytes(view))
        .map_err(|error| WrapError::UnreadableHostObject { path: path.to_owned(), source: Box::new(error) })?;
    let host = host_of(&file, view).ok_or_else(|| WrapError::UnknownHostMachine { path: path.to_owned() })?;
    let entries =
        entries_of_object(&file, kind).ok_or_else(|| WrapError::NoOffloadEntries { path: path.to_owned() })?;
    if matches!(file.kind(), ObjectKind::Executable | ObjectKind::Dynamic) {
        return Err(WrapError::LinkedHost { path: path.to_owned() });
    }
    let MatchedEntries { release, symbols } = entries.matched(path, kind)?;
    Ok(MatchedHost { release, host, entry_symbols: symbols })
}

/// Reads the entries of a kind in an object or in bitcode; `None` for a file without any. One section has the entries
/// of all kinds since LLVM 21, so they may be of another kind.
pub fn entries(view: View, path: &Path, kind: OffloadKind) -> Result<Option<MatchedEntries>, WrapError> {
    let found = if bitcode::is_bitcode(view) {
        entries_of_bitcode(view, kind)
    } else if let Ok(file) = object::File::parse(ObjectBytes(view)) {
        entries_of_object(&file, kind)
    } else {
        None
    };
    found.map(|entries| entries.matched(path, kind)).transpose()
}

impl FoundEntries {
    fn matched(self, path: &Path, kind: OffloadKind) -> Result<MatchedEntries, WrapError> {
        match newest_release(kind, &self) {
            Some(release) => Ok(MatchedEntries { release, symbols: self.symbols }),
            None => {
                let FoundEntries { section, size, .. } = self;
                Err(WrapError::UnknownEntries { path: path.to_owned(), size, section })
            }
        }
    }
}

fn entries_of_object<'data>(file: &object::File<'data, ObjectBytes<'data>>, kind: OffloadKind) -> Option<FoundEntries> {
    match file.format() {
        BinaryFormat::Coff => read_coff_entries(file, kind),
        BinaryFormat::MachO => read_mach_o_entries(file),
        _ => read_entries(file, kind),
    }
}

/// First release with entries of 56 bytes, for bitcode, where an entry has no size.
const NEW_ENTRIES: u32 = 20;

/// Reads the entries of a kind from bitcode that is compiled and linked later. Damaged bitcode has none.
fn entries_of_bitcode(view: View, kind: OffloadKind) -> Option<FoundEntries> {
    let names = bitcode::embedded::section_names(view).ok()?;
    let section = section_names(kind).find(|section| names.iter().any(|name| is_entry_section(name, section)))?;
    let symbols = bitcode::symbols::symbols(view).unwrap_or_default().into_iter().map(|symbol| symbol.name);
    let mut symbols: Vec<String> = symbols.filter(|name| symbol_prefix(name).is_some()).collect();
    symbols.sort();
    let is_new = section == NEWEST_SECTION || bitcode::llvm_version(view) >= Some(NEW_ENTRIES);
    let layout = if is_new { EntryLayout::New } else { EntryLayout::Old };
    Some(FoundEntries {
        section: section.to_owned(),
        size: layout.size().into(),
        symbol_prefix: symbols.first().and_then(|name| symbol_prefix(name)),
        symbols,
    })
}

/// Whether bitcode names a section of entries, as ELF or as COFF has it.
fn is_entry_section(name: &str, section: &str) -> bool {
    name.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest == "$OE")
}

fn symbol_prefix(name: &str) -> Option<&'static str> {
    ENTRY_SYMBOLS.into_iter().find(|prefix| name.starts_with(prefix))
}

/// Returns the triple of a host object. A COFF object does not state its C runtime. The result names Microsoft's,
/// because MinGW-w64's runtime also runs the constructors of objects for Microsoft's.
fn host_of<'data>(file: &object::File<'data, ObjectBytes<'data>>, view: View) -> Option<&'static str> {
    match (file.format(), file.architecture()) {
        (BinaryFormat::Coff, Architecture::X86_64) => Some(Host::X86_64WindowsMsvc.triple()),
        (BinaryFormat::Coff, Architecture::Aarch64) => Some(Host::Aarch64WindowsMsvc.triple()),
        (BinaryFormat::MachO, Architecture::X86_64) => Some(Host::X86_64Macos.triple()),
        (BinaryFormat::MachO, Architecture::Aarch64) => Some(Host::Aarch64Macos.triple()),
        _ => match DeviceImage::identify(view).triple {
            Some(Cow::Borrowed(host)) => Some(host),
            // Bitcode, which is not an object.
            Some(Cow::Owned(_)) | None => None,
        },
    }
}

/// Section of the entries of every kind since LLVM 21.
const NEWEST_SECTION: &str = "llvm_offload_entries";

/// Returns the names of a kind's entry section in all releases, newest first.
fn section_names(kind: OffloadKind) -> impl Iterator<Item = &'static str> {
    let supporting = RELEASES.iter().rev().map(|release| release.wrapper).filter(move |abi| abi.supports(kind));
    supporting.map(move |abi| abi.entry_section(kind))
}

/// Reads the entries of a kind from a COFF object. Its symbols have no sizes. Clang writes an entry as a weak symbol
/// and a definition, whose name contains the entry's. No such symbol needs to be kept.
fn read_coff_entries<'data>(file: &object::File<'data, ObjectBytes<'data>>, kind: OffloadKind) -> Option<FoundEntries> {
    let (name, section) =
        section_names(kind).find_map(|name| Some((name, file.section_by_name(&format!("{name}$OE"))?)))?;
    let names = file.symbols().filter(|symbol| symbol.section_index() == Some(section.index()));
    let prefixes: Vec<&str> = names
        .filter_map(|symbol| {
            let name = symbol.name().ok()?;
            ENTRY_SYMBOLS.into_iter().find(|prefix| name.contains(prefix))
        })
        .collect();
    let size = section.size().checked_div(prefixes.len() as u64).unwrap_or(section.size());
    let section = name.to_owned();
    let symbol_prefix = prefixes.first().copied();
    Some(FoundEntries { section, size, symbol_prefix, symbols: Vec::new() })
}

/// Reads the entries of a Mach-O object. Only objects of LLVM's main branch have them, in entries of 56 bytes for every
/// kind.
fn read_mach_o_entries<'data>(file: &object::File<'data, ObjectBytes<'data>>) -> Option<FoundEntries> {
    let is_entries = |section: &object::Section<'data, '_, ObjectBytes<'data>>| {
        section.segment_name() == Ok(Some("__LLVM")) && section.name() == Ok("offload_entries")
    };
    file.sections().find(is_entries)?;
    let size = EntryLayout::New.size().into();
    Some(FoundEntries { section: NEWEST_SECTION.to_owned(), size, symbol_prefix: None, symbols: Vec::new() })
}

/// Reads the entries of a kind from the section that the newest release has for them.
fn read_entries<'data>(file: &object::File<'data, ObjectBytes<'data>>, kind: OffloadKind) -> Option<FoundEntries> {
    let section = section_names(kind).find_map(|name| file.section_by_name(name))?;
    let mut entries = FoundEntries {
        section: section.name().unwrap_or_default().to_owned(),
        size: section.size(),
        symbol_prefix: None,
        symbols: Vec::new(),
    };
    for symbol in file.symbols().filter(|symbol| symbol.section_index() == Some(section.index())) {
        let Ok(name) = symbol.name() else { continue };
        let Some(prefix) = symbol_prefix(name) else { continue };
        entries.symbol_prefix = entries.symbol_prefix.or(Some(prefix));
        entries.size = symbol.size();
        // A local symbol cannot be referred to from another object.
        if symbol.is_global() {
            entries.symbols.push(name.to_owned());
        }
    }
    Some(entries)
}

/// Returns the newest release that writes such entries. `main` and `aomp` are not releases, and nothing in the object
/// distinguishes them from one. The names of symbols count only for old entries, whose layout several releases share
/// under different names.
fn newest_release(kind: OffloadKind, entries: &FoundEntries) -> Option<Release> {
    let is_match = |release: &&Release| {
        let abi = release.wrapper;
        abi.supports(kind)
            && abi.entry_section(kind) == entries.section
            && u64::from(abi.entries.size()) == entries.size
            && (abi.entries == EntryLayout::New || entries.symbol_prefix == Some(abi.entry_symbol()))
    };
    let releases = RELEASES.iter().filter(|release| release.number.is_some_and(|number| Some(number) <= NEWEST.number));
    releases.filter(is_match).max_by_key(|release| release.number).copied()
}
