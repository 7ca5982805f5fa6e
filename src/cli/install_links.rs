//! `fatbin install-links`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;

use super::{Status, dropin};

/// Make a folder in which this program has the names of the LLVM tools that it can stand in for
///
/// A clang that is told to look there first (-B DIR, or DIR at the front of PATH) then calls it instead of them. Links that
/// are there already are made anew; any other file of such a name is left alone and is an error. The path of each link is
/// printed.
///
/// Exit status: 0 if all links were made, 2 if not.
#[derive(Args)]
pub struct Arguments {
    /// The folder; it is made if need be
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub fn run(arguments: Arguments) -> Result<Status> {
    let directory = &arguments.directory;
    let program = std::env::current_exe().context("this program: cannot be found")?;
    std::fs::create_dir_all(directory).with_context(|| format!("{}: cannot create", directory.display()))?;
    let links: Vec<PathBuf> = dropin::names().map(|name| directory.join(name)).collect();
    // All or none.
    for link in &links {
        if link.symlink_metadata().is_ok_and(|there| !there.is_symlink()) {
            bail!("{}: is there already and is no link", link.display());
        }
    }
    for link in &links {
        make(&program, link).with_context(|| format!("{}: cannot link", link.display()))?;
    }
    let mut out = io::stdout().lock();
    for link in &links {
        writeln!(out, "{}", link.display())?;
    }
    Ok(Status::Yes)
}

/// A link that is complete before it takes the place of one that is there.
#[cfg(unix)]
fn make(program: &Path, link: &Path) -> io::Result<()> {
    let beside = link.with_extension("new");
    std::os::unix::fs::symlink(program, &beside)?;
    std::fs::rename(&beside, link).inspect_err(|_| drop(std::fs::remove_file(&beside)))
}

/// Where links take a privilege, a copy does as well.
#[cfg(not(unix))]
fn make(program: &Path, link: &Path) -> io::Result<()> {
    std::fs::copy(program, link.with_extension("exe")).map(|_| ())
}
