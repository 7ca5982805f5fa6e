//! clang with the drop-in as its bundler, and the readers of the output.
//!
//! HIP without `--offload-new-driver` is bundled at every step: device code for the runtime, relocatable objects, and all
//! outputs of a compiler for host and devices. clang finds the drop-in by `-B`, under the name of the tool; the output must
//! equal the output with the tool to the byte. Only compressed bundles are compared by their decompressed contents, and
//! objects with a layout by llvm-objcopy by their sections.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use object::{Object, ObjectSection};

use super::same::What;
use crate::dropin::Side;
use crate::harness::command::command;
use crate::harness::fatbin_program;
use crate::harness::step::{Done, Step};
use crate::harness::tools::{Tool, fetched, find_in, llvm_tool, not_fetched};
use crate::harness::trial::{completion, fresh_directory};
use crate::linker_wrapper::kernel;
use crate::runtimes::{directories_of, hip_library};

/// A compilation that bundles.
struct Client {
    name: &'static str,
    flags: &'static str,
    /// Each call of the bundler, by its first argument.
    calls: &'static [&'static str],
    /// Whether the bytes depend on the program that compressed or rewrote an object.
    is_laid_out: bool,
}

const fn client(name: &'static str, flags: &'static str, call: &'static [&'static str]) -> Client {
    Client { name, flags, calls: call, is_laid_out: false }
}

static CLIENTS: [Client; 10] = [
    client("object", "-c", &["-type=o"]),
    Client { is_laid_out: true, ..client("compressed", "-c --offload-compress", &["-type=o"]) },
    Client { is_laid_out: true, ..client("relocatable", "-c -fgpu-rdc", &["-type=o"]) },
    client("preprocessed", "-E", &["-type=hipi"]),
    client("bitcode", "-c -emit-llvm", &["-type=bc"]),
    client("text", "-S -emit-llvm", &["-type=ll"]),
    client("assembly", "-S", &["-type=s"]),
    client("dependencies", "-M", &["-type=d"]),
    client("device-only", "-c --cuda-device-only", &["-type=o"]),
    client("save-temps", "-c -save-temps", &["-type=o"]),
];

pub fn trials() -> Vec<Trial> {
    fn trial(name: &'static str, run: impl FnOnce(&Path) -> Result<()> + Send + 'static) -> Trial {
        Trial::ignorable_test(format!("dropin/bundling/clients/{name}"), move || {
            completion(fresh_directory("dropin-bundling-clients", name).and_then(|directory| run(&directory)))
        })
    }
    let mut trials: Vec<Trial> =
        CLIENTS.iter().map(|client| trial(client.name, move |directory| client.is_served(directory))).collect();
    trials.push(trial("from-preprocessed", preprocessed_is_compiled));
    trials.push(trial("device-link", relocatable_code_is_linked));
    trials.push(trial("registration", the_runtime_registers_it));
    trials.push(trial("hipcc", hipcc_compiles_and_links));
    trials
}

impl Client {
    fn is_served(&self, directory: &Path) -> Result<()> {
        let [theirs, ours] = [Side::Theirs, Side::Ours].map(|side| {
            let directory = prepare(directory, side)?;
            compile(&directory, &format!("{} kernel.hip -o out", self.flags), self.calls)?;
            Ok::<PathBuf, anyhow::Error>(directory)
        });
        let (theirs, ours) = (theirs?, ours?);
        for name in made(&theirs)? {
            let [theirs, ours] = [&theirs, &ours].map(|directory| std::fs::read(directory.join(&name)));
            let (theirs, ours) = (theirs?, ours.with_context(|| name.clone())?);
            let is_same = theirs == ours || self.is_laid_out && What::of(&theirs)? == What::of(&ours)?;
            ensure!(is_same, "{}: {name} is not the same", directory.display());
        }
        ensure!(made(&theirs)? == made(&ours)?, "{}: not the same files", directory.display());
        if ["object", "compressed"].contains(&self.name) {
            let [theirs, ours] = [listed(&theirs)?, listed(&ours)?];
            ensure!(theirs.stdout == ours.stdout, "{}", ours.error(format!("the tool's: {}", theirs.stdout)));
            for arch in ["gfx906", "gfx90a"] {
                ensure!(ours.stdout.contains(arch), "{}", ours.error(arch));
            }
        }
        Ok(())
    }
}

/// Makes a directory with the source, and in it one where clang finds the bundler of this side.
fn prepare(directory: &Path, side: Side) -> Result<PathBuf> {
    let directory = directory.join(format!("{side:?}"));
    std::fs::create_dir_all(directory.join("tools"))?;
    let tool = Tool::OffloadBundler.path()?;
    let program = if matches!(side, Side::Ours) { Path::new(fatbin_program()) } else { &tool };
    std::os::unix::fs::symlink(program, directory.join("tools/clang-offload-bundler"))?;
    std::fs::write(directory.join("kernel.hip"), kernel("hip"))?;
    Ok(directory)
}

/// Compiles in the directory, and checks the calls of the bundler.
fn compile(directory: &Path, line: &str, calls: &[&str]) -> Result<()> {
    let mut command = command(Tool::Clang.path()?);
    command.current_dir(directory).args(["-v", "-Btools", "--no-offload-new-driver"]);
    if !line.starts_with("--hip-link") {
        command.args(["-x", if line.starts_with("-c kernel.hipi") { "hip-cpp-output" } else { "hip" }]);
    }
    command.args(["--offload-arch=gfx906", "--offload-arch=gfx90a", "-nogpulib", "-nogpuinc", "-cuid=same"]);
    let output = command.args(line.split(' ')).output().with_context(|| format!("{command:?}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed: {}\n{stderr}", output.status);
    let called = stderr.lines().filter_map(|line| line.strip_prefix(" \"tools/clang-offload-bundler\" "));
    let called: Vec<&str> = called.filter_map(|call| call.split(' ').next()).collect();
    ensure!(called == calls, "{command:?} should call the bundler with {calls:?}:\n{stderr}");
    Ok(())
}

/// Returns the outputs of a compilation.
fn made(directory: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort_unstable();
    ensure!(names.iter().any(|name| name == "out"), "{}: {names:?}", directory.display());
    Ok(names)
}

/// Checks the output with LLVM's reader.
fn listed(directory: &Path) -> Result<Done> {
    Step::new(directory, Tool::Objdump.path()?).args(["--offloading", "out"]).run()
}

/// Compiles the bundled output of `-E`.
fn preprocessed_is_compiled(directory: &Path) -> Result<()> {
    let mut objects = Vec::new();
    for side in [Side::Theirs, Side::Ours] {
        let directory = prepare(directory, side)?;
        compile(&directory, "-E kernel.hip -o kernel.hipi", &["-type=hipi"])?;
        compile(&directory, "-c kernel.hipi -o out", &["-type=hipi", "-type=o"])?;
        objects.push(std::fs::read(directory.join("out"))?);
    }
    ensure!(objects[0] == objects[1], "{}: the objects differ", directory.display());
    Ok(())
}

/// Unbundles relocatable objects, links them for each device, and bundles the result for the runtime.
fn relocatable_code_is_linked(directory: &Path) -> Result<()> {
    let mut bundles = Vec::new();
    for side in [Side::Theirs, Side::Ours] {
        let directory = prepare(directory, side)?;
        compile(&directory, "-c -fgpu-rdc kernel.hip -o kernel.o", &["-type=o"])?;
        // The runtime is missing; none of its functions is called.
        let line = "--hip-link -no-hip-rt -fgpu-rdc kernel.o -o out -Wl,--unresolved-symbols=ignore-all";
        compile(&directory, line, &["-type=o"; 3])?;
        bundles.push(device_code(&directory.join("out"))?);
    }
    ensure!(bundles[0] == bundles[1], "{}: not the same device code", directory.display());
    ensure!(bundles[0].starts_with(b"__CLANG_OFFLOAD_BUNDLE__"), "{}: no bundle", directory.display());
    Ok(())
}

/// Returns the bundle in a program.
fn device_code(program: &Path) -> Result<Vec<u8>> {
    let program = std::fs::read(program)?;
    let program = object::File::parse(program.as_slice())?;
    let section = program.section_by_name(".hip_fatbin").context("no .hip_fatbin")?;
    Ok(section.data()?.to_vec())
}

/// Runs a program with such an object: it registers, receives an answer from the runtime, and exits.
fn the_runtime_registers_it(directory: &Path) -> Result<()> {
    let library = hip_library("5")?;
    let main = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/runtimes/hip.c");
    let directory = prepare(directory, Side::Ours)?;
    Step::new(&directory, Tool::Cc.path()?).args(["-O1", "-fPIE", "-c"]).arg(main).args(["-o", "main.o"]).run()?;
    // The main program is a different one.
    std::fs::write(directory.join("kernel.hip"), kernel("hip").replace("int main()", "int unused()"))?;
    // Before version 6, the runtime does not support compression.
    compile(&directory, "-c -fPIE kernel.hip -o out", &["-type=o"])?;
    let link = Step::new(&directory, Tool::Cc.path()?).args(["-pie", "-Wl,--allow-shlib-undefined", "-o", "program"]);
    link.args(["main.o", "out"]).arg(&library).arg("-lstdc++").run()?;
    let program = Step::new(&directory, directory.join("program")).env("LD_LIBRARY_PATH", directories_of(&[&library]));
    let done = program.run()?;
    ensure!(done.stdout == "runs\n", "{}", done.error("expected: runs"));
    Ok(())
}

/// Calls of hipcc, with the number of calls of the bundler, and the file that each makes.
const HIPCC_CALLS: [(&str, usize, &str); 6] = [
    ("-c kernel.hip -o object.o", 1, "object.o"),
    ("--genco kernel.hip -o code.hsaco", 1, "code.hsaco"),
    ("-E kernel.hip -o kernel.cui", 1, "kernel.cui"),
    ("-S -emit-llvm kernel.hip -o kernel.ll", 1, "kernel.ll"),
    ("-c -fgpu-rdc kernel.hip -o relocatable.o", 1, "relocatable.o"),
    ("-fgpu-rdc relocatable.o main.o -o program -Wl,--allow-shlib-undefined", LINK_CALLS, "program"),
];

/// Calls of the bundler for a device link.
const LINK_CALLS: usize = 7;

/// Calls Debian's hipcc with the bundler of its clang, with the drop-in as that release, and with one of no particular release.
fn hipcc_compiles_and_links(directory: &Path) -> Result<()> {
    let bundler = llvm_tool("clang-offload-bundler", "15", "clang-tools-15")?;
    let fatbin = Path::new(fatbin_program());
    let theirs = run_hipcc(&directory.join("theirs"), &bundler, "")?;
    let ours = run_hipcc(&directory.join("ours"), fatbin, "15")?;
    for (_, _, name) in HIPCC_CALLS {
        let paths = [&theirs, &ours].map(|directory| directory.join(name));
        let is_same = if name == "program" {
            device_code(&paths[0])? == device_code(&paths[1])?
        } else {
            let [theirs, ours] = paths.map(std::fs::read);
            let (theirs, ours) = (theirs?, ours?);
            theirs == ours || What::of(&theirs)? == What::of(&ours)?
        };
        ensure!(is_same, "{}: {name} is not the same", directory.display());
    }
    run_hipcc(&directory.join("any-release"), fatbin, "").map(drop)
}

/// Compiles in a directory with a bundler, links, and runs the program. Returns the directory.
fn run_hipcc(directory: &Path, bundler: &Path, release: &str) -> Result<PathBuf> {
    let library = hip_library("5")?;
    let hipcc = find_in(&fetched("hipcc").join("usr/bin"), "hipcc").ok_or_else(|| not_fetched("hipcc"))?;
    let clang = llvm_tool("clang++", "15", "clang-15")?;
    for part in ["tools", "rocm/bin", "rocm/lib"] {
        std::fs::create_dir_all(directory.join(part))?;
    }
    std::fs::write(directory.join("rocm/bin/.hipVersion"), "HIP_VERSION_MAJOR=5\nHIP_VERSION_MINOR=2\n")?;
    std::os::unix::fs::symlink(bundler, directory.join("tools/clang-offload-bundler"))?;
    std::os::unix::fs::symlink(&library, directory.join("rocm/lib/libamdhip64.so"))?;
    std::fs::write(directory.join("kernel.hip"), kernel("hip").replace("int main()", "int unused()"))?;
    let main = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/runtimes/hip.c");
    Step::new(directory, Tool::Cc.path()?).args(["-O1", "-fPIE", "-c"]).arg(main).args(["-o", "main.o"]).run()?;
    for (line, calls, _) in HIPCC_CALLS {
        let mut command = command(&hipcc);
        command.current_dir(directory).env("HIP_CLANG_PATH", clang.parent().context("no directory")?);
        // hipcc splits absolute paths at spaces.
        command.env("ROCM_PATH", "rocm").env("HIP_LIB_PATH", "rocm/lib");
        command.env("HIP_PLATFORM", "amd").env("FATBIN_LLVM", release);
        command.args(["-v", "-Btools", "-fPIE", "--offload-arch=gfx906", "--offload-arch=gfx90a"]);
        command.args(["-nogpulib", "-nogpuinc", "-cuid=same"]).args(line.split(' '));
        let output = command.output().with_context(|| format!("{command:?}"))?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{command:?} failed: {}\n{stderr}", output.status);
        let called = stderr.matches("\"tools/clang-offload-bundler\" ").count();
        ensure!(called == calls, "{command:?} should call the bundler {calls} times, not {called}:\n{stderr}");
        ensure!(!stderr.contains("clang-offload-bundler: "), "{command:?}: {stderr}");
    }
    let program = Step::new(directory, directory.join("program"));
    let done = program.env("LD_LIBRARY_PATH", directories_of(&[&library])).run()?;
    ensure!(done.stdout == "runs\n", "{}", done.error("expected: runs"));
    Ok(directory.to_owned())
}
