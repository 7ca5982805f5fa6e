//! Commands of a trial, reported in full when they fail.
//!
//! Every command runs in the trial's directory with names relative to it. Every error contains the directory and the command
//! line, also an error about the output of a successful command: paste them into a shell to reproduce it.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Error, Result, anyhow};

use super::command::command;

/// A command to run.
pub struct Step {
    command: Command,
    line: String,
    directory: PathBuf,
}

/// A command that exited with status 0, and its output.
pub struct Done {
    pub stdout: String,
    /// The command and its output.
    pub report: String,
}

impl Step {
    pub fn new(directory: &Path, program: impl AsRef<OsStr>) -> Step {
        let mut command = command(&program);
        command.current_dir(directory);
        Step { command, line: quoted(program.as_ref()), directory: directory.to_owned() }
    }

    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Step {
        let _ = write!(self.line, " {}", quoted(argument.as_ref()));
        self.command.arg(argument);
        self
    }

    pub fn args<I: IntoIterator<Item: AsRef<OsStr>>>(self, arguments: I) -> Step {
        arguments.into_iter().fold(self, Step::arg)
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Step {
        self.line.insert_str(0, &format!("{name}={} ", quoted(value.as_ref())));
        self.command.env(name, value);
        self
    }

    /// Runs the command. Anything but exit status 0 is an error.
    pub fn run(mut self) -> Result<Done> {
        let report = format!("in     {}\nran    {}", self.directory.display(), self.line);
        let output = self.command.output().with_context(|| format!("the command could not be started\n{report}"))?;
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let report = format!("{report}\n{}{}", block("stdout", &stdout), block("stderr", &stderr));
        if output.status.success() {
            Ok(Done { stdout, report })
        } else {
            Err(anyhow!("the command failed: {}\n{report}", output.status))
        }
    }
}

impl Done {
    /// Returns an error about this command, with the command and its output.
    pub fn error(&self, message: impl std::fmt::Display) -> Error {
        anyhow!("{message}\n{}", self.report)
    }
}

fn block(title: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{title}:\n{}\n", text.trim_end()) }
}

/// Quotes an argument for a shell.
fn quoted(argument: &OsStr) -> String {
    let text = argument.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+:,./@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
