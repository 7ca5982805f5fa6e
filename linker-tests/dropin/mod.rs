//! Our drop-ins beside the tools that they stand in for.
//!
//! Both are called by the same name with the same arguments in the same kind of folder, and then compared: exit status,
//! what they print, and what they leave behind. Their own path, which the tools say first, is cut down to the name.

mod options;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

pub fn trials() -> Vec<Trial> {
    options::trials()
}

/// A tool and its drop-in, each under the same name in a folder of its own.
pub struct Pair {
    theirs: PathBuf,
    ours: PathBuf,
}

/// What a call came to.
#[derive(Debug, PartialEq, Eq)]
pub struct Came {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Pair {
    /// Puts both into `folder`, `tool` being the real one.
    pub fn new(folder: &Path, name: &str, tool: &Path) -> Result<Pair> {
        let pair = Pair { theirs: folder.join("theirs").join(name), ours: folder.join("ours").join(name) };
        for link in [&pair.theirs, &pair.ours] {
            std::fs::create_dir_all(link.parent().unwrap_or(folder))?;
        }
        std::os::unix::fs::symlink(tool, &pair.theirs)?;
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fatbin"), &pair.ours)?;
        Ok(pair)
    }

    /// Calls the tool in `folder`.
    pub fn theirs<A: AsRef<OsStr>>(&self, folder: &Path, arguments: &[A]) -> Result<Came> {
        call(&self.theirs, folder, arguments)
    }

    /// Calls the drop-in in `folder`.
    pub fn ours<A: AsRef<OsStr>>(&self, folder: &Path, arguments: &[A]) -> Result<Came> {
        call(&self.ours, folder, arguments)
    }

    /// Calls both in one folder, where neither is to leave anything, and demands the same of them.
    pub fn say_the_same<A: AsRef<OsStr>>(&self, folder: &Path, arguments: &[A]) -> Result<Came> {
        let (theirs, ours) = (self.theirs(folder, arguments)?, self.ours(folder, arguments)?);
        let line: Vec<_> = arguments.iter().map(|argument| argument.as_ref().to_string_lossy()).collect();
        ensure!(ours == theirs, "in {}: {}\n{}", folder.display(), line.join(" "), difference(&theirs, &ours));
        Ok(theirs)
    }
}

fn call<A: AsRef<OsStr>>(program: &Path, folder: &Path, arguments: &[A]) -> Result<Came> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).env_remove("TERM");
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let plain = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&*program.to_string_lossy(), &name);
    // A tool that a signal ended has no status; no drop-in has that one.
    let status = output.status.code().unwrap_or(-1);
    Ok(Came { status, out: plain(&output.stdout), err: plain(&output.stderr) })
}

/// What both came to, where it is not the same.
fn difference(theirs: &Came, ours: &Came) -> String {
    let mut text = String::new();
    for (what, theirs, ours) in [
        ("status", theirs.status.to_string(), ours.status.to_string()),
        ("stdout", theirs.out.clone(), ours.out.clone()),
        ("stderr", theirs.err.clone(), ours.err.clone()),
    ] {
        if theirs != ours {
            text += &format!("{what} of the tool:\n{theirs}\n{what} of the drop-in:\n{ours}\n");
        }
    }
    text
}
