//! Libraries of others in a package. auditwheel and delvewheel copy the libraries that a wheel needs into `NAME.libs`,
//! delocate into `.dylibs`. What they run on says nothing about the package's own code.

use fatbin_core::base::file_path::FilePath;
use fatbin_core::scan::inventory::File;
use fatbin_core::target::Platform;

/// Endings of the directories of copied libraries.
const DIRECTORIES: [&str; 2] = [".libs", ".dylibs"];

/// Beginnings of the names of libraries that belong to a driver. A machine with a GPU has them, for its own driver.
const DRIVERS: [(&str, Platform); 5] = [
    ("libcuda", Platform::Nvidia),
    ("libnvidia-", Platform::Nvidia),
    ("libnvcuvid", Platform::Nvidia),
    ("libze_intel_gpu", Platform::SpirV),
    ("nvcuda", Platform::Nvidia),
];

/// A library of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VendoredLibrary {
    /// Name without directories.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    /// Platform of the driver that it belongs to.
    pub driver: Option<Platform>,
}

impl VendoredLibrary {
    /// Returns the library that a file with device code is; `None` for a package's own files.
    pub fn of(file: &File) -> Option<VendoredLibrary> {
        VendoredLibrary::at(&file.path, file.size).filter(|_| file.has_device_code())
    }

    fn at(path: &FilePath, size: u64) -> Option<VendoredLibrary> {
        let mut components = path.components_from_end();
        let name = components.next()?;
        let is_copied = components.any(|directory| DIRECTORIES.iter().any(|ending| directory.ends_with(ending)));
        is_copied.then(|| VendoredLibrary { name: name.to_owned(), size, driver: driver(name) })
    }
}

/// Removes the libraries of others from files, and returns them. Where no other file has device code, they stay: then they
/// are judged like a package's own files.
pub fn take<T>(files: &mut Vec<T>, file: impl Fn(&T) -> &File) -> Vec<VendoredLibrary> {
    let is_own = |it: &T| file(it).has_device_code() && VendoredLibrary::of(file(it)).is_none();
    if !files.iter().any(is_own) {
        return Vec::new();
    }
    let vendored = files.iter().filter_map(|it| VendoredLibrary::of(file(it))).collect();
    files.retain(|it| VendoredLibrary::of(file(it)).is_none());
    vendored
}

/// Returns the platform of a driver's library. `libcudart` is none.
fn driver(name: &str) -> Option<Platform> {
    let is_named = |(start, _): &&(&str, Platform)| {
        let rest = name.strip_prefix(start);
        rest.is_some_and(|rest| start.ends_with('-') || !rest.starts_with(|next: char| next.is_ascii_alphabetic()))
    };
    DRIVERS.iter().find(is_named).map(|(_, platform)| *platform)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_others_are_in_directories_of_tools() {
        let cases = [
            ("a.whl!a.libs/libcuda-0d1f8a2c.so.1", Some(Some(Platform::Nvidia))),
            ("a.whl!a.libs/libcudart-0d1f8a2c.so.13", Some(None)),
            ("site/a.libs/libnvidia-ptxjitcompiler-12.so.1", Some(Some(Platform::Nvidia))),
            ("a.whl!a/.dylibs/libomp.dylib", Some(None)),
            ("a.whl!a/lib/libcuda.so.1", None),
            ("a.libs", None),
        ];
        for (path, expected) in cases {
            let found = VendoredLibrary::at(&FilePath::parse(path), 1).map(|it| it.driver);
            assert_eq!(found, expected, "{path}");
        }
    }
}
