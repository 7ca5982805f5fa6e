//! Images and bytes by arch, for a summary of a scan.

use std::collections::HashMap;

use super::{Owner, Size, parts};
use fatbin_core::scan::inventory::{DeviceLinks, File};
use fatbin_core::target::natural_order;

/// Images of some files by arch.
#[derive(Debug, Default)]
pub struct ArchTotals(HashMap<String, ArchTotal>);

/// Images of an arch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ArchTotal {
    /// Number of images.
    pub images: usize,
    /// Their bytes.
    pub size: Size,
}

impl ArchTotals {
    /// Adds the images of a file.
    pub fn add(&mut self, file: &File) {
        let links = DeviceLinks::of(file);
        for part in parts(file) {
            if let Owner::Image(nested) = &part.owner {
                let total = self.0.entry(links.label(nested)).or_default();
                total.images = total.images.saturating_add(1);
                total.size.add(part.size);
            }
        }
    }

    /// Number of images.
    pub fn images(&self) -> usize {
        self.0.values().map(|total| total.images).sum()
    }

    /// Returns the totals, sorted by arch.
    pub fn rows(&self) -> Vec<(&str, ArchTotal)> {
        let mut rows: Vec<_> = self.0.iter().map(|(arch, total)| (arch.as_str(), *total)).collect();
        rows.sort_by_cached_key(|(arch, _)| natural_order(arch));
        rows
    }
}
