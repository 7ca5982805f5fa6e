//! Sizes as a table. The rows of a level are below their row of the previous level.

use super::duplicates::duplicates_table;
use super::what_if::what_if_table;
use super::{SizeReport, growth};
use crate::report::Screen;
use crate::report::text::{Column, columns, counted, headline};
use fatbin_ops::analyze::size::{PackageSizes, Row, Size};

/// Formats sizes; nothing if there are no files.
pub fn size_table(report: &SizeReport, screen: &Screen) -> String {
    let files = match report.files.count {
        0 => return String::new(),
        1 => report.files.first.clone(),
        count => counted(count, "file"),
    };
    let packed = report.files.packed_size.map_or(String::new(), |size| format!(", {} packed", screen.size(size)));
    let total = report.total.stored;
    let growth = |before: Size| screen.growth(i128::from(total) - i128::from(before.stored));
    let change = report.total_before.map_or(String::new(), |before| format!(", {}", growth(before)));
    let heading = headline(&files, &format!("{}{change}{packed}", screen.bytes(total)), screen);
    let packages: String = report.packages.iter().map(|package| package_table(package, screen)).collect();
    let mut rows = Vec::new();
    add_rows(report, &report.rows, 0, screen, &mut rows);
    let table = columns(&headings(report), rows.into_iter(), screen);
    let duplicates = report.duplicates.as_ref().map(|it| duplicates_table(it, screen)).unwrap_or_default();
    packages + &heading + &table + &what_if_table(report, screen) + &duplicates
}

/// Formats the bytes of a package by what they are for.
fn package_table(package: &PackageSizes, screen: &Screen) -> String {
    let total = package.total();
    let name = package.path.file_name().unwrap_or_default().to_string_lossy();
    let heading = headline(&name, &screen.bytes(total.stored), screen);
    let files = counted(package.files, "file");
    let device = format!("device code, in {files}");
    let parts = [
        (package.device_code, device.as_str()),
        (package.host_code, "host code in these files"),
        (package.libraries, "libraries without device code"),
        (package.others, "other members"),
        (Size::plain(package.overhead), "headers and directory of the archive"),
        (total, "all"),
    ];
    let rows = parts.iter().filter(|(size, _)| size.stored > 0).map(|(size, name)| {
        let stored = screen.size(size.stored);
        vec![stored, percent(size.stored, total.stored), screen.size(size.decompressed), (*name).to_owned()]
    });
    let headings = [Column::right("PACKED"), Column::right("%"), Column::right("UNPACKED"), Column::left("CONTENTS")];
    heading + &columns(&headings, rows, screen) + "\n"
}

fn headings(report: &SizeReport) -> Vec<Column> {
    let labels: Vec<String> = report.levels.iter().map(|level| level.name().to_uppercase()).collect();
    let numbers: &[&str] = match report.total_before {
        None if report.has_kernels() => &["STORED", "%", "DECOMPRESSED", "CODE", "KERNELS"],
        None => &["STORED", "%", "DECOMPRESSED"],
        Some(_) => &["STORED", "CHANGE", "%", "DECOMPRESSED", "CHANGE"],
    };
    let label = Column::line(&labels.join(" / "));
    // The label is last, because names of kernels are long.
    numbers.iter().map(|heading| Column::right(heading)).chain([label]).collect()
}

/// Adds rows. The rows of the next level follow each of them.
fn add_rows(report: &SizeReport, rows: &[Row], depth: usize, screen: &Screen, cells: &mut Vec<Vec<String>>) {
    for row in rows {
        let label = format!("{:width$}{}", "", row.label.text(), width = 2 * depth);
        let (stored, decompressed) = (screen.size(row.size.stored), screen.size(row.size.decompressed));
        cells.push(match report.total_before {
            None => {
                let percent = percent(row.size.stored, report.total.stored);
                let code = [screen.size(row.code.size), row.code.kernels.to_string()];
                let code = if report.has_kernels() { code.to_vec() } else { Vec::new() };
                [stored, percent, decompressed].into_iter().chain(code).chain([label]).collect()
            }
            Some(_) => {
                let before = row.before.unwrap_or_default().stored;
                let [change, decompressed_change] = row.change().map(|change| screen.growth(change));
                vec![stored, change, growth(row.size.stored, before), decompressed, decompressed_change, label]
            }
        });
        add_rows(report, &row.rows, depth + 1, screen, cells);
    }
}

/// Formats a part in percent of the whole.
fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.1}", 100.0 * part as f64 / whole as f64) }
}
