//! Names of libraries whose members have the names of processors in their paths.

use std::ops::Range;

use fatbin_core::base::file_path::FilePath;
use fatbin_core::target::device::names_processor;

/// Name of a library: the path of its members, without processors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibraryName {
    key: String,
    in_package: String,
}

/// Stands for a processor.
const ANY: &str = "*";

impl LibraryName {
    /// Returns the name of a file in a package. `package` is the beginning of the path.
    pub fn of(path: &FilePath, package: &str) -> LibraryName {
        // The package ends before a separator.
        let in_package = path.strip_prefix(package).map_or(path.as_str(), |rest| rest.get(1..).unwrap_or(path.name()));
        LibraryName { key: without_processors(path), in_package: without_processors(in_package) }
    }

    /// Returns the whole path, without processors.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns whether the path names processors.
    pub fn names_processors(&self) -> bool {
        self.key.contains(ANY)
    }

    /// Returns the whole path, without processors, and drops the rest.
    pub fn into_key(self) -> String {
        self.key
    }

    /// Returns the path in the package, without processors; of a loose file, its name.
    pub fn in_package(&self) -> &str {
        &self.in_package
    }
}

/// A word of a path that stands for processors.
struct Word {
    range: Range<usize>,
    /// The word is the name of one processor, and not of several (`gfx110X`).
    is_name: bool,
}

/// Returns the path that a member for another processor has; `None` if the path does not name exactly one processor.
pub fn member_for(path: &FilePath, processor: &str) -> Option<FilePath> {
    let all = words(path);
    if all.is_empty() || !all.iter().all(|word| word.is_name) {
        return None;
    }
    let renamed = |part: &str| replaced(part, &words(part), processor);
    let archive = FilePath::new(renamed(path.on_disk_text()));
    Some(path.members().fold(archive, |archive, name| archive.with_member(&renamed(name))))
}

fn without_processors(path: &str) -> String {
    replaced(path, &words(path), ANY)
}

fn replaced(path: &str, words: &[Word], by: &str) -> String {
    let mut text = String::new();
    let mut end = 0;
    for word in words {
        text += path.get(end..word.range.start).unwrap_or_default();
        text += by;
        end = word.range.end;
    }
    text + path.get(end..).unwrap_or_default()
}

fn words(path: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for (start, _) in path.match_indices("gfx").chain(path.match_indices("sm_")) {
        let before = path.get(..start).and_then(|before| before.chars().next_back());
        let Some(rest) = path.get(start..).filter(|_| !before.is_some_and(char::is_alphanumeric)) else { continue };
        if let Some((length, is_name)) = processor_word(rest) {
            words.push(Word { range: start..start + length, is_name });
        }
    }
    words.sort_by_cached_key(|word| word.range.start);
    words
}

/// Returns the length of the processor at the beginning of a text, with its features, and whether it names only one.
fn processor_word(text: &str) -> Option<(usize, bool)> {
    let digits = if text.starts_with("gfx") { 3 } else { "sm_".len() };
    let word = text.get(digits..)?;
    let length = digits + word.find(|it: char| !it.is_ascii_alphanumeric()).unwrap_or(word.len());
    if !text.get(digits..length)?.starts_with(|it: char| it.is_ascii_digit()) {
        return None;
    }
    let is_family = text.get(digits..length)?.ends_with(['X', 'x']);
    let generic = text.find("-generic").filter(|end| {
        text.get(length..*end).is_some_and(|it| it.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit()))
    });
    let mut end = generic.map_or(length, |start| start + "-generic".len());
    let name = text.get(..end)?;
    if !is_family && !names_processor(name) {
        return None;
    }
    while let Some(feature) = FEATURES.iter().find(|it| text.get(end..).is_some_and(|rest| rest.starts_with(**it))) {
        end += feature.len();
    }
    Some((end, !is_family))
}

/// Features behind a processor, as in target IDs and in the names of Tensile's files.
const FEATURES: [&str; 8] =
    ["-xnack+", "-xnack-", ":xnack+", ":xnack-", "-sramecc+", "-sramecc-", ":sramecc+", ":sramecc-"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_processors() {
        let cases = [
            ("a.whl!lib/x_gfx942.kpack", "a.whl", "lib/x_*.kpack"),
            ("lib_gfx90a-1.whl!lib/Kernels-gfx90a-xnack+.hsaco", "lib_gfx90a-1.whl", "lib/Kernels-*.hsaco"),
            ("d/x_gfx9-4-generic.co", "d", "x_*.co"),
            ("d/gfx94X-dcgpu/x.so", "d", "*-dcgpu/x.so"),
            ("d/flash_sm_90a.cubin", "d", "flash_*.cubin"),
            ("d/gfxlib.so", "d", "gfxlib.so"),
            ("lib/x.so", "lib/x.so", "x.so"),
            ("d/prism_90.so", "d", "prism_90.so"),
        ];
        for (path, package, expected) in cases {
            assert_eq!(LibraryName::of(&FilePath::parse(path), package).in_package(), expected, "{path}");
        }
    }

    #[test]
    fn members_for_other_processors_have_their_names() {
        assert_eq!(
            member_for(&FilePath::parse("lib_gfx942.whl!x_gfx942.co"), "gfx1101").as_deref(),
            Some("lib_gfx1101.whl!x_gfx1101.co")
        );
        assert_eq!(member_for(&FilePath::parse("torch.whl!lib/x.so"), "gfx1101"), None);
        assert_eq!(member_for(&FilePath::parse("gfx94X/x_gfx942.co"), "gfx1101"), None);
    }
}
