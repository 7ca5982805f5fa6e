//! Containers rebuilt from the images that an edit keeps or replaces.
//!
//! The inventory of the scan leads to the images, so that an unchanged container is neither read nor decompressed. The
//! stored bytes of kept images are borrowed, except where everything around them is compressed.

mod bare;
mod bundle;
mod cuda_fatbin;
mod effort;
mod kpack;
mod ocloc_archive;
mod offload_binary;
mod oxart;
mod stored;

#[cfg(test)]
pub mod tests;

use std::cell::{OnceCell, RefCell};
use std::ops::RangeFrom;

use super::{Edit, EditError, EditedImage, Effort, Encoding, ImageEdit, Recompression, Result};
use fatbin_core::base::bytes::{Extent, View, size_of_range};
use fatbin_core::base::codec::{Codec, is_compressed};
use fatbin_core::base::content::Content;
use fatbin_core::base::error::{Cause, Malformed};
use fatbin_core::base::range::offset_from;
use fatbin_core::format::ccob::Version as CcobVersion;
use fatbin_core::format::{self, ContainerType, Fate};
use fatbin_core::scan::inventory::{Container, Image};
use stored::ImageBytes;

/// A function that returns the stored bytes of containers or images. It decompresses them first if needed.
type Space<'s, 'data> = &'s dyn Fn() -> Result<View<'data>, Malformed>;

/// A container in its place.
#[derive(Clone, Copy)]
struct Nested<'a> {
    container: &'a Container,
    /// The containers around it, from the outermost.
    around: &'a [&'a Container],
}

/// Result of rebuilding a container.
struct Rebuilt<'data> {
    /// Its new bytes; `None` if nothing changes.
    content: Option<Content<'data>>,
    /// True if it had device images before, and if it has some after, at any depth.
    had_images: bool,
    has_images: bool,
}

/// Rebuilds the container at the start of `view`, which may extend beyond it. `container` is its entry in the inventory
/// of the file, and `first_index` the index of its first device image there. Returns `None` if nothing changes.
///
/// Entries of CUDA fat binaries are compressed by up to `workers` threads.
///
/// The result has no padding after it, and no unused bytes except the padding that aligns images. It may be empty:
/// without an image, nothing is left of an offload binary or of an image without a container.
pub fn rebuild<'data>(
    view: View<'data>,
    container: &Container,
    first_index: usize,
    edit: &dyn Edit,
    workers: usize,
) -> Result<Option<Content<'data>>> {
    let own = || view.prefix("container", container.size);
    let rebuilder = Rebuilder { edit, indices: RefCell::new(first_index..), workers };
    rebuilder.container(&own, Nested { container, around: &[] }).map(|rebuilt| rebuilt.content)
}

/// Rebuilds the containers of a file.
struct Rebuilder<'e> {
    edit: &'e dyn Edit,
    /// Indices of the next device images.
    indices: RefCell<RangeFrom<usize>>,
    workers: usize,
}

impl Rebuilder<'_> {
    /// Rebuilds a container. `own` returns all its bytes.
    fn container<'data>(&self, own: Space<'_, 'data>, nested: Nested<'_>) -> Result<Rebuilt<'data>> {
        let container = nested.container;
        let encoding = match self.edit.encoding(container) {
            requested if is_current(container, requested) => Encoding::Same,
            requested => requested,
        };
        let around = [nested.around, &[container]].concat();
        if container.codec.is_none() {
            let fates = Fates::collect(self, own, container.start, &around)?;
            let is_unchanged = encoding == Encoding::Same && fates.are_all_kept();
            let content =
                if is_unchanged { None } else { Some(self.write(own()?, container, fates.list, encoding)?) };
            return Ok(Rebuilt { content, had_images: fates.had_images, has_images: fates.has_images });
        }
        let stream = OnceCell::new();
        let inner = || decompress(own()?, container, &stream);
        let fates = Fates::collect(self, &inner, 0, &around)?;
        let Fates { had_images, has_images, .. } = fates;
        let content = if encoding == Encoding::Same && fates.are_all_kept() {
            None
        } else if (container.container_type, encoding) == (ContainerType::Ccob, Encoding::Bundle)
            && fates.are_all_kept()
        {
            inner()?;
            drop(fates);
            stream.into_inner().map(Content::from)
        } else if let Some(version) = other_version(container, encoding)
            && fates.are_all_kept()
        {
            Some(bundle::with_version(own()?, version)?)
        } else {
            // The decompressed bytes are dropped here.
            Some(self.write(inner()?, container, fates.list, encoding)?.into_owned())
        };
        Ok(Rebuilt { content, had_images, has_images })
    }

    /// Decides about an image. `stored` returns its stored bytes.
    fn leaf<'data>(
        &self,
        stored: Space<'_, 'data>,
        image: &Image,
        around: &[&Container],
        bytes: &ImageBytes,
    ) -> Result<Fate<'data>> {
        let index = if image.is_device_image() { self.indices.borrow_mut().next() } else { None };
        let bytes = || bytes.read(stored()?, image);
        let edited = EditedImage { index, image, containers: around, bytes: &bytes };
        Ok(match self.edit.image(&edited)? {
            ImageEdit::Keep => Fate::Keep,
            // The host entry of a bundle.
            ImageEdit::Drop if index.is_none() => Fate::Keep,
            ImageEdit::Drop => Fate::Drop,
            ImageEdit::Replace(bytes) => Fate::Replace(Content::from(bytes)),
        })
    }

    /// Writes a container with an encoding. `view` is all of its bytes, decompressed.
    fn write<'data>(
        &self,
        view: View<'data>,
        container: &Container,
        fates: Vec<Fate<'data>>,
        encoding: Encoding,
    ) -> Result<Content<'data>> {
        match (container.container_type, encoding) {
            (ContainerType::Bundle | ContainerType::Ccob, Encoding::Same | Encoding::Bundle | Encoding::Ccob(..)) => {
                bundle::write(view, container, fates, encoding)
            }
            (ContainerType::OffloadBinary, Encoding::Same | Encoding::OffloadBinary(..)) => {
                offload_binary::write(view, container, fates, encoding)
            }
            (ContainerType::CudaFatbin, Encoding::Same) => {
                cuda_fatbin::write(view, container, fates, None, self.workers)
            }
            (ContainerType::CudaFatbin, Encoding::CudaFatbin(how)) => {
                cuda_fatbin::write(view, container, fates, Some(how), self.workers)
            }
            (ContainerType::Oxart, Encoding::Same) => oxart::write(view, fates),
            (ContainerType::OclocArchive, Encoding::Same) => ocloc_archive::write(view, fates),
            (ContainerType::Kpack, Encoding::Same) => kpack::write(view, fates, None, self.workers),
            (ContainerType::Kpack, Encoding::Kpack(how)) => kpack::write(view, fates, Some(how), self.workers),
            (
                ContainerType::MetalLibrary
                | ContainerType::DxContainer
                | ContainerType::MetalBinary
                | ContainerType::SyclImage
                | ContainerType::BundleSection
                | ContainerType::DeviceElf
                | ContainerType::Ptx
                | ContainerType::Bitcode
                | ContainerType::SpirV
                | ContainerType::LtoIr
                | ContainerType::OptixIr
                | ContainerType::TileIr
                | ContainerType::PatchTokens
                | ContainerType::Embedded,
                Encoding::Same,
            ) => bare::write(view, container, fates),
            (ContainerType::SyclBin | ContainerType::Hcf, Encoding::Same)
                if fates.iter().all(|fate| *fate == Fate::Keep) =>
            {
                Ok(Content::from(view.data()))
            }
            (from, _) => Err(EditError::UnsupportedEncoding { container: from.name() }),
        }
    }
}

/// Fates of the images of a container.
struct Fates<'data> {
    list: Vec<Fate<'data>>,
    /// True if there were device images before, and if there are some after, at any depth.
    had_images: bool,
    has_images: bool,
}

impl<'data> Fates<'data> {
    /// Decides about the images of the innermost container of `around`. `space` returns the bytes that contain the
    /// images, and `start` is the offset of the first of these bytes in the inventory.
    fn collect(rebuilder: &Rebuilder<'_>, space: Space<'_, 'data>, start: u64, around: &[&Container]) -> Result<Self> {
        let images = around.last().map(|container| container.images.as_slice()).unwrap_or_default();
        let mut fates = Fates { list: Vec::new(), had_images: false, has_images: false };
        let bytes = ImageBytes::default();
        for image in images {
            let stored = || {
                let offset = size_of_range(&(start..image.stored.start));
                space()?.part("image", Extent { offset, size: image.stored.size })
            };
            if image.containers.is_empty() {
                let fate = rebuilder.leaf(&stored, image, around, &bytes)?;
                fates.had_images |= image.is_device_image();
                fates.has_images |= image.is_device_image() && fate != Fate::Drop;
                fates.list.push(fate);
            } else {
                fates.holder(rebuilder, &stored, image, around)?;
            }
        }
        Ok(fates)
    }

    /// Decides about the images in an image that consists of containers. It is dropped if none is left.
    fn holder(
        &mut self,
        rebuilder: &Rebuilder<'_>,
        stored: Space<'_, 'data>,
        image: &Image,
        around: &[&Container],
    ) -> Result<()> {
        let mut rebuilt = Vec::new();
        let mut had_images = false;
        let mut has_images = false;
        for container in &image.containers {
            let offset = size_of_range(&(image.stored.start..container.start));
            let own = || stored()?.part("container", Extent { offset, size: container.size });
            let one = rebuilder.container(&own, Nested { container, around })?;
            // A container that could not be read counts as an image.
            let is_unread = container.images.is_empty();
            had_images |= one.had_images || is_unread;
            has_images |= one.has_images || is_unread;
            rebuilt.push(one.content);
        }
        self.had_images |= had_images;
        self.has_images |= has_images;
        let is_plain = !is_compressed(image.codec) && image.stored.part.is_none();
        if !is_plain && rebuilt.iter().any(Option::is_some) {
            let cause = Cause::Described("containers in the compressed bytes of an image".to_owned());
            return Err(stored()?.malformed("image", 0, cause).into());
        }
        self.list.push(if rebuilt.iter().all(Option::is_none) {
            Fate::Keep
        } else if had_images && !has_images {
            Fate::Drop
        } else {
            Fate::Replace(joined(stored()?, image, rebuilt)?)
        });
        Ok(())
    }

    fn are_all_kept(&self) -> bool {
        self.list.iter().all(|fate| *fate == Fate::Keep)
    }
}

/// Largest alignment that is kept, in bytes: the alignment of bundles in HIP programs.
const LARGEST_ALIGNMENT: u64 = 4096;

/// Returns the largest power of two that divides an offset, at most [`LARGEST_ALIGNMENT`].
fn alignment_of(offset: u64) -> u64 {
    1_u64.checked_shl(offset.trailing_zeros()).unwrap_or(LARGEST_ALIGNMENT).min(LARGEST_ALIGNMENT)
}

/// Joins the containers of an image: changed containers as they are rebuilt, and the others from `view`. Bundles keep
/// the alignment of their offsets; for other containers it is at most eight bytes. Bytes after the last container stay.
fn joined<'data>(view: View<'data>, image: &Image, rebuilt: Vec<Option<Content<'data>>>) -> Result<Content<'data>> {
    let mut content = Content::new();
    let mut end = 0;
    for (container, new) in image.containers.iter().zip(rebuilt) {
        let offset = size_of_range(&(image.stored.start..container.start));
        let is_bundle = matches!(container.container_type, ContainerType::Bundle | ContainerType::Ccob);
        let alignment = if is_bundle { alignment_of(offset) } else { alignment_of(offset).min(8) };
        let new = match new {
            Some(new) => new,
            None => Content::from(view.part("container", Extent { offset, size: container.size })?.data()),
        };
        if new.size() > 0 {
            content.align(alignment);
            content.append(new);
        }
        end = offset_from(offset, container.size);
    }
    content.push(view.from(end).data());
    Ok(content)
}

/// Returns whether a container has an encoding already. A level makes it another one.
fn is_current(container: &Container, encoding: Encoding) -> bool {
    let is_same = |how: Option<Recompression>, codec: Option<Codec>| match how {
        Some(how) => how.effort == Effort::Fit && Some(how.codec) == codec,
        None => !is_compressed(codec),
    };
    let version = container.version.unwrap_or_default();
    match (container.container_type, encoding) {
        (_, Encoding::Same) | (ContainerType::Bundle, Encoding::Bundle) => true,
        (ContainerType::Ccob, Encoding::Ccob(new, how)) => {
            u32::from(new.number()) == version && is_same(Some(how), container.codec)
        }
        (ContainerType::OffloadBinary, Encoding::OffloadBinary(new, how)) => {
            new.number() == version && is_same(how, container.codec)
        }
        (ContainerType::CudaFatbin, Encoding::CudaFatbin(how)) | (ContainerType::Kpack, Encoding::Kpack(how)) => {
            container.images.iter().all(|image| is_same(how, image.codec))
        }
        _ => false,
    }
}

/// Returns the version of a compressed bundle whose encoding differs in nothing else.
fn other_version(container: &Container, encoding: Encoding) -> Option<CcobVersion> {
    match (container.container_type, encoding) {
        (ContainerType::Ccob, Encoding::Ccob(version, how)) => {
            (how.effort == Effort::Fit && Some(how.codec) == container.codec).then_some(version)
        }
        _ => None,
    }
}

/// Returns the decompressed bytes of a container. They are kept in `stream`.
fn decompress<'a>(own: View<'a>, container: &Container, stream: &'a OnceCell<Vec<u8>>) -> Result<View<'a>, Malformed> {
    if let Some(bytes) = stream.get() {
        return Ok(own.derived(bytes));
    }
    let compressed = format::compressed_container(container.container_type, own)?;
    // The scan has verified the hash of a container whose images it lists.
    let is_verified = !container.images.is_empty();
    let bytes = if is_verified { compressed.decompress_unverified()? } else { compressed.decompress()? };
    Ok(own.derived(stream.get_or_init(|| bytes)))
}

/// Fails if the number of images differs from the inventory's, because a limit has cut the inventory short.
fn check_count(view: View<'_>, images: usize, fates: &[Fate<'_>]) -> Result<(), Malformed> {
    if images == fates.len() {
        return Ok(());
    }
    let cause = Cause::Described(format!("{images} images, {} in the inventory", fates.len()));
    Err(view.malformed("container", 0, cause))
}
