//! `diff` for people: what a reviewer asks first stands first, and the rest is as long as a screen.

use std::collections::BTreeSet;

use super::Differences;
use super::cells::{MAX_ROWS, cell, left_out, or_dash};
use super::kernels::kernels;
use crate::lock::{BudgetResult, Change, FileDifference, Measure, TargetDifference, TargetTotals, growth};
use crate::report::Screen;
use crate::report::text::{Column, columns, counted, printable};

/// What differs, as lines that end in a newline; with `all`, nothing is left out or cut.
pub fn differences_table(differences: &Differences<'_>, all: bool, screen: &Screen) -> String {
    let comparison = differences.comparison;
    let (old, new) = (comparison.old, comparison.new);
    let mut text = match comparison.files.is_empty() {
        true => "the device code is the same\n".to_owned(),
        false => "the device code differs\n".to_owned(),
    };
    let counts = [("image", old.images, new.images), ("kernel", old.kernels, new.kernels)];
    let counts = counts.map(|(what, old, new)| match old == new {
        true => counted(new, what),
        false => format!("{old} -> {}", counted(new, what)),
    });
    text += &format!("  device code: {}, {}\n", sizes(old.size, new.size), counts.join(", "));
    if (old.stored, new.stored) != (old.size, new.size) {
        text += &format!("  stored: {}\n", sizes(old.stored, new.stored));
    }
    for (what, archs) in [("added", &comparison.added_archs), ("removed", &comparison.removed_archs)] {
        if !archs.is_empty() {
            text += &format!("  archs {what}: {}\n", printable(&archs.join(", ")));
        }
    }
    differences.verdicts.iter().for_each(|verdict| text += &budget_line(verdict));
    let shown = if all { usize::MAX } else { MAX_ROWS };
    comparison.files.iter().take(shown).for_each(|file| text += &file_block(file, all, screen));
    text + &left_out(comparison.files.len(), shown, "file")
}

fn budget_line(verdict: &BudgetResult<'_>) -> String {
    let arch = verdict.budget.arch.as_ref().map(|arch| format!(" for {}", printable(arch))).unwrap_or_default();
    let stored = if verdict.measure == Measure::Stored { " as stored" } else { "" };
    let grown = growth(verdict.old, verdict.new);
    let (most, word) = (verdict.budget.limit, if verdict.exceeded { "EXCEEDED" } else { "kept" });
    format!("  limit of {most}{arch}{stored}: {word}, {}\n", signed(grown, percent(verdict.old, grown)))
}

/// What was and what is, and by how much it grew.
fn sizes(old: Option<u64>, new: Option<u64>) -> String {
    match (old, new) {
        (Some(old), Some(new)) if old == new => format!("{new} bytes"),
        (Some(old), Some(new)) => {
            let grown = growth(old, new);
            format!("{old} -> {new} bytes ({})", signed(grown, percent(old, grown)))
        }
        _ => "sizes are not stated".to_owned(),
    }
}

fn signed(grown: i64, percent: Option<f64>) -> String {
    let percent = percent.map(|percent| format!(", {percent:+.1} %")).unwrap_or_default();
    format!("{grown:+}{percent}")
}

fn percent(old: u64, grown: i64) -> Option<f64> {
    (old > 0).then(|| 100.0 * grown as f64 / old as f64)
}

fn file_block(file: &FileDifference<'_>, all: bool, screen: &Screen) -> String {
    let was = file.old_path().map(|old| format!(" (was {})", printable(old))).unwrap_or_default();
    let what = match (file.old, file.new) {
        (None, _) => "added".to_owned(),
        (_, None) => "removed".to_owned(),
        (Some(old), Some(new)) => match sizes(old.size, new.size) {
            sizes if file.targets.is_empty() => {
                let (old, new) = (old.stored, new.stored);
                format!("{sizes}, the same images stored in other containers: {}", self::sizes(old, new))
            }
            sizes => sizes,
        },
    };
    let mut text = format!("{}{was}: {what}\n", printable(file.path()));
    if !file.targets.is_empty() {
        text += &targets(&file.targets, screen);
    }
    // All kernels of an arch that came or went say nothing that its own line does not say.
    let is_shown = |target: &&TargetDifference<'_>| !matches!(target.change, Change::Added | Change::Removed);
    let changed: Vec<_> = file.targets.iter().filter(is_shown).collect();
    text + &kernels(&changed, all, screen)
}

fn targets(targets: &[TargetDifference<'_>], screen: &Screen) -> String {
    let [arch, kind, image, what] = ["ARCH", "KIND", "IMAGE", "WHAT"].map(Column::left);
    let [old, new, change] = ["OLD", "NEW", "CHANGE"].map(Column::right);
    let rows = targets.iter().map(|it| {
        let is_known = it.old.size.or(it.new.size).is_some();
        vec![
            or_dash(it.target.arch.as_deref()),
            or_dash(it.target.kind.as_deref()),
            printable(&it.target.image),
            cell(it.old.size.filter(|_| it.old.images > 0)),
            cell(it.new.size.filter(|_| it.new.images > 0)),
            if is_known { format!("{:+}", it.growth()) } else { "-".to_owned() },
            describe_target(it),
        ]
    });
    columns(&[arch, kind, image, old, new, change, what], rows, screen)
}

fn describe_target(difference: &TargetDifference<'_>) -> String {
    let TargetDifference { old, new, .. } = difference;
    let contents =
        |side: &TargetTotals| format!("{}, {}", counted(side.images, "image"), counted(side.kernels, "kernel"));
    let listed = |names: &BTreeSet<String>| printable(&names.iter().cloned().collect::<Vec<_>>().join(", "));
    let codecs = |side: &TargetTotals| if side.codecs.is_empty() { "plain".to_owned() } else { listed(&side.codecs) };
    let debug = match old.debug == new.debug {
        true => String::new(),
        false => format!(": {} -> {}", listed(&old.debug), listed(&new.debug)),
    };
    let of_images = match (old.images, new.images, difference.images_changed) {
        (1, 1, _) | (_, _, 0) => String::new(),
        (old, new, changed) if old == new => format!(" of {changed} of {new} images"),
        (old, new, _) => format!(", {old} -> {new} images"),
    };
    let what = match difference.change {
        Change::Added => format!("added: {}", contents(new)),
        Change::Removed => format!("removed: {}", contents(old)),
        Change::Code => format!("code{of_images}"),
        Change::Metadata => format!("only debug information or notes{debug}{of_images}"),
        Change::Storage => "only the way of storing".to_owned(),
    };
    let (before, after) = (codecs(old), codecs(new));
    match difference.change {
        Change::Added | Change::Removed => what,
        _ if before != after => format!("{what}, {before} -> {after}"),
        Change::Storage => format!("{what}, {} -> {} bytes", cell(old.stored), cell(new.stored)),
        _ => what,
    }
}
