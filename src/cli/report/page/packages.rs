//! The packages of the files on a page, so that the map has every byte of a wheel.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::inputs::on_disk;
use crate::analyze::size::{PackageSizes, PackedFile, Size};
use crate::analyze::survey::Survey;
use crate::base::archive::ArchiveFormat;
use crate::base::error::Result;
use crate::base::io::Input;
use crate::cli::access;
use crate::cli::report::text::printable;

/// A package. The bytes of the surveyed members and the rests add up to its size.
#[derive(Serialize)]
pub struct PackageData {
    path: String,
    /// Bytes outside of the surveyed members: what they are, and their number, in the package and unpacked.
    rests: Vec<(&'static str, u64, u64)>,
}

/// The place of a file in its package.
#[derive(Clone, Copy, Serialize)]
pub struct PackedPlace {
    /// Index of the package.
    package: usize,
    /// Bytes that the file takes in the package.
    packed: u64,
}

/// Returns the packages, and the place of each file in one of them.
pub fn packages(files: &[&Survey]) -> Result<(Vec<PackageData>, Vec<Option<PackedPlace>>)> {
    let mut by_package: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, survey) in files.iter().enumerate() {
        let (path, package) = (survey.file.path.as_str(), on_disk(&survey.file.path));
        if package.len() < path.len() && Path::new(package).is_file() {
            by_package.entry(package).or_default().push(index);
        }
    }
    let (mut packages, mut places) = (Vec::new(), vec![None; files.len()]);
    for (path, indexes) in by_package {
        let Some(members) = packed_files(path, indexes.iter().map(|&index| files[index]))? else { continue };
        let Some(sizes) = PackageSizes::of(&members, access::get())?.pop() else { continue };
        for (index, member) in indexes.into_iter().zip(&members) {
            places[index] = Some(PackedPlace { package: packages.len(), packed: member.packed });
        }
        packages.push(PackageData::new(&sizes));
    }
    Ok((packages, places))
}

/// Returns the members of a zip file that are surveyed. `None` for other packages, and for archives in archives, whose
/// members share bytes.
fn packed_files<'a>(path: &str, files: impl Iterator<Item = &'a Survey>) -> Result<Option<Vec<PackedFile>>> {
    let input = Input::open(Path::new(path), access::get())?;
    let view = input.view();
    let Some(format) = ArchiveFormat::of(view).filter(|format| format.is_zip()) else { return Ok(None) };
    let mut packed: BTreeMap<String, u64> = BTreeMap::new();
    // The scan has reported a defect of the directory.
    let _ = format.each_member(view, &mut |member| {
        if let (Some(name), Some(size)) = (member.name, member.packed_size) {
            input.count_read(size);
            packed.insert(name, size);
        }
    });
    let place = |survey: &'a Survey| {
        let file = &survey.file;
        let member = file.path.get(path.len() + 1..)?.to_owned();
        let packed = *packed.get(member.as_str())?;
        Some(PackedFile { package: path.into(), member, packed, size: file.size, device_code: 0 })
    };
    Ok(files.map(place).collect())
}

impl PackageData {
    fn new(sizes: &PackageSizes) -> Self {
        let rests = [
            ("libraries without device code", sizes.libraries),
            ("other members", sizes.others),
            ("headers and directory of the archive", Size::plain(sizes.overhead)),
        ];
        PackageData {
            path: printable(&sizes.path.to_string_lossy()),
            rests: rests.map(|(name, size)| (name, size.stored, size.decompressed)).into(),
        }
    }
}
