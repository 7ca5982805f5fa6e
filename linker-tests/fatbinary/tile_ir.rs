//! Objects that nvcc 13.5 compiles from Tile C++. Cubins and Tile IR are in a separate fat binary, next to the one with
//! SIMT code.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::fatbin;
use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::program::write_program;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, fetched, find_in, not_fetched};

/// Two tile kernels and an ordinary one.
const SOURCE: &str = "#include <cuda_tile.h>\n\
    __tile_global__ void first(int *p) { *p = 1; }\n\
    __tile_global__ void second(float *p, int n) { *p = 2; }\n\
    __global__ void ordinary(int *p) { *p = 3; }\n";

const OPTIONS: [&str; 3] = ["-arch=sm_100", "--enable-tile", "-std=c++20"];

fn program(name: &str) -> Result<PathBuf> {
    Ok(find_in(&fetched("cuda-nvcc").join("nvidia/cu13/bin"), name).ok_or_else(|| not_fetched(name))?)
}

/// Compiles the source with a copy of nvcc.
fn compile(directory: &Path, nvcc: &Path, options: &[&str]) -> Result<()> {
    std::fs::write(directory.join("tile.cu"), SOURCE)?;
    Step::new(directory, nvcc).args(OPTIONS).args(options).arg("tile.cu").run()?;
    Ok(())
}

/// Each image is listed, inspected and extracted. The Tile IR equals the output of `nvcc -tilebc`, and NVIDIA's
/// disassembler lists the same kernels.
pub fn are_read(directory: &Path) -> Result<()> {
    let nvcc = program("nvcc")?;
    compile(directory, &nvcc, &["-tilebc", "-o", "tile.tilebc"])?;
    compile(directory, &nvcc, &["-c", "-o", "tile.o"])?;
    let scan = fatbin(directory, &["scan", "--verbose", "tile.o"])?;
    let wrapper = "cuda wrapper .nvFatBinSegmentAlt+0x0 points to cuda-fatbin at .nv_fatbin+";
    ensure!(scan.stdout.contains(wrapper), "{}", scan.error("the wrapper of the Tile IR is missing"));
    let verified = fatbin(directory, &["verify", "tile.o"])?;
    ensure!(verified.stdout == "tile.o: 4 device images, intact\n", "{}", verified.error("not intact"));
    let extracted = fatbin(directory, &["extract", "tile.o", "-o", "out", "--name", "{number}.{extension}"])?;
    let names: Vec<&str> = extracted.stdout.lines().collect();
    ensure!(
        names == ["out/0.cubin", "out/1.ptx", "out/2.cubin", "out/3.tilebc"],
        "{}",
        extracted.error("other images")
    );
    let same = std::fs::read(directory.join("out/3.tilebc"))? == std::fs::read(directory.join("tile.tilebc"))?;
    ensure!(same, "{}", extracted.error("the Tile IR differs from that of nvcc -tilebc"));
    for file in [directory.join("tile.tilebc"), fixture("answer.tilebc")?] {
        let text = Step::new(directory, program("tileirdisasm")?).arg(&file).run()?;
        let entries = text.stdout.lines().filter_map(|line| line.strip_prefix("entry @")?.split('(').next());
        let json = Step::new(directory, fatbin_program()).args(["inspect", "--json"]).arg(&file).run()?;
        let document: serde_json::Value = serde_json::from_str(&json.stdout)?;
        let kernels = document["files"][0]["images"][0]["kernels"].as_array().cloned().unwrap_or_default();
        let kernels: Vec<&str> = kernels.iter().filter_map(|kernel| kernel["name"].as_str()).collect();
        ensure!(!kernels.is_empty() && entries.eq(kernels.iter().copied()), "{}", json.error(text.stdout));
    }
    Ok(())
}

/// The architectures of the cubins are those in the names of cuobjdump, except for the suffix `f`, which cuobjdump leaves
/// out. nvcc labels cubins of Tile IR for more devices.
pub fn have_the_architecture_of_their_code(directory: &Path) -> Result<()> {
    let nvcc = program("nvcc")?;
    for arch in ["sm_75", "sm_90", "sm_100f"] {
        let arch_option = format!("-arch={arch}");
        let options = [arch_option.as_str(), "--enable-tile", "-std=c++20", "-c", "-o", "tile.o", "tile.cu"];
        std::fs::write(directory.join("tile.cu"), SOURCE)?;
        Step::new(directory, &nvcc).args(options).run()?;
        let verified = fatbin(directory, &["verify", "tile.o"])?;
        ensure!(verified.stdout.ends_with("device images, intact\n"), "{}", verified.error(arch));
        let json = fatbin(directory, &["scan", "--json", "tile.o"])?;
        let document: serde_json::Value = serde_json::from_str(&json.stdout)?;
        let containers = document["files"][0]["containers"].as_array().cloned().unwrap_or_default();
        let images =
            containers.iter().flat_map(|container| container["images"].as_array().cloned().unwrap_or_default());
        let cubins = images.filter(|image| image["image"] == "elf");
        let ours: Vec<String> =
            cubins.filter_map(|image| Some(image["arch"].as_str()?.trim_end_matches('f').to_owned())).collect();
        let list = Step::new(directory, Tool::Cuobjdump.path()?).args(["-lelf", "tile.o"]).run()?;
        let theirs: Vec<&str> = list.stdout.lines().filter_map(|line| line.rsplit('.').nth(1)).collect();
        ensure!(!ours.is_empty() && ours == theirs, "{arch}: {ours:?}, cuobjdump: {theirs:?}");
    }
    Ok(())
}

/// nvcc writes the same object when it calls the drop-in instead of fatbinary.
pub fn is_embedded_by_the_drop_in(directory: &Path) -> Result<()> {
    let nvcc = program("nvcc")?;
    compile(directory, &nvcc, &["-c", "-o", "reference.o"])?;
    // nvcc runs the programs in its own directory.
    let copy = directory.join("nvidia/cu13");
    std::fs::create_dir_all(copy.join("bin"))?;
    let toolkit = nvcc.ancestors().nth(2).unwrap_or(Path::new("/"));
    for entry in std::fs::read_dir(toolkit)?.chain(std::fs::read_dir(toolkit.join("bin"))?) {
        let path = entry?.path();
        let place = copy.join(path.strip_prefix(toolkit)?);
        match path.file_name().and_then(|name| name.to_str()) {
            Some("bin") => {}
            Some("fatbinary") => std::os::unix::fs::symlink(fatbin_program(), place)?,
            Some("nvcc") => write_program(&place, std::fs::read(&path)?)?,
            _ => std::os::unix::fs::symlink(&path, place)?,
        }
    }
    compile(directory, &copy.join("bin/nvcc"), &["-c", "-o", "tile.o"])?;
    let [ours, theirs] = ["tile.o", "reference.o"].map(|name| fatbin(directory, &["scan", "--json", "--hash", name]));
    let ours = ours?;
    let same = ours.stdout == theirs?.stdout.replace("reference.o", "tile.o");
    ensure!(same, "{}", ours.error("the objects differ"));
    Ok(())
}
