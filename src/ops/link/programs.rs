//! The programs that a link calls: their paths, and running them.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};

use super::error::{LinkError, Result};
use super::program_names::in_path;
use fatbin_core::base::io::ends_with_parent;
use fatbin_core::target::triple;

/// Places of the device linkers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramPaths {
    /// Linkers that the user specified for targets: a triple, or the architecture at its start.
    pub specified: Vec<(String, PathBuf)>,
    /// Directories that are searched before `PATH`.
    pub directories: Vec<PathBuf>,
    /// Major version that is appended to a name first: distributions install `ld.lld-22`.
    pub version: Option<u32>,
}

/// A command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

impl ProgramPaths {
    /// Path of the linker that the user specified for a triple.
    pub fn specified(&self, triple: &str) -> Option<PathBuf> {
        let architecture = triple.split('-').next().unwrap_or_default();
        let is_for = |target: &str| [triple, architecture].iter().any(|own| triple::are_compatible(target, own));
        let specified = self.specified.iter().rev().find(|(target, _)| is_for(target));
        specified.map(|(_, path)| path.clone())
    }

    /// Path of a program; `None` if it is not installed.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        let in_directories = self.directories.iter().map(|directory| directory.join(name)).find(|path| path.is_file());
        let versioned = self.version.map(|version| format!("{name}-{version}"));
        in_directories.or_else(|| versioned.as_deref().and_then(in_path)).or_else(|| in_path(name))
    }
}

impl CommandLine {
    /// Runs the program and captures what it prints, because several programs run at the same time.
    pub fn capture(&self) -> Result<Output> {
        let started = self.command().stdin(Stdio::null()).output();
        started.map_err(|cause| self.cannot_start(cause))
    }

    /// Runs the program with the inputs and outputs of this one.
    pub fn run(&self) -> Result<()> {
        self.check(self.command().status())
    }

    /// Runs the program like [`CommandLine::run`], and returns what it prints to standard output.
    pub fn run_and_capture(&self) -> Result<(String, Result<()>)> {
        let started = self.command().stdin(Stdio::inherit()).stderr(Stdio::inherit()).output();
        let Output { status, stdout, .. } = started.map_err(|cause| self.cannot_start(cause))?;
        Ok((String::from_utf8_lossy(&stdout).into_owned(), self.check(Ok(status))))
    }

    /// The process ends with this one.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        ends_with_parent(&mut command);
        command
    }

    fn check(&self, ended: io::Result<ExitStatus>) -> Result<()> {
        let status = ended.map_err(|cause| self.cannot_start(cause))?;
        if status.success() { Ok(()) } else { Err(LinkError::Failed { program: self.program.clone(), status }) }
    }

    fn cannot_start(&self, cause: io::Error) -> LinkError {
        LinkError::Start { program: self.program.clone(), cause }
    }

    /// Words of the command line.
    pub fn words(&self) -> impl Iterator<Item = &OsStr> {
        [Path::as_os_str(&self.program)].into_iter().chain(self.arguments.iter().map(OsString::as_os_str))
    }
}
