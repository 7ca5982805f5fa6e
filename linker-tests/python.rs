//! The module and the wheel for Python: built by maturin, installed into a separate environment, tested there.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use crate::harness::fatbin_program;
use crate::harness::openmp;
use crate::harness::step::{Done, Step};
use crate::harness::tools::{Missing, Tool, fetched, find_in, in_path, not_fetched};
use crate::harness::trial::{completion, fresh_directory};
use crate::real_files::path_of;
use crate::tasks;

pub fn trials() -> Vec<Trial> {
    let test = || completion(fresh_directory("python", "wheel").and_then(|it| the_wheel_works(&it)));
    vec![Trial::ignorable_test("python/wheel", test)]
}

/// pytest and mypy.
fn tools() -> Result<PathBuf> {
    let tools = fetched("python-tools");
    if tools.is_dir() { Ok(tools) } else { Err(not_fetched("python-tools").into()) }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// An environment with the wheel, and with the tools of the tests on its path.
struct Environment<'a> {
    directory: &'a Path,
    tools: PathBuf,
}

impl Environment<'_> {
    /// Runs its interpreter with the test tools.
    fn python(&self, arguments: &[&str]) -> Result<Done> {
        let step = Step::new(self.directory, self.directory.join("venv/bin/python"));
        step.env("PYTHONPATH", &self.tools).env("FATBIN_TEST_WHEEL", path_of("nvjpeg")?).args(arguments).run()
    }
}

fn the_wheel_works(directory: &Path) -> Result<()> {
    let python = in_path("python3").ok_or_else(|| Missing::new("python3", "python3"))?;
    let tools = tools()?;
    build(directory)?;
    Step::new(directory, python).args(["-m", "venv", "venv"]).run()?;
    let wheel = find_wheel(&directory.join("dist"))?;
    let pip = Step::new(directory, directory.join("venv/bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-index"]).arg(wheel).run()?;

    // The command is a program, not a script of the interpreter.
    let version = concat!("fatbin ", env!("CARGO_PKG_VERSION"));
    let done = Step::new(directory, directory.join("venv/bin/fatbin")).arg("--version").run()?;
    ensure!(done.stdout.starts_with(version), done.error(format!("expected: {version}")));
    let magic = std::fs::read(directory.join("venv/bin/fatbin"))?.get(..4).map(<[u8]>::to_owned);
    ensure!(magic.as_deref() == Some(b"\x7fELF"), "venv/bin/fatbin is not a program");

    let environment = Environment { directory, tools };
    let tests = root().join("bindings/python/tests");
    let tests = tests.to_str().context("a path in UTF-8")?;
    let done =
        environment.python(&["-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-markers", "-rs", tests])?;
    ensure!(!done.stdout.contains("skipped"), done.error("a test was skipped"));
    environment.python(&["-m", "mypy", "--strict", "--cache-dir=/dev/null", tests])?;
    environment.python(&["-m", "mypy.stubtest", "fatbin"])?;
    examples_print_what_they_state(&environment)?;
    tasks::python(directory, &|arguments| environment.python(arguments), &path_of("nvjpeg")?)?;

    openmp::compile_image(directory)?;
    let wrap = "import fatbin; fatbin.wrap(['device.so'], kind='openmp', output='wrapped.o')";
    environment.python(&["-c", wrap])?;
    openmp::run_with(directory, "wrapped.o")?;
    pyright_accepts_the_stub(&environment)
}

/// Checks the tests with pyright, a program for Node.js.
fn pyright_accepts_the_stub(environment: &Environment<'_>) -> Result<()> {
    let node = in_path("node").ok_or_else(|| Missing::new("node", "nodejs"))?;
    let pyright = fetched("pyright").join("pyright/dist/index.js");
    ensure!(pyright.is_file(), not_fetched("pyright"));
    let Environment { directory, tools } = environment;
    std::fs::create_dir(directory.join("typed"))?;
    for entry in std::fs::read_dir(root().join("bindings/python/tests"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "py") {
            std::fs::copy(&path, directory.join("typed").join(path.file_name().context("a name")?))?;
        }
    }
    let settings = serde_json::json!({ "include": ["typed"], "extraPaths": [tools], "venvPath": ".", "venv": "venv" });
    std::fs::write(directory.join("pyrightconfig.json"), settings.to_string())?;
    let done = Step::new(directory, node).arg(pyright).args(["-p", "pyrightconfig.json"]).run()?;
    ensure!(done.stdout.contains("0 errors"), done.error("pyright finds errors"));
    Ok(())
}

/// Builds the wheel with the program that the trials use, without its symbols.
fn build(directory: &Path) -> Result<()> {
    let program = directory.join("fatbin");
    let strip = Step::new(directory, Tool::Objcopy.path()?).arg("--strip-all");
    strip.arg(fatbin_program()).arg(&program).run()?;
    let maturin = find_in(&fetched("maturin"), "maturin").ok_or_else(|| not_fetched("maturin"))?;
    let step = Step::new(directory, root().join("scripts/wheel")).env("MATURIN", maturin);
    step.arg(program).args(["dist", "--profile", "dev"]).run()?;
    Ok(())
}

fn find_wheel(directory: &Path) -> Result<PathBuf> {
    let entries = std::fs::read_dir(directory)?.map(|entry| Ok(entry?.path()));
    let [wheel] = entries.collect::<Result<Vec<_>>>()?.try_into().map_err(|found| anyhow::anyhow!("{found:?}"))?;
    let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let prefix = concat!("fatbin-", env!("CARGO_PKG_VERSION"), "-cp311-abi3-manylinux");
    ensure!(name.starts_with(prefix), "{name}: expected {prefix}");
    Ok(wheel)
}

/// Runs the examples of the documents in a directory with the files that they name.
fn examples_print_what_they_state(environment: &Environment<'_>) -> Result<()> {
    for name in ["answer-gfx90a.hsaco", "answer-sm_90.cubin", "answer-x86_64.so"] {
        std::fs::copy(root().join("fixtures").join(name), environment.directory.join(name))?;
    }
    for document in ["bindings/python/README.md", "docs/guide/python.md"] {
        let path = root().join(document);
        let done = environment.python(&["-m", "doctest", "-v", path.to_str().context("a path in UTF-8")?])?;
        ensure!(!done.stdout.contains("\n0 tests"), done.error(format!("{document}: no examples")));
    }
    Ok(())
}
