//! Offload binaries of every version, uncompressed or compressed.

use super::effort::{self, Unit};
use super::{Fate, check_count};
use crate::edit::decision::{Effort, Encoding, Recompression};
use crate::edit::{EditError, Result};
use fatbin_core::base::bytes::View;
use fatbin_core::base::codec::Codec;
use fatbin_core::base::content::Content;
use fatbin_core::format::offload_binary::{self, OffloadBinary, OffloadBinaryEntry, OffloadBinaryImage, Version};
use fatbin_core::scan::inventory::Container;

/// Writes offload binaries with the images that are left: one, or in version 1 one for each image. `view` is the bytes
/// of the container, decompressed. Nothing is written if no image is left.
pub fn write<'data>(
    view: View<'data>,
    container: &Container,
    fates: Vec<Fate<'data>>,
    encoding: Encoding,
) -> Result<Content<'data>> {
    let binary = OffloadBinary::read(view)?;
    let (version, how) = match encoding {
        Encoding::OffloadBinary(version, how) => (version, how),
        _ => (binary.version, container.codec.map(|codec| Recompression { codec, effort: Effort::Fit })),
    };
    let plain = plain(&binary, fates, version)?;
    match how {
        Some(_) if version < Version::Three => Err(EditError::UncompressedVersion { version: version.number() }),
        Some(how) if plain.size() > 0 => compressed(&plain, how, container.size),
        _ => Ok(plain),
    }
}

fn plain<'data>(binary: &OffloadBinary<'data>, fates: Vec<Fate<'data>>, version: Version) -> Result<Content<'data>> {
    let is_metadata = |entry: &OffloadBinaryEntry<'_>| entry.is_metadata(binary.version);
    check_count(binary.view, binary.entries().len(), &fates)?;
    if version == binary.version && fates.iter().all(|fate| *fate == Fate::Keep) {
        return Ok(Content::from(binary.view.data()));
    }
    let mut members = Vec::new();
    let mut images = Vec::new();
    for (entry, fate) in binary.entries().iter().zip(fates) {
        if is_metadata(entry) && version == Version::One {
            return Err(EditError::MetadataEntry);
        }
        match fate {
            Fate::Keep => images.push(Content::from(entry.image.data())),
            Fate::Drop => continue,
            Fate::Replace(code) => images.push(with_properties(entry, code)?),
        }
        members.push(OffloadBinaryImage { image: &[], ..entry.member() });
    }
    if members.is_empty() {
        return Ok(Content::new());
    }
    offload_binary::check(version, &members)?;
    let output = offload_binary::write_contents(version, &members, images).ok_or(EditError::TooLarge)?;
    Ok(output.content)
}

/// Returns the image of an entry with other code. The properties that precede the code stay.
fn with_properties<'data>(entry: &OffloadBinaryEntry<'data>, code: Content<'data>) -> Result<Content<'data>> {
    let size = entry.image.size().checked_sub(entry.code()?.size()).ok_or(EditError::TooLarge)?;
    let mut image = Content::from(entry.image.prefix("image", size)?.data());
    image.append(code);
    Ok(image)
}

fn compressed<'data>(plain: &Content<'_>, how: Recompression, goal: u64) -> Result<Content<'data>> {
    if !matches!(how.codec, Codec::Zstd | Codec::Zlib) {
        return Err(EditError::UnsupportedCodec { codec: how.codec.name(), container: "offload-binary" });
    }
    let parts = effort::compress(how, Unit::Container, goal, |how| {
        let mut stream = Vec::new();
        let (header, padding) = offload_binary::compress(plain, how, &mut stream)?;
        let size = stream.len() as u64;
        Ok(([header, stream, padding], size))
    });
    let mut content = Content::new();
    for part in parts.map_err(EditError::Compress)? {
        content.push(part);
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_of_syclbin_stay_before_other_code() {
        let images: [(&str, &[u8]); 2] =
            [("global_metadata", b"[properties]"), ("native", b"\x03\0\0\0\0\0\0\0[p]old code")];
        let strings = images.map(|(role, _)| [("role", role), ("triple", "spir64_gen")]);
        let members = [0, 1].map(|index| OffloadBinaryImage {
            image_kind: offload_binary::image_kind::SYCLBIN,
            offload_kind: 8,
            flags: 0,
            strings: &strings[index],
            image: images[index].1,
        });
        let bytes = offload_binary::write(Version::Two, &members).unwrap().content.to_vec();
        let binary = OffloadBinary::read(View::new(&bytes)).unwrap();
        let fates = vec![Fate::Keep, Fate::Replace(Content::from(&b"new"[..]))];
        let new = plain(&binary, fates, Version::Two).unwrap().to_vec();
        let new = OffloadBinary::read(View::new(&new)).unwrap();
        let found: Vec<&[u8]> = new.entries().iter().map(|entry| entry.image.data()).collect();
        assert_eq!(found, [&b"[properties]"[..], b"\x03\0\0\0\0\0\0\0[p]new"]);
        assert_eq!(new.entries()[1].code().unwrap().data(), b"new");
    }
}
