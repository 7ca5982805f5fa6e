//! Causes of differences between images with the same code.

use std::collections::BTreeSet;

use super::change::{Change, unmatched};
use super::{Hash, LockedImage};
use fatbin_core::image::{ImageParts, Part};

/// Parts of an image that differ between builds of one source. Locks do not record them.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockedParts {
    /// Hashes of the parts.
    pub parts: ImageParts,
    /// Hash of the contents of debug information, without directories.
    pub debug: Hash,
}

/// Cause of a difference between builds with the same code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DifferenceCause {
    /// Build IDs.
    BuildIds,
    /// Identifiers of translation units in names.
    ModuleIds,
    /// Names of temporary files.
    TemporaryNames,
    /// Paths on the machines where they were built.
    Paths,
    /// Time stamps of source files in line tables.
    TimeStamps,
    /// Versions and options of tools.
    Tools,
    /// Contents of debug information, or its amount.
    DebugInformation,
    /// Names of symbols.
    Symbols,
    /// Order and padding of the sections of images.
    Layout,
    /// Order of images in the file.
    Order,
    /// Compression.
    Compression,
    /// Containers around the images.
    Containers,
}

impl DifferenceCause {
    /// All causes, in order.
    pub const ALL: [DifferenceCause; 12] = [
        DifferenceCause::BuildIds,
        DifferenceCause::ModuleIds,
        DifferenceCause::TemporaryNames,
        DifferenceCause::Paths,
        DifferenceCause::TimeStamps,
        DifferenceCause::Tools,
        DifferenceCause::DebugInformation,
        DifferenceCause::Symbols,
        DifferenceCause::Layout,
        DifferenceCause::Order,
        DifferenceCause::Compression,
        DifferenceCause::Containers,
    ];

    /// Returns the name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            DifferenceCause::BuildIds => "build-ids",
            DifferenceCause::ModuleIds => "module-ids",
            DifferenceCause::TemporaryNames => "temporary-names",
            DifferenceCause::Paths => "paths",
            DifferenceCause::TimeStamps => "time-stamps",
            DifferenceCause::Tools => "tools",
            DifferenceCause::DebugInformation => "debug-information",
            DifferenceCause::Symbols => "symbols",
            DifferenceCause::Layout => "layout",
            DifferenceCause::Order => "order",
            DifferenceCause::Compression => "compression",
            DifferenceCause::Containers => "containers",
        }
    }

    /// Returns the name in text.
    pub fn text(self) -> &'static str {
        match self {
            DifferenceCause::BuildIds => "build IDs",
            DifferenceCause::ModuleIds => "module IDs",
            DifferenceCause::TemporaryNames => "names of temporary files",
            DifferenceCause::Paths => "paths",
            DifferenceCause::TimeStamps => "time stamps of sources",
            DifferenceCause::Tools => "versions or options of tools",
            DifferenceCause::DebugInformation => "debug information",
            DifferenceCause::Symbols => "symbols",
            DifferenceCause::Layout => "layout of sections",
            DifferenceCause::Order => "order of images",
            DifferenceCause::Compression => "compression",
            DifferenceCause::Containers => "containers",
        }
    }
}

/// Returns the causes of a change of the images for one target. There are none if the code changed, or if one side is a
/// lock that has hashes of whole images only.
pub fn causes(change: Change, old: &[&LockedImage], new: &[&LockedImage]) -> BTreeSet<DifferenceCause> {
    match change {
        Change::Added | Change::Removed | Change::Code => BTreeSet::new(),
        Change::Metadata => causes_in_images(old, new),
        Change::Storage => causes_of_storage(old, new),
    }
}

fn causes_of_storage(old: &[&LockedImage], new: &[&LockedImage]) -> BTreeSet<DifferenceCause> {
    let mut causes = BTreeSet::new();
    if unmatched(old, new, |image| Some(&image.container_path)).is_some_and(|count| count > 0) {
        causes.insert(DifferenceCause::Containers);
    }
    let is_compressed = |image: &&LockedImage| image.codec.as_deref().is_some_and(|codec| codec != "none");
    if old.iter().chain(new).any(is_compressed) {
        causes.insert(DifferenceCause::Compression);
    }
    if causes.is_empty() {
        causes.insert(DifferenceCause::Containers);
    }
    causes
}

fn causes_in_images(old: &[&LockedImage], new: &[&LockedImage]) -> BTreeSet<DifferenceCause> {
    let mut causes = BTreeSet::new();
    if old.iter().chain(new).any(|image| image.parts.is_none()) {
        return causes;
    }
    let differs = |part| {
        let hash = |image: &LockedImage| image.parts.as_ref().map(|parts| parts.parts.get(part));
        unmatched(old, new, hash).is_some_and(|count| count > 0)
    };
    let is_level_equal = unmatched(old, new, |image| image.debug.as_ref()) == Some(0);
    let is_content_equal = unmatched(old, new, |image| Some(image.parts.as_ref()?.debug)) == Some(0);
    // With another amount of debug information come other paths and symbols.
    for (cause, part) in [
        (DifferenceCause::BuildIds, Part::BuildId),
        (DifferenceCause::ModuleIds, Part::ModuleId),
        (DifferenceCause::TemporaryNames, Part::TemporaryName),
        (DifferenceCause::Paths, Part::Path),
        (DifferenceCause::TimeStamps, Part::TimeStamp),
        (DifferenceCause::Tools, Part::Tool),
        (DifferenceCause::Symbols, Part::Symbols),
    ] {
        if differs(part) && (is_level_equal || !matches!(part, Part::Path | Part::TimeStamp | Part::Symbols)) {
            causes.insert(cause);
        }
    }
    // Generated names, paths and time stamps are parts of debug information.
    let explaining = [
        DifferenceCause::ModuleIds,
        DifferenceCause::TemporaryNames,
        DifferenceCause::Paths,
        DifferenceCause::TimeStamps,
    ];
    let is_explained = is_content_equal && explaining.iter().any(|cause| causes.contains(cause));
    if differs(Part::DebugBytes) && !is_explained {
        causes.insert(DifferenceCause::DebugInformation);
    }
    if causes.is_empty() {
        causes.insert(DifferenceCause::Layout);
    }
    if unmatched(old, new, |image| Some(&image.codec)).is_some_and(|count| count > 0) {
        causes.insert(DifferenceCause::Compression);
    }
    causes
}
