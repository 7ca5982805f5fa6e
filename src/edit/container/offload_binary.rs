//! Offload binaries of every version, uncompressed or compressed.

use super::effort::{self, Unit};
use super::{Fate, check_count};
use crate::base::bytes::View;
use crate::base::codec::Codec;
use crate::base::content::Content;
use crate::edit::decision::{Effort, Encoding, Recompression};
use crate::edit::{EditError, Result};
use crate::format::offload_binary::{self, OffloadBinary, OffloadBinaryEntry, OffloadBinaryImage, Version};
use crate::scan::inventory::Container;

/// Writes offload binaries with the images that are left: one, or in version 1 one for each image. `view` is the bytes of the
/// container, decompressed. Nothing is written if no image is left.
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
    check_count(binary.view, binary.entries().iter().filter(|entry| !is_metadata(entry)).count(), &fates)?;
    if version == binary.version && fates.iter().all(|fate| *fate == Fate::Keep) {
        return Ok(Content::from(binary.view.data()));
    }
    let mut fates = fates.into_iter();
    let (mut members, mut images) = (Vec::new(), Vec::new());
    for entry in binary.entries() {
        if is_metadata(entry) && version == Version::One {
            return Err(EditError::MetadataEntry);
        }
        let fate = if is_metadata(entry) { Some(Fate::Keep) } else { fates.next() };
        match fate {
            None | Some(Fate::Keep) => images.push(Content::from(entry.image.data())),
            Some(Fate::Drop) => continue,
            Some(Fate::Replace(bytes)) => images.push(bytes),
        }
        members.push(OffloadBinaryImage {
            image_kind: entry.image_kind,
            offload_kind: entry.offload_kind,
            flags: entry.flags,
            strings: &entry.strings,
            image: &[],
        });
    }
    if members.is_empty() {
        return Ok(Content::new());
    }
    offload_binary::check(version, &members)?;
    let output = offload_binary::write_contents(version, &members, images).ok_or(EditError::TooLarge)?;
    Ok(output.content)
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
