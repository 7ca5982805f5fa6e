//! New bytes of a member, compressed in a temporary file.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use sha2::{Digest, Sha256};

use super::directory::DEFLATED;
use crate::base::error::Result;
use crate::base::io::{Access, Input};

/// Level whose results are as small as those of zlib's level 6, the default of `zip`, Python's `zipfile` and gzip. The level 6 of
/// zlib-rs leaves 0.6 % more of a library (26 MB with CUDA's fat binaries), in two thirds of the time.
const LEVEL: Compression = Compression::new(7);

/// New bytes of a member of a zip file.
#[derive(Debug)]
pub struct PackedMember {
    /// Index of the member among [`crate::base::archive::members`].
    pub index: usize,
    /// The bytes as they will be stored; a gigabyte of them is not in memory.
    pub stored: Input,
    /// Properties of the bytes that are stored.
    pub properties: Properties,
}

/// Properties of the uncompressed bytes.
#[derive(Debug, Clone, Copy)]
pub struct Properties {
    /// Size in bytes.
    pub size: u64,
    /// Checksum of the headers.
    pub crc32: u32,
    /// SHA-256.
    pub sha256: [u8; 32],
}

impl PackedMember {
    /// Compresses the bytes that `write` writes to a temporary file in `directory`; `name` is the member's in errors.
    pub fn create(
        index: usize,
        method: u16,
        name: &Path,
        directory: &Path,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Self> {
        let mut properties = None;
        let stored = Input::from_temp_file(name, directory, Access::read(), |file| {
            properties = Some(pack(method, file, write)?);
            Ok(())
        })?;
        // A package may have thousands of changed members.
        stored.release();
        Ok(PackedMember { index, stored: stored.without_descriptor(), properties: properties.expect("written above") })
    }
}

/// Writes bytes in their stored form, and returns their properties.
pub fn pack(
    method: u16,
    to: impl Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<Properties> {
    let mut to = BufWriter::with_capacity(1 << 16, to);
    let properties = if method == DEFLATED {
        let mut measured = Measured::new(DeflateEncoder::new(&mut to, LEVEL));
        write(&mut measured)?;
        let (encoder, properties) = measured.finish();
        encoder.finish()?;
        properties
    } else {
        let mut measured = Measured::new(&mut to);
        write(&mut measured)?;
        measured.finish().1
    };
    to.flush()?;
    Ok(properties)
}

/// A writer that measures what passes through it.
struct Measured<W> {
    to: W,
    crc32: Crc,
    sha256: Sha256,
    size: u64,
}

impl<W> Measured<W> {
    fn new(to: W) -> Self {
        Measured { to, crc32: Crc::new(), sha256: Sha256::new(), size: 0 }
    }

    fn finish(self) -> (W, Properties) {
        let (size, crc32) = (self.size, self.crc32.sum());
        (self.to, Properties { size, crc32, sha256: self.sha256.finalize().into() })
    }
}

impl<W: Write> Write for Measured<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write_all(bytes)?;
        self.crc32.update(bytes);
        self.sha256.update(bytes);
        self.size = self.size.saturating_add(bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
