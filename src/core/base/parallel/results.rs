//! Results of several threads, by keys. What passes keys on has one form for all types of results.

use std::sync::Mutex;

use super::stream::lock;

/// Results, and the keys of those that were taken.
pub struct Results<R>(Mutex<(Vec<Option<R>>, Vec<usize>)>);

impl<R> Results<R> {
    pub fn new() -> Self {
        Results(Mutex::new((Vec::new(), Vec::new())))
    }

    /// Keeps a result, and returns its key.
    pub fn keep(&self, result: R) -> usize {
        let (results, free) = &mut *lock(&self.0);
        let key = free.pop().unwrap_or(results.len());
        if key == results.len() {
            results.push(None);
        }
        results[key] = Some(result);
        key
    }

    /// Takes the result of a key, once.
    pub fn take(&self, key: usize) -> R {
        let (results, free) = &mut *lock(&self.0);
        free.push(key);
        results[key].take().expect("a result is taken once")
    }
}
