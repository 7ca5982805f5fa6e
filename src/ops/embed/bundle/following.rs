//! Data after the first bundle of a file, ignored when one file is unbundled.

use crate::embed::bundle::file::BundleReader;
use fatbin_core::base::io::Input;
use fatbin_core::format::bundle::FileType;

/// Data after the first bundle of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowingData {
    /// Offset of the first byte that is not padding.
    pub offset: u64,
    /// Number of bundles from there on, up to the first data that is not a bundle.
    pub bundles: usize,
}

/// Finds the data after the first bundle of a file. Returns `None` where only padding follows, or the file does not
/// begin with a bundle. Only indexes are read.
pub fn following_data(input: &Input, file_type: Option<FileType>) -> Option<FollowingData> {
    let reader = BundleReader::of_input(input, file_type);
    let view = reader.read().ok()??.next?;
    let rest = BundleReader { view, ..reader };
    let mut bundles = 0;
    let count = &mut |_| {
        bundles += 1;
        Ok(())
    };
    // An error is about data that is not a bundle, and nothing is extracted from it.
    let _ = rest.each(&|error| error, count);
    Some(FollowingData { offset: view.start(), bundles })
}
