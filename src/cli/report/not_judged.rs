//! Libraries of others that an answer leaves out.

use super::Screen;
use super::text::{paragraph, printable};
use fatbin_ops::analyze::vendored::VendoredLibrary;

/// Returns a line about libraries of others; empty if there are none.
pub fn not_judged<'a>(libraries: impl Iterator<Item = &'a VendoredLibrary>, screen: &Screen) -> String {
    let names: Vec<String> = libraries.map(|library| printable(&library.name)).collect();
    if names.is_empty() {
        return String::new();
    }
    paragraph(&format!("not judged, as libraries of others: {}", names.join(", ")), screen)
}
