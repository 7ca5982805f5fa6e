//! Bytes that this process has read, decompressed, hashed and written so far. The command line shows them as progress.

use std::sync::atomic::{AtomicU64, Ordering};

/// Kind of work on bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Bytes of inputs.
    Read,
    /// Bytes that came out of a decompressor.
    Decompressed,
    /// Bytes of device code that were hashed.
    Hashed,
    /// Bytes of outputs.
    Written,
}

impl Work {
    /// All kinds.
    pub const ALL: [Work; 4] = [Work::Read, Work::Decompressed, Work::Hashed, Work::Written];

    fn counter(self) -> &'static AtomicU64 {
        static READ: AtomicU64 = AtomicU64::new(0);
        static DECOMPRESSED: AtomicU64 = AtomicU64::new(0);
        static HASHED: AtomicU64 = AtomicU64::new(0);
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        match self {
            Work::Read => &READ,
            Work::Decompressed => &DECOMPRESSED,
            Work::Hashed => &HASHED,
            Work::Written => &WRITTEN,
        }
    }

    /// Counts finished bytes. Callers count blocks, not single bytes, because all threads share the counters.
    pub fn record(self, bytes: u64) {
        self.counter().fetch_add(bytes, Ordering::Relaxed);
    }

    /// Number of bytes since the process was started.
    pub fn bytes(self) -> u64 {
        self.counter().load(Ordering::Relaxed)
    }
}
