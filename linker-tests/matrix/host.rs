//! The columns of the matrix: hosts, how programs for them are compiled, linked and run, and which links do not exist.
//!
//! Linkers are called directly, not through a compiler: that is one process a link instead of three, it is the same for
//! every host and linker, and a C library without a compiler of its own is enough (Debian's cross libcs).

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use anyhow::{Context, Result};

use crate::debian::debian;
use crate::harness::step::Step;
use crate::harness::tools::{Linker, Missing, Tool, in_path};

pub struct Host {
    pub name: &'static str,
    /// As LLVM's tools and `fatbin wrap --host` have it.
    pub triple: &'static str,
    /// As Debian names directories and binutils.
    gnu: &'static str,
    libc: Libc,
    dynamic_linker: &'static str,
    emulator: &'static str,
    /// Names of the linkers that support the host.
    linkers: &'static [&'static str],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Libc {
    /// Of the machine that all this runs on.
    Native,
    /// In Debian's packages for cross compilers, by its name for the host.
    Cross(&'static str),
    /// A few lines of our own, `freestanding.c`.
    Ours,
}

/// Every host of the library.
pub static HOSTS: LazyLock<Vec<Host>> = LazyLock::new(|| fatbin::host::Host::ALL.into_iter().map(Host::new).collect());

/// How the wrapper object gets into the program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A position-independent program.
    Pie,
    /// A program at a fixed address.
    NoPie,
    /// The same without any shared library.
    Static,
    /// A shared library that the program is linked with.
    Shared,
    /// Two links: `ld -r` of host object and wrapper object, then that of a position-independent program.
    Relocatable,
    /// A shared library that a program opens, uses and closes.
    Dlopen,
}

impl Form {
    pub const ALL: [Form; 6] = [Form::Pie, Form::NoPie, Form::Static, Form::Shared, Form::Relocatable, Form::Dlopen];

    pub fn name(self) -> &'static str {
        match self {
            Form::Pie => "pie",
            Form::NoPie => "no-pie",
            Form::Static => "static",
            Form::Shared => "shared",
            Form::Relocatable => "relocatable",
            Form::Dlopen => "dlopen",
        }
    }

    /// Whether the offload entries come from `fatbin wrap --entry`; in the other forms the host program has them.
    pub fn entries_from_options(self) -> bool {
        matches!(self, Form::NoPie | Form::Shared | Form::Relocatable)
    }
}

/// What a link makes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Output {
    Pie,
    NoPie,
    Static,
    Library,
}

/// The links that do not exist, each with its reason: host, linker, form (`*` for any).
#[rustfmt::skip]
const NONE: [(&str, &str, &str, &str); 7] = [
    ("riscv64",     "gold", "*",      "gold was never ported to RISC-V"),
    ("loongarch64", "gold", "*",      "gold was never ported to LoongArch"),
    ("loongarch64", "bfd",  "*",      "Debian 12 has no binutils for LoongArch"),
    ("loongarch64", "mold", "*",      "mold 1.10, that of Debian 12, does not know LoongArch"),
    ("loongarch64", "lld",  "static", "without a C library no-pie is static already"),
    ("loongarch64", "lld",  "shared", "Debian 12 has no C library for LoongArch, and so no dynamic linker"),
    ("loongarch64", "lld",  "dlopen", "Debian 12 has no C library for LoongArch, and so no dynamic linker"),
];

impl Host {
    fn new(host: fatbin::host::Host) -> Self {
        let debian = debian(host);
        let libc = match debian.architecture {
            Some("amd64") => Libc::Native,
            Some(architecture) => Libc::Cross(architecture),
            None => Libc::Ours,
        };
        let (name, triple) = (host.name(), host.triple());
        Host {
            name,
            triple,
            gnu: debian.triple,
            libc,
            dynamic_linker: debian.dynamic_linker,
            linkers: debian.linkers,
            emulator: debian.emulator,
        }
    }

    /// Why there is no such link, if there is none.
    pub fn lacks(&self, linker: Linker, form: Form) -> Option<&'static str> {
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

    /// Whether there is a C library, with a dynamic linker, and not just a few lines in place of one.
    pub fn has_libc(&self) -> bool {
        self.libc != Libc::Ours
    }

    /// A compiler for the host, with warnings as errors.
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

    /// What compilers have to leave out because the emulator cannot do it: the vectors of LoongArch, in qemu 7.2.
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

    /// A link with the C library, called in `directory`.
    pub fn link(&self, linker: Linker, directory: &Path, output: Output) -> Result<Step> {
        if !self.has_libc() {
            let step = Step::new(directory, self.linker(linker)?);
            return Ok(step.args(if output == Output::Pie {
                ["-pie", "--no-dynamic-linker"]
            } else {
                ["-static", "-no-pie"]
            }));
        }
        let (libc, gcc) = (self.library_directory()?, self.gcc_directory()?);
        let step = Step::new(directory, self.linker(linker)?).args(["--eh-frame-hdr", "--build-id=none"]);
        let step = match output {
            Output::Pie => step.args(["-pie", "-dynamic-linker", self.dynamic_linker]).arg(libc.join("Scrt1.o")),
            Output::NoPie => step.args(["-no-pie", "-dynamic-linker", self.dynamic_linker]).arg(libc.join("crt1.o")),
            Output::Static => step.arg("-static").arg(libc.join("crt1.o")),
            Output::Library => step.arg("-shared"),
        };
        let begin = match output {
            Output::Pie | Output::Library => "crtbeginS.o",
            Output::NoPie => "crtbegin.o",
            Output::Static => "crtbeginT.o",
        };
        Ok(step.arg(libc.join("crti.o")).arg(gcc.join(begin)))
    }

    /// What comes after the objects of a link.
    pub fn end_of_link(&self, step: Step, output: Output) -> Result<Step> {
        if !self.has_libc() {
            return Ok(step);
        }
        let (libc, gcc) = (self.library_directory()?, self.gcc_directory()?);
        let step = step.arg("-L").arg(&gcc).arg("-L").arg(&libc);
        let libraries: &[&str] = match output {
            Output::Static => &["--start-group", "-lgcc", "-lgcc_eh", "-lc", "--end-group"],
            _ => &["-lc", "-lgcc"],
        };
        let end = match output {
            Output::Pie | Output::Library => "crtendS.o",
            Output::NoPie | Output::Static => "crtend.o",
        };
        Ok(step.args(libraries).arg(gcc.join(end)).arg(libc.join("crtn.o")))
    }

    /// Runs a program for this host, on a processor in software where need be.
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

    /// Where the C library is.
    fn library_directory(&self) -> Result<PathBuf> {
        let directories = [PathBuf::from("/usr").join(self.gnu).join("lib"), PathBuf::from("/usr/lib").join(self.gnu)];
        let missing = || Missing::new(&format!("crt1.o for {}", self.name), &self.package("libc6-dev", "libc6-dev"));
        Ok(directories.into_iter().find(|directory| directory.join("crt1.o").is_file()).ok_or_else(missing)?)
    }

    /// Where the compiler's part of a program is: the newest release of it.
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

/// A file's text, with the file's name in the error.
pub fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}
