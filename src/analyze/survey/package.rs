//! Surveys of all files of a package, for questions about the files together: devices, needs, coverage.
//!
//! A package of cubins has thousands of files that are a single container. One survey stands for those that differ only
//! by path, sizes and kernels. It has the kernels of all, so that only their names take memory.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use super::Survey;
use crate::base::bytes::total;
use crate::image::{Inspection, Kernel};
use crate::scan::inventory::{File, StoredBytes};

/// Number of the forms found last that a file is compared with.
const MAX_COMPARED: usize = 64;

/// Surveys of the files that were added.
#[derive(Debug, Default)]
pub struct PackageSurvey {
    files: Vec<Survey>,
    /// Indexes of the surveys that stand for several files, and the kernels of all, with their demangled names.
    joined: Vec<(usize, BTreeMap<String, Option<String>>)>,
}

impl PackageSurvey {
    /// Adds a file. Nothing about its kernels is kept except the names, and no paths of debug information.
    pub fn add(&mut self, mut survey: Survey) {
        for inspection in survey.image_surveys.iter_mut().filter_map(|it| it.inspection.as_mut()) {
            inspection.debug = Default::default();
            inspection.kernels = mem::take(&mut inspection.kernels).into_iter().map(named).collect();
        }
        let Some(kernels) = shared_kernels(&mut survey) else { return self.files.push(survey) };
        let (path, size) = (mem::take(&mut survey.file.path), mem::take(&mut survey.file.size));
        for (index, names) in self.joined.iter_mut().rev().take(MAX_COMPARED) {
            let Some(known) = self.files.get_mut(*index) else { continue };
            let own = (mem::take(&mut known.file.path), mem::take(&mut known.file.size));
            let is_same = *known == survey;
            (known.file.path, known.file.size) = own;
            if is_same {
                // The budget of the analysis grows with the size.
                known.file.size = total([known.file.size, size]);
                return names.extend(kernels.into_iter().map(|kernel| (kernel.name, kernel.demangled)));
            }
        }
        (survey.file.path, survey.file.size) = (path, size);
        let names = kernels.into_iter().map(|kernel| (kernel.name, kernel.demangled)).collect();
        self.joined.push((self.files.len(), names));
        self.files.push(survey);
    }

    /// Returns the surveys, in the order of their first files.
    pub fn finish(mut self) -> Vec<Survey> {
        for (index, names) in self.joined {
            let kernel = |(name, demangled)| Kernel { name, demangled, ..Kernel::default() };
            let kernels: Vec<Kernel> = names.into_iter().map(kernel).collect();
            let images = self.files.get_mut(index).map(|survey| &mut survey.image_surveys);
            for inspection in images.into_iter().flatten().filter_map(|inside| inside.inspection.as_mut()) {
                inspection.kernels.clone_from(&kernels);
            }
        }
        self.files
    }
}

fn named(Kernel { name, demangled, .. }: Kernel) -> Kernel {
    Kernel { name, demangled, ..Kernel::default() }
}

/// Returns the kernels of a file that is a single container, with the same kernels in every image, and removes them and
/// what differs between such files. `None` for other files, which stay as they are: a kernel that one image lacks may be
/// in that image of another file.
fn shared_kernels(survey: &mut Survey) -> Option<Vec<Kernel>> {
    let File { containers, sections, wrappers, kpack, errors, .. } = &mut survey.file;
    let is_plain = sections.is_empty() && wrappers.is_empty() && kpack.is_empty() && errors.is_empty();
    let [container] = containers.as_mut_slice() else { return None };
    let inspections = survey.image_surveys.iter().map(|inside| inside.inspection.as_ref());
    let inspections: Vec<&Inspection> = inspections.collect::<Option<_>>()?;
    let names = |it: &Inspection| it.kernels.iter().map(|kernel| kernel.name.clone()).collect::<BTreeSet<String>>();
    let first = names(inspections.first()?);
    let are_shared = inspections.iter().all(|it| it.problems.is_empty() && names(it) == first);
    if !is_plain || !are_shared || container.images.iter().any(|image| !image.containers.is_empty()) {
        return None;
    }
    (container.offset, container.size, container.start) = (container.offset.and(Some(0)), 0, 0);
    for image in &mut container.images {
        (image.offset, image.size, image.full_size) = (image.offset.and(Some(0)), None, None);
        (image.sha256, image.symbol, image.stored) = (None, None, StoredBytes::default());
    }
    (survey.file.on_disk, survey.packed, survey.host) = (None, None, None);
    let inspections = survey.image_surveys.iter_mut().filter_map(|inside| inside.inspection.as_mut());
    inspections.map(|inspection| mem::take(&mut inspection.kernels)).reduce(|first, _| first)
}
