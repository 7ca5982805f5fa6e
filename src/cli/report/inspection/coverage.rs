//! Kernels by device as a table: first the answer, then the numbers of each device, then the rows.

use std::collections::{BTreeSet, HashMap};

use crate::report::Screen;
use crate::report::style::{Meaning, of_count, of_defects};
use crate::report::text::{Column, columns, counted, printable, wrapped, write_columns};
use fatbin_core::image::{family, short_name};
use fatbin_ops::analyze::coverage::{
    Coverage, CoverageCell, CoveredKernel, DeviceCounts, FamilyCell, UninspectedImages, is_native,
};

/// Writes the kernels that do not run as native code everywhere, by the devices and what runs there instead. The other
/// kernels have one line.
pub fn coverage_rollup(coverage: &Coverage<'_>, screen: &Screen, write: &mut dyn FnMut(&str)) {
    write(&summary(coverage, screen));
    let groups = groups(coverage);
    for group in groups.iter().take(MAX_GROUPS) {
        write(&group.text(screen));
    }
    if let Some(more) = groups.len().checked_sub(MAX_GROUPS).filter(|more| *more > 0) {
        write(&format!("{more} more groups of families; use -v to list the kernels\n"));
    }
    let native = coverage.native_everywhere();
    if native > 0 && !coverage.devices.is_empty() {
        let line = format!("{} native everywhere", counted(native, "kernel"));
        write(&format!("{}\n", screen.paint(Meaning::Usual, &line)));
    }
    write(&not_inspected(coverage));
}

/// Maximum number of groups of families, and of lines with the names of a group.
const MAX_GROUPS: usize = 20;
const MAX_NAME_LINES: usize = 3;

/// Space for the name of a family.
const FAMILY_WIDTH: usize = 48;

/// Kernels that run in the same way on every device.
struct Group {
    /// Devices and the code that runs there instead of native code. Gaps are first.
    exceptions: Vec<String>,
    kernels: usize,
    /// Names of the families of the kernels.
    families: BTreeSet<String>,
}

/// Groups the kernels that are not native everywhere. The groups with gaps are first.
fn groups(coverage: &Coverage<'_>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut places: HashMap<Vec<String>, usize> = HashMap::new();
    let mut of_rows: HashMap<_, Vec<String>> = HashMap::new();
    for kernel in &coverage.kernels {
        let exceptions = of_rows.entry(coverage.row_number(kernel)).or_insert_with(|| exceptions(coverage, kernel));
        if exceptions.is_empty() {
            continue;
        }
        let place = *places.entry(exceptions.clone()).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Group { exceptions: exceptions.clone(), kernels: 0, families: BTreeSet::new() });
        }
        let Some(group) = groups.get_mut(place) else { continue };
        group.kernels += 1;
        group.families.insert(family(&coverage.names.shown(kernel.name)));
    }
    groups
}

impl Group {
    fn text(&self, screen: &Screen) -> String {
        let families = match self.families.len() {
            1 => String::new(),
            count => format!(" of {count} families"),
        };
        let count = format!("{}{families} not native everywhere:", counted(self.kernels, "kernel"));
        let mut text = screen.paint(Meaning::Heading, &count) + "\n";
        let width = screen.width.unwrap_or(WIDTH);
        for exception in &self.exceptions {
            let words: Vec<String> = exception.split(' ').map(str::to_owned).collect();
            let meaning = meaning_of_exception(exception);
            text += &lines(&words, " ", width, usize::MAX, &|line| match meaning {
                Some(meaning) => screen.paint(meaning, line),
                None => line.to_owned(),
            });
        }
        let names: Vec<String> =
            self.families.iter().map(|family| printable(&short_name(family, FAMILY_WIDTH))).collect();
        text + &lines(&names, ", ", width, MAX_NAME_LINES, &str::to_owned)
    }
}

/// Width of output that is not a terminal.
const WIDTH: usize = 100;

/// Formats items on indented lines, at most `most` of them.
fn lines(items: &[String], between: &str, width: usize, most: usize, paint: &dyn Fn(&str) -> String) -> String {
    let plain: Vec<&str> = items.iter().map(String::as_str).collect();
    let mut text = String::new();
    let mut rest = plain.as_slice();
    for count in wrapped(&plain, between, width.saturating_sub(2)).into_iter().take(most) {
        let (line, after) = rest.split_at(count.min(rest.len()));
        rest = after;
        let end = if rest.is_empty() { "" } else { between.trim_end() };
        text += &format!("  {}{end}\n", paint(&line.join(between)));
    }
    if rest.is_empty() { text } else { format!("{text}  and {} more\n", rest.len()) }
}

/// The devices where a kernel runs from other than native code, by how it runs there. Gaps are first.
fn exceptions<'a>(coverage: &Coverage<'a>, kernel: &CoveredKernel<'a>) -> Vec<String> {
    let mut answers: Vec<(CoverageCell<'_>, Vec<&str>)> = Vec::new();
    for (device, cell) in coverage.devices.iter().zip(coverage.cells(kernel)) {
        if is_native(cell) {
            continue;
        }
        match answers.iter_mut().find(|(known, _)| *known == cell) {
            Some((_, devices)) => devices.push(device),
            None => answers.push((cell, vec![device])),
        }
    }
    answers.sort_by_cached_key(|(cell, _)| !cell.is_gap());
    let text = |(cell, devices): (CoverageCell<'_>, Vec<&str>)| {
        let way = match cell {
            CoverageCell::None => NOTHING.to_owned(),
            CoverageCell::Unknown => "unknown".to_owned(),
            CoverageCell::Unlinked => "to be linked".to_owned(),
            CoverageCell::Gap(_) => cell.to_string(),
            cell => format!("by {cell}"),
        };
        printable(&format!("{way} on {}", devices.join(", ")))
    };
    answers.into_iter().map(text).collect()
}

/// Words for gaps in a cell, and for devices without code.
const GAPS: [&str; 3] = ["GAP", "EMPTY", "TRAP"];
const NOTHING: &str = "nothing";

fn meaning_of_exception(text: &str) -> Option<Meaning> {
    let is_gap = GAPS.iter().any(|gap| text.starts_with(gap));
    (is_gap || text.starts_with(NOTHING)).then_some(Meaning::Bad)
}

fn meaning_of_cell(text: &str) -> Option<Meaning> {
    match text {
        "native" | "-" => Some(Meaning::Usual),
        "?" | "link" | "PTX" | "SPIR-V" => Some(Meaning::Unsure),
        _ => GAPS.iter().any(|gap| text.contains(gap)).then_some(Meaning::Bad),
    }
}

/// Writes the kernels as a table, row by row.
pub fn coverage_table(coverage: &Coverage<'_>, screen: &Screen, write: &mut dyn FnMut(&str)) {
    let rows = || {
        coverage.kernels.iter().map(|kernel| {
            let cells = coverage.cells(kernel).map(|cell| printable(&cell.to_string()));
            cells.chain([printable(&coverage.names.shown(kernel.name))]).collect()
        })
    };
    write(&summary(coverage, screen));
    matrix(coverage, rows, vec![Column::name("KERNEL")], screen, write);
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
    matrix(coverage, rows, vec![Column::right("KERNELS"), Column::name("FAMILY")], screen, write);
    write(&not_inspected(coverage));
}

/// Formats the numbers of kernels on each device.
fn summary(coverage: &Coverage<'_>, screen: &Screen) -> String {
    let kernels = counted(coverage.kernels.len(), "kernel");
    let devices = counted(coverage.devices.len(), "device");
    let mut text = match coverage.kernels_with_gaps() {
        0 => match coverage.partly_served().len() {
            0 => format!("{kernels}, {devices}, no gaps\n"),
            count => format!("{kernels}, {devices}, {} without code for some kernels\n", counted(count, "device")),
        },
        gaps => format!("{kernels}, {devices}, {}\n", screen.paint(Meaning::Bad, &format!("{gaps} with gaps"))),
    };
    if coverage.kernels.is_empty() || coverage.devices.is_empty() {
        return text;
    }
    let counts = coverage.counts();
    let has_unlinked = counts.iter().any(|count| count.unlinked > 0);
    let unlinked = if has_unlinked { Some("TO BE LINKED") } else { None };
    let names = ["NATIVE", "COMPATIBLE", "JIT", "NONE", "UNKNOWN", "GAPS"].into_iter().chain(unlinked);
    let column = |name: &str| match name {
        "GAPS" => Column::right(name).meaning(of_defects),
        _ => Column::right(name).meaning(of_count),
    };
    let headings: Vec<Column> = [Column::left("DEVICE")].into_iter().chain(names.map(column)).collect();
    let native = only_native(coverage, &counts);
    let rows = coverage.titles.iter().zip(counts).enumerate();
    let rows = rows.filter(|(index, _)| !native.contains(index)).map(|(_, (device, count))| {
        let numbers = [count.native, count.compatible, count.compiled, count.none, count.unknown, count.gaps];
        let numbers = numbers.into_iter().chain(has_unlinked.then_some(count.unlinked));
        [printable(device)].into_iter().chain(numbers.map(|number| number.to_string())).collect()
    });
    text += &columns(&headings, rows, screen);
    text += &line_about_native(coverage, &native, screen);
    text.push('\n');
    text
}

/// Maximum number of devices that have a row each, also if all kernels are native there.
const MAX_DEVICES: usize = 12;

/// Returns the indexes of the devices where all kernels are native, if the devices are many.
fn only_native(coverage: &Coverage<'_>, counts: &[DeviceCounts]) -> Vec<usize> {
    let is_native =
        |count: &DeviceCounts| count.native > 0 && DeviceCounts { native: 0, ..*count } == DeviceCounts::default();
    let native = counts.iter().enumerate().filter(|(_, count)| is_native(count)).map(|(index, _)| index);
    if coverage.devices.len() > MAX_DEVICES { native.collect() } else { Vec::new() }
}

fn line_about_native(coverage: &Coverage<'_>, native: &[usize], screen: &Screen) -> String {
    let names: Vec<String> = native.iter().map(|&index| printable(&coverage.devices[index])).collect();
    if names.is_empty() {
        return String::new();
    }
    let usual = |text: &str| screen.paint(Meaning::Usual, text);
    let first = format!("  {}\n", usual(&format!("all kernels native on {}:", counted(names.len(), "other device"))));
    first + &lines(&names, ", ", screen.width.unwrap_or(WIDTH), usize::MAX, &usual)
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
    let devices = coverage.devices.iter().map(|device| Column::left(&printable(device)).meaning(meaning_of_cell));
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
