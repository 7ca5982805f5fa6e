//! The command lines of a table, run one after the other in one directory by one side.
//!
//! Both sides use the same path, so that paths in outputs are equal. `links`, the directory of `-B`, contains the tools
//! of the release or the links of `fatbin install-links`. It also contains a copy of clang-linker-wrapper, because the
//! wrapper calls the tools in its own directory and ignores `-B`.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};

use super::table::{Line, Tool};
use crate::dropin::Side;
use crate::harness::command::command;
use crate::harness::fatbin_program;
use crate::harness::program::write_program;
use crate::harness::step::Step;
use crate::harness::tools::{self, Missing, fetched, llvm_tool, not_fetched};
use crate::linker_wrapper::stand_ins;
use crate::runtimes::openmp_library;

/// Directory of links to tools, of libraries, and of a CUDA installation in the directory of a session.
const LINKS: &str = "links";
const LIBRARIES: &str = "lib";
const CUDA: &str = "cuda";

pub struct Session {
    /// Directory of the command lines.
    pub directory: PathBuf,
    temporary: PathBuf,
    release: u32,
    clang: PathBuf,
}

/// Result of a command line.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    pub status: Option<i32>,
    /// Standard output and standard error.
    pub output: String,
    /// Commands that clang's driver ran.
    pub commands: String,
    /// Files that were created or changed, and removed ones without contents.
    pub files: BTreeMap<String, Option<File>>,
    /// Names of the files left in the directory of temporary files.
    pub temporary: Vec<String>,
}

/// Mode and contents of a file.
pub type File = (u32, Vec<u8>);

impl Session {
    /// Prepares the directories `run` and `tmp` in `directory`.
    pub fn prepare(directory: &Path, release: u32, side: Side, table: &str) -> Result<Session> {
        let clang = llvm_tool("clang", &release.to_string(), &format!("clang-{release}"))?;
        let session = Session { directory: directory.join("run"), temporary: directory.join("tmp"), release, clang };
        std::fs::create_dir(&session.directory)?;
        std::fs::create_dir(&session.temporary)?;
        session.link_sources(&directory.join("sources"))?;
        session.link_tools(side)?;
        if table.starts_with("openmp") {
            session.link_libraries()?;
        }
        if table == "cuda" {
            session.install_cuda()?;
        }
        Ok(session)
    }

    /// Links the sources to common copies: clang writes the inode of a source into the names of OpenMP's regions.
    fn link_sources(&self, common: &Path) -> Result<()> {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/drivers/sources");
        let is_first = !common.exists();
        std::fs::create_dir_all(common)?;
        for source in std::fs::read_dir(sources)? {
            let source = source?;
            let copy = common.join(source.file_name());
            if is_first {
                std::fs::copy(source.path(), &copy)?;
            }
            std::fs::hard_link(copy, self.directory.join(source.file_name()))?;
        }
        Ok(())
    }

    fn link_tools(&self, side: Side) -> Result<()> {
        let links = self.directory.join(LINKS);
        match side {
            Side::Ours => {
                let install = Step::new(&self.directory, fatbin_program()).arg("install-links");
                install.arg("--for").arg(&self.clang).arg(&links).run()?;
            }
            Side::Theirs => {
                std::fs::create_dir(&links)?;
                for tool in Tool::ALL.into_iter().filter(|tool| tool.exists_in(self.release)) {
                    let name = tool.name(self.release);
                    let path = match tool {
                        Tool::Fatbinary => fetched_tool(name)?,
                        _ if name == "llvm-offload-binary" => self.installed(name, "llvm")?,
                        _ => self.installed(name, "clang-tools")?,
                    };
                    symlink(path, links.join(name))?;
                }
            }
        }
        if !Tool::Fatbinary.exists_in(self.release) {
            // The stand-in of `install_cuda` is called on both sides.
            let _ = std::fs::remove_file(links.join(Tool::Fatbinary.name(self.release)));
        }
        let wrapper = links.join("clang-linker-wrapper");
        if wrapper.is_symlink() {
            std::fs::remove_file(&wrapper)?;
        }
        write_program(&wrapper, std::fs::read(self.installed("clang-linker-wrapper", "clang-tools")?)?)?;
        symlink(&self.clang, links.join("clang"))?;
        for name in ["lld", "ld.lld"] {
            symlink(self.installed(name, "lld")?, links.join(name))?;
        }
        Ok(())
    }

    fn installed(&self, name: &str, package: &str) -> Result<PathBuf> {
        let path = PathBuf::from(format!("/usr/lib/llvm-{}/bin/{name}", self.release));
        let missing = || Missing::new(&path.display().to_string(), &format!("{package}-{}", self.release));
        if path.is_file() { Ok(path) } else { Err(missing().into()) }
    }

    /// Links OpenMP's libraries and the plugins in the same directory, under the names that clang's driver uses.
    fn link_libraries(&self) -> Result<()> {
        let libraries = self.directory.join(LIBRARIES);
        std::fs::create_dir(&libraries)?;
        let release = self.release.to_string();
        let target = openmp_library(&release, "libomptarget.so")?;
        let omp = openmp_library(&release, "libomp.so.5")?;
        for directory in [&target, &omp].into_iter().filter_map(|library| library.parent()) {
            for library in std::fs::read_dir(directory)? {
                let library = library?;
                let name = library.file_name().to_string_lossy().into_owned();
                if name.starts_with("libomp") && name.contains(".so") && !libraries.join(&name).is_symlink() {
                    symlink(library.path(), libraries.join(name))?;
                }
            }
        }
        for (name, library) in [("libomp.so", omp), ("libomptarget.so", target)] {
            if !libraries.join(name).exists() {
                symlink(library, libraries.join(name))?;
            }
        }
        Ok(())
    }

    /// Creates a CUDA installation with NVIDIA's tools and the fatbinary in `links`. Compilers before LLVM 22 call a
    /// stand-in, because today's fatbinary does not accept their options.
    fn install_cuda(&self) -> Result<()> {
        let bin = stand_ins(&self.directory)?;
        std::fs::write(self.directory.join(CUDA).join("include/cuda.h"), "#define CUDA_VERSION 11050\n")?;
        for name in ["ptxas", "nvlink"] {
            std::fs::remove_file(bin.join(name))?;
            symlink(fetched_tool(name)?, bin.join(name))?;
        }
        if Tool::Fatbinary.exists_in(self.release) {
            let name = Tool::Fatbinary.name(self.release);
            std::fs::remove_file(bin.join(name))?;
            symlink(self.directory.join(LINKS).join(name), bin.join(name))?;
        }
        Ok(())
    }

    /// Runs command lines in order.
    pub fn run(&self, lines: &[Line]) -> Result<Vec<Outcome>> {
        let mut before = self.files()?;
        let mut outcomes = Vec::new();
        for line in lines {
            let (status, output, commands) = self.call(&line.command)?;
            let after = self.files()?;
            let mut files = BTreeMap::new();
            for name in before.keys().chain(after.keys()) {
                let now = after.get(name);
                if before.get(name) != now {
                    files.insert(name.clone(), now.cloned());
                }
            }
            outcomes.push(Outcome { status, output, commands, files, temporary: self.clear_temporary()? });
            before = after;
        }
        Ok(outcomes)
    }

    /// Moves the files to a separate directory, so that the other side can run in the same directory.
    pub fn close(self, to: &Path) -> Result<()> {
        std::fs::remove_dir(&self.temporary)?;
        Ok(std::fs::rename(&self.directory, to)?)
    }

    /// Runs a command, and returns its status, its output, and the commands that clang's driver ran.
    fn call(&self, line: &str) -> Result<(Option<i32>, String, String)> {
        let mut words = line.split_whitespace();
        let program = words.next().context("a command has a program")?;
        let mut command = match program {
            "clang" => command(&self.clang),
            "bundler" => command(self.directory.join(LINKS).join(Tool::Bundler.name(self.release))),
            _ if program.starts_with("./") => command(self.directory.join(program)),
            _ => command(program),
        };
        if program == "clang" {
            command.arg(format!("-B{LINKS}"));
        }
        let log = self.temporary.join("commands");
        let path = format!("{}/{CUDA}/bin:/usr/bin:/bin", self.directory.display());
        command.args(words).current_dir(&self.directory).stdin(Stdio::null());
        command.env("PATH", path).env("TMPDIR", &self.temporary);
        command.env("LD_LIBRARY_PATH", self.directory.join(LIBRARIES)).env("OMP_TARGET_OFFLOAD", "MANDATORY");
        command.env("CC_PRINT_OPTIONS", "1").env("CC_PRINT_OPTIONS_FILE", &log);
        let output = match command.output() {
            Ok(output) => output,
            // The program is the output of a command line that failed.
            Err(error) if program.starts_with("./") => return Ok((None, error.to_string(), String::new())),
            Err(error) => return Err(error).context(line.to_owned()),
        };
        // A program that is not clang's driver writes none.
        let commands = std::fs::read(&log).unwrap_or_default();
        let _ = std::fs::remove_file(&log);
        let printed = text_without_random_names(&[output.stdout, output.stderr].concat());
        Ok((output.status.code(), printed, text_without_random_names(&commands)))
    }

    /// Returns the files by name, except files in the directories of tools and libraries.
    fn files(&self) -> Result<BTreeMap<String, File>> {
        let mut files = BTreeMap::new();
        for entry in std::fs::read_dir(&self.directory)? {
            let path = entry?.path();
            if path.is_file() {
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                files.insert(name, (path.metadata()?.permissions().mode(), std::fs::read(&path)?));
            }
        }
        Ok(files)
    }

    /// Removes the temporary files that a command left, and returns their names.
    fn clear_temporary(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.temporary)? {
            names.push(text_without_random_names(entry?.file_name().as_encoded_bytes()));
        }
        names.sort();
        std::fs::remove_dir_all(&self.temporary)?;
        std::fs::create_dir(&self.temporary)?;
        Ok(names)
    }
}

/// Returns a program of CUDA.
fn fetched_tool(name: &str) -> Result<PathBuf> {
    Ok(tools::find_in(&fetched("cuda-tools"), name).ok_or_else(|| not_fetched(name))?)
}

impl Tool {
    fn exists_in(self, release: u32) -> bool {
        match self {
            Tool::Bundler => true,
            Tool::Packager => release >= 15,
            Tool::Wrapper => release <= 15,
            // That of CUDA 13 has the options that clang passes since LLVM 22.
            Tool::Fatbinary => release >= 22,
        }
    }
}

impl Outcome {
    /// Returns the drop-ins that a command called: itself, clang's driver, or clang-linker-wrapper with `-v`.
    pub fn calls(&self, line: &Line, release: u32) -> BTreeSet<Tool> {
        let is_called = |tool: &Tool| {
            let path = format!("{LINKS}/{}", tool.name(release));
            let is_program = |text: &str| text.contains(&format!("{path}\" ")) || text.contains(&format!("{path} "));
            is_program(&self.commands) || is_program(&self.output)
        };
        let mut calls: BTreeSet<Tool> = Tool::ALL.into_iter().filter(is_called).collect();
        if line.command.starts_with("bundler ") {
            calls.insert(Tool::Bundler);
        }
        calls
    }
}

/// Replaces the six random digits in each name of a temporary file, `kernel-12ab34.o`.
pub fn without_random_names(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: usize = 6;
    let mut replaced = bytes.to_vec();
    for at in (0..bytes.len()).filter(|&at| bytes[at] == b'-') {
        let name = &bytes[at + 1..];
        let is_random = name.iter().take_while(|byte| byte.is_ascii_hexdigit()).count() == DIGITS
            && !name.get(DIGITS).is_some_and(u8::is_ascii_alphanumeric);
        if is_random {
            replaced[at + 1..][..DIGITS].fill(b'X');
        }
    }
    replaced
}

fn text_without_random_names(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&without_random_names(bytes)).into_owned()
}
