//! Images that `fatbin embed` has put into an object. A record before the bytes has their number and the name of their
//! symbol.

use super::{EmbeddedImage, Region, at_start, unexpected};
use crate::base::bytes::View;
use crate::base::error::Malformed;
use crate::format::{DeviceImage, ImageKind, embed_record};

/// Finds the image whose record is at an offset. A file of any other kind is an error; a container is found by its own
/// magic.
pub fn find(region: Region<'_>, at: u64) -> Result<EmbeddedImage<'_>, Malformed> {
    let file = embed_record::read(region.view.from(at))?;
    // Not another record: a chain of records would have no depth limit.
    if file.view.starts_with(&embed_record::MAGIC) {
        return Err(unexpected(file.view, "embedded file", 0, 0, "a device image"));
    }
    let image = match at_start(Region { view: terminated(file), ..region }) {
        Some(image) => image,
        None if has_magic_of_image(file.view) => EmbeddedImage::new(file.view),
        None => return Err(unexpected(file.view, "embedded file", 0, 0, "a device image")),
    };
    Ok(EmbeddedImage { symbol: Some(file.name), ..image })
}

/// The NUL after the bytes of a file is included, because it ends PTX.
fn terminated(file: embed_record::EmbeddedFile<'_>) -> View<'_> {
    file.whole.from(file.view.range_in(file.whole).start)
}

/// The search does not recognize these images among other bytes.
fn has_magic_of_image(view: View<'_>) -> bool {
    matches!(DeviceImage::identify(view).image_kind, ImageKind::TileIr | ImageKind::Nvvm | ImageKind::OptixIr)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(name: &str) -> Vec<u8> {
        std::fs::read(format!("{}/../../fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    fn found(file: &[u8]) -> Option<(String, Vec<u8>)> {
        let bytes = [&b"before"[..], &embed_record::record("name", file.len() as u64, 64), file, b"\0after"].concat();
        let image = find(Region { view: View::new(&bytes), may_hold_text: true }, 6).ok()?;
        assert!(image.has_stated_end);
        Some((image.symbol?.to_owned(), image.view.data().to_vec()))
    }

    #[test]
    fn finds_images_of_every_kind_with_their_names() {
        let lto_ir = [0xed, 0x43, 0x4e, 0x7f].repeat(4);
        for image in [
            fixture("answer-gfx90a.hsaco"),
            fixture("answer-sm_90.cubin"),
            fixture("answer-sm_80.ptx"),
            b".version 8.0\n.target sm_80\n.visible .entry k() { ret; }\n// end".to_vec(),
            lto_ir,
        ] {
            assert_eq!(found(&image), Some(("name".to_owned(), image)));
        }
    }

    #[test]
    fn other_files_and_damaged_images_are_none() {
        let cubin = fixture("answer-sm_90.cubin");
        let record = [&embed_record::record("inner", cubin.len() as u64, 64)[..], &cubin].concat();
        for file in [&b""[..], b"text", &cubin[..3000], &cubin[1..], &record] {
            assert_eq!(found(file), None);
        }
    }
}
