//! A file of a build, with what a repair must keep.

use crate::check::lock::PairedFile;
use crate::edit::hash;
use crate::edit::repaired::host_layout::HostLayout;
use fatbin_core::base::bytes::{Extent, View};
use fatbin_core::base::error::{Error, Malformed, Result};
use fatbin_core::format::ImageKind;
use fatbin_core::scan::inventory::{File, Image, NestedImage, Registration};
use fatbin_core::scan::{Outcome, ScannedFile, Source};
use fatbin_core::target::OffloadKind;

/// A file of a build, with or without device code.
#[derive(Debug, Clone)]
pub struct BuiltFile {
    /// Path in the build.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// Outermost containers, in file order.
    pub(super) containers: Vec<BuiltContainer>,
    /// Reasons why a loader or a runtime rejects it, and errors in its containers.
    pub(super) damage: Vec<Malformed>,
    pub(super) layout: Option<HostLayout>,
    /// Reason why it cannot be compared.
    pub(super) undecided: Option<String>,
}

/// An outermost container.
#[derive(Debug, Clone)]
pub struct BuiltContainer {
    /// Offset in the file.
    pub offset: u64,
    /// Section that holds it.
    pub section: Option<String>,
    pub(super) is_registered: bool,
    /// Its device images, at any depth.
    pub(super) images: Vec<BuiltImage>,
}

/// A device image. Images are equal if a runtime selects and loads the same bytes for the same target.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BuiltImage {
    pub(super) hash: [u8; 32],
    pub(super) target: ImageTarget,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImageTarget {
    kind: Option<OffloadKind>,
    image_kind: ImageKind,
    triple: Option<String>,
    arch: Option<String>,
}

impl BuiltFile {
    /// Records the outcome of a scan with hashes.
    pub fn of(outcome: Outcome) -> BuiltFile {
        match outcome {
            Outcome::Scanned(scanned) => {
                BuiltFile::of_scanned(&scanned).unwrap_or_else(|error| BuiltFile::unread(scanned.file(), &error))
            }
            Outcome::Unreadable { path, error } => BuiltFile::unread(&File::unreadable(path, &error), &error),
            Outcome::Empty(file) => BuiltFile::empty(&file),
        }
    }

    fn empty(file: &File) -> BuiltFile {
        BuiltFile {
            path: file.path.to_string(),
            size: file.size,
            containers: Vec::new(),
            damage: file.errors.iter().cloned().chain(file.load_defects()).collect(),
            layout: None,
            undecided: file.not_opened.map(|reason| format!("not opened: {reason}")),
        }
    }

    fn unread(file: &File, error: &Error) -> BuiltFile {
        let text = error.to_string();
        let why = text.strip_prefix(&format!("{}: ", file.path)).unwrap_or(&text).to_owned();
        BuiltFile { undecided: Some(why), ..BuiltFile::empty(file) }
    }

    fn of_scanned(scanned: &ScannedFile) -> Result<BuiltFile> {
        let file = scanned.file();
        let scan = scanned.open()?;
        let view = scan.source().view();
        let mut built = BuiltFile { layout: HostLayout::read(view), ..BuiltFile::empty(file) };
        for nested in file.nested_images() {
            let Some(outermost) = nested.containers.first() else { continue };
            let offset = outermost.offset.unwrap_or_default();
            let Some(image) = BuiltImage::of(&nested, view) else {
                let why = format!("image {} cannot be read", nested.index);
                built.undecided.get_or_insert(why);
                continue;
            };
            match built.containers.last_mut() {
                Some(container) if container.offset == offset => container.images.push(image),
                _ => built.containers.push(BuiltContainer {
                    offset,
                    section: outermost.section_name().map(str::to_owned),
                    is_registered: outermost.registration == Registration::Registered,
                    images: vec![image],
                }),
            }
        }
        scan.source().input().check_unchanged()?;
        Ok(built)
    }

    /// Returns whether it has device images.
    pub fn has_images(&self) -> bool {
        !self.containers.is_empty()
    }

    /// Returns its device images, in file order.
    pub(super) fn images(&self) -> impl Iterator<Item = &BuiltImage> {
        self.containers.iter().flat_map(|container| &container.images)
    }

    /// Number of device images.
    pub fn image_count(&self) -> usize {
        self.images().count()
    }
}

impl PairedFile for BuiltFile {
    fn path(&self) -> &str {
        &self.path
    }
}

impl BuiltImage {
    /// Hashes the stored bytes if the image cannot be decompressed: those of LTO-IR are scrambled.
    fn of(nested: &NestedImage<'_>, view: View<'_>) -> Option<BuiltImage> {
        let Image { kind, image_kind, triple, arch, .. } = nested.image;
        let stored = || {
            let extent = Extent { offset: nested.image.offset?, size: nested.image.size? };
            Some(hash(view.part("image", extent).ok()?.data()))
        };
        let hash = nested.image.sha256.or_else(stored)?;
        let target = ImageTarget { kind: *kind, image_kind: *image_kind, triple: triple.clone(), arch: arch.clone() };
        Some(BuiltImage { hash, target })
    }
}

impl ImageTarget {
    /// Returns the architecture, or the triple, and the form of code.
    pub(super) fn name(&self) -> String {
        let Self { image_kind, triple, arch, .. } = self.clone();
        Image::of_target(image_kind, triple, arch).arch_and_form()
    }
}
