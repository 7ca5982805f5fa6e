//! `fatbin install-links`.

use std::env::consts::EXE_SUFFIX;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use super::Status;
use super::failure::{Context, Result, bail};
use super::headings::SELECTION;
use super::outputs::OutputArgument;
use super::session::Session;
use super::value_enum::{EXTRA_TOOLS, one_of};
use fatbin_core::base::error::Error;
use fatbin_core::base::io::{FileSet, Output, OutputKind, OutputName};
use fatbin_dropin::{ExtraTools, stand_in};
use fatbin_ops::embed::llvm::Release;

/// Text before the version in the output of clang's option `--version`.
const CLANG_VERSION: &str = "clang version ";

/// Create links under the names of the tools that fatbin replaces
///
/// The tools are LLVM's and NVIDIA's fatbinary. A clang that searches this directory first (-B DIR, or DIR at the front
/// of PATH) runs this program instead of these tools. Existing links are replaced; any other file of such a name is an
/// error and is left alone. The path of each link is printed. On Windows, copies take the place of links.
///
/// The tools of each LLVM release differ in formats and rules. With --llvm or --for, the directory records the release
/// in a file `fatbin-llvm`, and its links behave as the tools of that release. A version in the name of a link
/// (clang-offload-bundler-19) and the environment variable FATBIN_LLVM win over that file.
///
/// Exit status: 0 if all links were created, 2 otherwise.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Directory for the links; created if missing
    #[arg(value_name = "DIR")]
    directory: OutputArgument,

    /// Release of LLVM that the links behave as, such as 19
    #[arg(help_heading = SELECTION, long, value_name = "RELEASE", value_parser = parse_release)]
    llvm: Option<Release>,

    /// Also link these tools, which compilers do not call
    #[arg(help_heading = SELECTION, long, value_name = "TOOLS", value_parser = one_of(EXTRA_TOOLS), value_delimiter = ',')]
    with: Vec<ExtraTools>,

    /// Take the release from this compiler, such as clang-19 or hipcc
    #[arg(help_heading = SELECTION, long = "for", value_name = "COMPILER", conflicts_with = "llvm")]
    compiler: Option<PathBuf>,
}

/// Runs the command.
pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let directory = arguments.directory.path();
    let release = match &arguments.compiler {
        Some(compiler) => Some(release_of(compiler)?),
        None => arguments.llvm,
    };
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    std::fs::create_dir_all(directory).map_err(Error::io(directory, "create"))?;
    let names = fatbin_dropin::names(release, &arguments.with);
    let links: Vec<PathBuf> = names.map(|name| link_path(directory, name, EXE_SUFFIX)).collect();
    // All links are created, or none.
    for link in &links {
        if link.symlink_metadata().is_ok() && !is_replaceable(&program, link)? {
            bail!("{}: already exists and is not a link; remove it first", link.display());
        }
    }
    record(directory, release)?;
    for link in &links {
        create(&program, link).map_err(Error::io(link, "create"))?;
    }
    session.print_paths(&links)?;
    Ok(Status::Yes)
}

fn parse_release(text: &str) -> Result<Release, String> {
    stand_in::parse(text)
}

/// Records the release of the links in a directory, or removes the record of an earlier call.
fn record(directory: &Path, release: Option<Release>) -> Result<()> {
    let file = directory.join(stand_in::RELEASE_FILE);
    let written = match release {
        Some(release) => return Ok(write_text(directory, &format!("{}\n", release.name))?),
        None => match std::fs::remove_file(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        },
    };
    written.with_context(|| format!("{}: cannot write", file.display()))
}

/// Writes the record. A link of its name is replaced, not followed.
fn write_text(directory: &Path, text: &str) -> fatbin_core::base::error::Result<()> {
    let name = OutputName::of(stand_in::RELEASE_FILE);
    let place = FileSet::new().output_in(directory, &name, OutputKind::Text)?;
    Output::of_bytes(place, text.as_bytes())
}

/// Reads the LLVM release of a compiler from the output of its option `--version`.
fn release_of(compiler: &Path) -> Result<Release> {
    let compiler_name = compiler.display();
    let output = Command::new(compiler).arg("--version").output().map_err(Error::io(compiler, "run"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = if output.status.success() { clang_version(&text) } else { None };
    version.map(Release::numbered).with_context(|| {
        format!("{compiler_name} --version: expected \"clang version N\"; specify the release with --llvm")
    })
}

/// Parses the major version in the line `clang version N`, which every vendor's clang prints. Returns `None` for
/// Apple's clang, because Apple numbers its releases differently.
fn clang_version(text: &str) -> Option<u32> {
    let line = text.lines().find(|line| line.contains(CLANG_VERSION) && !line.starts_with("Apple "))?;
    let (_, version) = line.split_once(CLANG_VERSION)?;
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Appends the executable suffix: Windows runs only files whose name ends in it.
fn link_path(directory: &Path, tool: &str, executable_suffix: &str) -> PathBuf {
    directory.join(format!("{tool}{executable_suffix}"))
}

/// Returns whether an existing file was created by this command.
#[cfg(unix)]
fn is_replaceable(_program: &Path, existing: &Path) -> Result<bool> {
    Ok(existing.is_symlink())
}

/// Returns whether an existing file was created by this command, which leaves copies of this program.
#[cfg(not(unix))]
fn is_replaceable(program: &Path, existing: &Path) -> Result<bool> {
    let read = |path: &Path| std::fs::read(path).with_context(|| format!("{}: cannot read", path.display()));
    Ok(existing.is_file() && read(existing)? == read(program)?)
}

/// Creates a link, or replaces an existing one in a single step.
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
    fn reads_the_version_of_every_vendors_clang() {
        let outputs = [
            ("Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu\n", Some(14)),
            ("clang version 22.1.8 (https://github.com/llvm/llvm-project)\n", Some(22)),
            ("HIP version: 6.2.41134\nAMD clang version 18.0.0git (roc-6.2.4)\nTarget: x86_64\n", Some(18)),
            ("Ubuntu clang version 19\n", Some(19)),
            ("Apple clang version 17.0.0 (clang-1700.0.13.3)\n", None),
            ("g++ (Debian 12.2.0-14) 12.2.0\n", None),
            ("clang version unknown\n", None),
            ("", None),
        ];
        for (text, version) in outputs {
            assert_eq!(clang_version(text), version, "{text}");
        }
    }

    #[test]
    fn links_end_in_the_suffix_of_executables() {
        let directory = Path::new("bin");
        assert_eq!(link_path(directory, "llvm-offload-binary", ".exe"), directory.join("llvm-offload-binary.exe"));
        assert_eq!(link_path(directory, "llvm-offload-binary", ""), directory.join("llvm-offload-binary"));
    }
}
