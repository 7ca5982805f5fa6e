//! Archives of bundles: members one at a time, each with its bundles.
//!
//! A member may contain one bundle in any form, several of them back to back, or none. The members of a thin archive
//! are separate files. Each is open only while it is read, because an archive may have more members than a process may
//! have open files.

use std::path::{Path, PathBuf};

use super::error::{BundleError, Result};
use crate::embed::bundle::file::{BundleFile, BundleReader};
use fatbin_core::base::archive::{ArchiveFormat, MemberContent, Members, NESTED_THIN_MEMBER};
use fatbin_core::base::bytes::View;
use fatbin_core::base::error::Error;
use fatbin_core::base::io::Input;
use fatbin_core::format::bundle::{BundleForm, FileType};

/// A member and its bytes.
pub struct BundleMember<'a> {
    /// Path for errors: `ARCHIVE!MEMBER`.
    pub path: PathBuf,
    /// Name in the archive; a path in a thin one.
    pub name: &'a str,
    /// File that contains the bytes: the archive, or the member's own file.
    pub input: &'a Input,
    pub view: View<'a>,
}

/// Returns whether a file is treated as an archive of bundles: its type is specified as one, or no type is specified
/// and it is a static library.
pub fn is_archive(input: &Input, file_type: Option<FileType>) -> bool {
    match file_type {
        Some(file_type) => file_type.form == BundleForm::Archive,
        None => is_library(input),
    }
}

/// Returns whether a file is a static library.
pub fn is_library(input: &Input) -> bool {
    ArchiveFormat::of(input.view()).is_some_and(ArchiveFormat::is_library)
}

/// Calls `visit` with every member of an archive, in its order.
pub fn each_member(input: &Input, visit: &mut dyn FnMut(&BundleMember) -> Result<()>) -> Result<()> {
    let form = ArchiveFormat::of(input.view()).filter(|form| form.is_library());
    let Some(form) = form else {
        let archive = FileType::named("a").expect("the type is in the table");
        return Err(BundleError::NotABundle { path: input.path().to_owned(), file_type: Some(archive) });
    };
    let Members { members, defect } = form.members(input.view());
    if let Some(malformed) = defect {
        return Err(malformed.in_file(input.path()).into());
    }
    for member in members {
        let name = member.name.as_deref().unwrap_or_default();
        let path = PathBuf::from(format!("{}!{name}", input.path().display()));
        match member.content {
            // Offsets in errors count from the start of the member.
            MemberContent::Here(view) => visit(&BundleMember { path, name, input, view: view.derived(view.data()) })?,
            MemberContent::Elsewhere(_) if !input.is_on_disk() => {
                return Err(Error::UnreadableMember { path, why: NESTED_THIN_MEMBER.to_owned() }.into());
            }
            MemberContent::Elsewhere(relative) => {
                let directory = input.path().parent().unwrap_or(Path::new(""));
                let own = Input::open_file(directory.join(relative), input.access())?;
                visit(&BundleMember { path, name, input: &own, view: own.view() })?;
                own.check_unchanged()?;
            }
            MemberContent::Unreadable(why) => return Err(Error::UnreadableMember { path, why }.into()),
            MemberContent::Packed(_) => unreachable!("static libraries are not compressed"),
        }
    }
    Ok(())
}

impl BundleMember<'_> {
    /// Calls `visit` with every bundle of the member, in its order; returns their number.
    pub fn each_bundle(&self, visit: &mut dyn FnMut(BundleFile<'_>) -> Result<()>) -> Result<usize> {
        let reader = BundleReader { view: self.view, input: Some(self.input), file_type: None };
        reader.each(&BundleError::at(&self.path, None), visit)
    }
}
