//! Text of `requires`: a line for each file, and a table of the floors on devices.

use std::collections::BTreeSet;

use super::RequiredFile;
use crate::report::Screen;
use crate::report::selection::to_be_linked;
use crate::report::text::{Block, Column, columns, counted, headline, paragraph, printable};
use fatbin_core::format::ImageKind;
use fatbin_core::format::readers::Product;
use fatbin_core::scan::inventory::File;
use fatbin_core::target::Platform;
use fatbin_ops::analyze::requires::{Release, nvjitlink};
use fatbin_ops::analyze::select::{DeviceNeed, FloorCause, Need};

/// The image that the runtime prefers on a device.
const BEST: &str = "best image";

/// Number of properties, and of images with one, that are listed.
const LISTED: usize = 2;

/// Number of devices that a sentence names.
const NAMED: usize = 6;

/// Number of devices that a row names on a terminal.
const IN_ROW: usize = 1;

/// Returns a block for a file.
pub fn requires_text(required: &RequiredFile<'_>, screen: &Screen) -> Block {
    let floors = &required.floors;
    let path = &floors.file.path;
    if floors.loaded() == 0 {
        let answer = to_be_linked(floors.file, Platform::Nvidia);
        let answer = answer.or_else(|| to_be_linked_by(floors.file));
        let answer = answer.unwrap_or("nothing that a driver or runtime loads".to_owned());
        return Block { heading: headline(path, &answer, screen), body: String::new() };
    }
    let known = |needs: Vec<(Product, Need)>| -> Vec<_> { needs.into_iter().filter(|(_, it)| is_known(it)).collect() };
    let all = known(floors.all());
    let together = known(floors.of_all_devices());
    let total: Vec<String> = together.iter().map(|(product, need)| named(*product, need)).collect();
    let total = if total.is_empty() { "no floor known".to_owned() } else { total.join(", ") };
    let heading = headline(path, &format!("{}: {total}", counted(floors.loaded(), "image")), screen);
    let mut text = String::new();
    let mut rows = device_rows(required, if screen.is_terminal() { IN_ROW } else { usize::MAX });
    if floors.selected_by_program() > 0 {
        rows.extend(floors.by_program().iter().map(|(product, need)| row("-", "program's choice", *product, need)));
    }
    // The first line states what the devices need together; a row explains it.
    let needs = || required.devices.iter().flat_map(|it| &it.needs);
    let is_new = |(product, need): &&(Product, Need)| {
        let is_less = all.iter().any(|(other, every)| other == product && every.floor != need.floor);
        is_less && !needs().any(|own| own.product == *product && own.preferred.floor == need.floor)
    };
    rows.extend(together.iter().filter(is_new).map(|(product, need)| row("all", BEST, *product, need)));
    rows.extend(all.iter().map(|(product, need)| row("all", "all images", *product, need)));
    if !rows.is_empty() {
        let headings = ["OLDEST RELEASE", "TO LOAD", "BECAUSE OF", "DEVICES"].map(Column::left);
        text += &columns(&headings, rows.into_iter(), screen);
    }
    if required.omitted_devices > 0 {
        text += &format!("  and {} more\n", counted(required.omitted_devices, "device"));
    }
    text.extend(sentences(required).iter().map(|sentence| paragraph(sentence, screen)));
    text.extend(floors.alternatives().iter().map(|numbers| paragraph(&one_of(numbers), screen)));
    let is_more = |(product, every): &&(Product, Need)| {
        let own = together.iter().find(|(other, _)| other == product);
        own.is_none_or(|(_, own)| own.floor.and(every.floor) != own.floor)
    };
    let more: Vec<String> = all.iter().filter(is_more).map(|(product, need)| or_newer(*product, need)).collect();
    if !more.is_empty() {
        text += &paragraph(&format!("For all images: {}.", more.join("; ")), screen);
    }
    text += &host_sentence(required).map_or_else(String::new, |sentence| paragraph(&sentence, screen));
    for it in required.devices.iter().filter(|it| !it.needs.iter().any(|need| is_known(&need.preferred))) {
        let answer = if it.runs { "no floor known for code on" } else { "nothing runs on" };
        text += &format!("  {answer} {}\n", printable(&it.device.name));
    }
    Block { heading, body: text }
}

/// Returns the answer about LTO-IR: the linker that each version needs.
fn to_be_linked_by(file: &File) -> Option<String> {
    let lto_ir = file.device_images().filter(|image| image.image_kind == ImageKind::Nvvm);
    let versions: BTreeSet<(u16, u16)> = lto_ir.filter_map(|image| image.cuda.ir_version).collect();
    // A linker of the newest version links all.
    let newest = versions.last()?;
    Some(format!("LTO-IR, to be linked first: {}", nvjitlink(*newest)))
}

/// Returns the sentence about images that are alternatives.
fn one_of(numbers: &[usize]) -> String {
    let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
    format!("Images {} have the same functions: a program loads one of them.", enumerated(&numbers, NAMED))
}

/// Returns the sentence about the libraries that host code needs, if it needs any.
fn host_sentence(required: &RequiredFile<'_>) -> Option<String> {
    let libraries = required.host.map_or(&[][..], |host| &host.libraries);
    let clause = |is_loaded_by_name: bool, verb: &str| {
        let own = libraries.iter().filter(|it| it.is_loaded_by_name == is_loaded_by_name);
        let names: Vec<String> = own.map(|it| printable(&it.name)).collect();
        (!names.is_empty()).then(|| format!("{verb} {}", enumerated(&names, NAMED)))
    };
    let clauses: Vec<String> = clause(false, "needs").into_iter().chain(clause(true, "loads by name")).collect();
    (!clauses.is_empty()).then(|| format!("Host code {}.", clauses.join("; ")))
}

/// Returns a sentence for each set of devices that need the same releases for their preferred images.
fn sentences(required: &RequiredFile<'_>) -> Vec<String> {
    let mut sets: Vec<(Vec<String>, Vec<DeviceNeed>)> = Vec::new();
    for it in required.devices.iter().filter(|it| it.needs.iter().any(|need| is_known(&need.preferred))) {
        let device = it.device.gpu.map_or_else(|| it.device.name.clone(), |gpu| format!("{gpu} ({})", it.device.name));
        let floors = |needs: &[DeviceNeed]| needs.iter().map(|need| (need.product, need.preferred.floor)).collect();
        let own: Vec<_> = floors(&it.needs);
        match sets.iter_mut().find(|(_, known)| floors(known) == own) {
            Some((devices, known)) => {
                devices.push(printable(&device));
                join(known, &it.needs);
            }
            None => sets.push((vec![printable(&device)], it.needs.clone())),
        }
    }
    let sentence = |(devices, needs): &(Vec<String>, Vec<DeviceNeed>)| {
        let needs = needs.iter().filter(|need| is_known(&need.preferred));
        let needs: Vec<String> = needs.map(of_device).collect();
        format!("On {}: {}.", enumerated(devices, NAMED), needs.join("; "))
    };
    sets.iter().map(sentence).collect()
}

/// Formats what a device needs for its preferred image. A Metal library may load where some of its functions fail.
fn of_device(need: &DeviceNeed) -> String {
    let all = or_newer(need.product, &need.preferred);
    if has_functions(need) {
        format!("{} to load; {all} for all functions", or_newer(need.product, &need.some))
    } else {
        all
    }
}

/// Returns whether a property of some functions decides what all functions need.
fn has_functions(need: &DeviceNeed) -> bool {
    need.preferred.causes.iter().any(|cause| cause.requirement.is_of_functions())
        && need.some.floor != need.preferred.floor
}

/// Formats what a product must be: `driver 525.60.13 (CUDA 12.0) or newer`.
pub fn or_newer(product: Product, need: &Need) -> String {
    match need.release() {
        Some(Release { driver: Some(driver), version: (major, minor), .. }) => {
            format!("driver {driver} (CUDA {major}.{minor}) or newer")
        }
        Some(release) => format!("{release} or newer"),
        None => named(product, need),
    }
}

/// Returns whether anything is known about what loads an image.
fn is_known(need: &Need) -> bool {
    let bound = [Some(need.floor.least), need.floor.most];
    !need.causes.is_empty() || bound.into_iter().flatten().any(|limit| limit.release.is_some())
}

/// Joins texts as in a sentence. Those that exceed the limit are counted.
fn enumerated(texts: &[String], limit: usize) -> String {
    match texts {
        [first @ .., last] if !first.is_empty() && texts.len() <= limit => format!("{} and {last}", first.join(", ")),
        _ => listed(texts, limit),
    }
}

/// Joins texts as in a list. Those that exceed the limit are counted.
fn listed(texts: &[String], limit: usize) -> String {
    let (shown, others) = texts.split_at(texts.len().min(limit));
    if others.is_empty() { shown.join(", ") } else { format!("{} and {} more", shown.join(", "), others.len()) }
}

/// Devices with equal floors and properties share rows.
fn device_rows(required: &RequiredFile<'_>, named: usize) -> Vec<Vec<String>> {
    let mut groups: Vec<(Vec<String>, Vec<DeviceNeed>)> = Vec::new();
    for it in required.devices.iter().filter(|it| !it.needs.is_empty()) {
        match groups.iter_mut().find(|(_, known)| is_alike(known, &it.needs)) {
            Some((devices, known)) => {
                devices.push(it.device.name.clone());
                join(known, &it.needs);
            }
            None => groups.push((vec![it.device.name.clone()], it.needs.clone())),
        }
    }
    let rows = groups.iter().flat_map(|(devices, needs)| {
        let devices = listed(devices, named);
        needs.iter().flat_map(move |need| rows_of(&devices, need))
    });
    rows.collect()
}

/// Adds the images of needs that differ in nothing else.
fn join(known: &mut [DeviceNeed], needs: &[DeviceNeed]) {
    for (known, need) in known.iter_mut().zip(needs) {
        *known = known.clone().and(need.clone());
    }
}

/// True if needs differ at most in their images.
fn is_alike(one: &[DeviceNeed], other: &[DeviceNeed]) -> bool {
    let is_equal = |one: &Need, other: &Need| {
        let properties = |need: &Need| need.causes.iter().map(|cause| cause.requirement).collect::<Vec<_>>();
        one.floor == other.floor && properties(one) == properties(other)
    };
    one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| {
            one.product == other.product
                && is_equal(&one.preferred, &other.preferred)
                && is_equal(&one.some, &other.some)
        })
}

/// Formats a row for the preferred image, and a row for another image that needs less.
fn rows_of(devices: &str, need: &DeviceNeed) -> Vec<Vec<String>> {
    let (best, some) = if has_functions(need) { ("all functions", "library") } else { (BEST, "some image") };
    let mut rows = Vec::new();
    if is_known(&need.preferred) {
        rows.push(row(devices, best, need.product, &need.preferred));
    }
    if need.some.floor != need.preferred.floor {
        rows.push(row(devices, some, need.product, &need.some));
    }
    rows
}

fn row(devices: &str, image: &str, product: Product, need: &Need) -> Vec<String> {
    vec![named(product, need), image.to_owned(), causes(&need.causes), devices.to_owned()]
}

/// Formats the floor with the product's name.
fn named(product: Product, need: &Need) -> String {
    let bound = [Some(need.floor.least), need.floor.most];
    if need.floor.measured_llvm().is_some() || bound.into_iter().flatten().any(|limit| limit.release.is_some()) {
        return need.floor.to_string();
    }
    let product = match product {
        Product::Cuda => "CUDA",
        Product::Rocm => "ROCm",
        Product::Llvm => "LLVM",
        Product::Apple(system) => system.name(),
    };
    format!("{product} {}", need.floor)
}

/// Formats the properties that decide a floor, and their images.
fn causes(causes: &[FloorCause]) -> String {
    if causes.is_empty() {
        return "-".to_owned();
    }
    let listed: Vec<String> = causes.iter().take(LISTED).map(cause).collect();
    let more = causes.iter().skip(LISTED).count();
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{more}", listed.join("; "))
}

fn cause(cause: &FloorCause) -> String {
    if cause.images.is_empty() {
        cause.requirement.to_string()
    } else {
        format!("{} ({})", cause.requirement, images(cause))
    }
}

/// Formats the numbers of the images with a property, or the number of many: `images 0, 2`, `12 images`.
fn images(cause: &FloorCause) -> String {
    let numbers: Vec<String> = cause.images.iter().map(usize::to_string).collect();
    match numbers.as_slice() {
        [one] => format!("image {one}"),
        several if several.len() <= LISTED => format!("images {}", several.join(", ")),
        many => format!("{} images", many.len()),
    }
}
