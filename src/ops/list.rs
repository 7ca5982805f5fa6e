//! `list`: the bundle entry ids of a file, in its order.

use super::bundle_file::Reader;
use crate::bytes::View;
use crate::codec::Limit;
use crate::error::Result;
use crate::format::bundle::FileType;
use crate::io::Input;

/// Calls `each` with every id, of all bundles that stand one behind the other, and says how many there were. A bundle is
/// listed from its index; what else is in it is not looked at.
pub fn list(input: &Input, file_type: Option<FileType>, limit: Limit, mut each: impl FnMut(&str)) -> Result<usize> {
    let mut reader = Reader::of_input(input, file_type, limit);
    let mut count = 0;
    loop {
        let Some(bundle) = reader.read()? else {
            // What follows a bundle has to be one.
            return if count == 0 { Ok(0) } else { Err(reader.not_a_bundle()) };
        };
        bundle.entries.iter().for_each(|entry| each(&entry.id));
        count += bundle.entries.len();
        let Some(offset) = bundle.more_at else { return Ok(count) };
        let view: View = input.view().from(offset);
        reader = Reader { view, input: None, ..reader };
    }
}
