//! CUDA objects of clang 22, which calls NVIDIA's fatbinary 13.5, compared with cuobjdump. Earlier releases pass an
//! option that this fatbinary no longer has; `fatbinary/clang` compiles with them and the drop-in.

use std::path::Path;

use anyhow::{Context, Result};

use super::{contents, equal, extracted, fresh_output};
use crate::dropin::{Call, Pair};
use crate::harness::step::Step;
use crate::harness::tools::{Tool, llvm_tool};
use crate::linker_wrapper::stand_ins;

/// Number of images, source and options.
const ROWS: [(usize, &str, &str); 8] = [
    (4, "kernel.cu", "--no-offload-new-driver"),
    (2, "kernel.cu", "--no-offload-new-driver --no-cuda-include-ptx=all"),
    (4, "kernel.cu", "--no-offload-new-driver -g"),
    (4, "kernel.cu", "--no-offload-new-driver -Xcuda-fatbinary --compress-all"),
    (4, "kernel.cu", "--no-offload-new-driver -Xcuda-fatbinary --compress-mode=speed -Xcuda-fatbinary --compress-all"),
    (4, "kernel.cu", "--no-offload-new-driver -Xcuda-fatbinary --ident=src/kernel.cu"),
    (4, "function.cu", "--no-offload-new-driver -fgpu-rdc"),
    (2, "kernel.cu", "--offload-new-driver"),
];

/// fatbin, cuobjdump and its drop-in agree on each object.
pub fn objects(directory: &Path) -> Result<()> {
    let (clang, cuobjdump) = (llvm_tool("clang", "22", "clang-22")?, Tool::Cuobjdump.path()?);
    let bin = stand_ins(directory)?;
    for (name, tool) in [("ptxas", Tool::Ptxas), ("fatbinary", Tool::Fatbinary)] {
        std::fs::remove_file(bin.join(name))?;
        std::os::unix::fs::symlink(tool.path()?, bin.join(name))?;
    }
    std::fs::write(directory.join("cuda/include/cuda.h"), "#define CUDA_VERSION 13050\n")?;
    let pair = Pair::new(directory, "cuobjdump", &cuobjdump)?;
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/drivers/sources");
    for (images, source, options) in ROWS {
        let step = Step::new(directory, &clang).args(["--cuda-path=cuda", "-nocudalib", "-nocudainc"]);
        let step = step.args(["--no-cuda-version-check", "--cuda-gpu-arch=sm_80", "--cuda-gpu-arch=sm_90", "-c"]);
        step.args(options.split(' ')).arg(sources.join(source)).args(["-o", "k.o"]).run()?;
        let theirs = fresh_output(directory)?;
        for option in ["-xelf", "-xptx"] {
            Step::new(&theirs, &cuobjdump).args(["-all", option, "all", "../k.o"]).run()?;
        }
        let ours = extracted(directory, "k.o", &[".cubin", ".ptx"])?;
        equal(options, &ours, &contents(&theirs, |_| true)?, images)?;
        for list in [&["-all"][..], &["-lelf", "-lptx"], &["-all", "-res-usage", "-symbols", "-ptx"]] {
            let line: Vec<&str> = list.iter().copied().chain(["../k.o"]).collect();
            pair.same(&Call::new(&line)).with_context(|| options.to_owned())?;
        }
    }
    Ok(())
}
