//! The proof of an edit: the written file is scanned, and compared with the file before the edit.
//!
//! It holds under three conditions. Each image is found where the edit left it, with the same bytes, or is named as
//! dropped. Nothing else in the file has changed. The runtimes select the same images as before on each device that the
//! edit is for.

use super::patch::PatchLayout;
use super::{EditedFile, ImageFate, ProofError};
use crate::analyze::select::candidate_sets;
use fatbin_core::base::bytes::{Extent, View, size_of_range};
use fatbin_core::base::error::Malformed;
use fatbin_core::base::range::range_at;
use fatbin_core::scan::inventory::{File, Image};
use fatbin_core::scan::{ImageRef, RELEASE_INTERVAL, Scan, Source};
use fatbin_core::target::Device;

/// Most zeros that a container adds to an image: payloads of CUDA fat binaries have multiples of 8 bytes.
const MAX_PADDING: usize = 7;

/// A proof that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Index of each device image after the edit, by its index before; `None` for dropped images.
    pub images: Vec<Option<usize>>,
    /// Number of bytes outside of the changed spans. All of them are equal.
    pub unchanged: u64,
    /// Devices where the selection is the same as before.
    pub devices: Vec<Device>,
}

/// A file before and after an edit.
pub struct Change<'a, B, A> {
    /// The file before.
    pub before: &'a Scan<B>,
    /// The file after.
    pub after: &'a Scan<A>,
    /// The edit.
    pub edited: &'a EditedFile,
    /// True if new images may have other targets than the images that they replace.
    pub other_targets: bool,
}

impl<B: Source, A: Source> Change<'_, B, A> {
    /// Proves that the edit changed what it was meant to, and nothing else.
    pub fn prove(&self, devices: &[Device]) -> Result<Proof, ProofError> {
        let before = self.before.file();
        let after = self.after.file();
        if let Some(error) = after.errors.first()
            && before.errors.is_empty()
        {
            return Err(ProofError::Unreadable(error.clone()));
        }
        let images = self.images()?;
        let unchanged = unchanged_bytes(self.before.source(), self.after.source(), &self.edited.layout)?;
        compare_selections(before, after, &images, devices)?;
        Ok(Proof { images, unchanged, devices: devices.to_vec() })
    }

    /// Finds each image that was not dropped, and compares it with the old image.
    fn images(&self) -> Result<Vec<Option<usize>>, ProofError> {
        let fate = |number: usize| self.edited.fates.get(number).unwrap_or(&ImageFate::Kept);
        let old: Vec<ImageRef<'_>> = self.before.images().collect();
        let new: Vec<ImageRef<'_>> = self.after.images().collect();
        let expected = old.iter().filter(|image| *fate(image.index()) != ImageFate::Dropped).count();
        if new.len() != expected {
            return Err(ProofError::Count { found: new.len(), expected });
        }
        let mut rest = new.iter();
        let mut pairs = Vec::new();
        for image in &old {
            let fate = fate(image.index());
            let after = if *fate == ImageFate::Dropped { None } else { rest.next() };
            if let Some(after) = after {
                self.compare_image(image, after, fate)?;
            }
            pairs.push(after.map(ImageRef::index));
        }
        Ok(pairs)
    }

    fn compare_image(&self, old: &ImageRef<'_>, new: &ImageRef<'_>, fate: &ImageFate) -> Result<(), ProofError> {
        let differs = |what| ProofError::Image { number: new.index(), what };
        if !self.is_in_place(old, new) {
            return Err(differs("its place"));
        }
        let is_other_target = self.other_targets && matches!(fate, ImageFate::Replaced(_));
        if !is_other_target && stated(old) != stated(new) {
            return Err(differs("the target that its container states"));
        }
        let is_equal = match fate {
            ImageFate::Replaced(hash) => has_hash(&new.read().map_err(ProofError::Unreadable)?, hash),
            _ => has_same_bytes(old, new).map_err(ProofError::Unreadable)?,
        };
        if is_equal { Ok(()) } else { Err(differs("its bytes")) }
    }

    /// Returns whether an image is in its old container, or in one of several that have replaced it.
    fn is_in_place(&self, old: &ImageRef<'_>, new: &ImageRef<'_>) -> bool {
        let (Some(old), Some(new)) = (place(old), place(new)) else { return false };
        let start = self.edited.layout.new_offset(old);
        let containers = &self.edited.containers;
        let edited = containers.binary_search_by_key(&old, |container| container.span.start);
        let size = edited.ok().and_then(|index| containers.get(index)).map_or(0, |container| container.new_size);
        new == start || range_at(start, size).contains(&new)
    }
}

/// Compares everything outside of the changed spans, and returns its size in bytes.
pub fn unchanged_bytes(old: &dyn Source, new: &dyn Source, layout: &PatchLayout) -> Result<u64, ProofError> {
    let mut unchanged = Vec::new();
    let mut start = 0;
    let end = old.view().size();
    for span in layout.spans().chain(std::iter::once(end..end)) {
        let size = size_of_range(&(start..span.start));
        if !is_equal(old, start, new, layout.new_offset(start), size) {
            return Err(ProofError::Bytes(start..span.start));
        }
        unchanged.push(size);
        start = span.end;
    }
    let found = new.view().size();
    let expected = layout.new_size(end);
    if found == expected { Ok(unchanged.into_iter().sum()) } else { Err(ProofError::Size { found, expected }) }
}

/// Returns the offset of the outermost container around an image.
fn place(image: &ImageRef<'_>) -> Option<u64> {
    image.containers().first()?.offset
}

/// The properties that a runtime uses to find an image.
fn stated(image: &Image) -> impl PartialEq {
    (image.kind, image.image_kind, image.triple.clone(), image.arch.clone(), image.id.clone())
}

/// Returns whether the bytes of an image have a hash, without the zeros that a container may have added: LTO-IR and
/// other formats do not state their size, so that the padding of an entry counts as part of the image.
fn has_hash(mut bytes: &[u8], hash: &[u8; 32]) -> bool {
    for _ in 0..=MAX_PADDING {
        if super::hash(bytes) == *hash {
            return true;
        }
        let Some((0, shorter)) = bytes.split_last() else { return false };
        bytes = shorter;
    }
    false
}

/// Returns whether two images have the same bytes. They are decompressed only if they are stored differently.
fn has_same_bytes(old: &ImageRef<'_>, new: &ImageRef<'_>) -> Result<bool, Malformed> {
    if has_same_form(old, new) && old.stored_bytes()?[..] == new.stored_bytes()?[..] {
        return Ok(true);
    }
    Ok(old.read()?[..] == new.read()?[..])
}

/// Returns whether the stored bytes of two images can be compared instead of the decompressed ones.
fn has_same_form(old: &Image, new: &Image) -> bool {
    let is_stored = |image: &Image| image.offset.is_some() && image.size.is_some();
    old.codec == new.codec && is_stored(old) && is_stored(new)
}

fn is_equal(old: &dyn Source, at: u64, new: &dyn Source, new_at: u64, size: u64) -> bool {
    let (Some(one), Some(other)) = (bytes(old.view(), at, size), bytes(new.view(), new_at, size)) else { return false };
    let mut blocks = one.chunks(RELEASE_INTERVAL as usize).zip(other.chunks(RELEASE_INTERVAL as usize));
    blocks.all(|(one, other)| {
        let is_equal = one == other;
        old.release(0..u64::MAX);
        new.release(0..u64::MAX);
        is_equal
    })
}

fn bytes<'data>(view: View<'data>, at: u64, size: u64) -> Option<&'data [u8]> {
    view.part("unchanged bytes", Extent { offset: at, size }).map(|part| part.data()).ok()
}

/// Compares the selections of each runtime on each device, container by container.
fn compare_selections(
    before: &File,
    after: &File,
    images: &[Option<usize>],
    devices: &[Device],
) -> Result<(), ProofError> {
    let old = candidate_sets(before);
    let new = candidate_sets(after);
    let mut set_of_image = vec![None; after.device_images().count()];
    for set in &new {
        for candidate in &set.candidates {
            if let Some(place) = set_of_image.get_mut(candidate.number) {
                *place = Some(set);
            }
        }
    }
    let new_number = |number: usize| images.get(number).copied().flatten();
    for set in &old {
        let mut kept = set.candidates.iter().filter_map(|candidate| new_number(candidate.number));
        let new_set = kept.next().and_then(|number| set_of_image.get(number).copied().flatten());
        for device in devices {
            let expected: Option<Vec<usize>> = set.taken_on(device).into_iter().map(new_number).collect();
            let found = new_set.map_or(Vec::new(), |set| set.taken_on(device));
            if expected != Some(found) {
                let number = set.candidates.first().map_or(0, |candidate| candidate.number);
                return Err(ProofError::Selection { device: device.clone(), runtime: set.runtime.name, number });
            }
        }
    }
    Ok(())
}
