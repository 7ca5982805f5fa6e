//! Layout of an archive: the header and the names in the table of contents.

use crate::base::bytes::View;
use crate::base::error::{Cause, Malformed};
use crate::format::magic::check_magic;

pub use crate::format::container_type::KPACK_MAGIC as MAGIC;

/// Version of the format.
pub const VERSION: u32 = 1;

/// Offset of the first blob: the header is padded with zeros.
pub const BLOBS_OFFSET: u64 = 64;

/// Offset of the field with the offset of the table of contents.
pub const TOC_OFFSET: u64 = 8;

/// Separator of the path of a binary and the index of a code object in the keys of the table of contents.
pub const INDEX_SEPARATOR: char = '#';

/// Keys of the table of contents.
pub mod key {
    pub const FORMAT_VERSION: &str = "format_version";
    pub const GROUP_NAME: &str = "group_name";
    pub const FAMILY: &str = "gfx_arch_family";
    pub const ARCHES: &str = "gfx_arches";
    pub const TOC: &str = "toc";
    pub const SCHEME: &str = "compression_scheme";
    pub const BLOBS: &str = "blobs";
    pub const ZSTD_OFFSET: &str = "zstd_offset";
    pub const ZSTD_SIZE: &str = "zstd_size";
    /// Keys of a blob.
    pub const OFFSET: &str = "offset";
    pub const SIZE: &str = "size";
    /// Keys of a code object.
    pub const TYPE: &str = "type";
    pub const ORDINAL: &str = "ordinal";
    pub const ORIGINAL_SIZE: &str = "original_size";
    /// Keys of the marker in a host file.
    pub const SEARCH_PATHS: &str = "kpack_search_paths";
    pub const KERNEL_NAME: &str = "kernel_name";
}

/// Value of `type` for an AMD code object.
pub const HSACO: &str = "hsaco";

/// Treatment of the blobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Blobs as they are, each with an offset and a size in the table of contents.
    None,
    /// The number of blobs in 32 bits, then for each blob its size in 32 bits and one zstd frame.
    ZstdPerKernel,
}

impl Scheme {
    /// Returns the scheme with this name in the table of contents.
    pub fn named(name: &str) -> Option<Scheme> {
        [Scheme::None, Scheme::ZstdPerKernel].into_iter().find(|scheme| scheme.name() == name)
    }

    /// Returns the name in the table of contents.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::None => "none",
            Scheme::ZstdPerKernel => "zstd-per-kernel",
        }
    }
}

/// The first 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// +8: offset of the table of contents.
    pub toc_offset: u64,
}

impl Header {
    pub fn read(view: View<'_>) -> Result<Self, Malformed> {
        check_magic(view, MAGIC, "kpack magic", "KPAK")?;
        let version = view.u32("kpack version", 4)?;
        if version != VERSION {
            let cause = Cause::UnsupportedVersion { value: u64::from(version), supported: "1" };
            return Err(view.malformed("kpack version", 4, cause));
        }
        let toc_offset = view.u64("kpack table of contents", TOC_OFFSET)?;
        // The writer patches the offset when everything else is written.
        if toc_offset < BLOBS_OFFSET {
            let expected = "at least 64 (0: the writer of the archive was interrupted)";
            let cause = Cause::Unexpected { value: toc_offset, expected };
            return Err(view.malformed("kpack table of contents", TOC_OFFSET, cause));
        }
        Ok(Header { toc_offset })
    }

    /// Returns the header with its padding.
    pub fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BLOBS_OFFSET as usize);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(self.toc_offset.to_le_bytes());
        bytes.resize(BLOBS_OFFSET as usize, 0);
        bytes
    }
}
