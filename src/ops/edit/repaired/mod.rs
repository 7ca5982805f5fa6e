//! Comparison of a build before and after other tools have changed its host files: auditwheel, delvewheel, patchelf,
//! strip, compression, signing. The device code must be the same and registered, and the loader must map it.

mod built_file;
mod host_layout;

use std::collections::{BTreeMap, HashMap, VecDeque};

pub use built_file::{BuiltContainer, BuiltFile};

use self::built_file::{BuiltImage, ImageTarget};
use self::host_layout::HostLayout;
use crate::check::lock::pair_files;
use fatbin_core::base::error::{Cause, Malformed};

/// A file, compared with the file that it was before.
#[derive(Debug, Clone)]
pub struct RepairedFile<'a> {
    /// The file before; `None` if the repair has added it.
    pub before: Option<&'a BuiltFile>,
    /// The file after; `None` if it is missing.
    pub after: Option<&'a BuiltFile>,
    /// What the repair has damaged, with places in the file after.
    pub problems: Vec<String>,
    /// Reason why it cannot be compared.
    pub undecided: Option<String>,
    /// Containers at other offsets than before.
    pub moved: Vec<MovedContainer<'a>>,
}

/// A container at two offsets.
#[derive(Debug, Clone, Copy)]
pub struct MovedContainer<'a> {
    /// The container before.
    pub before: &'a BuiltContainer,
    /// The container after.
    pub after: &'a BuiltContainer,
}

/// Compares the files of two builds. Files with the same device code are compared with one another regardless of their
/// names, because tools rename them. Returns all files with device code, and other files only if they are damaged.
pub fn compare<'a>(before: &'a [BuiltFile], after: &'a [BuiltFile]) -> Vec<RepairedFile<'a>> {
    let mut pairs = Vec::new();
    let mut before_by_code = by_code(before);
    let mut after_by_code = by_code(after);
    // A file that has lost its device code is compared with the file of its name.
    let mut old_rest = before_by_code.remove(&Vec::new()).unwrap_or_default();
    let mut new_rest = after_by_code.remove(&Vec::new()).unwrap_or_default();
    for (code, old) in before_by_code {
        match after_by_code.remove(&code) {
            Some(new) => pair_all(old, new, &mut pairs, &mut old_rest, &mut new_rest),
            None => old_rest.extend(old),
        }
    }
    new_rest.extend(after_by_code.into_values().flatten());
    pairs.extend(pair_files(old_rest, new_rest));
    let mut files: Vec<RepairedFile<'_>> = pairs.into_iter().map(|(old, new)| compare_file(old, new)).collect();
    files.retain(|file| !file.problems.is_empty() || file.undecided.is_some() || file.has_images());
    files.sort_by_key(RepairedFile::path);
    files
}

/// Groups files by their device code: the images of each container. Files without device code are a group.
fn by_code(files: &[BuiltFile]) -> HashMap<Vec<&[BuiltImage]>, Vec<&BuiltFile>> {
    let mut groups: HashMap<Vec<&[BuiltImage]>, Vec<&BuiltFile>> = HashMap::new();
    for file in files {
        let mut code: Vec<&[BuiltImage]> = file.containers.iter().map(|it| it.images.as_slice()).collect();
        code.sort_by_cached_key(|images| images.iter().map(|image| image.hash).collect::<Vec<_>>());
        groups.entry(code).or_default().push(file);
    }
    groups
}

/// Pairs files with the same code by their paths, and the others in their order.
fn pair_all<'a>(
    old: Vec<&'a BuiltFile>,
    new: Vec<&'a BuiltFile>,
    pairs: &mut Vec<(Option<&'a BuiltFile>, Option<&'a BuiltFile>)>,
    old_rest: &mut Vec<&'a BuiltFile>,
    new_rest: &mut Vec<&'a BuiltFile>,
) {
    let (mut old_alone, mut new_alone) = (VecDeque::new(), Vec::new());
    for pair in pair_files(old, new) {
        match pair {
            (Some(old), None) => old_alone.push_back(old),
            (None, Some(new)) => new_alone.push(new),
            both => pairs.push(both),
        }
    }
    for new in new_alone {
        match old_alone.pop_front() {
            Some(old) => pairs.push((Some(old), Some(new))),
            None => new_rest.push(new),
        }
    }
    old_rest.extend(old_alone);
}

fn compare_file<'a>(before: Option<&'a BuiltFile>, after: Option<&'a BuiltFile>) -> RepairedFile<'a> {
    let mut file = RepairedFile { before, after, problems: Vec::new(), undecided: None, moved: Vec::new() };
    let sides = before.into_iter().chain(after);
    file.undecided = sides.filter_map(|side| side.undecided.clone()).next();
    file.problems.extend(after.iter().flat_map(|after| &after.damage).map(ToString::to_string));
    match (before, after) {
        (Some(before), Some(after)) => file.compare(before, after),
        (Some(before), None) if before.has_images() => {
            file.problems.push(format!("missing, with {}", images(before.image_count())));
        }
        (None, Some(after)) if after.has_images() => {
            file.problems.push(format!("added, with {}", images(after.image_count())));
        }
        _ => {}
    }
    file
}

fn images(count: usize) -> String {
    if count == 1 { "a device image".to_owned() } else { format!("{count} device images") }
}

impl<'a> RepairedFile<'a> {
    /// Path after the repair, or before it if the file is missing.
    pub fn path(&self) -> &'a str {
        self.after.or(self.before).map_or("", |file| &file.path)
    }

    /// Path before the repair, if it differs.
    pub fn old_path(&self) -> Option<&'a str> {
        let before = self.before?.path.as_str();
        (before != self.path()).then_some(before)
    }

    fn has_images(&self) -> bool {
        self.before.into_iter().chain(self.after).any(BuiltFile::has_images)
    }

    fn compare(&mut self, before: &'a BuiltFile, after: &'a BuiltFile) {
        let mut places: HashMap<&[BuiltImage], VecDeque<&BuiltContainer>> = HashMap::new();
        for container in &after.containers {
            places.entry(&container.images).or_default().push_back(container);
        }
        let mut lost = Vec::new();
        for container in &before.containers {
            match places.get_mut(container.images.as_slice()).and_then(VecDeque::pop_front) {
                Some(new) => self.compare_container(container, new, (before, after)),
                None => lost.push(container),
            }
        }
        let added: Vec<&BuiltContainer> = places.into_values().flatten().collect();
        self.problems.extend(image_differences(&lost, added));
        if let (Some(old), Some(new)) = (&before.layout, &after.layout) {
            if new.has_sections() || !old.has_sections() {
                self.problems.extend(new.losses(old).iter().map(ToString::to_string));
            } else if after.has_images() {
                self.undecided.get_or_insert("no sections: its registration cannot be compared".to_owned());
            }
        }
    }

    fn compare_container(
        &mut self,
        old: &'a BuiltContainer,
        new: &'a BuiltContainer,
        (before, after): (&BuiltFile, &BuiltFile),
    ) {
        let problem = |cause: &str| {
            let cause = Cause::Described(cause.to_owned());
            Malformed::new("container", new.offset, cause).to_string()
        };
        if old.offset != new.offset {
            self.moved.push(MovedContainer { before: old, after: new });
        }
        let has_sections = after.layout.as_ref().is_none_or(HostLayout::has_sections);
        if old.is_registered && !new.is_registered && has_sections {
            self.problems.push(problem("is no longer registered: no wrapper leads to it"));
        }
        let is_loaded = |file: &BuiltFile, at| file.layout.as_ref().is_none_or(|layout| layout.is_loaded(at));
        if is_loaded(before, old.offset) && !is_loaded(after, new.offset) {
            self.problems.push(problem("is in no load segment"));
        }
    }
}

/// Returns how the images of containers differ that have no counterpart with the same images.
fn image_differences(lost: &[&BuiltContainer], added: Vec<&BuiltContainer>) -> Vec<String> {
    let mut new: HashMap<&BuiltImage, VecDeque<u64>> = HashMap::new();
    for container in &added {
        for image in &container.images {
            new.entry(image).or_default().push_back(container.offset);
        }
    }
    let mut missing: Vec<(&BuiltImage, u64)> = Vec::new();
    for container in lost {
        for image in &container.images {
            if new.get_mut(image).and_then(VecDeque::pop_front).is_none() {
                missing.push((image, container.offset));
            }
        }
    }
    let mut others: HashMap<&ImageTarget, VecDeque<u64>> = HashMap::new();
    for (image, places) in new {
        others.entry(&image.target).or_default().extend(places);
    }
    let first = added.iter().map(|container| container.offset).min();
    let at = |offset: u64, cause: String| Malformed::new("container", offset, Cause::Described(cause)).to_string();
    let mut problems: Vec<String> = Vec::new();
    for (image, place) in missing {
        let name = image.target.name();
        problems.push(match others.get_mut(&image.target).and_then(VecDeque::pop_front) {
            Some(offset) => at(offset, format!("the image for {name} differs")),
            None => format!("the image for {name} is missing, which was in the container at {place:#x}"),
        });
    }
    let added: BTreeMap<u64, String> =
        others.into_iter().flat_map(|(target, places)| places.into_iter().map(|at| (at, target.name()))).collect();
    problems.extend(added.into_iter().map(|(offset, name)| at(offset, format!("the image for {name} is new"))));
    if let (true, Some(offset)) = (problems.is_empty() && !lost.is_empty(), first) {
        problems.push(at(offset, "the same images as before are in another order".to_owned()));
    }
    problems
}
