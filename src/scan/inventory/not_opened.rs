//! Files that contain packed files but are not opened.

use std::fmt;

/// Reason why a file was not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotOpened {
    /// Compressed by xz.
    Xz,
    /// Compressed by bzip2.
    Bzip2,
    /// Compressed by lzip.
    Lzip,
    /// Compressed by lz4.
    Lz4,
    /// Compressed by compress.
    Compress,
    /// 7z archive.
    SevenZip,
    /// RAR archive.
    Rar,
    /// Cabinet of Windows.
    Cabinet,
    /// RPM package.
    Rpm,
    /// xar archive, the format of packages of macOS.
    Xar,
    /// cpio archive.
    Cpio,
    /// Compressed by lzma, the format before xz.
    Lzma,
    /// squashfs file system, the payload of AppImages.
    Squashfs,
    /// ISO 9660 file system.
    Iso,
    /// Compound file of Windows (OLE), the format of MSI packages.
    Ole,
    /// Archive nested in more archives than are opened.
    NestedTooDeep,
}

impl NotOpened {
    /// Every reason.
    pub const ALL: &[NotOpened] = &[
        NotOpened::Xz,
        NotOpened::Bzip2,
        NotOpened::Lzip,
        NotOpened::Lz4,
        NotOpened::Compress,
        NotOpened::SevenZip,
        NotOpened::Rar,
        NotOpened::Cabinet,
        NotOpened::Rpm,
        NotOpened::Xar,
        NotOpened::Cpio,
        NotOpened::Lzma,
        NotOpened::Squashfs,
        NotOpened::Iso,
        NotOpened::Ole,
        NotOpened::NestedTooDeep,
    ];

    /// Name in `fatbin scan --json`.
    pub fn name(self) -> &'static str {
        match self {
            NotOpened::Xz => "xz",
            NotOpened::Bzip2 => "bzip2",
            NotOpened::Lzip => "lzip",
            NotOpened::Lz4 => "lz4",
            NotOpened::Compress => "compress",
            NotOpened::SevenZip => "7z",
            NotOpened::Rar => "rar",
            NotOpened::Cabinet => "cab",
            NotOpened::Rpm => "rpm",
            NotOpened::Xar => "xar",
            NotOpened::Cpio => "cpio",
            NotOpened::Lzma => "lzma",
            NotOpened::Squashfs => "squashfs",
            NotOpened::Iso => "iso",
            NotOpened::Ole => "ole",
            NotOpened::NestedTooDeep => "nested-too-deep",
        }
    }
}

impl fmt::Display for NotOpened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotOpened::Xz
            | NotOpened::Bzip2
            | NotOpened::Lzip
            | NotOpened::Lz4
            | NotOpened::Lzma
            | NotOpened::Compress => write!(f, "{}-compressed", self.name()),
            NotOpened::Squashfs => f.write_str("squashfs file system"),
            NotOpened::Iso => f.write_str("ISO 9660 file system"),
            NotOpened::Ole => f.write_str("compound file (OLE, MSI)"),
            NotOpened::NestedTooDeep => f.write_str("inside of too many archives"),
            NotOpened::Cabinet => f.write_str("cabinet"),
            NotOpened::SevenZip | NotOpened::Rar | NotOpened::Rpm | NotOpened::Xar | NotOpened::Cpio => {
                write!(f, "{} archive", self.name())
            }
        }
    }
}
