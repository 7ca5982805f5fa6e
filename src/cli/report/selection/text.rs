//! Text of `select`: one block per candidate set and one line per file.

use std::collections::{BTreeMap, HashMap};

use super::{kpack, listed, to_be_linked};
use crate::report::Screen;
use crate::report::style::Meaning;
use crate::report::text::{Block, Column, columns, counted, headline, paragraph, printable};
use fatbin_core::scan::inventory::{CodeRole, File};
use fatbin_core::target::runs_on::LoadMethod;
use fatbin_core::target::{Device, Platform};
use fatbin_ops::analyze::select::{
    AnsweredFile, AnsweredSet, CandidateSet, CandidateVerdict, DeviceAnswer, RejectReason, Selection, Service,
    relocatable_archs,
};

/// Verdicts that have colors.
const SELECTED: &str = "selected";
const UNDECIDED: &str = "undecided";
const REJECTED: &str = "rejected";

/// Returns a list of images for every candidate set with code for the devices. Libraries have hundreds of containers with equal
/// answers, so only the first of equal lists is returned, with a count of the others.
pub fn selection_lists(answered: &AnsweredFile<'_>, name: &str, screen: &Screen) -> Vec<Block> {
    let mut blocks: Vec<(Block, usize)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for set in answered.listed() {
        for answer in &set.answers {
            let devices: Vec<String> = answer.devices.iter().map(ToString::to_string).collect();
            let is_for_all = set.answers.len() == 1;
            let devices = if is_for_all { name.to_owned() } else { devices.join(" and ") };
            let (key, block) = block(&answered.file.path, &set.set, answer, &devices, screen);
            let place = *places.entry(key).or_insert(blocks.len());
            if place == blocks.len() {
                blocks.push((block, 0));
            } else {
                blocks[place].1 += 1;
            }
        }
    }
    let blocks = blocks.into_iter().map(|(block, times)| Block { body: block.body + &more(times), ..block });
    let kpack = answered.kpack.iter().flat_map(|it| kpack::lists(&answered.file.path, it, screen));
    blocks.chain(by_program(answered, screen)).chain(kpack).collect()
}

/// Formats a block for the images that the program may select.
fn by_program(answered: &AnsweredFile<'_>, screen: &Screen) -> Option<Block> {
    let candidates = &answered.selected_by_program;
    let first = candidates.first()?;
    let rows = candidates.iter().map(|candidate| {
        let image = candidate.image;
        let or_dash = |text: Option<&str>| text.map_or("-".to_owned(), printable);
        let arch = image.arch.as_deref().or(image.triple.as_deref());
        let form = image.image_kind.name().to_owned();
        vec![candidate.number.to_string(), or_dash(arch), form, or_dash(image.symbol.as_deref())]
    });
    let [arch, image, symbol] = ["ARCH", "IMAGE", "SYMBOL"].map(Column::left);
    let platform = first.platform().map_or("device", Platform::name);
    let images = counted(candidates.len(), &format!("embedded {platform} image"));
    let headings = [Column::right("NUMBER"), arch, image, symbol];
    let text = format!("{images}, from which the program selects by its own rules");
    let heading = headline(&answered.file.path, &text, screen);
    Some(Block { heading, body: columns(&headings, rows, screen) })
}

fn more(times: usize) -> String {
    if times == 0 { String::new() } else { format!("  and {} like this\n", counted(times, "more choice")) }
}

/// Formats a block, and creates a key that is equal for equal blocks.
fn block(
    path: &str,
    set: &CandidateSet<'_>,
    answer: &DeviceAnswer<'_>,
    devices: &str,
    screen: &Screen,
) -> (String, Block) {
    let container = set.container;
    let section = container.section_name().map_or(String::new(), |name| format!(" in {}", printable(name)));
    let offset = container.offset.map_or(String::new(), |offset| format!(" at {offset:#x}"));
    let place = format!("{}{section}", container.container_type.name());
    let on = format!("{} on {devices}", set.runtime.name);
    let rows = rows(set, &answer.selection);
    // Without the numbers, which are unique.
    let key_rows: Vec<&[String]> = rows.iter().map(|row| &row[1..4]).collect();
    let key = format!("{place} {on} {key_rows:?}");
    let verdict_line = format!("{place}{offset}: {on} {}", verdict(set, &answer.selection));
    let [arch, image, verdict_heading, reason] = ["ARCH", "IMAGE", "VERDICT", "REASON"].map(Column::left);
    let headings = [Column::right("NUMBER"), arch, image, verdict_heading.meaning(meaning_of_verdict), reason];
    let mut body = columns(&headings, rows.into_iter(), screen);
    if let Some((earlier, selection)) = &answer.earlier {
        let why = unsupported(set, selection).unwrap_or(earlier.order.to_owned());
        let release = format!("{} of {}", earlier.name, earlier.release);
        body += &paragraph(&format!("{release} {}: {why}", verdict(set, selection)), screen);
    }
    (key, Block { heading: headline(path, &verdict_line, screen), body })
}

fn verdict(set: &CandidateSet<'_>, selection: &Selection) -> String {
    if selection.is_undecided() {
        return "cannot be predicted".to_owned();
    }
    let Some((index, way)) = selection.selected else {
        return "selects nothing".to_owned();
    };
    let selected = std::iter::once(&index).chain(&selection.also_selected);
    let numbers: Vec<String> = selected.map(|&index| set.candidates[index].number.to_string()).collect();
    let numbers = numbers.join(", ");
    let images = if selection.also_selected.is_empty() { "image" } else { "images" };
    match (way.compiled_from(), selection.is_link()) {
        (Some(form), false) => format!("selects {images} {numbers} (JIT from {form})"),
        (None, false) => format!("selects {images} {numbers}"),
        (Some(form), true) => format!("links {images} {numbers} at load time (JIT from {form})"),
        (None, true) => format!("links {images} {numbers} at load time"),
    }
}

/// Returns why a release selects nothing, if it does not support an image that runs on the device.
fn unsupported(set: &CandidateSet<'_>, selection: &Selection) -> Option<String> {
    let reason = |(index, reason): &(usize, RejectReason)| match reason {
        RejectReason::Unsupported { property, .. } => {
            Some(format!("it does not load {property} (image {})", set.candidates[*index].number))
        }
        _ => None,
    };
    if selection.selected.is_some() { None } else { selection.rejected.iter().find_map(reason) }
}

fn meaning_of_verdict(verdict: &str) -> Option<Meaning> {
    match verdict {
        SELECTED => Some(Meaning::Good),
        UNDECIDED => Some(Meaning::Unsure),
        REJECTED => Some(Meaning::Usual),
        _ => None,
    }
}

/// A row for each image, in order.
fn rows(set: &CandidateSet<'_>, selection: &Selection) -> Vec<Vec<String>> {
    let row = |(index, verdict, reason): (usize, CandidateVerdict, String)| {
        let candidate = &set.candidates[index];
        let image = candidate.image;
        let arch = image.arch.as_deref().or(image.triple.as_deref()).map_or("-".to_owned(), printable);
        let form = image.image_kind.name().to_owned();
        let verdict = match verdict {
            CandidateVerdict::Selected => SELECTED,
            CandidateVerdict::Rejected => REJECTED,
            CandidateVerdict::Undecided => UNDECIDED,
        };
        vec![candidate.number.to_string(), arch, form, verdict.to_owned(), printable(&reason)]
    };
    selection.verdicts().into_iter().map(row).collect()
}

/// Returns one line for a file: the number of choices with code for the devices, and the number of each outcome.
pub fn selection_summary(answered: &AnsweredFile<'_>, name: &str, device: &Device, screen: &Screen) -> String {
    let path = &answered.file.path;
    let relevant: Vec<&AnsweredSet<'_>> = answered.relevant().collect();
    if relevant.is_empty() && !answered.kpack.is_empty() {
        return answered.kpack.iter().map(|it| headline(path, &kpack::summary(name, it), screen)).collect();
    }
    let images = counted(answered.selected_by_program.len(), "embedded image");
    let by_program = answered.service_by_program().map(|service| painted(service, screen));
    if let Some(service) = by_program.as_ref().filter(|_| relevant.is_empty()) {
        return headline(path, &format!("{name}: {service}: the program selects from {images}"), screen);
    }
    let unregistered = match answered.unregistered() {
        0 => String::new(),
        count => format!("; {} that no wrapper registers", counted(count, "container")),
    };
    if relevant.is_empty() && answered.listed().next().is_some() {
        let answer = format!("{name}: no kernels in the code for {} devices", device.platform().name());
        return headline(path, &screen.paint(Meaning::Usual, &answer), screen);
    }
    if relevant.is_empty() {
        let answer = screen.paint(Meaning::Usual, &without_code(answered.file, device.platform()));
        return headline(path, &format!("{answer}{unregistered}"), screen);
    }
    let outcomes = outcomes(relevant.iter().copied(), screen);
    let choices = counted(relevant.len(), "choice");
    let embedded = by_program.map_or(String::new(), |service| format!("; {images}: {service}"));
    headline(path, &format!("{name}: {choices}: {outcomes}{embedded}{unregistered}"), screen)
}

/// Returns one line for many files: the number of choices with code for the devices, and the number of each outcome.
pub fn selection_total(files: &[&AnsweredFile<'_>], name: &str, screen: &Screen) -> String {
    let relevant = || files.iter().flat_map(|file| file.relevant());
    let without = files.iter().filter(|file| !file.has_code()).count();
    if without == files.len() {
        return format!("{name}: no code for such devices in {}\n", counted(files.len(), "file"));
    }
    let mut parts = Vec::new();
    let with_choices = files.iter().filter(|file| file.is_relevant()).count();
    if with_choices > 0 {
        let choices = counted(relevant().count(), "choice");
        parts.push(format!("{choices} in {}: {}", counted(with_choices, "file"), outcomes(relevant(), screen)));
    }
    parts.extend(embedded_total(files, screen));
    if without > 0 {
        parts.push(format!("{} without code for such devices", counted(without, "file")));
    }
    format!("{name}: {}\n", parts.join("; "))
}

/// Formats what the files supply whose program selects from embedded images.
fn embedded_total(files: &[&AnsweredFile<'_>], screen: &Screen) -> Option<String> {
    let mut services: BTreeMap<Service, usize> = BTreeMap::new();
    for service in files.iter().filter_map(|file| file.service_by_program()) {
        *services.entry(service).or_default() += 1;
    }
    let count = services.values().sum();
    let by_service = services.iter().map(|(service, files)| format!("{files} {}", painted(*service, screen)));
    let by_service = by_service.collect::<Vec<_>>().join(", ");
    (count > 0).then(|| format!("embedded images in {}: {by_service}", counted(count, "file")))
}

/// Formats the number of choices by outcome.
fn outcomes<'a>(relevant: impl Iterator<Item = &'a AnsweredSet<'a>>, screen: &Screen) -> String {
    let mut outcomes: BTreeMap<_, (Meaning, usize)> = BTreeMap::new();
    for answer in relevant.flat_map(worst) {
        let (_, count) =
            outcomes.entry(outcome(&answer.selection)).or_insert_with(|| (meaning_of_selection(&answer.selection), 0));
        *count += 1;
    }
    let are_equal = outcomes.len() == 1;
    let number = |count: usize| match count {
        1 if are_equal => String::new(),
        _ if are_equal => "all ".to_owned(),
        count => format!("{count} "),
    };
    let outcomes = outcomes
        .into_iter()
        .map(|((_, name), (meaning, count))| screen.paint(meaning, &format!("{}{name}", number(count))));
    outcomes.collect::<Vec<_>>().join(", ")
}

fn painted(service: Service, screen: &Screen) -> String {
    let meaning = match service {
        Service::Native | Service::Compatible => Meaning::Good,
        Service::Jit | Service::Undecided => Meaning::Unsure,
        Service::Nothing => Meaning::Bad,
    };
    screen.paint(meaning, service.name())
}

/// Code that is compiled when it is loaded is less than the device can have.
fn meaning_of_selection(selection: &Selection) -> Meaning {
    match selection.selected {
        _ if selection.is_undecided() => Meaning::Unsure,
        Some((_, way)) if way.compiled_from().is_some() => Meaning::Unsure,
        Some(_) => Meaning::Good,
        None => Meaning::Bad,
    }
}

/// Answer about a file without selectable code for a platform.
fn without_code(file: &File, platform: Platform) -> String {
    if let Some(text) = to_be_linked(file, platform) {
        return text;
    }
    let leftovers = relocatable_archs(file, CodeRole::Leftover, platform);
    let name = platform.name();
    if leftovers.is_empty() {
        return format!("no code for {name} devices");
    }
    format!("no code for {name} devices: relocatable code for {} that nothing registers", listed(&leftovers))
}

/// Place of an answer in the summary, and its name.
fn outcome(selection: &Selection) -> (u8, &'static str) {
    match selection.selected {
        _ if selection.is_undecided() => (1, "undecided"),
        Some((_, way)) => (0, in_words(way)),
        None => (2, "nothing"),
    }
}

/// Returns how an image runs, in words.
fn in_words(way: LoadMethod) -> &'static str {
    match way {
        LoadMethod::Exact => "native",
        LoadMethod::Compatible => "compatible",
        LoadMethod::Generic => "by generic code",
        LoadMethod::Linked => "linked when loaded",
        LoadMethod::FromPtx => "compiled from PTX",
        LoadMethod::FromSpirV => "compiled from SPIR-V",
        LoadMethod::FromBitcode => "compiled from bitcode",
        LoadMethod::FromAir => "compiled from AIR",
    }
}

/// The least favorable answer: one that selects nothing, if any.
fn worst<'a>(answered: &'a AnsweredSet<'_>) -> Option<&'a DeviceAnswer<'a>> {
    let rank = |selection: &Selection| (outcome(selection).0, selection.selected.map(|(_, way)| way));
    answered.answers.iter().max_by_key(|it| rank(&it.selection))
}
