//! The border of the program: text leaves it only through the modules that escape it.

use super::source_files;

/// Ways to write text, and the files that may use them. All others use the functions of these.
const WRITERS: [(&str, &[&str]); 8] = [
    (
        "stdout()",
        &[
            // Lines for cargo.
            "embed/build/environment.rs",
            "cli/terminal.rs",
            "dropin/diagnostics.rs",
            "io/files/destination.rs",
            // Only flushed.
            "cli/lib.rs",
            // Text of the program's own.
            "cli/completions.rs",
            "cli/man.rs",
            "cli/schema.rs",
        ],
    ),
    ("stderr()", &["cli/problems.rs", "dropin/diagnostics.rs", "cli/progress.rs"]),
    ("println!(", &[]),
    ("eprint!(", &[]),
    (" print!(", &[]),
    ("serde_json::to_string", &[]),
    ("Serializer::with_formatter", &["base/json.rs"]),
    ("serde_json::to_writer", &["cli/report/json_line.rs"]),
];

#[test]
fn text_is_written_only_by_modules_that_escape_it() {
    let mut used = 0;
    for file in source_files() {
        let path = file.path.display().to_string().replace('\\', "/");
        let code = file.text.split("#[cfg(test)]").next().unwrap_or_default();
        if path.ends_with("tests.rs") {
            continue;
        }
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        for (writer, allowed) in lines.flat_map(|line| WRITERS.iter().filter(move |(writer, _)| line.contains(writer)))
        {
            assert!(allowed.iter().any(|allowed| path.ends_with(allowed)), "{path}: uses {writer}");
            used += 1;
        }
    }
    assert!(used > 8, "only {used} writers found: the search for them is broken");
}
