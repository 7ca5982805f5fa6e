//! Paths in source text that refer to modules of the crate.
//!
//! Paths are recognized by their root: `crate`, `self`, `super` or a member of the workspace. Tests at the end of a file and comments are left out:
//! both may refer to anything.

/// Starts of paths that lead to modules of the workspace.
const ROOTS: [&str; 6] = ["crate", "self", "super", "fatbin_core", "fatbin_ops", "fatbin_dropin"];

/// Returns the absolute path of everything that a module's code refers to through one of the [`ROOTS`], also inside
/// braces. A glob import ends in `*`.
pub fn references(text: &str, module: &[String]) -> Vec<Vec<String>> {
    let code = code(text);
    let mut found = Vec::new();
    for (at, root) in roots(&code) {
        let mut base = match root {
            "crate" => module[..1].to_vec(),
            "self" => module.to_vec(),
            "super" => parent(module),
            other => vec![other.trim_start_matches("fatbin_").to_owned()],
        };
        let mut rest = &code[at + root.len() + "::".len()..];
        while let Some(after) = rest.strip_prefix("super::") {
            base = parent(&base);
            rest = after;
        }
        expand(&base, rest, &mut found);
    }
    found
}

/// Returns the names that a module imports from its own child modules, each with the name of the child.
pub fn imports_from_children(text: &str, children: &[&str]) -> Vec<(String, String)> {
    let code = code(text);
    let mut imports = Vec::new();
    for (at, _) in code.match_indices("use ") {
        let rest = code[at + "use ".len()..].trim_start_matches("self::");
        let child = identifier(rest);
        if children.contains(&child) {
            let mut paths = Vec::new();
            expand(&[], rest, &mut paths);
            let names = paths.into_iter().filter_map(|path| path.into_iter().nth(1));
            imports.extend(names.map(|name| (name, child.to_owned())));
        }
    }
    imports
}

/// Returns the text without comments and without the tests at its end.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = text.lines().map(|line| match line.find("// ") {
        Some(at) => &line[..at],
        None if line.trim_start().starts_with("//") => "",
        None => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns where paths begin in a text, each with its root.
fn roots(code: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for root in ROOTS {
        for (at, _) in code.match_indices(&format!("{root}::")) {
            let before = code[..at].chars().next_back();
            if !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                found.push((at, root));
            }
        }
    }
    found
}

fn parent(module: &[String]) -> Vec<String> {
    module[..module.len().saturating_sub(1)].to_vec()
}

fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// Adds the paths that `rest`, the text after `base::`, refers to.
fn expand(base: &[String], rest: &str, found: &mut Vec<Vec<String>>) {
    let rest = rest.trim_start();
    if let Some(list) = rest.strip_prefix('{') {
        for item in items(list) {
            expand(base, item, found);
        }
        return;
    }
    let name = if rest.starts_with('*') { "*" } else { identifier(rest) };
    let path = match name {
        "" => return,
        "self" => base.to_vec(),
        name => [base, &[name.to_owned()]].concat(),
    };
    match rest[name.len()..].strip_prefix("::") {
        Some(rest) => expand(&path, rest, found),
        None => found.push(path),
    }
}

/// Returns the items of a brace list up to its end.
fn items(list: &str) -> Vec<&str> {
    let (mut items, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.push(list[start..at].trim());
                return items;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    items
}

#[test]
fn references_are_found_in_every_form() {
    let text = "use crate::bytes::View; use crate::{report, scan::{self, walk::Walk}};\n\
                // crate::comment\nuse super::super::check; use super::sibling::Item as Other;\n\
                fn f(a: self::child::X) -> crate::error::Result { my_crate::x(fatbin_ops::edit::Editor) }\n\
                #[cfg(test)]\nmod tests {\n    use super::*; use crate::tests_only;\n}\n";
    let module = ["core", "lock", "build"].map(str::to_owned);
    let mut found: Vec<String> = references(text, &module).iter().map(|path| path.join("::")).collect();
    found.sort();
    let expected = [
        "core::bytes::View",
        "core::check",
        "core::error::Result",
        "core::lock::build::child::X",
        "core::lock::sibling::Item",
        "core::report",
        "core::scan",
        "core::scan::walk::Walk",
        "ops::edit::Editor",
    ];
    assert_eq!(found, expected);
}

#[test]
fn names_imported_from_children_are_found() {
    let text = "pub use walk::{Walk, depth}; use record::Record; use std::io;";
    let imports = imports_from_children(text, &["walk", "record"]);
    let imports: Vec<(&str, &str)> = imports.iter().map(|(name, child)| (name.as_str(), child.as_str())).collect();
    assert_eq!(imports, [("Walk", "walk"), ("depth", "walk"), ("Record", "record")]);
}
