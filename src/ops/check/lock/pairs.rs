//! Pairing of the files of an old and a new build.
//!
//! Files are paired by path. But the path of a library may change between builds: from `dist-1.0/lib` to
//! `dist-1.1/lib`, with the version in the name of its wheel, or with the version in its file name. So files with equal
//! paths are paired first. Then files with equal path suffixes are paired, provided that only one path on each side has
//! that suffix. Members of one archive may share a path. They are paired in their order.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;

/// Maximum number of path components that are compared, from the end.
const MAX_DEPTH: usize = 12;

/// A file of a build. Files are paired by path.
pub trait PairedFile {
    /// Path in the build.
    fn path(&self) -> &str;
}

/// An old file and its counterpart in the new build; one of the two may be absent.
pub type Pair<'a, F> = (Option<&'a F>, Option<&'a F>);

/// Returns every file of both sides, each in one pair.
pub fn pair_files<'a, F: PairedFile>(old: Vec<&'a F>, new: Vec<&'a F>) -> Vec<Pair<'a, F>> {
    if let ([old], [new]) = (old.as_slice(), new.as_slice()) {
        return vec![(Some(*old), Some(*new))];
    }
    let mut sides = FilePairing { old, new, pairs: Vec::new() };
    sides.pair(false, |file| file.path().to_owned());
    sides.pair(false, |file| without_versions(file.path()));
    for depth in (1..=MAX_DEPTH).rev() {
        // A directory can have a library under several versions: `libcupti.so.12` and `libcupti.so.2025.1.1`.
        sides.pair(true, |file| suffix(file.path(), depth));
        sides.pair(true, |file| suffix(&without_versions(file.path()), depth));
    }
    let FilePairing { old, new, mut pairs } = sides;
    pairs.extend(old.into_iter().map(|file| (Some(file), None)));
    pairs.extend(new.into_iter().map(|file| (None, Some(file))));
    pairs
}

/// Files that are not paired yet, and the pairs.
struct FilePairing<'a, F> {
    old: Vec<&'a F>,
    new: Vec<&'a F>,
    pairs: Vec<Pair<'a, F>>,
}

impl<'a, F: PairedFile> FilePairing<'a, F> {
    /// Pairs files with equal keys. With `unique`, skips keys that several paths of one side have.
    fn pair(&mut self, unique: bool, key: impl Fn(&F) -> String) {
        if self.old.is_empty() || self.new.is_empty() {
            return;
        }
        type Indexed<'a, F> = (usize, &'a F);
        type Sides<'a, F> = (Vec<Indexed<'a, F>>, Vec<Indexed<'a, F>>);
        let mut by_key: HashMap<String, Sides<'a, F>> = HashMap::new();
        for (index, &file) in self.old.iter().enumerate() {
            by_key.entry(key(file)).or_default().0.push((index, file));
        }
        for (index, &file) in self.new.iter().enumerate() {
            by_key.entry(key(file)).or_default().1.push((index, file));
        }
        let is_one_path = |files: &[Indexed<'_, F>]| {
            files.iter().all(|(_, file)| files.first().is_some_and(|(_, first)| first.path() == file.path()))
        };
        let groups = by_key.into_values().filter(|(old, new)| !unique || (is_one_path(old) && is_one_path(new)));
        let mut found: Vec<(Indexed<'a, F>, Indexed<'a, F>)> =
            groups.flat_map(|(old, new)| old.into_iter().zip(new)).collect();
        found.sort_unstable_by_key(|&((old, _), (new, _))| (old, new));
        self.pairs.extend(found.iter().map(|&((_, old), (_, new))| (Some(old), Some(new))));
        remove(&mut self.old, found.iter().map(|((index, _), _)| *index).collect());
        remove(&mut self.new, found.iter().map(|(_, (index, _))| *index).collect());
    }
}

/// Removes the files with these indices.
fn remove<F>(files: &mut Vec<&F>, removed: HashSet<usize>) {
    let mut indices = 0..;
    files.retain(|_| indices.next().is_some_and(|index| !removed.contains(&index)));
}

/// Returns the last `depth` components of a path, in reverse order; `!` separates components like `/`.
fn suffix(path: &str, depth: usize) -> String {
    let parts: Vec<&str> = path.rsplit(['/', '!']).take(depth).collect();
    parts.join("/")
}

/// Patterns of versions in paths: in the names of wheels and of their data directories (the binary distribution format
/// of the Python Packaging User Guide: `{distribution}-{version}…`), after `.so`, and the hash that auditwheel adds to
/// the name of a library so that two libraries of one name can be loaded.
static VERSIONS: LazyLock<[(Regex, &str); 4]> = LazyLock::new(|| {
    [
        (r"([^/!-]+)-[^/!-]+(-[0-9][^/!-]*)?(-[^/!-]+-[^/!-]+-[^/!-]+\.whl)", "$1-*$3"),
        (r"([^/!-]+)-[^/!-]+\.(data|dist-info)([/!]|$)", "$1-*.$2$3"),
        (r"-[0-9a-f]{8}(\.[0-9][0-9.]*)?\.(so|dll)", "-*.$2"),
        (r"\.so\.[0-9][0-9.]*", ".so.*"),
    ]
    .map(|(pattern, by)| (Regex::new(pattern).expect("valid pattern"), by))
});

/// Returns the label of a file of the input `name` that its counterpart in another build has, too: the path below the
/// input, without versions.
pub fn common_label(path: &str, name: &str) -> String {
    let below = path.strip_prefix(name).map(|rest| rest.trim_start_matches(['/', '!']));
    let file_name = || name.rsplit('/').next().unwrap_or(name);
    without_versions(below.filter(|rest| !rest.is_empty()).unwrap_or_else(file_name))
}

pub fn without_versions(path: &str) -> String {
    let replaced = |path: String, (pattern, by): &(Regex, &str)| pattern.replace_all(&path, *by).into_owned();
    VERSIONS.iter().fold(path.to_owned(), replaced)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::lock::LockedFile;

    #[test]
    fn labels_of_two_builds_are_equal() {
        let cases = [
            ("old/a-1.0-py3-none-any.whl!lib/x.so.1", "old/a-1.0-py3-none-any.whl", "lib/x.so.*"),
            ("old/lib/x.so", "old", "lib/x.so"),
            ("old/x.so.1.2", "old/x.so.1.2", "x.so.*"),
        ];
        for (path, name, expected) in cases {
            assert_eq!(common_label(path, name), expected, "{path}");
        }
    }

    /// Pairs as `old new`, sorted, with a dash for an absent file.
    fn paired(old: &str, new: &str) -> Vec<String> {
        let files = |paths: &str| -> Vec<LockedFile> {
            let file = |path: &str| LockedFile { path: path.to_owned(), ..Default::default() };
            paths.split_whitespace().map(file).collect()
        };
        let old = files(old);
        let new = files(new);
        let name = |file: Option<&LockedFile>| file.map_or("-".to_owned(), |file| file.path.clone());
        let mut found: Vec<String> = pair_files(old.iter().collect(), new.iter().collect())
            .into_iter()
            .map(|(old, new)| format!("{} {}", name(old), name(new)))
            .collect();
        found.sort();
        found
    }

    #[test]
    fn pairs_two_single_files_regardless_of_their_names() {
        assert_eq!(paired("a", "b"), ["a b"]);
    }

    #[test]
    fn prefers_equal_paths_to_equal_names() {
        assert_eq!(paired("a/x b/x", "b/x c/x"), ["a/x c/x", "b/x b/x"]);
    }

    #[test]
    fn pairs_files_below_different_directories() {
        assert_eq!(paired("1.0/a/x 1.0/b/x", "b/x a/x"), ["1.0/a/x a/x", "1.0/b/x b/x"]);
    }

    #[test]
    fn pairs_versions_of_one_library_below_different_directories() {
        let files = "lib/m.so lib/m.so.1 lib/m.so.1.2 l.a!x l.a!x";
        let below = files.replace("l", "x-1.0-py3-none-any.whl!l");
        let pairs = paired(files, &below);
        assert_eq!(pairs.len(), 5, "{pairs:?}");
        assert!(
            pairs.iter().all(|pair| pair.split_once(' ').is_some_and(|(old, new)| new.ends_with(old))),
            "{pairs:?}"
        );
    }

    #[test]
    fn does_not_pair_by_an_ambiguous_name() {
        assert_eq!(paired("a/x b/x", "c/x d"), ["- c/x", "- d", "a/x -", "b/x -"]);
    }

    #[test]
    fn pairs_members_of_one_name_in_their_order() {
        assert_eq!(paired("l.a!x l.a!x", "l.a!x l.a!x y"), ["- y", "l.a!x l.a!x", "l.a!x l.a!x"]);
    }

    #[test]
    fn ignores_versions_in_names() {
        let cases = [
            ("d/x-1.0-cp312-cp312-linux_x86_64.whl!x/a.so", "e/x-1.1-2-cp312-cp312-linux_x86_64.whl!x/a.so"),
            ("x-1.0.data/purelib/a", "x-1.0.1rc1.data/purelib/a"),
            ("lib/libm.so.1.2", "lib/libm.so.1.3.0"),
            ("x.libs/libm-0123abcd.so.1", "x.libs/libm-ffff0000.so.1"),
        ];
        for (old, new) in cases {
            assert_eq!(paired(&format!("{old} old"), &format!("{new} new")).len(), 3, "{old} and {new}");
        }
        let both = "x-1.0-cp311-cp311-any.whl!x/a.so x-1.0-cp312-cp312-any.whl!x/a.so";
        assert_eq!(paired(both, &both.replace("1.0", "1.1")).len(), 2, "wheels for two interpreters are not paired");
    }
}
