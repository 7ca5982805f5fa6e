//! Containers and images that disagree about the processor.

use crate::base::bytes::View;
use crate::base::codec::is_compressed;
use crate::format::{DeviceImage, ImageView};
use crate::target::{compatibility, intel, nvptx};

/// Returns the arch in the image's header if it contradicts the arch that the container states.
pub fn contradicting_arch(image: &ImageView<'_>) -> Option<String> {
    if is_compressed(image.codec) {
        return None;
    }
    contradicting_arch_of(image.arch.as_deref()?, image.view)
}

/// Returns whether code of a fat binary runs on fewer devices than its entry states: `sm_90a` under `sm_90`. nvcc 13.5
/// stores cubins of Tile IR in such entries.
pub fn is_narrower(stated: &str, own: &str) -> bool {
    match (nvptx::Arch::parse(stated), nvptx::Arch::parse(own)) {
        (Some(stated), Some(own)) => {
            stated.number == own.number && own.suffix == Some(nvptx::Suffix::Specific) && own != stated
        }
        _ => false,
    }
}

/// Like [`contradicting_arch`], for the decompressed bytes of an image whose container states an arch.
pub fn contradicting_arch_of(stated: &str, bytes: View<'_>) -> Option<String> {
    let own = DeviceImage::identify(bytes).arch?;
    let agree = match (nvptx::Arch::parse(stated), nvptx::Arch::parse(&own)) {
        // Not every cubin states its suffix, and not every container states the suffix of a family.
        (Some(stated), Some(own)) => {
            stated.number == own.number && (own.suffix != Some(nvptx::Suffix::Specific) || own == stated)
        }
        // A container may restrict a choice that the code leaves open.
        _ if intel::is_name(&own) || intel::is_name(stated) => intel::can_be(&own, stated),
        _ => compatibility::serves(&own, stated).is_ok(),
    };
    (!agree).then_some(own)
}
