//! Turns a container in the file into its record in the inventory, with the containers in its images.

use super::contents::{HashAndOrigin, record_origin};
use crate::base::bytes::{MAX_NESTING, Resource, record_memory};
use crate::base::codec::Codec;
use crate::base::error::{Cause, Malformed};
use crate::format::KernelContent;
use crate::format::{self, Contents, GroupCache};
use crate::scan::Options;
use crate::scan::cache::DecompressedCache;
use crate::scan::inventory::{
    Container, CudaCode, Image, OwnHeader, Registration, SectionRef, StoredBytes, stored_origin,
};

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
    /// Reused to decompress images, one after another.
    pub buffer: Vec<u8>,
}

/// Place of a container.
#[derive(Clone, Copy)]
struct Place<'a> {
    section: Option<&'a SectionRef>,
    /// Offset in the file of the stream that these bytes were decompressed from. Offsets in the bytes are not offsets
    /// in the file.
    stream: Option<u64>,
    depth: usize,
}

impl<'a> Place<'a> {
    fn deeper(self, stream: Option<u64>) -> Place<'a> {
        Place { stream, depth: self.depth.saturating_add(1), ..self }
    }
}

impl InventoryBuilder<'_> {
    /// Records a container of the file; `None` if that exceeds the budget.
    pub fn container(
        &mut self,
        container: &format::ContainerView<'_>,
        section: Option<&SectionRef>,
    ) -> Option<Container> {
        let place = Place { section, stream: None, depth: 0 };
        if let Err(error) = charge_container(container, section) {
            self.error(error, place);
            return None;
        }
        Some(self.record(container, place))
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
            registration: Registration::default(),
            images,
            start: container.view.start(),
        }
    }

    /// Records the images of a compressed container at `start`.
    fn compressed(&mut self, compressed: &format::Compressed<'_>, start: u64, place: Place<'_>) -> Vec<Image> {
        let decompressed = self.prefetched.take().unwrap_or_else(|| compressed.decompress());
        match decompressed {
            Ok(bytes) => {
                let stream = place.stream.or(Some(compressed.stored.start()));
                let images = match format::compressed_images(compressed.contents, compressed.stored.derived(&bytes)) {
                    Ok(images) => self.images(&images, place.deeper(stream)),
                    Err(error) => self.error(error, place.deeper(stream)),
                };
                // Containers inside another have offsets in its decompressed bytes.
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

    fn images(&mut self, images: &[format::ImageView<'_>], place: Place<'_>) -> Vec<Image> {
        let mut group = GroupCache::with_buffer(std::mem::take(&mut self.buffer));
        let mut recorded = Vec::with_capacity(images.len());
        for image in images {
            if let Err(error) = charge_image(image) {
                self.error(error, place);
                break;
            }
            recorded.push(self.image(image, &mut group, place));
        }
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
        let own = OwnHeader::of(image, group);
        let mut recorded = Image {
            kind: image.kind,
            image_kind: image.image_kind,
            triple: image.triple.clone(),
            arch: image.arch.clone(),
            own_arch: own.arch,
            own_triple: own.triple,
            is_unlinked: own.is_unlinked,
            content: KernelContent::default(),
            id: image.id.map(str::to_owned),
            symbol: image.symbol.map(str::to_owned),
            size_is_estimated: !image.has_stated_end,
            strings: image.strings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect(),
            property_sets: Vec::new(),
            unknown: image.unknown.clone(),
            offset: is_in_file.then_some(image.view.start()),
            // Images that are compressed together have no stored sizes.
            size: (is_in_file && image.part.is_none()).then_some(image.view.size()),
            codec: image.codec,
            full_size: image.full_size.or((!is_in_file).then_some(image.view.size())),
            sha256: None,
            producer: None,
            format_version: None,
            cuda: CudaCode::default(),
            metal: None,
            is_left_out: false,
            containers: self.inner_containers(image, place.deeper(place.stream)),
            stored: StoredBytes { start: image.view.start(), size: image.view.size(), part: image.part },
        };
        if recorded.containers.is_empty() {
            self.record_contents(image, group, place, &mut recorded);
        }
        recorded
    }

    /// Records the producer of an image. Also records its hash if hashes are requested and the image was in a
    /// compressed container.
    fn record_contents<'data>(
        &mut self,
        image: &format::ImageView<'data>,
        group: &mut GroupCache<'data>,
        place: Place<'_>,
        recorded: &mut Image,
    ) {
        record_origin(stored_origin(image), recorded);
        // All other images are hashed after the scan.
        if !self.options.hash || place.stream.is_none() {
            return;
        }
        let bytes = group.bytes(image);
        match bytes.and_then(|bytes| HashAndOrigin::read(image.image_kind, image.view.derived(&bytes))) {
            Ok(contents) => contents.record(recorded),
            // The codec states that these bytes cannot be read.
            Err(_) if image.codec == Some(Codec::Opaque) => {}
            Err(error) => drop(self.error(error, place)),
        }
    }

    /// Records the containers that make up an image. It is not an error if the first cannot be read: an image may have
    /// any contents, and the inspection of this image reports the defect.
    fn inner_containers(&mut self, image: &format::ImageView<'_>, place: Place<'_>) -> Vec<Container> {
        let mut containers = Vec::new();
        let mut rest = image.view;
        while let Some(inner) = format::read_in_image(image, rest) {
            let error = match inner {
                Ok(container) if place.depth < MAX_NESTING => match charge_container(&container, place.section) {
                    Ok(()) => {
                        containers.push(self.record(&container, place));
                        rest = rest.from(container.view.size()).skip_zeros();
                        continue;
                    }
                    Err(error) => Some(error),
                },
                Ok(_) => {
                    Some(rest.malformed("container in containers", 0, Cause::NestedTooDeep { limit: MAX_NESTING }))
                }
                Err(_) if containers.is_empty() => None,
                Err(error) => Some(error),
            };
            drop(error.map(|error| self.error(error, place)));
            break;
        }
        containers
    }

    /// Records an error, and returns no images. If the bytes were decompressed, the offset is the offset of their
    /// stream.
    fn error(&mut self, error: Malformed, place: Place<'_>) -> Vec<Image> {
        self.errors.push(Malformed { offset: place.stream.unwrap_or(error.offset), ..error });
        Vec::new()
    }
}

/// Number of copies of a record in memory, including the cells of a report.
const RECORD_COPIES: usize = 4;
/// Memory of the records of a container, of an image and of a pair of texts, in bytes.
const CONTAINER_RECORD: usize = size_of::<Container>() * RECORD_COPIES;
const IMAGE_RECORD: usize = size_of::<Image>() * RECORD_COPIES;
const PAIR_RECORD: usize = size_of::<(String, String)>() * RECORD_COPIES;

/// Charges the record of an image. A container may state any number of images for the same bytes.
fn charge_image(image: &format::ImageView<'_>) -> Result<(), Malformed> {
    let pairs = image.strings.iter().flat_map(|(key, value)| [key.len(), value.len()]);
    let named = [image.triple.as_deref(), image.arch.as_deref(), image.id, image.symbol];
    let texts = pairs.chain(named.into_iter().flatten().map(str::len));
    let size = image.strings.iter().map(|_| PAIR_RECORD).chain([IMAGE_RECORD]).sum();
    image.view.charge("image", Resource::Memory, record_memory(size, texts))
}

fn charge_container(container: &format::ContainerView<'_>, section: Option<&SectionRef>) -> Result<(), Malformed> {
    let name = section.map(|section| section.name.len());
    container.view.charge("container", Resource::Memory, record_memory(CONTAINER_RECORD, name))
}
