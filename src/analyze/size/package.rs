//! The bytes of a package as it is stored: device code, host code, other members, and the archive around them.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use super::{Owner, Size, parts};
use crate::base::archive::ArchiveFormat;
use crate::base::bytes::{apportion, size_of_range, total};
use crate::base::error::Result;
use crate::base::io::{Access, Input};
use crate::scan::ScannedFile;
use crate::scan::inventory::File;

/// Endings of the names of native libraries, in front of a version.
const LIBRARIES: [&str; 4] = [".so", ".dll", ".pyd", ".dylib"];

/// A member of a package with device code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedFile {
    /// Path of the package on disk.
    pub package: PathBuf,
    /// Name of the member.
    pub member: String,
    /// Bytes that the member takes in the package.
    pub packed: u64,
    /// Size of the member.
    pub size: u64,
    /// Bytes of its device code, including the containers.
    pub device_code: u64,
}

/// The bytes of a package. The stored bytes add up to the size of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageSizes {
    /// Path of the package.
    pub path: PathBuf,
    /// Number of members with device code.
    pub files: usize,
    /// Their device code. A member is compressed as a whole, and its parts share the stored bytes by their size.
    pub device_code: Size,
    /// All other bytes of these members.
    pub host_code: Size,
    /// Native libraries without device code.
    pub libraries: Size,
    /// All other members.
    pub others: Size,
    /// Headers and the directory of the archive.
    pub overhead: u64,
}

impl PackedFile {
    /// Returns the sizes of a member of a package; `None` for other files, and where the package does not state how
    /// many bytes the member takes.
    pub fn new(scanned: &ScannedFile) -> Option<PackedFile> {
        let file = scanned.file();
        Some(PackedFile {
            package: scanned.outermost()?.to_owned(),
            member: scanned.member()?.to_owned(),
            packed: scanned.packed_size()?,
            size: file.size,
            device_code: device_code(file),
        })
    }
}

fn device_code(file: &File) -> u64 {
    let parts = parts(file).into_iter().filter(|part| !matches!(part.owner, Owner::Rest(_)));
    total(parts.map(|part| part.size.stored))
}

impl PackageSizes {
    /// Returns whether the path of a file is in this package.
    pub fn holds(&self, path: &str) -> bool {
        path.strip_prefix(&*self.path.to_string_lossy()).is_some_and(|rest| rest.starts_with('!'))
    }

    /// Size of the file.
    pub fn total(&self) -> Size {
        let mut total = Size::plain(self.overhead);
        for part in [self.device_code, self.host_code, self.libraries, self.others] {
            total.add(part);
        }
        total
    }

    /// Reads the directories of the zip files with these members.
    pub fn of(files: &[PackedFile], access: Access) -> Result<Vec<PackageSizes>> {
        let paths: BTreeSet<&Path> = files.iter().map(|file| file.package.as_path()).collect();
        paths.into_iter().filter_map(|path| PackageSizes::read(path, files, access).transpose()).collect()
    }

    /// Reads the directory of a zip file. `None` for other files.
    fn read(path: &Path, files: &[PackedFile], access: Access) -> Result<Option<PackageSizes>> {
        let input = Input::open(path, access)?;
        let view = input.view();
        let Some(format) = ArchiveFormat::of(view).filter(|format| format.is_zip()) else { return Ok(None) };
        let own: Vec<&PackedFile> = files.iter().filter(|file| file.package == path).collect();
        let mut sizes = PackageSizes {
            path: path.to_owned(),
            files: own.len(),
            device_code: Size::default(),
            host_code: Size::default(),
            libraries: Size::default(),
            others: Size::default(),
            overhead: view.size(),
        };
        for file in &own {
            let host = size_of_range(&(file.device_code..file.size));
            let shares = apportion(file.packed, &[file.device_code, host]);
            let [device_stored, host_stored] = <[u64; 2]>::try_from(shares).unwrap_or_default();
            sizes.device_code.add(Size { stored: device_stored, decompressed: file.device_code });
            sizes.host_code.add(Size { stored: host_stored, decompressed: host });
            sizes.overhead = sizes.overhead.saturating_sub(file.packed);
        }
        let own: HashSet<&str> = own.into_iter().map(|file| file.member.as_str()).collect();
        // The scan has reported a defect of the directory.
        let _ = format.each_member(view, &mut |member| {
            let name = member.name.unwrap_or_default();
            let stored = member.packed_size.unwrap_or_default();
            input.count_read(stored);
            if own.contains(name.as_str()) {
                return;
            }
            let size = Size { stored, decompressed: member.size.unwrap_or(stored) };
            let place = if is_library(&name) { &mut sizes.libraries } else { &mut sizes.others };
            place.add(size);
            sizes.overhead = sizes.overhead.saturating_sub(stored);
        });
        Ok(Some(sizes))
    }
}

fn is_library(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    LIBRARIES.iter().any(|ending| name.ends_with(ending) || name.contains(&format!("{ending}.")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_known_by_name() {
        for name in ["a/libx.so", "libx.so.12", "x.pyd", "X.DLL", "y.dylib"] {
            assert!(is_library(name), "{name}");
        }
        for name in ["a.py", "so", "libx.soname", "x.json"] {
            assert!(!is_library(name), "{name}");
        }
    }
}
