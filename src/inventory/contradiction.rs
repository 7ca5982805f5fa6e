//! Containers and images that disagree about the processor.

use crate::codec::Codec;
use crate::format::{DeviceImage, ImageView};
use crate::target::{compatibility, nvptx};

/// Returns the arch in the image's own header if code for it is not code for the arch that the container states.
pub fn contradicting_arch(image: &ImageView<'_>) -> Option<String> {
    let is_plain = matches!(image.codec, None | Some(Codec::None));
    let own = DeviceImage::identify(image.view).arch.filter(|_| is_plain)?;
    let stated = image.arch.as_ref()?;
    let agree = match (nvptx::Arch::parse(stated), nvptx::Arch::parse(&own)) {
        // Not every cubin states its suffix, and not every container the suffix of a family.
        (Some(stated), Some(own)) => {
            stated.number == own.number && (own.suffix != Some(nvptx::Suffix::Specific) || own == stated)
        }
        // A container may restrict what the code leaves open.
        _ => compatibility::serves(&own, stated).is_ok(),
    };
    (!agree).then_some(own)
}
