//! The tools that the trials use: their paths, and the packages that provide missing ones.
//!
//! A lookup returns the tool's path or the error [`Missing`], which decides at the end of the trial between "ignored" and
//! "failed". Trials cannot forget the check, and each tool is defined in one place.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Result;

/// Release of the reference tools. Compiler and runtime must be of one release: the layout of an offload entry differs
/// between releases.
const LLVM: &str = "22";

/// A tool of the reference or of the system.
#[derive(Clone, Copy)]
pub enum Tool {
    Cc,
    Cxx,
    Bfd,
    Gold,
    Lld,
    Mold,
    Clang,
    Objdump,
    Readobj,
    Ar,
    OffloadWrapper,
    OffloadBinary,
    OffloadBundler,
    Libomp,
    Libomptarget,
    LibLlvm,
    Objcopy,
    Opt,
    Readelf,
    Dwarfdump,
    Cxxfilt,
    Symbolizer,
    Ptxas,
    Fatbinary,
    Cuobjdump,
    Nvdisasm,
    Nvlink,
    Chromium,
    Chromedriver,
    Wine,
    MingwCc,
    LldLink,
    Ld64Lld,
    Dlltool,
    Bazel,
    Cmake,
    Make,
    Ninja,
    Git,
    PreCommit,
    Meson,
    Nm,
    Patchelf,
    PkgConfig,
    Valgrind,
}

/// The error about a tool that is not installed.
#[derive(Debug)]
pub struct Missing {
    name: String,
    remedy: String,
    /// Whether the tool may be missing in strict mode too.
    pub is_optional: bool,
}

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} not found ({})", self.name, self.remedy)
    }
}

impl std::error::Error for Missing {}

impl Missing {
    pub fn new(name: &str, package: &str) -> Missing {
        Missing::by(name, &format!("Debian package {package}"))
    }

    /// Creates the error about something that no Debian package provides.
    pub fn by(name: &str, remedy: &str) -> Missing {
        Missing { name: name.to_owned(), remedy: remedy.to_owned(), is_optional: false }
    }

    /// Creates the error about something that may be missing in strict mode too.
    pub fn optional(name: &str, remedy: &str) -> Missing {
        Missing { is_optional: true, ..Missing::by(name, remedy) }
    }
}

impl Tool {
    pub fn path(self) -> Result<PathBuf> {
        let found = match self {
            Tool::Cc => in_path("cc"),
            Tool::Cxx => in_path("c++"),
            Tool::Bfd => in_path("ld.bfd"),
            Tool::Gold => in_path("ld.gold"),
            Tool::Mold => in_path("ld.mold"),
            Tool::Wine => in_path("wine"),
            Tool::MingwCc => in_path("x86_64-w64-mingw32-gcc"),
            Tool::LldLink => llvm_program("lld-link"),
            Tool::Ld64Lld => llvm_program("ld64.lld"),
            Tool::Dlltool => llvm_program("llvm-dlltool"),
            Tool::Bazel => in_path("bazel"),
            Tool::Cmake => in_path("cmake"),
            Tool::Make => in_path("make"),
            Tool::Ninja => in_path("ninja"),
            Tool::Git => in_path("git"),
            Tool::PreCommit => in_path("pre-commit"),
            Tool::Meson => in_path("meson"),
            Tool::Nm => in_path("nm"),
            Tool::PkgConfig => in_path("pkg-config"),
            Tool::Valgrind => in_path("valgrind"),
            // Any release of the linker will do, and `cc -fuse-ld=lld` requires this name.
            Tool::Lld => in_path("ld.lld")
                .or_else(|| newest_llvm_directories().find_map(|directory| file(&directory, "bin/ld.lld"))),
            Tool::Clang => llvm_program("clang"),
            Tool::Objdump => llvm_program("llvm-objdump"),
            Tool::Readobj => llvm_program("llvm-readobj"),
            Tool::Ar => llvm_program("llvm-ar"),
            Tool::Objcopy => llvm_program("llvm-objcopy"),
            Tool::Opt => llvm_program("opt"),
            Tool::Readelf => llvm_program("llvm-readelf"),
            Tool::Dwarfdump => llvm_program("llvm-dwarfdump"),
            Tool::Cxxfilt => llvm_program("llvm-cxxfilt"),
            Tool::Symbolizer => llvm_program("llvm-symbolizer"),
            Tool::Ptxas => file(&fetched("cuda-tools"), "ptxas"),
            Tool::Fatbinary => file(&fetched("cuda-tools"), "fatbinary"),
            Tool::Cuobjdump => file(&fetched("cuda-tools"), "cuobjdump"),
            Tool::Nvdisasm => file(&fetched("cuda-disassembler"), "nvdisasm"),
            Tool::Nvlink => file(&fetched("cuda-tools"), "nvlink"),
            Tool::Patchelf => file(&fetched("patchelf"), "patchelf"),
            Tool::Chromium => in_path("chromium"),
            Tool::Chromedriver => in_path("chromedriver"),
            Tool::OffloadWrapper => llvm_program("llvm-offload-wrapper"),
            Tool::OffloadBinary => llvm_program("llvm-offload-binary"),
            Tool::OffloadBundler => llvm_program("clang-offload-bundler"),
            Tool::Libomp => file(&llvm_directory(), "lib/libomp.so"),
            Tool::LibLlvm => starting_with(Path::new("/usr/lib/x86_64-linux-gnu"), &format!("libLLVM.so.{LLVM}"))
                .or_else(|| starting_with(&llvm_directory().join("lib"), &format!("libLLVM.so.{LLVM}"))),
            // The file name ends in the minor release (22.1), and there is no link without it.
            Tool::Libomptarget => starting_with(&llvm_directory().join("lib"), &format!("libomptarget.so.{LLVM}")),
        };
        Ok(found.ok_or_else(|| self.missing())?)
    }

    fn missing(self) -> Missing {
        let (name, package) = match self {
            Tool::Ptxas => return not_fetched("ptxas"),
            Tool::Fatbinary => return not_fetched("fatbinary"),
            Tool::Cuobjdump => return not_fetched("cuobjdump"),
            Tool::Nvdisasm => return not_fetched("nvdisasm"),
            Tool::Nvlink => return not_fetched("nvlink"),
            Tool::Patchelf => return not_fetched("patchelf"),
            Tool::Wine => ("wine", "wine"),
            Tool::MingwCc => ("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64-win32"),
            Tool::LldLink => ("lld-link-22", "lld-22"),
            Tool::Ld64Lld => ("ld64.lld-22", "lld-22"),
            Tool::Dlltool => ("llvm-dlltool-22", "llvm-22"),
            Tool::Cc => ("cc", "gcc"),
            Tool::Cxx => ("c++", "g++"),
            Tool::Bfd => ("ld.bfd", "binutils"),
            Tool::Gold => ("ld.gold", "binutils-gold, or binutils before Debian 13"),
            Tool::Lld => ("ld.lld", "lld-22"),
            Tool::Mold => ("ld.mold", "mold"),
            Tool::Clang => ("clang-22", "clang-22"),
            Tool::Objdump => ("llvm-objdump-22", "llvm-22"),
            Tool::Readobj => ("llvm-readobj-22", "llvm-22"),
            Tool::Ar => ("llvm-ar-22", "llvm-22"),
            Tool::Objcopy => ("llvm-objcopy-22", "llvm-22"),
            Tool::Opt => ("opt-22", "llvm-22"),
            Tool::Readelf => ("llvm-readelf-22", "llvm-22"),
            Tool::Dwarfdump => ("llvm-dwarfdump-22", "llvm-22"),
            Tool::Cxxfilt => ("llvm-cxxfilt-22", "llvm-22"),
            Tool::Symbolizer => ("llvm-symbolizer-22", "llvm-22"),
            Tool::OffloadWrapper => ("llvm-offload-wrapper-22", "llvm-22"),
            Tool::OffloadBinary => ("llvm-offload-binary-22", "llvm-22"),
            Tool::OffloadBundler => ("clang-offload-bundler-22", "clang-tools-22"),
            Tool::Chromium => ("chromium", "chromium"),
            Tool::Chromedriver => ("chromedriver", "chromium-driver"),
            Tool::Libomp => ("libomp.so of LLVM 22", "libomp-22-dev"),
            Tool::LibLlvm => ("libLLVM.so.22", "libllvm22"),
            Tool::Libomptarget => ("libomptarget.so.22", "liboffload-22"),
            Tool::Bazel => ("bazel", "bazel-bootstrap"),
            Tool::Cmake => ("cmake", "cmake"),
            Tool::Make => ("make", "make"),
            Tool::Ninja => ("ninja", "ninja-build"),
            Tool::Git => ("git", "git"),
            Tool::PreCommit => ("pre-commit", "pre-commit"),
            Tool::Meson => ("meson", "meson"),
            Tool::Nm => ("nm", "binutils"),
            Tool::PkgConfig => ("pkg-config", "pkgconf"),
            Tool::Valgrind => ("valgrind", "valgrind"),
        };
        Missing::new(name, package)
    }
}

/// The linkers that link every case, named as in `cc -fuse-ld=`.
#[derive(Clone, Copy, PartialEq)]
pub enum Linker {
    Bfd,
    Gold,
    Lld,
    Mold,
}

impl Linker {
    pub const ALL: [Linker; 4] = [Linker::Bfd, Linker::Gold, Linker::Lld, Linker::Mold];

    pub fn name(self) -> &'static str {
        match self {
            Linker::Bfd => "bfd",
            Linker::Gold => "gold",
            Linker::Lld => "lld",
            Linker::Mold => "mold",
        }
    }

    /// Returns the path of the linker, for `-r`.
    pub fn path(self) -> Result<PathBuf> {
        match self {
            Linker::Bfd => Tool::Bfd,
            Linker::Gold => Tool::Gold,
            Linker::Lld => Tool::Lld,
            Linker::Mold => Tool::Mold,
        }
        .path()
    }

    /// Returns the flags that make `cc` use the linker, including its directory, which `cc` might not search.
    pub fn cc_flags(self) -> Result<Vec<String>> {
        let path = self.path()?;
        let directory = path.parent().unwrap_or(Path::new("/"));
        Ok(vec![format!("-fuse-ld={}", self.name()), format!("-B{}", directory.display())])
    }
}

/// Returns `PATH` with a directory at the front.
pub fn path_with(directory: &Path) -> Result<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = std::iter::once(directory.to_owned()).chain(std::env::split_paths(&path));
    Ok(std::env::join_paths(directories)?)
}

/// Finds a program in `PATH`.
pub fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).find_map(|directory| file(&directory, name))
}

/// Returns a directory of files that `scripts/test` fetches.
pub fn fetched(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/runtimes").join(name)
}

pub fn not_fetched(name: &str) -> Missing {
    Missing::by(name, "scripts/test --install fetches it")
}

/// Returns a program of an LLVM release other than the reference.
pub fn llvm_tool(name: &str, release: &str, package: &str) -> Result<PathBuf> {
    let versioned = format!("{name}-{release}");
    Ok(in_path(&versioned).ok_or_else(|| Missing::new(&versioned, package))?)
}

/// Returns an LLVM program by its versioned name, or by its plain name in the directory of that version.
fn llvm_program(name: &str) -> Option<PathBuf> {
    in_path(&format!("{name}-{LLVM}")).or_else(|| file(&llvm_directory().join("bin"), name))
}

/// Returns the directory of a release from Debian or apt.llvm.org.
pub fn llvm_directory() -> PathBuf {
    PathBuf::from(format!("/usr/lib/llvm-{LLVM}"))
}

fn newest_llvm_directories() -> impl Iterator<Item = PathBuf> {
    (10..=40).rev().map(|release| PathBuf::from(format!("/usr/lib/llvm-{release}")))
}

fn file(directory: &Path, name: &str) -> Option<PathBuf> {
    Some(directory.join(name)).filter(|path| path.is_file())
}

/// Finds a file by its name, optionally followed by a version, in a directory or below it.
pub fn find_in(directory: &Path, name: &str) -> Option<PathBuf> {
    let directories = || entries(directory).into_iter().filter(|path| path.is_dir());
    let below = || directories().find_map(|directory| find_in(&directory, name));
    file(directory, name).or_else(|| starting_with(directory, &format!("{name}."))).or_else(below)
}

fn starting_with(directory: &Path, prefix: &str) -> Option<PathBuf> {
    let is_match = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix));
    entries(directory).into_iter().find(is_match)
}

/// Returns the paths in a directory, sorted: of several matches, the same one is found on every file system.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).ok().into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
