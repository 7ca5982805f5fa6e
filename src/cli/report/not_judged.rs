//! Libraries of others that an answer leaves out.

use fatbin_core::base::json::JsonWriter;

use super::Screen;
use super::text::{paragraph, printable};
use fatbin_ops::analyze::vendored::VendoredLibrary;

/// Adds the names of libraries of others, if there are any.
pub fn write_not_judged<'a>(json: &mut JsonWriter, libraries: impl Iterator<Item = &'a VendoredLibrary>) {
    let names: Vec<&str> = libraries.map(|library| library.name.as_str()).collect();
    json.optional("not_judged", Some(names).filter(|names| !names.is_empty()));
}

/// Returns a line about libraries of others; empty if there are none.
pub fn not_judged<'a>(libraries: impl Iterator<Item = &'a VendoredLibrary>, screen: &Screen) -> String {
    names_not_judged(libraries.map(|library| library.name.as_str()), screen)
}

/// Returns a line about libraries of others by their names; empty if there are none.
pub fn names_not_judged<'a>(names: impl Iterator<Item = &'a str>, screen: &Screen) -> String {
    let names: Vec<String> = names.map(printable).collect();
    if names.is_empty() {
        return String::new();
    }
    paragraph(&format!("not judged, as libraries of others: {}", names.join(", ")), screen)
}
