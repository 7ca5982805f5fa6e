//! The search for containers in one file.

use super::cache::DecompressedCache;
use super::findings::Findings;
use super::source::stored;
use super::{Options, Source, magic, registrations, structure, symbols, walk};
use crate::bytes::{View, size_of_range};
use crate::error::Result;
use crate::format;
use crate::inventory::{File, FileFormat};

/// Lists every container in `source`, of which `view` is all bytes. Containers that are decompressed on the way are put into
/// `cache`.
pub fn find(source: &dyn Source, view: View<'_>, options: Options, cache: Option<&DecompressedCache>) -> Result<File> {
    let structure = structure::read(view);
    let mut findings = Findings::new(source, view, options, cache);
    // Text near the beginning of such a file does not make it a device image.
    let is_host = matches!(structure.format, FileFormat::Coff | FileFormat::Pe | FileFormat::MachO);
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
    let mut unsearched = 0_u64;
    for range in findings.unexplained(view.size()) {
        if options.structure_only {
            unsearched = unsearched.saturating_add(size_of_range(&range));
        } else {
            for part in stored(source, range) {
                magic::search(source, view, part, &structure, &mut findings)?;
            }
        }
    }
    symbols::name_images(&structure, &mut findings);
    let not_opened = source.not_opened();
    let format = if not_opened.is_some() { FileFormat::Archive } else { structure.format };
    let file = findings.into_file(source.name(), format, view.size());
    Ok(File { wrappers, kpack, unsearched, not_opened, on_disk: source.on_disk(), ..file })
}
