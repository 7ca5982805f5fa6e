//! Locks as text: one line per file, image and kernel, so that `git diff` shows what a reviewer needs to know.
//!
//! ```text
//! fatbin.lock/1
//!
//! file lib/libsaxpy.so size=22376 stored=3600
//! image gfx90a kind=hip image=elf triple=amdgcn-amd-amdhsa in=bundle stored=3456 size=3456 debug=none sha256=… code=…
//!   kernel _Z5saxpyPfi code_size=32 vgprs=2 sgprs=10 scratch=16+ shared=0 demangled="saxpy(float*, int)"
//! ```
//!
//! An entry is a word, a name and fields. A value that is empty or contains a space or a quotation mark is written as a
//! JSON string, and `-` is an unknown name. Kernels are indented because git heads a hunk with the last preceding line
//! that is not indented: the image of the kernels. A `+` after the value of `scratch` marks a minimum.

use std::fmt::Write;

use super::{Hash, Lock, LockedFile, LockedImage, LockedKernel};
use crate::escape::is_escaped;
use crate::inspect::Figure;

/// The first line: format and version.
pub const HEADER: &str = "fatbin.lock/1";

const NOTE: &str = "# The device code that is shipped, one line each; written by `fatbin lock`.\n";

/// Returns the text of a lock.
pub fn write(lock: &Lock) -> String {
    let mut text = format!("{HEADER}\n{NOTE}");
    for file in &lock.files {
        write_file(&mut text, file);
    }
    text
}

fn write_file(text: &mut String, file: &LockedFile) {
    *text += &format!("\nfile {}", quoted(&file.path));
    number(text, "size", file.size);
    number(text, "stored", file.stored);
    *text += "\n";
    for image in &file.images {
        write_image(text, image);
    }
}

fn write_image(text: &mut String, image: &LockedImage) {
    let target = &image.target;
    *text += &format!("image {}", target.arch.as_deref().map_or("-".to_owned(), quoted));
    string(text, "kind", &target.kind);
    *text += &format!(" image={}", quoted(&target.image));
    string(text, "triple", &target.triple);
    string(text, "in", &image.container_path);
    string(text, "codec", &image.codec);
    number(text, "stored", image.stored);
    number(text, "size", image.size);
    string(text, "debug", &image.debug);
    hash(text, "sha256", image.sha256);
    hash(text, "code", image.code);
    *text += "\n";
    for kernel in &image.kernels {
        write_kernel(text, kernel);
    }
}

fn write_kernel(text: &mut String, kernel: &LockedKernel) {
    *text += &format!("  kernel {}", quoted(&kernel.name));
    for (figure, value) in kernel.known() {
        number(text, figure.key(), Some(value));
        if figure == Figure::Scratch && kernel.scratch_is_minimum {
            text.push('+');
        }
    }
    string(text, "demangled", &kernel.demangled);
    *text += "\n";
}

fn number(text: &mut String, key: &str, value: Option<u64>) {
    if let Some(value) = value {
        write!(text, " {key}={value}").expect("writing to a string");
    }
}

fn string(text: &mut String, key: &str, value: &Option<String>) {
    if let Some(value) = value {
        write!(text, " {key}={}", quoted(value)).expect("writing to a string");
    }
}

fn hash(text: &mut String, key: &str, value: Option<Hash>) {
    if let Some(value) = value {
        write!(text, " {key}=").expect("writing to a string");
        for byte in value {
            write!(text, "{byte:02x}").expect("writing to a string");
        }
    }
}

/// Returns a value as one word: unchanged if the parser can read it back, else as a quoted string.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| !c.is_whitespace() && !is_escaped(c) && c != '"' && c != '\\';
    if !text.is_empty() && text != "-" && text.chars().all(is_plain) {
        return text.to_owned();
    }
    let mut output = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => output.extend(['\\', c]),
            c if is_escaped(c) => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    write!(output, "\\u{unit:04x}").expect("writing to a string");
                }
            }
            c => output.push(c),
        }
    }
    output + "\""
}
