//! Archives of ocloc.

use super::{Fate, check_count};
use crate::edit::Result;
use fatbin_core::base::bytes::View;
use fatbin_core::base::content::Content;
use fatbin_core::format::ocloc_archive::{self, Member, members};

/// Writes the archive with other members.
pub fn write<'data>(view: View<'data>, fates: Vec<Fate<'data>>) -> Result<Content<'data>> {
    let (all, _) = members(view)?;
    check_count(view, all.iter().filter(|member| !Member::is_padding(member)).count(), &fates)?;
    Ok(ocloc_archive::write(view, fates)?)
}
