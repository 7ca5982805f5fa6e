//! The Rust module of an object: a function for each file, which returns its bytes.

use std::collections::HashMap;
use std::fmt::Write;

use super::error::EmbedError;
use super::names::{Name, Role};
use super::{EmbeddedFile, ObjectOptions};
use fatbin_core::base::short_text::{ShortText, words};

/// Words of Rust that are not names of functions. Source: The Rust Reference, Keywords, of edition 2024; `r#` does not
/// make names of the first four.
static KEYWORDS: [ShortText<8>; 52] = words(
    "crate self super Self as break const continue else enum extern false fn for if impl in let loop match mod \
     move mut pub ref return static struct trait true type unsafe use where while async await dyn abstract become \
     box do final macro override priv typeof unsized virtual yield try gen",
);

/// Functions and modules of the file itself.
const OWN: [&str; 2] = ["all", "symbols"];

/// Returns the module for an object. It needs Rust 1.82, the first release with safe statics in `extern` blocks.
pub fn rust_module(files: &[EmbeddedFile<'_>], options: &ObjectOptions) -> Result<String, EmbedError> {
    let functions = functions(files)?;
    let mut text = String::from(
        "// Written by fatbin embed. Changes will be lost.\n\n#[allow(dead_code, non_upper_case_globals)]\nmod symbols {\n    \
         unsafe extern \"C\" {\n",
    );
    let &(role, suffix) = options.style.symbols().first().unwrap_or(&(Role::Start, ""));
    for (file, function) in files.iter().zip(&functions) {
        let symbol = file.name.symbol(suffix, role, options.host);
        let size = file.bytes.len();
        let _ = writeln!(text, "        #[link_name = {symbol:?}]\n        pub safe static {function}: [u8; {size}];");
    }
    text.push_str("    }\n}\n");
    for (file, function) in files.iter().zip(&functions) {
        let _ = writeln!(
            text,
            "\n/// Returns the {} bytes of `{}`.\n#[allow(dead_code, non_snake_case)]\npub fn {function}() -> &'static [u8] {{\n    \
             &symbols::{function}\n}}",
            file.bytes.len(),
            file.name.text(),
        );
    }
    let _ = writeln!(
        text,
        "\n/// Returns the names and bytes of all files.\n#[allow(dead_code)]\npub fn all() -> [(&'static str, &'static [u8]); {}] \
         {{\n    [",
        files.len()
    );
    for (file, function) in files.iter().zip(&functions) {
        let _ = writeln!(text, "        ({:?}, {function}()),", file.name.text());
    }
    text.push_str("    ]\n}\n");
    Ok(text)
}

/// Returns the name of each file's function.
fn functions(files: &[EmbeddedFile<'_>]) -> Result<Vec<String>, EmbedError> {
    let mut known = HashMap::new();
    files
        .iter()
        .map(|file| {
            let function = function(&file.name);
            match known.insert(function.clone(), file.name.text()) {
                None => Ok(function),
                Some(one) => {
                    let [one, other] = [one, file.name.text()].map(|name| format!("the function of {name}"));
                    Err(EmbedError::DuplicateSymbol { symbol: function, one, other })
                }
            }
        })
        .collect()
}

/// The file's name, with underscores in place of characters that Rust does not allow.
fn function(name: &Name) -> String {
    let text = name.text().replace("::", "_");
    let text: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let needs_prefix = text.starts_with(|c: char| c.is_ascii_digit()) || text.chars().all(|c| c == '_');
    if needs_prefix || KEYWORDS.iter().any(|keyword| *keyword == *text) || OWN.contains(&text.as_str()) {
        return format!("file_{text}");
    }
    text
}
