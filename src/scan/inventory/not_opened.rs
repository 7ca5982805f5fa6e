//! Files that contain packed files but are not opened.

use std::fmt;

/// Reason why a file was not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotOpened {
    /// Compressed by compress.
    Compress,
    /// 7z archive.
    SevenZip,
    /// RAR archive.
    Rar,
    /// Cabinet of Windows.
    Cabinet,
    /// xar archive, the format of packages of macOS.
    Xar,
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
        NotOpened::Compress,
        NotOpened::SevenZip,
        NotOpened::Rar,
        NotOpened::Cabinet,
        NotOpened::Xar,
        NotOpened::Squashfs,
        NotOpened::Iso,
        NotOpened::Ole,
        NotOpened::NestedTooDeep,
    ];

    /// Name in `fatbin scan --json`.
    pub fn name(self) -> &'static str {
        match self {
            NotOpened::Compress => "compress",
            NotOpened::SevenZip => "7z",
            NotOpened::Rar => "rar",
            NotOpened::Cabinet => "cab",
            NotOpened::Xar => "xar",
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
            NotOpened::Compress => write!(f, "{}-compressed", self.name()),
            NotOpened::Squashfs => f.write_str("squashfs file system"),
            NotOpened::Iso => f.write_str("ISO 9660 file system"),
            NotOpened::Ole => f.write_str("compound file (OLE, MSI)"),
            NotOpened::NestedTooDeep => f.write_str("inside of too many archives"),
            NotOpened::Cabinet => f.write_str("cabinet"),
            NotOpened::SevenZip | NotOpened::Rar | NotOpened::Xar => write!(f, "{} archive", self.name()),
        }
    }
}
