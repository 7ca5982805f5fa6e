//! Kernels by device as a table: first the answer, then the numbers of each device, then the rows.

use crate::analyze::coverage::{Coverage, FamilyCell, UninspectedImages};
use crate::cli::report::Screen;
use crate::cli::report::text::{Column, columns, counted, printable, write_columns};

/// Writes the kernels as a table, row by row.
pub fn coverage_table(coverage: &Coverage<'_>, screen: &Screen, write: &mut dyn FnMut(&str)) {
    let rows = || {
        coverage.kernels.iter().map(|kernel| {
            let cells = coverage.cells(kernel).map(|cell| printable(&cell.to_string()));
            cells.chain([printable(kernel.demangled.unwrap_or(kernel.name))]).collect()
        })
    };
    write(&summary(coverage, screen));
    matrix(coverage, rows, vec![Column::left("KERNEL")], screen, write);
    write(&not_inspected(coverage));
}

/// Writes the families of kernels as a table, row by row.
pub fn family_table(coverage: &Coverage<'_>, screen: &Screen, write: &mut dyn FnMut(&str)) {
    let families = coverage.families();
    let rows = || {
        families.iter().map(|family| {
            let cells = coverage.family_cells(family).into_iter().map(|cell| family_text(&cell, family.kernels));
            cells.chain([family.kernels.to_string(), printable(&family.name)]).collect()
        })
    };
    write(&summary(coverage, screen));
    matrix(coverage, rows, vec![Column::right("KERNELS"), Column::left("FAMILY")], screen, write);
    write(&not_inspected(coverage));
}

/// Formats the numbers of kernels on each device.
fn summary(coverage: &Coverage<'_>, screen: &Screen) -> String {
    let (kernels, devices) = (counted(coverage.kernels.len(), "kernel"), counted(coverage.devices.len(), "device"));
    let mut text = match coverage.kernels_with_gaps() {
        0 => format!("{kernels}, {devices}, no gaps\n"),
        gaps => format!("{kernels}, {devices}, {gaps} with gaps\n"),
    };
    if coverage.kernels.is_empty() || coverage.devices.is_empty() {
        return text;
    }
    let counts = coverage.counts();
    let has_unlinked = counts.iter().any(|count| count.unlinked > 0);
    let unlinked = if has_unlinked { Some("TO BE LINKED") } else { None };
    let names = ["NATIVE", "COMPATIBLE", "JIT", "NONE", "UNKNOWN", "GAPS"].into_iter().chain(unlinked);
    let headings: Vec<Column> = [Column::left("DEVICE")].into_iter().chain(names.map(Column::right)).collect();
    let rows = coverage.titles.iter().zip(counts).map(|(device, count)| {
        let numbers = [count.native, count.compatible, count.compiled, count.none, count.unknown, count.gaps];
        let numbers = numbers.into_iter().chain(has_unlinked.then_some(count.unlinked));
        [printable(device)].into_iter().chain(numbers.map(|number| number.to_string())).collect()
    });
    text += &columns(&headings, rows, screen);
    text.push('\n');
    text
}

fn matrix<I: Iterator<Item = Vec<String>>>(
    coverage: &Coverage<'_>,
    rows: impl Fn() -> I,
    last: Vec<Column>,
    screen: &Screen,
    write: &mut dyn FnMut(&str),
) {
    if coverage.kernels.is_empty() {
        return;
    }
    let devices = coverage.devices.iter().map(|device| Column::left(&printable(device)));
    let headings: Vec<Column> = devices.chain(last).collect();
    write_columns(&headings, rows, screen, write);
}

fn family_text(cell: &FamilyCell<'_>, kernels: usize) -> String {
    match (cell.common, cell.gaps) {
        (Some(common), _) => printable(&common.to_string()),
        (None, 0) => format!("{} of {kernels}", cell.running),
        (None, gaps) => format!("GAP in {gaps}"),
    }
}

fn not_inspected(coverage: &Coverage<'_>) -> String {
    let line = |(UninspectedImages { arch, reason }, images): (&UninspectedImages, &usize)| {
        format!("  not inspected: {} ({}): {reason}\n", printable(arch), counted(*images, "image"))
    };
    coverage.not_inspected.iter().map(line).collect()
}
