//! The test that errors of the library name no options of the program, which adds them in `cli/codes/remedies.rs`.

use super::source_files;

/// Modules whose errors name options: the program's own, of the tools that it replaces, and of the linkers that `link` reads.
const WITH_OPTIONS: [&str; 3] = ["cli", "dropin", "ops/link"];

#[test]
fn errors_of_the_library_name_no_options() {
    let mut checked = 0;
    for file in source_files().iter().filter(|file| !WITH_OPTIONS.iter().any(|module| file.is_below(module))) {
        for message in messages(&file.text) {
            assert!(!names_an_option(message), "{}: an error names an option: {message}", file.path.display());
            checked += 1;
        }
    }
    assert!(checked > 250, "only {checked} messages found: the search for them is broken");
}

/// Returns the attributes of errors, and the implementations of `Display`.
fn messages(text: &str) -> impl Iterator<Item = &str> {
    let attributes =
        text.split("#[error(").skip(1).map(|rest| rest.split_once(")]").map_or(rest, |(message, _)| message));
    let displayed =
        text.split("Display for ").skip(1).map(|rest| rest.split_once("\n}\n").map_or(rest, |(body, _)| body));
    attributes.chain(displayed)
}

/// An option is a word that begins with two hyphens and a letter.
fn names_an_option(text: &str) -> bool {
    let follows_a_word = |at: usize| text[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
    text.match_indices("--")
        .any(|(at, _)| !follows_a_word(at) && text[at + 2..].starts_with(|c: char| c.is_ascii_lowercase()))
}

#[test]
fn options_are_found_in_messages() {
    let text = "#[error(\n    \"x; use --force\"\n)]\nenum E {}\nimpl fmt::Display for E {\n    \"--abi {abi}\"\n}\n";
    assert!(messages(text).count() == 2 && messages(text).all(names_an_option));
    assert!(!names_an_option("hip-amdgcn-amd-amdhsa--gfx906 -- x"));
}

#[test]
fn commands_name_anyhow_only_in_messages() {
    for file in source_files().iter().filter(|file| file.member() == "cli" && file.module != ["cli", "failure"]) {
        let names = file.text.match_indices("anyhow::").map(|(at, _)| &file.text[at..]);
        for name in names {
            assert!(name.starts_with("anyhow::anyhow"), "{}: use `cli::failure`", file.path.display());
        }
    }
}
