//! Names of kernels, each stored once: a library has the same kernels for several archs, with names of a thousand bytes.

use std::collections::HashMap;
use std::sync::Arc;

/// Distinct names of kernels, by number, each with the demangled name if it differs.
#[derive(Debug, Default)]
pub struct KernelNames {
    names: Vec<(Arc<str>, Option<Box<str>>)>,
    numbers: HashMap<Arc<str>, u32>,
}

impl KernelNames {
    /// Returns the number of a name, which is added if it is new.
    pub fn add(&mut self, name: &str, demangled: Option<&str>) -> u32 {
        if let Some(number) = self.find(name) {
            return number;
        }
        let number = u32::try_from(self.names.len()).expect("names take more memory than their numbers");
        let name: Arc<str> = name.into();
        self.numbers.insert(Arc::clone(&name), number);
        self.names.push((name, demangled.map(Into::into)));
        number
    }

    /// Returns the number of a name.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// Returns the name with a number.
    pub fn get(&self, number: u32) -> (&str, Option<&str>) {
        self.names.get(number as usize).map_or(("", None), |(name, demangled)| (name, demangled.as_deref()))
    }

    /// Returns all names in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.names.iter().map(|(name, demangled)| (&**name, demangled.as_deref()))
    }
}
