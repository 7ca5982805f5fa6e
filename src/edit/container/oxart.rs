//! Artifact bundles of cuda-oxide.

use super::{Fate, check_count};
use crate::base::bytes::View;
use crate::base::content::Content;
use crate::edit::{EditError, Result};
use crate::format::oxart::{OxartBundle, OxartFate, edited};

/// Writes the bundle with other payloads, in its own size if they fit. A bundle without payloads remains, because
/// programs walk the section by the sizes of the bundles.
pub fn write<'data>(view: View<'data>, fates: Vec<Fate<'data>>) -> Result<Content<'data>> {
    let bundle = OxartBundle::read(view)?;
    check_count(view, bundle.payloads.len(), &fates)?;
    let fate = |fate| match fate {
        Fate::Keep => OxartFate::Keep,
        Fate::Drop => OxartFate::Drop,
        Fate::Replace(bytes) => OxartFate::Replace(bytes),
    };
    edited(&bundle, fates.into_iter().map(fate).collect())?.ok_or(EditError::TooLarge)
}
