//! Debug information: `llvm-dwarfdump` prints units and functions with their declarations, and line tables row by row.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{Ours, text};
use crate::harness::step::Step;
use crate::harness::tools::Tool;

/// Compares units, and the sources of all kernels.
pub fn compare(directory: &Path, ours: &Ours, file: &str) -> Result<()> {
    let entries = Step::new(directory, Tool::Dwarfdump.path()?).args(["--debug-info", file]).run()?.stdout;
    let entries = attributes_of_entries(&entries);
    let said = |entry: &Entry, name: &str| entry.attributes.get(name).cloned().unwrap_or_default();
    let units: Vec<_> = entries.iter().filter(|entry| entry.tag == "DW_TAG_compile_unit").collect();
    let expected: Vec<_> = units
        .iter()
        .map(|unit| {
            json!({
                "name": said(unit, "DW_AT_name"), "directory": said(unit, "DW_AT_comp_dir"),
                "producer": said(unit, "DW_AT_producer"), "dwarf_version": unit.version,
            })
        })
        .collect();
    ensure!(ours.image["debug"]["units"] == json!(expected), "{}", ours.error(format!("{expected:#?}")));

    match text(&ours.image["debug"]["level"]).as_str() {
        "full" => {
            let functions = entries.iter().filter(|entry| entry.tag == "DW_TAG_subprogram");
            let declared: BTreeMap<String, Vec<String>> = functions
                .map(|entry| {
                    let linkage =
                        ["DW_AT_linkage_name", "DW_AT_MIPS_linkage_name", "DW_AT_name"].map(|name| said(entry, name));
                    let name = linkage.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
                    (name, vec![said(entry, "DW_AT_decl_file"), said(entry, "DW_AT_decl_line")])
                })
                .collect();
            for (name, kernel) in &ours.kernels {
                let source = [&kernel["source"]["file"], &kernel["source"]["line"]].map(text);
                let expected = declared.get(name).with_context(|| format!("{name} in {declared:?}"))?;
                ensure!(source[..] == expected[..], "{}", ours.error(format!("{name}: declared at {expected:?}")));
            }
            Ok(())
        }
        "lines" => lines(directory, ours, file),
        _ => {
            let without = ours.kernels.values().all(|kernel| kernel["source"].is_null());
            ensure!(without, "{}", ours.error("source lines out of nowhere"));
            Ok(())
        }
    }
}

/// If there are only line tables, a kernel's line comes from the first row that states one. In a cubin each kernel has
/// a sequence that begins at 0. The relocations, in the same order, assign the sequences to kernels.
fn lines(directory: &Path, ours: &Ours, file: &str) -> Result<()> {
    let table = Step::new(directory, Tool::Dwarfdump.path()?).args(["--debug-line", file]).run()?;
    let relocations = Step::new(directory, Tool::Readelf.path()?).args(["--relocs", "--wide", file]).run()?.stdout;
    let symbols = Step::new(directory, Tool::Readelf.path()?).args(["--symbols", "--wide", file]).run()?.stdout;
    let owners = relocated_symbols(&relocations);
    let rows = rows(&table.stdout);
    for (name, kernel) in &ours.kernels {
        let (address, sequence) = match owners.iter().position(|owner| owner == name) {
            Some(sequence) => (0, Some(sequence)),
            None => (address(&symbols, name).with_context(|| format!("{name} in {symbols}"))?, None),
        };
        let own = rows.iter().filter(|row| sequence.is_none_or(|number| row.sequence == number));
        let first = own.skip_while(|row| row.address != address).find(|row| row.line > 0);
        let first = first.with_context(|| table.error(format!("no row for {name} at {address:#x}")))?;
        let source = &kernel["source"];
        ensure!(source["line"].as_u64() == Some(first.line), "{}", table.error(ours.error(name)));
        ensure!(text(&source["file"]).ends_with("/kernels.cu"), "{}", ours.error(name));
    }
    Ok(())
}

struct Entry {
    tag: String,
    /// Of its unit.
    version: u64,
    attributes: BTreeMap<String, String>,
}

/// Entries in what `llvm-dwarfdump` prints: `0x…: TAG` and lines of `NAME (VALUE)` under it. Quotation marks are taken off.
fn attributes_of_entries(text: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut version = 0;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.contains(": Compile Unit:") {
            let stated = line.split("version = 0x").nth(1).and_then(|rest| rest.get(..4));
            version = stated.and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(0);
        } else if let [address, tag] = words[..]
            && address.starts_with("0x")
            && tag.starts_with("DW_TAG_")
        {
            entries.push(Entry { tag: tag.to_owned(), version, attributes: BTreeMap::new() });
        } else if let (Some((name, value)), Some(entry)) = (line.trim().split_once('('), entries.last_mut()) {
            let value = value.trim_end_matches(')').trim_matches('"');
            // An entry that closes a unit has a value that goes on below; only the first line is of interest.
            entry.attributes.entry(name.trim().to_owned()).or_insert(value.to_owned());
        }
    }
    entries
}

struct Row {
    sequence: usize,
    address: u64,
    line: u64,
}

/// Rows in what `llvm-dwarfdump --debug-line` prints: address, line and more; the last of a sequence says so.
fn rows(text: &str) -> Vec<Row> {
    let (mut rows, mut sequence) = (Vec::new(), 0);
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let hexadecimal = fields.first().and_then(|first| first.strip_prefix("0x"));
        let address = hexadecimal.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let (Some(address), Some(Ok(line))) = (address, fields.get(1).map(|line| line.parse())) else { continue };
        let ends = fields.contains(&"end_sequence");
        rows.push(Row { sequence, address, line: if ends { 0 } else { line } });
        sequence += usize::from(ends);
    }
    rows
}

/// The symbols that `.debug_line` refers to, by offset: the fifth field, before an addend if there is one.
fn relocated_symbols(relocations: &str) -> Vec<String> {
    let section = relocations.lines().skip_while(|line| !line.contains(".debug_line'")).skip(2);
    let fields = section.take_while(|line| !line.is_empty()).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut symbols: Vec<_> = fields.map(|fields| (fields[0], fields[4])).collect();
    symbols.sort_unstable();
    symbols.into_iter().map(|(_, symbol)| symbol.to_owned()).collect()
}

fn address(symbols: &str, name: &str) -> Option<u64> {
    let line = symbols.lines().find(|line| line.contains(" FUNC ") && line.split_whitespace().last() == Some(name))?;
    u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok()
}
