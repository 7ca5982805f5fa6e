//! A lock as text: a line for each file, image and kernel, so that `git diff` shows what a reviewer has to know.
//!
//! ```text
//! fatbin.lock/1
//!
//! file lib/libsaxpy.so size=22376 stored=3600
//! image gfx90a kind=hip image=elf triple=amdgcn-amd-amdhsa in=bundle stored=3456 size=3456 debug=none sha256=… code=…
//!   kernel _Z5saxpyPfi code_size=32 vgprs=2 sgprs=10 scratch=16+ shared=0 demangled="saxpy(float*, int)"
//! ```
//!
//! An entry is a quoted, a name and fields. What has a space, a quotation mark or no character in it is a string as JSON
//! writes it, and `-` stands for a name that is not known. Kernels are indented because git puts the last line before a
//! change that is not above it: the image that the kernels are in. Behind the figure of scratch a `+` says that it may
//! become more.

use std::fmt::Write;

use super::{Hash, Lock, LockedFile, LockedImage, LockedKernel};
use crate::inspect::Figure;

/// The first line: what the file is, and which version of it.
pub const HEADER: &str = "fatbin.lock/1";

const NOTE: &str = "# The device code that is shipped, one line each; written by `fatbin lock`.\n";

/// The text of a lock.
pub fn write(lock: &Lock) -> String {
    let mut text = format!("{HEADER}\n{NOTE}");
    lock.files.iter().for_each(|file| write_file(&mut text, file));
    text
}

fn write_file(text: &mut String, file: &LockedFile) {
    *text += &format!("\nfile {}", quoted(&file.path));
    number(text, "size", file.size);
    number(text, "stored", file.stored);
    *text += "\n";
    file.images.iter().for_each(|image| write_image(text, image));
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
    image.kernels.iter().for_each(|kernel| write_kernel(text, kernel));
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
        write!(text, " {key}={value}").expect("a string takes it");
    }
}

fn string(text: &mut String, key: &str, value: &Option<String>) {
    if let Some(value) = value {
        write!(text, " {key}={}", quoted(value)).expect("a string takes it");
    }
}

fn hash(text: &mut String, key: &str, value: Option<Hash>) {
    if let Some(value) = value {
        write!(text, " {key}=").expect("a string takes it");
        value.iter().for_each(|byte| write!(text, "{byte:02x}").expect("a string takes it"));
    }
}

/// Text as one quoted: as it is where that can be read back, and in quotation marks otherwise.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| !c.is_whitespace() && !is_invisible(c) && c != '"' && c != '\\';
    if !text.is_empty() && text != "-" && text.chars().all(is_plain) {
        return text.to_owned();
    }
    let mut output = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => output.extend(['\\', c]),
            c if is_invisible(c) => {
                let mut units = [0; 2];
                c.encode_utf16(&mut units).iter().for_each(|unit| {
                    write!(output, "\\u{unit:04x}").expect("a string takes it");
                });
            }
            c => output.push(c),
        }
    }
    output + "\""
}

/// Characters that a reviewer would not see, or that change how those around them are shown: controls, separators of lines
/// and the format characters that the Unicode Bidirectional Algorithm (UAX #9) obeys.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}
