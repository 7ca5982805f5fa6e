//! `fatbin strip`: the same code for NVIDIA's and LLVM's tools.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use super::{fatbin, trial, unzipped};
use crate::harness::step::Step;
use crate::harness::tools::{Tool, llvm_tool};
use crate::real_files::path_of;

/// A kernel with a call, shared memory and a global variable. The path is only in debug information.
const PTX: &str = r#".version VERSION
.target ARCH
.address_size 64
.visible .global .align 4 .u32 counter;
.visible .func (.reg .u32 r) helper(.reg .u32 a)
{
 .loc 1 3 1
 add.u32 r, a, 7;
 ret;
}
.visible .entry answer(.param .u64 p)
{
 .reg .u64 %rd<4>;
 .reg .u32 %r<4>;
 .shared .align 4 .u32 s[4];
 .loc 1 5 1
 ld.param.u64 %rd1, [p];
 cvta.to.global.u64 %rd2, %rd1;
 .loc 1 6 1
 mov.u32 %r1, 42;
 ld.global.u32 %r2, [counter];
 add.u32 %r1, %r1, %r2;
 call (%r3), helper, (%r1);
 st.shared.u32 [s], %r3;
 st.global.u32 [%rd2], %r3;
 ret;
}
.file 1 "/home/builder/secret/kernel.cu"
"#;

/// A device function and a kernel for AMD.
const SOURCE: &str = "
typedef unsigned int u;
__attribute__((address_space(1))) u counter;
static u helper(u a) { return a * 3 + counter; }
__attribute__((amdgpu_kernel)) void answer(__attribute__((address_space(1))) u *p) { *p = helper(42 + p[1]); }
";

/// Processors with the versions of PTX that have them; code for sm_100 has copies of its sections for the driver's finalizer.
const ARCHS: [(&str, &str); 4] = [("sm_75", "7.8"), ("sm_80", "7.8"), ("sm_90", "7.8"), ("sm_100", "8.7")];

/// Real packages, and the pattern of the library in each: cubins in compressed entries, and code objects in bundles.
const LIBRARIES: [(&str, &str); 2] = [("nvjpeg", "*libnvjpeg*"), ("pennylane", "*amdgpu_ops*")];

pub fn trials() -> Vec<Trial> {
    let cubins = ARCHS
        .map(|(arch, version)| trial(format!("strip/{arch}"), move |directory| same_sass(directory, arch, version)));
    let libraries = LIBRARIES.map(|(package, pattern)| {
        trial(format!("strip/{package}"), move |directory| keeps_the_kernels(directory, package, pattern))
    });
    let others = [
        trial("strip/code-objects".to_owned(), like_llvm_strip),
        trial("strip/relocatable-code-objects".to_owned(), links_to_the_same_code),
        trial("strip/symbols-of-code-objects".to_owned(), loses_resources_only),
    ];
    cubins.into_iter().chain(libraries).chain(others).collect()
}

fn strip(directory: &Path, input: &str, output: &str) -> Result<()> {
    let done = fatbin(directory).args(["strip", "--device-debug", "-o", output, input]).run()?;
    ensure!(done.stdout.contains("1 image stripped"), "{}", done.error("nothing was stripped"));
    Ok(())
}

fn output(directory: &Path, tool: Tool, arguments: &[&str]) -> Result<String> {
    Ok(Step::new(directory, tool.path()?).args(arguments).run()?.stdout)
}

/// A stripped library has the same images with the same kernels, and the same segments.
fn keeps_the_kernels(directory: &Path, package: &'static str, pattern: &str) -> Result<()> {
    let libraries = unzipped(directory, &path_of(package)?, pattern)?;
    let library = libraries.first().context("a library in the package")?;
    let done = fatbin(directory).args(["strip", "--device-debug", "-o", "stripped.so"]).arg(library).run()?;
    ensure!(done.stdout.contains(" images stripped, "), "{}", done.error("nothing was stripped"));
    let (before, after) = (described(directory, library)?, described(directory, Path::new("stripped.so"))?);
    ensure!(!before.is_empty() && before == after, "{}", done.error("other images or kernels"));
    fatbin(directory).args(["verify", "stripped.so"]).run()?;
    let size = |path: &Path| -> Result<u64> { Ok(directory.join(path).metadata()?.len()) };
    ensure!(size(library)? == size(Path::new("stripped.so"))?, "{}", done.error("bytes of a linked file moved"));
    let readelf = |path: &Path| Step::new(directory, Tool::Readelf.path()?).args(["-l", "-d", "-W"]).arg(path).run();
    ensure!(readelf(library)?.stdout == readelf(Path::new("stripped.so"))?.stdout, "other segments");
    Ok(())
}

/// Returns the processor and the kernels of each image, without the source lines, which are debug information.
fn described(directory: &Path, file: &Path) -> Result<Vec<String>> {
    let done = fatbin(directory).args(["inspect", "--json"]).arg(file).run()?;
    let mut document: Value = serde_json::from_str(&done.stdout)?;
    let images = document["files"][0]["images"].as_array_mut().context("images")?;
    let describe = |image: &mut Value| {
        for kernel in image["kernels"].as_array_mut().into_iter().flatten() {
            kernel.as_object_mut().map(|kernel| kernel.remove("source"));
        }
        format!("{} {}", image["arch"], image["kernels"])
    };
    Ok(images.iter_mut().map(describe).collect())
}

/// nvdisasm prints the same code of a cubin with and without debug information, and of what nvlink makes of both.
fn same_sass(directory: &Path, arch: &str, version: &str) -> Result<()> {
    std::fs::write(directory.join("k.ptx"), PTX.replace("VERSION", version).replace("ARCH", arch))?;
    for options in [&[][..], &["-lineinfo"], &["-g"], &["-c"], &["-c", "-lineinfo"], &["-c", "-g"]] {
        let ptxas = Step::new(directory, Tool::Ptxas.path()?).args(options);
        ptxas.args(["--gpu-name", arch, "k.ptx", "-o", "k.cubin"]).run()?;
        strip(directory, "k.cubin", "stripped.cubin")?;
        let stripped = std::fs::read(directory.join("stripped.cubin"))?;
        for lost in ["secret", ".visible .entry"] {
            let is_left = stripped.windows(lost.len()).any(|bytes| bytes == lost.as_bytes());
            ensure!(!is_left, "{options:?}: {lost} is left");
        }
        same_code(directory, ["k.cubin", "stripped.cubin"]).with_context(|| format!("ptxas {options:?}"))?;
        output(directory, Tool::Cuobjdump, &["-elf", "stripped.cubin"])?;
        if options.contains(&"-c") {
            for (input, linked) in [("k.cubin", "linked-k.cubin"), ("stripped.cubin", "linked-stripped.cubin")] {
                output(directory, Tool::Nvlink, &["-arch", arch, input, "-o", linked])?;
            }
            let sass = same_code(directory, ["linked-k.cubin", "linked-stripped.cubin"])?;
            // nvlink succeeds without an input, too.
            ensure!(sass.contains("answer"), "nvlink linked nothing: {sass}");
        }
    }
    Ok(())
}

/// Compares the disassembly of two cubins, and returns it.
fn same_code(directory: &Path, cubins: [&str; 2]) -> Result<String> {
    let [one, other] = cubins.map(|cubin| output(directory, Tool::Nvdisasm, &["-c", cubin]));
    let (one, other) = (one?, other?);
    ensure!(one == other, "nvdisasm -c differs:\n{one}\n---\n{other}");
    Ok(one)
}

fn compile(directory: &Path, options: &[&str], output: &str) -> Result<()> {
    std::fs::write(directory.join("a.c"), SOURCE)?;
    let clang = Step::new(directory, Tool::Clang.path()?);
    let target = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-nogpulib"];
    clang.args(target).args(options).args(["a.c", "-o", output]).run().map(drop)
}

/// llvm-strip leaves the same sections, segments, symbols and code. It also shortens the table of section names.
fn like_llvm_strip(directory: &Path) -> Result<()> {
    let llvm_strip = llvm_tool("llvm-strip", "22", "llvm-22")?;
    for options in [&["-g"][..], &["-g", "-gdwarf-4"], &["-g", "-O2"], &["-gline-tables-only"], &["-g", "-gz"]] {
        compile(directory, options, "a.hsaco")?;
        strip(directory, "a.hsaco", "ours")?;
        Step::new(directory, &llvm_strip).args(["--strip-debug", "a.hsaco", "-o", "theirs"]).run()?;
        let described = |file: &str, options: &[&str]| -> Result<String> {
            let arguments = [options, &[file]].concat();
            output(directory, Tool::Readelf, &arguments)
        };
        for options in [&["-l", "-W"][..], &["-s", "-W"], &["-n"], &["-d"]] {
            ensure!(described("ours", options)? == described("theirs", options)?, "readelf {options:?}");
        }
        ensure!(
            sections(&described("ours", &["-S", "-W"])?) == sections(&described("theirs", &["-S", "-W"])?),
            "sections"
        );
        same_disassembly(directory, ["ours", "theirs"])?;
    }
    Ok(())
}

/// Only absolute symbols without a type go. llvm-strip, which knows no loader, can remove the rest afterwards.
fn loses_resources_only(directory: &Path) -> Result<()> {
    let llvm_strip = llvm_tool("llvm-strip", "22", "llvm-22")?;
    for options in [&["-O2"][..], &["-g"]] {
        compile(directory, options, "a.hsaco")?;
        let done = fatbin(directory).args(["strip", "--device-symbols", "-o", "ours", "a.hsaco"]).run()?;
        ensure!(done.stdout.contains("1 image stripped"), "{}", done.error("nothing was stripped"));
        let symbols = |file: &str| -> Result<Vec<String>> {
            let text = output(directory, Tool::Readelf, &["-s", "-W", file])?;
            // Without the numbers, which change.
            let rows = text.lines().filter_map(|line| line.split_once(": ").map(|(_, row)| row.trim().to_owned()));
            Ok(rows.filter(|row| !(row.contains(" NOTYPE ") && row.contains(" ABS "))).collect())
        };
        ensure!(symbols("ours")? == symbols("a.hsaco")?, "other symbols");
        ensure!(output(directory, Tool::Readelf, &["-s", "-W", "ours"])?.contains("answer.kd"), "no descriptor");
        for options in [&["-l", "-W"][..], &["-n"], &["-d"]] {
            let described = |file: &str| output(directory, Tool::Readelf, &[options, &[file]].concat());
            ensure!(described("ours")? == described("a.hsaco")?, "readelf {options:?}");
        }
        same_disassembly(directory, ["ours", "a.hsaco"])?;
        Step::new(directory, &llvm_strip).args(["--strip-all", "ours", "-o", "theirs"]).run()?;
    }
    Ok(())
}

/// Returns number, name, type, address, size and the rest of each section, without its offset in the file.
fn sections(readelf: &str) -> Vec<Vec<&str>> {
    let rows = readelf.lines().filter(|line| line.trim_start().starts_with('[') && !line.contains("[Nr]"));
    rows.filter(|line| !line.contains(".shstrtab"))
        .map(|line| {
            let mut words: Vec<&str> = line.split(['[', ']', ' ']).filter(|word| !word.is_empty()).collect();
            if words.len() > 4 {
                words.remove(4);
            }
            words
        })
        .collect()
}

fn same_disassembly(directory: &Path, files: [&str; 2]) -> Result<()> {
    let [one, other] = files.map(|file| {
        let text = output(directory, Tool::Objdump, &["-d", "-r", file]);
        // The first lines have the name of the file.
        text.map(|text| text.lines().skip(2).map(|line| format!("{line}\n")).collect::<String>())
    });
    ensure!(one? == other?, "llvm-objdump differs for {files:?}");
    Ok(())
}

/// lld makes the same code of relocatable objects with and without debug information.
fn links_to_the_same_code(directory: &Path) -> Result<()> {
    let lld = llvm_tool("ld.lld", "22", "lld-22")?;
    for options in [&["-c", "-g"][..], &["-c", "-g", "-ffunction-sections"], &["-c", "-g", "-gz"]] {
        compile(directory, options, "a.o")?;
        strip(directory, "a.o", "stripped.o")?;
        for (input, linked) in [("a.o", "one"), ("stripped.o", "other")] {
            Step::new(directory, &lld).args(["-shared", input, "-o", linked]).run()?;
        }
        same_disassembly(directory, ["one", "other"])?;
        let symbols = ["one", "other"].map(|file| output(directory, Tool::Readelf, &["--dyn-syms", "-W", file]));
        let [one, other] = symbols;
        ensure!(one? == other?, "dynamic symbols differ");
    }
    Ok(())
}
