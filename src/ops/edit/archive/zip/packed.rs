//! New bytes of members, compressed in a temporary file.

use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use sha2::{Digest, Sha256};

use fatbin_core::base::archive::zip::entry::DEFLATED;
use fatbin_core::base::bytes::total;
use fatbin_core::base::error::Result;
use fatbin_core::base::io::{Access, Input, Spool, Spooled};

/// Level with results as small as zlib's level 6, the default of `zip`, Python's `zipfile` and gzip. Level 6 of zlib-rs
/// leaves 0.6 % more of a library (26 MB with CUDA's fat binaries), in two thirds of the time.
const LEVEL: Compression = Compression::new(7);

/// New bytes of a member of a zip file.
#[derive(Debug)]
pub struct PackedMember {
    /// Index of the member among [`fatbin_core::base::archive::members`].
    pub index: usize,
    /// The bytes to store. They may be a gigabyte, so they are not kept in memory.
    pub stored: Spooled,
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

/// Members with new bytes while they are compressed, one after another, to a temporary file.
#[derive(Debug)]
pub struct Packing {
    members: Vec<PackedMember>,
    spool: Spool,
}

/// Members with new bytes, and the file that has them.
#[derive(Debug)]
pub struct PackedMembers {
    pub(super) members: Vec<PackedMember>,
    stored: Option<Input>,
}

impl Packing {
    /// Starts with no member; the temporary file will be in `directory`.
    pub fn in_directory(directory: PathBuf) -> Self {
        Packing { members: Vec::new(), spool: Spool::in_directory(directory) }
    }

    /// Compresses the bytes that `write` writes. `name` is the member's name in errors.
    pub(super) fn add(
        &mut self,
        index: usize,
        method: u16,
        name: &Path,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<()> {
        let mut properties = None;
        let stored = self.spool.add(name, |file| {
            properties = Some(pack(method, file, write)?);
            Ok(())
        })?;
        self.members.push(PackedMember { index, stored, properties: properties.expect("written above") });
        Ok(())
    }

    /// Opens the temporary file; `archive` is the name of the zip file in errors.
    pub fn finish(self, archive: &Path) -> Result<PackedMembers> {
        let open = |whole| Input::of_whole_spool(archive, whole, Access::read());
        Ok(PackedMembers { members: self.members, stored: self.spool.finish().map(open).transpose()? })
    }
}

impl PackedMembers {
    /// The file with the bytes of the members as they will be stored; `None` without members.
    pub fn stored(&self) -> Option<&Input> {
        self.stored.as_ref()
    }

    /// Returns the bytes of a member as they will be stored.
    pub(super) fn bytes(&self, member: &PackedMember) -> &[u8] {
        let Range { start, end } = member.stored.range();
        let all = self.stored.as_ref().map_or(&[][..], |stored| stored.view().data());
        all.get(start as usize..end as usize).expect("a range of the spool")
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
        let size = self.size;
        let crc32 = self.crc32.sum();
        (self.to, Properties { size, crc32, sha256: self.sha256.finalize().into() })
    }
}

impl<W: Write> Write for Measured<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write_all(bytes)?;
        self.crc32.update(bytes);
        self.sha256.update(bytes);
        self.size = total([self.size, bytes.len() as u64]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
