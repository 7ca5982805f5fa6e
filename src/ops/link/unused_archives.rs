//! Archives whose device code contributes nothing to the link.

use std::collections::BTreeSet;

use super::groups::Group;
use super::inputs::DeviceInput;

/// An archive whose device images are all left out of the link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusedArchive {
    /// Path of the archive.
    pub path: String,
    /// Targets of its images: triple and processor.
    pub targets: BTreeSet<(String, String)>,
}

/// Archives that are not in any group, in the order of the command line.
pub fn find(inputs: &[DeviceInput<'_>], groups: &[Group<'_>]) -> Vec<UnusedArchive> {
    let used: BTreeSet<usize> = groups.iter().flat_map(|group| group.images.iter().copied()).collect();
    let used_paths: BTreeSet<&str> = used.iter().filter_map(|&index| inputs[index].file.archive()).collect();
    let mut unused: Vec<UnusedArchive> = Vec::new();
    for input in inputs {
        let Some(path) = input.file.archive().filter(|path| !used_paths.contains(path)) else { continue };
        let target = (input.target().triple.to_owned(), input.target().arch.to_owned());
        match unused.iter_mut().find(|archive| archive.path == path) {
            Some(archive) => {
                archive.targets.insert(target);
            }
            None => unused.push(UnusedArchive { path: path.to_owned(), targets: BTreeSet::from([target]) }),
        }
    }
    unused
}
