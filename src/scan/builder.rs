//! From a container in the file to its record in the inventory, with the containers in its images.

#[cfg(feature = "hash")]
use sha2::{Digest, Sha256};

use super::Options;
use super::cache::DecompressedCache;
use crate::bytes::View;
use crate::codec::Codec;
use crate::error::{Cause, Malformed};
use crate::format::{self, Contents, GroupCache};
use crate::inventory::{Container, Image, SectionRef, StoredBytes, contradicting_arch, origin, stored_origin};

/// Maximum depth of containers in containers that are read. Real files have three levels.
const MAX_DEPTH: usize = 8;

/// Records containers.
pub struct InventoryBuilder<'a> {
    /// Options of the scan.
    pub options: Options,
    /// Errors in containers.
    pub errors: &'a mut Vec<Malformed>,
    /// The container itself, if it has been decompressed already.
    pub prefetched: Option<Result<Vec<u8>, Malformed>>,
    /// Keeps decompressed containers for reading their images.
    pub cache: Option<&'a DecompressedCache>,
    /// For decompressing images, one after another.
    pub buffer: Vec<u8>,
}

/// Place of a container.
#[derive(Clone, Copy)]
struct Place<'a> {
    section: Option<&'a SectionRef>,
    /// Offset in the file of the stream that was decompressed to these bytes. Offsets in them are not offsets in the file.
    stream: Option<u64>,
    depth: usize,
}

impl<'a> Place<'a> {
    fn deeper(self, stream: Option<u64>) -> Place<'a> {
        Place { stream, depth: self.depth + 1, ..self }
    }
}

impl InventoryBuilder<'_> {
    /// Records a container of the file.
    pub fn container(&mut self, container: &format::ContainerView<'_>, section: Option<&SectionRef>) -> Container {
        self.record(container, Place { section, stream: None, depth: 0 })
    }

    fn record(&mut self, container: &format::ContainerView<'_>, place: Place<'_>) -> Container {
        let (codec, images) = match &container.contents {
            Contents::Images(images) => (None, self.images(images, place)),
            Contents::Compressed(compressed) => {
                let images = self.compressed(compressed, container.view.start(), place);
                (Some(compressed.codec), images)
            }
        };
        Container {
            container_type: container.container_type,
            version: container.version,
            section: place.section.cloned(),
            offset: place.stream.is_none().then_some(container.view.start()),
            size: container.view.size(),
            codec,
            images,
            start: container.view.start(),
        }
    }

    /// Records the images of a compressed container at `start`.
    fn compressed(&mut self, compressed: &format::Compressed<'_>, start: u64, place: Place<'_>) -> Vec<Image> {
        let decompressed = self.prefetched.take().unwrap_or_else(|| compressed.decompress(self.options.limit));
        match decompressed {
            Ok(bytes) => {
                let stream = place.stream.or(Some(compressed.stored.start()));
                let images = self.decompressed(&bytes, place.deeper(stream));
                // Containers inside another have offsets of their own.
                if place.stream.is_none()
                    && let Some(cache) = self.cache
                {
                    cache.put(start, bytes);
                }
                images
            }
            // The compressed bytes have an offset in the file.
            Err(error) => self.error(error, place),
        }
    }

    /// Records the images of the container in `bytes`.
    fn decompressed(&mut self, bytes: &[u8], place: Place<'_>) -> Vec<Image> {
        let view = View::new(bytes);
        let error = match format::read(view) {
            Some(Ok(format::ContainerView { contents: Contents::Images(images), .. })) => {
                return self.images(&images, place);
            }
            Some(Ok(_)) => view.malformed("compressed container", 0, Cause::CompressedTwice),
            Some(Err(error)) => error,
            None => format::not_a_container("compressed container", view),
        };
        self.error(error, place)
    }

    fn images(&mut self, images: &[format::ImageView<'_>], place: Place<'_>) -> Vec<Image> {
        let mut group = GroupCache::with_buffer(std::mem::take(&mut self.buffer));
        let recorded = images.iter().map(|image| self.image(image, &mut group, place)).collect();
        self.buffer = group.into_buffer();
        recorded
    }

    fn image<'data>(
        &mut self,
        image: &format::ImageView<'data>,
        group: &mut GroupCache<'data>,
        place: Place<'_>,
    ) -> Image {
        let is_in_file = place.stream.is_none();
        let mut recorded = Image {
            kind: image.kind,
            image_kind: image.image_kind,
            triple: image.triple.clone(),
            arch: image.arch.clone(),
            own_arch: contradicting_arch(image),
            id: image.id.map(str::to_owned),
            strings: image.strings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect(),
            unknown: image.unknown.clone(),
            offset: is_in_file.then_some(image.view.start()),
            // Images that are compressed together have no sizes of their own.
            size: (is_in_file && image.part.is_none()).then_some(image.view.size()),
            codec: image.codec,
            full_size: image.full_size.or((!is_in_file).then_some(image.view.size())),
            sha256: None,
            producer: None,
            format_version: None,
            containers: self.inner_containers(image.view, place.deeper(place.stream)),
            stored: StoredBytes { start: image.view.start(), size: image.view.size(), part: image.part },
        };
        if recorded.containers.is_empty() {
            self.record_contents(image, group, place, &mut recorded);
        }
        recorded
    }

    /// Records the producer of an image, and its hash if that is an option.
    fn record_contents<'data>(
        &mut self,
        image: &format::ImageView<'data>,
        group: &mut GroupCache<'data>,
        place: Place<'_>,
        recorded: &mut Image,
    ) {
        let mut from = stored_origin(image);
        if self.options.hashes_images() {
            match group.bytes(image, self.options.limit) {
                Ok(bytes) => {
                    recorded.sha256 = sha256(&bytes);
                    from = origin(image.image_kind, View::new(&bytes));
                }
                // The codec states that these bytes cannot be read.
                Err(_) if image.codec == Some(Codec::Opaque) => {}
                Err(error) => drop(self.error(error, place)),
            }
        }
        // The container may state it, too.
        recorded.producer = recorded.string("producer").map(str::to_owned).or(from.producer);
        recorded.format_version = from.format_version;
    }

    /// Records the containers that an image consists of. One that cannot be read is not an error: an image may have any
    /// contents, and here it is one of unknown kind.
    fn inner_containers(&mut self, image: View<'_>, place: Place<'_>) -> Vec<Container> {
        let mut containers = Vec::new();
        let mut rest = image;
        while place.depth < MAX_DEPTH
            && let Some(format) = format::of_magic(rest)
            && let Ok(container) = (format.read)(rest)
        {
            containers.push(self.record(&container, place));
            rest = rest.from(container.view.size());
            let padding = rest.data().iter().take_while(|&&byte| byte == 0).count();
            rest = rest.from(padding as u64);
        }
        containers
    }

    /// Records an error, and returns no images. The offset is that of the stream for bytes that were
    /// decompressed.
    fn error(&mut self, error: Malformed, place: Place<'_>) -> Vec<Image> {
        self.errors.push(Malformed { offset: place.stream.unwrap_or(error.offset), ..error });
        Vec::new()
    }
}

/// Returns the SHA-256 of an image, if the feature for it is enabled.
fn sha256(bytes: &[u8]) -> Option<[u8; 32]> {
    #[cfg(feature = "hash")]
    return Some(Sha256::digest(bytes).into());
    #[cfg(not(feature = "hash"))]
    return bytes.first().and(None);
}
