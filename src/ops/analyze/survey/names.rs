//! Names of kernels, each stored once: a library has the same kernels for several archs, with names of a thousand bytes.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use fatbin_core::image::demangle;

/// Distinct names of kernels, by number.
#[derive(Debug, Default)]
pub struct KernelNames {
    names: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

impl KernelNames {
    /// Returns the number of a name, which is added if it is new.
    pub fn add(&mut self, name: &str) -> u32 {
        if let Some(number) = self.find(name) {
            return number;
        }
        let number = u32::try_from(self.names.len()).expect("names take more memory than their numbers");
        let name: Arc<str> = name.into();
        self.numbers.insert(Arc::clone(&name), number);
        self.names.push(name);
        number
    }

    /// Returns the number of a name.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// Returns the name with a number.
    pub fn get(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", |name| name)
    }

    /// Returns all names in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }
}

/// Maximum size of the demangled names of a report, in bytes. A short name can expand a thousandfold.
const MAX_DEMANGLED: usize = 1 << 30;

/// Demangles names for a report, when they are written: demangled names take more memory than everything else about
/// kernels.
#[derive(Debug, Clone)]
pub struct ShownNames {
    /// Number of bytes that may be returned.
    left: Cell<usize>,
}

impl Default for ShownNames {
    fn default() -> Self {
        ShownNames { left: Cell::new(MAX_DEMANGLED) }
    }
}

impl ShownNames {
    /// Returns the demangled name; `None` if the name is not mangled, or the names of the report are too large.
    pub fn demangle(&self, name: &str) -> Option<String> {
        let left = self.left.get();
        let demangled = if left > 0 { demangle(name)? } else { return None };
        let rest = left.checked_sub(demangled.len());
        // No later name is demangled: a file may have any number of them.
        self.left.set(rest.unwrap_or(0));
        rest.map(|_| demangled)
    }

    /// Returns the name for readers.
    pub fn shown(&self, name: &str) -> String {
        self.demangle(name).unwrap_or_else(|| name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_mangled_after_the_limit() {
        let names = ShownNames { left: Cell::new("f(int)".len()) };
        let shown = ["main", "_Z1fi", "_Z1gi", "_Z1fi"].map(|name| names.shown(name));
        assert_eq!(shown, ["main", "f(int)", "_Z1gi", "_Z1fi"]);
        let names = ShownNames { left: Cell::new("f(int)".len() - 1) };
        assert_eq!([names.demangle("_Z1fi"), names.demangle("_Z1f")], [None, None]);
    }
}
