//! Properties that both forms of a module share.

use crate::base::content::Content;

/// Returns `size` bytes from an offset on.
pub fn content_runs<'plan>(content: &'plan Content<'_>, offset: u64, size: u64) -> impl Iterator<Item = &'plan [u8]> {
    let mut left = size;
    content.runs_from(offset).map(move |run| {
        let taken = left.min(run.len() as u64);
        left -= taken;
        &run[..taken as usize]
    })
}
