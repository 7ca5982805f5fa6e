//! Forms of a link line: each registers the kernels, or the link fails with a message.
//!
//! The device code of a HIP or OpenMP program is in objects, an archive, a thin archive, or an archive of bitcode.
//! `fatbin link` and the replacement of clang-linker-wrapper, called by clang, link it in every form. The runtime of
//! the program prints what is registered.
//!
//! `FATBIN_ALL_FORMS=1` links all forms with every client; else some forms are for some of them only.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::harness::command::command;
use crate::harness::fatbin_program;
use crate::harness::parallel::parallel;
use crate::harness::step::Step;
use crate::harness::tools::{Missing, Tool, llvm_tool};

/// Forms: a name and the words of the line behind the compiler. `M` are the objects of the program, `U` the files with
/// device code, `,U` the same with commas in front, `X U` with `-Xlinker` in front of each, and `L` each file as
/// `-l:FILE`.
const FORMS: [(&str, &str); 30] = [
    ("last", "M U"),
    ("first", "U M"),
    ("absolute", "M ABSOLUTE"),
    ("roundabout", "M ROUNDABOUT"),
    ("response", "M @unit.rsp"),
    ("all in response", "@all.rsp"),
    ("nested response", "M @outer.rsp"),
    ("quoted response", "M @quoted.rsp"),
    ("response of ld", "M -Wl,@unit.rsp"),
    ("response behind -Xlinker", "M -Xlinker @unit.rsp"),
    ("list", "M -Wl,U"),
    ("-Xlinker", "M X"),
    ("whole", "M -Wl,--whole-archive U -Wl,--no-whole-archive"),
    ("whole in a list", "M -Wl,--whole-archive,U,--no-whole-archive"),
    ("whole behind -Xlinker", "M -Xlinker --whole-archive X -Xlinker --no-whole-archive"),
    ("whole by state", "M -Wl,--push-state,--whole-archive U -Wl,--pop-state"),
    ("library", "M -L. L"),
    ("library in two words", "M -L . L2"),
    ("library in a list", "M -Wl,-L.,L"),
    ("library in lists", "M -Wl,-L -Wl,. -Wl,L"),
    ("library behind -Xlinker", "M -Xlinker -L. XL"),
    ("long library", "M -Wl,--library-path=.,LONG"),
    ("library of the environment", "M ENVIRONMENT"),
    ("static library", "M -Wl,-Bstatic -L. L -Wl,-Bdynamic"),
    ("group", "M -Wl,--start-group U -Wl,--end-group"),
    ("linker script", "M script.ld"),
    ("twice", "M U U"),
    ("gc-sections", "M U -Wl,--gc-sections"),
    ("stripped", "M U -s"),
    ("no-pie", "M U -no-pie"),
];

/// What holds the device code.
const UNITS: [&str; 4] = ["object", "archive", "thin", "bitcode"];

/// Releases of clang that call the replacement.
const RELEASES: [&str; 4] = ["15", "16", "19", "22"];

pub const PROGRAM: &str = "void launch(void);\nint main(void) { launch(); return 0; }\n";

const OPENMP: &str = "\
void launch(void) {
    int x = 1;
#pragma omp target map(tofrom : x)
    x = 42;
}
";

/// Functions of the runtimes. The registration functions print the names of kernels.
pub const RUNTIME: &str = "\
int puts(const char *);
struct Entry { SIZES };
struct Binary { int count; void *images; struct Entry *begin, *end; };
void __tgt_register_lib(struct Binary *binary) {
    for (struct Entry *entry = binary->begin; binary->count && entry < binary->end; ++entry) puts(entry->name);
}
void __tgt_unregister_lib(void *binary) {}
void __tgt_init_all_rtls(void) {}
void __tgt_register_requires(long flags) {}
int __tgt_target_mapper(void) { return 0; }
int __tgt_target_teams_mapper(void) { return 0; }
int __tgt_target_kernel(void) { return 0; }
int __kmpc_global_thread_num(void *at) { return 0; }
void **__hipRegisterFatBinary(void *wrapper) { return wrapper; }
void __hipUnregisterFatBinary(void **handle) {}
void __hipRegisterFunction(void **handle, void *stub, char *name, const char *device) { puts(device); }
void __hipRegisterVar(void) {}
void __hipRegisterManagedVar(void) {}
void __hipRegisterSurface(void) {}
void __hipRegisterTexture(void) {}
int __hipPushCallConfiguration(void) { return 0; }
int __hipPopCallConfiguration(void) { return 0; }
int hipLaunchKernel(void) { return 0; }
";

/// Fields of an entry before LLVM 20, and since.
pub const FIELDS: [&str; 2] = [
    "void *address; char *name; unsigned long size; int flags, reserved;",
    "unsigned long reserved; short version, kind; int flags; void *address; char *name; unsigned long size, data; void *aux;",
];

pub const HIP: &str = "\
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
typedef unsigned long size_t;
struct dim3 { unsigned x, y, z; __attribute__((host)) __attribute__((device)) dim3(unsigned x) : x(x), y(1), z(1) {} };
extern \"C\" unsigned __hipPushCallConfiguration(dim3, dim3, size_t = 0, void * = 0);
extern \"C\" unsigned __hipPopCallConfiguration(dim3 *, dim3 *, size_t *, void *);
extern \"C\" int hipLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
__device__ int helper(int);
__global__ void kernel(int *to) { *to = helper(*to); }
extern \"C\" void launch(void) { kernel<<<1, 1>>>(0); }
";

pub const HELPER: &str = "__attribute__((device)) int helper(int x) { return x * 3; }\n";

/// A program that links.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Client {
    Link,
    Clang(&'static str),
}

/// A link and its outcome.
struct Cell {
    kind: &'static str,
    form: &'static str,
    unit: &'static str,
    client: Client,
}

/// Outcome of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Outcome {
    Registers,
    /// The link fails with a message.
    Fails,
    /// The replacement keeps the status of the reference, and prints a note.
    Noted,
    /// The program has no kernels, and no message says this.
    Lost,
}

impl Client {
    fn name(self) -> String {
        match self {
            Client::Link => "fatbin link".to_owned(),
            Client::Clang(release) => format!("clang {release}"),
        }
    }

    fn release(self) -> &'static str {
        match self {
            Client::Link => "22",
            Client::Clang(release) => release,
        }
    }
}

pub fn table(directory: &Path) -> Result<()> {
    for release in RELEASES {
        compile(directory, release)?;
    }
    let all = std::env::var_os("FATBIN_ALL_FORMS").is_some_and(|value| value == "1");
    let cells: Vec<Cell> =
        cells().enumerate().filter(|(number, cell)| all || is_quick(*number, cell)).map(|(_, cell)| cell).collect();
    let outcomes = parallel(&cells, |cell| outcome(directory, cell))?;
    let mut counts: BTreeMap<(String, Outcome), usize> = BTreeMap::new();
    let mut table = String::new();
    for (cell, (outcome, message)) in cells.iter().zip(&outcomes) {
        *counts.entry((cell.client.name(), *outcome)).or_default() += 1;
        let Cell { kind, form, unit, client } = cell;
        let _ = writeln!(table, "{kind} | {form} | {unit} | {} | {outcome:?} | {message}", client.name());
    }
    std::fs::write(directory.join("table"), &table)?;
    println!("link/forms: {counts:?}");
    let lost: Vec<&str> = table.lines().filter(|line| line.contains("| Lost |")).collect();
    ensure!(lost.is_empty(), "{}: lost device code:\n{}", directory.display(), lost.join("\n"));
    let unexpected: Vec<&str> =
        table.lines().filter(|line| !line.contains("| Registers |") && !is_expected(line)).collect();
    ensure!(unexpected.is_empty(), "{}: not linked:\n{}", directory.display(), unexpected.join("\n"));
    Ok(())
}

fn cells() -> impl Iterator<Item = Cell> {
    let clients = || [Client::Link].into_iter().chain(RELEASES.map(Client::Clang));
    ["hip", "openmp"].into_iter().flat_map(move |kind| {
        FORMS.into_iter().flat_map(move |(form, _)| {
            UNITS.into_iter().flat_map(move |unit| clients().map(move |client| Cell { kind, form, unit, client }))
        })
    })
}

/// Returns whether a cell is linked by default: one cell in six, and one in three for fatbin's own command.
fn is_quick(number: usize, cell: &Cell) -> bool {
    let step = if cell.client == Client::Link { 3 } else { 6 };
    (number / 5 + number % 5).is_multiple_of(step)
}

/// Returns whether a line of the table is a link that fails or is noted for a known reason.
fn is_expected(line: &str) -> bool {
    // Objects twice are duplicate definitions, for every linker.
    let is_duplicate = line.contains("| twice | object |") || line.contains("| twice | thin |");
    // GNU ld takes no member of an archive for an object behind it.
    let is_before = line.contains("| first |") && !line.contains("| object |");
    // Like the reference, the replacement links no archive without an object that has device code, unless the compiler
    // names the processor. It does not read what only the linker sees.
    let is_noted = line.contains("| Noted |") && (!line.contains("| object |") || line.contains("| linker script |"));
    // ld.lld drops the entries of bitcode, and then rejects references to their section.
    let is_dropped = line.contains("| gc-sections | bitcode |") && line.contains("__start_");
    // For a CPU as a device, libraries of the host's line are inputs of the link. This link reads no bitcode of the
    // host, and links all of libgcc if the line has restored a state. The reference fails in the same way.
    let is_for_device = line.contains("| whole") && (line.contains("is not an object") || line.contains("libgcc.a"));
    is_duplicate || is_before || is_noted || is_dropped || is_for_device && line.contains("| clang ")
}

/// Compiles the objects of a release, and makes the archives.
fn compile(directory: &Path, release: &str) -> Result<()> {
    let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
    let lld = PathBuf::from(format!("/usr/lib/llvm-{release}/bin/ld.lld"));
    if !lld.exists() {
        return Err(Missing::new("ld.lld", &format!("lld-{release}")).into());
    }
    let (ar, cc) = (Tool::Ar.path()?, Tool::Cc.path()?);
    let fields = FIELDS[usize::from(release == "22")];
    for kind in ["hip", "openmp"] {
        let own = directory.join(format!("{kind}-{release}"));
        std::fs::create_dir_all(own.join("spaced name"))?;
        for (name, text) in [
            ("main.c", PROGRAM),
            ("kernel.hip", HIP),
            ("helper.hip", HELPER),
            ("kernel.c", OPENMP),
            ("helper.c", "int unused;\n"),
        ] {
            std::fs::write(own.join(name), text)?;
        }
        std::fs::write(own.join("runtime.c"), RUNTIME.replace("SIZES", fields))?;
        Step::new(&own, &cc).args(["-fPIE", "-w", "-c", "main.c", "runtime.c"]).run()?;
        let (options, extension): (&[&str], _) = if kind == "hip" {
            (
                &["-x", "hip", "-nogpulib", "-nogpuinc", "-fgpu-rdc", "--offload-new-driver", "--offload-arch=gfx90a"],
                "hip",
            )
        } else {
            (&["-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu"], "c")
        };
        for (lto, prefix) in [(&[][..], ""), (&["-flto"][..], "lto-")] {
            for name in ["kernel", "helper"] {
                let step = Step::new(&own, &clang).args(options).args(lto).args(["-O1", "-fPIE", "-c"]);
                step.args([format!("{name}.{extension}"), "-o".to_owned(), format!("{prefix}{name}.o")]).run()?;
            }
        }
        Step::new(&own, &ar).args(["rcs", "archive.a", "kernel.o", "helper.o"]).run()?;
        Step::new(&own, &ar).args(["rcsT", "thin.a", "kernel.o", "helper.o"]).run()?;
        Step::new(&own, &ar).args(["rcs", "bitcode.a", "lto-kernel.o", "lto-helper.o"]).run()?;
        // The cells of a release run at the same time and read these files.
        for file in UNITS.into_iter().flat_map(files) {
            std::fs::copy(own.join(&file), own.join("spaced name").join(&file))
                .context("a file for the form with spaces")?;
        }
        fatbin_links(&own, &clang)?;
        Step::new(&own, &ar).args(["rcs", "libomptarget.devicertl.a"]).run()?;
        for (library, source) in
            [("libomp.so", "helper.c"), ("libomptarget.so", "runtime.c"), ("libamdhip64.so", "helper.c")]
        {
            Step::new(&own, &cc).args(["-shared", "-fPIC", "-w", "-o", library, source]).run()?;
        }
    }
    Ok(())
}

fn fatbin_links(directory: &Path, clang: &Path) -> Result<()> {
    let step = super::fatbin(directory).args(["install-links", "--for"]).arg(clang).arg("links");
    step.run().map(drop)
}

fn files(unit: &str) -> Vec<String> {
    match unit {
        "object" => ["kernel.o", "helper.o"].map(str::to_owned).into(),
        archive => vec![format!("{archive}.a")],
    }
}

/// Returns the words of a form, after writing the files that it names.
fn words(own: &Path, name: &str, form: &str, unit: &str) -> Result<Vec<String>> {
    let files = files(unit);
    let program = ["main.o", "runtime.o"].map(str::to_owned);
    let each = |before: &str| files.iter().map(|file| format!("{before}{file}")).collect::<Vec<_>>();
    let path = |file: &str| own.join(file).display().to_string();
    let write = |name: &str, text: String| std::fs::write(own.join(name), text);
    let quote = |text: &str| format!("\"{text}\"");
    let prefixed = |suffix: &str| format!("{name}-{suffix}");
    write(&prefixed("unit.rsp"), files.join("\n"))?;
    write(&prefixed("all.rsp"), [&program[..], &files].concat().join(" "))?;
    write(&prefixed("outer.rsp"), format!("@{}", prefixed("unit.rsp")))?;
    write(&prefixed("quoted.rsp"), each("spaced name/").iter().map(|file| quote(file)).collect::<Vec<_>>().join(" "))?;
    write(
        &prefixed("script.ld"),
        format!("INPUT({})", files.iter().map(|file| path(file)).collect::<Vec<_>>().join(" ")),
    )?;
    let mut words = Vec::new();
    for word in form.split(' ') {
        let behind_option =
            |before: &str| each(before).into_iter().flat_map(|it| ["-Xlinker".to_owned(), it]).collect();
        let expanded: Vec<String> = match word {
            "M" => program.to_vec(),
            "U" => files.clone(),
            "ABSOLUTE" => files.iter().map(|file| path(file)).collect(),
            "ROUNDABOUT" => each("spaced name/../"),
            "X" => behind_option(""),
            "XL" => behind_option("-l:"),
            "L" | "ENVIRONMENT" => each("-l:"),
            "L2" => files.iter().flat_map(|file| ["-l".to_owned(), format!(":{file}")]).collect(),
            _ if word.starts_with("-Wl,") => {
                let word = word.replace(",U", &each(",").concat()).replace(",LONG", &each(",--library=:").concat());
                vec![
                    word.replace(",L", &each(",-l:").concat())
                        .replace("@unit.rsp", &format!("@{}", prefixed("unit.rsp"))),
                ]
            }
            _ if word.starts_with('@') => vec![format!("@{}", prefixed(&word[1..]))],
            "script.ld" => vec![prefixed("script.ld")],
            other => vec![other.to_owned()],
        };
        words.extend(expanded);
    }
    Ok(words)
}

/// Links a cell, and runs the program.
fn outcome(directory: &Path, cell: &Cell) -> Result<(Outcome, String)> {
    let Cell { kind, form, unit, client } = cell;
    let release = client.release();
    let own = directory.join(format!("{kind}-{release}"));
    let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
    let number = FORMS.iter().position(|(name, _)| name == form).context("a form")?;
    let name = format!("{number}-{unit}-{}", client.name().replace(' ', "-"));
    let words = words(&own, &name, FORMS[number].1, unit)?;
    let mut link = match client {
        Client::Link => {
            let mut link = command(fatbin_program());
            link.args(["link", "--"]).arg(if *unit == "bitcode" { clang } else { Tool::Cc.path()? });
            link
        }
        Client::Clang(_) => {
            let mut link = command(clang);
            link.args(["-Blinks", "-L.", "-Wl,-rpath,."]);
            link.args(match *kind {
                "hip" => &["--offload-new-driver", "--hip-link", "--offload-arch=gfx90a"][..],
                _ => &["-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu"],
            });
            link
        }
    };
    if *unit == "bitcode" {
        link.args(["-fuse-ld=lld", "-flto"]);
    }
    if FORMS[number].1.ends_with("ENVIRONMENT") {
        link.env("LIBRARY_PATH", &own);
    }
    let output = link.args(words).args(["-o", &name]).current_dir(&own).output()?;
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = |text: &str| text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned();
    if !output.status.success() {
        let outcome = if message.trim().is_empty() { Outcome::Lost } else { Outcome::Fails };
        return Ok((outcome, line(&message)));
    }
    let ran = command(own.join(&name)).current_dir(&own).output()?;
    let kernel = if *kind == "hip" { "_Z6kernelPi" } else { "__omp_offloading_" };
    if String::from_utf8_lossy(&ran.stdout).lines().any(|line| line.starts_with(kernel)) {
        return Ok((Outcome::Registers, String::new()));
    }
    let note = message.lines().find(|line| line.contains(": note: "));
    Ok(note.map_or((Outcome::Lost, line(&message)), |note| (Outcome::Noted, note.to_owned())))
}
