//! Text of `select` about a set of packages: a verdict on each device, then the packages, then what is missing.

use std::collections::BTreeMap;

use crate::report::Screen;
use crate::report::style::Meaning;
use crate::report::text::{Column, columns, counted, paragraph, printable};
use fatbin_core::target::gfx_override::{GfxOverride, VARIABLE};
use fatbin_ops::analyze::select::{Library, OverrideEffect, PackageAnswer, RequestedDevice, Service, SetSelection};

/// Number of lines in each part without `--verbose`. All parts fit on a screen of 24 lines.
const LISTED: usize = 6;

/// Number of devices that a line names without `--verbose`.
const NAMED: usize = 4;

/// A table row without its name of the package.
type Row = (String, Vec<String>);

/// Returns the text.
pub fn set_text(set: &SetSelection<'_>, is_verbose: bool, screen: &Screen) -> String {
    let limit = |most: usize| if is_verbose { usize::MAX } else { most };
    let mut text = verdicts(set, limit(LISTED), limit(NAMED), screen);
    text += &packages(set, limit(LISTED), limit(NAMED), screen);
    text += &missing(set, limit(LISTED), screen);
    if set.others > 0 {
        text += &paragraph(&format!("{} with code for other devices only", counted(set.others, "file")), screen);
    }
    text
}

/// Name of a device with the number of such GPUs.
pub fn title(requested: &RequestedDevice) -> String {
    let title = requested.device.title();
    let title = requested.count.filter(|count| *count > 1).map_or(title.clone(), |count| format!("{count}x {title}"));
    printable(&title)
}

/// Joins names. Those beyond the limit are counted.
fn listed(names: &[String], limit: usize) -> String {
    let (shown, others) = names.split_at(names.len().min(limit));
    if others.is_empty() { shown.join(", ") } else { format!("{} and {} more", shown.join(", "), others.len()) }
}

/// Returns the values in the order of their first keys, each with the keys that have it.
fn grouped<V: PartialEq>(pairs: impl Iterator<Item = (String, V)>) -> Vec<(Vec<String>, V)> {
    let mut groups: Vec<(Vec<String>, V)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(_, known)| *known == value) {
            Some((keys, _)) => keys.push(key),
            None => groups.push((vec![key], value)),
        }
    }
    groups
}

/// The line of "and N more" after a part that was cut.
fn rest(omitted: usize, noun: &str) -> String {
    if omitted == 0 { String::new() } else { format!("  and {}; use -v to list them\n", counted(omitted, noun)) }
}

/// Lines about the devices: the number of libraries by service, and the override that helps.
fn verdicts(set: &SetSelection<'_>, limit: usize, named: usize, screen: &Screen) -> String {
    let of_device = |(index, requested): (usize, &RequestedDevice)| {
        let counts = set.counts(index);
        let platform = requested.device.devices.first().map_or("such", |device| device.platform().name());
        let verdict = if counts.is_empty() {
            screen.paint(Meaning::Bad, &format!("no code for {platform} devices"))
        } else {
            let noun = if counts.values().sum::<usize>() == 1 { "library" } else { "libraries" };
            format!("{} {noun}: {}", counts.values().sum::<usize>(), painted(&counts, screen))
        };
        (title(requested), (verdict, set.effect_of_override(index)))
    };
    let groups = grouped(set.devices.iter().enumerate().map(of_device));
    let mut text = String::new();
    for (devices, (verdict, effect)) in groups.iter().take(limit) {
        text += &format!("{}: {verdict}\n", listed(devices, named));
        if let Some(effect) = effect {
            text += &paragraph(&sentence(*effect), screen);
        }
    }
    text + &rest(groups.iter().skip(limit).map(|(devices, _)| devices.len()).sum(), "device")
}

fn painted(counts: &BTreeMap<Service, usize>, screen: &Screen) -> String {
    let count =
        |(service, count): (&Service, &usize)| screen.paint(meaning(*service), &format!("{count} {}", word(*service)));
    counts.iter().map(count).collect::<Vec<_>>().join(", ")
}

fn word(service: Service) -> &'static str {
    if service == Service::Jit { "JIT" } else { service.name() }
}

fn meaning(service: Service) -> Meaning {
    match service {
        Service::Native | Service::Compatible => Meaning::Good,
        Service::Jit | Service::Undecided => Meaning::Unsure,
        Service::Nothing => Meaning::Bad,
    }
}

fn sentence(effect: OverrideEffect) -> String {
    match effect {
        OverrideEffect::Helps { value: GfxOverride { version, processor }, libraries } => {
            format!("{VARIABLE}={version} loads {processor} code for {libraries} of them, on Linux, unsupported by AMD")
        }
        OverrideEffect::NoCode(value) => format!("no override helps: there is no {} code either", value.processor),
        OverrideEffect::Fails(reason) => format!("no override helps: {reason}"),
        OverrideEffect::Unknown => "no override is known to help".to_owned(),
    }
}

/// A row for each package, and for each group of devices with equal verdicts on it.
fn packages(set: &SetSelection<'_>, limit: usize, named: usize, screen: &Screen) -> String {
    let packages = set.packages();
    if packages.is_empty() {
        return String::new();
    }
    let is_one = set.devices.len() == 1;
    let mut rows: Vec<Row> = packages.iter().flat_map(|package| rows_of(set, package, named)).collect();
    // The rows of a short list are the worst.
    let is_bad = |row: &Row| row.1.iter().any(|cell| cell.contains(word(Service::Nothing)));
    if rows.len() > limit {
        rows.sort_by_cached_key(|row| !is_bad(row));
    }
    let omitted = rows.len().saturating_sub(limit);
    let width = if is_one { 3 } else { 4 };
    let names = ["PACKAGE", "FILES", "VERDICT", "DEVICES"];
    let headings = names.iter().take(width).map(|name| match *name {
        "PACKAGE" => Column::line(name),
        "FILES" => Column::right(name),
        _ => Column::left(name),
    });
    let headings: Vec<Column> = headings.collect();
    let cells = rows
        .into_iter()
        .take(limit)
        .map(|(package, cells)| std::iter::once(package).chain(cells.into_iter().take(width - 1)).collect());
    columns(&headings, cells, screen) + &rest(omitted, "row")
}

fn rows_of(set: &SetSelection<'_>, package: &PackageAnswer, named: usize) -> Vec<Row> {
    let verdicts = package.devices.iter().zip(&package.is_for_others).map(|(counts, is_for_others)| {
        match (counts.is_empty(), is_for_others) {
            (true, true) => "for other devices".to_owned(),
            (true, false) => "-".to_owned(),
            (false, _) => verdict(counts),
        }
    });
    let groups = grouped(set.devices.iter().map(title).zip(verdicts));
    let row = |(devices, verdict): (Vec<String>, String)| {
        (package.path.clone(), vec![package.members.to_string(), verdict, listed(&devices, named)])
    };
    groups.into_iter().map(row).collect()
}

/// Formats the services of a package; the number of files only where they differ.
fn verdict(counts: &BTreeMap<(Service, Option<String>), usize>) -> String {
    let is_one = counts.len() == 1;
    let phrase = |((service, arch), count): (&(Service, Option<String>), &usize)| {
        let phrase = phrase(*service, arch.as_deref());
        if is_one { phrase } else { format!("{count} {phrase}") }
    };
    counts.iter().map(phrase).collect::<Vec<_>>().join(", ")
}

fn phrase(service: Service, arch: Option<&str>) -> String {
    match (service, arch) {
        (Service::Compatible, Some(arch)) if arch.starts_with("sm_") && arch.ends_with('f') => {
            format!("by family {}", printable(arch))
        }
        (Service::Compatible, Some(arch)) => format!("by {}", printable(arch)),
        (Service::Jit, Some(arch)) => format!("JIT from {}", printable(arch)),
        (service, _) => word(service).to_owned(),
    }
}

/// The libraries that devices lack, with the processors that they are for, and the member that would have the code.
fn missing(set: &SetSelection<'_>, limit: usize, screen: &Screen) -> String {
    let of_device = |(index, requested): (usize, &RequestedDevice)| {
        let lines = set.missing(index).map(|library| line(library, requested)).collect::<Vec<_>>();
        (title(requested), lines)
    };
    let groups = grouped(set.devices.iter().enumerate().map(of_device));
    let mut text = String::new();
    let mut left = limit;
    let mut omitted = 0;
    for (devices, lines) in groups.iter().filter(|(_, lines)| !lines.is_empty()) {
        let shown = lines.len().min(left);
        omitted += lines.len() - shown;
        left -= shown;
        if shown > 0 {
            text += &format!("missing for {}:\n", listed(devices, NAMED));
            text.extend(lines.iter().take(shown).map(|line| paragraph(line, screen)));
        }
    }
    text + &rest(omitted, "gap")
}

fn line(library: &Library<'_>, requested: &RequestedDevice) -> String {
    let archs: Vec<String> = library.archs().into_iter().map(printable).collect();
    let archs = listed(&archs, NAMED);
    let name = printable(library.name.in_package());
    match library.member_for(&requested.device) {
        Some(member) => {
            let own = printable(member.name());
            format!("{name}: for {archs}; {own} would have it")
        }
        None => format!("{name}: for {archs}"),
    }
}
