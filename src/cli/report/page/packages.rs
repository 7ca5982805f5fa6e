//! The packages of the files on a page, so that the map has every byte of a wheel.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use crate::report::text::printable;
use fatbin_core::base::error::Result;
use fatbin_core::base::io::Access;
use fatbin_ops::analyze::size::{PackageSizes, Packages, PackedFile, Size};

/// A package. The bytes of the surveyed members and the rests add up to its size.
#[derive(Serialize)]
pub struct PackageData {
    path: String,
    /// Bytes outside of the surveyed members: what they are, and their number, in the package and unpacked.
    rests: Vec<(&'static str, u64, u64)>,
}

/// The place of a file in its package.
#[derive(Clone, Copy, Serialize)]
pub struct PackedPlace {
    /// Index of the package.
    package: usize,
    /// Bytes that the file takes in the package.
    packed: u64,
}

/// Packages while files are added.
#[derive(Default)]
pub struct PagePackages {
    /// Place of each file, with the number of the package in the order of their first members.
    pub places: Vec<Option<PackedPlace>>,
    numbers: BTreeMap<Arc<Path>, usize>,
    /// Packages with surveyed members of archives in them, which share bytes, or of unknown size. They are left out.
    without_sizes: BTreeSet<Arc<Path>>,
    sizes: Packages,
}

impl PagePackages {
    /// Adds a file.
    pub fn add(&mut self, file: Option<&PackedFile>) {
        let place = file.and_then(|file| {
            self.sizes.add(file);
            let next = self.numbers.len();
            let package = *self.numbers.entry(Arc::clone(&file.package)).or_insert(next);
            let packed = file.packed.filter(|_| file.is_direct);
            if packed.is_none() {
                self.without_sizes.insert(Arc::clone(&file.package));
            }
            Some(PackedPlace { package, packed: packed? })
        });
        self.places.push(place);
    }

    /// Returns the packages that are zip files, and the place of each file in one of them.
    pub fn finish(mut self, access: Access) -> Result<(Vec<PackageData>, Vec<Option<PackedPlace>>)> {
        let mut sizes = self.sizes.finish(access)?;
        sizes.retain(|package| !self.without_sizes.contains(&*package.path));
        let indexes: BTreeMap<usize, usize> = sizes
            .iter()
            .zip(0..)
            .filter_map(|(package, index)| Some((*self.numbers.get(&*package.path)?, index)))
            .collect();
        for place in &mut self.places {
            let index = place.as_ref().and_then(|place| indexes.get(&place.package));
            *place = index.and_then(|index| Some(PackedPlace { package: *index, packed: place.as_ref()?.packed }));
        }
        Ok((sizes.iter().map(PackageData::new).collect(), self.places))
    }
}

impl PackageData {
    fn new(sizes: &PackageSizes) -> Self {
        let rests = [
            ("libraries without device code", sizes.libraries),
            ("other members", sizes.others),
            ("headers and directory of the archive", Size::plain(sizes.overhead)),
        ];
        PackageData {
            path: printable(&sizes.path.to_string_lossy()),
            rests: rests.map(|(name, size)| (name, size.stored, size.decompressed)).into(),
        }
    }
}
