//! Artifact bundles of cuda-oxide.

use super::{Fate, check_count};
use crate::edit::{EditError, Result};
use fatbin_core::base::bytes::View;
use fatbin_core::base::content::Content;
use fatbin_core::format::oxart::{OxartBundle, edited};

/// Writes the bundle with other payloads, in its own size if they fit. A bundle without payloads remains, because
/// programs walk the section by the sizes of the bundles.
pub fn write<'data>(view: View<'data>, fates: Vec<Fate<'data>>) -> Result<Content<'data>> {
    let bundle = OxartBundle::read(view)?;
    check_count(view, bundle.payloads.len(), &fates)?;
    edited(&bundle, fates)?.ok_or(EditError::TooLarge)
}
