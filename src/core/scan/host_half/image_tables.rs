//! Rows of image tables that lead to no image. patchelf leaves them: it moves a section and not the pointers to it.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::base::bytes::{Table, View};
use crate::base::error::{Cause, Malformed};
use crate::format::bundle_section;
use crate::scan::inventory::{Container, File};
use crate::scan::structure::Structure;
use crate::scan::structure::image_table::ImageRow;
use crate::scan::structure::tables::{HostTables, POINTER};

/// Greatest number of images in a descriptor of OpenMP. Programs have one for each device.
const MAX_IMAGES: u64 = 4096;

/// Size of an image in a descriptor of OpenMP.
const IMAGE_SIZE: u64 = 4 * POINTER;

/// Layouts of the image in a descriptor of SYCL: the version, and the offset of the pointer to the image.
const SYCL_LAYOUTS: [(u64, u64); 2] = [(3, 32), (2, 48)];

/// Offload kinds of SYCL, of Intel and of LLVM.
const SYCL_KINDS: [u64; 2] = [4, 8];

/// A table of images that a program passes to its runtime.
struct ImageTable {
    /// Name in errors.
    field: &'static str,
    /// Place of the first pointer in the host file, and destinations of the pointers to images.
    place: u64,
    images: Vec<Option<u64>>,
}

/// Returns the defects of `.tgtimg`: rows that lead to no section for images, if the file has such sections.
pub fn row_defects(structure: &Structure<'_>) -> Vec<Malformed> {
    let is_for_images = |name: &str| bundle_section::entry_id(name).is_some();
    let sections: Vec<Range<u64>> = structure.sections_named(is_for_images).collect();
    if sections.is_empty() {
        return Vec::new();
    }
    let defect = |row: &ImageRow| {
        let is_in_section = |image| sections.iter().any(|section| section.contains(&image));
        let cause = lost_image(row.image, is_in_section)?;
        Some(Malformed { field: "image table row", offset: row.offset, cause: Cause::Described(cause) })
    };
    structure.image_rows.iter().filter_map(defect).collect()
}

/// Returns the defects of the descriptors that a linked file passes to the runtimes of OpenMP and SYCL.
pub fn descriptor_defects(view: View<'_>, structure: &Structure<'_>, file: &File) -> Vec<Malformed> {
    let mut images = BTreeSet::new();
    for container in &file.containers {
        add_starts(container, &mut images);
    }
    let known: Vec<Range<u64>> = file.containers.iter().filter_map(Container::range).collect();
    let gaps = gaps(&known, view.size());
    let mut defects = Vec::new();
    for (host_file, host) in structure.parsed_hosts() {
        let Some(tables) = HostTables::read(&host_file, host, &gaps) else { continue };
        for table in image_tables(&tables) {
            let lost = |image: &Option<u64>| {
                lost_image(image.and_then(|image| tables.in_file(image)), |image| images.contains(&image))
            };
            if let Some(cause) = table.images.iter().find_map(lost) {
                defects.push(host.malformed(table.field, table.place, Cause::Described(cause)));
            }
        }
    }
    defects
}

/// Returns what a row registers, if it is no image.
fn lost_image(image: Option<u64>, is_image: impl Fn(u64) -> bool) -> Option<String> {
    match image {
        Some(image) if is_image(image) => None,
        Some(image) => Some(format!("registers {image:#x}, where no image begins")),
        None => Some("registers nothing".to_owned()),
    }
}

/// Adds the offsets of containers and of the images in them.
fn add_starts(container: &Container, starts: &mut BTreeSet<u64>) {
    starts.extend(container.offset);
    for image in &container.images {
        starts.extend(image.offset);
        for inner in &image.containers {
            add_starts(inner, starts);
        }
    }
}

fn gaps(known: &[Range<u64>], size: u64) -> Vec<Range<u64>> {
    let mut gaps = Vec::new();
    let mut end = 0;
    for range in known {
        if range.start > end {
            gaps.push(end..range.start);
        }
        end = end.max(range.end);
    }
    if end < size {
        gaps.push(end..size);
    }
    gaps
}

fn image_tables(tables: &HostTables<'_, '_>) -> Vec<ImageTable> {
    let mut found = Vec::new();
    for &place in tables.targets.keys() {
        found.extend(openmp(tables, place));
        found.extend(sycl(tables, place));
    }
    found
}

/// Table of a descriptor of OpenMP whose pointer to its images is at `place`. Every image repeats the range of entries.
fn openmp(tables: &HostTables<'_, '_>, place: u64) -> Option<ImageTable> {
    let descriptor = place.checked_sub(POINTER)?;
    let count = tables.number(descriptor, 0, POINTER).filter(|count| (1..=MAX_IMAGES).contains(count))?;
    let entries = [16, 24].map(|field| tables.target(descriptor, field));
    if entries.contains(&None) {
        return None;
    }
    let rows = Table { offset: tables.target(descriptor, POINTER)?, count, entry_size: IMAGE_SIZE };
    let mut images = Vec::new();
    for row in rows.offsets() {
        if [16, 24].map(|field| tables.target(row, field)) != entries {
            return None;
        }
        images.push(tables.target(row, 0));
    }
    Some(ImageTable { field: "OpenMP image", place: rows.offset, images })
}

/// Image of SYCL whose pointer to the triple is at `place`.
fn sycl(tables: &HostTables<'_, '_>, place: u64) -> Option<ImageTable> {
    let record = place.checked_sub(POINTER)?;
    let version = tables.number(record, 0, 2)?;
    let (_, at) = SYCL_LAYOUTS.into_iter().find(|(known, _)| *known == version)?;
    let kind = tables.number(record, 2, 1)?;
    let is_padded = tables.number(record, 4, 4) == Some(0);
    let has_options = [16, 24].into_iter().all(|field| tables.target(record, field).is_some());
    if !SYCL_KINDS.contains(&kind) || !is_padded || !has_options {
        return None;
    }
    // The pointer to the end follows. A pair of null pointers is an image that another file provides.
    let bounds = [at, at.checked_add(POINTER)?].map(|field| tables.target(record, field));
    let place = record.checked_add(at)?;
    (bounds != [None, None]).then_some(ImageTable { field: "SYCL image", place, images: vec![bounds[0]] })
}
