//! The project in `integrations/example`, built by CMake with Ninja and with Make, by Meson and by Bazel, with the released
//! archive of the C library, and without Rust. Its OpenMP program runs with the real runtime. Outputs are built again when an image
//! changes, and only then.

mod bazel;
mod bazel_cache;
mod launcher;

use std::env::{join_paths, split_paths};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use crate::harness::directives::fixture;
use crate::harness::step::{Done, Step};
use crate::harness::tools::{Tool, fetched, not_fetched};
use crate::harness::trial::{completion, fresh_directory};
use crate::release::archive;

/// Additions for CMake: an image of another output, and the static library.
const MORE_OF_CMAKE: &str = "
fatbin_extract(OUTPUT extracted.hsaco FROM ${CMAKE_CURRENT_BINARY_DIR}/kernels.hipfb ARCH gfx90a)
add_custom_target(extracted ALL DEPENDS extracted.hsaco)
add_executable(static list.c)
target_link_libraries(static PRIVATE fatbin::c_static)
";

pub fn trials() -> Vec<Trial> {
    type Test = fn(&Path) -> Result<()>;
    let tests: [(&str, Test); 9] = [
        ("bazel", bazel::builds_the_example),
        ("bazel-cache", bazel_cache::links_of_equal_objects_come_from_the_cache),
        ("cmake-ninja", |directory| cmake(directory, &Tool::Cmake.path()?, "Ninja", Tool::Ninja)),
        ("cmake-makefiles", |directory| cmake(directory, &Tool::Cmake.path()?, "Unix Makefiles", Tool::Make)),
        ("cmake-3.18", |directory| cmake(directory, &fetched_cmake("cmake-3.18")?, "Ninja", Tool::Ninja)),
        ("cmake-4", |directory| cmake(directory, &fetched_cmake("cmake-4")?, "Ninja", Tool::Ninja)),
        ("launcher", |directory| launcher::cmake_with(directory, None)),
        ("launcher-cmake-4", |directory| launcher::cmake_with(directory, Some("cmake-4"))),
        ("meson", meson),
    ];
    let trial = |(name, test): (&'static str, Test)| {
        Trial::ignorable_test(format!("integrations/{name}"), move || {
            completion(fresh_directory("integrations", name).and_then(|directory| test(&directory)))
        })
    };
    tests.into_iter().map(trial).collect()
}

/// The example in a directory, and the parts that all build systems need.
struct Example<'a> {
    directory: &'a Path,
    /// Directory of the outputs.
    build: PathBuf,
    prefix: PathBuf,
    runtime: [PathBuf; 2],
}

impl<'a> Example<'a> {
    fn copy_to(directory: &'a Path, build: &str) -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for entry in std::fs::read_dir(root.join("integrations/example"))? {
            let entry = entry?;
            std::fs::copy(entry.path(), directory.join(entry.file_name()))?;
        }
        let runtime = [Tool::Libomp.path()?, Tool::Libomptarget.path()?];
        Ok(Example { directory, build: directory.join(build), prefix: archive()?, runtime })
    }

    /// Returns the libraries of the runtime, separated by `separator`.
    fn runtime(&self, separator: &str) -> String {
        self.runtime.each_ref().map(|path| path.display().to_string()).join(separator)
    }

    /// Runs a program of the build directory.
    fn run(&self, program: &str, arguments: &[&str]) -> Result<Done> {
        let libraries = self.runtime.iter().map(|path| path.parent().unwrap_or(path).to_owned());
        let libraries = join_paths(libraries.chain([self.prefix.join("lib")]))?;
        let step = Step::new(self.directory, self.build.join(program)).args(arguments);
        step.env("LD_LIBRARY_PATH", libraries).env("OMP_TARGET_OFFLOAD", "MANDATORY").run()
    }

    /// Returns the time when the program was linked.
    fn time_of_program(&self) -> Result<SystemTime> {
        Ok(std::fs::metadata(self.build.join("program"))?.modified()?)
    }

    /// Replaces text in a source file, or the image by another one.
    fn edit(&self, name: &str, from: &str, to: &str) -> Result<()> {
        let path = self.directory.join(name);
        let text = std::fs::read_to_string(&path)?;
        ensure!(text.contains(from), "{name} does not contain {from}");
        Ok(std::fs::write(path, text.replace(from, to))?)
    }

    /// Runs the program that uses the C library.
    fn list(&self, program: &str) -> Result<()> {
        let listed = self.run(program, &["build/program"])?;
        for line in ["ccob hip amdgcn-amd-amdhsa gfx90a", "offload-binary openmp x86_64-pc-linux-gnu"] {
            ensure!(listed.stdout.contains(line), listed.error(format!("expected: {line}")));
        }
        Ok(())
    }

    /// Builds the example several times with `build`, and changes one of its files in between.
    fn check(&self, build: &dyn Fn() -> Result<Done>) -> Result<()> {
        let expect = |start: &str| -> Result<()> {
            let done = self.run("program", &[])?;
            ensure!(done.stdout.starts_with(start), done.error(format!("expected: {start}")));
            Ok(())
        };
        build()?;
        expect("device wrote 42, bundle of ")?;
        let first = self.time_of_program()?;
        let done = build()?;
        ensure!(self.time_of_program()? == first, done.error("linked again without a change"));

        // The device half of the region, the image of the bundle.
        self.edit("region.c", "ANSWER 42", "ANSWER 43")?;
        build()?;
        expect("device wrote 43, bundle of ")?;
        let before = self.run("program", &[])?.stdout;
        std::fs::copy(fixture("answer-gfx90a-debug.hsaco")?, self.directory.join("kernel.hsaco"))?;
        build()?;
        let after = self.run("program", &[])?;
        ensure!(after.stdout != before, after.error("the old bundle"));
        Ok(())
    }
}

/// Returns the oldest or the newest release, from PyPI.
fn fetched_cmake(name: &str) -> Result<PathBuf> {
    let program = fetched(name).join("cmake/data/bin/cmake");
    Ok(Some(program).filter(|path| path.is_file()).ok_or_else(|| not_fetched(name))?)
}

/// Returns the search path without the directories that have cargo.
fn path_without_rust() -> Result<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Ok(join_paths(split_paths(&path).filter(|directory| !directory.join("cargo").exists()))?)
}

fn cmake(directory: &Path, cmake: &Path, generator: &str, program: Tool) -> Result<()> {
    let (program, clang) = (program.path()?, Tool::Clang.path()?);
    let example = Example::copy_to(directory, "build")?;
    example.edit("CMakeLists.txt", "# A program that uses", &format!("{MORE_OF_CMAKE}\n# A program that uses"))?;
    Step::new(directory, cmake)
        .env("PATH", path_without_rust()?)
        .args(["-S", ".", "-B", "build", "-G", generator])
        .arg(format!("-DCMAKE_MAKE_PROGRAM={}", program.display()))
        .arg(format!("-DCMAKE_C_COMPILER={}", clang.display()))
        .arg(format!("-DCMAKE_PREFIX_PATH={}", example.prefix.display()))
        .arg(format!("-DOPENMP_RUNTIME={}", example.runtime(";")))
        .run()?;
    let build = || Step::new(directory, cmake).env("PATH", path_without_rust()?).args(["--build", "build"]).run();
    example.check(&build)?;
    example.list("images")?;
    example.list("static")?;
    let read = |name: &str| std::fs::read(directory.join(name));
    ensure!(read("kernel.hsaco")? == read("build/extracted.hsaco")?, "the extracted image");
    // A violated policy fails the build.
    example.edit("gpu.toml", "\"x86_64\"", "\"x86_64\", \"gfx942\"")?;
    ensure!(build().is_err_and(|error| error.to_string().contains("no code for gfx942")), "the policy is not checked");
    // So does an argument that does not exist.
    example.edit("CMakeLists.txt", "KIND openmp", "KINDS openmp")?;
    let refused = build().is_err_and(|error| error.to_string().contains("fatbin_wrap: KIND is missing"));
    ensure!(refused, "an unknown argument is accepted");
    Ok(())
}

fn meson(directory: &Path) -> Result<()> {
    let (meson, ninja, clang) = (Tool::Meson.path()?, Tool::Ninja.path()?, Tool::Clang.path()?);
    let example = Example::copy_to(directory, "build")?;
    let prefix = [example.prefix.join("bin")];
    let path = join_paths(prefix.into_iter().chain(split_paths(&path_without_rust()?)))?;
    Tool::PkgConfig.path()?;
    let configure = Step::new(directory, &meson).args(["setup", "build"]);
    configure
        .arg(format!("-Druntime={}", example.runtime(",")))
        .env("CC", clang)
        .env("PATH", &path)
        .env("PKG_CONFIG_PATH", example.prefix.join("lib/pkgconfig"))
        .run()?;
    example.check(&|| Step::new(directory, &ninja).args(["-C", "build"]).run())?;
    example.list("images")?;
    let test = || Step::new(directory, &meson).args(["test", "-C", "build", "--print-errorlogs"]).run();
    test()?;
    example.edit("gpu.toml", "\"x86_64\"", "\"x86_64\", \"gfx942\"")?;
    ensure!(test().is_err_and(|error| error.to_string().contains("no code for gfx942")), "the policy is not checked");
    Ok(())
}
