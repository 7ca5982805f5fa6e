//! Our drop-ins beside the tools that they stand in for.
//!
//! Both are called by the same name with the same arguments in the same kind of directory, and then compared: exit status,
//! what they print, and what they leave behind. Their own path, which the tools say first, is cut down to the name.
//! Last, the [`clients`] that call such a tool call ours.

mod bundling;
mod clients;
mod extracting;
mod options;
mod packing;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;

pub fn trials() -> Vec<Trial> {
    let all = [options::trials(), packing::trials(), extracting::trials(), bundling::trials(), clients::trials()];
    all.into_iter().flatten().collect()
}

/// A tool and its drop-in, each under the same name in a directory of its own.
pub struct Pair {
    directory: PathBuf,
    name: &'static str,
}

/// Whose turn it is.
#[derive(Debug, Clone, Copy)]
pub enum Side {
    Theirs,
    Ours,
}

/// What a call came to.
#[derive(Debug, PartialEq, Eq)]
pub struct Came {
    pub status: i32,
    pub out: String,
    pub err: String,
    /// Everything in the working directory afterwards, by its name.
    pub left: BTreeMap<String, Left>,
}

/// Something in a directory.
#[derive(PartialEq, Eq)]
pub enum Left {
    File {
        mode: u32,
        bytes: Vec<u8>,
    },
    Link(PathBuf),
    /// A directory, or anything else that nobody is to write into.
    Other,
}

impl fmt::Debug for Left {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Left::File { mode, bytes } => {
                write!(formatter, "{:o}, {} bytes: {}", mode & 0o7777, bytes.len(), beginning(bytes))
            }
            Left::Link(to) => write!(formatter, "-> {}", to.display()),
            Left::Other => write!(formatter, "no file"),
        }
    }
}

/// A call, told by its arguments.
pub struct Call<'a> {
    pub arguments: Vec<&'a str>,
    /// What is on standard input; nothing if nothing is said.
    pub stdin: Option<&'a Path>,
    /// Variables of its environment.
    pub variables: Vec<(&'a str, &'a str)>,
    /// What the working directory holds before.
    pub prepare: fn(&Path) -> Result<()>,
}

impl<'a> Call<'a> {
    pub fn new(arguments: &[&'a str]) -> Self {
        Call { arguments: arguments.to_vec(), stdin: None, variables: Vec::new(), prepare: |_| Ok(()) }
    }

    /// Arguments as one would type them.
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
    /// Puts both into `directory`, `tool` being the real one.
    pub fn new(directory: &Path, name: &'static str, tool: &Path) -> Result<Pair> {
        let pair = Pair { directory: directory.to_owned(), name };
        for (side, program) in [(Side::Theirs, tool), (Side::Ours, Path::new(env!("CARGO_BIN_EXE_fatbin")))] {
            let link = pair.program(side);
            std::fs::create_dir_all(link.parent().unwrap_or(directory))?;
            std::os::unix::fs::symlink(program, link)?;
        }
        Ok(pair)
    }

    fn program(&self, side: Side) -> PathBuf {
        self.directory.join(format!("{side:?}")).join(self.name)
    }

    /// Calls one of the two in a new directory beside the common files, which are `../` to it.
    pub fn call(&self, side: Side, call: &Call) -> Result<Came> {
        let program = self.program(side);
        let run = self.directory.join("run");
        if run.exists() {
            std::fs::remove_dir_all(&run)?;
        }
        std::fs::create_dir(&run)?;
        (call.prepare)(&run)?;
        let mut command = Command::new(&program);
        command.args(&call.arguments).current_dir(&run).env_remove("TERM").envs(call.variables.iter().copied());
        command.stdin(call.stdin.map_or(Ok(Stdio::null()), |path| File::open(path).map(Stdio::from))?);
        let output = command.output().with_context(|| format!("{command:?}"))?;
        let plain = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&*program.to_string_lossy(), self.name);
        // A tool that a signal ended has no status; no drop-in has that one.
        let status = output.status.code().unwrap_or(-1);
        Ok(Came { status, out: plain(&output.stdout), err: plain(&output.stderr), left: left(&run)? })
    }

    /// Calls both.
    pub fn both(&self, call: &Call) -> Result<(Came, Came)> {
        Ok((self.call(Side::Theirs, call)?, self.call(Side::Ours, call)?))
    }

    /// Calls both and demands the same of them.
    pub fn same(&self, call: &Call) -> Result<Came> {
        let (theirs, ours) = self.both(call)?;
        ensure!(ours == theirs, "{}", self.difference(call, &theirs, &ours));
        Ok(theirs)
    }

    /// Calls both where they only differ in how they tell what is wrong with an input.
    pub fn same_but_for_words(&self, call: &Call) -> Result<Came> {
        let (theirs, mut ours) = self.both(call)?;
        let is_error = |came: &Came| came.status == 1 && came.err.starts_with(&format!("{}: error: ", self.name));
        if is_error(&theirs) && is_error(&ours) {
            ours.err.clone_from(&theirs.err);
        }
        ensure!(ours == theirs, "{}", self.difference(call, &theirs, &ours));
        Ok(theirs)
    }

    /// What both came to, where it is not the same.
    pub fn difference(&self, call: &Call, theirs: &Came, ours: &Came) -> String {
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

/// As much of a file as one can look at.
fn beginning(bytes: &[u8]) -> String {
    bytes[..bytes.len().min(600)].escape_ascii().to_string()
}

fn left(directory: &Path) -> Result<BTreeMap<String, Left>> {
    let mut left = BTreeMap::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let metadata = path.symlink_metadata()?;
        let what = if metadata.is_symlink() {
            Left::Link(path.read_link()?)
        } else if metadata.is_file() {
            Left::File { mode: metadata.permissions().mode(), bytes: std::fs::read(&path)? }
        } else {
            Left::Other
        };
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        if left.insert(name.unwrap_or_default(), what).is_some() {
            bail!("{}: two names that are the same", path.display());
        }
    }
    Ok(left)
}
