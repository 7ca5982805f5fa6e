//! The names that were demangled last.

use std::sync::{Mutex, PoisonError};

use crate::base::bytes::NameMap;

/// Maximum size of all names in the cache, in bytes. The names in one container of a library take a few hundred
/// kilobytes.
const MAX_SIZE: usize = 4 << 20;

/// Minimum length of a name that is kept, in bytes. Demangling a shorter one takes no longer than looking it up.
const MIN_LENGTH: usize = 32;

/// Demangled names by names.
pub struct Cache {
    names: NameMap<Box<str>, Option<Box<str>>>,
    /// Number of bytes that may be added.
    left: usize,
}

impl Default for Cache {
    fn default() -> Self {
        Cache { names: NameMap::default(), left: MAX_SIZE }
    }
}

impl Cache {
    /// Demangled name. Calls `demangle` if the cache does not have it.
    pub fn get(
        cache: &Mutex<Option<Cache>>,
        name: &str,
        demangle: impl FnOnce(&str) -> Option<String>,
    ) -> Option<String> {
        if name.len() < MIN_LENGTH {
            return demangle(name);
        }
        let lock = || cache.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().as_ref().and_then(|cache| cache.names.get(name).cloned());
        match known {
            Some(demangled) => demangled.map(String::from),
            None => {
                let demangled = demangle(name);
                lock().get_or_insert_default().put(name, demangled.as_deref());
                demangled
            }
        }
    }

    /// Keeps a name. A full cache is emptied first.
    fn put(&mut self, name: &str, demangled: Option<&str>) {
        let size = [name.len(), demangled.map_or(0, str::len)].iter().sum();
        if self.left < size {
            *self = Cache::default();
        }
        if let Some(left) = self.left.checked_sub(size)
            && self.names.insert(name.into(), demangled.map(Into::into)).is_none()
        {
            self.left = left;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_demangled_once_and_the_cache_is_bounded() {
        let cache = Mutex::new(None);
        let mut calls = 0;
        let mut get = |name: &str, is_mangled: bool| {
            let demangled = Cache::get(&cache, name, |name| {
                calls += 1;
                if is_mangled { Some(name.to_lowercase()) } else { None }
            });
            assert_eq!(demangled, if is_mangled { Some(name.to_lowercase()) } else { None });
            calls
        };
        let long = "A".repeat(MIN_LENGTH);
        assert_eq!([get(&long, true), get(&long, true), get("A", true), get("A", true)], [1, 1, 2, 3]);
        let other = "B".repeat(MIN_LENGTH);
        assert_eq!([get(&other, false), get(&other, false)], [4, 4]);
        let large = "C".repeat(MAX_SIZE / 2);
        assert_eq!([get(&large, true), get(&large, true), get(&long, true)], [5, 5, 6]);
        let too_large = "D".repeat(MAX_SIZE);
        assert_eq!([get(&too_large, true), get(&too_large, true)], [7, 8]);
        let names = cache.into_inner().unwrap().unwrap().names;
        let size: usize =
            names.iter().map(|(name, demangled)| name.len() + demangled.as_ref().map_or(0, |it| it.len())).sum();
        assert!(size <= MAX_SIZE, "{size}");
    }
}
