//! One screen about files: what they are, their bytes, devices, driver, gaps and damage, and the next commands. All
//! figures are computed by `analyze`.

use std::collections::BTreeMap;

use super::requires::named;
use super::style::Meaning;
use super::text::{counted, human_size, printable, shorten, wrapped};
use super::{Nothing, Screen};
use crate::analyze::coverage::{Coverage, CoverageCell};
use crate::analyze::select::{FileFloors, NamedDevice, Need};
use crate::analyze::size::{ArchTotals, Owner, Rest, parts};
use crate::analyze::survey::Survey;
use crate::cli::shell::quoted;
use crate::format::readers::Product;
use crate::image::short_name;
use crate::target::gpu_names;
use crate::target::runs_on::LoadMethod;

/// What is known about the inputs.
#[derive(Debug)]
pub struct Overview<'a> {
    /// Names of the inputs.
    pub names: Vec<String>,
    /// The names as words of a command line.
    pub words: Vec<String>,
    /// Number of bytes of the inputs on disk.
    pub size: u64,
    /// The files that could be read.
    pub files: Vec<&'a Survey>,
    /// Number of bytes that the files take in their packages, if each is in one.
    pub packed: Option<u64>,
    /// Kernels by device.
    pub coverage: Coverage<'a>,
    /// The devices of `coverage`.
    pub devices: Vec<NamedDevice>,
}

/// Text between devices.
const SEPARATOR: &str = " · ";

/// Width of the labels, with the spaces around them.
const LABEL: usize = 11;

/// Maximum number of lines about devices, of archs by size, and of families with gaps.
const MAX_DEVICE_LINES: usize = 9;
const MAX_ARCHS: usize = 5;
const MAX_FAMILIES: usize = 2;

/// Width of output that is not a terminal, and maximum width.
const WIDTH: usize = 80;
const MAX_WIDTH: usize = 120;

/// Space for the name of a family.
const FAMILY_WIDTH: usize = 40;

/// Returns the oldest releases that load all images of files; `None` if none is known.
pub fn needs(files: &[&Survey]) -> Option<String> {
    let mut needs: BTreeMap<Product, Need> = BTreeMap::new();
    for it in files {
        for (product, need) in FileFloors::new(&it.file, &it.cuda_codes()).all() {
            let known = needs.remove(&product).unwrap_or(Need::NOTHING);
            needs.insert(product, known.and(need));
        }
    }
    let is_known = |(_, need): &(&Product, &Need)| need.floor.least.release.is_some();
    let needs: Vec<String> = needs.iter().filter(is_known).map(|(product, need)| named(*product, need)).collect();
    if needs.is_empty() { None } else { Some(needs.join(", ")) }
}

/// Returns the screen.
pub fn overview_text(overview: &Overview<'_>, screen: &Screen) -> String {
    let view = View { overview, screen, width: screen.width.unwrap_or(WIDTH).min(MAX_WIDTH) };
    let mut text = view.title();
    if overview.files.iter().all(|it| !it.file.has_device_code()) {
        text += &view.line("damage", &view.damage().unwrap_or_default());
        let mut nothing = Nothing::default();
        overview.files.iter().for_each(|it| nothing.add(&it.file));
        return text + &nothing.text(&overview.words.join(" "), screen) + &view.next(&["scan -v"]);
    }
    text += &view.items("bytes", ", ", &view.bytes(), 2);
    text += &view.items("largest", ", ", &view.largest(), 2);
    text += &view.devices();
    text += &view.line("driver", &view.driver());
    text += &view.line("gaps", &view.gaps().unwrap_or_else(|| screen.paint(Meaning::Usual, "none")));
    text += &view.line("damage", &view.damage().unwrap_or_else(|| screen.paint(Meaning::Usual, "none")));
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
        let Overview { names, files, size, packed, .. } = self.overview;
        let name = match names.as_slice() {
            [name] => printable(name.trim_end_matches('/').rsplit('/').next().unwrap_or(name)),
            names => counted(names.len(), "input"),
        };
        let with_code = files.iter().filter(|it| it.file.has_device_code()).count();
        let what = match (files.as_slice(), packed) {
            ([only], None) => only.file.format.map_or("unreadable", |format| format.name()).to_owned(),
            _ => counted(with_code, "file") + " with device code",
        };
        let what = if with_code == 0 { format!("{what}, no device images") } else { what };
        let rest = format!(": {}, {what}", human_size(*size));
        let name = shorten(&name, self.width.saturating_sub(rest.chars().count()));
        format!("{}{rest}\n", self.screen.paint(Meaning::Heading, &name))
    }

    fn bytes(&self) -> Vec<Item> {
        let (mut images, mut containers, mut host, mut total) = (0_u64, 0_u64, 0_u64, 0_u64);
        for part in self.overview.files.iter().flat_map(|it| parts(&it.file)) {
            let sum = match part.owner {
                Owner::Image(_) => &mut images,
                Owner::Container(_) | Owner::Rest(Rest::Padding | Rest::Unexplained) => &mut containers,
                Owner::Rest(_) => &mut host,
            };
            *sum += part.size.stored;
            total += part.size.stored;
        }
        let share = if total == 0 { 0.0 } else { 100.0 * images as f64 / total as f64 };
        let mut items = vec![format!("{} of device code ({share:.0} %)", human_size(images))];
        if containers > 0 {
            items.push(format!("{} around images", human_size(containers)));
        }
        items.push(format!("{} of host code", human_size(host)));
        if let Some(packed) = self.overview.packed.filter(|packed| *packed != total) {
            items.push(format!("{} unpacked", human_size(total)));
            items.push(format!("{} in the package", human_size(packed)));
        }
        items.into_iter().map(|text| (text, None)).collect()
    }

    /// The archs with the most bytes.
    fn largest(&self) -> Vec<Item> {
        let mut totals = ArchTotals::default();
        for it in &self.overview.files {
            totals.add(&it.file);
        }
        let mut rows = totals.rows();
        let count = rows.len();
        rows.sort_by_key(|(_, total)| std::cmp::Reverse(total.size.stored));
        let archs = rows.iter().take(MAX_ARCHS);
        let archs = archs.map(|(arch, total)| format!("{} {}", printable(arch), human_size(total.size.stored)));
        let all = format!("{} for {}", counted(totals.images(), "image"), counted(count, "arch"));
        archs.chain([all]).map(|text| (text, None)).collect()
    }

    fn devices(&self) -> String {
        let coverage = &self.overview.coverage;
        if coverage.kernels.is_empty() {
            return self.line("devices", "no kernels that can be read");
        }
        let cells = coverage.cells_by_device();
        let item = |(title, cells): (&String, &Vec<_>)| {
            let (text, meaning) = verdict(cells);
            (format!("{} {text}", printable(title)), Some(meaning))
        };
        let mut items: Vec<Item> = coverage.titles.iter().zip(&cells).map(item).collect();
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
            let how =
                if others_not_native == 0 { "native".to_owned() } else { format!("{others_not_native} not native") };
            let more = (format!("{}: {how}", counted(others.len(), "more device")), None);
            let items = [shown.as_slice(), &[more]].concat();
            if self.lines_of(&items, SEPARATOR).len() <= MAX_DEVICE_LINES {
                return items;
            }
            others.extend(shown.pop());
        }
    }

    fn driver(&self) -> String {
        needs(&self.overview.files).map_or("no floor known".to_owned(), |needs| format!("{needs} for every image"))
    }

    fn gaps(&self) -> Option<String> {
        let coverage = &self.overview.coverage;
        let kernels = coverage.kernels_with_gaps();
        if kernels == 0 {
            return None;
        }
        let families = coverage.families();
        let with_gaps = families.iter().filter(|it| coverage.family_cells(it).iter().any(|cell| cell.gaps > 0));
        let names: Vec<String> = with_gaps.map(|family| printable(&short_name(&family.name, FAMILY_WIDTH))).collect();
        let shown = names[..names.len().min(MAX_FAMILIES)].join(", ");
        let more = names.iter().skip(MAX_FAMILIES).count();
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let count = self.screen.paint(Meaning::Bad, &counted(kernels, "kernel"));
        Some(format!("{count} fail on some device: {shown}{more}"))
    }

    fn damage(&self) -> Option<String> {
        let mut problems = Vec::new();
        for it in &self.overview.files {
            problems.extend(it.file.reported_errors().map(|error| error.to_string()));
            let inspections = it.image_surveys.iter().filter_map(|analysis| analysis.inspection.as_ref());
            let found = inspections.flat_map(|inspection| &inspection.problems);
            problems.extend(found.map(|problem| format!("{}: {problem}", it.file.path)));
        }
        let first = printable(problems.first()?);
        let count = counted(problems.len(), "problem");
        let room = self.width.saturating_sub(LABEL + 2 + count.len());
        Some(format!("{}: {}", self.screen.paint(Meaning::Bad, &count), shorten(&first, room)))
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
        let rank = |cells: &[(CoverageCell<'_>, usize)]| {
            let has = |cell: &CoverageCell<'_>| cells.iter().any(|(known, _)| known == cell);
            let is_native = verdict(cells).1 == Meaning::Usual;
            (!has(&CoverageCell::None), cells.len() > 1, is_native)
        };
        let cells = coverage.cells_by_device();
        let device = self.overview.devices.iter().zip(&cells).min_by_key(|(_, cells)| rank(cells));
        match device {
            Some((device, _)) => {
                let name = device.gpu.map_or(device.name.clone(), |gpu| gpu.replace(' ', "-"));
                format!("select --device {}", quoted(&name))
            }
            None => "inspect --matrix".to_owned(),
        }
    }

    fn next(&self, commands: &[&str]) -> String {
        let files = self.overview.words.join(" ");
        let line = |(number, command): (usize, &&str)| {
            self.line(if number == 0 { "next" } else { "" }, &format!("fatbin {command} {files}"))
        };
        commands.iter().enumerate().map(line).collect()
    }
}

/// Formats how the kernels run on a device: the most frequent way, then the others with their numbers.
fn verdict(cells: &[(CoverageCell<'_>, usize)]) -> (String, Meaning) {
    let Some((first, others)) = cells.split_first() else { return ("nothing".to_owned(), Meaning::Bad) };
    let (mut text, meaning) = match first {
        (CoverageCell::Gap, gaps) => (format!("lacks {gaps}"), Meaning::Bad),
        (cell, _) => phrase(*cell),
    };
    for (number, (cell, kernels)) in others.iter().enumerate() {
        text += if number == 0 { " but " } else { ", " };
        text += &format!("{kernels} {}", phrase(*cell).0);
    }
    (text, if others.is_empty() || meaning == Meaning::Bad { meaning } else { Meaning::Unsure })
}

fn phrase(cell: CoverageCell<'_>) -> (String, Meaning) {
    match cell {
        CoverageCell::Runs { method: LoadMethod::Exact, .. } => ("native".to_owned(), Meaning::Usual),
        CoverageCell::Runs { method, arch } => match (method.compiled_from(), arch) {
            (Some(language), Some(arch)) => (format!("by {language} {}", printable(arch)), Meaning::Unsure),
            (Some(language), None) => (format!("by {language}"), Meaning::Unsure),
            (None, arch) => (format!("by {}", printable(arch.unwrap_or("compatible code"))), Meaning::Good),
        },
        CoverageCell::Unknown => ("unknown".to_owned(), Meaning::Unsure),
        CoverageCell::Unlinked => ("to be linked".to_owned(), Meaning::Unsure),
        CoverageCell::None | CoverageCell::OtherPlatform => ("nothing".to_owned(), Meaning::Bad),
        CoverageCell::Gap => ("lacking".to_owned(), Meaning::Bad),
    }
}
