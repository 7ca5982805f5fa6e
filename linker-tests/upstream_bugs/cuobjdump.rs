//! Bugs of NVIDIA's cuobjdump.

use std::path::Path;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use super::{CUOBJDUMP, LINUX, WINDOWS, bytes_of, cubin, fails_with, object, ours, ours_extracts, trial};
use crate::harness::directives::fixture;
use crate::harness::step::Step;
use crate::harness::tools::Tool;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("cuobjdump/other-section", cuobjdump_needs_named_sections),
        trial("cuobjdump/no-section-headers", cuobjdump_needs_section_headers),
        trial("cuobjdump/pe", cuobjdump_rejects_pe_files),
        trial("cuobjdump/suffix-f", cuobjdump_drops_the_suffix_f_of_cubins),
        trial("cuobjdump/nvvm", cuobjdump_omits_nvvm_in_its_lists),
        trial("cuobjdump/thin-archive", cuobjdump_searches_members_in_the_working_directory),
    ]
}

const NO_DEVICE_CODE: &str = "does not contain device code";

/// Makes a fat binary of a cubin with NVIDIA's tool.
pub fn fat_binary(directory: &Path, name: &str, cubin: &Path) -> Result<()> {
    fat_binary_for(directory, name, "90", cubin)
}

fn fat_binary_for(directory: &Path, name: &str, sm: &str, cubin: &Path) -> Result<()> {
    let image = format!("--image3=kind=elf,sm={sm},file={}", cubin.display());
    Step::new(directory, Tool::Fatbinary.path()?).args(["-64", &format!("--create={name}"), &image]).run()?;
    Ok(())
}

fn list(directory: &Path, file: &str) -> Result<Step> {
    Ok(Step::new(directory, Tool::Cuobjdump.path()?).args(["-all", "-lelf", file]))
}

fn cuobjdump_needs_named_sections(directory: &Path) -> Result<()> {
    fat_binary(directory, "fat", &cubin()?)?;
    object(directory, "named.o", LINUX, ".nv_fatbin", "fat")?;
    let named = list(directory, "named.o")?.run()?;
    ensure!(named.stdout.contains("sm_90"), "{}", named.error("the section should contain device code"));
    object(directory, "host.o", LINUX, ".lrodata", "fat")?;
    CUOBJDUMP.has_bug(directory, fails_with(list(directory, "host.o")?, NO_DEVICE_CODE))?;
    ours_extracts(directory, "host.o", &[cubin()?])
}

fn cuobjdump_needs_section_headers(directory: &Path) -> Result<()> {
    fat_binary(directory, "fat", &cubin()?)?;
    object(directory, "host.o", LINUX, ".nv_fatbin", "fat")?;
    Step::new(directory, Tool::Cc.path()?).args(["-shared", "-o", "host.so", "host.o"]).run()?;
    let named = list(directory, "host.so")?.run()?;
    ensure!(named.stdout.contains("sm_90"), "{}", named.error("the library should contain device code"));
    Step::new(directory, Tool::Objcopy.path()?).args(["--strip-sections", "host.so", "stripped.so"]).run()?;
    CUOBJDUMP.has_bug(directory, fails_with(list(directory, "stripped.so")?, NO_DEVICE_CODE))?;
    ours_extracts(directory, "stripped.so", &[cubin()?])
}

fn cuobjdump_rejects_pe_files(directory: &Path) -> Result<()> {
    fat_binary(directory, "fat", &cubin()?)?;
    object(directory, "host.obj", WINDOWS, ".nv_fatbin", "fat")?;
    CUOBJDUMP.has_bug(directory, fails_with(list(directory, "host.obj")?, NO_DEVICE_CODE))?;
    ours_extracts(directory, "host.obj", &[cubin()?])?;
    // The linker runs as a different program under each of its names.
    let link = Tool::Lld.path()?.canonicalize()?.with_file_name("lld");
    Step::new(directory, link).args(["-flavor", "link", "-dll", "-noentry", "-out:host.dll", "host.obj"]).run()?;
    CUOBJDUMP.has_bug(directory, fails_with(list(directory, "host.dll")?, NO_DEVICE_CODE))?;
    ours_extracts(directory, "host.dll", &[cubin()?])
}

fn cuobjdump_drops_the_suffix_f_of_cubins(directory: &Path) -> Result<()> {
    let text = std::fs::read_to_string(fixture("answer-sm_80.ptx")?)?;
    let line = |line: &str| match line.split(' ').next() {
        Some(".version") => ".version 8.8\n".to_owned(),
        Some(".target") => ".target sm_100f\n".to_owned(),
        _ => format!("{line}\n"),
    };
    std::fs::write(directory.join("ptx"), text.lines().map(line).collect::<String>())?;
    Step::new(directory, Tool::Ptxas.path()?).args(["-arch=sm_100f", "-o", "cubin", "ptx"]).run()?;
    fat_binary_for(directory, "fat", "100f", Path::new("cubin"))?;
    let theirs = Step::new(directory, Tool::Cuobjdump.path()?).args(["-lelf", "fat"]).run()?;
    let is_dropped = theirs.stdout.contains("sm_100.cubin");
    let test = if is_dropped { Ok(()) } else { Err(theirs.error("the suffix f is printed")) };
    CUOBJDUMP.has_bug(directory, test)?;
    ours_extracts(directory, "fat", &["cubin".into()])?;
    let own = ours(directory, &["scan", "fat"])?;
    ensure!(own.stdout.contains(" sm_100f "), "{}", own.error("expected sm_100f"));
    Ok(())
}

/// Only NVIDIA's compilers make NVVM that fatbinary accepts, so the entry is written here: a header of 64 bytes, options,
/// which cuobjdump requires, and a payload of eight bytes.
fn cuobjdump_omits_nvvm_in_its_lists(directory: &Path) -> Result<()> {
    const NVVM: u16 = 8;
    let payload = b"BC\xc0\xde1234";
    fat_binary(directory, "cubin-alone", &cubin()?)?;
    let mut fat = bytes_of(&directory.join("cubin-alone"))?;
    let mut entry = [0; 80];
    let fields: [(usize, &[u8]); 10] = [
        (0, &NVVM.to_le_bytes()),
        (2, &0x101_u16.to_le_bytes()),
        (4, &80_u32.to_le_bytes()),
        (8, &(payload.len() as u64).to_le_bytes()),
        (20, &64_u32.to_le_bytes()),
        (26, &1_u16.to_le_bytes()),
        (28, &90_u32.to_le_bytes()),
        (40, &0x11_u64.to_le_bytes()),
        (64, &[72_u32.to_le_bytes(), 6_u32.to_le_bytes()].concat()),
        (72, b"-ftz=0"),
    ];
    for (offset, bytes) in fields {
        entry[offset..offset + bytes.len()].copy_from_slice(bytes);
    }
    fat.extend([&entry[..], payload].concat());
    let size = fat.len() as u64 - 16;
    fat[8..16].copy_from_slice(&size.to_le_bytes());
    std::fs::write(directory.join("fat"), fat)?;
    std::fs::write(directory.join("nvvm"), payload)?;

    let dump = Step::new(directory, Tool::Cuobjdump.path()?).args(["-all", "fat"]).run()?;
    ensure!(dump.stdout.contains("Fatbin nvvm code"), "{}", dump.error("the entry should be read"));
    let theirs = list(directory, "fat")?.run()?;
    let test = if theirs.stdout.lines().count() == 1 { Ok(()) } else { Err(theirs.error("the NVVM is listed")) };
    CUOBJDUMP.has_bug(directory, test)?;
    ours_extracts(directory, "fat", &[cubin()?, "nvvm".into()])
}

fn cuobjdump_searches_members_in_the_working_directory(directory: &Path) -> Result<()> {
    let inner = directory.join("inner");
    std::fs::create_dir(&inner)?;
    fat_binary(&inner, "fat", &cubin()?)?;
    object(&inner, "host.o", LINUX, ".nv_fatbin", "fat")?;
    Step::new(&inner, Tool::Ar.path()?).args(["--thin", "rc", "thin.a", "host.o"]).run()?;
    let there = list(&inner, "thin.a")?.run()?;
    ensure!(there.stdout.contains("sm_90"), "{}", there.error("the archive should be read from its own directory"));
    let elsewhere = fails_with(list(directory, "inner/thin.a")?, "Could not open input file 'host.o'");
    CUOBJDUMP.has_bug(directory, elsewhere)?;
    ours_extracts(directory, "inner/thin.a", &[cubin()?])
}
