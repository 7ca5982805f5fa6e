//! Bytes that are stored several times, as tables and as JSON.

use crate::report::Screen;
use crate::report::text::{Column, columns, counted};
use fatbin_core::base::bytes::hexadecimal;
use fatbin_core::base::json::JsonWriter;
use fatbin_ops::analyze::size::{DuplicateImages, Duplicates, IdenticalKernels, RepeatedKernel, Size};

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
        let stored = screen.bytes(stored);
        let decompressed = screen.size(decompressed);
        let heading = format!("{}: {} ({stored} wasted, {decompressed} decompressed)\n", self.title, self.rows.len());
        if self.rows.is_empty() {
            return heading;
        }
        let numbers = ["WASTED", "DECOMPRESSED"].iter().chain(self.numbers).map(|heading| Column::right(heading));
        let headings: Vec<Column> = numbers.chain(self.texts.iter().map(|heading| Column::line(heading))).collect();
        let rows = self.rows.iter().take(LISTED).map(|(wasted, numbers, texts)| {
            let sizes = [wasted.stored, wasted.decompressed].map(|size| screen.size(size));
            let numbers = numbers.iter().map(usize::to_string);
            sizes.into_iter().chain(numbers).chain(texts.iter().cloned()).collect()
        });
        let left = self.rows.iter().skip(LISTED).count();
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

/// Writes all duplicates.
pub fn write_duplicates(json: &mut JsonWriter, duplicates: &Duplicates) {
    let wasted = |json: &mut JsonWriter, size: Size| {
        json.field("wasted", size.stored);
        json.field("wasted_decompressed", size.decompressed);
    };
    json.objects("images", &duplicates.images, |json, it| {
        wasted(json, it.wasted);
        json.field("arch", &it.arch);
        json.field("sha256", hexadecimal(&it.sha256));
        json.objects("copies", &it.images, |json, (file, index)| {
            json.field("file", file);
            json.field("index", index);
        });
    });
    json.objects("kernels", &duplicates.kernels, |json, it| {
        wasted(json, it.wasted);
        json.field("file", &it.file);
        json.field("name", &it.name);
        json.field("archs", &it.archs);
        json.field("units", it.units);
        json.field("copies", it.copies);
        json.field("bodies", it.bodies);
    });
    json.objects("identical_kernels", &duplicates.bodies, |json, it| {
        wasted(json, it.wasted);
        json.field("file", &it.file);
        json.field("arch", &it.arch);
        json.field("names", &it.names);
    });
}
