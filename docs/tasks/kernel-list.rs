//! apache/mahout#1484: build.rs with the list of the kernels in each fat binary. It comes from the machine code, so it does not
//! matter how the sources declare them. `KERNELS` has module and name of each.

use std::error::Error;
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

use fatbin::embed::EmbeddedFiles;
use fatbin::{Access, Input, Scan};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=kernels");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let nvcc = env::var("NVCC").unwrap_or("nvcc".to_owned());
    let (mut modules, mut kernels) = (EmbeddedFiles::new(), Vec::new());
    for source in fs::read_dir("kernels")? {
        let source = source?.path();
        let name = source.file_stem().ok_or("a name")?.to_string_lossy().into_owned();
        let path = out.join(&name).with_extension("fatbin");
        let status = Command::new(&nvcc).args(["-fatbin", "-arch=sm_90", "-o"]).arg(&path).arg(source).status()?;
        assert!(status.success(), "{name}: nvcc: {status}");
        let input = Input::open(&path, Access::read())?;
        let found = Scan::new(&input)?.images().flat_map(|image| image.inspect().kernels).collect::<Vec<_>>();
        kernels.extend(found.into_iter().map(|kernel| (name.clone(), kernel.name)));
        modules.file(name, path);
    }
    // Images for several GPUs, and their PTX, have the same kernels.
    kernels.sort();
    kernels.dedup();
    fs::write(out.join("kernels.rs"), format!("pub const KERNELS: &[(&str, &str)] = &{kernels:?};\n"))?;
    modules.compile("modules");
    Ok(())
}
