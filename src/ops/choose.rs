//! Which images of several files are meant by a selection.
//!
//! Most that can be asked stands in the inventory. Kernels do not: for them the images are looked into that everything
//! else has left.

use std::path::Path;

use super::inspect::inspection;
use super::scanned::Scanned;
use super::selection::{Candidate, Selection};
use crate::error::{Error, Result};
use crate::format::ImageKind;
use crate::inspect;
use crate::scan;

/// An image that was chosen, by its file, and its number among the file's device images.
pub type Chosen = (usize, usize);

/// What a selection means.
#[derive(Debug, Default)]
pub struct Choice {
    /// In the order of the files and of the images in them.
    pub chosen: Vec<Chosen>,
    /// What could not be read on the way.
    pub failed: Vec<Error>,
    /// Images that may hold a kernel that was asked for, and why nobody knows.
    pub unknown: Vec<Error>,
}

/// The images that are meant. Something that is asked for and met by none of them is an error.
pub fn choose(files: &[Scanned], selection: &Selection, options: scan::Options) -> Result<Choice> {
    let mut choice = Choice::default();
    let (mut numbers, mut candidates) = (Vec::new(), Vec::new());
    for (file, scanned) in files.iter().enumerate() {
        for (number, (containers, image)) in scanned.file.device_images_in_containers().into_iter().enumerate() {
            let containers = containers.iter().map(|container| container.container_type).collect();
            numbers.push((file, number));
            candidates.push(Candidate { image, containers, kernels: None });
        }
    }
    if selection.kernels().next().is_some() {
        look_into(files, selection, options, &numbers, &mut candidates, &mut choice);
    }
    if let Err(error) = selection.check(&candidates) {
        // What could not be read may be what was asked for.
        return Err(choice.failed.into_iter().next().unwrap_or(error));
    }
    let accepted = numbers.into_iter().zip(&candidates).filter(|(_, candidate)| selection.accepts(candidate));
    Ok(Choice { chosen: accepted.map(|(chosen, _)| chosen).collect(), ..choice })
}

/// Finds out of every image that may be meant which kernels it holds.
fn look_into<'a>(
    files: &[Scanned],
    selection: &'a Selection,
    options: scan::Options,
    numbers: &[Chosen],
    candidates: &mut [Candidate<'a>],
    choice: &mut Choice,
) {
    for (file, scanned) in files.iter().enumerate() {
        let start = numbers.partition_point(|&(before, _)| before < file);
        let own = &mut candidates[start..start + scanned.file.device_images().count()];
        let wanted: Vec<bool> = own.iter().map(|candidate| selection.accepts(candidate)).collect();
        own.iter_mut().for_each(|candidate| candidate.kernels = Some(Vec::new()));
        let path = Path::new(&scanned.file.path);
        let looked = scanned.reopen(options, &|number| wanted[number], &mut |number, _, itself| {
            let found = inspection(itself, options, inspect::kernels);
            let met = selection.kernels().filter(|name| found.kernels.iter().any(|it| name.is_met_by(it)));
            own[number].kernels = Some(met.collect());
            if let Some(why) = found.not_inspected.filter(|_| may_hold_kernels(itself.image_kind)) {
                choice.unknown.push(Error::KernelsUnknown { path: path.to_owned(), number, why });
            }
            let failed = found.problems.into_iter().filter(|_| found.kernels.is_empty());
            choice.failed.extend(failed.map(|problem| problem.in_file(path)));
            Ok(())
        });
        choice.failed.extend(looked.err());
    }
}

fn may_hold_kernels(kind: ImageKind) -> bool {
    ![ImageKind::Empty, ImageKind::HostObject].contains(&kind)
}
