//! SPIR-V: a single module passes unchanged, and spirv-link combines several.

use std::path::Path;

use anyhow::{Result, ensure};

use super::fatbin;
use crate::harness::step::Step;
use crate::harness::tools::{Missing, Tool, in_path};

const HELPER: &str = "int helper(int x) { return x + 1; }\n";
const KERNEL: &str = "int helper(int);\n__kernel void work(__global int *to) { *to = helper(41); }\n";

/// Links modules for AMD's SPIR-V target, whose result a validator accepts.
pub fn modules(directory: &Path) -> Result<()> {
    for name in ["spirv-link", "spirv-val"] {
        in_path(name).ok_or_else(|| Missing::new(name, "spirv-tools"))?;
    }
    for (name, source) in [("helper", HELPER), ("kernel", KERNEL)] {
        std::fs::write(directory.join(format!("{name}.cl")), source)?;
        let compile = Step::new(directory, Tool::Clang.path()?).args(["--target=spirv64-unknown-unknown", "-O1", "-c"]);
        compile.args([format!("{name}.cl"), "-o".to_owned(), format!("{name}.spv")]).run()?;
        let pack = fatbin(directory).args(["pack", "-o", &format!("{name}.offload")]);
        let image = format!("file={name}.spv,kind=hip,triple=spirv64-amd-amdhsa,arch=amdgcnspirv");
        pack.args(["--image", &image]).run()?;
    }
    let link = |inputs: &[&str], output: &str| -> Result<Vec<u8>> {
        let link = fatbin(directory).args(["link", "--emit-fatbin-only", "--", "cc"]).args(inputs);
        link.args(["-o", &format!("{output}.hipfb")]).run()?;
        let image = format!("{output}.spv");
        fatbin(directory).args(["extract", "--to", &image, &format!("{output}.hipfb")]).run()?;
        Ok(std::fs::read(directory.join(image))?)
    };
    let alone = link(&["helper.offload"], "alone")?;
    ensure!(alone == std::fs::read(directory.join("helper.spv"))?, "a single module has changed");
    link(&["helper.offload", "kernel.offload"], "linked")?;
    Step::new(directory, "spirv-val").arg("linked.spv").run()?;
    let inspect = fatbin(directory).args(["inspect", "linked.spv"]).run()?;
    if inspect.stdout.contains("work") { Ok(()) } else { Err(inspect.error("expected the kernel")) }
}
