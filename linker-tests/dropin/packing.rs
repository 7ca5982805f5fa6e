//! `llvm-offload-binary -o`: inputs, arguments and outputs of packing.
//!
//! All bytes are compared. The tool stores strings in the order of a hash map, and so does the drop-in; only the position of
//! a key of more than 64 bytes might differ.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use super::{Call, DirectoryEntry, Pair, Side};
use crate::harness::directives::fixture;
use crate::harness::tools::Tool;
use crate::harness::trial::{completion, fresh_directory};

/// Names of the tool; `true` for the one that causes a warning.
const NAMES: [(&str, bool); 2] = [("llvm-offload-binary", false), ("clang-offload-packager", true)];

/// Magic of LLVM bitcode, and of its wrapper.
const BITCODE: &[u8] = b"BC\xc0\xde\x35\x14\0\0";
const WRAPPED_BITCODE: &[u8] = b"\xde\xc0\x17\x0b\0\0\0\0\x14\0\0\0\0\0\0\0\0\0\0\0";

/// Inputs by name and content: every extension, also with the content of another type.
const FILES: [(&str, &[u8]); 20] = [
    ("a.o", b"abc"),
    ("b.bc", b"12345678"),
    ("c.cubin", b"123456789"),
    ("d.fatbin", b"x"),
    ("e.s", b"// ptx"),
    ("f", b"no extension"),
    ("g.zzz", b"unknown extension"),
    ("h.ptx", b"ptx"),
    ("i.O", b"capital"),
    (".o", b"nothing else"),
    ("j.", b"dot"),
    ("k.tar.bc", b"two"),
    ("l=m.o", b"equals sign"),
    ("n.o", BITCODE),
    ("p", BITCODE),
    ("q.cubin", WRAPPED_BITCODE),
    ("empty.o", b""),
    ("empty", b""),
    ("large.o", &[7; 70_001]),
    ("spaces in it.o", b"spaces"),
];

const KINDS: [&str; 12] =
    ["openmp", "cuda", "hip", "sycl", "none", "host", "unknown", "hipv4", "HIP", "", "openmp,kind=openmp", "hip,kind="];

/// Further arguments of an image.
const STRINGS: [&str; 18] = [
    "triple=amdgcn-amd-amdhsa,arch=gfx90a:xnack+",
    "arch=sm_90,triple=nvptx64-nvidia-cuda",
    "triple=x",
    "triple=,arch=",
    "triple",
    "triple,arch",
    "triple=x,triple=y,triple=z",
    "triple=x,arch=y,triple=z",
    "",
    ",",
    "=",
    "=value,=other",
    "k==v",
    "k=v=w",
    "feature=+a,feature=-b,triple=x,arch=y,linker-arg=--as-needed,\u{fc}=\u{e4}",
    "a=suffix,b=fix,c=ix,d=x,e=prefix,f=",
    "x86_64=64,64=4,4=x86_64",
    "file-name=a,Kind=b,FILE=c",
];

/// Errors and unusual outputs, each in a directory made by [`prepare`].
const LINES: [&str; 33] = [
    "-o out",
    "-o out --image=",
    "-o out --image=triple=x",
    "-o out --image=file",
    "-o out --image=file,triple=x",
    "-o out --image=file=",
    "-o out --image=file,file",
    "-o out --image=file=../a.o,file=",
    "-o out --image=file=../a.o --image=triple=x",
    "-o out --image=triple=x --image=file=nothing",
    "-o out --image=file=nothing",
    "-o out --image=file=../a.o,file=nothing",
    "-o out --image=file=directory",
    "-o out --image=file=../a.o/b",
    "-o out --image=file=/dev/null,triple=x",
    "-o directory --image=file=../a.o",
    "-o no/out --image=file=../a.o",
    "-o target/out --image=file=../a.o",
    "-o no/out --image=file=nothing",
    "-o target --image=file=../a.o",
    "-o read-only --image=file=../a.o",
    "-o link --image=file=../a.o",
    "-o dangling --image=file=../a.o",
    "-o target --image=file=target,triple=x",
    "-o directory/ --image=file=../a.o",
    "-o /dev/null --image=file=../a.o",
    "-o - --image=file=../a.o,triple=x",
    "-o - --image=file=nothing,triple=x",
    "../a.o -o out --image=file=../a.o",
    "--image=file=../a.o",
    "-o out -o other --image=file=../a.o,triple=x --archive",
    "-o out --color=1 --image=file=nothing",
    "-o out --image=file=-,triple=x",
];

pub fn trials() -> Vec<Trial> {
    let trials = NAMES.map(|(name, warns)| {
        let run = move || completion(are_packed_alike(name, warns));
        Trial::ignorable_test(format!("dropin/packing/{name}"), run)
    });
    trials.into()
}

fn are_packed_alike(name: &'static str, warns: bool) -> Result<()> {
    let directory = fresh_directory("dropin-packing", name)?;
    let pair = Pair::new(&directory, name, &Tool::OffloadBinary.path()?)?;
    for (name, bytes) in FILES {
        std::fs::write(directory.join(name), bytes)?;
    }
    for line in LINES {
        let result = pair.same(&Call { prepare, ..Call::line(line) })?;
        ensure!(result.err.contains("is deprecated") == warns, "{line}: {}", result.err);
    }
    if warns {
        // Everything else is the same under either name.
        return Ok(());
    }
    for images in grid() {
        let images: Vec<&str> = images.iter().map(String::as_str).collect();
        let result = pair.same(&Call::new(&[&["-o", "out"], images.as_slice()].concat()))?;
        ensure!(result.status == 0 && result.left.len() == 1, "{images:?}: {}", result.err);
    }
    for line in ["-o out --image=file=-,triple=x", "-o out --image=file=-,file=-", "-o out --image=file=/dev/stdin"] {
        let stdin = directory.join("n.o");
        let result = pair.same(&Call { stdin: Some(&stdin), ..Call::line(line) })?;
        ensure!(
            matches!(&result.left["out"], DirectoryEntry::File { bytes, .. } if bytes.len() > 80),
            "{line}: too little"
        );
    }
    real_images_move_unchanged(&pair)
}

/// Makes a directory with an entry of every kind.
fn prepare(directory: &Path) -> Result<()> {
    std::fs::create_dir(directory.join("directory"))?;
    for name in ["target", "read-only"] {
        std::fs::write(directory.join(name), "old")?;
        std::fs::set_permissions(directory.join(name), std::fs::Permissions::from_mode(0o444))?;
    }
    symlink("target", directory.join("link"))?;
    symlink("nowhere", directory.join("dangling"))?;
    Ok(())
}

/// Packs every file, every kind, every argument, and then a hundred mixtures of one to four images.
fn grid() -> Vec<Vec<String>> {
    let image = |file: &str, kind: &str, strings: &str| format!("--image=file=../{file},kind={kind},{strings}");
    let (file, kind, strings) = (
        |index: usize| FILES[index % FILES.len()].0,
        |index: usize| KINDS[index % KINDS.len()],
        |index: usize| STRINGS[index % STRINGS.len()],
    );
    let mut grid: Vec<Vec<String>> = Vec::new();
    for index in 0..FILES.len().max(KINDS.len()).max(STRINGS.len()) {
        grid.push(vec![image(file(index), kind(index), strings(index))]);
        grid.push(vec![format!("--image=file=../{},file=../a.o,{}", file(index), strings(index + 1))]);
        grid.push(vec![
            format!("--image={},file=../{}", strings(index), file(index)),
            format!("--image=file=../{}", file(index)),
        ]);
    }
    for index in 0..100_usize {
        let part = |number: usize| {
            let seed = index * 7 + number * 13;
            image(file(seed), kind(seed / 3), strings(seed / 5))
        };
        grid.push((0..=index % 4).map(part).collect());
    }
    // More keys than the initial capacity of the map.
    for keys in [46, 47, 48, 60, 200] {
        let keys: Vec<String> = (0..keys).map(|key| format!("key-{key}={key}")).collect();
        grid.push(vec![format!("--image=file=../a.o,{}", keys.join(","))]);
    }
    grid
}

/// Packs images of the kinds that clang packs, and extracts them again.
fn real_images_move_unchanged(pair: &Pair) -> Result<()> {
    for name in ["answer-gfx90a-xnack+.hsaco", "answer-sm_90.cubin", "answer-sm_80.ptx", "answer-x86_64.so"] {
        let image = fixture(name)?;
        let packed = format!("--image=file={},triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=openmp", image.display());
        let result = pair.same(&Call::new(&["-o", "out", &packed]))?;
        std::fs::write(pair.directory.join("packed"), bytes_of(&result.left["out"]))?;
        let result = pair.call(Side::Ours, &Call::line("../packed --image=file=image,arch=gfx90a"))?;
        ensure!(bytes_of(&result.left["image"]) == std::fs::read(&image)?, "{name} has changed: {}", result.err);
    }
    Ok(())
}

fn bytes_of(left: &DirectoryEntry) -> &[u8] {
    match left {
        DirectoryEntry::File { bytes, .. } => bytes,
        _ => &[],
    }
}
