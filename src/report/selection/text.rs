//! `select` for people: a block for each choice, and a line for each file.

use std::collections::{BTreeMap, HashMap};

use crate::report::Screen;
use crate::report::text::{Column, columns, counted, printable};
use crate::select::{AnsweredFile, AnsweredSet, CandidateSet, DeviceAnswer, Selection};
use crate::target::Device;

/// A block for every choice that concerns the devices. Libraries hold hundreds of containers with the same answer: the
/// first of them is key_rows, and how many there are.
pub fn selection_text(answered: &AnsweredFile<'_>, name: &str, screen: &Screen) -> String {
    let mut blocks: Vec<(String, usize)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for set in answered.relevant() {
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
    blocks.into_iter().map(|(block, times)| block + &more(times)).collect()
}

fn more(times: usize) -> String {
    if times == 0 { String::new() } else { format!("  and {} like this\n", counted(times, "more choice")) }
}

/// What makes a block one of many, and the block.
fn block(
    path: &str,
    set: &CandidateSet<'_>,
    answer: &DeviceAnswer<'_>,
    devices: &str,
    screen: &Screen,
) -> (String, String) {
    let container = set.container;
    let section = container.section_name().map_or(String::new(), |name| format!(" in {}", printable(name)));
    let offset = container.offset.map_or(String::new(), |offset| format!(" at {offset:#x}"));
    let place = format!("{}{section}", container.container_type.name());
    let on = format!("{} on {devices}", set.runtime.name);
    let rows = rows(set, &answer.selection);
    // But for the numbers, which no two share.
    let key_rows: Vec<&[String]> = rows.iter().map(|row| &row[1..4]).collect();
    let key = format!("{place} {on} {key_rows:?}");
    let mut block = format!("{}: {place}{offset}: {on} {}\n", printable(path), verdict(set, &answer.selection));
    let [arch, image, verdict_heading, reason] = ["ARCH", "IMAGE", "VERDICT", "REASON"].map(Column::left);
    let headings = [Column::right("NUMBER"), arch, image, verdict_heading, reason];
    block += &columns(&headings, rows.into_iter(), screen);
    if let Some((earlier, selection)) = &answer.earlier {
        let (name, release, order) = (earlier.name, earlier.release, earlier.order);
        block += &format!("  {name} of {release} {}: {order}\n", verdict(set, selection));
    }
    (key, block)
}

fn verdict(set: &CandidateSet<'_>, selection: &Selection) -> String {
    let Some((index, way)) = selection.selected else {
        return "takes nothing".to_owned();
    };
    let taken = std::iter::once(&index).chain(&selection.also_selected);
    let numbers: Vec<String> = taken.map(|&index| set.candidates[index].number.to_string()).collect();
    let numbers = numbers.join(", ");
    let images = if selection.also_selected.is_empty() { "image" } else { "images" };
    match way.compiled_from() {
        Some(form) => format!("would JIT from {form}, {images} {numbers}"),
        None => format!("takes {images} {numbers}"),
    }
}

/// A row for each image, in their order.
fn rows(set: &CandidateSet<'_>, selection: &Selection) -> Vec<Vec<String>> {
    let row = |(index, is_taken, reason): (usize, bool, String)| {
        let candidate = &set.candidates[index];
        let image = candidate.image;
        let arch = image.arch.as_deref().or(image.triple.as_deref()).map_or("-".to_owned(), printable);
        let form = image.image_kind.name().to_owned();
        let verdict = if is_taken { "taken" } else { "rejected" };
        vec![candidate.number.to_string(), arch, form, verdict.to_owned(), printable(&reason)]
    };
    selection.verdicts().into_iter().map(row).collect()
}

/// A line about the whole file: how many choices there are for such devices, and how each comes out.
pub fn selection_summary(answered: &AnsweredFile<'_>, name: &str, device: &Device) -> String {
    let path = printable(&answered.file.path);
    let concerned: Vec<&AnsweredSet<'_>> = answered.relevant().collect();
    if concerned.is_empty() {
        return format!("{path}: no code for {} devices\n", device.platform().name());
    }
    let mut outcomes: BTreeMap<_, usize> = BTreeMap::new();
    for answer in concerned.iter().flat_map(|set| worst(set)) {
        *outcomes.entry(answer.selection.selected.map_or((1, "nothing"), |(_, way)| (0, way.name()))).or_default() += 1;
    }
    let outcomes: Vec<String> = outcomes.into_iter().map(|((_, name), count)| format!("{count} {name}")).collect();
    format!("{path}: {name}: {}: {}\n", counted(concerned.len(), "choice"), outcomes.join(", "))
}

/// The answer that counts where there are several: the one with nothing.
fn worst<'a>(answered: &'a AnsweredSet<'_>) -> Option<&'a DeviceAnswer<'a>> {
    answered.answers.iter().max_by_key(|it| it.selection.selected.map_or((1, None), |(_, way)| (0, Some(way))))
}
