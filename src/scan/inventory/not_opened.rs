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
            NotOpened::Iso => "iso",
            NotOpened::Ole => "ole",
            NotOpened::NestedTooDeep => "nested-too-deep",
        }
    }
}

impl fmt::Display for NotOpened {
    /// Writes the format, and the command that unpacks it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotOpened::Compress => "compress-compressed (uncompress)",
            NotOpened::SevenZip => "7z archive (7z x)",
            NotOpened::Rar => "rar archive (unrar x)",
            NotOpened::Cabinet => "cabinet (cabextract)",
            NotOpened::Xar => "xar archive (xar -xf)",
            NotOpened::Iso => "ISO 9660 file system (7z x)",
            NotOpened::Ole => "compound file of MSI (msiextract)",
            NotOpened::NestedTooDeep => "inside of too many archives",
        })
    }
}
