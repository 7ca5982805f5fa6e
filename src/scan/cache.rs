//! Decompressed containers. The scan that had to decompress them keeps them until their images are read.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Memory for decompressed containers, shared by all scans that are given the same budget.
#[derive(Debug, Clone)]
pub struct CacheBudget(Arc<AtomicU64>);

impl CacheBudget {
    /// Default budget, in bytes.
    pub(crate) const DEFAULT: u64 = 32 << 20;

    /// Creates a budget of `bytes`.
    pub(crate) fn new(bytes: u64) -> Self {
        CacheBudget(Arc::new(AtomicU64::new(bytes)))
    }

    /// Number of bytes that are left.
    #[cfg(test)]
    pub(super) fn left(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: u64) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }

    fn give_back(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Default for CacheBudget {
    fn default() -> Self {
        CacheBudget::new(CacheBudget::DEFAULT)
    }
}

/// Decompressed containers of one file, by their start offsets. A container that exceeds the budget is not kept. It is
/// decompressed again when one of its images is read.
#[derive(Debug)]
pub(super) struct DecompressedCache {
    budget: CacheBudget,
    containers: Mutex<BTreeMap<u64, Arc<Vec<u8>>>>,
}

impl DecompressedCache {
    /// Creates an empty cache.
    pub fn new(budget: CacheBudget) -> Self {
        DecompressedCache { budget, containers: Mutex::default() }
    }

    /// Keeps the decompressed bytes of the container at `start` if the budget allows it.
    pub fn put(&self, start: u64, bytes: Vec<u8>) {
        let size = bytes.capacity() as u64;
        if self.budget.take(size)
            && let Some(replaced) = self.containers().insert(start, Arc::new(bytes))
        {
            self.budget.give_back(replaced.capacity() as u64);
        }
    }

    /// Decompressed bytes of the container at `start`. The cache keeps them.
    pub fn get(&self, start: u64) -> Option<Arc<Vec<u8>>> {
        self.containers().get(&start).map(Arc::clone)
    }

    /// Removes the decompressed bytes of the container at `start` from the cache.
    pub fn take(&self, start: u64) -> Option<Arc<Vec<u8>>> {
        let bytes = self.containers().remove(&start)?;
        self.budget.give_back(bytes.capacity() as u64);
        Some(bytes)
    }

    fn containers(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Vec<u8>>>> {
        // Every change of the map is a single call, so it is valid even if another thread has panicked.
        self.containers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for DecompressedCache {
    fn drop(&mut self) {
        let size: usize = self.containers().values().map(|bytes| bytes.capacity()).sum();
        self.budget.give_back(size as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_bytes_are_returned_once_and_the_budget_is_shared() {
        let budget = CacheBudget::new(1000);
        let one = DecompressedCache::new(budget.clone());
        let other = DecompressedCache::new(budget.clone());
        one.put(7, Vec::with_capacity(600));
        other.put(7, Vec::with_capacity(600));
        assert_eq!((other.get(7), one.get(7), budget.left()), (None, Some(Arc::default()), 400));
        assert_eq!((other.take(7), one.take(7), one.take(7)), (None, Some(Arc::default()), None));
        other.put(7, Vec::with_capacity(600));
        other.put(7, Vec::with_capacity(300));
        drop(other);
        assert_eq!(budget.left(), 1000);
    }
}
