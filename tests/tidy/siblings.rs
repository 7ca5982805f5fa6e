//! The test that the modules of one directory do not depend on each other in a circle.

use std::collections::{BTreeMap, BTreeSet};

use super::references::{imports_from_children, references};
use super::{SourceFile, source_files};

/// The modules of one directory, each with the siblings that it uses.
type Siblings = BTreeMap<String, BTreeSet<String>>;

#[test]
fn sibling_modules_form_no_cycles() {
    let mut found = Vec::new();
    for (directory, siblings) in dependencies(&source_files()) {
        found.extend(cycles(&siblings).iter().map(|cycle| format!("{directory}: {{{}}}", cycle.join(", "))));
    }
    assert!(found.is_empty(), "modules that use each other:\n{}", found.join("\n"));
}

/// Returns which siblings the modules of each directory use.
fn dependencies(files: &[SourceFile]) -> BTreeMap<String, Siblings> {
    let mut children: BTreeMap<&[String], BTreeSet<&str>> = BTreeMap::new();
    for file in files {
        for depth in 1..file.module.len() {
            children.entry(&file.module[..depth]).or_default().insert(&file.module[depth]);
        }
    }
    let mut imports: BTreeMap<&[String], BTreeMap<String, String>> = BTreeMap::new();
    for file in files {
        if let Some(names) = children.get(file.module.as_slice()) {
            let names: Vec<&str> = names.iter().copied().collect();
            imports.insert(&file.module, imports_from_children(&file.text, &names).into_iter().collect());
        }
    }
    let mut directories: BTreeMap<String, Siblings> = BTreeMap::new();
    for file in files {
        for reference in references(&file.text, &file.module) {
            // Every directory on the file's path that the reference leads through, starting with the member's.
            for depth in 1..file.module.len().min(reference.len()) {
                let directory = &file.module[..depth];
                if reference[..depth] != *directory {
                    break;
                }
                let name = &reference[depth];
                let imported = imports.get(directory).and_then(|imports| imports.get(name));
                let is_child = children[directory].contains(name.as_str());
                let Some(used) = is_child.then_some(name).or(imported) else { continue };
                if *used != file.module[depth] {
                    let siblings = directories.entry(format!("src/{}", directory.join("/"))).or_default();
                    siblings.entry(file.module[depth].clone()).or_default().insert(used.clone());
                }
            }
        }
    }
    directories
}

/// Returns the groups of modules that all use each other, directly or through others.
fn cycles(siblings: &Siblings) -> Vec<Vec<String>> {
    let reachable: BTreeMap<&String, BTreeSet<&String>> =
        siblings.keys().map(|module| (module, reachable(siblings, module))).collect();
    let mut groups = BTreeSet::new();
    for (module, used) in &reachable {
        let returns = |other: &&&String| reachable.get(**other).is_some_and(|back| back.contains(module));
        let group: Vec<String> = used.iter().filter(returns).map(|&other| other.clone()).collect();
        if group.len() > 1 {
            groups.insert(group);
        }
    }
    groups.into_iter().collect()
}

fn reachable<'a>(siblings: &'a Siblings, from: &String) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&String> = siblings.get(from).into_iter().flatten().collect();
    while let Some(module) = open.pop() {
        if found.insert(module) {
            open.extend(siblings.get(module).into_iter().flatten());
        }
    }
    found
}

#[test]
fn a_cycle_is_found_through_a_third_module() {
    let edges = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "a")];
    let mut siblings = Siblings::new();
    for (from, to) in edges {
        siblings.entry(from.to_owned()).or_default().insert(to.to_owned());
    }
    assert_eq!(cycles(&siblings), [["a", "b", "c"]]);
}

#[test]
fn a_reference_through_the_parent_leads_to_the_sibling_that_it_imports_from() {
    let file = |module: &[&str], text: &str| SourceFile {
        path: Default::default(),
        text: text.to_owned(),
        module: module.iter().map(|part| (*part).to_owned()).collect(),
    };
    let files = [
        file(&["core", "scan"], "mod walk; mod record; pub use walk::Walk;"),
        file(&["core", "scan", "walk"], "use super::record::Record;"),
        file(&["core", "scan", "record"], "use crate::scan::Walk; use super::record::X;"),
    ];
    let siblings = &dependencies(&files)["src/core/scan"];
    assert_eq!(cycles(siblings), [["record", "walk"]]);
}
