//! An OpenMP program whose image is registered by an object that the library has written for another language.
//!
//! Its region comes from `integrations/example`. libomptarget runs the image on the host.

use std::path::Path;

use anyhow::{Result, ensure};

use super::step::Step;
use super::tools::Tool;

const OFFLOAD: [&str; 2] = ["-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu"];
const REGION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/integrations/example/region.c");
const MAIN: &str = "#include <stdio.h>
int region(void);
int main(void) {
    printf(\"device wrote %d\\n\", region());
    return 0;
}
";

/// Compiles the device half of the program to the image `device.so`.
pub fn compile_image(directory: &Path) -> Result<()> {
    let clang = || Ok::<_, anyhow::Error>(Step::new(directory, Tool::Clang.path()?));
    let half = ["--offload-device-only", "-DDEVICE", "-fPIC", "-c", "-o", "device.o", REGION];
    clang()?.args(OFFLOAD).args(half).run()?;
    clang()?.args(["-shared", "-o", "device.so", "device.o"]).run()?;
    Ok(())
}

/// Links the host half with an object that registers the image, and runs the program.
pub fn run_with(directory: &Path, object: &str) -> Result<()> {
    let clang = || Ok::<_, anyhow::Error>(Step::new(directory, Tool::Clang.path()?));
    std::fs::write(directory.join("main.c"), MAIN)?;
    clang()?.args(OFFLOAD).args(["--offload-host-only", "-c", "-o", "region.o", REGION]).run()?;
    let runtime = [Tool::Libomp.path()?, Tool::Libomptarget.path()?];
    let link = clang()?.args(["-o", "offloads", "main.c", "region.o", object, "-Wl,--no-as-needed"]);
    link.args(&runtime).run()?;
    let libraries = std::env::join_paths(runtime.iter().filter_map(|library| library.parent()))?;
    let program = Step::new(directory, directory.join("offloads")).env("LD_LIBRARY_PATH", libraries);
    let done = program.env("OMP_TARGET_OFFLOAD", "MANDATORY").run()?;
    ensure!(done.stdout == "device wrote 42\n", done.error("the image did not run"));
    Ok(())
}
