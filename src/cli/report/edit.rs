//! Summaries of edits: the images that were kept and dropped by processor, and the sizes of the file.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::Screen;
use super::text::{Column, columns, counted, printable};
use fatbin_core::base::bytes::size_of_range;
use fatbin_core::format::ContainerType;
use fatbin_core::format::readers::Reader;
use fatbin_core::scan::inventory::{Container, File, Image};
use fatbin_core::target::natural_order;
use fatbin_ops::edit::{EditedContainer, ImageFate, KeepsSize, Loss, Strip, Stripped};

/// Number and bytes of images.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    images: usize,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, image: &Image) {
        self.images += 1;
        self.bytes += image.size.or(image.full_size).unwrap_or_default();
    }
}

/// Formats the images that an edit keeps and drops, with a row for each processor.
pub fn edit_table(file: &File, fates: &[ImageFate], screen: &Screen) -> String {
    let mut rows: BTreeMap<(String, &str), [Sum; 2]> = BTreeMap::new();
    let mut totals = [Sum::default(); 2];
    for (image, fate) in file.device_images().zip(fates) {
        let arch = image.arch.clone().or(image.triple.clone()).unwrap_or_else(|| "-".to_owned());
        let sums = rows.entry((arch, image.image_kind.name())).or_default();
        let column = usize::from(*fate == ImageFate::Dropped);
        sums[column].add(image);
        totals[column].add(image);
    }
    let headings = [
        Column::left("ARCH"),
        Column::left("IMAGE"),
        Column::right("KEPT"),
        Column::right("BYTES"),
        Column::right("DROPPED"),
        Column::right("BYTES"),
    ];
    let cells = |[kept, dropped]: [Sum; 2]| [kept, dropped].map(|sum| [sum.images.to_string(), screen.size(sum.bytes)]);
    let mut rows: Vec<((String, &str), [Sum; 2])> = rows.into_iter().collect();
    rows.sort_by_cached_key(|((arch, _), _)| natural_order(arch));
    let row =
        |((arch, kind), sums): ((String, &str), [Sum; 2])| [vec![arch, kind.to_owned()], cells(sums).concat()].concat();
    let [kept, dropped] = totals;
    let images = counted(kept.images + dropped.images, "device image");
    format!("{}: {images}, {} kept, {} dropped\n", printable(&file.path), kept.images, dropped.images)
        + &columns(&headings, rows.into_iter().map(row), screen)
}

/// Formats a device that loses code, with the number of kernels if they were read.
pub fn edit_loss(loss: &Loss, kernels: Option<usize>) -> String {
    let kernels = kernels.map(|count| format!(" with {}", counted(count, "kernel"))).unwrap_or_default();
    format!("{} loses {}{kernels}", printable(&loss.device), counted(loss.images.len(), "image"))
}

/// Formats devices that lose code, with one line for all devices that lose the same images.
pub fn edit_losses_of_links(losses: &[Loss]) -> Vec<String> {
    let mut groups: BTreeMap<&[usize], Vec<String>> = BTreeMap::new();
    for Loss { device, images } in losses {
        groups.entry(images).or_default().push(printable(device));
    }
    let line = |(images, devices): (&[usize], Vec<String>)| {
        let verb = if devices.len() == 1 { "loses" } else { "lose" };
        format!("{} {verb} {}", devices.join(", "), counted(images.len(), "image"))
    };
    groups.into_iter().map(line).collect()
}

/// Minimum difference between size and disk size for the holes of a file to be reported, in bytes.
const HOLES: u64 = 64 << 10;

/// Formats the size of a file before and after an edit, and the space on disk before and after if the result has holes.
pub fn edit_sizes(size: u64, new_size: u64, on_disk: Option<(u64, u64)>, screen: &Screen) -> String {
    let has_holes = |after: u64| after.saturating_add(HOLES) <= new_size;
    let on_disk = on_disk.filter(|(_, after)| has_holes(*after));
    let on_disk = on_disk
        .map(|(before, after)| format!("; on disk {} -> {}", screen.size(before), screen.size(after)))
        .unwrap_or_default();
    let difference = match new_size.cmp(&size) {
        Ordering::Less => format!(", {} saved", screen.size(size - new_size)),
        Ordering::Equal => String::new(),
        Ordering::Greater => format!(", {} more", screen.size(new_size - size)),
    };
    format!("size {}{difference}{on_disk}\n", screen.change(size, new_size))
}

/// Formats the size of device code before and after it was stored in another form, and the releases that read it now.
pub fn transcoded(file: &File, new_file: &File, containers: usize, readers: &[Reader], screen: &Screen) -> String {
    let size = |file: &File| file.containers.iter().map(|container| container.size).sum::<u64>();
    let readers: Vec<String> = readers.iter().map(Reader::to_string).collect();
    let is_kpack = |container: &Container| container.container_type == ContainerType::Kpack;
    let readers = match readers[..] {
        [] if new_file.containers.iter().any(is_kpack) => "the releases with kpack archives".to_owned(),
        [] => "every release".to_owned(),
        _ => readers.join(", ") + " or later",
    };
    let path = printable(&file.path);
    let containers = counted(containers, "container");
    let sizes = screen.change(size(file), size(new_file));
    format!("{path}: {containers}, device code {sizes}, readable by {readers}\n")
}

/// Formats the number of images that lost debug information or symbols, and the bytes that this saves: as stored in the file, and
/// decompressed.
pub fn stripped(file: &File, containers: &[EditedContainer], strip: &Strip, screen: &Screen) -> String {
    let path = printable(&file.path);
    let images = strip.images();
    if images.is_empty() {
        let what = match strip.parts() {
            Stripped { debug: true, symbols: false } => "debug information",
            Stripped { debug: false, .. } => "symbols that nothing reads",
            Stripped { debug: true, symbols: true } => "debug information or symbols that nothing reads",
        };
        return format!("{path}: no {what} in {}\n", counted(file.device_images().count(), "device image"));
    }
    let saved = |sizes: &mut dyn Iterator<Item = (u64, u64)>| {
        let (old, new) = sizes.fold((0_u64, 0_u64), |(old, new), size| (old + size.0, new + size.1));
        old.saturating_sub(new)
    };
    let stored = saved(&mut containers.iter().map(|it| (size_of_range(&it.span), it.new_size)));
    let decompressed = saved(&mut images.iter().map(|it| (it.size, it.new_size)));
    let count = counted(images.len(), "image");
    let stored = screen.bytes(stored);
    let decompressed = screen.size(decompressed);
    format!("{path}: {count} stripped, {stored} smaller as stored, {decompressed} decompressed\n")
}

/// Formats the images that were replaced, one per line, with their sizes before and after.
pub fn replaced(file: &File, new_file: &File, fates: &[ImageFate], screen: &Screen) -> String {
    let images = file.device_images().zip(new_file.device_images()).zip(fates).enumerate();
    let replaced = images.filter(|(_, (_, fate))| matches!(fate, ImageFate::Replaced(_)));
    let size = |image: &Image| image.decompressed_size().unwrap_or_default();
    replaced
        .map(|(number, ((old, new), _))| {
            let target = old.arch.as_deref().or(old.triple.as_deref()).unwrap_or("-");
            let path = printable(&file.path);
            let target = printable(target);
            let kind = old.image_kind.name();
            format!("{path}: image {number} ({target} {kind}) replaced, {}\n", screen.change(size(old), size(new)))
        })
        .collect()
}

/// Formats the reason why a file keeps its size.
pub fn keeps_size(path: &str, reason: KeepsSize) -> String {
    format!("{}: not made smaller: {reason}\n", printable(path))
}

/// Formats the note that a file has a signature for its new bytes.
pub fn signature_renewed(path: &str) -> String {
    format!("{}: its ad hoc signature is renewed\n", printable(path))
}
