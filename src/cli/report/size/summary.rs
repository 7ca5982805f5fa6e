//! Summary of a scan: images and bytes by arch.

use crate::report::Screen;
use crate::report::text::{Column, columns, counted};
use fatbin_ops::analyze::size::ArchTotals;

/// Formats a line for each arch.
pub fn arch_summary(totals: &ArchTotals, screen: &Screen) -> String {
    if totals.images() == 0 {
        return "no device images\n".to_owned();
    }
    let rows = totals.rows();
    let heading = format!("{} for {}\n", counted(totals.images(), "device image"), counted(rows.len(), "arch"));
    let headings: Vec<Column> =
        [Column::left("ARCH")].into_iter().chain(["IMAGES", "STORED", "DECOMPRESSED"].map(Column::right)).collect();
    let cells = rows.into_iter().map(|(arch, total)| {
        let sizes = [total.size.stored, total.size.decompressed].map(|size| screen.size(size));
        [arch.to_owned(), total.images.to_string()].into_iter().chain(sizes).collect()
    });
    heading + &columns(&headings, cells, screen)
}
