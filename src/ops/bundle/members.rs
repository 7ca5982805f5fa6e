//! An archive of bundles: its members one at a time, each with the bundles that it holds.
//!
//! A member is a file like any other, so it may be a bundle in any form, several of them one behind the other, or none.
//! Those of a thin archive stand in files of their own, which are open only while they are looked at: there may be more of
//! them than a process may have open.

use std::path::{Path, PathBuf};

use super::error::Result;
use super::file::{BundleFile, BundleReader};
use crate::archive::{self, MemberContent};
use crate::bytes::View;
use crate::codec::Limit;
use crate::error::Error;
use crate::format::bundle::{BundleForm, FileType};
use crate::io::Input;

/// A member and where its bytes are.
pub struct Member<'a> {
    /// What errors call it: `ARCHIVE!MEMBER`.
    pub path: PathBuf,
    /// As the archive has it; in a thin one a path.
    pub name: &'a str,
    /// The archive, or the member's own file.
    pub input: &'a Input,
    pub view: View<'a>,
}

/// Whether a file is to be taken for an archive of bundles: because that was said, or because it is a static library and
/// nothing was said.
pub fn is_archive(input: &Input, file_type: Option<FileType>) -> bool {
    match file_type {
        Some(file_type) => file_type.form == BundleForm::Archive,
        None => is_library(input),
    }
}

/// Whether a file begins as a static library does.
pub fn is_library(input: &Input) -> bool {
    archive::ArchiveFormat::of(input.view()).is_some_and(|form| form.is_library())
}

/// Calls `look` with every member of an archive, in its order.
pub fn each_member(input: &Input, look: &mut dyn FnMut(&Member) -> Result<()>) -> Result<()> {
    let form = archive::ArchiveFormat::of(input.view()).filter(|form| form.is_library());
    let Some(form) = form else {
        let archive = FileType::named("a").expect("it is in the table");
        return Err(BundleReader::of_input(input, Some(archive), Limit::default()).not_a_bundle().into());
    };
    let members = (form.members)(input.view()).map_err(|malformed| malformed.in_file(input.path()))?;
    for member in members {
        let name = member.name.as_deref().unwrap_or_default();
        let path = PathBuf::from(format!("{}!{name}", input.path().display()));
        match member.content {
            // Offsets in errors count from the start of the member.
            MemberContent::Here(view) => look(&Member { path, name, input, view: View::new(view.data()) })?,
            MemberContent::Elsewhere(relative) => {
                let folder = input.path().parent().unwrap_or(Path::new(""));
                let own = Input::open_file(folder.join(relative), input.access())?;
                look(&Member { path, name, input: &own, view: own.view() })?;
            }
            MemberContent::Unreadable(why) => return Err(Error::UnreadableMember { path, why }.into()),
            MemberContent::Packed(_) => unreachable!("libraries hold files as they are"),
        }
    }
    Ok(())
}

impl Member<'_> {
    /// Calls `look` with every bundle of the member, in its order; says how many there were.
    pub fn each_bundle(&self, limit: Limit, look: &mut dyn FnMut(BundleFile<'_>) -> Result<()>) -> Result<usize> {
        let reader =
            BundleReader { path: &self.path, view: self.view, input: Some(self.input), file_type: None, limit };
        reader.each(look)
    }
}
