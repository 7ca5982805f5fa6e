//! Hashes images after the scan. Images outside compressed containers are read by several threads. Images in compressed
//! containers were hashed when the scan decompressed their containers.

use super::{ImageRef, Scan, compressed_containers};
use crate::base::codec::Codec;
use crate::base::error::Malformed;
use crate::scan::inventory::{Container, Image, NestedImage};
use crate::scan::search::contents::HashAndOrigin;
use crate::scan::search::findings::order_errors;
use crate::scan::source::Source;

impl<S: Source> Scan<S> {
    /// Hashes the images that are not in a compressed container.
    pub(crate) fn with_hashes(mut self) -> Self {
        let images: Vec<NestedImage<'_>> = self.file().nested_leaves().filter(is_deferred).collect();
        let mut contents = Vec::with_capacity(images.len());
        self.map_images(&images, |_, image| read(image), &mut |_, read| contents.push(read));
        drop(images);
        let mut contents = contents.into_iter();
        let mut errors = Vec::new();
        let file = self.file_mut();
        for_each_deferred(&mut file.containers, &mut |image| match contents.next() {
            Some(Ok(contents)) => contents.record(image),
            // The codec states that these bytes cannot be read.
            Some(Err(_)) if image.codec == Some(Codec::Opaque) => {}
            Some(Err(error)) => errors.push(error),
            None => {}
        });
        if !errors.is_empty() {
            file.errors.append(&mut errors);
            order_errors(&mut file.errors);
        }
        self
    }
}

fn read(image: &ImageRef<'_>) -> Result<HashAndOrigin, Malformed> {
    let bytes = image.read()?;
    let start = image.stored.start;
    HashAndOrigin::read(image.image_kind, bytes.view()).map_err(|error| Malformed { offset: start, ..error })
}

fn is_deferred(nested: &NestedImage<'_>) -> bool {
    compressed_containers(nested).next().is_none()
}

/// Calls `visit` with the images that satisfy [`is_deferred`], in file order.
fn for_each_deferred(containers: &mut [Container], visit: &mut dyn FnMut(&mut Image)) {
    for container in containers.iter_mut().filter(|container| container.codec.is_none()) {
        for image in &mut container.images {
            if image.containers.is_empty() {
                visit(image);
            } else {
                for_each_deferred(&mut image.containers, visit);
            }
        }
    }
}
