//! Table of the kernels of a file that differ, by family. Two versions of a library have different kernels, but the same
//! families.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::cells::{MAX_ROWS, shortened};
use super::rows::Row;
use crate::report::Screen;
use crate::report::style::{Meaning, of_growth};
use crate::report::text::{Column, columns, printable};
use fatbin_core::image::{family, short_name};
use fatbin_ops::check::lock::KernelDifference;

/// Maximum number of kernels that are listed without their families.
const FEW: usize = 8;

/// Width of the columns before the name of a kernel in a list.
const NAME_COLUMN: usize = 46;

/// The kernels of a family that differ.
#[derive(Debug, Default)]
struct FamilyRow {
    added: usize,
    removed: usize,
    changed: usize,
    old: u64,
    new: u64,
}

impl FamilyRow {
    fn add(&mut self, row: &Row<'_>) {
        let is_in_all = |side: fn(&KernelDifference<'_>) -> bool| row.archs.iter().all(|(_, it)| side(it));
        if is_in_all(|it| it.before().is_none()) {
            self.added += 1;
        } else if is_in_all(|it| it.after().is_none()) {
            self.removed += 1;
        } else {
            self.changed += 1;
        }
        self.old += row.size(KernelDifference::before).unwrap_or_default();
        self.new += row.size(KernelDifference::after).unwrap_or_default();
    }

    fn growth(&self) -> i128 {
        i128::from(self.new) - i128::from(self.old)
    }

    fn kernels(&self) -> String {
        let counts = [(self.added, "added"), (self.removed, "removed"), (self.changed, "changed")];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        counts.map(|(count, what)| format!("{count} {what}")).collect::<Vec<_>>().join(", ")
    }
}

/// Returns a table of the families of kernels, the largest growth first. `None` for few kernels, or if each
/// is a separate family.
pub fn families(rows: &[Row<'_>], all: bool, screen: &Screen) -> Option<String> {
    let mut families: BTreeMap<String, FamilyRow> = BTreeMap::new();
    for row in rows {
        families.entry(family(row.name)).or_default().add(row);
    }
    // Kernels of a family that a narrow column cannot tell apart are rows without an answer.
    let width = screen.width.map_or(usize::MAX, |width| width.saturating_sub(NAME_COLUMN));
    let names: BTreeSet<String> = rows.iter().map(|row| short_name(&shortened(&printable(row.name)), width)).collect();
    let are_few = rows.len() <= FEW && names.len() == rows.len();
    if are_few || families.len() == rows.len() {
        return None;
    }
    let mut families: Vec<(String, FamilyRow)> = families.into_iter().collect();
    families.sort_by_cached_key(|(_, family)| Reverse((family.growth().unsigned_abs(), family.old.max(family.new))));
    let shown = if all { families.len() } else { MAX_ROWS };
    let [old, new, change] = ["OLD", "NEW", "CHANGE"].map(Column::right);
    let kernels = Column::left("KERNELS").meaning(meaning_of_kernels);
    let cells = families.iter().take(shown).map(|(name, family)| {
        let old = screen.size(family.old);
        let new = screen.size(family.new);
        vec![old, new, screen.growth(family.growth()), family.kernels(), printable(name)]
    });
    let headings = [old, new, change.meaning(of_growth), kernels, Column::name("FAMILY")];
    let more = match families.iter().skip(shown).count() {
        0 => String::new(),
        more => format!("  and {more} more families; use --all to list them\n"),
    };
    Some(columns(&headings, cells, screen) + &more)
}

/// Returns the meaning of the kernels of a family that were only added or only removed.
fn meaning_of_kernels(text: &str) -> Option<Meaning> {
    match (text.contains("added"), text.contains("removed"), text.contains("changed")) {
        (true, false, false) => Some(Meaning::Good),
        (false, true, false) => Some(Meaning::Bad),
        _ => None,
    }
}
