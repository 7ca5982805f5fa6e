//! Results of several threads, by keys. What passes keys on has one form for all types of results.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) struct Results<R>(Mutex<Kept<R>>);

struct Kept<R> {
    results: Vec<Option<R>>,
    /// Keys whose results were taken.
    free: Vec<usize>,
}

impl<R> Default for Results<R> {
    fn default() -> Self {
        Results(Mutex::new(Kept { results: Vec::new(), free: Vec::new() }))
    }
}

impl<R> Results<R> {
    /// Keeps a result, and returns its key.
    pub(crate) fn keep(&self, result: R) -> usize {
        let mut kept = self.lock();
        let key = kept.free.pop().unwrap_or(kept.results.len());
        if key == kept.results.len() {
            kept.results.push(None);
        }
        kept.results[key] = Some(result);
        key
    }

    /// Takes the result of a key, once.
    pub(crate) fn take(&self, key: usize) -> R {
        let mut kept = self.lock();
        kept.free.push(key);
        kept.results[key].take().expect("a result is taken once")
    }

    fn lock(&self) -> MutexGuard<'_, Kept<R>> {
        // Nothing panics between two changes that belong together.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
