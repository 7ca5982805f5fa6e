//! The marker in a host file whose device code is in archives. The file's wrappers point to it.

use super::layout::{INDEX_SEPARATOR, key};
use super::message_pack::{MessagePackReader, MessagePackWriter};
use super::read::texts;
use crate::base::bytes::View;
use crate::base::error::{Cause, Malformed};

/// Field in errors.
const MARKER: &str = "kpack marker";

/// Number of bytes at a marker that the loader reads at most.
const MAX_SIZE: u64 = 64 << 10;

/// Placeholder for a target ID in a search path. The loader replaces the first.
pub const ARCH_PLACEHOLDER: &str = "@GFXARCH@";

/// A marker: where the archives are, and the name of the binary in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KpackMarker<'data> {
    /// Paths of archives, relative to the directory of the binary, with [`ARCH_PLACEHOLDER`].
    pub search_paths: Vec<&'data str>,
    /// Path of the binary in the keys of the archives.
    pub kernel_name: &'data str,
}

impl<'data> KpackMarker<'data> {
    /// Reads the marker at the start of a view that may extend beyond it.
    pub fn read(view: View<'data>) -> Result<Self, Malformed> {
        Self::read_sized(view).map(|(marker, _)| marker)
    }

    /// Reads the marker like [`Self::read`], and returns its size in bytes.
    pub fn read_sized(view: View<'data>) -> Result<(Self, u64), Malformed> {
        let view = view.prefix(MARKER, view.size().min(MAX_SIZE))?;
        let mut reader = MessagePackReader::new(view);
        let mut search_paths = None;
        let mut kernel_name = None;
        for _ in 0..reader.map(MARKER)? {
            match reader.text(MARKER)? {
                key::SEARCH_PATHS => search_paths = Some(texts(MARKER, &mut reader)?),
                key::KERNEL_NAME => kernel_name = Some(reader.text(MARKER)?),
                _ => reader.skip(MARKER)?,
            }
        }
        let missing = |name| view.malformed(MARKER, 0, Cause::Described(format!("missing key {name}")));
        let marker = KpackMarker {
            search_paths: search_paths.ok_or_else(|| missing(key::SEARCH_PATHS))?,
            kernel_name: kernel_name.ok_or_else(|| missing(key::KERNEL_NAME))?,
        };
        Ok((marker, reader.position()))
    }

    /// Returns the bytes of the marker.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut to = MessagePackWriter::default();
        to.map(2);
        to.text(key::SEARCH_PATHS);
        to.array(self.search_paths.len());
        for path in &self.search_paths {
            to.text(path);
        }
        to.text(key::KERNEL_NAME);
        to.text(self.kernel_name);
        to.0
    }
}

/// Returns the key of the code object with this index of a binary.
pub fn entry_key(kernel_name: &str, index: u32) -> String {
    format!("{kernel_name}{INDEX_SEPARATOR}{index}")
}
