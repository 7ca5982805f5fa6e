//! Writing of containers.

use super::compress::WriteError;
use super::image::{EncodedEntry, FatbinImage};
use super::member::FatbinMember;
use super::raw::{ALIGNMENT, Header, VERSION};
use crate::base::content::Content;

/// Writes a container of these images in this order, uncompressed; their bytes are borrowed. `None` if a size does not
/// fit its field.
pub fn write<'data>(images: &[FatbinImage<'data>]) -> Option<Content<'data>> {
    let members: Vec<FatbinMember<'data>> = images.iter().map(|&image| image.into()).collect();
    write_members(&members).ok()
}

/// Writes a container of these members in this order. The bytes of uncompressed images are borrowed.
pub fn write_members<'data>(members: &[FatbinMember<'data>]) -> Result<Content<'data>, WriteError> {
    let mut entries = Content::new();
    for member in members {
        let EncodedEntry { header, mut payload } = member.entry()?;
        payload.align(ALIGNMENT);
        entries.push(header);
        entries.append(payload);
    }
    Ok(write_entries(entries))
}

/// Writes a container of these entries, which are already encoded.
pub fn write_entries(entries: Content<'_>) -> Content<'_> {
    let mut header = Vec::new();
    Header { version: VERSION, size: entries.size() }.write(&mut header);
    let mut content = Content::from(header);
    content.append(entries);
    content
}
