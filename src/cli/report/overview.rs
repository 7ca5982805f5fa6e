//! One screen about files: what they are, their bytes, devices, driver, gaps and damage, and the next commands. All
//! figures are computed by `analyze`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use console::measure_text_width;

use super::Screen;
use super::device_verdict::{is_none, on_one_line, verdict};
use super::file_totals::FileTotals;
use super::requires::or_newer;
use super::screen::human_size;
use super::style::Meaning;
use super::text::{counted, printable, shorten, wrapped};
use crate::shell::quoted;
use fatbin_core::base::bytes::total;
use fatbin_core::format::readers::Product;
use fatbin_core::image::short_name;
use fatbin_core::target::gpu_names;
use fatbin_ops::analyze::coverage::{Absence, Coverage, CoverageCell};
use fatbin_ops::analyze::select::{FileFloors, NamedDevice, Need};
use fatbin_ops::analyze::size::{PackageSizes, Size};
use fatbin_ops::analyze::survey::Survey;
use fatbin_ops::analyze::vendored::VendoredLibrary;

/// What is known about the inputs.
#[derive(Debug)]
pub struct Overview<'a> {
    /// Names of the inputs.
    pub names: Vec<String>,
    /// The names as words of a command line.
    pub words: Vec<String>,
    /// Shorter words that a shell replaces by the names.
    pub patterns: Vec<String>,
    /// Number of files in the inputs, if it is not the number of inputs.
    pub searched: Option<usize>,
    /// Number of bytes of the inputs on disk.
    pub size: u64,
    /// Sums over the files.
    pub totals: FileTotals,
    /// Oldest releases that load the code, as [`needs`] returns them.
    pub needs: Vec<String>,
    /// Libraries of others with device code, which the rest of the screen leaves out.
    pub vendored: Vec<VendoredLibrary>,
    /// The packages of the inputs.
    pub packages: Vec<PackageSizes>,
    /// Kernels by device.
    pub coverage: Coverage<'a>,
    /// The devices of `coverage`.
    pub devices: Vec<NamedDevice>,
}

/// Text between devices.
const SEPARATOR: &str = " · ";

/// Width of the labels, with the spaces around them.
const LABEL: usize = 12;

/// Maximum number of lines about devices, sizes, gaps or damage, and needs, of archs by size, and of families with gaps.
const MAX_DEVICE_LINES: usize = 9;
const MAX_SIZE_LINES: usize = 2;
const MAX_GAP_LINES: usize = 3;
const MAX_NEED_LINES: usize = 3;
const MAX_ARCHS: usize = 5;
const MAX_FAMILIES: usize = 2;

/// Maximum number of devices that are named because they lack some kernels.
const MAX_PARTLY: usize = 3;

/// Width of output that is not a terminal, and maximum width.
const WIDTH: usize = 80;
const MAX_WIDTH: usize = 120;

/// Maximum number of inputs that a command names if the line is longer than the screen.
const MAX_INPUTS: usize = 3;

/// Space for the name of a family.
const FAMILY_WIDTH: usize = 40;

/// Returns the oldest releases that load the image that each device prefers and, where they differ, the releases that load
/// every image. Empty if none is known.
pub fn needs<'a>(files: impl Iterator<Item = &'a Survey>) -> Vec<String> {
    let floors: Vec<_> = files.map(|it| FileFloors::new(&it.file, &it.cuda_codes())).collect();
    let preferred = together(floors.iter().flat_map(FileFloors::of_all_devices));
    let every = together(floors.iter().flat_map(FileFloors::all));
    let is_known = |(_, need): &(&Product, &Need)| need.floor.least.release.is_some();
    let mut texts: Vec<String> =
        preferred.iter().filter(is_known).map(|(product, need)| or_newer(*product, need)).collect();
    let is_more = |(product, need): &(&Product, &Need)| {
        preferred.get(product).is_none_or(|own| own.floor.and(need.floor) != own.floor)
    };
    let every = every.iter().filter(is_known).filter(is_more);
    texts.extend(every.map(|(product, need)| format!("all images: {}", or_newer(*product, need))));
    texts
}

fn together(needs: impl Iterator<Item = (Product, Need)>) -> BTreeMap<Product, Need> {
    let mut together: BTreeMap<Product, Need> = BTreeMap::new();
    for (product, need) in needs {
        let known = together.remove(&product).unwrap_or(Need::NOTHING);
        together.insert(product, known.and(need));
    }
    together
}

/// Returns the screen.
pub fn overview_text(overview: &Overview<'_>, screen: &Screen) -> String {
    let view = View { overview, screen, width: screen.width.unwrap_or(WIDTH).min(MAX_WIDTH) };
    let mut text = view.title();
    if overview.totals.with_code == 0 {
        text += &view.items("damage", " ", &view.damage().unwrap_or_default(), MAX_GAP_LINES);
        return text + &overview.totals.nothing.text(&overview.words.join(" "), overview.searched, screen);
    }
    text += &view.items("bytes", ", ", &view.bytes(), MAX_SIZE_LINES);
    text += &view.items("unpacked", ", ", &view.unpacked(), MAX_SIZE_LINES);
    text += &view.items("images", ", ", &view.images(), MAX_SIZE_LINES);
    text += &view.devices();
    text += &view.items("needs", "; ", &view.needs(), MAX_NEED_LINES);
    text += &view.items("gaps", " ", &view.gaps(), MAX_GAP_LINES);
    let none = || vec![("none".to_owned(), Some(Meaning::Usual))];
    text += &view.items("damage", " ", &view.damage().unwrap_or_else(none), MAX_GAP_LINES);
    text += &view.items("others", ", ", &vendored(&overview.vendored), MAX_GAP_LINES);
    text + &view.next(&[&view.question(), "size", "check --init"])
}

struct View<'v, 'a> {
    overview: &'v Overview<'a>,
    screen: &'v Screen,
    width: usize,
}

/// A part of a line, and its meaning.
type Item = (String, Option<Meaning>);

impl View<'_, '_> {
    /// Formats a line with a label; nothing without text.
    fn line(&self, label: &str, text: &str) -> String {
        let indent = LABEL.saturating_sub(2);
        let label = self.screen.paint(Meaning::Heading, &format!("{label:indent$}"));
        if text.is_empty() { String::new() } else { format!("  {label}{text}\n") }
    }

    /// Formats items on at most `lines` lines. The others are left out.
    fn items(&self, label: &str, between: &str, items: &[Item], lines: usize) -> String {
        let mut text = String::new();
        let mut rest = items;
        for (number, count) in self.lines_of(items, between).into_iter().take(lines).enumerate() {
            let (line, after) = rest.split_at(count.min(rest.len()));
            rest = after;
            let painted = line.iter().map(|(text, meaning)| match meaning {
                Some(meaning) => self.screen.paint(*meaning, text),
                None => text.clone(),
            });
            let joined = painted.collect::<Vec<_>>().join(between);
            let end = if rest.is_empty() { "" } else { between.trim_end() };
            text += &self.line(if number == 0 { label } else { "" }, &(joined + end));
        }
        text
    }

    /// Numbers of items on each line.
    fn lines_of(&self, items: &[Item], between: &str) -> Vec<usize> {
        let plain: Vec<&str> = items.iter().map(|(text, _)| text.as_str()).collect();
        wrapped(&plain, between, self.width.saturating_sub(LABEL))
    }

    fn title(&self) -> String {
        let Overview { names, totals, size, packages, .. } = self.overview;
        let name = match names.as_slice() {
            [name] => printable(name.trim_end_matches('/').rsplit('/').next().unwrap_or(name)),
            names => counted(names.len(), "input"),
        };
        let with_code = totals.with_code;
        let what = match (totals.readable, packages.as_slice(), self.overview.searched) {
            (1, [], None) => totals.format.map_or("unreadable", |format| format.name()).to_owned(),
            (_, _, Some(searched)) if with_code == 0 => counted(searched, "file"),
            (_, _, Some(searched)) if searched > with_code => {
                format!("{with_code} of {} with device code", counted(searched, "file"))
            }
            _ => counted(with_code, "file") + " with device code",
        };
        let what = if with_code == 0 { format!("{what}, no device images") } else { what };
        let rest = format!(": {}, {what}", human_size(*size));
        let name = shorten(&name, self.width.saturating_sub(rest.chars().count()));
        format!("{}{rest}\n", self.screen.paint(Meaning::Heading, &name))
    }

    /// The bytes on disk by what they are for. They add up to the size in the title.
    fn bytes(&self) -> Vec<Item> {
        let Overview { size, packages, totals, .. } = self.overview;
        let (mut device, mut host) = self.loose_code();
        let mut libraries = 0_u64;
        for package in packages {
            device += package.device_code.stored;
            host += package.host_code.stored;
            libraries += package.libraries.stored;
        }
        let known: u64 = packages.iter().map(|package| package.total().stored).chain([totals.loose]).sum();
        let packed_others = packages.iter().map(|package| package.others.stored + package.overhead);
        let Some(rest) = size.checked_sub(known) else {
            // A compressed archive that does not state how many bytes its members take.
            let code = format!("{} of device code", human_size(device));
            return plain([code, format!("{} of host code, both unpacked", human_size(host))]);
        };
        let others = packed_others.sum::<u64>() + rest;
        let share = if *size == 0 { 0.0 } else { 100.0 * device as f64 / *size as f64 };
        let share = if device > 0 && share < 0.5 { "<1".to_owned() } else { format!("{share:.0}") };
        let code = format!("{} of device code ({share} %)", human_size(device));
        let rest = [(host, "host code"), (libraries, "other libraries"), (others, "other files")];
        let rest = rest.iter().filter(|(bytes, _)| *bytes > 0);
        plain([code].into_iter().chain(rest.map(|(bytes, what)| format!("{} of {what}", human_size(*bytes)))))
    }

    /// Device code and host code of the files that are in no package.
    fn loose_code(&self) -> (u64, u64) {
        let is_listed = |path: &Path| self.overview.packages.iter().any(|package| package.path == path);
        let code = self.overview.totals.code.iter();
        let loose = code.filter(|(package, _)| !package.as_deref().is_some_and(is_listed)).map(|(_, code)| code);
        (total(loose.clone().map(|(device, _)| *device)), total(loose.map(|(_, host)| *host)))
    }

    /// The bytes of packages whose members are compressed, as they are installed.
    fn unpacked(&self) -> Vec<Item> {
        let mut device = 0_u64;
        let mut total = Size::default();
        for package in &self.overview.packages {
            device += package.device_code.decompressed;
            total.add(package.total());
        }
        if total.stored == total.decompressed {
            return Vec::new();
        }
        // Files in no package are as they are.
        device += self.loose_code().0;
        let rest = self.overview.size.saturating_sub(total.stored);
        let total = total.decompressed + rest;
        plain([format!("{} of device code", human_size(device)), format!("{} in all", human_size(total))])
    }

    /// The number of images, and the archs with the most bytes.
    fn images(&self) -> Vec<Item> {
        let totals = &self.overview.totals.archs;
        // A cubin and PTX for one processor are for one.
        let mut rows: Vec<(&str, u64)> = Vec::new();
        for (label, of_label) in totals.rows() {
            let arch = label.split(' ').next().unwrap_or(label);
            match rows.iter_mut().find(|(known, _)| *known == arch) {
                Some((_, size)) => *size = total([*size, of_label.size.stored]),
                None => rows.push((arch, of_label.size.stored)),
            }
        }
        rows.sort_by_cached_key(|(_, size)| std::cmp::Reverse(*size));
        let state = if self.unpacked().is_empty() { "" } else { ", unpacked" };
        let count = format!("{} for {}{state}", totals.images(), counted(rows.len(), "arch"));
        let mut shown = rows.len().min(MAX_ARCHS);
        loop {
            let archs = rows.iter().take(shown).enumerate().map(|(index, (arch, size))| {
                let before = if index == 0 { format!("{count}: ") } else { String::new() };
                format!("{before}{} {}", printable(arch), human_size(*size))
            });
            let more = (shown < rows.len()).then(|| format!("{} more", rows.len() - shown));
            let items = plain(archs.chain(more));
            if shown <= 1 || self.lines_of(&items, ", ").len() <= MAX_SIZE_LINES {
                return items;
            }
            shown -= 1;
        }
    }

    fn devices(&self) -> String {
        let coverage = &self.overview.coverage;
        if coverage.kernels.is_empty() {
            let reasons: BTreeSet<&str> = coverage.not_inspected.keys().map(|images| images.reason).collect();
            let reasons: Vec<&str> = reasons.into_iter().collect();
            let text =
                if reasons.is_empty() { "no kernels".to_owned() } else { format!("not read: {}", reasons.join("; ")) };
            return self.items("devices", " ", &plain(text.split(' ').map(str::to_owned)), MAX_GAP_LINES);
        }
        let cells = coverage.cells_by_device();
        let width = self.width.saturating_sub(LABEL + measure_text_width(SEPARATOR.trim_end()));
        let item = |(device, cells): (&NamedDevice, &Vec<_>)| {
            let (clauses, meaning) = verdict(cells);
            (on_one_line(&printable(&device.title()), &clauses, width), Some(meaning))
        };
        let mut items: Vec<Item> = self.overview.devices.iter().zip(&cells).map(item).collect();
        if cells.iter().flatten().all(|(cell, _)| is_none(*cell)) {
            let names = self.overview.devices.iter().map(|device| printable(&device.title())).enumerate();
            let names =
                names.map(|(index, name)| if index == 0 { format!("no code that runs on {name}") } else { name });
            return self.items("devices", ", ", &plain(names), MAX_GAP_LINES);
        }
        if self.lines_of(&items, SEPARATOR).len() > MAX_DEVICE_LINES {
            items = self.most_asked(items);
        }
        self.items("devices", SEPARATOR, &items, MAX_DEVICE_LINES)
    }

    /// Leaves out devices that people ask about less, until the lines are few enough, and counts them.
    fn most_asked(&self, items: Vec<Item>) -> Vec<Item> {
        let is_asked = self.overview.devices.iter().map(|device| gpu_names::is_current(&device.name));
        let (shown, others): (Vec<_>, Vec<_>) = items.into_iter().zip(is_asked).partition(|(_, is_asked)| *is_asked);
        let mut shown: Vec<Item> = shown.into_iter().map(|(item, _)| item).collect();
        let mut others: Vec<Item> = others.into_iter().map(|(item, _)| item).collect();
        loop {
            let others_not_native = others.iter().filter(|(_, meaning)| *meaning != Some(Meaning::Usual)).count();
            let how = match others_not_native {
                0 => "native".to_owned(),
                count if count == others.len() => "not native".to_owned(),
                count => format!("{count} of them not native"),
            };
            let more = (format!("{} more, {how}", others.len()), None);
            let items = [shown.as_slice(), &[more]].concat();
            if self.lines_of(&items, SEPARATOR).len() <= MAX_DEVICE_LINES {
                return items;
            }
            others.extend(shown.pop());
        }
    }

    fn needs(&self) -> Vec<Item> {
        let needs = &self.overview.needs;
        plain(if needs.is_empty() { vec!["no floor known".to_owned()] } else { needs.clone() })
    }

    fn gaps(&self) -> Vec<Item> {
        let coverage = &self.overview.coverage;
        let kernels = coverage.kernels_with_gaps();
        if kernels == 0 {
            return self.partly_served();
        }
        let families = coverage.families();
        let with_gaps = families.iter().filter(|it| coverage.family_cells(it).iter().any(|cell| cell.gaps > 0));
        let names: Vec<String> = with_gaps.map(|family| printable(&short_name(&family.name, FAMILY_WIDTH))).collect();
        let fails = |kernel| coverage.cells(kernel).any(|cell| cell == CoverageCell::Gap(Absence::Absent));
        let failing = coverage.kernels.iter().filter(|kernel| fails(kernel)).count();
        let (lack, meaning) = match (failing, kernels) {
            (0, 1) => ("has no body on some device:", Meaning::Unsure),
            (0, _) => ("have no body on some device:", Meaning::Unsure),
            (1, 1) => ("fails on some device:", Meaning::Bad),
            (count, _) if count == kernels => ("fail on some device:", Meaning::Bad),
            _ => ("fail or have no body on some device:", Meaning::Bad),
        };
        let mut items = vec![(counted(kernels, "kernel"), Some(meaning))];
        items.extend(plain([lack.to_owned()]));
        let last = names.len().min(MAX_FAMILIES).saturating_sub(1);
        let shown = names.iter().take(MAX_FAMILIES).enumerate();
        items.extend(plain(shown.map(|(index, name)| if index < last { format!("{name},") } else { name.clone() })));
        let more = names.iter().skip(MAX_FAMILIES).count();
        items.extend(plain((more > 0).then(|| format!("and {more} more"))));
        items
    }

    /// The devices that run some of the kernels, and that have no code for others.
    fn partly_served(&self) -> Vec<Item> {
        let partly = self.overview.coverage.partly_served();
        let partly = partly.iter().filter_map(|&index| self.overview.devices.get(index));
        let devices: Vec<String> = partly.map(|device| printable(&device.title())).collect();
        if devices.is_empty() {
            return vec![("none".to_owned(), Some(Meaning::Usual))];
        }
        let named = match devices.len() {
            count if count > MAX_PARTLY => counted(count, "device"),
            _ => devices.join(", "),
        };
        vec![("some kernels".to_owned(), Some(Meaning::Unsure)), (format!("have no code for {named}"), None)]
    }

    fn damage(&self) -> Option<Vec<Item>> {
        let FileTotals { problem, problems, unreadable, .. } = &self.overview.totals;
        let closed = (*unreadable > 0).then(|| format!("{} cannot be read", counted(*unreadable, "file")));
        let count = counted(problems + usize::from(closed.is_some()), "problem");
        let first = printable(problem.as_ref().or(closed.as_ref())?);
        let words = plain(first.split(' ').map(|word| shorten(word, self.width.saturating_sub(LABEL))));
        Some([vec![(count + ":", Some(Meaning::Bad))], words].concat())
    }

    /// The command that answers what the screen leaves open.
    fn question(&self) -> String {
        let coverage = &self.overview.coverage;
        if self.damage().is_some() {
            return "verify".to_owned();
        }
        if coverage.kernels_with_gaps() > 0 || coverage.kernels.is_empty() {
            return "inspect --matrix".to_owned();
        }
        // The device with the least: nothing, then some kernels that do not run, then code that is compiled.
        let rank = |(device, cells): &(&NamedDevice, &Vec<(CoverageCell<'_>, usize)>)| {
            let has = |cell: &CoverageCell<'_>| cells.iter().any(|(known, _)| known == cell);
            let is_native = verdict(cells).1 == Meaning::Usual;
            (!has(&CoverageCell::None), cells.len() > 1, is_native, !gpu_names::is_current(&device.name))
        };
        let cells = coverage.cells_by_device();
        let device = self.overview.devices.iter().zip(&cells).min_by_key(rank);
        match device {
            Some((device, _)) => {
                let name = device.gpu.map_or(device.name.clone(), |gpu| gpu.replace(' ', "-"));
                format!("select --device {}", quoted(&name))
            }
            None => "inspect --matrix".to_owned(),
        }
    }

    /// The commands to run next. Where the names are too long for a line, patterns stand for them.
    fn next(&self, commands: &[&str]) -> String {
        let Overview { words, patterns, .. } = self.overview;
        let fits = |words: &&Vec<String>| {
            let width = |command: &&str| measure_text_width(&format!("fatbin {command} {}", words.join(" ")));
            commands.iter().map(width).all(|width| LABEL + width <= self.width)
        };
        let files = match [words, patterns].into_iter().find(fits) {
            Some(words) => words.join(" "),
            None if words.len() > MAX_INPUTS => "FILE...".to_owned(),
            None => patterns.join(" "),
        };
        let line = |(number, command): (usize, &&str)| {
            self.line(if number == 0 { "next" } else { "" }, &format!("fatbin {command} {files}"))
        };
        commands.iter().enumerate().map(line).collect()
    }
}

/// The libraries of others by size, those of drivers first: every machine with a GPU has its own.
fn vendored(libraries: &[VendoredLibrary]) -> Vec<Item> {
    let mut libraries: Vec<&VendoredLibrary> = libraries.iter().collect();
    libraries.sort_by_cached_key(|it| (it.driver.is_none(), std::cmp::Reverse(it.size), it.name.clone()));
    let item = |library: &&VendoredLibrary| {
        let name = format!("{} {}", printable(&library.name), human_size(library.size));
        match library.driver {
            Some(platform) => (format!("{name} (of the {} driver)", platform.name()), Some(Meaning::Bad)),
            None => (name, None),
        }
    };
    libraries.iter().map(item).collect()
}

fn plain(texts: impl IntoIterator<Item = String>) -> Vec<Item> {
    texts.into_iter().map(|text| (text, None)).collect()
}
