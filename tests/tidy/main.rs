//! Tests of the source's structure: dependencies between modules, length and header of files.
//!
//! The compiler keeps the order of the members of the workspace. Within one it accepts cycles between modules; they cost the
//! next reader. A test that fails here shows either a misplaced line or a misplaced boundary: find out which before changing
//! the test.

mod names;
mod options;
mod outputs;
mod promises;
mod references;
mod siblings;

use std::fs;
use std::path::{Path, PathBuf};

/// Maximum length of a source file, in lines.
const MAX_FILE_LINES: usize = 450;

/// A source file of a member.
struct SourceFile {
    path: PathBuf,
    text: String,
    /// The member, and the path of the module that the file defines: `["core", "scan", "walk"]` for `src/core/scan/walk.rs`,
    /// `["core", "scan"]` for `src/core/scan/mod.rs`.
    module: Vec<String>,
}

impl SourceFile {
    fn member(&self) -> &str {
        &self.module[0]
    }

    fn is_below(&self, module: &str) -> bool {
        self.module.join("/").starts_with(module)
    }
}

fn source_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Reads every source file.
fn source_files() -> Vec<SourceFile> {
    let mut files = Vec::new();
    collect(&source_directory(), &[], &mut files);
    files
}

fn collect(directory: &Path, module: &[String], files: &mut Vec<SourceFile>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut own = module.to_vec();
        if path.is_dir() {
            own.push(name);
            collect(&path, &own, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            if !["lib", "mod"].contains(&&*name) {
                own.push(name);
            }
            files.push(SourceFile { text: fs::read_to_string(&path).unwrap(), path, module: own });
        }
    }
}

#[test]
fn files_stay_short() {
    for file in source_files() {
        let lines = file.text.lines().count();
        assert!(lines <= MAX_FILE_LINES, "{}: {lines} lines, at most {MAX_FILE_LINES}", file.path.display());
    }
}

#[test]
fn every_file_starts_with_a_module_comment() {
    for file in source_files() {
        assert!(file.text.starts_with("//! "), "{}: missing module comment", file.path.display());
    }
}

#[test]
fn unsafe_code_is_confined_to_io() {
    for file in source_files() {
        // `main` states that the inputs of the program may be mapped.
        if !(file.is_below("core/base/io") || file.is_below("cli/main")) {
            assert!(!file.text.contains("unsafe {"), "{}: unsafe code outside of io", file.path.display());
        }
    }
}

/// Modules that parse bytes of files.
const PARSERS: [&str; 10] = [
    "ops/analyze/metadata",
    "core/base/archive",
    "core/base/bytes",
    "core/base/codec",
    "core/base/signature",
    "ops/check/lock",
    "core/format",
    "core/host/rewrite",
    "core/image",
    "core/scan",
];

const PARSER_LINTS: &str = "#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]";

#[test]
fn parsers_deny_unchecked_indexing_and_arithmetic() {
    for module in PARSERS {
        let text = fs::read_to_string(source_directory().join(module).join("mod.rs")).unwrap();
        assert!(text.lines().any(|line| line == PARSER_LINTS), "src/{module}/mod.rs lacks this line:\n{PARSER_LINTS}");
    }
}

/// Problems are counted where they are printed, so a command does not print one by itself.
#[test]
fn standard_error_is_written_in_one_place() {
    let writers = ["cli/problems", "cli/progress", "dropin/diagnostics"];
    let mut found = Vec::new();
    for file in source_files() {
        if ["stderr()", "eprint"].iter().any(|text| file.text.contains(text)) {
            found.push(file.module.join("/"));
        }
    }
    found.sort();
    assert_eq!(found, writers, "print errors through `cli::problems::Problems`");
}

/// Checks that only these files contain one of these calls.
fn check_reserved(calls: &[&str], allowed: &[&str]) {
    let mut users = Vec::new();
    for file in source_files() {
        let path = file.path.display().to_string().replace('\\', "/");
        let code = file.text.split("mod tests {").next().unwrap_or_default();
        let mut lines = code.lines().filter(|line| !line.trim_start().starts_with("//") && !line.contains("clap::"));
        if !path.ends_with("tests.rs") && lines.any(|line| calls.iter().any(|call| line.contains(call))) {
            users.push(path);
        }
    }
    let is_allowed = |path: &String| allowed.iter().any(|allowed| path.ends_with(allowed));
    assert!(users.iter().all(is_allowed), "{calls:?}: {users:?}, allowed in {allowed:?}");
    assert_eq!(users.len(), allowed.len(), "the search for {calls:?} is broken: {users:?}");
}

/// Their stacks have a size that does not depend on the environment.
#[test]
fn threads_are_started_in_one_place() {
    check_reserved(
        &["thread::spawn(", "scope.spawn(", "Builder::new().stack", "Builder::new().spawn"],
        &["base/parallel/mod.rs"],
    );
}

/// Windows do not exceed what the file may decompress to.
#[test]
fn decoders_with_windows_are_created_in_one_place() {
    let decoders = ["zstd::Decoder::", "XzDecoder::new", "_stream_decoder(", "_lzma_decoder(", "_lzip_decoder("];
    check_reserved(&decoders, &["base/codec/window.rs"]);
}

#[test]
fn programs_are_started_only_for_links() {
    let starters = ["check/ptx_assembler.rs", "cli/install_links.rs", "link/doctor/driver.rs", "link/programs.rs"];
    check_reserved(&[concat!("Command::", "new(")], &starters);
}

#[test]
fn no_network_is_used() {
    check_reserved(&["std::net", "TcpStream", "UdpSocket", "UnixStream", "UnixListener"], &[]);
}
