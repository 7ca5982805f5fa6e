//! NVIDIA's cuobjdump.

use std::path::Path;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use super::{LINUX, WINDOWS, bytes_of, cubin, fails_with, object, ours, ours_takes_out, trial};
use crate::harness::directives::fixture;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, fetched, find_in, not_fetched};

pub fn trials() -> Vec<Trial> {
    vec![
        trial("cuobjdump/other-section", cuobjdump_needs_named_sections),
        trial("cuobjdump/no-section-headers", cuobjdump_needs_section_headers),
        trial("cuobjdump/pe", cuobjdump_rejects_pe_files),
        trial("cuobjdump/suffix-f", cuobjdump_drops_the_suffix_f_of_cubins),
        trial("cuobjdump/nvvm", cuobjdump_omits_nvvm_in_its_lists),
        trial("cuobjdump/thin-archive", cuobjdump_looks_for_members_where_it_is_called),
    ]
}

const NO_DEVICE_CODE: &str = "does not contain device code";

/// A fat binary around a cubin, made by NVIDIA's own tool.
pub fn fat_binary(folder: &Path, name: &str, cubin: &Path) -> Result<()> {
    fat_binary_for(folder, name, "90", cubin)
}

fn fat_binary_for(folder: &Path, name: &str, sm: &str, cubin: &Path) -> Result<()> {
    let tool = find_in(&fetched("cuda-tools"), "fatbinary").ok_or_else(|| not_fetched("fatbinary"))?;
    let image = format!("--image3=kind=elf,sm={sm},file={}", cubin.display());
    Step::new(folder, tool).args(["-64", &format!("--create={name}"), &image]).run()?;
    Ok(())
}

fn list(folder: &Path, file: &str) -> Result<Step> {
    Ok(Step::new(folder, Tool::Cuobjdump.path()?).args(["-all", "-lelf", file]))
}

fn cuobjdump_needs_named_sections(folder: &Path) -> Result<()> {
    fat_binary(folder, "fat", &cubin()?)?;
    object(folder, "named.o", LINUX, ".nv_fatbin", "fat")?;
    let named = list(folder, "named.o")?.run()?;
    ensure!(named.stdout.contains("sm_90"), "{}", named.complain("there is device code in that section"));
    object(folder, "host.o", LINUX, ".lrodata", "fat")?;
    fails_with(list(folder, "host.o")?, NO_DEVICE_CODE)?;
    ours_takes_out(folder, "host.o", &[cubin()?])
}

fn cuobjdump_needs_section_headers(folder: &Path) -> Result<()> {
    fat_binary(folder, "fat", &cubin()?)?;
    object(folder, "host.o", LINUX, ".nv_fatbin", "fat")?;
    Step::new(folder, Tool::Cc.path()?).args(["-shared", "-o", "host.so", "host.o"]).run()?;
    let named = list(folder, "host.so")?.run()?;
    ensure!(named.stdout.contains("sm_90"), "{}", named.complain("there is device code in that library"));
    Step::new(folder, Tool::Objcopy.path()?).args(["--strip-sections", "host.so", "stripped.so"]).run()?;
    fails_with(list(folder, "stripped.so")?, NO_DEVICE_CODE)?;
    ours_takes_out(folder, "stripped.so", &[cubin()?])
}

fn cuobjdump_rejects_pe_files(folder: &Path) -> Result<()> {
    fat_binary(folder, "fat", &cubin()?)?;
    object(folder, "host.obj", WINDOWS, ".nv_fatbin", "fat")?;
    fails_with(list(folder, "host.obj")?, NO_DEVICE_CODE)?;
    ours_takes_out(folder, "host.obj", &[cubin()?])?;
    // The linker has several names, and each is a program of its own.
    let link = Tool::Lld.path()?.canonicalize()?.with_file_name("lld");
    Step::new(folder, link).args(["-flavor", "link", "-dll", "-noentry", "-out:host.dll", "host.obj"]).run()?;
    fails_with(list(folder, "host.dll")?, NO_DEVICE_CODE)?;
    ours_takes_out(folder, "host.dll", &[cubin()?])
}

fn cuobjdump_drops_the_suffix_f_of_cubins(folder: &Path) -> Result<()> {
    let text = std::fs::read_to_string(fixture("answer-sm_80.ptx")?)?;
    let line = |line: &str| match line.split(' ').next() {
        Some(".version") => ".version 8.8\n".to_owned(),
        Some(".target") => ".target sm_100f\n".to_owned(),
        _ => format!("{line}\n"),
    };
    std::fs::write(folder.join("ptx"), text.lines().map(line).collect::<String>())?;
    Step::new(folder, Tool::Ptxas.path()?).args(["-arch=sm_100f", "-o", "cubin", "ptx"]).run()?;
    fat_binary_for(folder, "fat", "100f", Path::new("cubin"))?;
    let theirs = Step::new(folder, Tool::Cuobjdump.path()?).args(["-lelf", "fat"]).run()?;
    ensure!(theirs.stdout.contains("sm_100.cubin"), "{}", theirs.complain("it says sm_100f now"));
    ours_takes_out(folder, "fat", &["cubin".into()])?;
    let own = ours(folder, &["scan", "fat"])?;
    ensure!(own.stdout.contains(" sm_100f "), "{}", own.complain("should be for sm_100f"));
    Ok(())
}

/// Only a compiler of NVIDIA's makes NVVM that fatbinary takes, so the entry is written here: a header of 64 bytes, options,
/// without which cuobjdump reads none, and eight bytes for a payload.
fn cuobjdump_omits_nvvm_in_its_lists(folder: &Path) -> Result<()> {
    const NVVM: u16 = 8;
    let payload = b"BC\xc0\xde1234";
    fat_binary(folder, "cubin-alone", &cubin()?)?;
    let mut fat = bytes_of(&folder.join("cubin-alone"))?;
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
    std::fs::write(folder.join("fat"), fat)?;
    std::fs::write(folder.join("nvvm"), payload)?;

    let dump = Step::new(folder, Tool::Cuobjdump.path()?).args(["-all", "fat"]).run()?;
    ensure!(dump.stdout.contains("Fatbin nvvm code"), "{}", dump.complain("it should read that entry"));
    let theirs = list(folder, "fat")?.run()?;
    ensure!(theirs.stdout.lines().count() == 1, "{}", theirs.complain("it lists the NVVM now"));
    ours_takes_out(folder, "fat", &[cubin()?, "nvvm".into()])
}

fn cuobjdump_looks_for_members_where_it_is_called(folder: &Path) -> Result<()> {
    let inner = folder.join("inner");
    std::fs::create_dir(&inner)?;
    fat_binary(&inner, "fat", &cubin()?)?;
    object(&inner, "host.o", LINUX, ".nv_fatbin", "fat")?;
    Step::new(&inner, Tool::Ar.path()?).args(["--thin", "rc", "thin.a", "host.o"]).run()?;
    let there = list(&inner, "thin.a")?.run()?;
    ensure!(there.stdout.contains("sm_90"), "{}", there.complain("called beside it, it reads the archive"));
    fails_with(list(folder, "inner/thin.a")?, "Could not open input file 'host.o'")?;
    ours_takes_out(folder, "inner/thin.a", &[cubin()?])
}
