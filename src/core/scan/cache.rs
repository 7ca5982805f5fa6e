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
/// decompressed again when one of its images is read, without a charge: whether the files before it have left memory
/// depends on timing, and results must not.
#[derive(Debug)]
pub(super) struct DecompressedCache {
    budget: CacheBudget,
    containers: Mutex<BTreeMap<u64, Charged>>,
}

/// Containers that a reader has from the cache.
#[derive(Debug, Clone, Copy)]
pub(super) enum CacheUse<'a> {
    /// All. They are removed.
    Takes,
    /// All. They stay.
    Reads,
    /// Those that begin at these offsets. They stay.
    ReadsOnly(&'a [u64]),
}

/// A container that the scan has charged and decompressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Charged {
    /// The decompressed bytes.
    Kept(Arc<Vec<u8>>),
    /// The bytes exceeded the budget.
    NotKept,
}

impl Charged {
    /// Memory for the decompressed bytes.
    fn size(&self) -> u64 {
        match self {
            Charged::Kept(bytes) => bytes.capacity() as u64,
            Charged::NotKept => 0,
        }
    }
}

impl DecompressedCache {
    /// Creates an empty cache.
    pub fn new(budget: CacheBudget) -> Self {
        DecompressedCache { budget, containers: Mutex::default() }
    }

    /// Records the container at `start`, and keeps its decompressed bytes if the budget allows it.
    pub fn put(&self, start: u64, bytes: Vec<u8>) {
        let is_kept = self.budget.take(bytes.capacity() as u64);
        let charged = if is_kept { Charged::Kept(Arc::new(bytes)) } else { Charged::NotKept };
        if let Some(replaced) = self.containers().insert(start, charged) {
            self.budget.give_back(replaced.size());
        }
    }

    /// The container at `start`, for a reader.
    pub fn get_for(&self, reader: CacheUse<'_>, start: u64) -> Option<Charged> {
        match reader {
            CacheUse::Takes => self.take(start),
            CacheUse::ReadsOnly(starts) if !starts.contains(&start) => None,
            CacheUse::Reads | CacheUse::ReadsOnly(_) => self.containers().get(&start).cloned(),
        }
    }

    /// Removes the container at `start` from the cache.
    pub fn take(&self, start: u64) -> Option<Charged> {
        let charged = self.containers().remove(&start)?;
        self.budget.give_back(charged.size());
        Some(charged)
    }

    fn containers(&self) -> MutexGuard<'_, BTreeMap<u64, Charged>> {
        // Every change of the map is a single call, so it is valid even if another thread has panicked.
        self.containers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for DecompressedCache {
    fn drop(&mut self) {
        let size: u64 = self.containers().values().map(Charged::size).sum();
        self.budget.give_back(size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_are_returned_once_and_the_budget_is_shared() {
        let budget = CacheBudget::new(1000);
        let one = DecompressedCache::new(budget.clone());
        let other = DecompressedCache::new(budget.clone());
        one.put(7, Vec::with_capacity(600));
        other.put(7, Vec::with_capacity(600));
        let get = |cache: &DecompressedCache| cache.get_for(CacheUse::ReadsOnly(&[7]), 7);
        let kept = Some(Charged::Kept(Arc::default()));
        assert_eq!(one.get_for(CacheUse::ReadsOnly(&[8]), 7), None);
        assert_eq!((get(&other), get(&one), budget.left()), (Some(Charged::NotKept), kept.clone(), 400));
        assert_eq!((other.take(7), other.take(7)), (Some(Charged::NotKept), None));
        assert_eq!((one.take(7), one.take(7)), (kept, None));
        other.put(7, Vec::with_capacity(600));
        other.put(7, Vec::with_capacity(300));
        drop(other);
        assert_eq!(budget.left(), 1000);
    }
}
