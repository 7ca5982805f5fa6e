//! Locks as text: one line per file, image and kernel, so that `git diff` shows what a reviewer needs to know.
//!
//! ```text
//! fatbin.lock/2
//!
//! file lib/libsaxpy.so size=22376 stored=3600
//! unit kind=hip image=elf triple=amdgcn-amd-amdhsa in=bundle debug=none
//!   image gfx90a stored=3456 size=3456 code=… rest=…
//!   image gfx942 stored=3456 size=3456 code=… rest=…
//!   kernel _Z5saxpyPfi scratch=16+ demangled="…" @gfx90a code_size=32 vgprs=2 code=… @gfx942 code_size=36 vgprs=4 code=…
//! ```
//!
//! An entry is a word, a name and fields. A value that is empty or contains a space or a quotation mark is written as a
//! JSON string, and `-` is an unknown name. A `+` after the value of `scratch` marks a minimum.
//!
//! A unit is a group of images with the same kernels (see `units`), so that a name is written once for all
//! architectures. The fields of a unit hold for all its images. The fields of a kernel hold for all images of the unit
//! up to the first `@`; the fields after `@gfx90a` or `@sm_80,sm_90` hold for these images only, and a kernel with an
//! `@` is in no other images. So a kernel takes one line, and the line changes if the kernel does for any architecture.
//!
//! `code` is the hash of the code and data of an image, and `rest` is the hash of all other bytes: headers, symbols,
//! debug information. Together they determine the image, and each byte is hashed once. `sha256`, the hash of the
//! decompressed image as other programs compute it, takes as long again, and is written on demand. `code` of a kernel
//! is the first eight bytes of the hash of its code, so that the line changes with the code.
//!
//! Names are written in full. A table of names with short IDs would be no smaller, because nearly every name is in one
//! unit (20,722 of 21,046 in torch 2.9.1), and a reviewer would have to look IDs up. The demangled name follows from
//! the name: it is written if both are short, and otherwise only if it differs from what this program computes
//! (`demangled=-` for none). In torch's lock of 11 MB, all demangled names would take another 14 MB.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::mem;

use super::units::{ImageLabels, Unit, UnitKernel, units};
use super::{KernelHash, KernelName, LockedFile, LockedImage, LockedKernel};
use fatbin_core::base::escape::is_escaped;
use fatbin_core::base::parallel::{map_parallel, threads};
use fatbin_core::image::{Demangler, Figure};

/// The first line: format and version.
pub const HEADER: &str = "fatbin.lock/2";

const NOTE: &str =
    "# The device code that is shipped; written by `fatbin lock`. Fields after @ARCH are those for this arch.\n";

/// Maximum length of a name and of its demangled name. If either is longer, the demangled name is left out unless it
/// was stated.
const MAX_DEMANGLED: usize = 160;

/// The first lines of a lock.
pub fn head() -> String {
    format!("{HEADER}\n{NOTE}")
}

/// Writes the entry of a file, without the end of the line.
pub fn write_file_entry(text: &mut String, file: &LockedFile) {
    *text += &format!("\nfile {}", quoted(&file.path));
    number(text, "size", file.size);
    number(text, "stored", file.stored);
}

/// Writes the entries of a file.
pub fn write_file(text: &mut String, file: &LockedFile) {
    write_file_entry(text, file);
    *text += "\n";
    let demangler = Demangler::default();
    map_parallel(&units(&file.images), threads(), |unit| unit_text(unit, &demangler), &mut |unit: String| {
        *text += &unit;
    });
}

fn unit_text(unit: &Unit<'_>, demangler: &Demangler) -> String {
    let text = &mut String::new();
    let first = unit.images.first().map(|image| attributes(image)).unwrap_or_default();
    let is_common = first.map(|it| it.1.is_some() && unit.images.iter().all(|image| attributes(image).contains(&it)));
    *text += "unit";
    for ((key, value), _) in first.into_iter().zip(is_common).filter(|(_, is_common)| *is_common) {
        string(text, key, value);
    }
    *text += "\n";
    let mut labels = (Vec::new(), ImageLabels::default());
    for image in &unit.images {
        labels.0.push(labels.1.next(image.target.arch.as_deref()));
        *text += &format!("  image {}", image.target.arch.as_deref().map_or("-".to_owned(), quoted));
        for ((key, value), _) in attributes(image).into_iter().zip(is_common).filter(|(_, is_common)| !is_common) {
            string(text, key, value);
        }
        number(text, "stored", image.stored);
        number(text, "size", image.size);
        hash(text, "sha256", image.sha256.as_ref().map(|it| &it[..]));
        hash(text, "code", image.code.as_ref().map(|it| &it[..]));
        hash(text, "rest", image.rest.as_ref().map(|it| &it[..]));
        *text += "\n";
    }
    for kernel in &unit.kernels {
        write_kernel(text, kernel, &labels.0, demangler);
    }
    mem::take(text)
}

/// Returns the properties that images of a unit may share, with their keys.
fn attributes(image: &LockedImage) -> [(&'static str, Option<&str>); 6] {
    [
        ("kind", image.target.kind.as_deref()),
        ("image", Some(&image.target.image)),
        ("triple", image.target.triple.as_deref()),
        ("in", image.container_path.as_deref()),
        ("codec", image.codec.as_deref()),
        ("debug", image.debug.as_deref()),
    ]
}

fn write_kernel(text: &mut String, kernel: &UnitKernel<'_>, labels: &[String], demangler: &Demangler) {
    *text += &format!("  kernel {}", quoted(kernel.name.as_str()));
    let kernels = || kernel.kernels.iter().map(|&(_, kernel)| kernel);
    let mut common: Vec<Field> = kernels().next().map(|kernel| fields(kernel).collect()).unwrap_or_default();
    common.retain(|field| kernels().all(|kernel| fields(kernel).any(|it| it == *field)));
    write_figures(text, &common);
    write_demangled(text, kernel.name, demangler);
    let mut scopes = Vec::<(Vec<Field>, Vec<&str>)>::new();
    let mut known = BTreeMap::<Vec<Field>, usize>::new();
    for (index, kernel) in &kernel.kernels {
        let own: Vec<Field> = fields(kernel).filter(|it| !common.contains(it)).collect();
        let label = labels.get(*index).map_or("", String::as_str);
        let scope = *known.entry(own.clone()).or_insert(scopes.len());
        match scopes.get_mut(scope) {
            Some((_, labels)) => labels.push(label),
            None => scopes.push((own, vec![label])),
        }
    }
    if kernel.kernels.len() < labels.len() || scopes.len() > 1 {
        for (own, labels) in &scopes {
            *text += &format!(" @{}", labels.join(","));
            write_figures(text, own);
        }
    }
    *text += "\n";
}

/// A field of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Field {
    /// Key and value of a figure, and whether the value is a minimum.
    Figure { key: &'static str, value: u64, is_minimum: bool },
    /// Hash of the code.
    Code(KernelHash),
}

/// The known fields of a kernel.
fn fields(kernel: &LockedKernel) -> impl Iterator<Item = Field> {
    let usage = &kernel.usage;
    let is_minimum = |figure| figure == Figure::Scratch && usage.scratch_is_minimum;
    let figures = usage.known().map(move |(figure, value)| Field::Figure {
        key: figure.key(),
        value,
        is_minimum: is_minimum(figure),
    });
    figures.chain(kernel.code.map(Field::Code))
}

fn write_figures(text: &mut String, fields: &[Field]) {
    for field in fields {
        match *field {
            Field::Figure { key, value, is_minimum } => {
                number(text, key, Some(value));
                *text += if is_minimum { "+" } else { "" };
            }
            Field::Code(code) => hash(text, "code", Some(&code)),
        }
    }
}

fn write_demangled(text: &mut String, name: &KernelName, demangler: &Demangler) {
    if let Some(stated) = name.stated() {
        *text += " demangled=";
        *text += &stated.map_or("-".to_owned(), quoted);
    } else if name.as_str().len() <= MAX_DEMANGLED
        && let Some(demangled) = demangler.demangle(name.as_str()).filter(|demangled| demangled.len() <= MAX_DEMANGLED)
    {
        string(text, "demangled", Some(&demangled));
    }
}

/// Writes a number as a field, if it is known.
pub fn number(text: &mut String, key: &str, value: Option<u64>) {
    if let Some(value) = value {
        write!(text, " {key}={value}").expect("writing to a string");
    }
}

fn string(text: &mut String, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        write!(text, " {key}={}", quoted(value)).expect("writing to a string");
    }
}

fn hash(text: &mut String, key: &str, value: Option<&[u8]>) {
    if let Some(value) = value {
        write!(text, " {key}=").expect("writing to a string");
        for byte in value {
            write!(text, "{byte:02x}").expect("writing to a string");
        }
    }
}

/// Returns a value as one word: unchanged if the parser can read it back, else as a quoted string.
pub fn quoted(text: &str) -> String {
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
