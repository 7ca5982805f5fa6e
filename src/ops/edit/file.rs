//! The edit of one file: its rebuilt containers, and the patches that put them in place.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::container::rebuild;
use super::elf_headers::ElfHeaders;
use super::hash::hash;
use super::image_tables::{self, Fixed, TableEdit};
use super::patch::{Patch, PatchLayout, Patches};
use super::rooms::Rooms;
use super::shrink::{grow, is_zero, shrink};
use super::{Edit, EditError, EditedImage, Encoding, ImageEdit, KeepsSize, Result, offload_sections};
use fatbin_core::base::bytes::{Extent, View, size_of_range};
use fatbin_core::base::content::Content;
use fatbin_core::base::parallel::{map_parallel, threads};
use fatbin_core::base::range::offset_from;
use fatbin_core::format::{ContainerType, offload_binary};
use fatbin_core::scan::Unreleased;
use fatbin_core::scan::inventory::{Container, File, FileFormat};

/// The edit of a file.
#[derive(Debug)]
pub struct EditedFile {
    /// Places of the changes.
    pub layout: PatchLayout,
    /// The containers that change, in the order of the file.
    pub containers: Vec<EditedContainer>,
    /// The decisions about the device images, in the order of the file.
    pub fates: Vec<ImageFate>,
    /// Images that were to be dropped and stay, by their indexes, with the reasons.
    pub fixed: Vec<(usize, Fixed)>,
    /// Reason why free bytes were not cut out of the file, if that was requested.
    pub keeps_size: Option<KeepsSize>,
}

/// Decision about an image that was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageFate {
    /// The image has the same bytes as before.
    Kept,
    /// The image is gone.
    Dropped,
    /// The image has new bytes with this SHA-256.
    Replaced([u8; 32]),
}

/// A container that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedContainer {
    /// Index among the containers of the file.
    pub index: usize,
    /// Range in the file before the edit.
    pub span: Range<u64>,
    /// Size after the edit, in bytes; 0 if it is removed.
    pub new_size: u64,
}

/// Largest alignment of containers that is kept when bytes between them are removed: the alignment of HIP's bundles.
const MAX_ALIGNMENT: u64 = 4096;

/// Rebuilds the containers of a file. `view` is all bytes of the file, and `file` its inventory. Returns the changes of
/// its bytes: none if the edit changes nothing. With `shrinks`, free bytes are cut out of linked files, too, if nothing
/// depends on the offsets of the bytes after them. Calls `release` after a container was read, to release its pages.
pub fn edit_file<'data>(
    view: View<'data>,
    file: &File,
    edit: &dyn Edit,
    shrinks: bool,
    release: &(dyn Fn() + Sync),
) -> Result<(Patches<'data>, EditedFile)> {
    let alignment = free_alignment(view, file);
    let fates = Mutex::new(vec![ImageFate::Kept; file.device_images().count()]);
    let edit = Recorder { edit, fates, unreleased: Unreleased::default(), release };
    let mut rebuilt = rebuilt_containers(view, file, &edit, release)?;
    let tables = if alignment.is_none() { without_rows(view, file, &rebuilt)? } else { TableEdit::default() };
    rebuilt.retain(|it| !tables.fixed.contains_key(&it.span.start));
    let mut headers = if alignment.is_none() { ElfHeaders::read(view) } else { None };
    let mut patches = Vec::new();
    let mut containers = Vec::new();
    let rooms = Rooms::new(file);
    for RebuiltContainer { index, span, content } in rebuilt {
        let later = file.containers.get(index..).unwrap_or_default().iter().skip(1);
        let next = later.map(Container::range).next().flatten().map(|next| next.start);
        let new_size = content.size();
        let place = Place { view, rooms: &rooms, alignment, next, span: span.clone() };
        patches.push(place.filled(content, headers.as_mut())?);
        containers.push(EditedContainer { index, span, new_size });
    }
    patches.extend(tables.patches);
    let mut keeps_size = None;
    if alignment.is_none() && !patches.is_empty() {
        match headers {
            Some(mut headers) => {
                patches.extend(offload_sections::without_gaps(&mut headers, file, &removed(&containers)));
                if shrinks || headers.is_relocatable() {
                    keeps_size = shrink(view, &mut headers, &mut patches);
                }
                patches.extend(headers.patches());
            }
            None => keeps_size = Some(KeepsSize::Format),
        }
    }
    let patches = Patches::new(patches).ok_or(EditError::Overlap)?;
    let mut fates = edit.fates.into_inner().unwrap_or_else(PoisonError::into_inner);
    let fixed = fixed_images(file, &tables.fixed, &mut fates);
    let layout = patches.layout();
    let keeps_size = if shrinks { keeps_size } else { None };
    Ok((patches, EditedFile { layout, containers, fates, fixed, keeps_size }))
}

/// A container with new bytes.
struct RebuiltContainer<'data> {
    index: usize,
    span: Range<u64>,
    content: Content<'data>,
}

/// Place of a container that gets new bytes.
struct Place<'a, 'data> {
    view: View<'data>,
    rooms: &'a Rooms,
    alignment: Option<u64>,
    /// Start of the next container.
    next: Option<u64>,
    span: Range<u64>,
}

impl<'data> Place<'_, 'data> {
    /// Returns the patch of the place.
    fn filled(self, mut content: Content<'data>, headers: Option<&mut ElfHeaders<'data>>) -> Result<Patch<'data>> {
        let Place { view, rooms, alignment, next, span } = self;
        if let Some(alignment) = alignment {
            // Up to the next container there are zeros.
            if next.is_some() {
                content.align(alignment);
            }
            return Ok(Patch::resizing(span.start..next.unwrap_or(view.size()), content));
        }
        let new_size = content.size();
        let room = rooms.of(view, next, &span);
        let most = offset_from(span.start, room);
        let used = span.end.max(offset_from(span.start, new_size)).min(most);
        let patch = if new_size <= size_of_range(&(span.start..used)) {
            Patch::in_place(span.start..used, content)
        } else {
            headers.and_then(|headers| grow(view, headers, span.clone(), content))
        };
        patch.ok_or(EditError::NoRoom { offset: span.start, needed: new_size, room })
    }
}

/// Returns the changes of tables of images if the empty containers are removed.
fn without_rows<'data>(
    view: View<'data>,
    file: &File,
    rebuilt: &[RebuiltContainer<'data>],
) -> Result<TableEdit<'data>> {
    let empty = rebuilt.iter().filter(|container| container.content.size() == 0);
    let removed: Vec<u64> = empty.map(|container| container.span.start).collect();
    if removed.is_empty() {
        return Ok(TableEdit::default());
    }
    image_tables::without_containers(view, file, &removed)
}

/// Returns the offsets of the containers that are removed.
fn removed(containers: &[EditedContainer]) -> Vec<u64> {
    containers.iter().filter(|it| it.new_size == 0).map(|it| it.span.start).collect()
}

/// Keeps the images in containers that cannot be removed, and returns them with the reasons.
fn fixed_images(file: &File, fixed: &BTreeMap<u64, Fixed>, fates: &mut [ImageFate]) -> Vec<(usize, Fixed)> {
    let mut images = Vec::new();
    for nested in file.nested_images() {
        let outermost = nested.containers.first().and_then(|container| container.range());
        let why = outermost.and_then(|range| fixed.get(&range.start));
        if let (Some(why), Some(fate)) = (why, fates.get_mut(nested.index)) {
            *fate = ImageFate::Kept;
            images.push((nested.index, *why));
        }
    }
    images
}

/// Rebuilds the containers of a file, and returns those that change, in the order of the file.
fn rebuilt_containers<'data>(
    view: View<'data>,
    file: &File,
    edit: &dyn Edit,
    release: &(dyn Fn() + Sync),
) -> Result<Vec<RebuiltContainer<'data>>> {
    let jobs: Vec<(&Container, usize)> = file.containers.iter().zip(first_images(file)).collect();
    // Few containers are compressed one after another, each by all threads.
    let is_one_after_another = jobs.len() < threads();
    let workers = if is_one_after_another { 1 } else { threads() };
    let workers_per_container = if is_one_after_another { threads() } else { 1 };
    let rebuild_all = |workers, workers_per_container| {
        let rebuild = |&(container, first): &(&Container, usize)| {
            let Some(span) = container.range() else { return Ok(None) };
            let bytes = view.part("container", Extent { offset: span.start, size: size_of_range(&span) })?;
            let rebuilt = rebuild(bytes, container, first, edit, workers_per_container);
            release();
            rebuilt
        };
        let mut results = Vec::new();
        map_parallel(&jobs, workers, rebuild, &mut |result| results.push(result));
        results
    };
    let results =
        view.charge_in_any_order(|| rebuild_all(workers, workers_per_container)).unwrap_or_else(|| rebuild_all(1, 1));
    let mut rebuilt = Vec::new();
    for ((index, container), result) in file.containers.iter().enumerate().zip(results) {
        if let (Some(span), Some(content)) = (container.range(), result?) {
            rebuilt.push(RebuiltContainer { index, span, content });
        }
    }
    Ok(rebuilt)
}

/// An edit whose decisions are recorded.
struct Recorder<'a> {
    edit: &'a dyn Edit,
    fates: Mutex<Vec<ImageFate>>,
    unreleased: Unreleased,
    /// Releases the pages that were read.
    release: &'a (dyn Fn() + Sync),
}

impl Edit for Recorder<'_> {
    fn image(&self, image: &EditedImage<'_>) -> Result<ImageEdit> {
        let decision = self.edit.image(image)?;
        let size = image.image.size.unwrap_or_default();
        if self.unreleased.add(size) {
            (self.release)();
        }
        let fate = match &decision {
            ImageEdit::Keep => ImageFate::Kept,
            ImageEdit::Drop => ImageFate::Dropped,
            ImageEdit::Replace(bytes) => ImageFate::Replaced(hash(bytes)),
        };
        let mut fates = self.fates.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(recorded) = image.index.and_then(|index| fates.get_mut(index)) {
            *recorded = fate;
        }
        Ok(decision)
    }

    fn encoding(&self, container: &Container) -> Encoding {
        self.edit.encoding(container)
    }
}

/// If a file consists of containers, they may move: returns their alignment. Returns `None` for all other files,
/// because their code knows the addresses of the containers.
fn free_alignment(view: View<'_>, file: &File) -> Option<u64> {
    let ranges: Option<Vec<Range<u64>>> = file.containers.iter().map(Container::range).collect();
    let ranges = ranges?;
    // A device image that is a file, such as a cubin, has the image's format, not `Raw`.
    if let [range] = &*ranges
        && *range == (0..view.size())
    {
        return Some(1);
    }
    if file.format != Some(FileFormat::Raw) {
        return None;
    }
    let mut end = 0;
    for range in &ranges {
        if range.start < end || !is_zero(view, end..range.start) {
            return None;
        }
        end = range.end;
    }
    let own = |range: &Range<u64>| 1_u64.checked_shl(range.start.trailing_zeros()).unwrap_or(MAX_ALIGNMENT);
    // Readers of offload binaries expect the next one where one ends, so that an alignment by chance must not remain.
    let is_bundle =
        |container: &Container| matches!(container.container_type, ContainerType::Bundle | ContainerType::Ccob);
    let most = if file.containers.iter().all(is_bundle) { MAX_ALIGNMENT } else { offload_binary::ALIGNMENT };
    let alignment = ranges.iter().map(own).fold(most, u64::min);
    is_zero(view, end..view.size()).then_some(if ranges.len() > 1 { alignment } else { 1 })
}

/// Returns the index of the first device image of each container.
pub fn first_images(file: &File) -> Vec<usize> {
    let mut images = file.nested_images().peekable();
    let mut indices = 0_usize..;
    let first = |container: &Container| {
        let first = indices.start;
        let is_inside = |outermost: &Container| std::ptr::eq(outermost, container);
        while images.next_if(|nested| nested.containers.first().is_some_and(|it| is_inside(it))).is_some() {
            indices.next();
        }
        first
    };
    file.containers.iter().map(first).collect()
}
