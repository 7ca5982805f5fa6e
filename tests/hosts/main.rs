//! Objects for every host machine, linked by every linker that knows it and run under an emulator.
//!
//! An instruction that is wrong in one bit still links. So the programs here print all that an object's functions hand to
//! a runtime, and have to print the same on every machine: what stands in `registration.out`, which the x86-64 code, run
//! natively, gives as well. A second program unwinds the stack through an object's functions (`unwinding.c`).
//!
//! ```text
//! cargo test --test hosts                  # everything
//! cargo test --test hosts aarch64/lld      # one machine, one linker
//! ```
//!
//! What a trial makes stays in `target/tmp/hosts`. A trial that lacks a tool is ignored and says which Debian package has
//! it ([`tools`]); with `FATBIN_STRICT=1` in the environment it fails instead.

#[path = "../../linker-tests/debian.rs"]
mod debian;
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

/// What is linked.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Pie,
    NonPie,
    /// The objects are in a library, so that all their calls leave it through its PLT.
    Library,
    /// The program that unwinds.
    Unwinding,
    /// A program whose code lies in guarded pages, where the processor takes indirect branches only to landing pads
    /// (AArch64).
    Guarded,
}

impl Form {
    fn name(self) -> &'static str {
        match self {
            Form::Pie => "pie",
            Form::NonPie => "non-pie",
            Form::Library => "library",
            Form::Unwinding => "unwinding",
            Form::Guarded => "guarded",
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    libtest_mimic::run(&arguments, HOSTS.iter().flat_map(trials).collect()).exit_code()
}

fn trials(host: &'static Host) -> Vec<Trial> {
    let forms: &[Form] = match host.has_c_library() {
        true => &[Form::Pie, Form::NonPie, Form::Library, Form::Unwinding],
        false => &[Form::Pie, Form::NonPie],
    };
    let trial = |linker: Linker, form: Form| {
        let name = format!("hosts/{}/{}/{}", host.name, linker.name(), form.name());
        Trial::ignorable_test(name, move || completion(links_and_runs(host, linker, form)))
    };
    let mut trials: Vec<Trial> =
        host.linkers().iter().flat_map(|&linker| forms.iter().map(move |&form| trial(linker, form))).collect();
    if host.name == "aarch64" {
        trials.push(trial(Linker::Lld, Form::Guarded));
    }
    trials
}

/// A missing tool is no failure of what is tested, but neither is it a success: it is said, or, in strict mode, failed.
fn completion(result: Result<()>) -> Result<Completion, Failed> {
    let Err(error) = result else { return Ok(Completion::Completed) };
    let strict = std::env::var_os("FATBIN_STRICT").is_some_and(|value| value == "1");
    match error.downcast_ref::<Missing>() {
        Some(missing) if !strict => Ok(Completion::ignored_with(missing)),
        _ => Err(Failed::from(format!("{error:#}"))),
    }
}

fn links_and_runs(host: &Host, linker: Linker, form: Form) -> Result<()> {
    let bench = Bench::new(host, linker, form)?;
    let expected = match form {
        Form::Unwinding => include_str!("unwinding.out"),
        _ => include_str!("registration.out"),
    };
    match form {
        Form::Unwinding => {
            plan::emit(&plan::unwinding(), host.triple, &bench.folder.join("plan.o"))?;
            bench.compile().args(["-fexceptions", "-pie", "-fPIE", "plan.o"]).arg(source("unwinding.c")).run()?;
        }
        _ => {
            plan::emit(&plan::registration(), host.triple, &bench.folder.join("plan.o"))?;
            bench.wrap()?;
            bench.link(form)?;
        }
    }
    let ran = bench.run()?;
    if ran.stdout != expected {
        return Err(ran.error(format!("the program should print:\n{expected}")));
    }
    Ok(())
}

/// A folder and the tools to make one program in it.
struct Bench<'host> {
    host: &'host Host,
    folder: PathBuf,
    compiler: PathBuf,
    linker: PathBuf,
    emulator: Option<PathBuf>,
}

impl<'host> Bench<'host> {
    /// Says first what is missing.
    fn new(host: &'host Host, linker: Linker, form: Form) -> Result<Self> {
        host.needs_libraries()?;
        let (compiler, emulator, linker_path) = (tools::clang()?, host.emulator()?, host.linker(linker)?);
        let name = format!("{}-{}-{}", host.name, linker.name(), form.name());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hosts").join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
        }
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        Ok(Bench { host, folder, compiler, linker: linker_path, emulator })
    }

    /// The object that the program itself makes.
    fn wrap(&self) -> Result<Done> {
        let image = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/answer-gfx90a.hsaco");
        let arguments = ["wrap", "--kind", "openmp", "-o", "wrapped.o", "--host", self.host.triple, image];
        Step::new(&self.folder, env!("CARGO_BIN_EXE_fatbin")).args(arguments).run()
    }

    /// A compiler for the host, which also links, into `program`.
    fn compile(&self) -> Step {
        let linker = format!("--ld-path={}", self.linker.display());
        let target = format!("--target={}", self.host.triple);
        Step::new(&self.folder, &self.compiler).args([&target, &linker]).args(["-O2", "-Wall", "-o", "program"])
    }

    fn link(&self, form: Form) -> Result<Done> {
        let objects = ["wrapped.o", "plan.o"];
        let (judge, main) = (source("registration.c"), source("main.c"));
        if form == Form::Library {
            let library = self.compile().args(["-shared", "-fPIC", "-o", "library.so"]);
            library.args(objects).arg(judge).run()?;
            // With a slash in its name, so that the loader looks for it in the folder where the program is started.
            return self.compile().args(["-pie", "-fPIE"]).arg(main).arg("./library.so").run();
        }
        if form == Form::Guarded {
            // Without the flag, the C library's own objects would make the program's pages ordinary ones.
            let flags = ["-pie", "-fPIE", "-mbranch-protection=standard", "-nostartfiles", "-Wl,-z,force-bti"];
            let start = source("start-aarch64.s");
            return self.compile().args(flags).arg(start).arg(judge).arg(main).args(objects).run();
        }
        let (hosted, freestanding) = match form {
            Form::Pie => (["-pie", "-fPIE"], ["-static-pie", "-fPIE"]),
            _ => (["-no-pie", "-fno-pie"], ["-static", "-fno-pie"]),
        };
        let compile = match self.host.has_c_library() {
            true => self.compile().args(hosted),
            // The emulator of Debian 12 (qemu 7.2) does not know the vector instructions that clang 22 uses by default.
            false => self
                .compile()
                .args(freestanding)
                .args(["-nostdlib", "-ffreestanding", "-mno-lsx"])
                .arg(source("freestanding.c")),
        };
        compile.arg(judge).arg(main).args(objects).run()
    }

    fn run(&self) -> Result<Done> {
        match &self.emulator {
            Some(emulator) => {
                Step::new(&self.folder, emulator).env("QEMU_LD_PREFIX", self.host.root()).arg("./program").run()
            }
            None => Step::new(&self.folder, "./program").run(),
        }
    }
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts").join(name)
}
