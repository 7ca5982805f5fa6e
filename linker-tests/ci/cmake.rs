//! The functions for CMake in real builds. `fatbin_check`: a program that violates the policy fails the build, and is checked
//! again when the policy changes. `fatbin_embed`: the files are in the program, and in the next one when they change.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{end, policy, root};
use crate::harness::command::command;
use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::Tool;

const PROJECT: &str = "\
cmake_minimum_required(VERSION 3.16)
project(kernels C)
list(APPEND CMAKE_MODULE_PATH \"${MODULES}\")
include(Fatbin)
add_library(kernels SHARED host.c image.o)
fatbin_check(TARGET kernels POLICY gpu.toml)
";

/// A project whose program prints the bytes of a file that is embedded, and their number.
const EMBEDDING: &str = "\
cmake_minimum_required(VERSION 3.16)
project(loader C)
list(APPEND CMAKE_MODULE_PATH \"${MODULES}\")
include(Fatbin)
add_executable(loader main.c)
fatbin_embed(TARGET loader SYMBOLS \"greeting=a file\" number=number HEADER files.h INDEX all HIDDEN)
";

const EMBEDDING_PROGRAM: &str = "\
#include <stdio.h>
#include \"files.h\"
int main(void) {
    printf(\"%.*s %.*s %d\\n\", (int)greeting_size, (const char *)greeting, (int)sizeof number, (const char *)number,
           (int)all_count);
}
";

pub fn embedded_files_are_part_of_a_build_with_makefiles(directory: &Path) -> Result<()> {
    embed(directory, "Unix Makefiles", Tool::Make)
}

pub fn embedded_files_are_part_of_a_build_with_ninja(directory: &Path) -> Result<()> {
    embed(directory, "Ninja", Tool::Ninja)
}

/// Builds the program, and again after a file has changed.
fn embed(directory: &Path, generator: &str, program: Tool) -> Result<()> {
    let (cmake, program) = (Tool::Cmake.path()?, program.path()?);
    std::fs::write(directory.join("CMakeLists.txt"), EMBEDDING)?;
    std::fs::write(directory.join("main.c"), EMBEDDING_PROGRAM)?;
    std::fs::write(directory.join("a file"), "hello")?;
    std::fs::write(directory.join("number"), "42")?;
    configure(directory, &cmake, generator, &program)?;
    for greeting in ["hello", "good evening"] {
        std::fs::write(directory.join("a file"), greeting)?;
        Step::new(directory, &cmake).args(["--build", "build"]).run()?;
        let done = Step::new(directory, directory.join("build/loader")).run()?;
        ensure!(done.stdout == format!("{greeting} 42 2\n"), done.error("another output"));
    }
    Ok(())
}

/// Runs CMake on a project.
fn configure(directory: &Path, cmake: &Path, generator: &str, program: &Path) -> Result<()> {
    Step::new(directory, cmake)
        .args(["-S", ".", "-B", "build", "-G", generator])
        .arg(format!("-DCMAKE_MAKE_PROGRAM={}", program.display()))
        .arg(format!("-DCMAKE_C_COMPILER={}", Tool::Cc.path()?.display()))
        .arg(format!("-DMODULES={}", root().join("integrations/cmake").display()))
        .arg(format!("-DFATBIN_PROGRAM={}", fatbin_program()))
        .run()?;
    Ok(())
}

pub fn a_build_with_makefiles_fails_with_the_policy(directory: &Path) -> Result<()> {
    build(directory, "Unix Makefiles", "make")
}

pub fn a_build_with_ninja_fails_with_the_policy(directory: &Path) -> Result<()> {
    build(directory, "Ninja", "ninja")
}

fn build(directory: &Path, generator: &str, program: &str) -> Result<()> {
    let (cmake, program) = (Tool::Cmake.path()?, if program == "ninja" { Tool::Ninja } else { Tool::Make }.path()?);
    let fatbin = fatbin_program();
    let set_policy = |arch: &str| std::fs::write(directory.join("gpu.toml"), policy(arch));
    std::fs::write(directory.join("CMakeLists.txt"), PROJECT)?;
    std::fs::write(directory.join("host.c"), "int host;\n")?;
    set_policy("gfx90a")?;
    let image = fixture("answer-gfx90a.hsaco")?;
    Step::new(directory, fatbin).args(["wrap", "--kind", "openmp", "-o", "image.o"]).arg(image).run()?;
    configure(directory, &cmake, generator, &program)?;
    let build = || end(command(&cmake).args(["--build", "build"]).current_dir(directory));
    build()?.must_be(0, " passed")?;
    build()?.must_be(0, "")?;
    // Only the policy changes. The build runs twice: a failed build must not be up to date.
    set_policy("gfx942")?;
    for _ in 0..2 {
        let ended = build()?;
        ensure!(ended.status != 0 && ended.text.contains("gfx942"), "{}: {}", ended.status, ended.text);
    }
    set_policy("gfx90a")?;
    build()?.must_be(0, " passed")
}
