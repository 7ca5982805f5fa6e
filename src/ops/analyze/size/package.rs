//! The bytes of a package as it is stored: device code, host code, other members, and the archive around them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Owner, Size, parts};
use fatbin_core::base::archive::ArchiveFormat;
use fatbin_core::base::bytes::{apportion, size_of_range, total};
use fatbin_core::base::error::Result;
use fatbin_core::base::io::{Access, Input};
use fatbin_core::scan::ScannedFile;
use fatbin_core::scan::inventory::File;

/// Endings of the names of native libraries, in front of a version.
const LIBRARIES: [&str; 4] = [".so", ".dll", ".pyd", ".dylib"];

/// Place and size of a member of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedFile {
    /// Path of the package on disk.
    pub package: Arc<Path>,
    /// The member is in the package, and not in an archive in it.
    pub is_direct: bool,
    is_library: bool,
    /// Bytes that the member takes in its archive, if the archive states it.
    pub packed: Option<u64>,
    /// Size of the member.
    size: u64,
    /// Bytes of its device code, including the containers.
    device_code: u64,
}

/// The bytes of a package. The stored bytes add up to the size of the file. While files are added, the members with
/// device code are counted as libraries or others, and the overhead is the size of members of archives in the package.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    /// Returns the place of a member of a package; `None` for other files.
    pub fn new(scanned: &ScannedFile) -> Option<PackedFile> {
        let (file, member, package) = (scanned.file(), scanned.member()?, scanned.outermost()?);
        Some(PackedFile {
            package: Arc::clone(package),
            is_direct: file.path.members().count() == 1,
            is_library: is_library(member),
            packed: scanned.packed_size(),
            size: file.own_size(),
            device_code: device_code(file),
        })
    }
}

fn device_code(file: &File) -> u64 {
    let parts = parts(file).into_iter().filter(|part| !matches!(part.owner, Owner::Rest(_)));
    total(parts.map(|part| part.size.stored))
}

impl PackageSizes {
    /// Size of the file.
    pub fn total(&self) -> Size {
        let mut total = Size::plain(self.overhead);
        for part in [self.device_code, self.host_code, self.libraries, self.others] {
            total.add(part);
        }
        total
    }

    fn place(&mut self, is_library: bool) -> &mut Size {
        if is_library { &mut self.libraries } else { &mut self.others }
    }

    /// Completes the sums of the members with device code by the directory of the zip file. `None` for other files.
    fn completed(self, access: Access) -> Result<Option<PackageSizes>> {
        let input = Input::open(&*self.path, access)?;
        let view = input.view();
        let Some(format) = ArchiveFormat::of(view).filter(|format| format.is_zip()) else { return Ok(None) };
        let mut all = PackageSizes::default();
        let mut stored_in_all = self.overhead;
        // The scan has reported a defect of the directory.
        let _ = format.each_member(view, &|read| input.count_read(read), &mut |member| {
            let stored = member.packed_size.unwrap_or_default();
            input.count_read(stored);
            let size = Size { stored, decompressed: member.size.unwrap_or(stored) };
            all.place(is_library(&member.name.unwrap_or_default())).add(size);
            stored_in_all = total([stored_in_all, stored]);
        });
        Ok(Some(PackageSizes {
            libraries: all.libraries.without(self.libraries),
            others: all.others.without(self.others),
            overhead: size_of_range(&(stored_in_all..view.size())),
            ..self
        }))
    }
}

/// Sums of the members with device code, by package.
#[derive(Debug, Default)]
pub struct Packages(BTreeMap<Arc<Path>, PackageSizes>);

impl Packages {
    /// Adds a member, unless its archive does not state how many bytes it takes.
    pub fn add(&mut self, file: &PackedFile) {
        let Some(packed) = file.packed else { return };
        let sizes = self
            .0
            .entry(Arc::clone(&file.package))
            .or_insert_with(|| PackageSizes { path: file.package.to_path_buf(), ..PackageSizes::default() });
        let host = size_of_range(&(file.device_code..file.size));
        let shares = apportion(packed, &[file.device_code, host]);
        let [device_stored, host_stored] = <[u64; 2]>::try_from(shares).unwrap_or_default();
        sizes.files = sizes.files.saturating_add(1);
        sizes.device_code.add(Size { stored: device_stored, decompressed: file.device_code });
        sizes.host_code.add(Size { stored: host_stored, decompressed: host });
        if file.is_direct {
            sizes.place(file.is_library).add(Size { stored: packed, decompressed: file.size });
        } else {
            sizes.overhead = total([sizes.overhead, packed]);
        }
    }

    /// Reads the directories of the packages that are zip files.
    pub fn finish(self, access: Access) -> Result<Vec<PackageSizes>> {
        self.0.into_values().filter_map(|sizes| sizes.completed(access).transpose()).collect()
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
