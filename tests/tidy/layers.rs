//! The layers of the crate, and the test that every dependency points to a lower one.

use std::fs;

use super::references::references;
use super::{source_directory, source_files};

/// The layers, lowest first. A module may use the modules of the layers before its own, and none of its own layer except
/// itself.
const LAYERS: [&[&str]; 14] = [
    &["error"],
    &["bytes", "content", "escape", "parallel", "pattern", "spelling"],
    &["codec", "io", "rewrite", "target"],
    &["archive", "format"],
    &["host", "inspect", "inventory", "llvm"],
    &["floor"],
    &["metadata", "wrap", "scan", "select", "size", "survey"],
    &["coverage", "edit", "embed"],
    &["check", "lock"],
    &["link", "ops"],
    &["build", "doctor"],
    &["codes"],
    &["report"],
    &["cli"],
];

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|modules| modules.contains(&module))
}

#[test]
fn modules_use_only_lower_layers() {
    let mut checked = 0;
    for file in source_files() {
        if file.is_outside_of_layers() {
            continue;
        }
        let own = file.top_module();
        let path = file.path.display();
        let own_layer = layer(own).unwrap_or_else(|| panic!("{path}: {own} is not assigned to a layer"));
        for reference in references(&file.text, &file.module) {
            let used = reference.first().unwrap_or_else(|| panic!("{path}: uses the crate's root"));
            if used == own {
                continue;
            }
            let used_layer = layer(used).unwrap_or_else(|| panic!("{path}: {used} is not assigned to a layer"));
            assert!(used_layer < own_layer, "{path}: {own} uses {used}, which is not in a lower layer");
            checked += 1;
        }
    }
    assert!(checked > 50, "only {checked} references between modules found: the search for them is broken");
}

#[test]
fn every_layered_module_is_on_the_map_of_the_crate() {
    let map = fs::read_to_string(source_directory().join("lib.rs")).unwrap();
    for module in LAYERS.into_iter().flatten() {
        assert!(map.contains(&format!("mod {module};")), "{module}: no such module in lib.rs");
        // Private modules have no link.
        let names = [format!("`{module}`"), format!("`mod@{module}`")];
        let is_listed =
            map.lines().any(|line| line.starts_with("//! |") && names.iter().any(|name| line.contains(name)));
        assert!(is_listed, "{module}: missing on the map in lib.rs");
    }
}
