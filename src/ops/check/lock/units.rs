//! Units of a lock: the images of a file with the same kernels. A unit is one translation unit, compiled for several
//! architectures. A kernel that only some architectures have does not set their images apart.
//!
//! Images and kernels have no numbers in a lock, because a number shifts when something is added before it. An image is
//! referred to by its architecture, and the unit is the lines around it.

use std::collections::{BTreeSet, HashMap};

use super::{KernelName, LockedImage, LockedKernel, LockedTarget};
use fatbin_core::base::bytes::NameMap;

/// Images of a file, and their kernels.
#[derive(Debug)]
pub struct Unit<'a> {
    /// Images, in the order of the file.
    pub images: Vec<&'a LockedImage>,
    /// Kernels, sorted by name.
    pub kernels: Vec<UnitKernel<'a>>,
}

/// The kernels of one name. If one image has several, each is in a separate row.
#[derive(Debug)]
pub struct UnitKernel<'a> {
    /// Name.
    pub name: &'a KernelName,
    /// Index of an image in the unit, and its kernel. At most one for each image, in order.
    pub kernels: Vec<(usize, &'a LockedKernel)>,
}

/// Returns the units of the images of a file, sorted by their kernels. Images and their kernels are sorted.
pub fn units(images: &[LockedImage]) -> Vec<Unit<'_>> {
    let mut groups = Groups::default();
    let mut by_names: NameMap<Vec<&KernelName>, usize> = NameMap::default();
    let mut members: Vec<Vec<&LockedImage>> = Vec::new();
    for image in images {
        let names: Vec<&KernelName> = image.kernels.iter().map(|kernel| &kernel.name).collect();
        let group = *by_names.entry(names).or_insert(members.len());
        match members.get_mut(group) {
            Some(images) => images.push(image),
            None => members.push(vec![image]),
        }
    }
    for images in members {
        groups.add(images);
    }
    let mut units: Vec<Unit<'_>> = groups.groups.into_iter().map(|group| unit(group.images)).collect();
    units.sort_by_cached_key(|unit| {
        (unit.kernels.iter().map(|kernel| kernel.name).collect::<Vec<_>>(), unit.images.clone())
    });
    units
}

fn unit(mut images: Vec<&LockedImage>) -> Unit<'_> {
    images.sort();
    let mut rows: Vec<(&KernelName, usize, usize, &LockedKernel)> = Vec::new();
    for (index, image) in images.iter().enumerate() {
        let mut before: Option<(&KernelName, usize)> = None;
        for kernel in &image.kernels {
            let occurrence = match before {
                Some((name, occurrence)) if *name == kernel.name => occurrence.saturating_add(1),
                _ => 0,
            };
            before = Some((&kernel.name, occurrence));
            rows.push((&kernel.name, occurrence, index, kernel));
        }
    }
    rows.sort_by(|a, b| (a.0, a.1, a.2).cmp(&(b.0, b.1, b.2)));
    let rows = rows.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
    let kernels = rows.filter_map(|rows| {
        let (name, ..) = *rows.first()?;
        Some(UnitKernel { name, kernels: rows.iter().map(|&(_, _, index, kernel)| (index, kernel)).collect() })
    });
    Unit { kernels: kernels.collect(), images }
}

/// Images with similar kernels.
struct Group<'a> {
    images: Vec<&'a LockedImage>,
    names: BTreeSet<&'a KernelName>,
    targets: BTreeSet<&'a LockedTarget>,
}

/// Groups, and for each name the indices of the groups with a kernel of that name.
#[derive(Default)]
struct Groups<'a> {
    groups: Vec<Group<'a>>,
    with_name: NameMap<&'a KernelName, Vec<usize>>,
}

/// Maximum number of groups that a kernel counts for. Instances of templates that many translation units have do not
/// tell groups apart, and a lock with only such images would take too long.
const MAX_GROUPS: usize = 64;

impl<'a> Groups<'a> {
    /// Adds images with equal names of kernels. They join the group that shares most of their names, if at least half
    /// are shared and the group has no image for one of their targets. Otherwise they form a new group.
    fn add(&mut self, images: Vec<&'a LockedImage>) {
        let names: BTreeSet<&KernelName> =
            images.first().into_iter().flat_map(|image| &image.kernels).map(|kernel| &kernel.name).collect();
        let targets: BTreeSet<&LockedTarget> = images.iter().map(|image| &image.target).collect();
        let index = match self.similar(&names, &targets) {
            Some(index) => index,
            None => {
                let index = self.groups.len();
                self.groups.push(Group { images: Vec::new(), names: BTreeSet::new(), targets: BTreeSet::new() });
                index
            }
        };
        let Some(group) = self.groups.get_mut(index) else { return };
        group.images.extend(images);
        group.targets.extend(targets);
        for name in names {
            if group.names.insert(name) {
                self.with_name.entry(name).or_default().push(index);
            }
        }
    }

    fn similar(&self, names: &BTreeSet<&KernelName>, targets: &BTreeSet<&LockedTarget>) -> Option<usize> {
        let mut shared: HashMap<usize, usize> = HashMap::new();
        for indices in names.iter().filter_map(|name| self.with_name.get(name)) {
            for &index in indices.iter().take(MAX_GROUPS) {
                let count = shared.entry(index).or_default();
                *count = count.saturating_add(1);
            }
        }
        let is_similar = |&(index, count): &(usize, usize)| {
            let group = self.groups.get(index);
            let most = group.map_or(0, |group| group.names.len()).max(names.len());
            count >= most.div_ceil(2) && group.is_some_and(|group| group.targets.is_disjoint(targets))
        };
        let best =
            shared.into_iter().filter(is_similar).max_by_key(|&(index, count)| (count, std::cmp::Reverse(index)));
        best.map(|(index, _)| index)
    }
}

/// Labels for the images of a unit. Kernels refer to images by label. A label is the architecture, with a number from
/// the second image for it on (`sm_90#2`). It is a number alone (`#3`) if the architecture is unknown or has unusual
/// characters.
#[derive(Debug, Default)]
pub struct ImageLabels {
    counts: HashMap<String, usize>,
    total: usize,
}

impl ImageLabels {
    /// Returns the label of the next image.
    pub fn next(&mut self, arch: Option<&str>) -> String {
        self.total = self.total.saturating_add(1);
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:+-".contains(&byte);
        let Some(arch) = arch.filter(|arch| !arch.is_empty() && arch.bytes().all(is_plain)) else {
            return format!("#{}", self.total);
        };
        let count = self.counts.entry(arch.to_owned()).or_default();
        *count = count.saturating_add(1);
        if *count == 1 { arch.to_owned() } else { format!("{arch}#{count}") }
    }
}
