//! Kinds of code that few files have, alone and in containers of fatbinary 13.5: code with 32-bit addresses of ptxas 11.8,
//! Tile IR and cubins compiled from it, LTO-IR, OptiX IR, and containers without entries.

use std::path::Path;

use anyhow::{Result, ensure};

use super::compare::object;
use super::{pair, same};
use crate::fatbinary::cubins;
use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, fetched, find_in, not_fetched};

/// Containers: name, and arguments of fatbinary.
const CONTAINERS: [(&str, &str); 8] = [
    ("narrow", "-32 --image3=kind=elf,sm=75,file=narrow.cubin --image3=kind=ptx,sm=75,file=narrow.ptx"),
    ("narrow-size", "-32 --compress-mode=size --ident=a.cu -g --image3=kind=elf,sm=75,file=narrow.cubin"),
    ("tile", "--image3=kind=tileir,sm=100,file=answer.tilebc --image3=kind=elf,sm=100,file=sm_100.cubin"),
    ("tile-90", "--image3=kind=elf,sm=90,file=sm_90a.cubin --image3=kind=tileir,sm=90,file=answer.tilebc"),
    ("lto", "--image3=kind=nvvm,sm=90,file=answer.ltoir"),
    ("lto-none", "--compress-mode=none --image3=kind=nvvm,sm=90,file=answer.ltoir"),
    ("optix", "--compress-mode=none --image3=kind=nvvm,sm=75,file=optix.optixir"),
    ("none", ""),
];

/// Objects: name, and pairs of a section and its contents.
const OBJECTS: [(&str, &[(&str, &str)]); 4] = [
    ("narrow", &[(".nv_fatbin", "narrow")]),
    ("registered-none", &[(".nv_fatbin", "none")]),
    ("none-before", &[(".nv_fatbin", "none"), (".nv_fatbin", "tile-90")]),
    ("relocatable-lto", &[("__nv_relfatbin", "lto")]),
];

/// Files that are no containers.
const IMAGES: [&str; 5] = ["narrow.cubin", "narrow.ptx", "answer.tilebc", "answer.ltoir", "optix.optixir"];

const LISTS: [&str; 8] = [
    "",
    "-lelf -lptx",
    "-all -lelf -lptx",
    "-xelf all -xptx all",
    "-res-usage -symbols",
    "-ltext",
    "-ptx -all",
    "-arch sm_75 -lelf",
];

const PTX: &str = "\
.version 7.8
.target sm_75
.address_size 32
.visible .entry k(.param .u32 p)
{
.reg .b32 %r<3>;
.shared .b32 cells[16];
ld.param.u32 %r1, [p];
ld.shared.u32 %r2, [cells];
st.global.u32 [%r1], %r2;
ret;
}
";

/// A program for OptiX.
const OPTIX: &str = "extern \"C\" __global__ void __raygen__rg() {}\n";

fn prepare(directory: &Path) -> Result<()> {
    cubins(directory)?;
    std::fs::write(directory.join("narrow.ptx"), PTX)?;
    let ptxas = find_in(&fetched("ptxas-11.8"), "ptxas").ok_or_else(|| not_fetched("ptxas 11.8"))?;
    Step::new(directory, ptxas).args(["-m32", "-arch=sm_75", "-o", "narrow.cubin", "narrow.ptx"]).run()?;
    std::fs::write(directory.join("optix.cu"), OPTIX)?;
    let nvcc = find_in(&fetched("cuda-nvcc").join("nvidia/cu13/bin"), "nvcc").ok_or_else(|| not_fetched("nvcc"))?;
    Step::new(directory, nvcc).args(["-optix-ir", "-arch=sm_75", "-o", "optix.optixir", "optix.cu"]).run()?;
    for (name, from) in [("answer.tilebc", "answer.tilebc"), ("answer.ltoir", "answer-sm_90.ltoir")] {
        std::fs::copy(fixture(from)?, directory.join(name))?;
    }
    for (name, arguments) in CONTAINERS {
        let arguments = arguments.split_whitespace();
        Step::new(directory, Tool::Fatbinary.path()?).arg(format!("--create={name}")).args(arguments).run()?;
    }
    OBJECTS.iter().try_for_each(|(name, sections)| object(directory, name, sections))
}

/// Both programs print and write the same.
pub fn kinds(directory: &Path) -> Result<()> {
    prepare(directory)?;
    let pair = pair(directory)?;
    let containers = CONTAINERS.iter().map(|(name, _)| (*name).to_owned());
    let objects = OBJECTS.iter().map(|(name, _)| format!("{name}.o"));
    for file in containers.chain(objects).chain(IMAGES.map(str::to_owned)) {
        same(&pair, &file, &LISTS)?;
    }
    for (file, kind) in [("answer.ltoir", "nvvm"), ("optix.optixir", "optixir")] {
        let scan = Step::new(directory, fatbin_program()).args(["scan", "--json", file]).run()?;
        ensure!(scan.stdout.contains(&format!("\"image\": \"{kind}\"")), "{}", scan.error(kind));
    }
    Ok(())
}
