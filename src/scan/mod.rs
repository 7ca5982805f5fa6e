//! Finding device images in a file: by structure first, then by magic in whatever structure did not explain.
//!
//! A host file's headers lead to the sections that tools keep containers in, so a library of gigabytes costs the
//! reading of some kilobytes; so do the structures by which host code registers containers, wherever those stand. But real
//! libraries also keep containers in `.rodata` without any of that, linkers rename sections, and files
//! lose their section headers. Hence the second pass over all other bytes, where a container counts only when
//! everything that it states holds: four bytes that look like a magic occur in any large file.

mod ahead;
mod files;
mod image_table;
mod kept;
mod magic;
mod pointers;
mod record;
mod strict;
mod structure;
mod walk;
mod wrappers;

use std::ops::Range;
use std::path::Path;

use crate::bytes::View;
use crate::codec::Limit;
use crate::error::{Malformed, Result};
use crate::format::{self, ContainerType, Contents};
use crate::inventory::{Container, File, FileFormat, Image, InSection, OnDisk, Section};
use crate::io::Input;
use ahead::Ahead;
use record::{Before, Record};

pub use files::{Archives, ClosedPart, Opening, Part, each_part, each_part_of};
pub use kept::Kept;
pub use record::{Itself, Look};
pub use strict::offload_binaries;

/// How to look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// How large a compressed container may become.
    pub limit: Limit,
    /// Leave out the search by magic: what no header leads to stays unseen.
    pub structure_only: bool,
    /// Take a hash of every image, which means to look at all of its bytes.
    pub hash: bool,
    /// Keep what compressed containers were restored to until their images are asked for, as far as there is room.
    pub keep: bool,
}

/// Something to search: headers are looked at through the view, the rest goes by block by block.
pub trait Source: Sync {
    /// All bytes.
    fn view(&self) -> View<'_>;

    /// Calls `look(offset, bytes)` for one block after another of `range`; each begins with the last `overlap` bytes of
    /// the one before.
    fn blocks(&self, range: Range<u64>, overlap: usize, look: &mut dyn FnMut(u64, &[u8])) -> Result<()>;

    /// Gives back memory that looking through the view took, where there is any.
    fn release(&self) {}

    /// Where restored containers can be kept.
    fn kept(&self) -> Option<&Kept> {
        None
    }

    /// Where in a file on disk the bytes stand as they are, if they do.
    fn on_disk(&self) -> Option<OnDisk> {
        None
    }
}

impl Source for Input {
    fn view(&self) -> View<'_> {
        Input::view(self)
    }

    fn blocks(&self, range: Range<u64>, overlap: usize, look: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        Input::blocks(self, range, overlap, look)
    }

    fn release(&self) {
        Input::release(self);
    }

    fn on_disk(&self) -> Option<OnDisk> {
        self.is_on_disk().then(|| OnDisk { path: self.path().to_owned(), offset: 0 })
    }
}

/// Bytes in memory are one block.
impl Source for View<'_> {
    fn view(&self) -> View<'_> {
        *self
    }

    fn blocks(&self, range: Range<u64>, _overlap: usize, look: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        look(range.start, &self.data()[range.start as usize..range.end as usize]);
        Ok(())
    }
}

/// Lists every container in `source`; `path` is what the result will call it.
pub fn scan(path: &str, source: &impl Source) -> Result<File> {
    scan_with(path, source, Options::default(), &mut |_, _| Ok(()))
}

/// The same, and calls `look` with each image.
pub fn scan_with(path: &str, source: &impl Source, options: Options, look: &mut Look) -> Result<File> {
    let view = source.view();
    let structure = structure::read(view);
    let mut findings = Findings {
        options,
        look,
        release: &|| source.release(),
        kept: source.kept(),
        looked_at: 0,
        containers: Vec::new(),
        sections: Vec::new(),
        errors: Vec::new(),
        room: Vec::new(),
        ahead: Ahead::default(),
    };
    // No device image is one of these, whatever text stands near its beginning.
    let is_host = matches!(structure.format, FileFormat::Coff | FileFormat::Pe | FileFormat::MachO);
    match format::bare_device_file(view).filter(|_| !is_host) {
        Some(Ok(image)) => findings.add(&image, None)?,
        Some(Err(error)) => findings.errors.push(error),
        None => {}
    }
    for section in &structure.sections {
        let padding = walk::walk(section, &structure.images, &mut findings)?;
        findings.sections.extend(section.name.map(|name| accounted(name, section.view, padding)));
    }
    let wrappers = wrappers::follow(view, &structure, &mut findings)?;
    let mut unsearched = 0;
    for range in findings.unexplained(view.size()) {
        if options.structure_only {
            unsearched += range.end - range.start;
        } else {
            magic::search(source, range, &structure, &mut findings)?;
        }
    }
    let file = findings.into_file(path, structure.format, view.size());
    Ok(File { wrappers, unsearched, on_disk: source.on_disk(), ..file })
}

/// A section of which the padding is known so far.
fn accounted(name: &str, view: View<'_>, padding: u64) -> Section {
    let (offset, size) = (view.start(), view.size());
    Section { name: name.to_owned(), offset, size, in_containers: 0, padding, unexplained: 0 }
}

/// Called with the number of an image, what is known of it, and the image itself.
pub type LookAtNumber<'a> = dyn FnMut(usize, &Image, &mut Itself<'_, '_>) -> Result<()> + 'a;

/// Calls `look` with the number of each device image that is `wanted`, counted as [`File::device_images`] does, with what
/// is known of it and with the image itself. Containers without any are not opened again, and hashes that the scan has
/// verified are not looked at again: `file` has to be what a scan of these very bytes has found.
pub fn reopen(
    source: &impl Source,
    file: &File,
    options: Options,
    wanted: &dyn Fn(usize) -> bool,
    look: &mut LookAtNumber,
) -> Result<()> {
    let broken = |error: Malformed| error.in_file(Path::new(&file.path));
    let (mut number, mut looked_at, mut room) = (0, 0, Vec::new());
    for container in &file.containers {
        let behind = number + container.images().filter(|image| image.is_for_a_device()).count();
        if !(number..behind).any(wanted) {
            number = behind;
            continue;
        }
        let offset = container.offset.expect("only what is inside another container has none");
        let view = source.view().part("container", offset, offset, container.size).map_err(broken)?;
        // Only there the name of a section says what is in it.
        let by_name = [ContainerType::BundleSection, ContainerType::SyclImage].contains(&container.container_type);
        let name = container.section_name().filter(|_| by_name);
        let again = format::read_in_section(name, view);
        let again = again.unwrap_or_else(|| Err(format::not_a_container("container", view)));
        let mut errors = Vec::new();
        let mut number_and_look = |image: &Image, itself: &mut Itself<'_, '_>| {
            if !image.is_for_a_device() {
                return Ok(());
            }
            number += 1;
            if wanted(number - 1) { look(number - 1, image, itself) } else { Ok(()) }
        };
        let (errors, look) = (&mut errors, &mut number_and_look);
        let (kept, before) = (source.kept(), Before::Verified);
        let mut record = Record { options, errors, look, before, kept, room: std::mem::take(&mut room) };
        record.container(&again.map_err(broken)?, container.section.as_ref())?;
        room = record.room;
        looked_at += container.size;
        if looked_at >= RELEASED_AT_ONCE {
            looked_at = 0;
            source.release();
        }
    }
    Ok(())
}

/// How many bytes are looked at before their pages are given back: with less, the same pages would come back and back.
const RELEASED_AT_ONCE: u64 = 16 << 20;

/// What the kernel maps around a page that is looked at (Linux's `fault_around_bytes`).
const AROUND_A_PAGE: u64 = 64 << 10;

/// What was found so far.
struct Findings<'look, 'a> {
    options: Options,
    look: &'look mut Look<'a>,
    release: &'look dyn Fn(),
    kept: Option<&'look Kept>,
    /// About how many bytes were since pages were given back.
    looked_at: u64,
    containers: Vec<Container>,
    sections: Vec<Section>,
    errors: Vec<Malformed>,
    /// As of [`Record`].
    room: Vec<u8>,
    ahead: Ahead,
}

impl Findings<'_, '_> {
    fn add(&mut self, container: &format::Container, section: Option<&InSection>) -> Result<()> {
        let (errors, look, room) = (&mut self.errors, &mut *self.look, std::mem::take(&mut self.room));
        let before = Before::Restored(self.ahead.take(&container.contents));
        let mut record = Record { options: self.options, errors, look, before, kept: self.kept, room };
        self.containers.push(record.container(container, section)?);
        self.room = record.room;
        let places = match &container.contents {
            Contents::Images(images) if !self.options.hash => 1 + images.len() as u64,
            _ => container.view.size() / AROUND_A_PAGE + 1,
        };
        self.looked_at(places);
        Ok(())
    }

    /// Notes that the source was looked at in so many places. Files of gigabytes have thousands of containers, and as many
    /// false magics as somebody likes.
    fn looked_at(&mut self, places: u64) {
        self.looked_at = self.looked_at.saturating_add(places.saturating_mul(AROUND_A_PAGE));
        if self.looked_at >= RELEASED_AT_ONCE {
            self.looked_at = 0;
            (self.release)();
        }
    }

    /// The ranges of a file of `size` bytes that no container covers.
    fn unexplained(&self, size: u64) -> Vec<Range<u64>> {
        let mut covered: Vec<Range<u64>> =
            self.containers.iter().filter_map(|it| Some(it.offset?..it.offset? + it.size)).collect();
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

    fn into_file(mut self, path: &str, format: FileFormat, size: u64) -> File {
        self.containers.sort_by_key(|container| container.offset);
        self.errors.sort_by_key(|error| error.offset);
        // A section and a wrapper may both lead to what cannot be read.
        self.errors.dedup();
        for section in &mut self.sections {
            let range = section.offset..section.offset + section.size;
            let inside = self.containers.iter().filter(|it| it.offset.is_some_and(|offset| range.contains(&offset)));
            // A container that the search has found behind a broken one may go on behind the section.
            let inside = inside.map(|it| it.size.min(range.end - it.offset.unwrap_or(range.end)));
            section.in_containers = inside.sum();
            section.unexplained = section.size.saturating_sub(section.in_containers + section.padding);
        }
        let Findings { containers, sections, errors, .. } = self;
        File { format: Some(format), size, containers, sections, errors, ..File::empty(path.to_owned()) }
    }
}

#[cfg(test)]
mod host_tests;
#[cfg(test)]
mod tests;
