//! Containers and errors of a scan in progress.

use std::collections::HashMap;
use std::ops::Range;

use super::builder::InventoryBuilder;
use super::prefetch::Prefetch;
use crate::base::bytes::{Budget, View, size_of_range, total};
use crate::base::error::{Cause, Malformed};
use crate::base::file_path::FilePath;
use crate::base::range::range_at;
use crate::format::{self, ContainerType, Contents};
use crate::scan::Options;
use crate::scan::cache::DecompressedCache;
use crate::scan::inventory::{Container, File, FileFormat, Section, SectionRef};
use crate::scan::source::{Source, Unreleased};

/// Memory that the kernel maps around a page that is read (Linux's `fault_around_bytes`), in bytes.
const FAULT_AROUND: u64 = 64 << 10;

/// Maximum memory that the kernel maps if the page cache has large folios, in bytes. It is the size of a huge page.
const LARGE_FOLIO: u64 = 2 << 20;

/// Containers and errors that were found so far.
pub struct Findings<'a> {
    /// Options of the scan.
    pub options: Options,
    source: &'a dyn Source,
    /// All bytes of the source.
    view: View<'a>,
    cache: Option<&'a DecompressedCache>,
    /// Containers that were decompressed in advance.
    pub prefetch: Prefetch,
    /// Errors in containers, in any order.
    pub errors: Vec<Malformed>,
    /// Containers, in any order.
    pub containers: Vec<Container>,
    sections: Vec<Section>,
    /// Reused to decompress images, one after another.
    buffer: Vec<u8>,
    unreleased: Unreleased,
    /// Range that was read since pages were released.
    read: Range<u64>,
}

impl<'a> Findings<'a> {
    /// Returns the index of each container of a type by its offset in the file.
    pub fn indices_by_offset(&self, container_type: ContainerType) -> HashMap<u64, usize> {
        let containers = self.containers.iter().enumerate();
        let found = containers.filter(|(_, container)| container.container_type == container_type);
        found.filter_map(|(index, container)| Some((container.offset?, index))).collect()
    }

    /// Creates findings without containers.
    pub fn new(source: &'a dyn Source, view: View<'a>, options: Options, cache: Option<&'a DecompressedCache>) -> Self {
        Findings {
            options,
            source,
            view,
            cache,
            prefetch: Prefetch::default(),
            errors: Vec::new(),
            containers: Vec::new(),
            sections: Vec::new(),
            buffer: Vec::new(),
            unreleased: Unreleased::default(),
            read: 0..0,
        }
    }

    /// Records a container.
    pub fn add(&mut self, container: &format::ContainerView, section: Option<&SectionRef>) {
        let mut builder = InventoryBuilder {
            options: self.options,
            errors: &mut self.errors,
            prefetched: self.prefetch.take(&container.contents),
            cache: self.cache,
            buffer: std::mem::take(&mut self.buffer),
        };
        self.containers.extend(builder.container(container, section));
        self.buffer = builder.buffer;
        let mapped: u64 = match &container.contents {
            Contents::Images(images) => {
                images.iter().map(|image| image.view.size().clamp(FAULT_AROUND, LARGE_FOLIO)).sum()
            }
            Contents::Compressed(_) => container.view.size(),
        };
        self.count_mapped([FAULT_AROUND, mapped].iter().sum(), container.view.range());
    }

    /// Records a section for containers with `padding` bytes of padding. Its containers are assigned to it at the end.
    pub fn add_section(&mut self, name: &str, view: View<'_>, padding: u64) {
        let offset = view.start();
        let size = view.size();
        self.sections.push(Section { name: name.to_owned(), offset, size, in_containers: 0, padding, unexplained: 0 });
    }

    /// Counts reads in `places` different places of the source, and releases its pages from time to time. Files of
    /// gigabytes have thousands of containers, and any number of bytes that look like a magic.
    pub fn count_reads(&mut self, places: u64) {
        self.count_mapped(places.saturating_mul(FAULT_AROUND), 0..u64::MAX);
    }

    /// Counts bytes that were mapped in a range, and releases what was read from time to time. The system visits all page
    /// tables of a range that is released, so the range is not the whole file.
    fn count_mapped(&mut self, bytes: u64, range: Range<u64>) {
        let start = if self.read.is_empty() { range.start } else { self.read.start.min(range.start) };
        self.read = start..self.read.end.max(range.end);
        if self.unreleased.add(bytes) {
            self.source.release(std::mem::take(&mut self.read));
        }
    }

    /// The ranges of a file of `size` bytes that no container covers.
    pub fn unexplained(&self, size: u64) -> Vec<Range<u64>> {
        let mut covered: Vec<Range<u64>> = self.containers.iter().filter_map(Container::range).collect();
        covered.sort_unstable_by_key(|range| range.start);
        let mut ranges = Vec::new();
        let mut end = 0;
        for range in covered {
            if range.start > end {
                ranges.push(end..range.start);
            }
            end = end.max(range.end);
        }
        if end < size {
            ranges.push(end..size);
        }
        ranges
    }

    /// Reports an exhausted budget if no error mentions it. Some readers only recognize containers, and ignore what
    /// they cannot read.
    fn add_exhaustion(&mut self) {
        if let Some(cause) = self.view.budget().and_then(Budget::exhaustion)
            && !self
                .errors
                .iter()
                .any(|error| matches!(error.cause, Cause::OverBudget { .. } | Cause::OverLimit { .. }))
        {
            self.errors.push(self.view.malformed("file", 0, cause));
        }
    }

    /// Returns the inventory of the file, sorted by offset.
    pub fn into_file(mut self, path: FilePath, format: FileFormat, size: u64) -> File {
        self.containers.sort_by_cached_key(|container| container.offset);
        self.containers.shrink_to_fit();
        self.add_exhaustion();
        order_errors(&mut self.errors);
        for section in &mut self.sections {
            let range = range_at(section.offset, section.size);
            let [first, last] =
                [range.start, range.end].map(|end| self.containers.partition_point(|it| it.offset < Some(end)));
            let inside = self.containers.iter().take(last).skip(first).filter_map(Container::range);
            // A container that the search has found after a damaged one may extend beyond the section.
            section.in_containers = inside.map(|it| size_of_range(&(it.start..it.end.min(range.end)))).sum();
            // Containers that overlap count several times.
            section.unexplained = size_of_range(&(total([section.in_containers, section.padding])..section.size));
        }
        let Findings { containers, sections, errors, .. } = self;
        File { format: Some(format), size, containers, sections, errors, ..File::empty(path) }
    }
}

/// Sorts errors by offset, and removes duplicates. An exhausted budget is reported once, even if several readers
/// exhaust it.
pub fn order_errors(errors: &mut Vec<Malformed>) {
    errors.sort_by_cached_key(|error| error.offset);
    // A section and a wrapper may both lead to the same invalid container.
    errors.dedup();
    let mut is_reported = false;
    errors.retain(|error| {
        let is_repeated = is_reported && matches!(error.cause, Cause::OverBudget { .. });
        is_reported |= matches!(error.cause, Cause::OverBudget { .. });
        !is_repeated
    });
}
