//! `list`: lists the bundle entry IDs of a file, in its order.

use std::path::Path;

use super::error::{BundleError, Result};
use super::members::{each_member, is_archive, is_library};
use crate::embed::bundle::file::{BundleFile, BundleReader};
use fatbin_core::base::io::Input;
use fatbin_core::format::bundle::FileType;

/// Calls `each` with every ID and the path of its bundle, for all bundles that are back to back in a file or in the
/// members of an archive. Returns the number of IDs. Only the index of a bundle is read.
pub fn list(input: &Input, file_type: Option<FileType>, mut each: impl FnMut(&Path, &str)) -> Result<usize> {
    let mut count = 0;
    let mut list = |path: &Path, bundle: BundleFile<'_>| {
        for entry in &bundle.entries {
            each(path, &entry.id);
        }
        count += bundle.entries.len();
        Ok(())
    };
    if !is_archive(input, file_type) {
        BundleReader::of_input(input, file_type)
            .each(&BundleError::at(input.path(), file_type), &mut |bundle| list(input.path(), bundle))?;
    } else if is_library(input) {
        each_member(input, &mut |member| member.each_bundle(&mut |bundle| list(&member.path, bundle)).map(|_| ()))?;
    }
    input.check_unchanged()?;
    Ok(count)
}
