//! The names of programs, and the places that are searched for them.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Name of a program without its version and its target prefix: `clang++` for `clang++-22`, `gcc` for
/// `x86_64-linux-gnu-gcc-12`.
pub fn name(program: &Path) -> String {
    let file = program.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let file = file.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = file.strip_suffix(".exe").unwrap_or(file);
    let unversioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let name = unversioned.strip_suffix('-').unwrap_or(name);
    match WITH_DASH.iter().find(|known| name.ends_with(*known)) {
        Some(known) => (*known).to_owned(),
        None => name.rsplit('-').next().unwrap_or_default().to_owned(),
    }
}

/// Compilers that pass an option on to one of the linkers. Programs for one target have names that end in these.
const COMPILERS: [&str; 17] = [
    "cc", "c++", "gcc", "g++", "gfortran", "clang", "clang++", "flang", "icx", "icpx", "ifx", "mpicc", "mpicxx",
    "mpic++", "mpifort", "c99", "c17",
];

/// True for a compiler that calls a linker.
pub fn is_compiler(program: &Path) -> bool {
    COMPILERS.contains(&name(program).as_str())
}

/// Programs that a build tool's launcher for links also starts, and that link nothing: archivers, and CMake's own
/// commands. Device code in a library is linked with the program.
const NOT_LINKERS: [&str; 3] = ["ar", "ranlib", "lib"];

/// Options that make a linker an archiver: Microsoft's, and Apple's libtool's. GNU libtool links.
const ARCHIVING: [&str; 2] = ["/lib", "-lib"];
const LIBTOOL_ARCHIVING: &str = "-static";

/// Commands of `cmake -E` that run another program, which may be a linker.
const CMAKE_RUNS: [&str; 4] = ["env", "time", "vs_link_dll", "vs_link_exe"];

/// True for a program that links nothing.
pub fn links_nothing(program: &Path, words: &[OsString]) -> bool {
    match (name(program).as_str(), words) {
        ("libtool", [first, ..]) => first == LIBTOOL_ARCHIVING,
        ("cmake", [first, command, ..]) => first == "-E" && CMAKE_RUNS.iter().all(|runs| command != runs),
        ("link" | "lld-link", [first, ..]) => ARCHIVING.iter().any(|option| first.eq_ignore_ascii_case(option)),
        (name, _) => NOT_LINKERS.contains(&name),
    }
}

/// Names of programs that contain a dash.
const WITH_DASH: [&str; 2] = ["lld-link", "clang-cl"];

/// First file with this name in the directories of `PATH`.
pub fn in_path(name: &str) -> Option<PathBuf> {
    find_in(&env::var_os("PATH")?, name)
}

/// First file with this name in a list of directories. An empty element would be the working directory, where other
/// users may have put programs.
fn find_in(list: &OsStr, name: &str) -> Option<PathBuf> {
    let directories = env::split_paths(list).filter(|directory| !directory.as_os_str().is_empty());
    directories.map(|directory| directory.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archivers_are_no_linkers() {
        let links_nothing = |program: &str, words: &str| {
            links_nothing(Path::new(program), &words.split(' ').map(OsString::from).collect::<Vec<_>>())
        };
        for program in ["ar", "/usr/bin/llvm-ar-22", "x86_64-linux-gnu-gcc-ar-12", "ranlib", "LIB.EXE", "llvm-lib"] {
            assert!(links_nothing(program, "qc"), "{program}");
        }
        assert!(links_nothing("link.exe", "/LIB") && links_nothing("lld-link", "-lib"));
        assert!(links_nothing("cmake", "-E rm -f libk.a") && links_nothing("libtool", "-static -o libk.a k.o"));
        for program in ["ld", "cc", "clang++-22", "lld-link", "mold", "nvcc", "star"] {
            assert!(!links_nothing(program, "a.o"), "{program}");
        }
        // They call a linker. For GNU's linkers, -lib is the library `ib`.
        for (program, words) in
            [("cmake", "-E env A=b cc k.o"), ("libtool", "--mode=link cc k.o"), ("ld", "-lib"), ("cc", "-lib")]
        {
            assert!(!links_nothing(program, words), "{program} {words}");
        }
    }

    #[test]
    fn empty_elements_of_a_path_are_no_directories() {
        let directory = tempfile::tempdir().unwrap();
        let name = "Cargo.toml";
        let list = |elements: &[&Path]| env::join_paths(elements).unwrap();
        // The working directory of tests has such a file.
        assert!(Path::new(name).is_file());
        assert_eq!(find_in(&list(&[Path::new(""), directory.path(), Path::new("")]), name), None);
        let file = directory.path().join(name);
        std::fs::write(&file, "").unwrap();
        assert_eq!(find_in(&list(&[Path::new(""), directory.path()]), name), Some(file));
    }
}
