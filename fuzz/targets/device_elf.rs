//! Identifies arbitrary bytes as a device image, and removes debug information and symbols from it. The result may be unknown, but
//! identification must not fail.

#![no_main]

use fatbin::View;
use fatbin_core::format;
use fatbin_core::format::{DeviceImage, ImageKind};
use fatbin_core::host::rewrite::device_elf::{Stripped, without};
use fatbin_fuzz::{budget, fuzz_target};

const ALL: Stripped = Stripped { debug: true, symbols: true };

fuzz_target!(|data: &[u8]| {
    let image = DeviceImage::identify(View::new(data));
    assert_eq!(image.image_kind == ImageKind::Empty, data.is_empty());

    // An image truncated to its own size yields the same result.
    if let Some(size) = image.own_size {
        let cut = View::new(data).prefix("image", size).expect("the own size is at most the size");
        assert_eq!(DeviceImage::identify(cut), image);
        format::check_image(image.image_kind, cut).expect("an image with its own size is complete");
    }
    let whole = format::device_elf(View::new(data));
    let is_elf = image.image_kind == ImageKind::Elf;
    assert_eq!(whole.is_some(), is_elf && image.own_size.is_some() && image.triple.is_some());
    if let Some(container) = whole {
        assert_eq!(fatbin_fuzz::check_view(data, container.view).start, 0);
        assert_eq!(Some(container.view.size()), image.own_size);
    }

    let budget = budget(data);
    if let Ok(Some(stripped)) = without(View::with_budget(data, &budget), ALL) {
        assert!(stripped.len() <= data.len());
        let after = DeviceImage::identify(View::new(&stripped));
        // A section that is removed may be the only damaged part.
        assert!(image.triple.is_none() || after.triple == image.triple);
        assert_eq!(without(View::new(&stripped), ALL), Ok(None));
    }
});
