//! Descriptors of inputs. A link or a bundle has thousands of inputs, and systems limit a process to 1024 open files,
//! some to 256.
//!
//! The first inputs keep their descriptors, so that the kernel copies their bytes. The bytes of the others are copied
//! from memory, and changes of their files are noticed by their paths.

use std::fs::File;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of open inputs below which a small one keeps its descriptor.
const MAX_SMALL: usize = 16;

/// Number of open inputs below which a large one keeps its descriptor.
const MAX_LARGE: usize = 128;

/// Size of large inputs, in bytes: copying them takes longer than opening them.
const LARGE: u64 = 1 << 20;

/// Number of descriptors of inputs in the process.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// An open input file that counts towards the limits.
#[derive(Debug)]
pub(super) struct Descriptor(File);

impl Descriptor {
    /// Keeps the descriptor of an input of `size` bytes, or closes it if many are open.
    pub fn keep(file: File, size: u64) -> Option<Descriptor> {
        let limit = if size >= LARGE { MAX_LARGE } else { MAX_SMALL };
        let more = |open: usize| open.checked_add(1).filter(|&open| open <= limit);
        OPEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Descriptor(file))
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Deref for Descriptor {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}
