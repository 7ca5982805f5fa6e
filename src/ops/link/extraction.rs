//! Members of archives by their symbols, as in clang-linker-wrapper up to LLVM 20.
//!
//! A member joins the groups of compatible targets if it defines a symbol that is used and not defined, or a new symbol
//! that is visible to the host, such as a kernel. A member that joins may use symbols of others, so all are read again
//! until none joins. Source: clang-linker-wrapper 15.0, 16.0 and 19.1.

use std::collections::HashMap;

use super::device_symbols;
use super::error::Result;
use super::groups::{self, Group, Target};
use super::inputs::DeviceInput;
use crate::embed::llvm::linker::LinkerRules;
use fatbin_core::format::bitcode::symbols::GlobalSymbol;

/// A symbol in a group.
#[derive(Debug, Clone, Copy)]
struct SymbolState {
    is_defined: bool,
    is_weak: bool,
}

/// Symbols of the images in a group, by their names.
type SymbolTable = HashMap<String, SymbolState>;

/// Groups images by their targets. Members of archives are added if they are needed, or are for a `requested`
/// processor.
pub fn group<'data>(
    inputs: &[DeviceInput<'_>],
    targets: &[Target<'data>],
    requested: &[String],
    rules: LinkerRules,
) -> Result<Vec<Group<'data>>> {
    let mut groups = groups::group_objects(targets, rules);
    let mut tables = Vec::new();
    for group in &groups {
        let mut table = SymbolTable::new();
        for &index in &group.images {
            add(&mut table, &device_symbols::read(&inputs[index])?.unwrap_or_default());
        }
        tables.push(table);
    }
    let mut members = Vec::new();
    for (index, target) in targets.iter().enumerate().filter(|(_, target)| target.is_lazy) {
        if let Some(symbols) = device_symbols::read(&inputs[index])? {
            members.push((index, target, symbols));
        }
        // The group of a requested processor is empty until a member joins it.
        let has_own = groups.iter().any(|group| group.is_own(target, rules));
        if !has_own && requested.iter().any(|processor| processor == target.arch) {
            groups.push(Group { triple: target.triple, arch: target.arch, images: Vec::new() });
            tables.push(SymbolTable::new());
        }
    }
    let mut has_joined = true;
    while std::mem::take(&mut has_joined) {
        for (index, target, symbols) in &members {
            for (group, table) in groups.iter_mut().zip(&mut tables) {
                if group.accepts(target, rules) && !group.images.contains(index) && is_needed(table, symbols) {
                    group.images.push(*index);
                    add(table, symbols);
                    has_joined = true;
                }
            }
        }
    }
    groups.retain(|group| !group.images.is_empty());
    Ok(groups)
}

/// True if a member with these symbols joins a group.
fn is_needed(table: &SymbolTable, symbols: &[GlobalSymbol]) -> bool {
    symbols.iter().filter(|symbol| !symbol.is_undefined).any(|symbol| match table.get(&symbol.name) {
        Some(SymbolState { is_defined: true, .. }) => false,
        Some(SymbolState { is_weak, .. }) => !is_weak || symbol.is_visible,
        None => symbol.is_visible,
    })
}

fn add(table: &mut SymbolTable, symbols: &[GlobalSymbol]) {
    for symbol in symbols {
        let new = SymbolState { is_defined: !symbol.is_undefined, is_weak: symbol.is_weak };
        let state = table.entry(symbol.name.clone()).or_insert(new);
        state.is_defined |= new.is_defined;
        // A use that is not weak must be resolved.
        state.is_weak &= new.is_weak;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses symbols: `name` is defined, `name?` undefined, `name??` undefined and weak, `.name` hidden.
    fn symbols(text: &str) -> Vec<GlobalSymbol> {
        let symbol = |word: &str| GlobalSymbol {
            name: word.trim_matches(['.', '?']).to_owned(),
            is_undefined: word.ends_with('?'),
            is_weak: word.ends_with("??"),
            is_visible: !word.starts_with('.'),
        };
        text.split_whitespace().map(symbol).collect()
    }

    #[test]
    fn a_member_is_needed_for_what_is_used_and_for_what_the_host_sees() {
        let cases = [
            ("helper?", ".helper", true),
            ("helper??", ".helper", false),
            ("helper?? helper?", ".helper", true),
            ("helper?", ".other", false),
            ("kernel", ".helper", false),
            ("kernel", "second", true),
            ("kernel", "kernel", false),
            ("kernel?", "kernel", true),
            ("", "", false),
            ("helper?", "helper?", false),
        ];
        for (group, member, expected) in cases {
            let mut table = SymbolTable::new();
            add(&mut table, &symbols(group));
            assert_eq!(is_needed(&table, &symbols(member)), expected, "{group}, {member}");
        }
    }
}
