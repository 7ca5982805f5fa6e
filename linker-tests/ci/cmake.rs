//! `fatbin_check` in a real build: a program that violates the policy fails the build, and is checked again when the policy
//! changes.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{end, policy, root};
use crate::harness::command::command;
use crate::harness::directives::fixture;
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

pub fn a_build_with_makefiles_fails_with_the_policy(directory: &Path) -> Result<()> {
    build(directory, "Unix Makefiles", "make")
}

pub fn a_build_with_ninja_fails_with_the_policy(directory: &Path) -> Result<()> {
    build(directory, "Ninja", "ninja")
}

fn build(directory: &Path, generator: &str, program: &str) -> Result<()> {
    let (cmake, program) = (Tool::Cmake.path()?, if program == "ninja" { Tool::Ninja } else { Tool::Make }.path()?);
    let fatbin = env!("CARGO_BIN_EXE_fatbin");
    let set_policy = |arch: &str| std::fs::write(directory.join("gpu.toml"), policy(arch));
    std::fs::write(directory.join("CMakeLists.txt"), PROJECT)?;
    std::fs::write(directory.join("host.c"), "int host;\n")?;
    set_policy("gfx90a")?;
    let image = fixture("answer-gfx90a.hsaco")?;
    Step::new(directory, fatbin).args(["wrap", "--kind", "openmp", "-o", "image.o"]).arg(image).run()?;
    Step::new(directory, &cmake)
        .args(["-S", ".", "-B", "build", "-G", generator])
        .arg(format!("-DCMAKE_MAKE_PROGRAM={}", program.display()))
        .arg(format!("-DCMAKE_C_COMPILER={}", Tool::Cc.path()?.display()))
        .arg(format!("-DMODULES={}", root().join("scripts/cmake").display()))
        .arg(format!("-DFATBIN_PROGRAM={fatbin}"))
        .run()?;
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
