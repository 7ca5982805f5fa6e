//! Applying a filter to the images of several files.
//!
//! Most predicates use the inventory, which does not list kernels. Images that all other predicates accept are
//! therefore inspected for kernels.

use std::collections::BTreeSet;
use std::path::Path;

use super::{FilterCandidate, FilterError, ImageFilter, KernelPattern, Predicate};
use crate::format::ImageKind;
use crate::image::{self, Inspection, Kernel};
use crate::scan::inspect::inspect_with;
use crate::scan::inventory::NestedImage;
use crate::scan::{ImageRef, ScannedFile};

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

impl<'a> FilterResult<'a> {
    /// Returns the accepted images of a file.
    pub fn of_file(&self, file: usize) -> Vec<NestedImage<'a>> {
        let first = self.images.partition_point(|found| found.file < file);
        let own = self.images.iter().skip(first).take_while(|found| found.file == file);
        own.map(|found| found.nested.clone()).collect()
    }
}

/// Returns the images that `filter` accepts. A predicate that no accepted image meets is an error.
pub fn apply<'a>(filter: &ImageFilter, files: &'a [ScannedFile]) -> Result<FilterResult<'a>, FilterError> {
    let mut result = FilterResult::default();
    let mut images = Vec::new();
    for (file, scanned) in files.iter().enumerate() {
        images.extend(scanned.file().nested_images().map(|nested| FoundImage { file, nested }));
    }
    let mut candidates: Vec<FilterCandidate<'_>> = images.iter().map(candidate).collect();
    let mut known_kernels = BTreeSet::new();
    if filter.kernels().next().is_some() {
        for (images, candidates) in by_file(&images).zip(by_file_mut(&images, &mut candidates)) {
            match_kernels(filter, &files[images[0].file], images, candidates, &mut result, &mut known_kernels);
        }
    }
    if let Err(mut error) = filter.check(&candidates) {
        if let FilterError::NoMatch { available, .. } = &mut error
            && !known_kernels.is_empty()
            && filter.unmet(&candidates).iter().all(|predicate| matches!(predicate, Predicate::Kernel(_)))
        {
            *available = listed(&known_kernels);
        }
        // An image that could not be read may be the requested one.
        return Err(result.failed.into_iter().next().unwrap_or(error));
    }
    let accepted: Vec<bool> = candidates.iter().map(|candidate| filter.accepts(candidate)).collect();
    let images = images.into_iter().zip(accepted).filter(|(_, is_accepted)| *is_accepted);
    result.images = images.map(|(image, _)| image).collect();
    Ok(result)
}

fn candidate<'a>(found: &FoundImage<'a>) -> FilterCandidate<'a> {
    let containers = found.nested.containers.iter().map(|container| container.container_type).collect();
    FilterCandidate { image: found.nested.image, number: found.nested.index, containers, kernels: None }
}

/// The images of each file.
pub fn by_file<'i, 'a>(images: &'i [FoundImage<'a>]) -> impl Iterator<Item = &'i [FoundImage<'a>]> {
    images.chunk_by(|one, next| one.file == next.file)
}

/// The candidates of the images of each file.
fn by_file_mut<'c, 'a>(
    images: &[FoundImage<'_>],
    mut candidates: &'c mut [FilterCandidate<'a>],
) -> impl Iterator<Item = &'c mut [FilterCandidate<'a>]> {
    by_file(images).map(move |images| {
        let (own, rest) = std::mem::take(&mut candidates).split_at_mut(images.len());
        candidates = rest;
        own
    })
}

/// Maximum number of kernels that a message names.
const MAX_LISTED: usize = 5;

/// Names the first kernels.
fn listed(kernels: &BTreeSet<String>) -> String {
    let first: Vec<&str> = kernels.iter().take(MAX_LISTED).map(String::as_str).collect();
    format!("{}{}", first.join(", "), if kernels.len() > MAX_LISTED { ", ..." } else { "" })
}

/// Inspects every image of one file that the filter may accept, to find the requested kernels. Adds some kernels to
/// `known`.
fn match_kernels<'f>(
    filter: &'f ImageFilter,
    scanned: &ScannedFile,
    images: &[FoundImage<'_>],
    candidates: &mut [FilterCandidate<'f>],
    result: &mut FilterResult<'_>,
    known: &mut BTreeSet<String>,
) {
    let path = Path::new(&scanned.file().path);
    let scan = match scanned.open() {
        Ok(scan) => scan,
        Err(error) => return result.failed.push(error.into()),
    };
    // Images that the filter refuses for other reasons are not read.
    let possible: Vec<usize> = (0..images.len()).filter(|&index| filter.accepts(&candidates[index])).collect();
    for candidate in candidates.iter_mut() {
        candidate.kernels = Some(Vec::new());
    }
    let nested: Vec<NestedImage<'_>> = possible.iter().map(|&index| images[index].nested.clone()).collect();
    let read = |_, image: &ImageRef<'_>| {
        let Inspection { kernels, not_inspected, problems, .. } = inspect_with(image, image::kernels);
        let met = filter.kernels().filter(|pattern| kernels.iter().any(|kernel| pattern.matches(kernel)));
        let met: Vec<&KernelPattern> = met.collect();
        let problems = if kernels.is_empty() { problems } else { Vec::new() };
        let named: Vec<Kernel> = kernels.into_iter().take(MAX_LISTED + 1).collect();
        (met, not_inspected, problems, named)
    };
    scan.map_images(&nested, read, &mut |index, (met, not_inspected, problems, named)| {
        if known.len() <= MAX_LISTED {
            known.extend(named.into_iter().map(|kernel| kernel.demangled.unwrap_or(kernel.name)));
        }
        let image = &nested[index];
        candidates[possible[index]].kernels = Some(met);
        if let Some(why) = not_inspected
            && may_hold_kernels(image.image.image_kind)
        {
            let path = path.to_owned();
            let number = image.index;
            result.unknown.push(FilterError::KernelsUnknown { path, number, why });
        }
        result.failed.extend(problems.into_iter().map(|problem| problem.in_file(path).into()));
    });
    result.failed.extend(scan.source().input().check_unchanged().err().map(FilterError::from));
}

fn may_hold_kernels(kind: ImageKind) -> bool {
    !matches!(kind, ImageKind::Empty | ImageKind::HostObject)
}
