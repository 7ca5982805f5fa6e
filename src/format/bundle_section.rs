//! Sections that are an entry of a bundle each: `__CLANG_OFFLOAD_BUNDLE__` followed by the bundle entry id.
//!
//! clang-offload-bundler puts them into relocatable host objects (`-type=o`): the code object as it is, or one zero byte
//! for the host, whose object this is. SYCL's compiler uses the same names in finished programs and libraries, there with
//! one device image after the other in a section, mostly each a zstd frame; what names them for the runtime is the
//! section `.tgtimg`. Source: Clang Offload Bundler document; files of oneAPI 2025 and 2026, whose frames are as many and
//! give as much as `.tgtimg` says.

use super::{Container, ContainerType, Contents, DeviceImage, Image, ImageKind};
use crate::bytes::View;
use crate::codec::{self, Codec};
use crate::error::{Cause, Malformed};
use crate::target::{BundleEntryId, OffloadKind};

/// What the names of these sections begin with.
pub const NAME: &str = "__CLANG_OFFLOAD_BUNDLE__";

/// What is left of that where names have eight bytes, as in PE files.
const CUT_NAME: &str = "__CLANG_";

/// The bundle entry id in a section's name, empty where there was no room for it; `None` for other sections.
pub fn entry_id(name: &str) -> Option<&str> {
    if name == CUT_NAME { Some("") } else { name.strip_prefix(NAME) }
}

/// What is stored for the host.
const HOST: &[u8] = b"\0";

/// How much of a decompressed image is looked at to tell its kind.
const START: usize = 64;

/// Reads what begins at the view's first byte, which goes on to the end of the section with this id behind its name. The
/// id is empty where the host file has no room for it.
pub fn container<'data>(id: &'data str, view: View<'data>) -> Result<Container<'data>, Malformed> {
    let kind = id.split_once('-').and_then(|(kind, _)| OffloadKind::from_name(kind));
    if id.is_empty() || kind == Some(OffloadKind::Sycl) {
        let triple = id.split_once('-').map(|(_, triple)| triple);
        return sycl(kind, triple, view);
    }
    let parsed = BundleEntryId::parse(id)
        .ok_or_else(|| view.malformed("section name", 0, Cause::BundleEntryId { id: id.to_owned() }))?;
    let mut image = Image::new(view, kind, Some(parsed.triple), parsed.target_id);
    image.id = Some(id);
    if kind == Some(OffloadKind::Host) && view.data() == HOST {
        image.image_kind = ImageKind::Empty;
    }
    Ok(of_one(ContainerType::BundleSection, view, image))
}

/// One image of several: a frame, or where there is none all that is left.
fn sycl<'data>(
    kind: Option<OffloadKind>,
    triple: Option<&'data str>,
    view: View<'data>,
) -> Result<Container<'data>, Malformed> {
    if codec::check_start(Codec::Zstd, view).is_err() {
        return Ok(of_one(ContainerType::SyclImage, view, Image::new(view, kind, triple, None)));
    }
    let full_size = codec::frame_content_size(view)?;
    let size = codec::stream_size(Codec::Zstd, view, full_size)?;
    let stored = view.part("SYCL image", 0, 0, size)?;
    let start = codec::decompress_start(Codec::Zstd, stored, START)?;
    let mut image = Image::new(stored, kind, triple, None);
    image.image_kind = DeviceImage::identify(View::new(&start)).image_kind;
    image.codec = Some(Codec::Zstd);
    image.full_size = Some(full_size);
    Ok(of_one(ContainerType::SyclImage, stored, image))
}

fn of_one<'data>(container_type: ContainerType, view: View<'data>, image: Image<'data>) -> Container<'data> {
    Container { container_type, version: None, view, contents: Contents::Images(vec![image]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{Compression, Limit, compress};

    const SPIRV: &[u8] = b"\x03\x02\x23\x07 and the words of a module";

    fn frame(bytes: &[u8]) -> Vec<u8> {
        compress([bytes].into_iter(), bytes.len() as u64, Compression::new(Codec::Zstd), Vec::new()).unwrap()
    }

    #[test]
    fn a_frame_is_an_image_and_ends_where_it_ends() {
        let stored = frame(SPIRV);
        let section = [stored.as_slice(), &[0; 9], &frame(b"another")].concat();
        let container = container("sycl-spir64", View::new(&section)).unwrap();
        assert_eq!((container.container_type, container.view.size()), (ContainerType::SyclImage, stored.len() as u64));
        let image = &container.images()[0];
        assert_eq!((image.kind, image.triple.as_deref()), (Some(OffloadKind::Sycl), Some("spir64")));
        assert_eq!((image.image_kind, image.full_size), (ImageKind::SpirV, Some(SPIRV.len() as u64)));
        assert_eq!(&*image.bytes(Limit::default()).unwrap(), SPIRV);
    }

    #[test]
    fn a_code_object_is_all_of_its_section_and_the_hosts_zero_byte_is_no_code() {
        let code = container("hip-amdgcn-amd-amdhsa--gfx906", View::new(b"code object")).unwrap();
        let image = &code.images()[0];
        assert_eq!((code.container_type, image.arch.as_deref()), (ContainerType::BundleSection, Some("gfx906")));
        assert_eq!((image.view.data(), image.id), (&b"code object"[..], Some("hip-amdgcn-amd-amdhsa--gfx906")));
        let host = container("host-x86_64-unknown-linux-gnu-", View::new(HOST)).unwrap();
        assert_eq!((host.images()[0].kind, host.images()[0].image_kind), (Some(OffloadKind::Host), ImageKind::Empty));
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        let stored = frame(&SPIRV.repeat(50));
        for end in 5..stored.len() {
            container("sycl-spir64", View::new(&stored[..end])).unwrap_err();
        }
        let error = container("nonsense", View::new(b"x")).unwrap_err().to_string();
        assert!(error.contains("\"nonsense\" is no bundle entry id"), "{error}");
    }
}
