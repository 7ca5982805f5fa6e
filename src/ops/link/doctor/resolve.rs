//! The objects, sections and definitions that a linker takes.

use std::collections::{HashMap, HashSet};

use super::inputs::LinkedFile;
use super::object_file::Definition;

/// Result of the resolution of symbols.
#[derive(Debug, Default)]
pub struct Resolution {
    /// True for each object that is linked.
    is_linked: Vec<bool>,
    /// Definitions by name: the object and the place.
    definitions: HashMap<String, (usize, Definition)>,
    /// Sections that are dropped because another object has the same group: object and index of the section.
    dropped: HashSet<(usize, usize)>,
}

impl Resolution {
    /// Resolves the symbols of objects. A member of an archive is linked if a linked object needs a symbol that it
    /// defines.
    pub fn new(objects: &[LinkedFile]) -> Resolution {
        let mut resolution = Resolution { is_linked: vec![false; objects.len()], ..Resolution::default() };
        let mut members: HashMap<&str, usize> = HashMap::new();
        for (number, file) in objects.iter().enumerate().filter(|(_, file)| file.is_lazy) {
            for symbol in file.object.symbols.iter().filter(|symbol| symbol.definition.is_some()) {
                members.entry(&symbol.name).or_insert(number);
            }
        }
        let mut pending: Vec<usize> = (0..objects.len()).filter(|&number| !objects[number].is_lazy).collect();
        pending.reverse();
        while let Some(number) = pending.pop() {
            if std::mem::replace(&mut resolution.is_linked[number], true) {
                continue;
            }
            resolution.define(number, &objects[number]);
            let symbols = &objects[number].object.symbols;
            let needed = symbols.iter().filter(|symbol| symbol.definition.is_none() && !symbol.is_weak);
            pending.extend(needed.filter_map(|symbol| members.get(symbol.name.as_str())));
        }
        resolution.drop_groups(objects);
        resolution
    }

    fn define(&mut self, number: usize, file: &LinkedFile) {
        for symbol in &file.object.symbols {
            let Some(definition) = symbol.definition else { continue };
            match self.definitions.get_mut(&symbol.name) {
                // A common symbol yields to a definition with a section.
                Some((object, known)) if known.section.is_none() && definition.section.is_some() => {
                    (*object, *known) = (number, definition);
                }
                Some(_) => {}
                None => {
                    self.definitions.insert(symbol.name.clone(), (number, definition));
                }
            }
        }
    }

    fn drop_groups(&mut self, objects: &[LinkedFile]) {
        let mut known = HashSet::new();
        for (number, file) in objects.iter().enumerate() {
            if !self.is_linked[number] {
                continue;
            }
            for group in &file.object.groups {
                if !known.insert(group.name.as_str()) {
                    self.dropped.extend(group.sections.iter().map(|&section| (number, section)));
                }
            }
        }
    }

    /// Numbers of the objects that are linked.
    pub fn linked(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.is_linked.len()).filter(|&number| self.is_linked[number])
    }

    /// True if an object is linked.
    pub fn is_linked(&self, number: usize) -> bool {
        self.is_linked.get(number).copied().unwrap_or_default()
    }

    /// True if a section of a linked object is left out, because another object has the same group.
    pub fn is_dropped(&self, number: usize, section: usize) -> bool {
        self.dropped.contains(&(number, section))
    }

    /// Object that defines a symbol, and the place.
    pub fn definition(&self, name: &str) -> Option<(usize, Definition)> {
        self.definitions.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::doctor::object_file::{GlobalSymbol, Group, HostObject};

    /// Object with symbols: the name, and the section of a definition. A question mark makes a symbol weak.
    fn file(path: &str, is_lazy: bool, symbols: &[(&str, Option<Definition>)]) -> LinkedFile {
        let symbol = |&(name, definition): &(&str, Option<Definition>)| {
            let name = name.to_owned();
            GlobalSymbol { is_weak: name.ends_with('?'), name: name.trim_end_matches('?').to_owned(), definition }
        };
        let symbols = symbols.iter().map(symbol).collect();
        LinkedFile::of_object(path, is_lazy, HostObject { symbols, ..HostObject::default() })
    }

    const HERE: Option<Definition> = Some(Definition { section: Some(1), value: 4 });
    const COMMON: Option<Definition> = Some(Definition { section: None, value: 8 });

    #[test]
    fn members_are_linked_for_what_objects_need() {
        let objects = [
            file("main", false, &[("a", None), ("weak?", None)]),
            file("unused", true, &[("x", HERE)]),
            file("b", true, &[("b", HERE)]),
            file("a", true, &[("a", HERE), ("b", None)]),
            file("weak", true, &[("weak", HERE)]),
            file("second-a", true, &[("a", HERE)]),
        ];
        let resolution = Resolution::new(&objects);
        let linked: Vec<&str> = resolution.linked().map(|number| objects[number].path.as_str()).collect();
        assert_eq!(linked, ["main", "b", "a"]);
        assert_eq!(resolution.definition("a").map(|(object, _)| object), Some(3));
        assert!(resolution.definition("weak").is_none() && !resolution.is_linked(4) && !resolution.is_linked(99));
    }

    #[test]
    fn a_common_symbol_yields_to_a_definition() {
        let objects = [file("one", false, &[("a", COMMON)]), file("two", false, &[("a", HERE)])];
        assert_eq!(Resolution::new(&objects).definition("a").map(|(object, _)| object), Some(1));
    }

    #[test]
    fn the_first_group_of_a_name_stays() {
        let mut objects = [file("one", false, &[]), file("two", false, &[])];
        for file in &mut objects {
            file.object.groups = vec![Group { name: "inline".to_owned(), sections: vec![3, 4] }];
        }
        let resolution = Resolution::new(&objects);
        assert!(!resolution.is_dropped(0, 3) && resolution.is_dropped(1, 3) && resolution.is_dropped(1, 4));
    }
}
