//! The C and C++ header of an object.

use std::fmt::Write;
use std::path::Path;

use super::error::EmbedError;
use super::names::{Name, Role, is_identifier};
use super::{EmbeddedFile, ObjectOptions, base_name, index};

/// Declaration of an entry of the index, which several headers may have.
const ENTRY: &str = "
#ifndef FATBIN_EMBED_ENTRY
#define FATBIN_EMBED_ENTRY
struct fatbin_embed_entry {
  const char *name;
  const void *data;
  uint64_t size;
  uint8_t sha256[32];
};
#endif
";

/// Returns the header that declares the symbols of an object; `path` is where it will be written.
pub fn c_header(files: &[EmbeddedFile<'_>], options: &ObjectOptions, path: &Path) -> Result<String, EmbedError> {
    let guard = guard(path);
    let mut text = format!(
        "/* Written by fatbin embed. Changes will be lost. */\n#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n"
    );
    // Code reaches a hidden symbol without a table of addresses.
    let attribute = if options.hidden {
        text.push_str(
            "\n#ifdef __GNUC__\n#define FATBIN_EMBED_HIDDEN __attribute__((visibility(\"hidden\")))\n#else\n#define \
             FATBIN_EMBED_HIDDEN\n#endif\n",
        );
        "FATBIN_EMBED_HIDDEN "
    } else {
        ""
    };
    if options.index.is_some() {
        text.push_str(ENTRY);
    }
    text.push_str("\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    for file in files.iter().filter(|file| file.name.namespaces().is_empty()) {
        declare(&mut text, file, options, attribute)?;
    }
    if let Some(name) = &options.index {
        if !is_identifier(name) {
            return Err(EmbedError::NotAnIdentifier { name: name.clone() });
        }
        let count = index::COUNT;
        let length = dimension(files.len());
        let _ = writeln!(text, "extern {attribute}const struct fatbin_embed_entry {name}[{length}];");
        let _ = writeln!(text, "extern {attribute}const uint64_t {name}{count};");
    }
    text.push_str("\n#ifdef __cplusplus\n}\n");
    for file in files.iter().filter(|file| !file.name.namespaces().is_empty()) {
        let namespaces = file.name.namespaces();
        for namespace in namespaces {
            let _ = writeln!(text, "namespace {namespace} {{");
        }
        declare(&mut text, file, options, attribute)?;
        let _ = writeln!(text, "{}", "}".repeat(namespaces.len()));
    }
    text.push_str("#endif\n\n#endif\n");
    Ok(text)
}

/// Declares the variables of a file.
fn declare(
    text: &mut String,
    file: &EmbeddedFile<'_>,
    options: &ObjectOptions,
    attribute: &str,
) -> Result<(), EmbedError> {
    for &(role, suffix) in options.style.symbols() {
        let identifier = identifier(&file.name, suffix)?;
        let _ = match role {
            Role::Start => {
                let length = dimension(file.bytes.len());
                writeln!(text, "extern {attribute}const unsigned char {identifier}[{length}];")
            }
            Role::End if options.host.has_even_symbols() && !file.bytes.len().is_multiple_of(2) => {
                let start = identifier_of_start(file, options)?;
                writeln!(text, "#define {identifier} ({start} + {}) /* odd, and so no symbol of C */", file.bytes.len())
            }
            Role::End => writeln!(text, "extern {attribute}const unsigned char {identifier}[];"),
            Role::Size => writeln!(text, "extern {attribute}const uint64_t {identifier};"),
            Role::AbsoluteSize => {
                writeln!(text, "extern {attribute}const unsigned char {identifier}[]; /* its address is the size */")
            }
        };
    }
    Ok(())
}

fn identifier_of_start(file: &EmbeddedFile<'_>, options: &ObjectOptions) -> Result<String, EmbedError> {
    let suffix = options.style.symbols().first().map_or("", |&(_, suffix)| suffix);
    identifier(&file.name, suffix)
}

fn identifier(name: &Name, suffix: &str) -> Result<String, EmbedError> {
    let error = || EmbedError::NotAnIdentifier { name: name.text().to_owned() };
    name.identifier(suffix).ok_or_else(error)
}

/// C does not allow an array dimension of 0.
fn dimension(length: usize) -> String {
    if length == 0 { String::new() } else { length.to_string() }
}

fn guard(path: &Path) -> String {
    let part = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("FATBIN_EMBED_{}", base_name(path).chars().map(part).collect::<String>())
}
