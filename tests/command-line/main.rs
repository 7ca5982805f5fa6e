//! The program from the outside: output, exit statuses, files.

mod addr2line;
mod agreement;
mod appended;
mod bad_input;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod blocks;
mod bundle;
mod bundle_archives;
#[cfg(unix)]
mod changed_input;
mod check;
mod code_objects;
#[path = "../../linker-tests/harness/command.rs"]
mod command;
#[cfg(target_os = "linux")]
mod confined;
mod contradictions;
mod device_link;
mod diff;
mod doctor;
mod documents;
mod dropin;
mod embed;
mod embedded;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod errors;
mod extract;
mod extract_index;
#[cfg(target_os = "linux")]
mod faults;
mod formats;
mod help;
#[cfg(unix)]
mod host_bitcode;
#[cfg(target_os = "linux")]
mod host_half;
#[cfg(unix)]
mod hostile_text;
#[cfg(target_os = "linux")]
mod in_place;
mod incomplete;
mod inspect;
mod kernel_stores;
mod kpack;
#[cfg(unix)]
mod kpack_host;
mod library;
#[cfg(target_os = "linux")]
mod link;
mod lists;
mod llvm23;
mod lock;
mod lost;
mod lto_ir;
mod messages;
mod metadata;
mod metal;
mod modules;
#[cfg(target_os = "linux")]
mod names;
mod nvidia_32_bit;
#[cfg(target_os = "linux")]
mod outputs;
mod overview;
mod oxart;
mod pack;
mod packager;
mod page;
#[cfg(unix)]
mod parts;
mod paths;
mod policy_schema;
mod problems;
#[path = "../../linker-tests/harness/program.rs"]
mod program;
mod prune;
mod ptx_targets;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod readme;
#[cfg(target_os = "linux")]
mod release;
mod repaired;
mod replace;
mod reports;
mod requires;
mod runtimes;
mod scan;
mod schema;
mod select;
mod select_set;
#[cfg(target_os = "linux")]
mod several_outputs;
mod shells;
mod signatures;
mod silence;
mod size;
mod spellings;
#[cfg(unix)]
mod split;
mod stacks;
#[cfg(target_os = "linux")]
mod stated_targets;
#[cfg(target_os = "linux")]
mod streams;
mod strip;
mod stubs;
mod suggestions;
mod terminal;
mod threads;
mod tile_ir;
mod transcode;
mod verify;
#[cfg(target_os = "linux")]
mod victims;
mod wrap;
mod zebin;
mod zip_files;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A temporary directory to run the program in.
struct Sandbox {
    directory: TempDir,
}

/// Result of a run of the program.
#[derive(Debug, PartialEq)]
struct Run {
    status: i32,
    out: String,
    err: String,
}

impl Sandbox {
    fn new() -> Self {
        Sandbox { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file to the directory.
    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.path(name), bytes).unwrap();
        self
    }

    /// Copies a fixture to the directory under a name.
    fn fixture(&self, fixture: &str, name: &str) -> &Self {
        self.file(name, self::fixture(fixture))
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Returns the names in the directory, sorted.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Runs `fatbin` in the directory with arguments separated by white space. The line about a negative answer is left
    /// out: the tests of [`silence`] are about it.
    fn fatbin(&self, arguments: &str) -> Run {
        let run = self.fatbin_with_answer(arguments);
        Run { err: silence::without_answer(arguments, run.err), ..run }
    }

    /// Like [`Sandbox::fatbin`], with the line about a negative answer.
    fn fatbin_with_answer(&self, arguments: &str) -> Run {
        let words = arguments.replace("/dev/null", if cfg!(windows) { "NUL" } else { "/dev/null" });
        run(self.command(env!("CARGO_BIN_EXE_fatbin")).args(words.split_whitespace()))
    }

    /// Runs a shell script in the directory, with `fatbin` in its path.
    fn shell(&self, script: &str) -> Run {
        run(self.command("sh").args(["-c", script]).env("PATH", path_with_program()))
    }

    /// Returns a command in the directory.
    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = command::command(program);
        command.current_dir(self.directory.path());
        command
    }
}

impl Run {
    /// Returns the output of a run, which must have succeeded without messages.
    fn ok(self) -> String {
        assert_eq!((self.status, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }
}

/// Returns the names of the commands in a help text, which lists them by job.
fn commands_of_help(help: &str) -> Vec<&str> {
    let (list, _) = help.split_once("\nOptions:\n").unwrap();
    let rows = list.lines().filter_map(|line| line.strip_prefix("  ")?.split_once("  "));
    let names: Vec<&str> = rows.map(|(name, _)| name).filter(|name| !name.is_empty() && !name.contains(' ')).collect();
    assert!(names.len() > 25, "{help}");
    names
}

fn run(command: &mut Command) -> Run {
    let Output { status, stdout, stderr } = command.output().unwrap();
    Run {
        status: status.code().expect("not ended by a signal"),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

/// Returns `PATH` with the directory of the program at the front.
fn path_with_program() -> OsString {
    let directory = Path::new(env!("CARGO_BIN_EXE_fatbin")).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap();
    std::env::join_paths(std::iter::once(directory).chain(std::env::split_paths(&path))).unwrap()
}

/// Smallest bitcode: a module without contents.
const BITCODE: &[u8] = b"BC\xc0\xde\x21\x0c\0\0\0\0\0\0";

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)).unwrap()
}

/// Returns the paths and texts of the sources of the test programs, except harness/command.rs.
fn sources_of_tests() -> impl Iterator<Item = (PathBuf, String)> {
    let below = |directory| documents::files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join(directory), "rs");
    let paths =
        ["tests", "linker-tests"].into_iter().flat_map(below).filter(|path| !path.ends_with("harness/command.rs"));
    paths.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap()))
}

/// Commands with the user's environment have other results for other users.
#[test]
fn tests_run_commands_in_a_fixed_environment() {
    for (path, text) in sources_of_tests() {
        // cargo needs the variables of rustup.
        let mut lines =
            text.lines().filter(|line| line.contains(concat!("Command::", "new(")) && !line.contains("CARGO\")"));
        assert!(lines.next().is_none(), "{}: use harness/command.rs", path.display());
    }
}

/// A program cannot be executed while a command of another test has inherited it, open for writing.
#[test]
fn tests_write_programs_in_another_process() {
    for (path, text) in sources_of_tests() {
        let is_safe = !text.contains(concat!("#!", "/")) || text.contains("write_program(");
        assert!(is_safe, "{}: use harness/program.rs", path.display());
    }
}
