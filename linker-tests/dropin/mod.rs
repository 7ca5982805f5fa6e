//! fatbin's drop-ins, compared with the tools that they replace.
//!
//! Both are called by the same name with the same arguments in equal directories, and compared by exit status, output and
//! files. The path of the tool, which begins its messages, is reduced to the name. Finally, the [`clients`] of such a tool
//! call the drop-in.

mod bundling;
mod clients;
mod extracting;
mod offloading;
mod options;
mod packing;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;

use crate::harness::command::command;
use crate::harness::fatbin_program;

pub fn trials() -> Vec<Trial> {
    let all = [
        options::trials(),
        packing::trials(),
        extracting::trials(),
        offloading::trials(),
        bundling::trials(),
        clients::trials(),
    ];
    all.into_iter().flatten().collect()
}

/// A tool and its drop-in, each under the same name in a separate directory.
pub struct Pair {
    directory: PathBuf,
    name: &'static str,
    /// Release as which the drop-in behaves; `None` if nothing specifies it.
    release: Option<&'static str>,
}

/// Program of a pair.
#[derive(Debug, Clone, Copy)]
pub enum Side {
    Theirs,
    Ours,
}

/// Result of a call.
#[derive(Debug, PartialEq, Eq)]
pub struct CallResult {
    pub status: i32,
    pub out: String,
    pub err: String,
    /// Contents of the working directory after the call, by name.
    pub left: BTreeMap<String, DirectoryEntry>,
}

/// An entry of a directory.
#[derive(PartialEq, Eq)]
pub enum DirectoryEntry {
    File {
        mode: u32,
        bytes: Vec<u8>,
    },
    Link(PathBuf),
    /// A directory, or anything else that must not be written to.
    Other,
}

impl DirectoryEntry {
    pub fn has_bytes(&self, expected: &[u8]) -> bool {
        matches!(self, DirectoryEntry::File { bytes, .. } if bytes == expected)
    }
}

impl fmt::Debug for DirectoryEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DirectoryEntry::File { mode, bytes } => {
                write!(formatter, "{:o}, {} bytes: {}", mode & 0o7777, bytes.len(), beginning(bytes))
            }
            DirectoryEntry::Link(to) => write!(formatter, "-> {}", to.display()),
            DirectoryEntry::Other => write!(formatter, "no file"),
        }
    }
}

/// A call, displayed as its arguments.
pub struct Call<'a> {
    pub arguments: Vec<&'a str>,
    /// Standard input; empty by default.
    pub stdin: Option<&'a Path>,
    /// Environment variables.
    pub variables: Vec<(&'a str, &'a str)>,
    /// Files in the working directory before the call.
    pub prepare: fn(&Path) -> Result<()>,
}

impl<'a> Call<'a> {
    pub fn new(arguments: &[&'a str]) -> Self {
        Call { arguments: arguments.to_vec(), stdin: None, variables: Vec::new(), prepare: |_| Ok(()) }
    }

    /// Splits a command line into arguments at spaces.
    pub fn line(line: &'a str) -> Self {
        Call::new(&line.split_whitespace().collect::<Vec<_>>())
    }
}

impl fmt::Display for Call<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.variables.iter().try_for_each(|(name, value)| write!(formatter, "{name}={value} "))?;
        write!(formatter, "{:?}", self.arguments)?;
        self.stdin.map_or(Ok(()), |stdin| write!(formatter, " < {}", stdin.display()))
    }
}

impl Pair {
    /// Links both programs into `directory`; `tool` is the original.
    pub fn new(directory: &Path, name: &'static str, tool: &Path) -> Result<Pair> {
        let pair = Pair { directory: directory.to_owned(), name, release: Some("22") };
        for (side, program) in [(Side::Theirs, tool), (Side::Ours, Path::new(fatbin_program()))] {
            let link = pair.program(side);
            std::fs::create_dir_all(link.parent().unwrap_or(directory))?;
            std::os::unix::fs::symlink(program, link)?;
        }
        Ok(pair)
    }

    /// Makes the drop-in behave as a release, or as its name specifies.
    pub fn of_release(self, release: Option<&'static str>) -> Pair {
        Pair { release, ..self }
    }

    fn program(&self, side: Side) -> PathBuf {
        self.directory.join(format!("{side:?}")).join(self.name)
    }

    /// Calls one program in a new directory. The common files are in `..`.
    pub fn call(&self, side: Side, call: &Call) -> Result<CallResult> {
        let program = self.program(side);
        let run = self.directory.join("run");
        if run.exists() {
            std::fs::remove_dir_all(&run)?;
        }
        std::fs::create_dir(&run)?;
        (call.prepare)(&run)?;
        let mut command = command(&program);
        command
            .args(&call.arguments)
            .current_dir(&run)
            .env("FATBIN_LLVM", self.release.unwrap_or_default())
            .envs(call.variables.iter().copied());
        command.stdin(call.stdin.map_or(Ok(Stdio::null()), |path| File::open(path).map(Stdio::from))?);
        let output = command.output().with_context(|| format!("{command:?}"))?;
        let plain = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&*program.to_string_lossy(), self.name);
        // A tool that a signal ended has no status; drop-ins never exit with -1.
        let status = output.status.code().unwrap_or(-1);
        Ok(CallResult { status, out: plain(&output.stdout), err: plain(&output.stderr), left: left(&run)? })
    }

    /// Calls both programs.
    pub fn both(&self, call: &Call) -> Result<(CallResult, CallResult)> {
        Ok((self.call(Side::Theirs, call)?, self.call(Side::Ours, call)?))
    }

    /// Calls both programs and requires equal results.
    pub fn same(&self, call: &Call) -> Result<CallResult> {
        let (theirs, ours) = self.both(call)?;
        ensure!(ours == theirs, "{}", self.difference(call, &theirs, &ours));
        Ok(theirs)
    }

    /// Calls both programs, which may differ only in suggestions at the same distance from an unknown option: LLVM takes
    /// the first in the order of a hash map.
    pub fn same_but_for_ties(&self, call: &Call) -> Result<CallResult> {
        let (theirs, mut ours) = self.both(call)?;
        ours.err = like_suggestions(&ours.err, &theirs.err);
        ensure!(ours == theirs, "{}", self.difference(call, &theirs, &ours));
        Ok(theirs)
    }

    /// Calls both programs, which may differ only in their messages about an invalid input.
    pub fn same_but_for_words(&self, call: &Call) -> Result<CallResult> {
        let (theirs, mut ours) = self.both(call)?;
        let is_error =
            |result: &CallResult| result.status == 1 && result.err.starts_with(&format!("{}: error: ", self.name));
        if is_error(&theirs) && is_error(&ours) {
            ours.err.clone_from(&theirs.err);
        }
        ensure!(ours == theirs, "{}", self.difference(call, &theirs, &ours));
        Ok(theirs)
    }

    /// Formats the difference between two results.
    pub fn difference(&self, call: &Call, theirs: &CallResult, ours: &CallResult) -> String {
        let mut text = format!("in a directory in {}: {} {call}\n", self.directory.display(), self.name);
        for (what, theirs, ours) in [
            ("status", theirs.status.to_string(), ours.status.to_string()),
            ("stdout", theirs.out.clone(), ours.out.clone()),
            ("stderr", theirs.err.clone(), ours.err.clone()),
            ("files", format!("{:?}", theirs.left), format!("{:?}", ours.left)),
        ] {
            if theirs != ours {
                text += &format!("{what} of the tool:\n{theirs}\n{what} of the drop-in:\n{ours}\n");
            }
        }
        text
    }
}

/// The beginning of a file.
fn beginning(bytes: &[u8]) -> String {
    bytes[..bytes.len().min(600)].escape_ascii().to_string()
}

fn left(directory: &Path) -> Result<BTreeMap<String, DirectoryEntry>> {
    let mut left = BTreeMap::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let metadata = path.symlink_metadata()?;
        let what = if metadata.is_symlink() {
            DirectoryEntry::Link(path.read_link()?)
        } else if metadata.is_file() {
            DirectoryEntry::File { mode: metadata.permissions().mode(), bytes: std::fs::read(&path)? }
        } else {
            DirectoryEntry::Other
        };
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        if left.insert(name.unwrap_or_default(), what).is_some() {
            bail!("{}: two names that are the same", path.display());
        }
    }
    Ok(left)
}

/// Replaces each suggestion by the suggestion in the same line of `theirs`, if both are at the same distance.
fn like_suggestions(ours: &str, theirs: &str) -> String {
    let quoted = |line: &str| {
        let word = line.split_once('\'')?.1.rsplit_once('\'')?.0;
        word.strip_prefix("--").or(word.strip_prefix('-')).map(str::to_owned)
    };
    let distance = |argument: &str, line: &str| {
        let (_, suggestion) = line.split_once("Did you mean")?;
        let suggestion = quoted(suggestion)?;
        // Options that end the program take the whole argument.
        let is_whole = suggestion.starts_with("help") || suggestion == "version";
        let name = |text: &str| text.split('=').next().unwrap_or_default().to_owned();
        let argument = if is_whole { argument.to_owned() } else { name(argument) };
        Some(strsim::generic_levenshtein(&argument.into_bytes(), &name(&suggestion).into_bytes()))
    };
    let (mut argument, mut text) = (String::new(), String::new());
    let mut their_lines = theirs.lines();
    for line in ours.lines() {
        let their_line = their_lines.next().unwrap_or_default();
        if let Some((_, unknown)) = line.split_once("Unknown command line argument") {
            argument = unknown.split_once(".  Try").and_then(|(unknown, _)| quoted(unknown)).unwrap_or_default();
        }
        // The letter h may be an option in front of another one.
        let is_tie = [&argument, argument.trim_start_matches('h')].iter().any(|argument| {
            let distances = [line, their_line].map(|line| distance(argument, line));
            distances[0].is_some() && distances[0] == distances[1]
        });
        text += if is_tie { their_line } else { line };
        text.push('\n');
    }
    text
}
