//! The files of an input, and the edits of all of them as patches of the input.
//!
//! Members of static libraries are edited in place. Members of zip files are unpacked to temporary files, edited,
//! proven, and compressed again one after another, because their bytes are not in the input.

use std::io;

use super::Job;
use super::part::Part;
use super::split_host::split_host;
use crate::analyze::select::candidate_sets;
use crate::edit::archive::ar;
use crate::edit::archive::zip::{Packing, ZipFile};
use crate::edit::patch::Patches;
use crate::edit::signature::CheckedPatches;
use crate::edit::{EditError, EditedFile, Result, edit_file};
use fatbin_core::base::archive::{ArchiveFormat, Member, MemberContent, RowComparison, Unpack};
use fatbin_core::base::bytes::{MAX_NESTING, View};
use fatbin_core::base::error::{Error, Malformed};
use fatbin_core::base::file_path::FilePath;
use fatbin_core::base::io::{Access, Input, SharedSpool};
use fatbin_core::base::signature::Signature;
use fatbin_core::format::kernel_store;
use fatbin_core::scan::inventory::File;
use fatbin_core::scan::{
    CacheBudget, Options, Scan, Source, has_appended_archive, holds_images_twice, is_host_bitcode_with_images, unpacked,
};

/// Selections from each candidate set on a device: for the images that are kept, twice for the losses, and twice for
/// the proof.
const SELECTIONS_PER_DEVICE: usize = 5;

/// The edits of all files of an input.
pub struct Edits<'a> {
    /// Changes of the input.
    pub patches: CheckedPatches<'a>,
    /// The file of the patches' bytes, if these are not in memory.
    pub packed: Option<&'a Input>,
    /// The files that are not proven yet.
    pub leaves: Vec<Leaf<'a>>,
}

/// A file with device images.
pub struct Leaf<'a> {
    pub scan: Scan<Part<'a>>,
    pub edited: EditedFile,
}

impl Job<'_> {
    /// Edits an input with at most `levels` levels of archives, and calls `write` with the result. Returns whether it
    /// has device images.
    pub fn edit(
        &self,
        input: &Input,
        path: &FilePath,
        levels: usize,
        write: &mut dyn FnMut(Edits<'_>) -> Result<()>,
    ) -> Result<bool> {
        let whole = Part::whole(path.clone(), input);
        match (ArchiveFormat::of(whole.bytes()), levels.checked_sub(1)) {
            (Some(format), Some(inner)) if format.is_zip() => self.zip(&whole, inner, write),
            (Some(format), _) if !format.is_library() => {
                Err(EditError::UnsupportedArchive { path: path.printed().into() })
            }
            (None, _) if has_unchangeable_members(whole.bytes()) => {
                Err(EditError::UnsupportedArchive { path: path.printed().into() })
            }
            _ => {
                let mut leaves = Vec::new();
                let patches = self.part(&whole, MAX_NESTING, &mut leaves)?;
                let has_images = !leaves.is_empty();
                write(Edits { patches, packed: None, leaves })?;
                Ok(has_images)
            }
        }
    }

    /// Edits a file in an input, or the members of a static library. Returns the patches of the file.
    fn part<'a>(&self, part: &Part<'a>, levels: usize, leaves: &mut Vec<Leaf<'a>>) -> Result<CheckedPatches<'a>> {
        let format = ArchiveFormat::of(part.bytes());
        let is_library = format.is_some_and(ArchiveFormat::is_library);
        // A Debian package is a library of compressed files.
        if format.is_some() && !is_library || format.is_none() && has_unchangeable_members(part.bytes()) {
            return Err(EditError::UnsupportedArchive { path: part.path().printed().into() });
        }
        let (Some(format), Some(inner)) = (format, levels.checked_sub(1)) else { return self.leaf(part, leaves) };
        let members = format.members(part.bytes());
        if let Some(defect) = members.defect.or_else(|| format.check_whole(part.bytes()).err()) {
            return Err(defect.in_file(part.path().printed()).into());
        }
        let signature = Signature::of_ar(&members.members);
        let mut changes = Vec::new();
        for member in members.members {
            let path = path(part, &member);
            match member.content {
                MemberContent::Here(view) => {
                    let member = part.cut(path, view.start(), view.size())?;
                    changes.extend(self.part(&member, inner, leaves)?.shifted(view.start()));
                }
                MemberContent::Elsewhere(_) => {
                    return Err(EditError::ThinArchive { path: part.path().printed().into() });
                }
                MemberContent::Packed(_) | MemberContent::Unreadable(_) => {
                    return Err(EditError::UnsupportedArchive { path: path.printed().into() });
                }
            }
        }
        let changes = Patches::new(changes).ok_or(EditError::Overlap)?;
        let patches = ar::with_members(part.bytes(), changes).map_err(|error| error.in_file(part.path().printed()))?;
        self.signatures.borrow_mut().check_archive(&part.path(), signature, patches)
    }

    /// Edits a file that is not an archive. It must be intact: what cannot be read cannot be proven to be unchanged.
    fn leaf<'a>(&self, part: &Part<'a>, leaves: &mut Vec<Leaf<'a>>) -> Result<CheckedPatches<'a>> {
        let scan = Scan::with_options(part.clone(), Options::for_answers(), Some(&CacheBudget::default()))?;
        let file = scan.file();
        if let Some(error) = file.reported_errors().next() {
            return Err(error.into());
        }
        if is_host_bitcode_with_images(part.bytes()).map_err(|malformed| malformed.in_file(file.path.printed()))? {
            return Err(Error::Bitcode { path: file.path.printed().into() }.into());
        }
        if holds_images_twice(part.bytes()).map_err(|malformed| malformed.in_file(file.path.printed()))? {
            return Err(Error::FatLto { path: file.path.printed().into() }.into());
        }
        self.split_hosts.borrow_mut().extend(split_host(part, file, self.options));
        if file.device_images().next().is_none() {
            return Ok(CheckedPatches::default());
        }
        let path = file.path.printed();
        self.charge_judgement(part, file).map_err(|malformed| malformed.in_file(path))?;
        let edit = self.rule.edit(file).map_err(|error| error.in_file(path))?;
        let edited = edit_file(part.bytes(), file, &*edit, self.options.shrinks, &|| part.release(0..u64::MAX));
        let edited = edited.map_err(|error| error.in_file(path));
        drop(edit);
        let (patches, edited) = edited?;
        let patches = self.signatures.borrow_mut().check_file(&file.path, part.bytes(), patches)?;
        let edited = EditedFile { layout: patches.layout(), ..edited };
        leaves.push(Leaf { scan, edited });
        Ok(patches)
    }

    /// Charges the selections from a file on the devices of the edit: the images that it keeps, the devices that lose
    /// code, and the proof are found by them.
    fn charge_judgement(&self, part: &Part<'_>, file: &File) -> std::result::Result<(), Malformed> {
        let selections = self.rule.judged_devices(file).saturating_mul(SELECTIONS_PER_DEVICE);
        let view = part.bytes();
        let Some(budget) = view.budget() else { return Ok(()) };
        let charged = candidate_sets(file).iter().try_for_each(|set| set.charge(selections, budget));
        charged.map_err(|cause| view.malformed("images by device", 0, cause))
    }

    /// Edits the members of a zip file.
    fn zip(&self, whole: &Part<'_>, inner: usize, write: &mut dyn FnMut(Edits<'_>) -> Result<()>) -> Result<bool> {
        let archive = whole.path();
        let in_archive = |error: EditError| error.in_file(archive.printed());
        let zip = ZipFile::read(whole.bytes(), &archive).map_err(in_archive)?;
        let members = zip.members();
        if let Some(defect) = members.defect {
            return Err(defect.in_file(archive.printed()).into());
        }
        let signature = Signature::of_zip(whole.bytes(), &members.members, zip.directory_start());
        let mut has_images = false;
        let mut is_changed = false;
        let mut spool = SharedSpool::new();
        let mut packing = Packing::in_directory(self.directory.clone());
        for (index, member) in members.members.into_iter().enumerate() {
            let path = path(whole, &member);
            let unpacked = self.unpacked(whole, member, &path, &mut spool)?;
            has_images |= self.edit(&unpacked, &path, inner, &mut |edits| {
                is_changed |= !edits.patches.is_empty();
                self.pack((&zip, index), &edits, &unpacked, &path, &mut packing).map_err(in_archive)?;
                Ok(())
            })?;
        }
        if let Some(directory) = zip.directory_without_record() {
            self.without_record.borrow_mut().push((archive.to_string(), directory));
        }
        let packed = packing.finish(archive.printed())?;
        let patches = zip.with_members(&packed).map_err(in_archive)?;
        let patches = self.signatures.borrow_mut().check_archive(&archive, signature, patches)?;
        write(Edits { patches, packed: packed.stored(), leaves: Vec::new() })?;
        Ok(has_images)
    }

    /// Writes a member of a zip file to a spool. A member that contradicts the record of its wheel is an error.
    fn unpacked(
        &self,
        archive: &Part<'_>,
        member: Member<'_>,
        path: &FilePath,
        spool: &mut SharedSpool,
    ) -> Result<Input> {
        let input = archive.input();
        let mut comparison = member.comparison;
        let unpack: Unpack<'_> = match member.content {
            MemberContent::Packed(unpack) => unpack,
            MemberContent::Here(view) => Box::new(move |to| to.write_all(view.data())),
            MemberContent::Elsewhere(_) => return Err(EditError::UnsupportedArchive { path: path.printed().into() }),
            MemberContent::Unreadable(why) => {
                return Err(Error::UnreadableMember { path: path.printed().into(), why }.into());
            }
        };
        let unpacked = unpacked(path, unpack, comparison.as_mut(), (input, input.budget()), spool)?;
        match comparison.and_then(RowComparison::finish) {
            Some(contradiction) => Err(contradiction.in_file(archive.path().printed()).into()),
            None => Ok(unpacked),
        }
    }

    /// Writes the new bytes of a member, proves them and compresses them, if something changes.
    fn pack(
        &self,
        (zip, index): (&ZipFile<'_>, usize),
        edits: &Edits<'_>,
        input: &Input,
        path: &FilePath,
        packing: &mut Packing,
    ) -> Result<()> {
        if edits.patches.is_empty() {
            self.prove(edits, input, input, path)?;
            return Ok(());
        }
        let named = path.printed();
        let new = Input::from_temp_file(named, &self.directory, Access::read(), |file| {
            edits.patches.copy_to(input.view(), file)
        })?;
        self.prove(edits, input, &new, path)?;
        let copy = |to: &mut dyn io::Write| to.write_all(new.view().data());
        zip.pack(index, named, packing, copy)
    }
}

/// Returns whether a file that is not an archive has code objects in its records or archives behind its end. An archive
/// behind the end may state offsets from the start of the file.
fn has_unchangeable_members(view: View<'_>) -> bool {
    kernel_store::is_store(view) || has_appended_archive(view)
}

fn path(archive: &Part<'_>, member: &Member<'_>) -> FilePath {
    match &member.name {
        Some(name) => archive.path().with_member(name),
        None => archive.path(),
    }
}
