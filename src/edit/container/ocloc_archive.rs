//! Archives of ocloc.

use super::{Fate, check_count};
use crate::base::bytes::View;
use crate::base::content::Content;
use crate::edit::Result;
use crate::format::ocloc_archive::{self, Member, MemberFate, members};

/// Writes the archive with other members.
pub fn write<'data>(view: View<'data>, fates: Vec<Fate<'data>>) -> Result<Content<'data>> {
    let (all, _) = members(view)?;
    check_count(view, all.iter().filter(|member| !Member::is_padding(member)).count(), &fates)?;
    let fate = |fate| match fate {
        Fate::Keep => MemberFate::Keep,
        Fate::Drop => MemberFate::Drop,
        Fate::Replace(bytes) => MemberFate::Replace(bytes),
    };
    Ok(ocloc_archive::write(view, fates.into_iter().map(fate).collect())?)
}
