//! The subset of YAML that Intel's graphics compiler and LLVM's AMDGPU backend write: block mappings, block sequences of mappings, and
//! single-line scalars.

use crate::base::bytes::offset_of_rest;

/// A key with a value in the same line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event<'text> {
    /// Keys of the mappings around it, from the outermost.
    pub path: Vec<&'text str>,
    /// True for the first key of an item of a sequence.
    pub begins_item: bool,
    pub key: &'text str,
    /// The value without quotes; empty if the value is a block.
    pub value: &'text str,
}

/// Maximum number of mappings inside one another; deeper ones are left out.
const MAX_DEPTH: usize = 16;

/// Keys of a text, in order. Lines outside the subset are skipped.
pub fn events(text: &str) -> impl Iterator<Item = Event<'_>> {
    // Open mappings with the indentation of their keys.
    let mut open: Vec<(usize, &str)> = Vec::new();
    text.lines().filter_map(move |line| {
        let content = line.trim_start_matches(' ');
        let (item, content) = match content.strip_prefix("- ") {
            Some(rest) => (true, rest.trim_start_matches(' ')),
            None => (false, content),
        };
        let indentation = offset_of_rest(line, content);
        let (key, value) = content.split_once(':')?;
        if key.is_empty() || key.starts_with('#') || !(value.is_empty() || value.starts_with(' ')) {
            return None;
        }
        while open.last().is_some_and(|(outer, _)| *outer >= indentation) {
            open.pop();
        }
        let path = open.iter().map(|(_, key)| *key).collect();
        let value = value.trim();
        if value.is_empty() && open.len() < MAX_DEPTH {
            open.push((indentation, key));
        }
        Some(Event { path, begins_item: item, key, value: unquoted(value) })
    })
}

/// Parses a list such as `[ 16, 2, 1 ]`.
pub fn three_numbers(list: &str) -> Option<[u64; 3]> {
    let mut numbers = list.trim().strip_prefix('[')?.strip_suffix(']')?.split(',').map(|it| it.trim().parse().ok());
    let mut next = || numbers.next().flatten();
    Some([next()?, next()?, next()?])
}

fn unquoted(value: &str) -> &str {
    let quoted = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
    quoted('\'').or_else(|| quoted('"')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_path_of_their_mappings() {
        let text = "---\na: 1\nb:\n  - c: 'x:y'\n    d:\n      e: [ 1, 2 ]\n    f: \"g\"\n  - c: z\n# a: comment\nh:\n  i: j\n...\n";
        let found: Vec<String> = events(text)
            .map(|it| format!("{}{}/{}={}", if it.begins_item { "-" } else { "" }, it.path.join("/"), it.key, it.value))
            .collect();
        assert_eq!(found, ["/a=1", "/b=", "-b/c=x:y", "b/d=", "b/d/e=[ 1, 2 ]", "b/f=g", "-b/c=z", "/h=", "h/i=j"]);
    }
}
