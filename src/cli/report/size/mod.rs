//! Reports of `fatbin size`.

mod csv;
mod duplicates;
mod json;
mod summary;
mod table;
mod what_if;

pub use csv::size_csv;
pub use json::size_json;
pub use summary::arch_summary;
pub use table::size_table;

use fatbin_core::base::bytes::total;
use fatbin_ops::analyze::size::{Duplicates, Level, PackageSizes, Row, Size};
use fatbin_ops::edit::what_if::Effect;

/// Sizes of files.
#[derive(Debug)]
pub struct SizeReport {
    /// Levels, outermost first.
    pub levels: Vec<Level>,
    /// The files.
    pub files: SizedFiles,
    /// Packages among the inputs.
    pub packages: Vec<PackageSizes>,
    /// Sum of all files.
    pub total: Size,
    /// Sum of all files of the baseline, if there is one.
    pub total_before: Option<Size>,
    /// Rows of the first level.
    pub rows: Vec<Row>,
    /// Names of changes, and their effects. The first entry is for no change.
    pub effects: Vec<(String, Effect)>,
    /// Percentage of the bytes that were rebuilt for the effects.
    pub sample: u32,
    /// Bytes that are stored several times, if they were searched for.
    pub duplicates: Option<Duplicates>,
}

/// Files with their sizes. A package may have a hundred thousand.
#[derive(Debug, Default)]
pub struct SizedFiles {
    count: usize,
    /// Path of the first file.
    first: String,
    /// Number of bytes that the files take in their packages, if every package states it.
    packed_size: Option<u64>,
    /// The files, for reports that list them.
    listed: Vec<SizedFile>,
}

impl SizedFiles {
    /// Adds a file. Only a report that lists files needs all of them.
    pub fn add(&mut self, file: SizedFile, is_listed: bool) {
        let before = if self.count == 0 { Some(0) } else { self.packed_size };
        self.packed_size = before.zip(file.packed_size).map(|(before, size)| total([before, size]));
        self.count += 1;
        if is_listed {
            self.listed.push(file);
        } else if self.count == 1 {
            self.first = file.path;
        }
    }
}

/// A file with its size.
#[derive(Debug)]
pub struct SizedFile {
    /// Path of the file.
    pub path: String,
    /// Its size.
    pub size: u64,
    /// Number of bytes that it takes in its package.
    pub packed_size: Option<u64>,
}

impl SizeReport {
    /// True if the rows of some level are kernels.
    fn has_kernels(&self) -> bool {
        self.levels.iter().any(|level| level.needs_kernels())
    }
}

/// Formats a change in percent of the size before.
fn growth(after: u64, before: u64) -> String {
    match before {
        0 if after == 0 => "+0.0".to_owned(),
        0 => "new".to_owned(),
        _ => format!("{:+.1}", 100.0 * (after as f64 - before as f64) / before as f64),
    }
}
