//! Metal libraries of one file that have the same functions: a program loads one of them, by the release of the system.
//! (torch 2.15.0 for macOS has 18,563 functions for macOS 14.0, and for macOS 26.2 the same and 892 more.)

use std::collections::HashMap;

use fatbin_core::scan::inventory::{File, MetalFunctions, NestedImage};
use fatbin_core::target::metal::System;

/// Maximum number of sets that a library is compared with, so that the time is linear in the number of libraries.
const MAX_SETS: usize = 16;

/// A library and its number among the device images of the file.
struct Library<'a> {
    number: usize,
    system: Option<System>,
    functions: &'a MetalFunctions,
}

impl Library<'_> {
    /// Returns whether a program can use another library instead: it has all functions of this one, and more than half
    /// of its functions are in this one. Libraries for different purposes may share a few functions.
    fn is_replaced_by(&self, other: &Library<'_>) -> bool {
        let is_alike = self.system == other.system && other.functions.len() / 2 < self.functions.len();
        is_alike && self.functions.are_in(other.functions)
    }
}

/// Sets of libraries that replace each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Alternatives {
    /// The numbers of the images of each set. A set has two or more.
    pub sets: Vec<Vec<usize>>,
    /// Index of the set of an image.
    places: HashMap<usize, usize>,
}

impl Alternatives {
    /// Finds the sets of a file.
    pub fn of(file: &File) -> Alternatives {
        let mut libraries: Vec<Library<'_>> = file.nested_images().filter_map(library).collect();
        libraries.sort_by_key(|library| (library.functions.len(), library.number));
        let mut sets: Vec<Vec<Library<'_>>> = Vec::new();
        for library in libraries {
            let is_of = |set: &&mut Vec<Library<'_>>| set.first().is_some_and(|first| first.is_replaced_by(&library));
            match sets.iter_mut().rev().take(MAX_SETS).find(is_of) {
                Some(set) => set.push(library),
                None => sets.push(vec![library]),
            }
        }
        let mut found = Alternatives::default();
        for set in sets.into_iter().filter(|set| set.len() > 1) {
            let numbers: Vec<usize> = set.into_iter().map(|library| library.number).collect();
            found.places.extend(numbers.iter().map(|number| (*number, found.sets.len())));
            found.sets.push(numbers);
        }
        found
    }

    /// Returns the index of the set of an image, by its number.
    pub fn set_of(&self, image: usize) -> Option<usize> {
        self.places.get(&image).copied()
    }
}

fn library(nested: NestedImage<'_>) -> Option<Library<'_>> {
    let functions = nested.image.metal.as_deref().filter(|functions| !functions.is_empty())?;
    let system = nested.image.triple.as_deref().and_then(System::of_triple).map(|(system, _)| system);
    Some(Library { number: nested.index, system, functions })
}
