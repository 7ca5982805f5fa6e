//! `list`: the bundle entry ids of a file, in its order.

use std::path::Path;

use super::error::Result;
use super::file::{BundleFile, BundleReader};
use super::members::{each_member, is_archive, is_library};
use crate::codec::Limit;
use crate::format::bundle::FileType;
use crate::io::Input;

/// Calls `each` with every id and the path of what it stands in, of all bundles that stand one behind the other or in the
/// members of an archive, and says how many there were. A bundle is listed from its index; what else is in it is not looked
/// at.
pub fn list(
    input: &Input,
    file_type: Option<FileType>,
    limit: Limit,
    mut each: impl FnMut(&Path, &str),
) -> Result<usize> {
    let mut count = 0;
    let mut list = |path: &Path, bundle: BundleFile<'_>| {
        bundle.entries.iter().for_each(|entry| each(path, &entry.id));
        count += bundle.entries.len();
        Ok(())
    };
    if !is_archive(input, file_type) {
        BundleReader::of_input(input, file_type, limit).each(&mut |bundle| list(input.path(), bundle))?;
    } else if is_library(input) {
        each_member(input, &mut |member| {
            member.each_bundle(limit, &mut |bundle| list(&member.path, bundle)).map(|_| ())
        })?;
    }
    Ok(count)
}
