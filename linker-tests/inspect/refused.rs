//! Code objects that HIP refuses: clang assembles them, and AMD's library for code objects judges those whose metadata
//! it cannot find.

use std::path::Path;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use super::{clang, trial};
use crate::harness::command::command;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, fetched, find_in, not_fetched};

/// A kernel without metadata.
const KERNEL: &str = r#"
.amdgcn_target "amdgcn-amd-amdhsa--PROCESSOR"
.text
.globl start
.p2align 8
.type start,@function
start:
    s_endpgm
.Lend:
    .size start, .Lend-start
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel start
    .amdhsa_next_free_vgpr 1
    .amdhsa_next_free_sgpr 8
.end_amdhsa_kernel
"#;

/// A program that asks AMD's library whether code objects have metadata.
const JUDGE: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
typedef struct { unsigned long handle; } data;
static char bytes[1 << 20];
int main(int count, char **arguments) {
    void *library = dlopen(arguments[1], RTLD_NOW);
    if (!library) {
        puts(dlerror());
        return 1;
    }
    int (*create)(int, data *) = dlsym(library, "amd_comgr_create_data");
    int (*set)(data, unsigned long, const char *) = dlsym(library, "amd_comgr_set_data");
    int (*metadata)(data, data *) = dlsym(library, "amd_comgr_get_data_metadata");
    FILE *file = fopen(arguments[2], "rb");
    data object, found;
    /* Kind 8 is an executable. */
    if (create(8, &object) || set(object, fread(bytes, 1, sizeof bytes, file), bytes))
        return 1;
    puts(metadata(object, &found) ? "no metadata" : "metadata");
    return 0;
}
"#;

const PROCESSORS: [&str; 3] = ["gfx906", "gfx908", "gfx1100"];

pub fn trials() -> Vec<Trial> {
    PROCESSORS
        .into_iter()
        .flat_map(|processor| {
            [4, 5, 6].map(|version| {
                let test = move |directory: &Path| code_objects(directory, processor, version);
                trial(format!("refused/{processor}/version-{version}"), test)
            })
        })
        .collect()
}

fn metadata(processor: &str, kernels: &[&str], minor: u32) -> String {
    let kernel = |name: &&str| {
        format!(
            "  - .name: {name}\n    .symbol: {name}.kd\n    .kernarg_segment_size: 0\n    .group_segment_fixed_size: 0\n    \
             .private_segment_fixed_size: 0\n    .kernarg_segment_align: 4\n    .wavefront_size: 64\n    .sgpr_count: 8\n    \
             .vgpr_count: 1\n    .max_flat_workgroup_size: 256\n"
        )
    };
    let kernels: String = kernels.iter().map(kernel).collect();
    format!(
        ".amdgpu_metadata\n---\namdhsa.version:\n  - 1\n  - {minor}\namdhsa.kernels:\n{kernels}\
         amdhsa.target: amdgcn-amd-amdhsa--{processor}\n...\n.end_amdgpu_metadata\n"
    )
}

fn code_objects(directory: &Path, processor: &str, version: u32) -> Result<()> {
    std::fs::write(directory.join("judge.c"), JUDGE)?;
    Step::new(directory, Tool::Cc.path()?).args(["-o", "judge", "judge.c", "-ldl"]).run()?;
    let minor = if version == 4 { 1 } else { 2 };
    let other = if processor == "gfx906" { "gfx908" } else { "gfx906" };
    let cases = [
        ("good", metadata(processor, &["start"], minor), None),
        ("empty", metadata(processor, &[], minor), None),
        ("none", String::new(), Some("missing; HIP loads no code object without it")),
        (
            "ghost",
            metadata(processor, &["start", "ghost"], minor),
            Some("kernel ghost has no descriptor: ghost.kd is not defined"),
        ),
        ("other", metadata(other, &["start"], minor), Some("states ")),
    ];
    for (name, metadata, expected) in cases {
        let source = KERNEL.replace("PROCESSOR", processor) + &metadata;
        std::fs::write(directory.join(format!("{name}.s")), source)?;
        let target =
            ["--target=amdgcn-amd-amdhsa", &format!("-mcpu={processor}"), &format!("-mcode-object-version={version}")];
        clang(directory)?.args(target).args([&format!("{name}.s"), "-o", name]).run()?;
        let verify = command(fatbin_program()).args(["verify", name]).current_dir(directory).output()?;
        let text = String::from_utf8_lossy(&verify.stderr).into_owned();
        ensure!(verify.status.success() == expected.is_none(), "{name}: {}: {text}", verify.status);
        ensure!(text.lines().count() == usize::from(expected.is_some()), "{name}: {text}");
        ensure!(expected.is_none_or(|expected| text.contains(expected)), "{name}: {text}");
        // The library is of ROCm 5, which does not know code objects of version 6.
        if version < 6 {
            ensure!(has_metadata(directory, name)? == (name != "none"), "{name}: AMD's library disagrees");
        }
    }
    Ok(())
}

/// Asks AMD's library.
fn has_metadata(directory: &Path, name: &str) -> Result<bool> {
    let libraries = fetched("hip-5").join("usr/lib/x86_64-linux-gnu");
    let library = find_in(&libraries, "libamd_comgr.so").ok_or_else(|| not_fetched("libamd_comgr.so"))?;
    let judge = Step::new(directory, directory.join("judge")).env("LD_LIBRARY_PATH", &libraries);
    Ok(judge.arg(library).arg(name).run()?.stdout == "metadata\n")
}
