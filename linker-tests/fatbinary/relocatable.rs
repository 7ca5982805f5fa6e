//! PTX of the objects of a link (`--image2=kind=reloc`): the drop-in compared with fatbinary on objects of nvcc, and
//! the output of the other commands.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::compare::call;
use super::{fatbin, fatbinary};
use crate::dropin::Pair;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, fetched, find_in, not_fetched};

/// Objects and the options of nvcc for them.
const OBJECTS: [(&str, &[&str]); 6] = [
    ("one", &["-dc", "-gencode", "arch=compute_80,code=[sm_80,compute_80]"]),
    (
        "several",
        &[
            "-dc",
            "-gencode",
            "arch=compute_80,code=[sm_80,compute_80]",
            "-gencode",
            "arch=compute_90a,code=compute_90a",
        ],
    ),
    ("plain", &["-dc", "--compress-mode=none", "-gencode", "arch=compute_80,code=compute_80"]),
    ("debug", &["-dc", "-G", "-gencode", "arch=compute_80,code=compute_80"]),
    ("cubin", &["-dc", "-gencode", "arch=compute_80,code=sm_80"]),
    ("whole", &["-c", "-gencode", "arch=compute_80,code=[sm_80,compute_80]"]),
];

/// Command lines with the exit status; `NAME.o` stands for an image of that object.
const LINES: [(&str, u8); 14] = [
    ("one.o", 0),
    ("several.o", 0),
    ("plain.o debug.o", 0),
    ("cubin.o", 0),
    ("whole.o", 0),
    ("one.o --image3=kind=ptx,sm=80,file=../k.ptx several.o --compress-mode=size -g --ident=x", 0),
    ("--concat --image3=kind=ptx,sm=80,file=../k.ptx one.o --image3=kind=ptx,sm=90,file=../k.ptx", 0),
    ("one.o one.o", 1),
    ("library.a.o", 1),
    ("cut.o", 1),
    ("--image2=kind=reloc,file=../fat", 0),
    ("--image2=kind=reloc,file=../short", 1),
    ("-32 one.o", 0),
    ("--image3=kind=reloc,sm=80,file=../one.o", 1),
];

pub fn are_written(directory: &Path) -> Result<()> {
    let pair = prepare(directory)?;
    for (line, status) in LINES {
        let words = line.split(' ').map(|word| match word.strip_suffix(".o") {
            Some(name) if !word.starts_with('-') => {
                let file = if name.ends_with(".a") { name.to_owned() } else { format!("{name}.o") };
                format!("--image2=kind=reloc,file=../{file}")
            }
            _ => word.to_owned(),
        });
        let words: Vec<String> = ["-64".to_owned(), "--create=x".to_owned()].into_iter().chain(words).collect();
        let words: Vec<String> = words.into_iter().skip(line.starts_with("-32").into()).collect();
        let result = pair.same(&call(&words))?;
        ensure!(result.status == i32::from(status), "{line}: {result:?}");
    }
    Ok(())
}

/// The PTX is listed as relocatable, and is the PTX of the object.
pub fn are_read(directory: &Path) -> Result<()> {
    prepare(directory)?;
    let fatbinary = Step::new(directory, Tool::Fatbinary.path()?).args(["-64", "--create=linked"]);
    fatbinary.args(["--image2=kind=reloc,file=several.o"]).run()?;
    let scan = fatbin(directory, &["scan", "--json", "linked"])?;
    let document: serde_json::Value = serde_json::from_str(&scan.stdout)?;
    let images = document["files"][0]["containers"][0]["images"].as_array().context("images")?.clone();
    let listed: Vec<_> = images.iter().map(|it| (it["image"].as_str(), it["arch"].as_str())).collect();
    ensure!(listed == [(Some("ptx"), Some("sm_90a")), (Some("ptx"), Some("sm_80"))], "{}", scan.error("other images"));
    ensure!(images.iter().all(|it| it["strings"]["linkage"] == "relocatable"), "{}", scan.error("not relocatable"));
    for file in ["linked", "several.o"] {
        let name = format!("{file}-{{number}}.{{extension}}");
        fatbin(directory, &["extract", "-o", "out", "--name", &name, file])?;
    }
    let [ours, object] =
        ["out/linked-1.ptx", "out/several.o-1.ptx"].map(|name| std::fs::read_to_string(directory.join(name)));
    let (ours, object) = (ours?, object?);
    ensure!(ours == object && ours.contains(".target sm_80"), "{ours}\n{object}");
    // Compressed again, it is the same.
    fatbin(directory, &["transcode", "--to", "none", "-o", "unpacked", "linked"])?;
    fatbin(directory, &["extract", "--arch=sm_80", "--to", "unpacked.ptx", "unpacked"])?;
    ensure!(std::fs::read_to_string(directory.join("unpacked.ptx"))? == ours, "other PTX after transcode");
    let select = fatbin(directory, &["select", "--device", "sm_89", "linked"])?;
    ensure!(select.stdout.contains("selected"), "{}", select.error("no image is selected"));
    Ok(())
}

/// Compiles the objects, and creates both programs.
fn prepare(directory: &Path) -> Result<Pair> {
    objects(directory)?;
    std::fs::write(directory.join("k.ptx"), ".version 8.8\n.target sm_80\n.address_size 64\n")?;
    std::fs::write(directory.join("short"), "hi\n")?;
    fatbinary(directory, &[], &["--image3=kind=ptx,sm=80,file=k.ptx".to_owned()])?;
    Pair::new(directory, "fatbinary", &Tool::Fatbinary.path()?)
}

/// Compiles the objects. There is also a truncated one, and a static library.
pub fn objects(directory: &Path) -> Result<()> {
    let nvcc = find_in(&fetched("cuda-nvcc").join("nvidia/cu13/bin"), "nvcc").ok_or_else(|| not_fetched("nvcc"))?;
    for (name, options) in OBJECTS {
        let source = format!("{name}.cu");
        std::fs::write(directory.join(&source), format!("__global__ void {name}(int *p) {{ *p = 42; }}\n"))?;
        Step::new(directory, &nvcc).args(options).args([&source, "-o", &format!("{name}.o")]).run()?;
    }
    let object = std::fs::read(directory.join("one.o"))?;
    std::fs::write(directory.join("cut.o"), &object[..100])?;
    Step::new(directory, Tool::Ar.path()?).args(["rc", "library.a", "one.o"]).run()?;
    Ok(())
}
