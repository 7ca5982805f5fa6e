//! Bundles, uncompressed or compressed.

use super::effort::{self, Unit};
use super::{Fate, alignment_of, check_count};
use crate::edit::decision::{Effort, Encoding, Recompression};
use crate::edit::{EditError, Result};
use fatbin_core::base::bytes::View;
use fatbin_core::base::content::Content;
use fatbin_core::format::bundle::{self, Bundle};
use fatbin_core::format::ccob::{self, Ccob, CompressError, Header, Version};
use fatbin_core::scan::inventory::Container;

/// Host entry of a bundle that would have no entries: readers take a bundle without entries for a string with the
/// magic. It is the empty host entry that clang adds to every bundle for HIP
/// (`clang/lib/Driver/ToolChains/HIPUtility.cpp`, LLVM 22).
const EMPTY_HOST: &str = "host-x86_64-unknown-linux-gnu-";

/// Writes a bundle with the entries that are left. `view` is its bytes, decompressed.
pub fn write<'data>(
    view: View<'data>,
    container: &Container,
    fates: Vec<Fate<'data>>,
    encoding: Encoding,
) -> Result<Content<'data>> {
    let plain = plain(view, fates)?;
    let same = Version::from_number(container.version.unwrap_or_default().into());
    let (version, how) = match (encoding, same, container.codec) {
        (Encoding::Ccob(version, how), ..) => (version, how),
        (Encoding::Same, Some(version), Some(codec)) => (version, Recompression { codec, effort: Effort::Fit }),
        _ => return Ok(plain),
    };
    let [header, stream] = effort::compress(how, Unit::Container, container.size, |how| {
        let mut stream = Vec::new();
        let output = ccob::compress(&plain, how, version, &mut stream, &mut |_| {})?;
        let size = output.size;
        Ok(([output.header, stream], size))
    })
    .map_err(EditError::CompressBundle)?;
    let mut content = Content::from(header);
    content.push(stream);
    Ok(content)
}

/// Writes a compressed bundle with the header of another version. The stream is the same, and borrowed. An image that
/// the scan has read has passed the verification of the hash.
pub fn with_version(view: View<'_>, version: Version) -> Result<Content<'_>> {
    let bundle = Ccob::read(view)?;
    let total_size: u64 = [version.header_size(), bundle.stored.size()].iter().sum();
    if total_size.max(bundle.full_size) > version.largest_size() {
        let size = total_size.max(bundle.full_size);
        return Err(EditError::CompressBundle(CompressError::TooLarge { size, version }));
    }
    let total_size = (version != Version::One).then_some(total_size);
    let codec = bundle.codec;
    let full_size = bundle.full_size;
    let hash = bundle.hash.value;
    let mut content = Content::from(Header { version, codec, total_size, full_size, hash }.to_bytes());
    content.push(bundle.stored.data());
    Ok(content)
}

/// Writes the uncompressed bundle. Code objects keep the alignment that all of them had; bytes after the last one stay.
fn plain<'data>(view: View<'data>, fates: Vec<Fate<'data>>) -> Result<Content<'data>> {
    let bundle = Bundle::read(view)?;
    check_count(view, bundle.entries.len(), &fates)?;
    if fates.iter().all(|fate| *fate == Fate::Keep) {
        return Ok(Content::from(view.data()));
    }
    let offsets = bundle.entries.iter().map(|entry| entry.code_object.range_in(view).start);
    let old_alignment = offsets.map(alignment_of).min().unwrap_or(1);
    let mut entries = Vec::new();
    for (entry, fate) in bundle.entries.iter().zip(fates) {
        match fate {
            Fate::Keep => entries.push((entry.text, Content::from(entry.code_object.data()))),
            Fate::Drop => {}
            Fate::Replace(bytes) => entries.push((entry.text, bytes)),
        }
    }
    if entries.is_empty() {
        entries.push((EMPTY_HOST, Content::new()));
    }
    // Padding before code objects without bytes would be all that follows the index.
    let alignment = if entries.iter().all(|(_, bytes)| bytes.size() == 0) { 1 } else { old_alignment };
    let mut content = bundle::write_contents(entries, alignment).ok_or(EditError::TooLarge)?;
    content.push(view.from(bundle.view.size()).data());
    Ok(content)
}
