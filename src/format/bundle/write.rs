//! Writing: header, then the code objects in order, each aligned as requested.

use super::raw::{ENTRIES_OFFSET, EntryHeader, MAGIC};
use crate::content::Content;

/// Writes a bundle of these IDs and code objects, whose bytes are borrowed; `alignment` is 1 for none (HIP uses 4096).
/// `None` where the size exceeds 64 bits.
pub fn write<'data>(entries: &[(&str, &'data [u8])], alignment: u64) -> Option<Content<'data>> {
    let ids: u64 = entries.iter().map(|(id, _)| EntryHeader::SIZE + id.len() as u64).sum();
    let mut header = Vec::from(MAGIC);
    header.extend((entries.len() as u64).to_le_bytes());
    let mut payload = Content::new();
    let mut end = ENTRIES_OFFSET + ids;
    for (id, code_object) in entries {
        let offset = end.checked_next_multiple_of(alignment)?;
        payload.push(vec![0; (offset - end) as usize]);
        payload.push(*code_object);
        let size = code_object.len() as u64;
        EntryHeader { offset, size, id_length: id.len() as u64 }.write(&mut header);
        header.extend(id.bytes());
        end = offset.checked_add(size)?;
    }
    let mut content = Content::from(header);
    content.append(payload);
    Some(content)
}
