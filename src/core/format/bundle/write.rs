//! Writing: header, then the code objects in order, each aligned as requested.

use super::file_type::COMMENTS;
use super::raw::{ENTRIES_OFFSET, EntryHeader, MAGIC};
use super::read::Bundle;
use super::text;
use crate::base::bytes::View;
use crate::base::content::Content;
use crate::base::error::{Cause, Malformed};

/// Checks that readers accept these IDs in every form of bundle, and return the same.
pub fn check_ids(ids: &[&str]) -> Result<(), Malformed> {
    let entries: Vec<(&str, &[u8])> = ids.iter().map(|id| (*id, &[][..])).collect();
    let binary = write(&entries, 1).map(|content| content.to_vec()).unwrap_or_default();
    Bundle::read(View::new(&binary))?;
    let lines = text::write(&entries, COMMENTS[0]).to_vec();
    let view = View::new(&lines);
    let read = text::read(view, &text::marks(&lines), &COMMENTS)?.unwrap_or_default();
    // In the name of a section, NUL ends the ID.
    if read.iter().map(|entry| entry.text).ne(ids.iter().copied()) || ids.iter().any(|id| id.contains('\0')) {
        let cause = Cause::Described("an ID contains a line break or NUL, or is too long".to_owned());
        return Err(view.malformed("bundle entry id", 0, cause));
    }
    Ok(())
}

/// Writes a bundle of these IDs and code objects, whose bytes are borrowed; `alignment` is 1 for none (HIP uses 4096).
/// `None` if the size exceeds 64 bits, or the padding the memory of the host.
pub fn write<'data>(entries: &[(&str, &'data [u8])], alignment: u64) -> Option<Content<'data>> {
    write_contents(entries.iter().map(|&(id, code_object)| (id, Content::from(code_object))).collect(), alignment)
}

/// Like [`write()`], with code objects that may consist of several runs.
pub fn write_contents<'data>(entries: Vec<(&str, Content<'data>)>, alignment: u64) -> Option<Content<'data>> {
    let mut header = Vec::from(MAGIC);
    header.extend((entries.len() as u64).to_le_bytes());
    let mut payload = Content::new();
    let mut end = entries
        .iter()
        .try_fold(ENTRIES_OFFSET, |end, (id, _)| end.checked_add(EntryHeader::SIZE)?.checked_add(id.len() as u64))?;
    for (id, code_object) in entries {
        let offset = end.checked_next_multiple_of(alignment)?;
        payload.push(vec![0; usize::try_from(offset.checked_sub(end)?).ok()?]);
        let size = code_object.size();
        payload.append(code_object);
        EntryHeader { offset, size, id_length: id.len() as u64 }.write(&mut header);
        header.extend(id.bytes());
        end = offset.checked_add(size)?;
    }
    let mut content = Content::from(header);
    content.append(payload);
    Some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_a_reader_would_not_return_are_errors() {
        let good = ["host-x86_64-unknown-linux-gnu-", "hip-amdgcn-amd-amdhsa--gfx90a:xnack+"];
        assert_eq!(check_ids(&good), Ok(()));
        for bad in [
            "",
            "hip",
            "hip-amdgcn-amd-amdhsa--gfx\n90a",
            "hip-amdgcn-amd-amdhsa--gfx\0",
            &("hip-".to_owned() + &"x".repeat(5000)),
        ] {
            assert!(check_ids(&[good[0], bad]).is_err(), "{bad:?}");
        }
        assert!(check_ids(&[]).is_err());
    }
}
