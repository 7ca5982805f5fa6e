//! The search for containers in one file.

use std::ops::Range;

use super::findings::Findings;
use super::{gomp, magic, notes, registrations, signs, sycl, symbols, walk};
use crate::base::bytes::{View, size_of_range};
use crate::base::error::Result;
use crate::format;
use crate::scan::cache::DecompressedCache;
use crate::scan::inventory::{File, FileFormat};
use crate::scan::source::stored;
use crate::scan::structure::fat_lto;
use crate::scan::{Options, Source, host_half, structure};

/// Lists every container in `source`. `view` is all bytes of `source`. Containers that the scan decompresses are added
/// to `cache`.
pub fn find(source: &dyn Source, view: View<'_>, options: Options, cache: Option<&DecompressedCache>) -> Result<File> {
    let decoded = source.decoded_from();
    let structure = decoded.map_or_else(|| structure::read(view), |decoded| structure::of_bitcode(view, decoded));
    let mut findings = Findings::new(source, view, options, cache);
    // Text near the beginning of such a file does not make it a device image.
    let is_host_format = matches!(structure.format, FileFormat::Coff | FileFormat::Pe | FileFormat::MachO);
    let is_host = decoded.is_some() || is_host_format && !format::is_metal_binary(view);
    match if is_host { None } else { format::bare_device_file(view) } {
        Some(Ok(container)) => {
            let checked = container.images().iter().map(|image| format::check_image_file(image.image_kind, image.view));
            findings.errors.extend(checked.filter_map(Result::err));
            findings.add(&container, None);
        }
        Some(Err(error)) => findings.errors.push(error),
        None => findings.errors.extend(structure.defect.clone()),
    }
    let markers = walk::markers(&structure);
    for section in &structure.sections {
        let padding = walk::walk(source, section, &structure.images, &markers, &mut findings);
        if let Some(name) = section.name {
            findings.add_section(name, section.view, padding);
        }
    }
    let (wrappers, kpack) = registrations::follow(view, &structure, &mut findings);
    if options.structure_only {
        symbols::find_images(view, &structure, &mut findings);
    }
    let everything = 0..view.size();
    // Arrays in bitcode may begin at a byte. They are listed as those of the bitcode.
    let copy = if structure.is_object { fat_lto::copy(view) } else { 0..0 };
    let searched = match options.structure_only {
        true => notes::sections(&structure),
        false if copy.is_empty() => vec![everything.clone()],
        false => vec![0..copy.start, copy.end..everything.end],
    };
    for range in intersections(&findings.unexplained(everything.end), &searched) {
        for part in stored(source, range) {
            magic::search(source, view, part, &structure, &mut findings)?;
        }
    }
    let unsearched = unsearched(&findings.unexplained(everything.end), &searched);
    symbols::name_images(&structure, &mut findings);
    gomp::describe_images(view, &structure, &mut findings);
    sycl::describe_images(view, &structure, &mut findings);
    let not_opened = source.not_opened();
    let format = if not_opened.is_some() { FileFormat::Archive } else { structure.format };
    let size = decoded.map_or(view.size(), |decoded| decoded.size);
    let file = findings.into_file(source.path(), format, size);
    let has_gimple = gomp::has_bytecode(&structure);
    let has_versioned_entries = host_half::has_versioned_entries(view, &structure);
    let on_disk = source.on_disk();
    let is_object = structure.is_object;
    let copy = size_of_range(&copy);
    let mut file = File {
        wrappers,
        kpack,
        has_gimple,
        has_versioned_entries,
        is_object,
        copy,
        unsearched,
        not_opened,
        on_disk,
        ..file
    };
    file.record_registrations();
    file.host_defects = host_half::defects(view, &structure, &file);
    file.signs = signs::find(view, &structure, &file, options.calls);
    Ok(file)
}

/// The ranges of each list must be in order and must not overlap.
fn intersections(one: &[Range<u64>], other: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut common = Vec::new();
    let mut others = other.iter().peekable();
    for range in one {
        while let Some(other) = others.peek() {
            let both = range.start.max(other.start)..range.end.min(other.end);
            if !both.is_empty() {
                common.push(both);
            }
            if other.end > range.end {
                break;
            }
            others.next();
        }
    }
    common
}

/// Number of bytes in ranges that were not searched; 0 if ranges that overlap were searched several times.
fn unsearched(ranges: &[Range<u64>], searched: &[Range<u64>]) -> u64 {
    let size = |ranges: &[Range<u64>]| ranges.iter().map(size_of_range).sum::<u64>();
    size(ranges).abs_diff(size(&intersections(ranges, searched)))
}
