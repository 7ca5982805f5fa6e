//! The test that every error type has codes.

use std::fs;

use super::{source_directory, source_files};

/// Types whose values are not errors of a command: errors of build scripts, reasons in results, causes of findings, and
/// parts of other errors.
const WITHOUT_CODES: [&str; 10] = [
    "BuildError",
    "CapabilityMismatch",
    "DwarfError",
    "Incompatibility",
    "InvalidMetadata",
    "KeepsSize",
    "KpackFailure",
    "RejectReason",
    "ScriptError",
    "TargetMismatch",
];

#[test]
fn every_error_type_has_codes() {
    let lookup = fs::read_to_string(source_directory().join("cli/codes/lookup.rs")).unwrap();
    let mut count = 0;
    // `cli` gives its errors codes where it creates them.
    for file in source_files().iter().filter(|file| file.room() != "cli") {
        for part in file.text.split("thiserror::Error)]\n").skip(1) {
            let mut words = part.lines().find(|line| line.starts_with("pub ")).unwrap_or_default().split(' ');
            let name = words.nth(2).unwrap_or_default().split('<').next().unwrap_or_default();
            let is_found = lookup.contains(&format!("        {name},\n")) || lookup.contains(&format!("::{name},\n"));
            assert!(is_found || WITHOUT_CODES.contains(&name), "{}: {name} has no codes", file.path.display());
            count += 1;
        }
    }
    assert!(count > 35, "only {count} error types found: the search for them is broken");
}
