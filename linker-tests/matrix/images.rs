//! The images that the matrix wraps: small, and of each sort that a kind takes.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::harness::directives::fixture;

/// The smallest fat binary of NVIDIA's sort with something in it: a header of 16 bytes that counts 8 more.
const FAT_BINARY: &[u8] = b"\x50\xed\x55\xba\x01\0\x10\0\x08\0\0\0\0\0\0\0payload!";

pub struct Images {
    fat_binary: PathBuf,
    elf: PathBuf,
    /// Its length is odd: what follows has to be aligned anew, and the padding is none of it.
    text: PathBuf,
}

impl Images {
    pub fn write(directory: &Path) -> Result<Images> {
        let fat_binary = directory.join("fat-binary");
        std::fs::write(&fat_binary, FAT_BINARY).with_context(|| fat_binary.display().to_string())?;
        Ok(Images { fat_binary, elf: fixture("answer-gfx90a.hsaco")?, text: fixture("answer-sm_80.ptx")? })
    }

    /// What an object of this kind is made of, in order.
    pub fn of(&self, kind: &str) -> Vec<&Path> {
        match kind {
            "cuda" => vec![&self.fat_binary],
            "hip" => vec![&self.elf],
            _ => vec![&self.text, &self.elf],
        }
    }
}
