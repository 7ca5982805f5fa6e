//! Bytes that are stored several times: identical images, one kernel in several translation units, and identical
//! kernels under several names.
//!
//! The largest copy counts as needed, and the others as wasted. A byte may be wasted in several ways, so the sums of
//! the three kinds must not be added.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use super::Size;
use fatbin_core::target::natural_order;

/// A copy of a kernel.
#[derive(Debug, Clone)]
pub struct KernelCopy<'a> {
    /// Name that the runtime looks up.
    pub name: &'a str,
    /// Name for readers.
    pub shown: &'a str,
    /// Arch and format of its image.
    pub arch: &'a str,
    /// Types of the containers around it, and the section. Copies in other sections have other purposes.
    pub place: &'a str,
    /// Offset of the outermost container.
    pub unit: u64,
    /// Hash of its code.
    pub body: Option<[u8; 32]>,
    /// Its bytes.
    pub size: Size,
}

/// Sum of the bytes of copies, and of the largest.
#[derive(Debug, Clone, Copy, Default)]
struct Copies {
    count: usize,
    total: Size,
    largest: Size,
}

impl Copies {
    fn add(&mut self, size: Size) {
        self.count = self.count.saturating_add(1);
        self.total.add(size);
        self.largest = self.largest.max(size);
    }

    fn wasted(&self) -> Size {
        Size {
            stored: self.total.stored.abs_diff(self.largest.stored),
            decompressed: self.total.decompressed.abs_diff(self.largest.decompressed),
        }
    }
}

/// Copies of one kernel for one arch.
#[derive(Debug, Default)]
struct Instance {
    copies: Copies,
    units: BTreeSet<u64>,
    bodies: BTreeSet<[u8; 32]>,
}

/// Key of the copies of a kernel, or of a body, that are compared: name or hash, arch, place.
type Key<T> = (T, String, String);

/// The kernels of a file, as they are found.
#[derive(Debug, Default)]
pub struct KernelCopies {
    instances: HashMap<Key<String>, (String, Instance)>,
    bodies: HashMap<Key<[u8; 32]>, HashMap<String, Copies>>,
}

/// Identical images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateImages {
    /// SHA-256 of the decompressed image.
    pub sha256: [u8; 32],
    /// Arch and format.
    pub arch: String,
    /// The images, as file and index.
    pub images: Vec<(String, usize)>,
    /// Bytes of all but the largest.
    pub wasted: Size,
}

/// A kernel that several translation units of a file hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepeatedKernel {
    /// The file.
    pub file: String,
    /// Name for readers.
    pub name: String,
    /// Archs that have several copies.
    pub archs: Vec<String>,
    /// Largest number of units with a copy for one arch.
    pub units: usize,
    /// Number of copies, for all archs.
    pub copies: usize,
    /// Largest number of different codes among the copies for one arch.
    pub bodies: usize,
    /// Bytes of all but the largest copy for each arch.
    pub wasted: Size,
}

/// Kernels of a file that differ in nothing but their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdenticalKernels {
    /// The file.
    pub file: String,
    /// Arch and format.
    pub arch: String,
    /// Names for readers, sorted.
    pub names: Vec<String>,
    /// Bytes of all but the largest, one copy for each name.
    pub wasted: Size,
}

/// Everything that files store several times, the most bytes first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Duplicates {
    /// Identical images, also in different files.
    pub images: Vec<DuplicateImages>,
    /// Kernels in several translation units of a file.
    pub kernels: Vec<RepeatedKernel>,
    /// Kernels of a file with identical code.
    pub bodies: Vec<IdenticalKernels>,
}

/// Images by their hashes.
#[derive(Debug, Default)]
pub struct ImageCopies(HashMap<[u8; 32], ImageGroup>);

#[derive(Debug, Default)]
struct ImageGroup {
    arch: String,
    images: Vec<(String, usize)>,
    copies: Copies,
}

impl ImageCopies {
    /// Adds an image.
    pub fn add(&mut self, hash: [u8; 32], arch: &str, file: &str, index: usize, size: Size) {
        let group = self.0.entry(hash).or_default();
        group.arch = arch.to_owned();
        group.images.push((file.to_owned(), index));
        group.copies.add(size);
    }

    /// Adds the images of another file.
    pub fn merge(&mut self, other: ImageCopies) {
        for (hash, other) in other.0 {
            let group = self.0.entry(hash).or_default();
            group.arch = other.arch;
            group.images.extend(other.images);
            group.copies.count = group.copies.count.saturating_add(other.copies.count);
            group.copies.total.add(other.copies.total);
            group.copies.largest = group.copies.largest.max(other.copies.largest);
        }
    }

    /// Returns the images that exist several times.
    pub fn duplicates(self) -> Vec<DuplicateImages> {
        let several = self.0.into_iter().filter(|(_, group)| group.copies.count > 1);
        let mut duplicates: Vec<_> = several
            .map(|(sha256, ImageGroup { arch, images, copies })| DuplicateImages {
                sha256,
                arch,
                images,
                wasted: copies.wasted(),
            })
            .collect();
        duplicates.sort_by_key(|duplicate| (Reverse(duplicate.wasted), duplicate.sha256));
        duplicates
    }
}

impl KernelCopies {
    /// Adds a copy of a kernel.
    pub fn add(&mut self, copy: &KernelCopy<'_>) {
        let key = (copy.name.to_owned(), copy.arch.to_owned(), copy.place.to_owned());
        let (_, instance) = self.instances.entry(key).or_insert_with(|| (copy.shown.to_owned(), Instance::default()));
        instance.copies.add(copy.size);
        instance.units.insert(copy.unit);
        instance.bodies.extend(copy.body);
        if let Some(body) = copy.body {
            let names = self.bodies.entry((body, copy.arch.to_owned(), copy.place.to_owned())).or_default();
            names.entry(copy.shown.to_owned()).or_default().add(copy.size);
        }
    }

    /// Returns the kernels in several translation units of the file, and the kernels with identical code.
    pub fn duplicates(self, file: &str) -> (Vec<RepeatedKernel>, Vec<IdenticalKernels>) {
        let mut kernels: HashMap<String, RepeatedKernel> = HashMap::new();
        for ((_, arch, _), (shown, instance)) in self.instances {
            if instance.units.len() < 2 {
                continue;
            }
            let kernel = kernels.entry(shown).or_insert_with_key(|name| RepeatedKernel {
                file: file.to_owned(),
                name: name.clone(),
                archs: Vec::new(),
                units: 0,
                copies: 0,
                bodies: 0,
                wasted: Size::default(),
            });
            kernel.archs.push(arch);
            kernel.units = kernel.units.max(instance.units.len());
            kernel.copies = kernel.copies.saturating_add(instance.copies.count);
            kernel.bodies = kernel.bodies.max(instance.bodies.len());
            kernel.wasted.add(instance.copies.wasted());
        }
        let mut kernels: Vec<_> = kernels.into_values().collect();
        for kernel in &mut kernels {
            kernel.archs.sort_by_cached_key(|arch| natural_order(arch));
            kernel.archs.dedup();
        }
        let bodies = self.bodies.into_iter().filter(|(_, names)| names.len() > 1);
        let bodies = bodies.map(|((_, arch, _), names)| {
            let mut one_of_each = Copies::default();
            for copies in names.values() {
                one_of_each.add(copies.largest);
            }
            let names: BTreeSet<String> = names.into_keys().collect();
            let wasted = one_of_each.wasted();
            IdenticalKernels { file: file.to_owned(), arch, names: names.into_iter().collect(), wasted }
        });
        (kernels, bodies.collect())
    }
}

impl Duplicates {
    /// Sorts each kind by the wasted bytes.
    pub fn sort(&mut self) {
        self.kernels.sort_by(|a, b| (Reverse(a.wasted), &a.name, &a.file).cmp(&(Reverse(b.wasted), &b.name, &b.file)));
        self.bodies.sort_by(|a, b| {
            (Reverse(a.wasted), &a.names, &a.arch, &a.file).cmp(&(Reverse(b.wasted), &b.names, &b.arch, &b.file))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy<'a>(name: &'a str, arch: &'a str, unit: u64, body: u8, size: u64) -> KernelCopy<'a> {
        let place = "cuda-fatbin in .nv_fatbin";
        let body = Some([body; 32]);
        KernelCopy { name, shown: name, arch, place, unit, body, size: Size::plain(size) }
    }

    #[test]
    fn all_but_the_largest_copy_are_wasted() {
        let mut copies = KernelCopies::default();
        for (name, arch, unit, body, size) in [
            ("f", "sm_90", 0, 1, 10),
            ("f", "sm_90", 8, 2, 30),
            ("f", "sm_90", 16, 1, 10),
            ("f", "sm_100", 0, 3, 7),
            ("f", "sm_100", 8, 3, 7),
            ("g", "sm_90", 0, 1, 12),
            ("g", "sm_100", 0, 1, 12),
            ("h", "sm_90", 0, 4, 100),
        ] {
            copies.add(&copy(name, arch, unit, body, size));
        }
        // Another section is no translation unit of the same program.
        copies.add(&KernelCopy { place: "cuda-fatbin in __nv_relfatbin", ..copy("h", "sm_90", 8, 4, 100) });
        let (kernels, bodies) = copies.duplicates("lib.so");
        let file = || "lib.so".to_owned();
        let archs = ["sm_90", "sm_100"].map(str::to_owned).to_vec();
        let expected = RepeatedKernel {
            file: file(),
            name: "f".to_owned(),
            archs,
            units: 3,
            copies: 5,
            bodies: 2,
            wasted: Size::plain(27),
        };
        assert_eq!(kernels, [expected]);
        let names = ["f", "g"].map(str::to_owned).to_vec();
        let arch = "sm_90".to_owned();
        assert_eq!(bodies, [IdenticalKernels { file: file(), arch, names, wasted: Size::plain(10) }]);
    }

    #[test]
    fn identical_images_are_found_in_all_files() {
        let mut one = ImageCopies::default();
        let mut other = ImageCopies::default();
        one.add([1; 32], "sm_90", "a", 0, Size { stored: 5, decompressed: 20 });
        one.add([2; 32], "sm_90", "a", 1, Size::plain(9));
        other.add([1; 32], "sm_90", "b", 3, Size::plain(20));
        one.merge(other);
        let images = vec![("a".to_owned(), 0), ("b".to_owned(), 3)];
        let wasted = Size { stored: 5, decompressed: 20 };
        let arch = "sm_90".to_owned();
        assert_eq!(one.duplicates(), [DuplicateImages { sha256: [1; 32], arch, images, wasted }]);
    }
}
