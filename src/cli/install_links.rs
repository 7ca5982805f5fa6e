//! `fatbin install-links`.

use std::env::consts::EXE_SUFFIX;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;

use super::{Status, dropin};

/// Create links to this program under the names of the LLVM tools it replaces
///
/// A clang that searches this directory first (-B DIR, or DIR at the front of PATH) runs this program instead of the LLVM
/// tools. Existing links are replaced; any other file of such a name is an error and is left alone. The path of each link
/// is printed. On Windows, copies take the place of links.
///
/// Exit status: 0 if all links were created, 2 otherwise.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Directory for the links; created if missing
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<Status> {
    let directory = &arguments.directory;
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    std::fs::create_dir_all(directory).with_context(|| format!("{}: cannot create", directory.display()))?;
    let links: Vec<PathBuf> = dropin::names().map(|name| link_path(directory, name, EXE_SUFFIX)).collect();
    // All links are created, or none.
    for link in &links {
        if link.symlink_metadata().is_ok() && !is_replaceable(&program, link)? {
            bail!("{}: already exists and is not a link; remove it first", link.display());
        }
    }
    for link in &links {
        create(&program, link).with_context(|| format!("{}: cannot create", link.display()))?;
    }
    let mut out = io::stdout().lock();
    for link in &links {
        writeln!(out, "{}", link.display())?;
    }
    Ok(Status::Yes)
}

/// Returns the path under which a tool is found: Windows runs only files whose name ends in the suffix of executables.
fn link_path(directory: &Path, tool: &str, executable_suffix: &str) -> PathBuf {
    directory.join(format!("{tool}{executable_suffix}"))
}

/// Returns whether an existing file was created by this command.
#[cfg(unix)]
fn is_replaceable(_program: &Path, existing: &Path) -> Result<bool> {
    Ok(existing.is_symlink())
}

/// Returns whether an existing file was created by this command: whether it is a copy of this program.
#[cfg(not(unix))]
fn is_replaceable(program: &Path, existing: &Path) -> Result<bool> {
    let read = |path: &Path| std::fs::read(path).with_context(|| format!("{}: cannot read", path.display()));
    Ok(existing.is_file() && read(existing)? == read(program)?)
}

/// Creates a link. It takes the place of an existing one in a single step.
fn create(program: &Path, link: &Path) -> io::Result<()> {
    let temporary = link.with_extension("new");
    link_or_copy(program, &temporary)?;
    std::fs::rename(&temporary, link).inspect_err(|_| drop(std::fs::remove_file(&temporary)))
}

#[cfg(unix)]
fn link_or_copy(program: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(program, link)
}

/// Links require a privilege on Windows; a copy does not.
#[cfg(not(unix))]
fn link_or_copy(program: &Path, link: &Path) -> io::Result<()> {
    std::fs::copy(program, link).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_end_in_the_suffix_of_executables() {
        let directory = Path::new("bin");
        assert_eq!(link_path(directory, "llvm-offload-binary", ".exe"), directory.join("llvm-offload-binary.exe"));
        assert_eq!(link_path(directory, "llvm-offload-binary", ""), directory.join("llvm-offload-binary"));
    }
}
