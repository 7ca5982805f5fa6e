//! The hosts, and the paths of the tools for them on this machine.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use anyhow::Result;

use crate::debian::debian;

/// A host and its names in other tools.
pub struct Host {
    /// Name of the machine; its triple begins with it.
    pub name: &'static str,
    /// Debian's triple, which also begins the names of its tools.
    pub triple: &'static str,
    emulator: &'static str,
    /// Debian's name of the architecture, if it has a C library for it.
    debian: Option<&'static str>,
    linkers: Vec<Linker>,
}

/// A linker; its name is part of the names of trials.
#[derive(Clone, Copy, PartialEq)]
pub enum Linker {
    Lld,
    Bfd,
    Mold,
    Gold,
}

use Linker::{Bfd, Gold, Lld, Mold};

/// Every host with Linux.
pub static HOSTS: LazyLock<Vec<Host>> =
    LazyLock::new(|| fatbin::Host::ALL.iter().copied().filter_map(Host::new).collect());

/// A tool that is not on this machine.
#[derive(Debug)]
pub struct Missing {
    name: String,
    package: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} not found (Debian package {})", self.name, self.package)
    }
}

impl std::error::Error for Missing {}

impl Host {
    fn new(host: fatbin::Host) -> Option<Self> {
        let debian = debian(host)?;
        let linkers = Linker::ALL.into_iter().filter(|linker| debian.linkers.contains(&linker.name())).collect();
        Some(Host {
            name: host.name(),
            triple: debian.triple,
            emulator: debian.emulator,
            debian: debian.architecture,
            linkers,
        })
    }

    pub fn linkers(&self) -> &[Linker] {
        &self.linkers
    }

    pub fn has_c_library(&self) -> bool {
        self.debian.is_some()
    }

    /// Returns whether this is the machine that the test runs on.
    fn is_native(&self) -> bool {
        cfg!(target_os = "linux") && self.name == std::env::consts::ARCH
    }

    /// Returns the emulator for programs of this host; `None` on the host itself.
    pub fn emulator(&self) -> Result<Option<PathBuf>> {
        if self.is_native() { Ok(None) } else { in_path(self.emulator, "qemu-user").map(Some) }
    }

    /// Returns the root directory of the libraries.
    pub fn root(&self) -> PathBuf {
        if self.is_native() { "/".into() } else { format!("/usr/{}", self.triple).into() }
    }

    /// Checks for the parts of the C library and of libgcc that a link needs.
    pub fn needs_libraries(&self) -> Result<()> {
        let Some(debian) = self.debian else { return Ok(()) };
        let (c_library, compiler_library) = if self.is_native() {
            (format!("/usr/lib/{}/crt1.o", self.triple), format!("/usr/lib/gcc/{}", self.triple))
        } else {
            (format!("/usr/{}/lib/crt1.o", self.triple), format!("/usr/lib/gcc-cross/{}", self.triple))
        };
        let cross = if self.is_native() { String::new() } else { format!("-{debian}-cross") };
        exists(&c_library, format!("libc6-dev{cross}"))?;
        exists(&compiler_library, format!("libgcc-12-dev{cross}"))
    }

    pub fn linker(&self, linker: Linker) -> Result<PathBuf> {
        let gnu_package = format!("binutils-{}", self.triple.replace('_', "-"));
        match linker {
            Lld => in_llvm("ld.lld", "lld-22"),
            Bfd => in_path(&format!("{}-ld.bfd", self.triple), &gnu_package),
            Gold => in_path(&format!("{}-ld.gold", self.triple), &gnu_package),
            Mold => in_path("mold", "mold"),
        }
    }
}

impl Linker {
    const ALL: [Linker; 4] = [Lld, Bfd, Mold, Gold];

    pub fn name(self) -> &'static str {
        match self {
            Lld => "lld",
            Bfd => "bfd",
            Mold => "mold",
            Gold => "gold",
        }
    }
}

/// Returns the path of clang, which compiles for every host.
pub fn clang() -> Result<PathBuf> {
    in_llvm("clang", "clang-22")
}

fn in_llvm(name: &str, package: &str) -> Result<PathBuf> {
    let path = PathBuf::from("/usr/lib/llvm-22/bin").join(name);
    exists(&path, package)?;
    Ok(path)
}

fn in_path(name: &str, package: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|directory| directory.join(name)).find(|path| path.is_file());
    Ok(found.ok_or_else(|| Missing { name: name.to_owned(), package: package.to_owned() })?)
}

fn exists(path: impl AsRef<Path>, package: impl Into<String>) -> Result<()> {
    if path.as_ref().exists() {
        return Ok(());
    }
    Err(Missing { name: path.as_ref().display().to_string(), package: package.into() })?
}
