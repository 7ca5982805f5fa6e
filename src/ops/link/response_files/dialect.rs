//! How programs read response files, as data.
//!
//! Sources: libiberty's `buildargv` and `expandargv` (GCC 12, binutils 2.40); LLVM's `TokenizeGNUCommandLine` and
//! `TokenizeWindowsCommandLine` (clang and lld 19 and 22); mold 2.42; fatbinary 13.5. The trial link/response-files
//! compares the words with the words of the programs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::link::program_names;

/// How a program reads response files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// Characters between words.
    pub(super) spaces: &'static [u8],
    /// Characters that quote.
    pub(super) quotes: &'static [u8],
    /// What a backslash escapes.
    pub(super) escapes: Escapes,
    /// When quotes are removed.
    pub(super) removal: Removal,
    /// A text that ends inside a quote or an escape.
    pub(super) open_end: OpenEnd,
    /// NUL outside `spaces`.
    pub(super) nul: Nul,
    /// Words of nothing but quotes are kept.
    pub(super) keeps_empty: bool,
    /// Byte order marks select UTF-8 or UTF-16.
    pub(super) has_marks: bool,
    /// What a word `@NAME` may refer to.
    pub(super) includes: Includes,
    /// Limit on files that include one another.
    pub(super) nesting: Nesting,
}

/// What a backslash escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escapes {
    /// The next character, even inside quotes.
    Everything,
    /// A quote. Backslashes before one count twice, and two quotes inside quotes are one.
    Quotes,
}

/// When quotes are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// Where they begin and end.
    AtOnce,
    /// From each complete word, even if they were escaped, unless a backslash is left before them.
    FromWords,
}

/// Treatment of a text that ends inside a quote or an escape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenEnd {
    /// The end ends the quote. A backslash there is dropped.
    DropsBackslash,
    /// The end ends the quote. A backslash there is kept.
    KeepsBackslash,
    /// An error.
    Refused,
}

/// Meaning of NUL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nul {
    /// The text ends.
    EndsText,
    /// The word ends, and the rest of it is skipped.
    EndsWord,
}

/// What a word `@NAME` may refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Includes {
    /// A regular file. Any other word stays.
    RegularFiles,
    /// Anything that exists.
    Anything,
}

/// Limit on files that include one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nesting {
    /// Number of files on a command line.
    Files(usize),
    /// Number of files inside one another.
    Depth(usize),
    /// No file includes itself.
    Acyclic,
}

/// GNU's programs.
pub static GNU: Dialect = GNU_RULES;

const GNU_RULES: Dialect = Dialect {
    spaces: b" \t\n\x0b\x0c\r",
    quotes: b"\"'",
    escapes: Escapes::Everything,
    removal: Removal::AtOnce,
    open_end: OpenEnd::DropsBackslash,
    nul: Nul::EndsText,
    keeps_empty: true,
    has_marks: false,
    includes: Includes::RegularFiles,
    nesting: Nesting::Files(1999),
};

/// LLVM's programs.
pub static LLVM: Dialect = Dialect {
    spaces: b" \t\n\r",
    open_end: OpenEnd::KeepsBackslash,
    nul: Nul::EndsWord,
    keeps_empty: false,
    has_marks: true,
    includes: Includes::Anything,
    nesting: Nesting::Acyclic,
    ..GNU_RULES
};

/// LLVM's programs for Windows, and Microsoft's.
pub static LLVM_WINDOWS: Dialect = Dialect {
    spaces: b" \t\n\r\0",
    quotes: b"\"",
    escapes: Escapes::Quotes,
    open_end: OpenEnd::KeepsBackslash,
    nul: Nul::EndsWord,
    has_marks: true,
    includes: Includes::Anything,
    nesting: Nesting::Acyclic,
    ..GNU_RULES
};

/// mold. Releases before 2 read a quote inside a word and a backslash at the end as characters.
pub static MOLD: Dialect = Dialect {
    spaces: b" \t\n\x0b\x0c\r\0",
    open_end: OpenEnd::Refused,
    nul: Nul::EndsWord,
    nesting: Nesting::Depth(10),
    ..GNU_RULES
};

/// Option files of NVIDIA's tools, which an option names.
pub static NVIDIA: Dialect = Dialect {
    spaces: b" \t\n\r",
    quotes: b"\"",
    removal: Removal::FromWords,
    open_end: OpenEnd::Refused,
    nesting: Nesting::Depth(15),
    ..GNU_RULES
};

/// Compilers and linkers of LLVM whose names show it, by a part of the name.
const LLVM_NAMES: [&str; 5] = ["clang", "lld", "flang", "hipcc", "icpx"];

/// Linkers and compilers that read response files as Windows' programs read their command lines.
const WINDOWS_NAMES: [&str; 4] = ["lld-link", "link", "cl", "clang-cl"];

/// Names that distributions give to one of several programs.
const SHARED_NAMES: [&str; 5] = ["ld", "cc", "c++", "c89", "c99"];

impl Dialect {
    /// Dialect of a program with these words. Only LLVM's programs have an option for it.
    pub fn of_program(program: &Path, words: &[OsString]) -> &'static Dialect {
        let stated = words.iter().rev().find_map(|word| word.to_str()?.strip_prefix("--rsp-quoting="));
        let named = Dialect::of_name(&program_names::name(&behind(program)));
        match stated {
            Some("windows") => &LLVM_WINDOWS,
            Some(_) if named.has_marks => &LLVM,
            _ => named,
        }
    }

    fn of_name(name: &str) -> &'static Dialect {
        if WINDOWS_NAMES.contains(&name) {
            &LLVM_WINDOWS
        } else if LLVM_NAMES.iter().any(|part| name.contains(part)) {
            if cfg!(windows) { &LLVM_WINDOWS } else { &LLVM }
        } else if name.contains("mold") {
            &MOLD
        } else {
            &GNU
        }
    }

    /// Number of files that may be inside one another, if the dialect limits it.
    pub fn depth(&self) -> Option<usize> {
        match self.nesting {
            Nesting::Depth(most) => Some(most),
            Nesting::Files(_) | Nesting::Acyclic => None,
        }
    }
}

/// The program behind a name that several programs share.
fn behind(program: &Path) -> PathBuf {
    if !SHARED_NAMES.contains(&&*program_names::name(program)) {
        return program.to_owned();
    }
    let is_name = program.components().nth(1).is_none();
    let found = if is_name { program.to_str().and_then(program_names::in_path) } else { None };
    let path = found.unwrap_or_else(|| program.to_owned());
    std::fs::canonicalize(&path).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_decides_on_the_dialect() {
        let cases = [
            ("/usr/bin/ld.bfd", &GNU),
            ("/usr/bin/x86_64-linux-gnu-gcc-12", &GNU),
            ("ld.gold", &GNU),
            ("nvcc", &GNU),
            ("lld-link-22", &LLVM_WINDOWS),
            ("C:/VS/link.exe", &LLVM_WINDOWS),
            ("clang-cl", &LLVM_WINDOWS),
            ("/usr/bin/mold", &MOLD),
            ("ld.mold", &MOLD),
            #[cfg(not(windows))]
            ("ld.lld-22", &LLVM),
            #[cfg(not(windows))]
            ("clang++", &LLVM),
            #[cfg(not(windows))]
            ("amdclang", &LLVM),
        ];
        for (program, expected) in cases {
            assert_eq!(Dialect::of_program(Path::new(program), &[]), expected, "{program}");
        }
        let stated = |program: &str, style: &str| {
            Dialect::of_program(Path::new(program), &[format!("--rsp-quoting={style}").into()])
        };
        assert_eq!(stated("clang", "windows"), &LLVM_WINDOWS);
        assert_eq!(stated("lld-link", "posix"), &LLVM);
        assert_eq!(stated("gcc", "posix"), &GNU);
    }

    #[cfg(unix)]
    #[test]
    fn a_shared_name_stands_for_the_program_behind_it() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("ld");
        for (target, expected) in [("ld.lld", &LLVM), ("mold", &MOLD), ("ld.bfd", &GNU)] {
            let target = directory.path().join(target);
            std::fs::write(&target, "").unwrap();
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(&target, &link).unwrap();
            assert_eq!(Dialect::of_program(&link, &[]), expected);
        }
    }
}
