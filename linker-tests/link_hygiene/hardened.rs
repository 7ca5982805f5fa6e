//! The properties of a hardened link: a file has them only if every object in it has, so that one object can remove them from
//! the whole program.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::{cc, source, wrap};
use crate::harness::directives::fixture;
use crate::harness::step::{Done, Step};
use crate::harness::tools::Linker;
use crate::matrix::images::Images;

/// Links a library without the compiler's start files and the C library's archive, which may lack the properties.
pub fn marks_stay(directory: &Path, linker: Linker) -> Result<()> {
    let images = Images::write(directory)?;
    cc(directory)?
        .args(["-O1", "-fPIC", "-fcf-protection=full", "-c"])
        .args([fixture("judge.c")?, source("marks.c")])
        .run()?;
    for kind in ["openmp", "cuda", "hip", "sycl"] {
        wrap(directory, kind).args(images.of(kind)).args(["-o", "wrapper.o"]).run()?;
        let library = format!("lib{kind}.so");
        let step = cc(directory)?.args(linker.cc_flags()?).args(["-shared", "-nostartfiles", "-Wl,-z,relro,-z,now"]);
        step.args(["-o", &library, "judge.o", "marks.o", "wrapper.o"]).run()?;

        let readelf = |option: &str| Step::new(directory, "readelf").args(["-W", option]).arg(&library).run();
        let notes = readelf("-n")?;
        ensure!(notes.stdout.contains("IBT, SHSTK"), notes.error("IBT and SHSTK are missing"));
        let segments = readelf("-l")?;
        let stack = segments.stdout.lines().find(|line| line.contains("GNU_STACK"));
        ensure!(stack.is_some_and(|line| line.contains(" RW ")), segments.error("the stack is executable"));
        let symbols = readelf("-s")?;
        let structure = match kind {
            "openmp" => ".omp_offloading.descriptor",
            "sycl" => ".sycl_offloading.descriptor",
            // The runtimes of CUDA and HIP get a writable structure from every compiler.
            _ => continue,
        };
        let address = address_of(&symbols, structure)?;
        let (begin, size) = relro_of(&segments)?;
        ensure!(
            (begin..begin + size).contains(&address),
            symbols.error(format!("{structure} at {address:#x} is writable: RELRO is {size:#x} at {begin:#x}"))
        );
    }
    Ok(())
}

/// `   Num: Value Size Type ... Name`
fn address_of(symbols: &Done, name: &str) -> Result<u64> {
    let line = symbols.stdout.lines().find(|line| line.split_whitespace().next_back() == Some(name));
    let value = line.and_then(|line| line.split_whitespace().nth(1));
    u64::from_str_radix(value.with_context(|| format!("no symbol {name}"))?, 16).map_err(|error| symbols.error(error))
}

/// `  GNU_RELRO Offset VirtAddr PhysAddr FileSiz MemSiz ...`
fn relro_of(segments: &Done) -> Result<(u64, u64)> {
    let line = segments.stdout.lines().find(|line| line.contains("GNU_RELRO"));
    let fields: Vec<&str> = line.context("no GNU_RELRO")?.split_whitespace().collect();
    let number = |index: usize| -> Result<u64> {
        let text = fields.get(index).context("a field of GNU_RELRO")?;
        Ok(u64::from_str_radix(text.trim_start_matches("0x"), 16)?)
    };
    Ok((number(2)?, number(5)?))
}
