//! The artifact bundle of cuda-oxide, magic `OXIDEART`: device code of a Rust crate as PTX, NVVM IR, LTO-IR or a cubin.
//!
//! cuda-oxide's backend of rustc stores bundles back to back in the section `.oxart` of host objects. The program walks
//! the section by the total sizes of the bundles, and loads the code of each crate from the bundle with its name. All
//! integers are little-endian; offsets count from the first byte of the bundle.
//!
//! Layout of versions 1 and 2: header, name, target, payload records, entry records, and then names, data and symbols,
//! each padded to eight bytes. Source: crate oxide-artifacts 0.2.1, its documentation and its output.

mod raw;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub use raw::{MAGIC, SECTION, entry_kind, payload_kind};
pub use read::{OxartBundle, OxartEntry, OxartPayload};
pub use write::edited;
pub use write::{OxartEntrySpec, OxartPayloadSpec, OxartSpec, write};

use super::{ContainerType, ContainerView, ImageKind, ImageView, UnknownValue};
use crate::base::bytes::{Resource, View};
use crate::base::codec::Codec;
use crate::base::error::Malformed;
use crate::target::{OffloadKind, triple};

/// Reads the bundle at the view's start as a container.
pub fn container(view: View<'_>) -> Result<ContainerView<'_>, Malformed> {
    let bundle = OxartBundle::read(view)?;
    let mut images = Vec::new();
    for payload in &bundle.payloads {
        let image = image(&bundle, payload);
        // Each image repeats the entries.
        let size = size_of_val(image.strings.as_slice()) as u64;
        view.charge("oxart entry count", Resource::Memory, size)?;
        images.push(image);
    }
    Ok(ContainerView::new(ContainerType::Oxart, Some(bundle.version.into()), bundle.view, images))
}

fn image<'data>(bundle: &OxartBundle<'data>, payload: &OxartPayload<'data>) -> ImageView<'data> {
    let names = [("bundle", bundle.name), ("payload", payload.name)];
    let form = payload_kind::name(payload.kind).map(|name| ("form", name));
    let entries = bundle.entries.iter().map(|entry| {
        let key = if entry.kind == entry_kind::KERNEL { "kernel" } else { "device-function" };
        (key, entry.symbol)
    });
    let unknown = UnknownValue { field: UnknownValue::KIND, value: payload.kind.into() };
    ImageView {
        image_kind: match payload.kind {
            payload_kind::PTX => ImageKind::Ptx,
            payload_kind::LTO_IR => ImageKind::Nvvm,
            payload_kind::CUBIN => ImageKind::Elf,
            // NVVM IR is text, or bitcode.
            payload_kind::NVVM_IR => super::DeviceImage::identify(payload.data).image_kind,
            _ => ImageKind::Unknown,
        },
        triple: Some(triple::NVPTX64.to_owned()),
        arch: Some(bundle.target.to_owned()).filter(|target| !target.is_empty()),
        strings: names.into_iter().chain(form).chain(entries).collect(),
        unknown: if form.is_none() { vec![unknown] } else { Vec::new() },
        codec: Some(Codec::None),
        ..ImageView::new(payload.data, Some(OffloadKind::Cuda), None, None)
    }
}
