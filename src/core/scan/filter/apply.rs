//! Applying a filter to the images of files.
//!
//! Most predicates use the inventory, which does not list kernels. Images that all other predicates accept are
//! therefore inspected for kernels.

use std::collections::BTreeSet;

use super::{FilterCandidate, FilterError, ImageFilter, KernelPattern, Predicate, no_match};
use crate::format::ImageKind;
use crate::image::{self, Inspection, Kernel};
use crate::scan::inspect::inspect_with;
use crate::scan::inventory::{File, Image, NestedImage};
use crate::scan::{ImageRef, ScannedFile};
use crate::target::OffloadKind;

/// A device image of one of several files.
#[derive(Debug, Clone)]
pub struct FoundImage<'a> {
    /// Index of the file.
    pub file: usize,
    /// The image, with the containers around it.
    pub nested: NestedImage<'a>,
}

/// Result of applying a filter.
#[derive(Debug, Default)]
pub struct FilterResult<'a> {
    /// Images that the filter accepts, in the order of the files and of their images.
    pub images: Vec<FoundImage<'a>>,
    /// Errors of images that could not be read.
    pub failed: Vec<FilterError>,
    /// Images with unknown kernels. The filter may accept them.
    pub unknown: Vec<FilterError>,
}

/// A filter that is applied file by file.
#[derive(Debug)]
pub struct FilterRun<'f> {
    filter: &'f ImageFilter,
    /// For each predicate, whether an accepted image meets it.
    met: Vec<bool>,
    /// Kind, triple, arch and entry ID of all images, and the largest number of one.
    seen: BTreeSet<(Option<OffloadKind>, [Option<String>; 3])>,
    last: Option<usize>,
    known_kernels: BTreeSet<String>,
    result: FilterResult<'static>,
}

impl<'f> FilterRun<'f> {
    pub fn new(filter: &'f ImageFilter) -> Self {
        let met = vec![false; filter.0.len()];
        let result = FilterResult::default();
        FilterRun { filter, met, seen: BTreeSet::new(), last: None, known_kernels: BTreeSet::new(), result }
    }

    /// Returns the images of a file that the filter accepts.
    pub fn accept<'a>(&mut self, scanned: &'a ScannedFile) -> Vec<NestedImage<'a>> {
        self.accept_in(scanned.file(), Some(scanned))
    }

    /// Returns the images of a file that the filter accepts, for any kernels if the file was not scanned.
    pub fn accept_in<'a>(&mut self, file: &'a File, scanned: Option<&ScannedFile>) -> Vec<NestedImage<'a>> {
        let mut images: Vec<NestedImage<'_>> = file.nested_images().collect();
        if self.filter.is_empty() || images.is_empty() {
            return images;
        }
        let mut candidates: Vec<FilterCandidate<'_>> = images.iter().map(candidate).collect();
        if let Some(scanned) = scanned
            && self.filter.kernels().next().is_some()
        {
            self.match_kernels(scanned, &images, &mut candidates);
        }
        for FilterCandidate { image: Image { kind, triple, arch, id, .. }, number, .. } in &candidates {
            self.seen.insert((*kind, [triple, arch, id].map(Option::clone)));
            self.last = self.last.max(Some(*number));
        }
        candidates.retain(|candidate| self.filter.accepts(candidate));
        for (met, predicate) in self.met.iter_mut().zip(&self.filter.0) {
            *met |= candidates.iter().any(|candidate| predicate.is_met_by(candidate));
        }
        let accepted: BTreeSet<usize> = candidates.iter().map(|candidate| candidate.number).collect();
        images.retain(|nested| accepted.contains(&nested.index));
        images
    }

    /// Returns the problems of all files. A predicate that no accepted image meets is an error.
    pub fn finish(self) -> Result<FilterResult<'static>, FilterError> {
        let unmet: Vec<&Predicate> =
            self.filter.0.iter().zip(&self.met).filter(|(_, is_met)| !**is_met).map(|(it, _)| it).collect();
        if unmet.is_empty() {
            return Ok(self.result);
        }
        // An image that could not be read may be the requested one.
        if let Some(error) = self.result.failed.into_iter().next() {
            return Err(error);
        }
        let images = self.seen.into_iter();
        let images = images.map(|(kind, [triple, arch, id])| Image { kind, triple, arch, id, ..Image::default() });
        let mut error = no_match(&unmet, &images.collect::<Vec<_>>(), self.last);
        if let FilterError::NoMatch { available, .. } = &mut error
            && !self.known_kernels.is_empty()
            && unmet.iter().all(|predicate| matches!(predicate, Predicate::Kernel(_)))
        {
            *available = listed(&self.known_kernels);
        }
        Err(error)
    }

    /// Inspects every image of a file that the filter may accept, to find the requested kernels. Notes some kernels.
    fn match_kernels<'c>(
        &mut self,
        scanned: &ScannedFile,
        images: &[NestedImage<'_>],
        candidates: &mut [FilterCandidate<'c>],
    ) where
        'f: 'c,
    {
        let filter = self.filter;
        let path = scanned.file().path.printed();
        let scan = match scanned.open() {
            Ok(scan) => scan,
            Err(error) => return self.result.failed.push(error.into()),
        };
        // Images that the filter refuses for other reasons are not read.
        let possible: Vec<usize> = (0..images.len()).filter(|&index| filter.accepts(&candidates[index])).collect();
        for candidate in candidates.iter_mut() {
            candidate.kernels = Some(Vec::new());
        }
        let nested: Vec<NestedImage<'_>> = possible.iter().map(|&index| images[index].clone()).collect();
        let read = |_, image: &ImageRef<'_>| {
            let Inspection { kernels, not_inspected, problems, .. } = inspect_with(image, image::kernels);
            let met = filter.kernels().filter(|pattern| kernels.iter().any(|kernel| pattern.matches(kernel)));
            let met: Vec<&KernelPattern> = met.collect();
            let problems = if kernels.is_empty() { problems } else { Vec::new() };
            let named: Vec<Kernel> = kernels.into_iter().take(MAX_LISTED + 1).collect();
            (met, not_inspected, problems, named)
        };
        scan.map_images(&nested, read, &mut |index, (met, not_inspected, problems, named)| {
            if self.known_kernels.len() <= MAX_LISTED {
                self.known_kernels.extend(named.into_iter().map(|kernel| kernel.demangled.unwrap_or(kernel.name)));
            }
            let image = &nested[index];
            candidates[possible[index]].kernels = Some(met);
            if let Some(why) = not_inspected
                && may_hold_kernels(image.image.image_kind)
            {
                let path = path.to_owned();
                self.result.unknown.push(FilterError::KernelsUnknown { path, number: image.index, why });
            }
            self.result.failed.extend(problems.into_iter().map(|problem| problem.in_file(path).into()));
        });
        self.result.failed.extend(scan.source().input().check_unchanged().err().map(FilterError::from));
    }
}

/// Returns the images that `filter` accepts. A predicate that no accepted image meets is an error.
pub fn apply<'a>(filter: &ImageFilter, files: &'a [ScannedFile]) -> Result<FilterResult<'a>, FilterError> {
    let mut run = FilterRun::new(filter);
    let mut images = Vec::new();
    for (file, scanned) in files.iter().enumerate() {
        images.extend(run.accept(scanned).into_iter().map(|nested| FoundImage { file, nested }));
    }
    Ok(FilterResult { images, ..run.finish()? })
}

fn candidate<'a>(nested: &NestedImage<'a>) -> FilterCandidate<'a> {
    let containers = nested.containers.iter().map(|container| container.container_type).collect();
    FilterCandidate { image: nested.image, number: nested.index, containers, kernels: None }
}

/// Maximum number of kernels that a message names.
const MAX_LISTED: usize = 5;

/// Names the first kernels.
fn listed(kernels: &BTreeSet<String>) -> String {
    let first: Vec<&str> = kernels.iter().take(MAX_LISTED).map(String::as_str).collect();
    format!("{}{}", first.join(", "), if kernels.len() > MAX_LISTED { ", ..." } else { "" })
}

fn may_hold_kernels(kind: ImageKind) -> bool {
    !matches!(kind, ImageKind::Empty | ImageKind::HostObject)
}
