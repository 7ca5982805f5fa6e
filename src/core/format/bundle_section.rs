//! Sections that are one bundle entry each: `__CLANG_OFFLOAD_BUNDLE__` followed by the bundle entry ID.
//!
//! clang-offload-bundler adds them to relocatable host objects (`-type=o`). Each contains the code object as it is, or
//! one zero byte for the host, whose object contains the sections. SYCL's compiler uses the same names in finished
//! programs and libraries. There, a section contains several device images back to back, usually one zstd frame each,
//! and the section `.tgtimg` lists them for the runtime. Source: Clang Offload Bundler document; files of oneAPI 2025
//! and 2026, whose frames match `.tgtimg` in number and size.

use super::{
    Compressed, CompressedContents, ContainerType, ContainerView, Contents, DeviceImage, ImageKind, ImageView,
};
use crate::base::bytes::{Cursor, View};
use crate::base::codec::{self, Codec};
use crate::base::error::{Cause, Malformed};
use crate::target::{BundleEntryId, OffloadKind};

/// Prefix of the names of these sections.
pub const NAME: &str = "__CLANG_OFFLOAD_BUNDLE__";

/// Section of DPC++'s newer offload model (`--offload-new-driver`). It holds SYCL images, and its name states no
/// triple.
const NEW_NAME: &str = "OFFLOAD_DEVICE_CODE";

/// Both names, truncated to eight bytes as in PE files.
const CUT_NAMES: [&str; 2] = ["__CLANG_", "OFFLOAD_"];

/// Entry IDs of sections whose name states only the kind (`SYCL`) or nothing (`UNNAMED`).
const SYCL: &str = "sycl-";
pub const UNNAMED: &str = "";

/// Returns the bundle entry ID in a section's name: empty if the name is truncated, `None` for other sections.
pub fn entry_id(name: &str) -> Option<&str> {
    match name {
        NEW_NAME => Some(SYCL),
        _ if CUT_NAMES.contains(&name) => Some(UNNAMED),
        _ => name.strip_prefix(NAME),
    }
}

/// Returns whether a section holds SYCL images and its name states no triple.
pub fn lacks_triple(name: &str) -> bool {
    entry_id(name).is_some_and(|id| id == SYCL || id == UNNAMED)
}

/// Content of the host's section.
const HOST: &[u8] = b"\0";

/// Number of decompressed bytes that are inspected to identify an image.
const START: usize = 64;

/// Reads the container at the view's start. The view extends to the end of a section with this ID in its name. The ID
/// is empty if the host file truncates names.
pub fn container<'data>(id: &'data str, view: View<'data>) -> Result<ContainerView<'data>, Malformed> {
    let kind = id.split_once('-').and_then(|(kind, _)| OffloadKind::from_name(kind));
    if id.is_empty() || kind == Some(OffloadKind::Sycl) {
        let triple = id.split_once('-').map(|(_, triple)| triple);
        return sycl(kind, triple, view);
    }
    let parsed = BundleEntryId::parse(id)
        .ok_or_else(|| view.malformed("section name", 0, Cause::BundleEntryId { id: id.to_owned() }))?;
    let mut image = ImageView::new(view, kind, Some(parsed.triple), parsed.target_id);
    image.id = Some(id);
    if kind == Some(OffloadKind::Host) && view.data() == HOST {
        image.image_kind = ImageKind::Empty;
    }
    Ok(ContainerView::new(ContainerType::BundleSection, None, view, vec![image]))
}

/// An image of SYCL that is stored as a zstd frame.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'data> {
    /// The frame.
    pub stored: View<'data>,
    /// Decompressed size in bytes.
    pub full_size: u64,
    /// Kind of the decompressed image.
    pub image_kind: ImageKind,
}

/// Returns the frame at the view's start; `None` if there is none.
pub fn frame(view: View<'_>) -> Result<Option<Frame<'_>>, Malformed> {
    if codec::check_start(Codec::Zstd, view).is_err() {
        return Ok(None);
    }
    let full_size = codec::frame_content_size(view)?;
    let size = codec::stream_size(Codec::Zstd, view, full_size)?;
    let stored = view.prefix("SYCL image", size)?;
    let start = codec::decompress_start(Codec::Zstd, stored, full_size, START)?;
    Ok(Some(Frame { stored, full_size, image_kind: DeviceImage::identify(View::new(&start)).image_kind }))
}

/// Reads one image of several: a zstd frame, or without a frame all remaining bytes.
fn sycl<'data>(
    kind: Option<OffloadKind>,
    triple: Option<&'data str>,
    view: View<'data>,
) -> Result<ContainerView<'data>, Malformed> {
    let Some(Frame { stored, full_size, image_kind }) = frame(view)? else {
        let image = ImageView::new(view, kind, triple, None);
        return Ok(ContainerView::new(ContainerType::SyclImage, None, view, vec![image]));
    };
    if image_kind == ImageKind::OclocArchive {
        let contents = CompressedContents::SyclImage { kind, triple };
        let codec = Codec::Zstd;
        let prefix = Vec::new();
        let compressed = Compressed { codec, stored, full_size, prefix, hash: None, contents };
        let container_type = ContainerType::SyclImage;
        let contents = Contents::Compressed(compressed);
        return Ok(ContainerView { container_type, version: None, view: with_padding(view, stored.size())?, contents });
    }
    let mut image = ImageView::new(stored, kind, triple, None);
    image.set_frame(image_kind, full_size);
    Ok(ContainerView::new(ContainerType::SyclImage, None, stored, vec![image]))
}

/// Extends a frame of this size by the skippable frame that follows it, if any.
fn with_padding(view: View<'_>, size: u64) -> Result<View<'_>, Malformed> {
    let mut cursor = Cursor::new(view);
    cursor.take_stated("SYCL image", size)?;
    if let Some(padding) = codec::skippable_frame_size(cursor.rest()) {
        cursor.take_stated("SYCL image", padding)?;
    }
    view.prefix("SYCL image", cursor.at())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::codec::{Compression, compress};

    const SPIRV: &[u8] = b"\x03\x02\x23\x07 and the words of a module";

    fn compressed(bytes: &[u8]) -> Vec<u8> {
        compress([bytes].into_iter(), bytes.len() as u64, Compression::new(Codec::Zstd), Vec::new()).unwrap()
    }

    #[test]
    fn a_frame_is_one_image() {
        let stored = compressed(SPIRV);
        let section = [stored.as_slice(), &[0; 9], &compressed(b"another")].concat();
        let container = container("sycl-spir64", View::new(&section)).unwrap();
        assert_eq!((container.container_type, container.view.size()), (ContainerType::SyclImage, stored.len() as u64));
        let image = &container.images()[0];
        assert_eq!((image.kind, image.triple.as_deref()), (Some(OffloadKind::Sycl), Some("spir64")));
        assert_eq!((image.image_kind, image.full_size), (ImageKind::SpirV, Some(SPIRV.len() as u64)));
        assert_eq!(&*image.bytes().unwrap(), SPIRV);
    }

    #[test]
    fn a_code_object_fills_its_section_and_the_hosts_zero_byte_is_empty() {
        let code = container("hip-amdgcn-amd-amdhsa--gfx906", View::new(b"code object")).unwrap();
        let image = &code.images()[0];
        assert_eq!((code.container_type, image.arch.as_deref()), (ContainerType::BundleSection, Some("gfx906")));
        assert_eq!((image.view.data(), image.id), (&b"code object"[..], Some("hip-amdgcn-amd-amdhsa--gfx906")));
        let host = container("host-x86_64-unknown-linux-gnu-", View::new(HOST)).unwrap();
        assert_eq!((host.images()[0].kind, host.images()[0].image_kind), (Some(OffloadKind::Host), ImageKind::Empty));
    }

    #[test]
    fn rejects_truncated_frames_and_invalid_ids() {
        let stored = compressed(&SPIRV.repeat(50));
        for end in 5..stored.len() {
            container("sycl-spir64", View::new(&stored[..end])).unwrap_err();
        }
        let error = container("nonsense", View::new(b"x")).unwrap_err().to_string();
        assert!(error.contains("invalid bundle entry ID \"nonsense\", expected "), "{error}");
    }
}
