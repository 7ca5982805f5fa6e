//! Narsil/bindgen_cuda#11, #22: build.rs for crates like candle-kernels. Each .cu file in `kernels` becomes a fat binary with
//! machine code for CUDA_COMPUTE_CAPS, such as 80,90, and PTX of the last for newer GPUs. cudarc loads the bytes as they are.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use fatbin::embed::{CudaFatbinBuilder, EmbeddedFiles};
use fatbin::{Codec, Input};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=kernels\ncargo::rerun-if-env-changed=CUDA_COMPUTE_CAPS");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let caps = env::var("CUDA_COMPUTE_CAPS").unwrap_or("80,90".to_owned());
    let mut modules = EmbeddedFiles::new();
    for source in fs::read_dir("kernels")? {
        let source = source?.path();
        let name = source.file_stem().ok_or("a name")?.to_string_lossy().into_owned();
        let mut container = CudaFatbinBuilder::new();
        container.compression = Some(Codec::Zstd);
        for cap in caps.split(',') {
            container.image(compile(&source, &["-cubin", &format!("-arch=sm_{cap}")], &out.join("cubin"))?);
        }
        let newest = format!("-arch=compute_{}", caps.rsplit(',').next().unwrap_or_default());
        container.image(compile(&source, &["-ptx", &newest], &out.join("ptx"))?);
        let path = out.join(&name).with_extension("fatbin");
        fs::write(&path, container.build()?)?;
        modules.file(name, path);
    }
    modules.compile("modules");
    Ok(())
}

fn compile(source: &Path, options: &[&str], output: &Path) -> Result<Input, Box<dyn Error>> {
    let nvcc = env::var("NVCC").unwrap_or("nvcc".to_owned());
    let status = Command::new(nvcc).args(options).arg("-o").arg(output).arg(source).status()?;
    if !status.success() {
        return Err(format!("nvcc: {}: {status}", source.display()).into());
    }
    Ok(Input::from_bytes(output, fs::read(output)?))
}
