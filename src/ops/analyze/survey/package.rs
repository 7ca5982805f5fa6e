//! Surveys of all files of a package, for questions about the files together: devices, needs, coverage.
//!
//! A package of cubins has thousands of files that are a single container. One survey stands for those that differ only
//! by path, sizes and kernels. It has the kernels of all, so that only their names take memory.

use std::collections::BTreeSet;
use std::mem;

use super::{ImageSurvey, KernelNames, Survey};
use crate::analyze::vendored::VendoredLibrary;
use fatbin_core::base::bytes::total;
use fatbin_core::scan::inventory::{File, StoredBytes};

/// Number of the forms found last that a file is compared with.
const MAX_COMPARED: usize = 64;

/// Surveys of the files that were added.
#[derive(Debug, Default)]
pub struct PackageSurvey {
    /// Names of the kernels of all files.
    pub names: KernelNames,
    /// Each survey, and the number of files that it stands for.
    files: Vec<(Survey, usize)>,
    /// Indexes of the surveys that stand for several files, and the kernels of all.
    joined: Vec<(usize, BTreeSet<u32>)>,
    /// Libraries of others, each with its survey until the package ends.
    vendored: Vec<(VendoredLibrary, Option<Survey>)>,
}

impl PackageSurvey {
    /// Removes the kernels of an image, whose names are kept, and the paths of debug information.
    pub fn take_kernels(&mut self, inside: &mut ImageSurvey) {
        let Some(inspection) = &mut inside.inspection else { return };
        inspection.debug = Default::default();
        if !inspection.kernels.is_empty() {
            let kernels = mem::take(&mut inspection.kernels);
            inside.names = kernels.iter().map(|it| self.names.add(&it.name)).collect();
            let stubs = kernels.iter().zip(&inside.names).filter_map(|(it, number)| Some((*number, it.stub?)));
            inside.stubs = stubs.collect();
            inside.stubs.sort_unstable();
        }
    }

    /// Adds a file. Nothing about its kernels is kept except the names, and no paths of debug information.
    pub fn add(&mut self, mut survey: Survey) {
        survey.image_surveys.iter_mut().for_each(|inside| self.take_kernels(inside));
        match VendoredLibrary::of(&survey.file) {
            Some(library) => self.vendored.push((library, Some(survey))),
            None => self.add_own(survey),
        }
    }

    fn add_own(&mut self, mut survey: Survey) {
        let Some(names) = shared_kernels(&mut survey) else { return self.files.push((survey, 1)) };
        let (path, size) = (mem::take(&mut survey.file.path), mem::take(&mut survey.file.size));
        for (index, known_names) in self.joined.iter_mut().rev().take(MAX_COMPARED) {
            let Some((known, files)) = self.files.get_mut(*index) else { continue };
            let own = (mem::take(&mut known.file.path), mem::take(&mut known.file.size));
            let is_same = *known == survey;
            (known.file.path, known.file.size) = own;
            if is_same {
                // The budget of the analysis grows with the size.
                known.file.size = total([known.file.size, size]);
                *files += 1;
                return known_names.extend(names);
            }
        }
        (survey.file.path, survey.file.size) = (path, size);
        self.joined.push((self.files.len(), names));
        self.files.push((survey, 1));
    }

    /// Ends the package. Where all device code is in libraries of others, it is judged like its own.
    pub fn finish(mut self) -> Self {
        let vendored = mem::take(&mut self.vendored);
        if self.files.iter().any(|(survey, _)| survey.file.has_device_code()) {
            self.vendored = vendored.into_iter().map(|(library, _)| (library, None)).collect();
        } else {
            vendored.into_iter().filter_map(|(_, survey)| survey).for_each(|survey| self.add_own(survey));
        }
        for (index, names) in mem::take(&mut self.joined) {
            let images = self.files.get_mut(index).map(|(survey, _)| &mut survey.image_surveys);
            images.into_iter().flatten().for_each(|inside| inside.names = names.iter().copied().collect());
        }
        self
    }

    /// Returns the libraries of others with device code, which are not judged with the package's own files.
    pub fn vendored(&self) -> impl Iterator<Item = &VendoredLibrary> {
        self.vendored.iter().map(|(library, _)| library)
    }

    /// Returns the surveys of an ended package, in the order of their first files, each with its number of files.
    pub fn files(&self) -> impl Iterator<Item = (&Survey, usize)> + Clone {
        self.files.iter().map(|(survey, files)| (survey, *files))
    }
}

/// Returns the kernels of a file that is a single container, with the same kernels in every image, and removes them and
/// what differs between such files. `None` for other files, which stay as they are: a kernel that one image lacks may be
/// in that image of another file.
fn shared_kernels(survey: &mut Survey) -> Option<BTreeSet<u32>> {
    let File { containers, sections, wrappers, kpack, errors, .. } = &mut survey.file;
    let is_plain = sections.is_empty() && wrappers.is_empty() && kpack.is_empty() && errors.is_empty();
    let [container] = containers.as_mut_slice() else { return None };
    let names = |it: &ImageSurvey| it.names.iter().copied().collect::<BTreeSet<u32>>();
    let first = names(survey.image_surveys.first()?);
    let mut inspections = survey.image_surveys.iter().filter_map(|it| it.inspection.as_ref());
    let are_shared = inspections.all(|it| it.problems.is_empty())
        && survey.image_surveys.iter().all(|it| names(it) == first && it.stubs.is_empty());
    if !is_plain || !are_shared || container.images.iter().any(|image| !image.containers.is_empty()) {
        return None;
    }
    (container.offset, container.size, container.start) = (container.offset.and(Some(0)), 0, 0);
    for image in &mut container.images {
        (image.offset, image.size, image.full_size) = (image.offset.and(Some(0)), None, None);
        (image.sha256, image.symbol, image.stored) = (None, None, StoredBytes::default());
    }
    (survey.file.on_disk, survey.packed, survey.host) = (None, None, None);
    survey.image_surveys.iter_mut().for_each(|inside| inside.names = Box::default());
    Some(first)
}
