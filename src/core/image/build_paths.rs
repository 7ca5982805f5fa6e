//! Paths on the machine where an image was built. They make builds irreproducible and disclose details of that machine.
//! Compilers leave them in debug information, assertion messages and option strings.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::{Captures, Match, Regex};

use super::debug;
use super::elf::{AnyElf, with_elf};
use crate::base::bytes::{Resource, View, offset_of_rest, record_memory};
use crate::base::error::Malformed;
use crate::format::ImageKind;

/// Pattern of an absolute Unix or Windows path with two or more components, between delimiters of strings and options.
/// Machine code does not match by chance: a match needs eight printable bytes in a row between two delimiters.
/// Characters beyond ASCII are UTF-8, and the first two of a Unix path are ASCII.
///
/// A Unix path with spaces is a whole string. In a list of options a space delimits paths, and `/` or `-` follows it.
static PATH: LazyLock<Regex> = LazyLock::new(|| {
    let delimiter = r#"[\x00-\x20"'=:,;()<>\[\]]"#;
    let end_of_string = r#"[\x00"]"#;
    let ascii = r"[\w.+@~-]";
    let beyond_ascii = r"(?u:[\x{80}-\x{10ffff}])";
    let name = format!("(?:{ascii}|{beyond_ascii})");
    let words = format!(r"{name}*(?: +(?:[\w.+@~]|{beyond_ascii}){name}*)*");
    let string = format!("/{ascii}{{2}}{words}(?:/{name}{words})+");
    let unix = format!("/{ascii}{{2}}{name}*(?:/{name}+)+");
    let windows = format!(r"[A-Za-z]:[\\/](?:(?:{name}| )+[\\/])+(?:{name}| )+");
    let option = r"(?:-[A-Za-z][\w-]*)?";
    let whole = format!("(?:^|{end_of_string})(?<string>{string})/?(?:$|{end_of_string})");
    let part = format!("(?:^|{delimiter}){option}(?<part>{unix}|{windows})/?(?:$|{delimiter})");
    Regex::new(&format!("(?-u){whole}|{part}")).expect("valid pattern")
});

/// Directories of the system, toolkits and compilers. They are the same on every machine.
const SYSTEM_DIRECTORIES: [&str; 9] =
    ["/usr/", "/lib/", "/lib64/", "/bin/", "/etc/", "/dev/", "/proc/", "/sys/", "/opt/rocm"];

/// Exceptions to [`SYSTEM_DIRECTORIES`]: subdirectories that hold sources.
const BUILD_DIRECTORIES: [&str; 2] = ["/usr/src/", "/usr/local/src/"];

/// Number of bytes searched per step of work.
const BYTES_PER_STEP: u64 = 16;

/// Paths in an image, sorted and without duplicates. Includes paths in compressed debug sections.
pub fn build_paths(image_kind: ImageKind, view: View<'_>) -> Result<Vec<String>, Malformed> {
    let mut paths = BTreeSet::new();
    add(view, &mut paths)?;
    if let (ImageKind::Elf, Ok(elf)) = (image_kind, AnyElf::read(view)) {
        with_elf!(elf, elf => debug::for_each_compressed(&elf, &mut |section| add(section, &mut paths)))?;
    }
    Ok(paths.into_iter().collect())
}

fn add(view: View<'_>, paths: &mut BTreeSet<String>) -> Result<(), Malformed> {
    let bytes = view.data();
    view.charge("build paths", Resource::Work, bytes.len() as u64 / BYTES_PER_STEP)?;
    let mut searched = 0;
    while let Some(start) = find_start(bytes, searched) {
        let run = run_around(bytes, start);
        searched = run.end;
        // Includes the byte after the run, so that the end of the run is not mistaken for the end of all bytes.
        let text = bytes.get(..=run.end).unwrap_or(bytes);
        // A delimiter precedes a path, unless it is the first byte.
        let mut at = run.start.saturating_sub(1);
        while let Some(captures) = PATH.captures_at(text, at) {
            let path = path_of(&captures);
            // The delimiter at the end of one path may begin the next.
            at = path.end();
            let path = String::from_utf8_lossy(path.as_bytes()).into_owned();
            if !is_system_path(&path) && !paths.contains(&path) {
                view.charge("build paths", Resource::Memory, record_memory(size_of::<String>(), [path.len()]))?;
                paths.insert(path);
            }
        }
    }
    Ok(())
}

fn path_of<'bytes>(captures: &Captures<'bytes>) -> Match<'bytes> {
    captures.name("string").or_else(|| captures.name("part")).expect("group of every match")
}

/// Number of bytes searched at once for the start of a path.
const BLOCK: usize = 64;

/// Number of bytes that [`starts_path`] examines.
const START: usize = 3;

/// Returns the offset of the next bytes at or after `from` that may start a path. No path starts before them. The
/// pattern alone takes ten times as long for machine code.
fn find_start(bytes: &[u8], from: usize) -> Option<usize> {
    let mut rest = bytes.get(from..)?;
    loop {
        let block = rest.get(..BLOCK + START - 1).unwrap_or(rest);
        // Branch-free, so that the compiler can process many bytes per instruction.
        let starts = || block.windows(START).map(starts_path);
        if starts().fold(false, |any, is_start| any | is_start) {
            let found = rest.get(starts().position(|is_start| is_start)?..)?;
            return Some(offset_of_rest(bytes, found));
        }
        rest = rest.get(BLOCK..)?;
    }
}

/// True if a path may start with these bytes or have its second byte here. The bytes are `/` and two bytes of a name,
/// or the colon after a drive letter.
fn starts_path(bytes: &[u8]) -> bool {
    let &[first, second, third] = bytes else { return false };
    let is_name = |byte: u8| byte.wrapping_sub(b'+') <= b'~' - b'+';
    let is_unix = (first == b'/') & is_name(second) & is_name(third);
    is_unix | ((first == b':') & ((second == b'/') | (second == b'\\')))
}

/// Returns the longest run of bytes around `at` that can form a path and the option before it. No path extends beyond
/// it.
fn run_around(bytes: &[u8], at: usize) -> Range<usize> {
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || !byte.is_ascii() || br"_.+@~-/\: ".contains(byte);
    let (before, after) = bytes.split_at(at);
    let start = at.abs_diff(before.iter().rev().take_while(is_part).count());
    let rest = after.get(after.iter().take_while(is_part).count()..).unwrap_or_default();
    start..offset_of_rest(bytes, rest)
}

fn is_system_path(path: &str) -> bool {
    let is_below = |prefix: &&str| path.starts_with(*prefix);
    SYSTEM_DIRECTORIES.iter().any(is_below) && !BUILD_DIRECTORIES.iter().any(is_below)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::bytes::{Budget, Limits};

    fn paths(bytes: &[u8]) -> Vec<String> {
        build_paths(ImageKind::Unknown, View::new(bytes)).unwrap()
    }

    #[test]
    fn finds_paths_between_delimiters() {
        assert_eq!(paths(b"\0/home/me/src/a.cu\0"), ["/home/me/src/a.cu"]);
        assert_eq!(paths(b"-I/build/include -o /tmp/x/y.o"), ["/build/include", "/tmp/x/y.o"]);
        assert_eq!(paths(b"\0C:\\Users\\me\\a.cu\0D:/ci/work/b.cu\0"), ["C:\\Users\\me\\a.cu", "D:/ci/work/b.cu"]);
        assert_eq!(paths(b"\0/b/one.c\0/home/a/x\0/home/a/x\0"), ["/home/a/x"]);
    }

    #[test]
    fn finds_paths_with_characters_beyond_ascii() {
        for path in ["/home/Jörg/src/a.cu", "/home/me/Übung 1/a.cu", "C:\\Users\\Zoë\\a.cu", "/tmp/数据/a.cu"] {
            assert_eq!(paths(format!("\0{path}\0").as_bytes()), [path]);
        }
        assert_eq!(paths("-I/home/Jörg/include -o /tmp/é/y.o".as_bytes()), ["/home/Jörg/include", "/tmp/é/y.o"]);
        assert_eq!(paths(b"\0/home/J\xf6rg/src/a.cu\0"), [""; 0], "Latin-1");
    }

    #[test]
    fn finds_paths_with_spaces_in_whole_strings() {
        let path = "/home/me/my project/a file.cu";
        for string in [format!("\0{path}\0"), format!(".file 1 \"{path}\"\n"), format!("{path}/"), path.to_owned()] {
            assert_eq!(paths(string.as_bytes()), [path], "{string}");
        }
        assert_eq!(
            paths(b"\0/home/me/bin/cc -O2 /home/me/a.c -I/home/me/b\0"),
            ["/home/me/a.c", "/home/me/b", "/home/me/bin/cc"]
        );
        assert_eq!(paths(b"\0/home/me/a.cu: no kernel\0"), ["/home/me/a.cu"]);
    }

    #[test]
    fn ignores_installed_files() {
        assert_eq!(paths(b"\0/usr/include/stdio.h\0/opt/rocm-6.4.0/lib/x\0"), [""; 0]);
        assert_eq!(paths(b"\0/usr/src/app/kernel.cu\0"), ["/usr/src/app/kernel.cu"]);
    }

    #[test]
    fn ignores_code_and_lone_slashes() {
        assert_eq!(paths(b"a / b // c /x/ http://example.com/page\0"), [""; 0]);
        assert_eq!(paths(&(0..=255).cycle().take(70_000).map(|byte: u32| byte as u8).collect::<Vec<_>>()), [""; 0]);
    }

    /// Uses only the pattern.
    fn paths_by_pattern(bytes: &[u8]) -> Vec<String> {
        let mut found = BTreeSet::new();
        let mut at = 0;
        while let Some(path) = PATH.captures_at(bytes, at).map(|captures| path_of(&captures)) {
            at = path.end();
            found.extend(Some(String::from_utf8_lossy(path.as_bytes()).into_owned()).filter(|it| !is_system_path(it)));
        }
        found.into_iter().collect()
    }

    #[test]
    fn search_for_starts_finds_what_the_pattern_finds() {
        let mut random = 1_u64;
        let mut next = |end: u64| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((random >> 33) % end) as usize
        };
        let pieces =
            ["/", "//", "/ab", "/a", "ab", "C:", ":", "\\", " ", "\0", "=", "-I", ".", "/usr/x", "'", "\"", "ö"];
        let mut found = 0;
        for _ in 0..20_000 {
            let mut bytes = vec![b'x'; next(80)];
            for _ in 0..next(30) {
                bytes.extend(pieces[next(17)].as_bytes());
                if next(16) == 0 {
                    bytes.push(0xff);
                }
            }
            let expected = paths_by_pattern(&bytes);
            assert_eq!(paths(&bytes), expected, "{}", bytes.escape_ascii());
            found += expected.len();
        }
        assert!(found > 1_000, "{found}");
    }

    /// `fixtures/answer-gfx90a-debug.hsaco` with one of its debug sections replaced by a compressed one (`Elf64_Chdr`
    /// followed by a zlib stream).
    fn with_compressed_section(content: &[u8]) -> Vec<u8> {
        let mut file = include_bytes!("../../../fixtures/answer-gfx90a-debug.hsaco").to_vec();
        let mut section = Vec::new();
        for word in [1, content.len() as u64, 1] {
            section.extend(word.to_le_bytes());
        }
        section.extend(zlib(content));
        let headers = u64::from_le_bytes(*file[0x28..].first_chunk().unwrap());
        // `.debug_str` is section 14; fields are `sh_flags`, `sh_offset` and `sh_size`.
        let header = headers as usize + 14 * 64;
        let end = file.len() as u64;
        for (field, value) in [(8, 0x800), (24, end), (32, section.len() as u64)] {
            file[header + field..][..8].copy_from_slice(&u64::to_le_bytes(value));
        }
        file.extend(section);
        file
    }

    fn zlib(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut encoder, content).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn finds_paths_in_compressed_debug_sections_within_the_limit() {
        let strings = b"\0/home/me/src/kernel.cu\0".repeat(40);
        let file = with_compressed_section(&strings);
        let found = |limit| {
            let budget = Budget::new(Limits { decompressed: Some(limit), factor: 1 }, 0);
            build_paths(ImageKind::Elf, View::with_budget(&file, &budget))
        };
        assert!(paths(&file).iter().all(|path| !path.contains("/home/me")), "strings are compressed");
        assert!(found(1 << 20).unwrap().contains(&"/home/me/src/kernel.cu".to_owned()));
        assert!(found(100).is_err(), "an unread section is an error");
    }
}
