//! The offload entries of the host objects: the releases of LLVM whose wrappers register them.
//!
//! Each object states the form of its entries, by their section and size. The wrapper has to walk the table that the
//! objects fill: LLVM 19 and 22 use different ones, and a wrapper of the other release registers no kernel. CUDA and HIP
//! register entry by entry, so one wrapper serves several tables. OpenMP's runtime gets one table, and reads one form.

use std::collections::BTreeMap;
use std::path::Path;

use super::device_code::DeviceCode;
use super::error::{LinkError, Result};
use super::inputs::HostFile;
use super::options::LinkOptions;
use super::refusal::{Refusal, RefusedInput};
use crate::embed::llvm::Release;
use crate::embed::llvm::wrapper_abi::WrapperAbi;
use crate::embed::wrap::{host_entries, matching};
use fatbin_core::format::bitcode;
use fatbin_core::target::OffloadKind;

/// Entries of the host objects, by offload kind.
#[derive(Debug, Clone, Default)]
pub struct HostEntries {
    by_kind: BTreeMap<OffloadKind, KindEntries>,
    /// Release for a kind without entries.
    default: Vec<Release>,
}

/// Entries of a kind.
#[derive(Debug, Clone, Default)]
pub struct KindEntries {
    /// Releases with different tables, oldest first.
    pub releases: Vec<Release>,
    /// Global symbols of the entries. An object of a wrapper refers to them, so that `--gc-sections` keeps them.
    pub symbols: Vec<String>,
}

/// Entries of a kind in one file.
#[derive(Debug)]
struct FileEntries<'a> {
    path: &'a str,
    entries: matching::MatchedEntries,
}

impl HostEntries {
    /// Entries that a wrapper of a kind registers.
    pub fn of(&self, kind: OffloadKind) -> KindEntries {
        let default = || KindEntries { releases: self.default.clone(), symbols: Vec::new() };
        self.by_kind.get(&kind).cloned().unwrap_or_else(default)
    }

    /// The ABIs of all tables.
    pub fn abis(&self) -> Vec<WrapperAbi> {
        let releases = self.by_kind.values().flat_map(|entries| &entries.releases).chain(&self.default);
        releases.map(|release| release.wrapper).collect()
    }
}

impl KindEntries {
    /// Sections of the entries.
    pub fn sections(&self, kind: OffloadKind) -> Vec<&'static str> {
        self.releases.iter().map(|release| release.wrapper.entry_section(kind)).collect()
    }
}

/// Finds the entries of the kinds whose images are linked. The second value lists the objects whose entries a wrapper of
/// the requested release does not register.
pub fn find(
    kinds: &[OffloadKind],
    files: &[HostFile],
    code: &DeviceCode<'_>,
    options: &LinkOptions,
) -> Result<(HostEntries, Vec<RefusedInput>)> {
    let mut found = HostEntries { default: vec![options.abi.unwrap_or(options.release)], ..HostEntries::default() };
    let mut refused = Vec::new();
    for &kind in kinds {
        let of_files = of_kind(kind, files, code)?;
        if of_files.is_empty() {
            continue;
        }
        let releases = match options.abi {
            None => releases(kind, &of_files)?,
            Some(abi) => {
                let is_other =
                    |file: &&FileEntries<'_>| !file.entries.release.wrapper.shares_entries(&abi.wrapper, kind);
                refused.extend(of_files.iter().filter(is_other).map(|file| RefusedInput {
                    path: file.path.to_owned(),
                    reason: Refusal::OtherEntries { needed: file.entries.release.name, abi: abi.name },
                }));
                vec![abi]
            }
        };
        let mut symbols: Vec<String> = of_files.into_iter().flat_map(|file| file.entries.symbols).collect();
        symbols.sort();
        symbols.dedup();
        found.by_kind.insert(kind, KindEntries { releases, symbols });
    }
    Ok((found, refused))
}

/// Entries of a kind in the files that the linker takes.
fn of_kind<'a>(kind: OffloadKind, files: &'a [HostFile], code: &DeviceCode<'_>) -> Result<Vec<FileEntries<'a>>> {
    let mut found = Vec::new();
    for (index, file) in files.iter().enumerate().filter(|(index, file)| code.takes(*index, file)) {
        let path = Path::new(file.path());
        // One section has the entries of all kinds. Those of bitcode are of the kinds of its device code.
        let has_kind = if bitcode::is_bitcode(file.view()) {
            let own = code.inputs.iter().filter(|input| input.index == index);
            own.filter_map(|input| OffloadKind::from_bit(input.entry.offload_kind)).any(|own| own == kind)
        } else {
            host_entries::read(file.view(), path)?.iter().any(|entry| entry.kind == kind)
        };
        if has_kind && let Some(entries) = matching::entries(file.view(), path, kind)? {
            found.push(FileEntries { path: file.path(), entries });
        }
    }
    Ok(found)
}

/// Newest release for each table, oldest first.
fn releases(kind: OffloadKind, files: &[FileEntries<'_>]) -> Result<Vec<Release>> {
    let mut tables: Vec<&FileEntries<'_>> = Vec::new();
    for file in files {
        let own = file.entries.release;
        let known = tables.iter().position(|table| table.entries.release.wrapper.shares_entries(&own.wrapper, kind));
        match known {
            Some(known) if tables[known].entries.release.number < own.number => tables[known] = file,
            Some(_) => {}
            None => tables.push(file),
        }
    }
    if let (OffloadKind::OpenMp, [one, other, ..]) = (kind, tables.as_slice()) {
        return Err(LinkError::MixedEntries {
            kind: kind.name(),
            one: one.path.to_owned(),
            one_release: one.entries.release.name,
            other: other.path.to_owned(),
            other_release: other.entries.release.name,
        });
    }
    let mut releases: Vec<Release> = tables.iter().map(|table| table.entries.release).collect();
    releases.sort_by_key(|release| release.number);
    Ok(releases)
}
