//! `fatbin link` as the launcher of CMake's links: device code in static, object, shared and module libraries reaches the
//! program, which runs with OpenMP's runtime.

use std::path::Path;

use anyhow::{Result, ensure};

use super::fetched_cmake;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, llvm_tool};
use crate::runtimes::{directories_of, openmp_library};

const PROJECT: &str = "\
cmake_minimum_required(VERSION 3.18)
project(launched CXX)
set_property(GLOBAL PROPERTY RULE_LAUNCH_LINK \"${RULE}\")
add_compile_options(-fopenmp -fopenmp-targets=x86_64-pc-linux-gnu -O1 -fPIC ${LTO})
add_library(kept STATIC kept.cpp)
add_library(objects OBJECT objects.cpp)
add_library(shared SHARED shared.cpp)
add_library(module MODULE module.cpp)
add_executable(program main.cpp)
target_link_libraries(program PRIVATE kept objects shared dl)
foreach(target program shared module)
    target_link_libraries(${target} PRIVATE ${RUNTIME})
    target_link_options(${target} PRIVATE ${LTO} -fuse-ld=lld -Wl,--no-as-needed)
endforeach()
";

/// A function with a region, and the program that calls those of all libraries.
const FUNCTION: &str = "\
extern \"C\" int NAME(int x) {
#pragma omp target map(tofrom : x)
    x += ADDED;
    return x;
}
";
const MAIN: &str = "\
#include <cstdio>
#include <dlfcn.h>
extern \"C\" int kept(int), objects(int), shared(int);
int main(int, char **arguments) {
    int own = 0;
#pragma omp target map(from : own)
    own = 1;
    auto module = (int (*)(int))dlsym(dlopen(arguments[1], RTLD_NOW), \"module\");
    std::printf(\"%d %d %d %d %d\\n\", own, kept(0), objects(0), shared(0), module(0));
}
";

pub fn cmake_with(directory: &Path, version: Option<&str>) -> Result<()> {
    let cmake = version.map_or_else(|| Tool::Cmake.path(), fetched_cmake)?;
    let ninja = Tool::Ninja.path()?;
    let clang = llvm_tool("clang++", "22", "clang-22")?;
    Tool::Lld.path()?;
    std::fs::write(directory.join("CMakeLists.txt"), PROJECT)?;
    std::fs::write(directory.join("main.cpp"), MAIN)?;
    for (added, name) in ["kept", "objects", "shared", "module"].into_iter().enumerate() {
        let source = FUNCTION.replace("NAME", name).replace("ADDED", &(added + 2).to_string());
        std::fs::write(directory.join(format!("{name}.cpp")), source)?;
    }
    let libraries = [openmp_library("22", "libomp.so")?, openmp_library("22", "libomptarget.so")?];
    let runtime = libraries.each_ref().map(|library| library.display().to_string()).join(";");
    for (name, lto) in [("plain", ""), ("lto", "-flto"), ("thin", "-flto=thin")] {
        // The launcher of links also starts archivers; the other one starts the linker alone.
        for (launcher, option) in [("rule", "RULE"), ("linker", "CMAKE_CXX_LINKER_LAUNCHER")] {
            let separator = if launcher == "rule" { ' ' } else { ';' };
            let words = [fatbin_program(), "link", "--"].join(&separator.to_string());
            let build = format!("{name}-{launcher}");
            let configure = Step::new(directory, &cmake).args(["-S", ".", "-B", &build, "-G", "Ninja"]);
            let configure = configure.arg(format!("-DCMAKE_MAKE_PROGRAM={}", ninja.display()));
            let configure = configure.arg(format!("-DCMAKE_CXX_COMPILER={}", clang.display()));
            configure
                .args([format!("-DLTO={lto}"), format!("-DRUNTIME={runtime}"), format!("-D{option}={words}")])
                .run()?;
            let built = Step::new(directory, &cmake).args(["--build", &build]).run()?;
            let members = Step::new(directory, Tool::Ar.path()?).args(["t", &format!("{build}/libkept.a")]).run()?;
            ensure!(members.stdout == "kept.cpp.o\n", "{build}: {}", members.stdout);
            let run =
                Step::new(directory, directory.join(&build).join("program")).arg(format!("./{build}/libmodule.so"));
            let run = run.env("OMP_TARGET_OFFLOAD", "MANDATORY");
            let done = run.env("LD_LIBRARY_PATH", directories_of(&[&libraries[0], &libraries[1]])).run()?;
            ensure!(done.stdout == "1 2 3 4 5\n", "{build}: {}\n{}", done.error("expected 1 to 5"), built.stdout);
        }
    }
    Ok(())
}
