//! Bytes that are stored several times, as tables and as JSON.

use serde::Serialize;

use crate::analyze::size::{DuplicateImages, Duplicates, IdenticalKernels, RepeatedKernel, Size};
use crate::base::bytes::hexadecimal;
use crate::cli::report::Screen;
use crate::cli::report::text::{Column, columns, counted};

/// Number of rows of each table.
const LISTED: usize = 20;

/// Formats a table for each kind of duplicates.
pub fn duplicates_table(duplicates: &Duplicates, screen: &Screen) -> String {
    let Duplicates { images, kernels, bodies } = duplicates;
    let images = Kind {
        title: "identical images",
        texts: &["IMAGES"],
        numbers: &["COPIES"],
        rows: images.iter().map(|it| (it.wasted, vec![it.images.len()], image_texts(it))).collect(),
    };
    let kernels = Kind {
        title: "kernels in several translation units",
        texts: &["ARCHS", "KERNEL"],
        numbers: &["UNITS", "COPIES", "BODIES"],
        rows: kernels.iter().map(|it| (it.wasted, vec![it.units, it.copies, it.bodies], kernel_texts(it))).collect(),
    };
    let bodies = Kind {
        title: "kernels that differ in their names only",
        texts: &["ARCH", "KERNELS"],
        numbers: &["NAMES"],
        rows: bodies.iter().map(|it| (it.wasted, vec![it.names.len()], body_texts(it))).collect(),
    };
    [images, kernels, bodies].iter().map(|kind| kind.table(screen)).collect()
}

/// Table of one kind of duplicates.
struct Kind {
    title: &'static str,
    /// Headings of the columns after the wasted bytes.
    numbers: &'static [&'static str],
    texts: &'static [&'static str],
    /// Wasted bytes, and the cells of the columns.
    rows: Vec<(Size, Vec<usize>, Vec<String>)>,
}

impl Kind {
    fn table(&self, screen: &Screen) -> String {
        let mut total = Size::default();
        for (wasted, ..) in &self.rows {
            total.add(*wasted);
        }
        let Size { stored, decompressed } = total;
        let (stored, decompressed) = (screen.bytes(stored), screen.size(decompressed));
        let heading = format!("{}: {} ({stored} wasted, {decompressed} decompressed)\n", self.title, self.rows.len());
        if self.rows.is_empty() {
            return heading;
        }
        let numbers = ["WASTED", "DECOMPRESSED"].iter().chain(self.numbers).map(|heading| Column::right(heading));
        let headings: Vec<Column> = numbers.chain(self.texts.iter().map(|heading| Column::left(heading))).collect();
        let rows = self.rows.iter().take(LISTED).map(|(wasted, numbers, texts)| {
            let sizes = [wasted.stored, wasted.decompressed].map(|size| screen.size(size));
            let numbers = numbers.iter().map(usize::to_string);
            sizes.into_iter().chain(numbers).chain(texts.iter().cloned()).collect()
        });
        let left = self.rows.len().saturating_sub(LISTED);
        let left = if left > 0 { format!("  and {left} more, which --json lists\n") } else { String::new() };
        heading + &columns(&headings, rows, screen) + &left
    }
}

fn image_texts(duplicate: &DuplicateImages) -> Vec<String> {
    let (file, index) = duplicate.images.first().cloned().unwrap_or_default();
    vec![format!("{} of {file}#{index}{}", duplicate.arch, others(duplicate.images.len()))]
}

fn kernel_texts(kernel: &RepeatedKernel) -> Vec<String> {
    vec![kernel.archs.join(","), kernel.name.clone()]
}

fn body_texts(kernels: &IdenticalKernels) -> Vec<String> {
    let first = kernels.names.first().map(String::as_str).unwrap_or_default();
    vec![kernels.arch.clone(), format!("{first}{}", others(kernels.names.len()))]
}

/// Number of items besides the first.
fn others(count: usize) -> String {
    match count.saturating_sub(1) {
        0 => String::new(),
        others => format!(" and {}", counted(others, "other")),
    }
}

/// Duplicates in JSON.
#[derive(Serialize)]
pub struct JsonDuplicates<'a> {
    images: Vec<JsonImages<'a>>,
    kernels: Vec<JsonKernel<'a>>,
    identical_kernels: Vec<JsonIdentical<'a>>,
}

#[derive(Serialize)]
struct JsonImages<'a> {
    wasted: u64,
    wasted_decompressed: u64,
    arch: &'a str,
    sha256: String,
    copies: Vec<JsonCopy<'a>>,
}

#[derive(Serialize)]
struct JsonCopy<'a> {
    file: &'a str,
    index: usize,
}

#[derive(Serialize)]
struct JsonKernel<'a> {
    wasted: u64,
    wasted_decompressed: u64,
    file: &'a str,
    name: &'a str,
    archs: &'a [String],
    units: usize,
    copies: usize,
    bodies: usize,
}

#[derive(Serialize)]
struct JsonIdentical<'a> {
    wasted: u64,
    wasted_decompressed: u64,
    file: &'a str,
    arch: &'a str,
    names: &'a [String],
}

impl<'a> JsonDuplicates<'a> {
    pub fn new(duplicates: &'a Duplicates) -> Self {
        let images = duplicates.images.iter().map(|it| JsonImages {
            wasted: it.wasted.stored,
            wasted_decompressed: it.wasted.decompressed,
            arch: &it.arch,
            sha256: hexadecimal(&it.sha256),
            copies: it.images.iter().map(|(file, index)| JsonCopy { file, index: *index }).collect(),
        });
        let kernels = duplicates.kernels.iter().map(|it| JsonKernel {
            wasted: it.wasted.stored,
            wasted_decompressed: it.wasted.decompressed,
            file: &it.file,
            name: &it.name,
            archs: &it.archs,
            units: it.units,
            copies: it.copies,
            bodies: it.bodies,
        });
        let identical_kernels = duplicates.bodies.iter().map(|it| JsonIdentical {
            wasted: it.wasted.stored,
            wasted_decompressed: it.wasted.decompressed,
            file: &it.file,
            arch: &it.arch,
            names: &it.names,
        });
        JsonDuplicates {
            images: images.collect(),
            kernels: kernels.collect(),
            identical_kernels: identical_kernels.collect(),
        }
    }
}
