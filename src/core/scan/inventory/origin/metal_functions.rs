//! What a Metal library states about its functions.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::base::bytes::View;
use crate::format::metal_library::MetalLibrary;
use crate::target::metal::Language;

/// The functions of a Metal library.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetalFunctions {
    /// Latest version of the language that a function is compiled from.
    pub language: Option<Language>,
    /// Hashes of the names, in order.
    names: Vec<u64>,
}

impl MetalFunctions {
    /// Reads the functions of the library that is all of `view`, up to the first error.
    pub(super) fn read(view: View<'_>) -> Option<MetalFunctions> {
        let mut found = MetalFunctions::default();
        for function in MetalLibrary::read(view).ok()?.functions().map_while(Result::ok) {
            let mut hasher = DefaultHasher::new();
            function.name.hash(&mut hasher);
            found.names.push(hasher.finish());
            found.language = found.language.max(function.language);
        }
        found.names.sort_unstable();
        found.names.dedup();
        Some(found)
    }

    /// Returns the number of functions.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns whether there are no functions.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns whether another library has all of these functions.
    pub fn are_in(&self, other: &MetalFunctions) -> bool {
        let mut others = other.names.iter();
        self.names.iter().all(|name| others.by_ref().find(|other| *other >= name) == Some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::metal_library::tests::library;

    #[test]
    fn libraries_are_compared_by_the_names_of_their_functions() {
        let read = |names: &[&str]| {
            let functions: Vec<(&str, u8, &[u8])> = names.iter().map(|name| (*name, 2, &b"BC"[..])).collect();
            MetalFunctions::read(View::new(&library(&functions))).unwrap()
        };
        let [one, two, other, none] = [&["a", "b"][..], &["b", "c", "a", "a"], &["a", "d"], &[]].map(read);
        assert_eq!([one.len(), two.len(), none.len()], [2, 3, 0]);
        assert!(one.are_in(&two) && one.are_in(&one) && none.are_in(&one));
        assert!(!two.are_in(&one) && !one.are_in(&other) && !one.are_in(&none));
        assert_eq!((one.language, none.language), (Some((3, 1)), None));
        assert_eq!(MetalFunctions::read(View::new(b"MTLB")), None);
    }
}
