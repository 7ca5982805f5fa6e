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
    /// Text bundle: assembly, LLVM IR or preprocessed source for several targets, as clang writes it with
    /// `--gpu-bundle-output`.
    TextBundle,
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
        NotOpened::TextBundle,
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
            NotOpened::TextBundle => "text-bundle",
            NotOpened::NestedTooDeep => "nested-too-deep",
        }
    }

    /// Command that unpacks such a file, before its path; `None` if there is none.
    pub fn command(self) -> Option<&'static str> {
        match self {
            NotOpened::Compress => Some("uncompress -k"),
            NotOpened::SevenZip | NotOpened::Iso => Some("7z x"),
            NotOpened::Rar => Some("unrar x"),
            NotOpened::Cabinet => Some("cabextract"),
            NotOpened::Xar => Some("xar -xf"),
            NotOpened::Ole => Some("msiextract"),
            // Unbundling takes an ID from this list.
            NotOpened::TextBundle => Some("fatbin list"),
            NotOpened::NestedTooDeep => None,
        }
    }
}

impl fmt::Display for NotOpened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotOpened::Compress => "compress-compressed",
            NotOpened::SevenZip => "7z archive",
            NotOpened::Rar => "rar archive",
            NotOpened::Cabinet => "cabinet",
            NotOpened::Xar => "xar archive",
            NotOpened::Iso => "ISO 9660 file system",
            NotOpened::Ole => "compound file of MSI",
            NotOpened::TextBundle => "text bundle (fatbin unbundle extracts its files)",
            NotOpened::NestedTooDeep => "inside of too many archives",
        })
    }
}
