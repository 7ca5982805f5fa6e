//! Text of `requires`: a line for each file, and a table of the floors on devices.

use super::RequiredFile;
use crate::analyze::select::{DeviceNeed, FloorCause, Need};
use crate::cli::report::Screen;
use crate::cli::report::selection::to_be_linked;
use crate::cli::report::text::{Column, columns, counted, printable};
use crate::format::readers::Product;
use crate::target::Platform;

/// Number of properties, and of images with one, that are listed.
const LISTED: usize = 2;

/// Returns a block for a file.
pub fn requires_text(required: &RequiredFile<'_>, screen: &Screen) -> String {
    let floors = &required.floors;
    let path = printable(&floors.file.path);
    if floors.loaded() == 0 {
        let answer = to_be_linked(floors.file, Platform::Nvidia);
        return format!("{path}: {}\n", answer.unwrap_or("nothing that a driver or runtime loads".to_owned()));
    }
    let all = floors.all();
    let total: Vec<String> = all.iter().map(|(product, need)| named(*product, need)).collect();
    let total = if total.is_empty() { "no floor known".to_owned() } else { total.join(", ") };
    let mut text = format!("{path}: {}: {total}\n", counted(floors.loaded(), "image"));
    let mut rows = device_rows(required);
    if floors.selected_by_program() > 0 {
        rows.extend(floors.by_program().iter().map(|(product, need)| row("-", "by the program", *product, need)));
    }
    // The first line states what all images need; a row explains it.
    let is_explained = |(product, total): &(Product, Need)| {
        let of_product = |(_, needs): &(String, Vec<DeviceNeed>)| {
            needs.iter().any(|need| need.product == *product && need.preferred.floor == total.floor)
        };
        required.devices.iter().any(of_product)
    };
    if rows.len() > 1 || !all.iter().all(is_explained) {
        rows.extend(all.iter().map(|(product, need)| row("all", "every", *product, need)));
    }
    if !rows.is_empty() {
        let headings = ["OLDEST RELEASE", "IMAGE", "BECAUSE OF", "DEVICES"].map(Column::left);
        text += &columns(&headings, rows.into_iter(), screen);
    }
    if required.omitted_devices > 0 {
        text += &format!("  and {} more\n", counted(required.omitted_devices, "device"));
    }
    for (device, _) in required.devices.iter().filter(|(_, needs)| needs.is_empty()) {
        let answer =
            if required.without_floor.contains(device) { "no floor known for code on" } else { "nothing runs on" };
        text += &format!("  {answer} {}\n", printable(device));
    }
    text
}

/// Devices with equal floors and properties share rows.
fn device_rows(required: &RequiredFile<'_>) -> Vec<Vec<String>> {
    let mut groups: Vec<(Vec<&str>, Vec<DeviceNeed>)> = Vec::new();
    for (device, needs) in required.devices.iter().filter(|(_, needs)| !needs.is_empty()) {
        match groups.iter_mut().find(|(_, known)| is_alike(known, needs)) {
            Some((devices, known)) => {
                devices.push(device);
                for (known, need) in known.iter_mut().zip(needs) {
                    *known = known.clone().and(need.clone());
                }
            }
            None => groups.push((vec![device], needs.clone())),
        }
    }
    let rows = groups.iter().flat_map(|(devices, needs)| {
        let devices = devices.join(", ");
        needs.iter().flat_map(move |need| rows_of(&devices, need))
    });
    rows.collect()
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
    let mut rows = vec![row(devices, "preferred", need.product, &need.preferred)];
    if need.some.floor != need.preferred.floor {
        rows.push(row(devices, "some", need.product, &need.some));
    }
    rows
}

fn row(devices: &str, image: &str, product: Product, need: &Need) -> Vec<String> {
    vec![named(product, need), image.to_owned(), causes(&need.causes), devices.to_owned()]
}

/// Formats the floor with the product's name.
pub fn named(product: Product, need: &Need) -> String {
    let bound = [Some(need.floor.least), need.floor.most];
    if bound.into_iter().flatten().any(|limit| limit.release.is_some()) {
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
    let numbers: Vec<String> = cause.images.iter().take(LISTED).map(usize::to_string).collect();
    let more = cause.images.iter().skip(LISTED).count();
    match (cause.images.len(), more) {
        (0, _) => cause.requirement.to_string(),
        (1, _) => format!("{} (image {})", cause.requirement, numbers.join(", ")),
        (_, 0) => format!("{} (images {})", cause.requirement, numbers.join(", ")),
        (_, more) => format!("{} (images {} and {more} more)", cause.requirement, numbers.join(", ")),
    }
}
