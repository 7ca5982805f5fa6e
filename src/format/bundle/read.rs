//! Reading: a bundle is believed only when every entry has an id that is one and a code object that is there.

use super::raw::{COUNT_OFFSET, ENTRIES_OFFSET, EntryHeader, MAGIC};
use crate::bytes::View;
use crate::error::{Cause, Malformed};
use crate::target::BundleEntryId;

/// More entries than there are processors and features to tell apart; a bound for hostile files.
const MOST_ENTRIES: u64 = 4096;

/// A checked bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle<'data> {
    /// In the order of the file.
    pub entries: Vec<Entry<'data>>,
    /// From the magic to the end of the last code object.
    pub view: View<'data>,
}

/// One code object and the id that it stands under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'data> {
    pub text: &'data str,
    pub id: BundleEntryId<'data>,
    pub code_object: View<'data>,
}

impl<'data> Bundle<'data> {
    /// Reads the bundle at the start of a view that may go on behind it.
    pub fn read(view: View<'data>) -> Result<Self, Malformed> {
        if !view.starts_with(MAGIC) {
            let value = view.u64("bundle magic", 0)?;
            let cause = Cause::Unexpected { value, expected: "__CLANG_OFFLOAD_BUNDLE__" };
            return Err(view.malformed("bundle magic", 0, cause));
        }
        let count = view.u64("bundle entry count", COUNT_OFFSET)?;
        // None is refused too: the magic followed by zeros is what a string constant looks like.
        if !(1..=MOST_ENTRIES).contains(&count) {
            let cause = Cause::Unexpected { value: count, expected: "1 to 4096" };
            return Err(view.malformed("bundle entry count", COUNT_OFFSET, cause));
        }
        let mut entries = Vec::new();
        let mut at = ENTRIES_OFFSET;
        let mut end = 0;
        for _ in 0..count {
            let header = EntryHeader::read(view, at)?;
            let id_at = at + EntryHeader::SIZE;
            let text = read_id(view, id_at, header.id_length)?;
            let id = BundleEntryId::parse(text).ok_or_else(|| {
                view.malformed("bundle entry id", id_at, Cause::BundleEntryId { id: text.to_owned() })
            })?;
            let code_object = view.part("bundle entry offset", at, header.offset, header.size)?;
            // Neither sum can wrap: both lie within the view.
            end = end.max(header.offset + header.size);
            at = id_at + header.id_length;
            entries.push(Entry { text, id, code_object });
        }
        let view = view.part("bundle", 0, 0, end.max(at))?;
        Ok(Bundle { entries, view })
    }
}

fn read_id<'data>(view: View<'data>, at: u64, length: u64) -> Result<&'data str, Malformed> {
    let id = view.part("bundle entry id length", at - 8, at, length)?;
    std::str::from_utf8(id.data()).map_err(|_| view.malformed("bundle entry id", at, Cause::Unreadable))
}
