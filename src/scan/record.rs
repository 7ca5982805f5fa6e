//! From a container in the file to the inventory: what is in it, and what is in that.
//!
//! An image may be a container again, and a container may have to be restored before it can be read; the restored bytes
//! live only as long as this looks at them. So whoever wants the bytes of an image, and not only what is known of it, is
//! called while they are there.

use std::borrow::Cow;
use std::ops::Deref;

use sha2::{Digest, Sha256};

use super::{Kept, Options};
use crate::bytes::View;
use crate::codec::{Codec, Limit};
use crate::error::{Cause, Malformed, Result};
use crate::format::{self, Contents, Group};
use crate::inventory::{Container, Image, InSection};

/// Containers in containers: as deep as this is looked. Real files have three.
const DEEPEST: usize = 8;

/// Called with what is known of every image that holds no other, and with the image itself.
pub type Look<'a> = dyn FnMut(&Image, &mut Itself<'_, '_>) -> Result<()> + 'a;

/// An image while its bytes are there.
pub struct Itself<'a, 'data> {
    image: &'a format::Image<'data>,
    group: &'a mut Group<'data>,
}

impl Itself<'_, '_> {
    /// As [`format::Image::bytes`], but images that are compressed as one are decompressed once.
    pub fn bytes(&mut self, limit: Limit) -> Result<Cow<'_, [u8]>, Malformed> {
        self.group.bytes(self.image, limit)
    }
}

impl<'data> Deref for Itself<'_, 'data> {
    type Target = format::Image<'data>;

    fn deref(&self) -> &Self::Target {
        self.image
    }
}

/// Makes the inventory of containers.
pub struct Record<'a, 'look> {
    pub options: Options,
    /// What could not be read.
    pub errors: &'a mut Vec<Malformed>,
    pub look: &'a mut Look<'look>,
    pub before: Before,
    /// Where restored containers are kept from one time to the next.
    pub kept: Option<&'a Kept>,
    /// To decompress images to, one after another.
    pub room: Vec<u8>,
}

/// What was done before.
pub enum Before {
    /// All that is compressed was restored and its hash verified.
    Verified,
    /// The container itself may have been restored.
    Restored(Option<Result<Vec<u8>, Malformed>>),
}

/// Where a container is found.
#[derive(Clone, Copy)]
struct Place<'a> {
    section: Option<&'a InSection>,
    /// Where in the file the stream begins out of which this was restored. Offsets in there lead nowhere in the file.
    restored_from: Option<u64>,
    depth: usize,
}

impl Record<'_, '_> {
    /// A container that stands in the file.
    pub fn container(&mut self, container: &format::Container<'_>, section: Option<&InSection>) -> Result<Container> {
        self.at(container, Place { section, restored_from: None, depth: 0 })
    }

    fn at(&mut self, container: &format::Container<'_>, place: Place<'_>) -> Result<Container> {
        let (codec, images) = match &container.contents {
            Contents::Images(images) => (None, self.images(images, place)?),
            Contents::Compressed(compressed) => {
                let (start, limit) = (compressed.stored.start(), self.options.limit);
                let restored_from = place.restored_from.or(Some(start));
                // What is in another has offsets of its own.
                let kept = self.kept.filter(|_| place.restored_from.is_none());
                let (restored, keep) = match &mut self.before {
                    Before::Verified => {
                        let again = kept.and_then(|kept| kept.take(start));
                        (again.map_or_else(|| compressed.restore_again(limit), Ok), None)
                    }
                    Before::Restored(restored) => (
                        restored.take().unwrap_or_else(|| compressed.restore(limit)),
                        kept.filter(|_| self.options.keep),
                    ),
                };
                let images = match restored {
                    Ok(mut restored) => {
                        let images =
                            self.restored(&restored, Place { restored_from, depth: place.depth + 1, ..place })?;
                        keep.into_iter().for_each(|kept| kept.put(start, std::mem::take(&mut restored)));
                        images
                    }
                    // What cannot be restored stands where the container does.
                    Err(error) => self.error(error, place),
                };
                (Some(compressed.codec), images)
            }
        };
        Ok(Container {
            container_type: container.container_type,
            version: container.version,
            section: place.section.cloned(),
            offset: place.restored_from.is_none().then_some(container.view.start()),
            size: container.view.size(),
            codec,
            images,
        })
    }

    /// The images of the container that `restored` is.
    fn restored(&mut self, restored: &[u8], place: Place<'_>) -> Result<Vec<Image>> {
        let view = View::new(restored);
        let error = match format::read(view) {
            Some(Ok(format::Container { contents: Contents::Images(images), .. })) => {
                return self.images(&images, place);
            }
            Some(Ok(_)) => view.malformed("compressed container", 0, Cause::CompressedTwice),
            Some(Err(error)) => error,
            None => format::not_a_container("compressed container", view),
        };
        Ok(self.error(error, place))
    }

    fn images(&mut self, images: &[format::Image<'_>], place: Place<'_>) -> Result<Vec<Image>> {
        let mut group = Group::reusing(std::mem::take(&mut self.room));
        let recorded = images.iter().map(|image| self.image(&mut Itself { image, group: &mut group }, place)).collect();
        self.room = group.into_room();
        recorded
    }

    fn image(&mut self, image: &mut Itself<'_, '_>, place: Place<'_>) -> Result<Image> {
        let mut recorded = Image {
            kind: image.kind,
            image_kind: image.image_kind,
            triple: image.triple.clone(),
            arch: image.arch.clone(),
            own_arch: image.contradicting_arch(),
            id: image.id.map(str::to_owned),
            strings: image.strings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect(),
            unknown: image.unknown.clone(),
            offset: place.restored_from.is_none().then_some(image.view.start()),
            // Images that are compressed as one have no sizes of their own.
            size: (place.restored_from.is_none() && image.part.is_none()).then_some(image.view.size()),
            codec: image.codec,
            full_size: image.full_size.or(place.restored_from.map(|_| image.view.size())),
            sha256: None,
            producer: None,
            format_version: None,
            containers: Vec::new(),
        };
        recorded.containers = self.inside(image.view, Place { depth: place.depth + 1, ..place })?;
        if recorded.containers.is_empty() {
            let mut origin = image.origin();
            if self.options.hash {
                let (codec, image_kind) = (image.codec, image.image_kind);
                match image.bytes(self.options.limit) {
                    Ok(bytes) => {
                        recorded.sha256 = Some(Sha256::digest(&bytes).into());
                        origin = format::origin(image_kind, View::new(&bytes));
                    }
                    // Nobody knows what its bytes are, and the codec says so.
                    Err(_) if codec == Some(Codec::Opaque) => {}
                    Err(error) => drop(self.error(error, place)),
                }
            }
            // The container may say it, too.
            recorded.producer = recorded.string("producer").map(str::to_owned).or(origin.producer);
            recorded.format_version = origin.format_version;
            (self.look)(&recorded, image)?;
        }
        Ok(recorded)
    }

    /// The containers that an image consists of. One that cannot be read is no error: what an image is made of is its own
    /// affair, and here it is an image of unknown kind.
    fn inside(&mut self, image: View<'_>, place: Place<'_>) -> Result<Vec<Container>> {
        let mut containers = Vec::new();
        let mut rest = image;
        while place.depth < DEEPEST
            && let Some(format) = format::of_magic(rest)
            && let Ok(container) = (format.read)(rest)
        {
            containers.push(self.at(&container, place)?);
            rest = rest.from(container.view.size());
            let padding = rest.data().iter().take_while(|&&byte| byte == 0).count();
            rest = rest.from(padding as u64);
        }
        Ok(containers)
    }

    /// Notes what could not be read; there are no images in that. What stands in the file has an offset there, and for what
    /// does not there is the stream that it was restored from.
    fn error(&mut self, error: Malformed, place: Place<'_>) -> Vec<Image> {
        self.errors.push(Malformed { offset: place.restored_from.unwrap_or(error.offset), ..error });
        Vec::new()
    }
}
