//! The columns of the matrix: hosts, the commands that compile, link and run programs for them, and the links that do not
//! exist.
//!
//! Linkers are run directly, not through a compiler. That is one process per link instead of three, it is the same for
//! every host and linker, and a C library without its own compiler is enough (Debian's cross libcs).

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use anyhow::{Context, Result};

use crate::debian::debian;
use crate::harness::step::Step;
use crate::harness::tools::{Linker, Missing, Tool, in_path};

/// A host and its tools.
pub struct Host {
    /// Name of the machine; its triple begins with it.
    pub name: &'static str,
    /// Triple for LLVM's tools and `fatbin wrap --host`.
    pub triple: &'static str,
    /// Triple in Debian's directories and names of binutils.
    gnu: &'static str,
    libc: Libc,
    dynamic_linker: &'static str,
    emulator: &'static str,
    /// Names of the linkers that support the host.
    linkers: &'static [&'static str],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Libc {
    /// The C library of the machine that the tests run on.
    Native,
    /// The C library of Debian's packages for cross compilers, by Debian's name of the architecture.
    Cross(&'static str),
    /// The few lines of `freestanding.c`.
    Ours,
}

/// Every host with Linux.
pub static HOSTS: LazyLock<Vec<Host>> =
    LazyLock::new(|| fatbin::Host::ALL.iter().copied().filter_map(Host::new).collect());

/// Kind of program that contains the wrapper object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ProgramForm {
    /// A position-independent program.
    Pie,
    /// A program at a fixed address.
    NoPie,
    /// A program at a fixed address without any shared library.
    Static,
    /// A shared library that the program is linked with.
    Shared,
    /// Two links: `ld -r` of host object and wrapper object, then the link of a position-independent program.
    Relocatable,
    /// A shared library that a program opens, uses and closes.
    Dlopen,
}

impl ProgramForm {
    pub const ALL: [ProgramForm; 6] = [
        ProgramForm::Pie,
        ProgramForm::NoPie,
        ProgramForm::Static,
        ProgramForm::Shared,
        ProgramForm::Relocatable,
        ProgramForm::Dlopen,
    ];

    pub fn name(self) -> &'static str {
        match self {
            ProgramForm::Pie => "pie",
            ProgramForm::NoPie => "no-pie",
            ProgramForm::Static => "static",
            ProgramForm::Shared => "shared",
            ProgramForm::Relocatable => "relocatable",
            ProgramForm::Dlopen => "dlopen",
        }
    }

    /// Returns whether the offload entries come from `fatbin wrap --entry`; in the other forms the host program has them.
    pub fn entries_from_options(self) -> bool {
        matches!(self, ProgramForm::NoPie | ProgramForm::Shared | ProgramForm::Relocatable)
    }
}

/// Output of a link.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum LinkOutput {
    Pie,
    NoPie,
    Static,
    Library,
}

/// Links that do not exist, each with its reason: host, linker, form (`*` for any).
#[rustfmt::skip]
const NONE: [(&str, &str, &str, &str); 7] = [
    ("riscv64",     "gold", "*",      "gold was never ported to RISC-V"),
    ("loongarch64", "gold", "*",      "gold was never ported to LoongArch"),
    ("loongarch64", "bfd",  "*",      "Debian 12 has no binutils for LoongArch"),
    ("loongarch64", "mold", "*",      "mold 1.10 of Debian 12 does not support LoongArch"),
    ("loongarch64", "lld",  "static", "without a C library no-pie is static already"),
    ("loongarch64", "lld",  "shared", "Debian 12 has no C library for LoongArch, and so no dynamic linker"),
    ("loongarch64", "lld",  "dlopen", "Debian 12 has no C library for LoongArch, and so no dynamic linker"),
];

impl Host {
    fn new(host: fatbin::Host) -> Option<Self> {
        let debian = debian(host)?;
        let libc = match debian.architecture {
            Some("amd64") => Libc::Native,
            Some(architecture) => Libc::Cross(architecture),
            None => Libc::Ours,
        };
        let (name, triple) = (host.name(), host.triple());
        Some(Host {
            name,
            triple,
            gnu: debian.triple,
            libc,
            dynamic_linker: debian.dynamic_linker,
            linkers: debian.linkers,
            emulator: debian.emulator,
        })
    }

    /// Returns the reason why a link does not exist, or `None` if it exists.
    pub fn lacks(&self, linker: Linker, form: ProgramForm) -> Option<&'static str> {
        let is = |pattern: &str, name: &str| pattern == "*" || pattern == name;
        let mut rows = NONE.into_iter();
        let row = rows.find(|row| is(row.0, self.name) && is(row.1, linker.name()) && is(row.2, form.name()));
        assert!(
            row.is_some() || self.linkers.contains(&linker.name()),
            "{}: no reason why {} cannot",
            self.name,
            linker.name()
        );
        row.map(|row| row.3)
    }

    fn is_native(&self) -> bool {
        self.libc == Libc::Native
    }

    /// Returns whether the host has a C library with a dynamic linker.
    pub fn has_libc(&self) -> bool {
        self.libc != Libc::Ours
    }

    /// Returns a compiler for the host, with warnings as errors.
    pub fn compiler(&self, directory: &Path) -> Result<Step> {
        let clang =
            || Ok::<_, anyhow::Error>(Step::new(directory, Tool::Clang.path()?).arg(format!("--target={}", self.gnu)));
        let step = match self.libc {
            Libc::Native => Step::new(directory, Tool::Cc.path()?),
            Libc::Cross(_) => clang()?.arg("-isystem").arg(self.library_directory()?.with_file_name("include")),
            Libc::Ours => clang()?.arg("-ffreestanding"),
        };
        Ok(step.args(self.machine_flags()).args(["-O1", "-fPIC", "-Wall", "-Wextra", "-Werror", "-c"]))
    }

    /// Returns compiler flags that avoid instructions missing in the emulator: the vectors of LoongArch, in qemu 7.2.
    pub fn machine_flags(&self) -> &'static [&'static str] {
        if self.name == "loongarch64" { &["-mno-lsx"] } else { &[] }
    }

    pub fn linker(&self, linker: Linker) -> Result<PathBuf> {
        let own = |name: &str| {
            let name = format!("{}-ld.{name}", self.gnu);
            in_path(&name).ok_or_else(|| Missing::new(&name, &format!("binutils-{}", self.gnu)).into())
        };
        match linker {
            Linker::Bfd | Linker::Gold if !self.is_native() => own(linker.name()),
            _ => linker.path(),
        }
    }

    /// Returns the start of a link with the C library, run in `directory`.
    pub fn link(&self, linker: Linker, directory: &Path, output: LinkOutput) -> Result<Step> {
        if !self.has_libc() {
            let step = Step::new(directory, self.linker(linker)?);
            return Ok(step.args(if output == LinkOutput::Pie {
                ["-pie", "--no-dynamic-linker"]
            } else {
                ["-static", "-no-pie"]
            }));
        }
        let (libc, gcc) = (self.library_directory()?, self.gcc_directory()?);
        let step = Step::new(directory, self.linker(linker)?).args(["--eh-frame-hdr", "--build-id=none"]);
        let step = match output {
            LinkOutput::Pie => step.args(["-pie", "-dynamic-linker", self.dynamic_linker]).arg(libc.join("Scrt1.o")),
            LinkOutput::NoPie => {
                step.args(["-no-pie", "-dynamic-linker", self.dynamic_linker]).arg(libc.join("crt1.o"))
            }
            LinkOutput::Static => step.arg("-static").arg(libc.join("crt1.o")),
            LinkOutput::Library => step.arg("-shared"),
        };
        let begin = match output {
            LinkOutput::Pie | LinkOutput::Library => "crtbeginS.o",
            LinkOutput::NoPie => "crtbegin.o",
            LinkOutput::Static => "crtbeginT.o",
        };
        Ok(step.arg(libc.join("crti.o")).arg(gcc.join(begin)))
    }

    /// Adds the arguments after the objects of a link.
    pub fn end_of_link(&self, step: Step, output: LinkOutput) -> Result<Step> {
        if !self.has_libc() {
            return Ok(step);
        }
        let (libc, gcc) = (self.library_directory()?, self.gcc_directory()?);
        let step = step.arg("-L").arg(&gcc).arg("-L").arg(&libc);
        let libraries: &[&str] = match output {
            LinkOutput::Static => &["--start-group", "-lgcc", "-lgcc_eh", "-lc", "--end-group"],
            _ => &["-lc", "-lgcc"],
        };
        let end = match output {
            LinkOutput::Pie | LinkOutput::Library => "crtendS.o",
            LinkOutput::NoPie | LinkOutput::Static => "crtend.o",
        };
        Ok(step.args(libraries).arg(gcc.join(end)).arg(libc.join("crtn.o")))
    }

    /// Returns a run of a program for this host, under an emulator on other machines.
    pub fn run(&self, directory: &Path, program: &Path) -> Result<Step> {
        if self.is_native() {
            return Ok(Step::new(directory, program));
        }
        let emulator = in_path(self.emulator).ok_or_else(|| Missing::new(self.emulator, "qemu-user"))?;
        let step = Step::new(directory, emulator);
        let step =
            if self.has_libc() { step.arg("-L").arg(self.library_directory()?.with_file_name("")) } else { step };
        Ok(step.arg(program))
    }

    /// Returns the directory of the C library.
    fn library_directory(&self) -> Result<PathBuf> {
        let directories = [PathBuf::from("/usr").join(self.gnu).join("lib"), PathBuf::from("/usr/lib").join(self.gnu)];
        let missing = || Missing::new(&format!("crt1.o for {}", self.name), &self.package("libc6-dev", "libc6-dev"));
        Ok(directories.into_iter().find(|directory| directory.join("crt1.o").is_file()).ok_or_else(missing)?)
    }

    /// Returns the directory of the compiler's startup objects, of the newest release.
    fn gcc_directory(&self) -> Result<PathBuf> {
        let parent = if self.is_native() { "/usr/lib/gcc" } else { "/usr/lib/gcc-cross" };
        let releases = std::fs::read_dir(Path::new(parent).join(self.gnu)).ok().into_iter().flatten().flatten();
        let directories =
            releases.map(|entry| entry.path()).filter(|directory| directory.join("crtbeginT.o").is_file());
        let missing = || Missing::new(&format!("crtbeginT.o for {}", self.name), &self.package("gcc", "libgcc-12-dev"));
        Ok(directories.max_by_key(|directory| release(directory)).ok_or_else(missing)?)
    }

    fn package(&self, native: &str, cross: &str) -> String {
        match self.libc {
            Libc::Cross(debian) => format!("{cross}-{debian}-cross"),
            _ => native.to_owned(),
        }
    }
}

fn release(directory: &Path) -> u32 {
    directory.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok()).unwrap_or_default()
}

/// Reads a text file; errors name the file.
pub fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}
