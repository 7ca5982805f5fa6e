//! The C library, installed by `scripts/install-c` as users do it, and its examples and header.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::openmp;
use crate::harness::step::{Done, Step};
use crate::harness::tools::{Missing, Tool, in_path};
use crate::harness::trial::{completion, fresh_directory};

/// Flags of every compilation.
const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

pub fn trials() -> Vec<Trial> {
    type Test = fn(&Path) -> Result<()>;
    let tests: [(&str, Test); 7] = [
        ("stack", the_static_library_leaves_the_stack_alone),
        ("header", the_header_is_that_of_the_sources),
        ("exports", the_library_exports_what_the_header_declares),
        ("interface", every_function_works_under_valgrind),
        ("sanitizer", every_function_works_with_a_sanitizer),
        ("examples", the_examples_run_under_valgrind),
        ("libomptarget", libomptarget_runs_an_image_that_the_example_registers),
    ];
    let trial = |(name, test): (&'static str, Test)| {
        Trial::ignorable_test(format!("native/{name}"), move || {
            completion(fresh_directory("native", name).and_then(|directory| test(&directory)))
        })
    };
    tests.into_iter().map(trial).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the directory of this build.
pub fn target_directory() -> Result<&'static Path> {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().context("a directory in target")
}

/// Returns a step whose builds share the directory of this build.
pub fn with_target_directory(step: Step) -> Result<Step> {
    Ok(step.env("CARGO_TARGET_DIR", target_directory()?))
}

/// Returns the directory with the installed library and program, which the first caller builds.
pub fn installation() -> Result<PathBuf> {
    static BUILT: Mutex<bool> = Mutex::new(false);
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("native/installation");
    in_path("cargo").ok_or_else(|| Missing::by("cargo", "https://rustup.rs"))?;
    // A trial that failed while it held the lock left the value unchanged.
    let mut is_built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if !*is_built {
        fresh_directory("native", "installation")?;
        let step = Step::new(root(), root().join("scripts/install-c")).args(["--profile", "dev", "--program"]);
        with_target_directory(step.arg(fatbin_program()).arg(&prefix))?.run()?;
        *is_built = true;
    }
    Ok(prefix)
}

/// Returns the words that pkg-config prints about the library that is installed below `prefix`.
pub fn pkg_config(directory: &Path, prefix: &Path, arguments: &[&str]) -> Result<Vec<String>> {
    let path = prefix.join("lib/pkgconfig");
    let step = Step::new(directory, Tool::PkgConfig.path()?).args(arguments).arg("fatbin");
    let printed = step.env("PKG_CONFIG_PATH", path).run()?.stdout;
    // pkg-config escapes blanks in paths, for `eval` of a shell.
    let words = printed.replace("\\ ", "\0");
    Ok(words.split_whitespace().map(|word| word.replace('\0', " ")).collect())
}

/// Links a program with the static library. An object without a note about its stack makes the stack of the program
/// executable.
fn the_static_library_leaves_the_stack_alone(directory: &Path) -> Result<()> {
    std::fs::write(
        directory.join("a.c"),
        "#include <fatbin.h>\nint main(void) { return fatbin_abi_version() ? 0 : 1; }\n",
    )?;
    let prefix = installation()?;
    let step = Step::new(directory, Tool::Cc.path()?).args(["-o", "a", "a.c", "-I"]).arg(prefix.join("include"));
    let step = step.arg(prefix.join("lib/libfatbin.a")).args(["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"]);
    step.run()?;
    let readelf = in_path("readelf").ok_or_else(|| Missing::new("readelf", "binutils"))?;
    let headers = Step::new(directory, readelf).args(["-lW", "a"]).run()?;
    let stack = headers.stdout.lines().find(|line| line.contains("GNU_STACK")).context("no GNU_STACK")?;
    ensure!(stack.contains(" RW ") && !stack.contains("RWE"), "{}", headers.error(stack));
    Ok(())
}

/// Compiles a program with the installed shared library.
pub fn compile(directory: &Path, source: &Path, compiler: Tool, options: &[&str], output: &str) -> Result<()> {
    let flags = pkg_config(directory, &installation()?, &["--cflags", "--libs"])?;
    let step =
        Step::new(directory, compiler.path()?).args(options).args(WARNINGS).args(["-g", "-o", output]).arg(source);
    step.args(flags).run()?;
    Ok(())
}

/// Runs a program that was linked with the shared library, under valgrind. Rust's standard library keeps the handle of the main
/// thread by a pointer to its middle, which counts as possibly lost.
fn run(directory: &Path, program: &str, arguments: &[&str]) -> Result<Done> {
    let step = Step::new(directory, Tool::Valgrind.path()?);
    let step =
        step.args(["--quiet", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect", "--error-exitcode=99"]);
    let step = step.arg(directory.join(program)).args(arguments);
    step.env("LD_LIBRARY_PATH", installation()?.join("lib")).run()
}

fn the_header_is_that_of_the_sources(_: &Path) -> Result<()> {
    let step = Step::new(root(), in_path("cargo").ok_or_else(|| Missing::by("cargo", "https://rustup.rs"))?);
    let step = step.args(["test", "--quiet", "--locked", "--manifest-path", "bindings/c/header/Cargo.toml"]);
    with_target_directory(step)?.run()?;
    Ok(())
}

fn the_library_exports_what_the_header_declares(directory: &Path) -> Result<()> {
    let prefix = installation()?;
    let headers = ["fatbin.h", "nvFatbin.h"].map(|name| std::fs::read_to_string(prefix.join("include").join(name)));
    let [header, nvfatbin] = headers;
    let header = header? + &nvfatbin?;
    let functions = header.lines().filter(|line| !line.starts_with([' ', '/', '#', '}']) && line.contains('('));
    let mut declared: Vec<&str> =
        functions.filter_map(|line| line.split('(').next()?.rsplit([' ', '*']).next()).collect();
    declared.sort_unstable();
    let symbols = Step::new(directory, Tool::Nm.path()?).args(["-D", "--defined-only"]);
    let done = symbols.arg(prefix.join("lib/libfatbin.so")).run()?;
    let mut exported: Vec<&str> = done.stdout.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    exported.sort_unstable();
    ensure!(declared.len() > 20 && declared == exported, done.error(format!("the header declares {declared:?}")));
    let dynamic = Step::new(directory, Tool::Readelf.path()?).arg("-d").arg(prefix.join("lib/libfatbin.so")).run()?;
    ensure!(dynamic.stdout.contains("[libfatbin.so.0]"), dynamic.error("another soname"));
    Ok(())
}

/// Writes the inputs of `interface.c`, and returns its arguments.
fn inputs(directory: &Path) -> Result<[&'static str; 4]> {
    let image = fixture("answer-gfx90a.hsaco")?;
    std::fs::copy(image, directory.join("image"))?;
    std::fs::copy(fixture("answer-gfx90a-debug.hsaco")?, directory.join("debug"))?;
    let fatbin = || Step::new(directory, fatbin_program());
    fatbin().args(["wrap", "--kind", "openmp", "-o", "host.o", "image"]).run()?;
    for member in ["one", "two"] {
        let step = fatbin().args(["bundle", "--raw", "--type", "o", "--compress", "-o", member]);
        let step = step.args(["--target", "host-x86_64-unknown-linux-gnu-=/dev/null"]);
        step.args(["--target", "hip-amdgcn-amd-amdhsa--gfx90a=image"]).run()?;
    }
    Step::new(directory, Tool::Ar.path()?).args(["rc", "archive.a", "one", "two"]).run()?;
    Ok(["archive.a", "host.o", "image", "."])
}

fn every_function_works_under_valgrind(directory: &Path) -> Result<()> {
    let arguments = inputs(directory)?;
    let source = root().join("linker-tests/native/interface.c");
    compile(directory, &source, Tool::Cc, &["-std=c11"], "in-c")?;
    compile(directory, &source, Tool::Cxx, &["-xc++", "-std=c++17"], "in-cpp")?;
    for program in ["in-c", "in-cpp"] {
        let done = run(directory, program, &arguments)?;
        ensure!(done.stdout == "passed\n", done.error("another output"));
    }
    Ok(())
}

/// With the static library, so that the sanitizer sees its allocations.
fn every_function_works_with_a_sanitizer(directory: &Path) -> Result<()> {
    let (prefix, arguments) = (installation()?, inputs(directory)?);
    let source = root().join("linker-tests/native/interface.c");
    let libraries = pkg_config(directory, &prefix, &["--cflags", "--libs", "--static"])?;
    let libraries = libraries.iter().map(|flag| if flag == "-lfatbin" { "-l:libfatbin.a" } else { flag });
    let step = Step::new(directory, Tool::Cc.path()?).args(["-fsanitize=address,undefined", "-g", "-o", "program"]);
    step.arg(source).args(libraries).run()?;
    let done = Step::new(directory, directory.join("program")).args(arguments).run()?;
    ensure!(done.stdout == "passed\n", done.error("another output"));
    Ok(())
}

fn the_examples_run_under_valgrind(directory: &Path) -> Result<()> {
    let examples = root().join("bindings/c/examples");
    for example in ["list", "extract", "wrap", "check", "produce"] {
        compile(directory, &examples.join(format!("{example}.c")), Tool::Cc, &["-std=c11"], example)?;
    }
    compile(directory, &examples.join("list.c"), Tool::Cxx, &["-xc++", "-std=c++17"], "list-in-cpp")?;
    let image = std::fs::read(fixture("answer-gfx90a.hsaco")?)?;
    std::fs::write(directory.join("image"), &image)?;
    let wrapped = run(directory, "wrap", &["openmp", "image", "host.o", "gfx90a:sramecc+:xnack-"])?;
    ensure!(wrapped.stdout.starts_with("libomptarget on gfx90a:sramecc+:xnack-: image 0, "), wrapped.error("select"));
    for list in ["list", "list-in-cpp"] {
        let listed = run(directory, list, &["host.o"])?;
        let expected = "host.o: offload-binary openmp amdgcn-amd-amdhsa gfx90a: 3456 bytes, SHA-256 ";
        ensure!(listed.stdout.starts_with(expected), listed.error(expected));
    }
    let [cubin, ptx] = [fixture("answer-sm_90.cubin")?, fixture("answer-sm_80.ptx")?];
    let files = [cubin.display().to_string(), ptx.display().to_string()];
    let produced = run(directory, "produce", &[&files[0], &files[1], "fat"])?;
    ensure!(produced.stdout.ends_with(" for the H100\n"), produced.error("another output"));
    let scanned = Step::new(directory, fatbin_program()).args(["scan", "fat"]).run()?;
    ensure!(scanned.stdout.contains("sm_90") && !scanned.stdout.contains("sm_80"), scanned.error("another image"));
    run(directory, "extract", &["host.o", "gfx90a", "extracted"])?;
    ensure!(std::fs::read(directory.join("extracted"))? == image, "the extracted image");
    std::fs::write(directory.join("gpu.toml"), "[archs]\nrequire = [\"gfx90a\"]\n")?;
    let checked = run(directory, "check", &["gpu.toml", "host.o"])?;
    let document: serde_json::Value = serde_json::from_str(&checked.stdout)?;
    ensure!(document["outcome"] == "passed", checked.error("another outcome"));
    Ok(())
}

fn libomptarget_runs_an_image_that_the_example_registers(directory: &Path) -> Result<()> {
    compile(directory, &root().join("bindings/c/examples/wrap.c"), Tool::Cc, &["-std=c11"], "wrap")?;
    openmp::compile_image(directory)?;
    run(directory, "wrap", &["openmp", "device.so", "wrapped.o", "x86_64"])?;
    openmp::run_with(directory, "wrapped.o")
}
