//! The test that an output at a path that is put together is named by an `OutputName`, which forms no path.

use super::source_files;

/// The module that opens outputs.
const OUTPUTS: &str = "core/base/io/files";

/// Ways to put a path together.
const PATHS: [&str; 5] = [".join(", ".push(", "format!(", "with_file_name(", "with_extension("];

/// `FileSet::output` is for the path that the user specified, and follows links.
#[test]
fn outputs_below_a_directory_have_names_of_their_own_type() {
    let mut checked = 0;
    for file in source_files() {
        let code = file.text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for path in paths(code).filter(|_| !file.is_below(OUTPUTS)) {
            assert!(!is_put_together(code, path), "{}: use `output_in`: output({path}", file.path.display());
            checked += 1;
        }
    }
    assert!(checked > 15, "only {checked} outputs found: the search for them is broken");
}

/// Returns the path in each call of `FileSet::output`, and of the function that replaces a link.
fn paths(code: &str) -> impl Iterator<Item = &str> {
    let rest = [".output(", ".output_in_place_of_link("].into_iter().flat_map(|call| code.split(call).skip(1));
    let paths =
        rest.filter_map(|rest| rest.split_once("OutputKind").map(|(path, _)| path.trim().trim_end_matches(',')));
    paths.filter(|path| !path.contains([';', '{']))
}

/// Returns whether a path, or the variable that it is, is made of others.
fn is_put_together(code: &str, path: &str) -> bool {
    let definition = format!("let {} =", path.trim_start_matches('&'));
    let values = code.split(&definition).skip(1).map(|rest| rest.split(';').next().unwrap_or_default());
    values.chain([path]).any(|value| PATHS.iter().any(|method| value.contains(method)))
}

#[test]
fn paths_that_are_put_together_are_found() {
    let code = "let x = if a {b} else {c.join(d)};\ns.output(&e.join(f), OutputKind::Text)?; s.output(\n&x,\nOutputKind::Code); \
                line.output(); s.output(g.path(), OutputKind::Code)";
    let found: Vec<(&str, bool)> = paths(code).map(|path| (path, is_put_together(code, path))).collect();
    assert_eq!(found, [("&e.join(f)", true), ("&x", true), ("g.path()", false)]);
}
