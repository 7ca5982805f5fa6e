//! Directives in COFF objects: words for Microsoft's linker and lld-link.
//!
//! Source: Microsoft's PE format, `.drectve`; objects of clang 22.

use std::ffi::OsString;

use object::read::{File, FileKind, Object, ObjectSection};

use super::host_line::{DEFAULT_LIBRARY, HostLine, Meaning};
use super::response_files::{self, LLVM_WINDOWS};
use fatbin_core::base::bytes::{ObjectBytes, View};
use fatbin_core::base::io::os_string;

const SECTION: &str = ".drectve";

/// Files of the libraries that an object names; none for any other file.
pub fn libraries(view: View<'_>) -> Vec<OsString> {
    if !matches!(FileKind::parse(view.data()), Ok(FileKind::Coff | FileKind::CoffBig)) {
        return Vec::new();
    }
    let Ok(file) = File::parse(ObjectBytes(view)) else { return Vec::new() };
    let Some(text) = file.section_by_name(SECTION).and_then(|section| section.data().ok()) else { return Vec::new() };
    let Ok(words) = response_files::split(text, &LLVM_WINDOWS) else { return Vec::new() };
    let words = words.iter().map(|word| os_string(word));
    let is_library = |word: &OsString| {
        let name = word.as_encoded_bytes().get(1..DEFAULT_LIBRARY.len());
        name.is_some_and(|name| name.eq_ignore_ascii_case(&DEFAULT_LIBRARY.as_bytes()[1..]))
    };
    let Ok(line) = HostLine::parse(words.filter(is_library)) else { return Vec::new() };
    let files = line.words.into_iter().filter_map(|word| match word.meaning {
        Meaning::Input(name) => Some(name),
        _ => None,
    });
    files.collect()
}
