//! Table of the kernels of a file that differ: one row per kernel, for all archs together. Otherwise a kernel that grew
//! for ten archs would take ten rows and leave none for the next.

use super::Detail;
use super::cells::{MAX_ROWS, cell, left_out, shortened, size_cell};
use super::families::families;
use super::rows::{Row, rows};
use crate::report::Screen;
use crate::report::style::{Meaning, of_growth};
use crate::report::text::{Column, columns, counted, printable};
use fatbin_core::image::Figure;
use fatbin_ops::check::lock::{FIGURES, KernelDifference, LockedKernel, TargetDifference};

/// Maximum number of archs, and of different changes, of a kernel that are shown without `--all`.
const MAX_PARTS: usize = 4;

/// Returns a table of the families of the kernels that differ. Few kernels are listed instead, and so are all kernels if
/// the detail asks for it.
pub fn kernels(targets: &[&TargetDifference<'_>], detail: Detail, screen: &Screen) -> String {
    let rows = rows(targets);
    if rows.is_empty() {
        return String::new();
    }
    match families(&rows, detail.has_all, screen) {
        None => list(&rows, detail.has_all, screen),
        Some(families) if detail.has_kernels => families + &list(&rows, detail.has_all, screen),
        Some(families) => format!("{families}  {}; use -v to list them\n", counted(rows.len(), "kernel")),
    }
}

/// Returns a table of the kernels that differ, the largest difference first, and the number of rows left out.
fn list(rows: &[Row<'_>], all: bool, screen: &Screen) -> String {
    let shown = if all { rows.len() } else { MAX_ROWS };
    let [arch, what] = ["ARCH", "DETAILS"].map(Column::left);
    let what = what.meaning(meaning_of_details);
    let kernel = if all { Column::line("KERNEL") } else { Column::name("KERNEL") };
    let [old, new, change] = ["OLD", "NEW", "CHANGE"].map(Column::right);
    let change = change.meaning(of_growth);
    let cells = rows.iter().take(shown).map(|row| {
        let name = printable(row.name);
        vec![
            join_first(row.arch_names(), ", ", all),
            size_cell(row.size(KernelDifference::before), screen),
            size_cell(row.size(KernelDifference::after), screen),
            screen.growth(row.growth().into()),
            join_first(row.changes(all), "; ", all),
            if all { name } else { shortened(&name) },
        ]
    });
    columns(&[arch, old, new, change, what, kernel], cells, screen) + &left_out(rows.len(), shown, "kernel")
}

impl Row<'_> {
    /// Formats the figures that changed for any arch. Formats each different change once, with its archs, if `all` is
    /// set or if the kernel was added or removed for some archs and changed for others.
    fn changes(&self, all: bool) -> Vec<String> {
        let mut changes: Vec<(String, Vec<&str>)> = Vec::new();
        for (arch, difference) in &self.archs {
            let what = describe(&[difference]);
            match changes.iter_mut().find(|(known, _)| *known == what) {
                Some((_, archs)) if archs.last() == Some(&arch.as_str()) => {}
                Some((_, archs)) => archs.push(arch),
                None => changes.push((what, vec![arch])),
            }
        }
        let is_changed = |(_, it): &(String, &KernelDifference<'_>)| matches!(it, KernelDifference::Changed(..));
        match changes.as_slice() {
            [(what, _)] => vec![what.clone()],
            _ if !all && self.archs.iter().all(is_changed) => {
                vec![describe(&self.archs.iter().map(|(_, it)| *it).collect::<Vec<_>>())]
            }
            several => several.iter().map(|(what, archs)| format!("{}: {what}", archs.join(", "))).collect(),
        }
    }
}

/// Joins the first parts, and the number of other parts.
fn join_first(parts: Vec<String>, between: &str, all: bool) -> String {
    // "and 1 more" would be as long as the part itself.
    if all || parts.len() <= MAX_PARTS + 1 {
        return parts.join(between);
    }
    format!("{} and {} more", parts[..MAX_PARTS].join(between), parts.len() - MAX_PARTS)
}

/// Describes equal kinds of differences of one kernel: the figures that changed, as ranges, without the size of the
/// code, which has a column.
fn describe(differences: &[&KernelDifference<'_>]) -> String {
    let pairs: Vec<_> = differences.iter().filter_map(|it| it.before().zip(it.after())).collect();
    if pairs.is_empty() {
        let is_added = differences.iter().any(|it| it.after().is_some());
        return if is_added { "added".to_owned() } else { "removed".to_owned() };
    }
    let is_minimum =
        |kernel: &LockedKernel, figure: Figure| figure == Figure::Scratch && kernel.usage.scratch_is_minimum;
    let shown = |kernels: &mut dyn Iterator<Item = &LockedKernel>, index: usize, figure: Figure| {
        let mut values = Vec::new();
        let mut plus = "";
        for kernel in kernels {
            values.push(kernel.usage.figures[index]);
            plus = if is_minimum(kernel, figure) { "+" } else { plus };
        }
        match (cell(values.iter().min().copied().flatten()), cell(values.iter().max().copied().flatten())) {
            (least, most) if least == most => format!("{least}{plus}"),
            (least, most) => format!("{least}..{most}{plus}"),
        }
    };
    let changes = FIGURES.into_iter().enumerate().skip(1).filter_map(|(index, figure)| {
        let value = |kernel: &LockedKernel| (kernel.usage.figures[index], is_minimum(kernel, figure));
        let is_changed = pairs.iter().any(|(old, new)| value(old) != value(new));
        let old = shown(&mut pairs.iter().map(|(old, _)| *old), index, figure);
        let new = shown(&mut pairs.iter().map(|(_, new)| *new), index, figure);
        is_changed.then(|| format!("{} {old} -> {new}", figure.key()))
    });
    let changes: Vec<String> = changes.collect();
    if changes.is_empty() { "code differs".to_owned() } else { changes.join(", ") }
}

/// Returns the meaning of the first word about a kernel or an arch.
pub fn meaning_of_details(text: &str) -> Option<Meaning> {
    match text.split([':', ' ']).next()? {
        "added" => Some(Meaning::Good),
        "removed" => Some(Meaning::Bad),
        _ => None,
    }
}
