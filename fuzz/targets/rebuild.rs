//! Any bytes as a file whose containers are rebuilt: what is kept has the same bytes, and what is dropped is gone.

#![no_main]

use fatbin::Codec;
use fatbin::scan::Scan;
use fatbin::scan::{Container, File};
use fatbin::{Budget, Limits, View};
use fatbin_core::format::ContainerType;
use fatbin_fuzz::fuzz_target;
use fatbin_ops::edit::container::rebuild;
use fatbin_ops::edit::{Edit, EditedImage, Effort, Encoding, ImageEdit, Recompression, Result as EditResult};

fuzz_target!(|data: &[u8]| {
    let Some((&[drops, form], file)) = data.split_first_chunk() else { return };
    let budget = Budget::new(Limits::default(), file.len() as u64);
    let Ok(scan) = Scan::new(View::with_budget(file, &budget)) else { return };
    let images = |scan: &Scan<View<'_>>| -> Vec<Option<Vec<u8>>> {
        scan.images().map(|image| image.bytes().map(|bytes| bytes.to_vec()).ok()).collect()
    };
    let (edit, before) = (ByBits { drops, form }, images(&scan));
    let Ok(new) = rebuilt(View::with_budget(file, &budget), scan.file(), &edit) else { return };
    let budget = Budget::new(Limits::default(), new.len() as u64);
    let after = Scan::new(View::with_budget(&new, &budget)).expect("bytes can be scanned");
    if !scan.file().errors.is_empty() || !after.file().errors.is_empty() {
        return;
    }
    // An image without a container is found where one follows a container, and not after its zeros.
    if scan.file().containers.iter().any(is_image) {
        return;
    }
    // Zeros may complete what had the magic of a container, and bytes of another one in its headers.
    let was_there =
        |container: &Container| scan.file().containers.iter().any(|before| before.offset == container.offset);
    if !after.file().containers.iter().all(was_there) {
        return;
    }
    let kept = before.iter().enumerate().filter(|(index, _)| !edit.is_dropped(*index)).map(|(_, bytes)| bytes);
    // An image that cannot be read is as it was, where it is only copied.
    if before.iter().all(Option::is_some) {
        assert!(images(&after).iter().eq(kept), "other images");
    }
});

fn is_image(container: &Container) -> bool {
    use ContainerType::{Bitcode, DeviceElf, Embedded, LtoIr, Ptx, SpirV, TileIr};
    matches!(container.container_type, Bitcode | DeviceElf | Embedded | LtoIr | Ptx | SpirV | TileIr)
}

fn rebuilt(view: View<'_>, file: &File, edit: &ByBits) -> EditResult<Vec<u8>> {
    let (mut new, mut end, mut index) = (Vec::new(), 0, 0);
    for container in &file.containers {
        let start = container.offset.expect("a container in the file has an offset");
        new.extend(&view.data()[end as usize..start as usize]);
        end = start + container.size;
        match rebuild(view.from(start), container, index, edit, 1)? {
            Some(content) => {
                // Bytes that move may be a container or an image in their new place: zeros keep the places.
                let padding = container.size.saturating_sub(content.size());
                new.extend(content.to_vec());
                new.resize(new.len() + padding as usize, 0);
            }
            None => new.extend(&view.data()[start as usize..end as usize]),
        }
        index += container.images().filter(|image| image.is_device_image()).count();
    }
    new.extend(&view.data()[end as usize..]);
    Ok(new)
}

/// An edit that a bit for every eighth image and a number for the form of containers determine.
struct ByBits {
    drops: u8,
    form: u8,
}

impl ByBits {
    fn is_dropped(&self, index: usize) -> bool {
        self.drops >> (index % 8) & 1 != 0
    }
}

impl Edit for ByBits {
    fn image(&self, image: &EditedImage<'_>) -> EditResult<ImageEdit> {
        Ok(if image.index.is_some_and(|index| self.is_dropped(index)) { ImageEdit::Drop } else { ImageEdit::Keep })
    }

    fn encoding(&self, container: &Container) -> Encoding {
        let how = |codec| Some(Recompression { codec, effort: Effort::Level(1) });
        match (container.container_type, self.form) {
            (ContainerType::Ccob, 1) => Encoding::Bundle,
            (ContainerType::CudaFatbin, 1) => Encoding::CudaFatbin(None),
            (ContainerType::CudaFatbin, 2) => Encoding::CudaFatbin(how(Codec::Lz4)),
            (ContainerType::CudaFatbin, 3) => Encoding::CudaFatbin(how(Codec::Zstd)),
            _ => Encoding::Same,
        }
    }
}
