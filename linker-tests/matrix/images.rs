//! The images that the matrix wraps: small, one of each type that a kind accepts.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::harness::directives::fixture;

/// A small fat binary of NVIDIA's format: its header, and an entry of an unknown kind with its header and eight bytes.
const FAT_BINARY: &[u8] = b"\x50\xed\x55\xba\x01\0\x10\0\x48\0\0\0\0\0\0\0\
    \x7f\0\x01\x01\x40\0\0\0\x08\0\0\0\0\0\0\0\
    \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
    \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
    \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0payload!";

/// Paths of the images.
pub struct Images {
    fat_binary: PathBuf,
    elf: PathBuf,
    /// Has an odd length: the next image must be aligned, and the padding is not part of this one.
    text: PathBuf,
}

impl Images {
    pub fn write(directory: &Path) -> Result<Images> {
        let fat_binary = directory.join("fat-binary");
        std::fs::write(&fat_binary, FAT_BINARY).with_context(|| fat_binary.display().to_string())?;
        Ok(Images { fat_binary, elf: fixture("answer-gfx90a.hsaco")?, text: fixture("answer-sm_80.ptx")? })
    }

    /// Returns the images of an object of this kind, in order.
    pub fn of(&self, kind: &str) -> Vec<&Path> {
        match kind {
            "cuda" => vec![&self.fat_binary],
            "hip" => vec![&self.elf],
            _ => vec![&self.text, &self.elf],
        }
    }
}
