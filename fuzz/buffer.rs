//! A buffer for what an input decompresses to.

use std::io::{self, Write};

/// Buffer that refuses bytes beyond its limit.
pub struct Bounded {
    /// The bytes so far.
    pub bytes: Vec<u8>,
    /// Number of bytes that still fit.
    pub left: usize,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
