//! The members of archives that a host linker takes, by the symbols of the inputs.
//!
//! The order of archives does not count, and shared libraries define nothing. The list may contain members that the
//! linker does not take, but it lacks none that the linker takes. Symbols that only a linker script or one of the
//! compiler's own libraries uses are not known.

use std::collections::HashMap;

use object::read::{File, Object, ObjectSymbol};

use super::host_line::{HostLine, Meaning};
use super::inputs::HostFile;
use fatbin_core::base::bytes::{ObjectBytes, View};
use fatbin_core::format::bitcode;

/// Names of functions that the startup code of a program calls.
const ENTRY_POINTS: [&str; 4] = ["main", "_main", "WinMain", "wmain"];

/// Symbols of a file.
#[derive(Debug, Default)]
struct FileSymbols {
    defined: Vec<String>,
    /// Symbols that must be defined elsewhere, without weak ones.
    undefined: Vec<String>,
}

/// For each file, whether the linker takes it.
pub fn find(files: &[HostFile], line: &HostLine) -> Vec<bool> {
    let symbols: Vec<FileSymbols> = files.iter().map(|file| read(file.view())).collect();
    let mut members: HashMap<&str, usize> = HashMap::new();
    for (index, _) in files.iter().enumerate().filter(|(_, file)| file.is_lazy()) {
        for name in &symbols[index].defined {
            members.entry(name).or_insert(index);
        }
    }
    let mut is_taken = vec![false; files.len()];
    let mut pending: Vec<usize> = (0..files.len()).filter(|&index| !files[index].is_lazy()).collect();
    let requested = requested(line);
    let first = ENTRY_POINTS.into_iter().chain(requested.iter().map(String::as_str));
    pending.extend(first.filter_map(|name| members.get(name)));
    while let Some(index) = pending.pop() {
        if !std::mem::replace(&mut is_taken[index], true) {
            pending.extend(symbols[index].undefined.iter().filter_map(|name| members.get(name.as_str())));
        }
    }
    is_taken
}

/// Options that request a symbol: with the next word, or with the rest of the word.
const SEPARATE: [&str; 6] = ["-u", "--undefined", "--require-defined", "-require-defined", "-e", "--entry"];
const JOINED: [&str; 6] = ["--undefined=", "--require-defined=", "--entry=", "-u", "/include:", "-include:"];

/// Symbols that the line requests: `-u NAME`, `--undefined=NAME`, `/include:NAME`.
fn requested(line: &HostLine) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_next = false;
    for (word, text) in line.words.iter().flat_map(|word| word.linker_words().map(move |text| (word, text))) {
        let text = String::from_utf8_lossy(text).into_owned();
        if std::mem::take(&mut is_next) {
            names.push(text);
        } else if SEPARATE.contains(&text.as_str()) {
            is_next = true;
        } else if word.meaning == Meaning::Other || text.starts_with('/') {
            names.extend(JOINED.iter().find_map(|option| text.strip_prefix(option)).map(str::to_owned));
        }
    }
    names
}

fn read(view: View<'_>) -> FileSymbols {
    let mut symbols = FileSymbols::default();
    let mut add = |name: String, is_undefined: bool, is_weak: bool| match (is_undefined, is_weak) {
        (false, _) => symbols.defined.push(name),
        (true, false) => symbols.undefined.push(name),
        (true, true) => {}
    };
    if bitcode::is_bitcode(view) {
        for symbol in bitcode::symbols::symbols(view).unwrap_or_default() {
            add(symbol.name, symbol.is_undefined, symbol.is_weak);
        }
    } else if let Ok(file) = File::parse(ObjectBytes(view)) {
        for symbol in file.symbols().filter(|symbol| symbol.is_global() || symbol.is_undefined()) {
            let name = String::from_utf8_lossy(symbol.name_bytes().unwrap_or_default()).into_owned();
            if !name.is_empty() {
                add(name, symbol.is_undefined(), symbol.is_weak());
            }
        }
    }
    symbols
}
