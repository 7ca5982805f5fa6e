//! Addresses of images in compressed bundles. The file does not store such bytes, so `llvm-readobj --offloading` prints
//! their offsets in the decompressed bundle. Source: LLVM 22, `OffloadBundleURI`, and its output for compressed
//! bundles.

use std::io::Write;
use std::ops::Range;

use super::InputSlice;
use crate::base::bytes::Extent;
use crate::base::error::{Error, Result};
use crate::base::file_path::FilePath;
use crate::base::io::Input;
use crate::base::range::range_at;
use crate::format::{self, DeviceImage, ImageKind};
use crate::scan::inventory::Container;
use crate::scan::{Options, Source};

impl InputSlice {
    /// Returns the bytes at an address with the name `name`. They are bytes of the file, or an image with exactly this
    /// offset and size in a container that is compressed as a whole. Such an image counts only if the bytes of the file
    /// are not an image.
    pub(super) fn at_address(self, name: FilePath, offset: u64, size: u64) -> Result<InputSlice> {
        let stored = self.clone().cut(name.clone(), offset, size);
        let is_image = |slice: &InputSlice| DeviceImage::identify(slice.view()).image_kind != ImageKind::Unknown;
        if stored.as_ref().is_ok_and(is_image) {
            return stored;
        }
        let file = crate::scan::scan(&self, Options::default())?;
        let has_image = |container: &&Container| {
            let mut images = container.images.iter().map(|image| (image.stored.start, image.stored.size));
            container.codec.is_some() && images.any(|place| place == (offset, size))
        };
        let containers: Vec<&Container> = file.containers.iter().filter(has_image).collect();
        match &*containers {
            [] => stored,
            [container] => self.decompressed(name, container, range_at(offset, size)),
            several => {
                let count = several.len();
                let why = format!(
                    "{count} compressed containers have an image of {size} bytes at this offset of their decompressed bytes; \
                     extract the images from the file instead"
                );
                Err(Error::Address { address: name.into(), why })
            }
        }
    }

    fn decompressed(self, name: FilePath, container: &Container, range: Range<u64>) -> Result<InputSlice> {
        let path = name.printed();
        let image = || {
            let at = container.offset.unwrap_or_default();
            let own = self.view().part("container", Extent { offset: at, size: container.size })?;
            let compressed = format::compressed_container(container.container_type, own)?;
            let bytes = compressed.decompress()?;
            let image = own.derived(&bytes).between("image", range)?;
            Ok(image.data().to_vec())
        };
        let image = image().map_err(|malformed: crate::base::error::Malformed| malformed.in_file(path))?;
        let write = |file: &mut std::fs::File| file.write_all(&image);
        let input = Input::from_temp_file(path, &std::env::temp_dir(), self.input().access(), write)?;
        let input = input.without_descriptor().with_budget(self.input().budget().clone());
        Ok(self.with_bytes(name, input))
    }
}
