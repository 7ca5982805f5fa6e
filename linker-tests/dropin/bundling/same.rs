//! Equality of two calls, and of two files.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use object::{Object, ObjectSection, ObjectSymbol};

use crate::dropin::{Call, CallResult, DirectoryEntry, Pair};

/// Labels of figures that depend on the codec's release or on the machine.
const MEASURED: [&str; 7] = [
    "Total file size (including headers)",
    "Binary size after compression",
    "Compression rate",
    "Compression ratio",
    "Compression speed",
    "Size before decompression",
    "Decompression speed",
];

/// Calls both programs, requires equal results, and returns the result of the tool.
pub fn calls(pair: &Pair, call: &Call) -> Result<(CallResult, CallResult)> {
    let (theirs, ours) = pair.both(call)?;
    let (mut one, mut other) = (plain(&theirs)?, plain(&ours)?);
    if theirs.status != 0 && ours.status == theirs.status {
        ensure!(other.3.is_empty(), "{}", pair.difference(call, &theirs, &ours));
        one.3.clear();
        other.3.clear();
    }
    ensure!(one == other, "{}", pair.difference(call, &theirs, &ours));
    Ok((theirs, ours))
}

/// Returns everything of a call that must be equal.
type Plain = (i32, Vec<String>, String, BTreeMap<String, Content>);

fn plain(result: &CallResult) -> Result<Plain> {
    let mut out: Vec<String> = result.out.lines().map(str::to_owned).collect();
    out.sort_unstable();
    let is_measured = |line: &str| MEASURED.iter().any(|name| line.starts_with(name));
    let figures =
        |line: &str| if is_measured(line) { line.replace(|c: char| c.is_ascii_digit(), "") } else { line.into() };
    // A number may have more digits in one of the outputs.
    let err: Vec<String> = result.err.lines().map(|line| figures(line).replace(',', "")).collect();
    let mut left = BTreeMap::new();
    for (name, file) in &result.left {
        let DirectoryEntry::File { mode, bytes } = file else { bail!("{name}: no file") };
        left.insert(name.clone(), Content { mode: *mode, what: What::of(bytes).with_context(|| name.clone())? });
    }
    Ok((result.status, out, err.join("\n"), left))
}

/// Contents of a file.
#[derive(PartialEq, Eq)]
struct Content {
    mode: u32,
    what: What,
}

/// Format of a file.
#[derive(PartialEq, Eq)]
pub enum What {
    Compressed { version: u16, method: u16, full_size: u64, hash: u64, full: Vec<u8> },
    Object(Vec<Section>, Vec<String>),
    Bytes(Vec<u8>),
}

/// Name, kind, flags, alignment and content of a section.
type Section = (String, String, String, u64, Vec<u8>);

impl What {
    /// Parses a file. Each compressed bundle is decompressed, also in a section, and its stored sizes are checked.
    pub fn of(bytes: &[u8]) -> Result<What> {
        if bytes.starts_with(b"CCOB") {
            return compressed(bytes);
        }
        if bytes.starts_with(b"\x7fELF") || bytes.starts_with(&[0x64, 0x86]) {
            return object(bytes);
        }
        Ok(What::Bytes(bytes.to_vec()))
    }
}

fn compressed(bytes: &[u8]) -> Result<What> {
    let word = |at: usize, size: usize| {
        let field = bytes.get(at..at + size).context("too short for a header")?;
        Ok::<u64, anyhow::Error>(field.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    };
    let (version, method) = (word(4, 2)? as u16, word(6, 2)? as u16);
    let width = if version == 3 { 8 } else { 4 };
    let (total, full_size, hash) = (word(8, width)?, word(8 + width, width)?, word(8 + 2 * width, 8)?);
    ensure!(total == bytes.len() as u64, "states {total} bytes, has {}", bytes.len());
    let full = zstd::decode_all(&bytes[16 + 2 * width..])?;
    ensure!(full.len() as u64 == full_size, "states {full_size} bytes, gives {}", full.len());
    Ok(What::Compressed { version, method, full_size, hash, full })
}

/// The layout of string tables depends on the writer.
const TABLES: [&str; 3] = [".strtab", ".shstrtab", ".symtab"];

fn object(bytes: &[u8]) -> Result<What> {
    let file = object::File::parse(bytes)?;
    let mut sections = Vec::new();
    for section in file.sections() {
        let name = section.name()?.to_owned();
        if !TABLES.contains(&name.as_str()) && !name.starts_with(".rela") {
            let (kind, flags) = (format!("{:?}", section.kind()), format!("{:?}", section.flags()));
            let relocations: Vec<String> = section.relocations().map(|it| format!("{:#x}", it.0)).collect();
            let kind = format!("{kind} {relocations:?}");
            let data = match section.data()? {
                data if data.starts_with(b"CCOB") => match compressed(data)? {
                    What::Compressed { full, .. } => full,
                    What::Object(..) | What::Bytes(_) => bail!("{name}: no compressed bundle"),
                },
                data => data.to_vec(),
            };
            sections.push((name, kind, flags, section.align(), data));
        }
    }
    let symbols = file.symbols().map(|it| format!("{:?} {:#x} {:?}", it.name(), it.address(), it.kind())).collect();
    Ok(What::Object(sections, symbols))
}
