//! Text of `diff`: the totals that a reviewer needs first, then tables that are cut to about one screen.

use std::collections::{BTreeMap, BTreeSet};

use super::cells::{MAX_ROWS, cell, left_out, or_dash, shortened, size_cell};
use super::kernels::{kernels, meaning_of_details};
use super::{Detail, Differences};
use crate::report::Screen;
use crate::report::style::{Meaning, of_growth};
use crate::report::text::{Column, columns, counted, headline, paragraph, printable};
use fatbin_core::base::bytes::total;
use fatbin_ops::check::lock::{
    BudgetResult, Change, Comparison, DifferenceCause, Duplicate, FileDifference, Measure, OtherVersions,
    TargetDifference, TargetTotals, growth,
};

/// Returns the differences as lines that end in a newline.
pub fn differences_table(differences: &Differences<'_>, detail: Detail, screen: &Screen) -> String {
    let all = detail.has_all;
    let comparison = differences.comparison;
    let old = comparison.old;
    let new = comparison.new;
    let is_equal = comparison.files.is_empty();
    let mut text = if is_equal { "device code is identical\n" } else { "device code differs\n" }.to_owned();
    let counts = [("image", old.images, new.images), ("kernel", old.kernels, new.kernels)];
    let counts = counts.map(
        |(what, old, new)| {
            if old == new { counted(new, what) } else { format!("{old} -> {}", counted(new, what)) }
        },
    );
    text += &paragraph(&format!("device code: {}, {}", sizes(old.size, new.size, screen), counts.join(", ")), screen);
    if (old.stored, new.stored) != (old.size, new.size) {
        text += &format!("  stored: {}\n", sizes(old.stored, new.stored, screen));
    }
    for (what, archs) in [("added", &comparison.added_archs), ("removed", &comparison.removed_archs)] {
        if !archs.is_empty() {
            text += &paragraph(&format!("archs {what}: {}", printable(&archs.join(", "))), screen);
        }
    }
    text += &other_versions(&comparison.other_versions());
    text += &same_code(comparison);
    text += &duplicates(&comparison.duplicates, all, screen);
    for result in differences.budgets {
        text += &budget_line(result, screen);
    }
    let shown = if all { usize::MAX } else { MAX_ROWS };
    for file in comparison.files.iter().take(shown) {
        text += &file_block(file, detail, screen);
    }
    text + &left_out(comparison.files.len(), shown, "file")
}

/// Maximum number of namespaces with versions that are named for each side.
const MAX_VERSIONS: usize = 2;

/// States how many kernels are the same but for the versions of libraries in their names.
fn other_versions(versions: &OtherVersions) -> String {
    if versions.kernels == 0 {
        return String::new();
    }
    let named = |names: &BTreeSet<String>| {
        let first: Vec<&str> = names.iter().take(MAX_VERSIONS).map(String::as_str).collect();
        let more = if names.len() > MAX_VERSIONS { ", ..." } else { "" };
        printable(&first.join(", ")) + more
    };
    let old = named(&versions.old);
    let new = named(&versions.new);
    let kernels = counted(versions.kernels, "kernel");
    let line = format!("  {kernels} with other versions in the name: {old} -> {new}");
    line + "\n"
}

/// Formats the causes of all differences, if the code is the same.
fn same_code(comparison: &Comparison<'_>) -> String {
    let Some(causes) = comparison.causes_with_same_code() else { return String::new() };
    if causes.is_empty() {
        let is_equal = comparison.files.is_empty();
        return if is_equal {
            String::new()
        } else {
            "  same code; compare files instead of locks for causes\n".to_owned()
        };
    }
    // Locks record these also with --code-only.
    let recorded = [DifferenceCause::DebugInformation, DifferenceCause::Compression, DifferenceCause::Containers];
    let remedy = if causes.iter().any(|cause| recorded.contains(cause)) {
        ""
    } else {
        "; pin the code with fatbin lock --code-only, which is equal for both"
    };
    format!("  same code, other {}{remedy}\n", listed(&causes))
}

fn listed(causes: &BTreeSet<DifferenceCause>) -> String {
    causes.iter().map(|cause| cause.text()).collect::<Vec<_>>().join(", ")
}

/// Number of rows about duplicated code.
const MAX_DUPLICATES: usize = 5;

/// Lists the code that occurs more often in the new build.
fn duplicates(duplicates: &[Duplicate<'_>], all: bool, screen: &Screen) -> String {
    let bytes = total(duplicates.iter().map(|it| it.bytes));
    let [_, ..] = duplicates else { return String::new() };
    let mut text = format!("  grown by duplication: +{}\n", screen.bytes(bytes));
    let shown = if all { usize::MAX } else { MAX_DUPLICATES };
    for it in duplicates.iter().take(shown) {
        let arch = printable(it.arch.unwrap_or("-"));
        let what = match it.kernel {
            Some(kernel) if all => format!("kernel {}", printable(kernel.readable_name())),
            Some(kernel) => format!("kernel {}", shortened(&printable(kernel.readable_name()))),
            None => "image".to_owned(),
        };
        text += &format!("    {what} for {arch}: {} -> {} copies, +{}\n", it.old, it.new, screen.bytes(it.bytes));
    }
    text + &left_out(duplicates.len(), shown, "duplicate")
}

fn budget_line(result: &BudgetResult<'_>, screen: &Screen) -> String {
    let arch = result.budget.arch.as_ref().map(|arch| format!(" for {}", printable(arch))).unwrap_or_default();
    let stored = if result.measure == Measure::Stored { ", stored" } else { "" };
    let grown = growth(result.old, result.new);
    let limit = result.budget.limit;
    let word =
        if result.exceeded { screen.paint(Meaning::Bad, "EXCEEDED") } else { screen.paint(Meaning::Good, "met") };
    let change = signed(grown, percent(result.old, grown), screen);
    format!("  growth limit {limit}{arch}{stored}: {word}, {change}\n")
}

/// Formats an old and a new size, and the growth.
fn sizes(old: Option<u64>, new: Option<u64>, screen: &Screen) -> String {
    match (old, new) {
        (Some(old), Some(new)) if old == new => screen.bytes(new),
        (Some(old), Some(new)) => {
            let grown = growth(old, new);
            format!("{} ({})", screen.change(old, new), signed(grown, percent(old, grown), screen))
        }
        _ => "sizes not recorded".to_owned(),
    }
}

fn signed(grown: i64, percent: Option<f64>, screen: &Screen) -> String {
    let percent = percent.map(|percent| format!(", {percent:+.1} %")).unwrap_or_default();
    let growth = screen.growth(grown.into());
    let painted = of_growth(&growth).map(|meaning| screen.paint(meaning, &growth));
    format!("{}{percent}", painted.unwrap_or(growth))
}

fn percent(old: u64, grown: i64) -> Option<f64> {
    (old > 0).then(|| 100.0 * grown as f64 / old as f64)
}

fn file_block(file: &FileDifference<'_>, detail: Detail, screen: &Screen) -> String {
    let what = match (file.old, file.new) {
        (None, _) => "added".to_owned(),
        (_, None) => "removed".to_owned(),
        (Some(old), Some(new)) => match sizes(old.size, new.size, screen) {
            sizes if file.targets.is_empty() => {
                let old = old.stored;
                let new = new.stored;
                format!("{sizes}, same images in different containers: {}", self::sizes(old, new, screen))
            }
            sizes => sizes,
        },
    };
    let mut text = match file.old_path().map(printable) {
        Some(old) if screen.is_terminal() => {
            headline(file.path(), &what, screen) + &paragraph(&format!("was {old}"), screen)
        }
        Some(old) => format!("{} (was {old}): {what}\n", printable(file.path())),
        None => headline(file.path(), &what, screen),
    };
    if !file.targets.is_empty() {
        text += &targets(&file.targets, detail, screen);
    }
    // The kernels of an added or removed arch add nothing to its own row.
    let is_shown = |target: &&TargetDifference<'_>| !matches!(target.change, Change::Added | Change::Removed);
    let changed: Vec<_> = file.targets.iter().filter(is_shown).collect();
    text + &kernels(&changed, detail, screen)
}

/// Number of archs with equal changes that have a row each.
const FEW_ARCHS: usize = 4;

/// Returns a table of the archs that differ. On terminals, many archs with the same details share a row, unless the
/// kernels are listed.
fn targets(targets: &[TargetDifference<'_>], detail: Detail, screen: &Screen) -> String {
    let [arch, kind, image, what] = ["ARCH", "KIND", "IMAGE", "DETAILS"].map(Column::left);
    let [old, new, change] = ["OLD", "NEW", "CHANGE"].map(Column::right);
    let row = |it: &TargetDifference<'_>| {
        let is_known = it.old.size.or(it.new.size).is_some();
        vec![
            or_dash(it.target.arch.as_deref()),
            or_dash(it.target.kind.as_deref()),
            printable(&it.target.image),
            size_cell(size_of_images(&it.old), screen),
            size_cell(size_of_images(&it.new), screen),
            if is_known { screen.growth(it.growth().into()) } else { "-".to_owned() },
            describe_target(it),
        ]
    };
    let has_all = detail.has_all || detail.has_kernels || !screen.is_terminal();
    let rows = groups(targets, if has_all { usize::MAX } else { FEW_ARCHS });
    let rows = rows.into_iter().map(|group| match group.as_slice() {
        [only] => row(only),
        several => summed(several, screen),
    });
    let headings = [arch, kind, image, old, new, change.meaning(of_growth), what.meaning(meaning_of_details)];
    columns(&headings, rows, screen)
}

/// Groups archs with the same kind and the same details, if they are more than `few`. The others stay alone, in order.
fn groups<'t, 'a>(targets: &'t [TargetDifference<'a>], few: usize) -> Vec<Vec<&'t TargetDifference<'a>>> {
    let key = |it: &TargetDifference<'_>| (it.target.kind.clone(), it.target.image.clone(), describe_target(it));
    let mut groups: Vec<Vec<&TargetDifference<'_>>> = Vec::new();
    let mut known: BTreeMap<_, Vec<&TargetDifference<'_>>> = BTreeMap::new();
    for target in targets {
        known.entry(key(target)).or_default().push(target);
    }
    for target in targets {
        match known.get(&key(target)) {
            Some(alike) if alike.len() > few => groups.extend(known.remove(&key(target))),
            Some(_) => groups.push(vec![target]),
            None => {}
        }
    }
    groups
}

/// A row for archs with the same details, with their sums.
fn summed(targets: &[&TargetDifference<'_>], screen: &Screen) -> Vec<String> {
    let sum = |side: &dyn Fn(&TargetDifference<'_>) -> Option<u64>| {
        targets.iter().filter_map(|it| side(it)).reduce(u64::saturating_add)
    };
    let old = sum(&|it| size_of_images(&it.old));
    let new = sum(&|it| size_of_images(&it.new));
    let growth: i128 = targets.iter().map(|it| i128::from(it.growth())).sum();
    let first = targets.first();
    let details = first.map(|it| describe_target(it)).unwrap_or_default();
    vec![
        counted(targets.len(), "arch"),
        or_dash(first.and_then(|it| it.target.kind.as_deref())),
        first.map(|it| printable(&it.target.image)).unwrap_or_default(),
        size_cell(old, screen),
        size_cell(new, screen),
        if old.or(new).is_some() { screen.growth(growth) } else { "-".to_owned() },
        format!("{details} each"),
    ]
}

/// Size of the images on one side; `None` without images.
fn size_of_images(totals: &TargetTotals) -> Option<u64> {
    if totals.images > 0 { totals.size } else { None }
}

fn describe_target(difference: &TargetDifference<'_>) -> String {
    let TargetDifference { old, new, .. } = difference;
    let contents = |side: &TargetTotals| match (side.images, side.kernels) {
        (images, 0) => counted(images, "image"),
        (1, kernels) => counted(kernels, "kernel"),
        (images, kernels) => format!("{}, {}", counted(images, "image"), counted(kernels, "kernel")),
    };
    let listed = |names: &BTreeSet<String>| printable(&names.iter().cloned().collect::<Vec<_>>().join(", "));
    let codecs =
        |side: &TargetTotals| if side.codecs.is_empty() { "uncompressed".to_owned() } else { listed(&side.codecs) };
    let debug = if old.debug == new.debug {
        String::new()
    } else {
        format!(": {} -> {}", listed(&old.debug), listed(&new.debug))
    };
    let of_images = match (old.images, new.images, difference.images_changed) {
        (1, 1, _) | (_, _, 0) => String::new(),
        (old, new, changed) if old == new => format!(" in {changed} of {new} images"),
        (old, new, _) => format!(", {old} -> {}", counted(new, "image")),
    };
    let what = match difference.change {
        Change::Added => format!("added: {}", contents(new)),
        Change::Removed => format!("removed: {}", contents(old)),
        Change::Code => format!("code differs{of_images}"),
        Change::Metadata if !difference.causes.is_empty() => {
            format!("same code, other {}{of_images}{debug}", self::listed(&difference.causes))
        }
        Change::Metadata => format!("only debug information or notes differ{of_images}{debug}"),
        Change::Storage => "only storage differs".to_owned(),
    };
    let before = codecs(old);
    let after = codecs(new);
    match difference.change {
        Change::Added | Change::Removed => what,
        _ if before != after => format!("{what}, {before} -> {after}"),
        Change::Storage => format!("{what}, {} -> {} bytes", cell(old.stored), cell(new.stored)),
        _ => what,
    }
}
