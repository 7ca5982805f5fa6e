//! Objects for every host, linked by every linker that supports it and run under an emulator.
//!
//! An instruction with one wrong bit still links. So the programs here print everything that an object's functions pass to a
//! runtime, and must print the same on every machine: the contents of `registration.out`, which the x86-64 code prints
//! natively as well. A second program unwinds the stack through an object's functions (`unwinding.c`).
//!
//! ```text
//! cargo test --test hosts                  # everything
//! cargo test --test hosts aarch64/lld      # one machine, one linker
//! ```
//!
//! The files of a trial stay in `target/tmp/hosts`. A trial without one of its tools is ignored and prints the Debian package
//! of the tool ([`tools`]); with `FATBIN_STRICT=1` in the environment it fails instead.

#[path = "../../linker-tests/harness/command.rs"]
mod command;
#[path = "../../linker-tests/debian.rs"]
mod debian;
#[path = "../../linker-tests/harness/lock.rs"]
mod lock;
mod plan;
#[path = "../../linker-tests/harness/step.rs"]
mod step;
mod tools;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use libtest_mimic::{Arguments, Completion, Failed, Trial};

use step::{Done, Step};
use tools::{HOSTS, Host, Linker, Missing};

/// Kind of program.
#[derive(Clone, Copy, PartialEq)]
enum ProgramKind {
    /// A position-independent program.
    Pie,
    /// A program at a fixed address.
    NonPie,
    /// A library with the objects, so that all their calls leave it through its PLT.
    Library,
    /// The program that unwinds the stack.
    Unwinding,
    /// A program in guarded pages, where the processor allows indirect branches only to landing pads (AArch64).
    Guarded,
}

impl ProgramKind {
    fn name(self) -> &'static str {
        match self {
            ProgramKind::Pie => "pie",
            ProgramKind::NonPie => "non-pie",
            ProgramKind::Library => "library",
            ProgramKind::Unwinding => "unwinding",
            ProgramKind::Guarded => "guarded",
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let lock = if arguments.list { Ok(None) } else { lock::wait_for_other_runs("hosts").map(Some) };
    match lock {
        Ok(_lock) => libtest_mimic::run(&arguments, HOSTS.iter().flat_map(trials).collect()).exit_code(),
        Err(error) => {
            eprintln!("hosts: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn trials(host: &'static Host) -> Vec<Trial> {
    let kinds: &[ProgramKind] = if host.has_c_library() {
        &[ProgramKind::Pie, ProgramKind::NonPie, ProgramKind::Library, ProgramKind::Unwinding]
    } else {
        &[ProgramKind::Pie, ProgramKind::NonPie]
    };
    let trial = |linker: Linker, kind: ProgramKind| {
        let name = format!("hosts/{}/{}/{}", host.name, linker.name(), kind.name());
        Trial::ignorable_test(name, move || completion(links_and_runs(host, linker, kind)))
    };
    let mut trials: Vec<Trial> =
        host.linkers().iter().flat_map(|&linker| kinds.iter().map(move |&kind| trial(linker, kind))).collect();
    if host.name == "aarch64" {
        trials.push(trial(Linker::Lld, ProgramKind::Guarded));
    }
    trials
}

/// Converts the result of a trial. A missing tool is neither a failure nor a success: the trial is ignored with the reason, or
/// fails in strict mode.
fn completion(result: Result<()>) -> Result<Completion, Failed> {
    let Err(error) = result else { return Ok(Completion::Completed) };
    let strict = std::env::var_os("FATBIN_STRICT").is_some_and(|value| value == "1");
    match error.downcast_ref::<Missing>() {
        Some(missing) if !strict => Ok(Completion::ignored_with(missing)),
        _ => Err(Failed::from(format!("{error:#}"))),
    }
}

fn links_and_runs(host: &Host, linker: Linker, kind: ProgramKind) -> Result<()> {
    let workspace = Workspace::new(host, linker, kind)?;
    let expected = match kind {
        ProgramKind::Unwinding => include_str!("unwinding.out"),
        _ => include_str!("registration.out"),
    };
    match kind {
        ProgramKind::Unwinding => {
            plan::emit(&plan::unwinding(), host.triple, &workspace.directory.join("plan.o"))?;
            workspace.compile().args(["-fexceptions", "-pie", "-fPIE", "plan.o"]).arg(source("unwinding.c")).run()?;
        }
        _ => {
            plan::emit(&plan::registration(), host.triple, &workspace.directory.join("plan.o"))?;
            workspace.wrap()?;
            workspace.link(kind)?;
        }
    }
    let ran = workspace.run()?;
    if ran.stdout != expected {
        return Err(ran.error(format!("the program should print:\n{expected}")));
    }
    Ok(())
}

/// A directory and the tools to build one program in it.
struct Workspace<'host> {
    host: &'host Host,
    directory: PathBuf,
    compiler: PathBuf,
    linker: PathBuf,
    emulator: Option<PathBuf>,
}

impl<'host> Workspace<'host> {
    /// Creates the directory; fails if a tool is missing.
    fn new(host: &'host Host, linker: Linker, kind: ProgramKind) -> Result<Self> {
        host.needs_libraries()?;
        let (compiler, emulator, linker_path) = (tools::clang()?, host.emulator()?, host.linker(linker)?);
        let name = format!("{}-{}-{}", host.name, linker.name(), kind.name());
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hosts").join(name);
        if directory.exists() {
            std::fs::remove_dir_all(&directory).with_context(|| directory.display().to_string())?;
        }
        std::fs::create_dir_all(&directory).with_context(|| directory.display().to_string())?;
        Ok(Workspace { host, directory, compiler, linker: linker_path, emulator })
    }

    /// Writes an object with `fatbin wrap`.
    fn wrap(&self) -> Result<Done> {
        let image = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/answer-gfx90a.hsaco");
        let arguments = ["wrap", "--kind", "openmp", "-o", "wrapped.o", "--host", self.host.triple, image];
        Step::new(&self.directory, env!("CARGO_BIN_EXE_fatbin")).args(arguments).run()
    }

    /// Returns a compiler for the host, which also links, with the output `program`.
    fn compile(&self) -> Step {
        let linker = format!("--ld-path={}", self.linker.display());
        let target = format!("--target={}", self.host.triple);
        Step::new(&self.directory, &self.compiler).args([&target, &linker]).args(["-O2", "-Wall", "-o", "program"])
    }

    fn link(&self, kind: ProgramKind) -> Result<Done> {
        let objects = ["wrapped.o", "plan.o"];
        let (judge, main) = (source("registration.c"), source("main.c"));
        if kind == ProgramKind::Library {
            let library = self.compile().args(["-shared", "-fPIC", "-o", "library.so"]);
            library.args(objects).arg(judge).run()?;
            // With a slash in its name, so that the loader looks in the program's working directory.
            return self.compile().args(["-pie", "-fPIE"]).arg(main).arg("./library.so").run();
        }
        if kind == ProgramKind::Guarded {
            // Without -nostartfiles, the C library's own objects would make the program's pages unguarded.
            let flags = ["-pie", "-fPIE", "-mbranch-protection=standard", "-nostartfiles", "-Wl,-z,force-bti"];
            let start = source("start-aarch64.s");
            return self.compile().args(flags).arg(start).arg(judge).arg(main).args(objects).run();
        }
        let (hosted, freestanding) = match kind {
            ProgramKind::Pie => (["-pie", "-fPIE"], ["-static-pie", "-fPIE"]),
            _ => (["-no-pie", "-fno-pie"], ["-static", "-fno-pie"]),
        };
        let compile = if self.host.has_c_library() {
            self.compile().args(hosted)
        } else {
            // The emulator of Debian 12 (qemu 7.2) does not support the vector instructions that clang 22 uses by default.
            let flags = ["-nostdlib", "-ffreestanding", "-mno-lsx"];
            self.compile().args(freestanding).args(flags).arg(source("freestanding.c"))
        };
        compile.arg(judge).arg(main).args(objects).run()
    }

    fn run(&self) -> Result<Done> {
        match &self.emulator {
            Some(emulator) => {
                Step::new(&self.directory, emulator).env("QEMU_LD_PREFIX", self.host.root()).arg("./program").run()
            }
            None => Step::new(&self.directory, "./program").run(),
        }
    }
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts").join(name)
}
