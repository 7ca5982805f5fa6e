//! Level Zero binaries and archives of them, compiled by Intel's ocloc.

mod sycl;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::fatbin_program;
use crate::harness::step::{Done, Step};
use crate::harness::tools::{Missing, Tool, fetched, find_in, in_path, not_fetched};
use crate::harness::trial::{completion, fresh_directory};

/// Products that ocloc compiles for, by the names that it shares with DPC++.
const PRODUCTS: [&str; 8] = ["skl", "glk", "icllp", "tgllp", "adlp", "dg1", "dg2", "pvc"];

const SOURCE: &str = "__attribute__((reqd_work_group_size(16, 2, 1)))\n\
    kernel void fill(global int *p, int n, local int *l) { l[get_local_id(0)] = n; p[get_global_id(0)] = l[0]; }\n\
    kernel void saxpy(global float *y, global const float *x, float a) { y[get_global_id(0)] += a * x[get_global_id(0)]; }\n";

pub fn trials() -> Vec<Trial> {
    let trial = |name: &'static str, test: fn(&Path) -> Result<()>| {
        Trial::ignorable_test(format!("zebin/{name}"), move || {
            completion(fresh_directory("zebin", name).and_then(|directory| test(&directory)))
        })
    };
    vec![
        trial("products", products),
        trial("archives", archives),
        trial("patch-tokens", patch_tokens),
        trial("sycl-images", sycl::images),
        trial("device-names", sycl::names),
        trial("runtime-names", sycl::runtime),
    ]
}

fn fatbin(directory: &Path, arguments: &[&str]) -> Result<Done> {
    Step::new(directory, fatbin_program()).args(arguments).run()
}

/// Runs ocloc.
fn ocloc(directory: &Path, arguments: &[&str]) -> Result<Done> {
    let libraries = fetched("ocloc").join("usr/lib/x86_64-linux-gnu");
    find_in(&libraries, "libocloc.so").ok_or_else(|| not_fetched("libocloc.so"))?;
    let libraries = std::fs::canonicalize(libraries)?;
    let python = in_path("python3").ok_or_else(|| Missing::new("python3", "python3"))?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/linker-tests/zebin/ocloc.py");
    let step = Step::new(directory, python).arg(script).arg(&libraries).env("LD_LIBRARY_PATH", &libraries);
    step.args(arguments).run()
}

/// Compiles the source for a product or several, with the prefix `a` of the output.
fn compile(directory: &Path, device: &str) -> Result<()> {
    std::fs::write(directory.join("a.cl"), SOURCE)?;
    ocloc(directory, &["compile", "-file", "a.cl", "-device", device, "--format", "zebin", "-output", "a"])?;
    Ok(())
}

/// A source with every figure that both layouts state.
const FIGURES: &str = "struct s { long a; int b; };\n\
    kernel void values(global int *p, struct s v, constant int *c, read_only image2d_t i, sampler_t m, local int *l) {\n\
      l[get_local_id(0)] = v.b; p[0] = v.a + c[1] + read_imagei(i, m, (int2)(0, 0)).x + l[1]; }\n\
    kernel void array(global int *p, int n) { int a[1500]; for (int i = 0; i < n; i++) a[p[i]] += p[i + 1] * i;\n\
      for (int i = 0; i < n; i++) p[i] = a[i * n % 1500]; }\n\
    __attribute__((reqd_work_group_size(16, 2, 1))) kernel void exchange(global float *p) { local float s[256];\n\
      s[get_local_id(0)] = p[get_local_id(0)]; barrier(CLK_LOCAL_MEM_FENCE); p[get_local_id(0)] = s[255 - get_local_id(0)]; }\n";

/// ocloc's zebin has the same figures as its code with patch tokens, which names the core family of the product.
fn patch_tokens(directory: &Path) -> Result<()> {
    #[rustfmt::skip]
    const CORES: [(&str, &str); 8] = [
        ("bdw", "gen8"), ("skl", "gen9"), ("glk", "gen9"), ("icllp", "gen11"), ("tgllp", "gen12lp"), ("dg1", "gen12lp"),
        ("dg2-g10", "xe_hpg"), ("pvc", "xe_hpc"),
    ];
    std::fs::write(directory.join("b.cl"), FIGURES)?;
    for (product, core) in CORES {
        let mut all_kernels = Vec::new();
        for (layout, image_kind) in [("zebin", "elf"), ("patchtokens", "patchtokens")] {
            let output = format!("{product}-{layout}");
            let arguments =
                ["compile", "-q", "-file", "b.cl", "-device", product, "--format", layout, "-output", &output];
            ocloc(directory, &[&arguments[..], &["-output_no_suffix"]].concat())?;
            let done = fatbin(directory, &["inspect", "--json", &output])?;
            let document: Value = serde_json::from_str(&done.stdout)?;
            let images = document["files"][0]["images"].as_array().context("images")?;
            let image = images.iter().find(|image| image["image"] == image_kind).context("no machine code")?;
            ensure!(layout == "zebin" || image["arch"] == core, "{}", done.error(core));
            all_kernels.push(image["kernels"].clone());
        }
        ensure!(all_kernels[0] == all_kernels[1], "{product}: {} differs from {}", all_kernels[0], all_kernels[1]);
        ensure!(all_kernels[0].as_array().is_some_and(|kernels| kernels.len() == 3), "{}", all_kernels[0]);
    }
    Ok(())
}

/// Returns the output of ocloc, which contains the names of the core and the product.
fn output(directory: &Path) -> Result<PathBuf> {
    let mut entries = std::fs::read_dir(directory)?.filter_map(|entry| Some(entry.ok()?.path()));
    entries.find(|path| path.extension().is_some_and(|it| it == "bin")).context("ocloc wrote nothing")
}

/// Each file is an image for the product that ocloc was called with, alone and as data of an object, with the kernels of the source.
fn products(directory: &Path) -> Result<()> {
    for product in PRODUCTS {
        let directory = directory.join(product);
        std::fs::create_dir_all(&directory)?;
        compile(&directory, product)?;
        std::fs::rename(output(&directory)?, directory.join("a.zebin"))?;
        let verified = fatbin(&directory, &["verify", "a.zebin"])?;
        ensure!(verified.stdout == "a.zebin: 1 device image, intact\n", "{}", verified.error("not intact"));
        let done = fatbin(&directory, &["inspect", "--json", "a.zebin"])?;
        let document: Value = serde_json::from_str(&done.stdout)?;
        let image = &document["files"][0]["images"][0];
        ensure!(image["arch"] == product, "{}", done.error(product));
        let kernels = image["kernels"].as_array().context("kernels")?;
        let names: Vec<_> = kernels.iter().filter_map(|it| it["name"].as_str()).collect();
        ensure!(names == ["fill", "saxpy"], "{}", done.error("other kernels"));
        let arguments = kernels[1]["parameters"].as_array().context("parameters")?;
        let arguments: Vec<_> = arguments.iter().filter_map(|it| it["name"].as_str()).collect();
        ensure!(arguments == ["y", "x", "a"], "{}", done.error("other arguments"));
        ensure!(kernels[0]["required_threads"] == serde_json::json!([16, 2, 1]), "{}", done.error("another shape"));
        fatbin(&directory, &["select", "--device", &format!("intel_gpu_{product}"), "a.zebin"])?;

        Step::new(&directory, Tool::Bfd.path()?).args(["-r", "-b", "binary", "-o", "data.o", "a.zebin"]).run()?;
        let extracted = fatbin(&directory, &["extract", "data.o", "-o", "out", "--name", "{arch}"])?;
        ensure!(extracted.stdout == format!("out/{product}\n"), "{}", extracted.error("not found as data"));
        let same = std::fs::read(directory.join("out").join(product))? == std::fs::read(directory.join("a.zebin"))?;
        ensure!(same, "{}", extracted.error("other bytes"));
    }
    Ok(())
}

/// A file for a family of products is an archive, whose members are listed.
fn archives(directory: &Path) -> Result<()> {
    compile(directory, "xe-hpg")?;
    let scan = fatbin(directory, &["scan", "--json", "a"])?;
    let document: Value = serde_json::from_str(&scan.stdout)?;
    let files = document["files"].as_array().context("files")?;
    let members: Vec<(&str, &Value)> = files
        .iter()
        .filter_map(|file| Some((file["path"].as_str()?, &file["containers"][0]["images"][0]["arch"])))
        .collect();
    let expected = ["a!64.12.55.8", "a!64.12.56.5", "a!64.12.57.0"];
    ensure!(members.iter().map(|(path, _)| *path).eq(expected), "{}", scan.error("other members"));
    ensure!(members.iter().all(|(_, arch)| *arch == "dg2"), "{}", scan.error("other processors"));
    Ok(())
}
