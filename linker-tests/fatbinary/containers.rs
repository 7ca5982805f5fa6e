//! Containers of `fatbin pack --kind cuda`, read by cuobjdump and by fatbin itself.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::{cubins, entry_kinds, fatbin, fatbinary, word};
use crate::harness::step::Step;
use crate::harness::tools::Tool;

/// A container: arguments of `pack --kind cuda`, kinds of the entries, and lines that cuobjdump must print.
struct Container {
    arguments: &'static str,
    kinds: &'static [u16],
    lines: &'static [&'static str],
}

const PTX: u16 = 1;
const ELF: u16 = 2;
const GROUP: u16 = 0x100;

const CONTAINERS: [Container; 11] = [
    Container {
        arguments: "sm_90.cubin sm_90.ptx",
        kinds: &[ELF, PTX],
        lines: &["arch = sm_90", "code version = [8,8]"],
    },
    Container {
        arguments: "--compress sm_90.ptx sm_100f.cubin sm_90a.cubin",
        kinds: &[PTX, ELF, ELF],
        lines: &["arch = sm_100f", "arch = sm_90a", "compressed"],
    },
    Container {
        arguments: "--compress=zstd --level 19 sm_90.cubin sm_120.ptx",
        kinds: &[ELF, PTX],
        lines: &["compressed"],
    },
    Container { arguments: "--compress=lz4 sm_90.cubin sm_120.ptx", kinds: &[ELF, PTX], lines: &["compressed"] },
    Container { arguments: "--compress=lz4 --level 12 sm_90.cubin", kinds: &[ELF], lines: &["compressed"] },
    Container {
        arguments: "--image file=sm_90.cubin,ident=src/foo.cu --image file=sm_90.ptx,ident=b.cu,options=-v,compress=lz4",
        kinds: &[ELF, PTX],
        lines: &["identifier = src/foo.cu", "identifier = b.cu", "ptxasOptions = -v", "compressed"],
    },
    Container {
        arguments: "--compress --image file=sm_90.cubin,debug=true,compress=none sm_75.cubin",
        kinds: &[ELF, ELF],
        lines: &["has debug info", "compressed"],
    },
    Container {
        arguments: "--image file=sm_100.cubin,arch=sm_100f,compress=zstd,level=19",
        kinds: &[ELF],
        lines: &["arch = sm_100f"],
    },
    Container {
        arguments: "--compress --concat sm_75.cubin sm_90.cubin sm_100.cubin sm_120.cubin",
        kinds: &[GROUP, GROUP],
        lines: &["Fatbin concatenated entry code:", "\tarch = sm_120"],
    },
    Container {
        arguments: "--compress=lz4 --concat --image file=sm_75.cubin,file=sm_90.cubin,ident=a.cu sm_90.ptx",
        kinds: &[PTX, GROUP],
        lines: &["\tidentifier = a.cu"],
    },
    Container {
        arguments: "--compress --concat sm_75.ptx sm_90.ptx sm_75.cubin",
        kinds: &[ELF, GROUP],
        lines: &["Fatbin concatenated entry code:"],
    },
];

/// cuobjdump lists and extracts the images, and so does fatbin.
pub fn are_read(directory: &Path) -> Result<()> {
    cubins(directory)?;
    for (number, container) in CONTAINERS.iter().enumerate() {
        let fat = format!("fat{number}");
        let arguments: Vec<&str> = container.arguments.split(' ').collect();
        let done = fatbin(directory, &[&["pack", "--kind", "cuda", "-o", &fat], &arguments[..]].concat())?;
        let kinds = entry_kinds(&std::fs::read(directory.join(&fat))?)?;
        ensure!(kinds == container.kinds, "{}", done.error(format!("entries of kinds {kinds:x?}")));
        let files: BTreeSet<Vec<u8>> =
            inputs(container.arguments).map(|name| Ok(std::fs::read(directory.join(name))?)).collect::<Result<_>>()?;

        let printed = Step::new(directory, Tool::Cuobjdump.path()?).arg(&fat).run()?;
        for line in container.lines {
            ensure!(
                printed.stdout.lines().any(|printed| printed == *line),
                "{}",
                printed.error(format!("no line {line:?}"))
            );
        }
        let theirs = directory.join(format!("theirs{number}"));
        std::fs::create_dir(&theirs)?;
        for option in ["-xelf", "-xptx"] {
            Step::new(&theirs, Tool::Cuobjdump.path()?).args([option, "all", &format!("../{fat}")]).run()?;
        }
        ensure!(contents(&theirs)? == files, "{}: other files", theirs.display());

        let ours = format!("ours{number}");
        let extracted = fatbin(directory, &["extract", &fat, "-o", &ours])?;
        ensure!(contents(&directory.join(&ours))? == files, "{}", extracted.error("other files"));
        let verified = fatbin(directory, &["verify", &fat])?;
        ensure!(verified.stdout.ends_with(" intact\n"), "{}", verified.error("not intact"));
        let scanned: Value = serde_json::from_str(&fatbin(directory, &["scan", "--json", &fat])?.stdout)?;
        let images = scanned["files"][0]["containers"][0]["images"].as_array().map_or(0, Vec::len);
        ensure!(images == inputs(container.arguments).count(), "{scanned}");
    }
    Ok(())
}

/// Returns the names of the files in arguments.
fn inputs(arguments: &'static str) -> impl Iterator<Item = &'static str> {
    let words = arguments.split([' ', ',']).map(|word| word.strip_prefix("file=").unwrap_or(word));
    words.filter(|word| word.ends_with(".cubin") || word.ends_with(".ptx"))
}

fn contents(directory: &Path) -> Result<BTreeSet<Vec<u8>>> {
    std::fs::read_dir(directory)?.map(|entry| Ok(std::fs::read(entry?.path())?)).collect()
}

/// The properties that both programs can express give equal bytes. PTX has no comments here, which fatbinary removes.
pub fn equal_those_of_fatbinary(directory: &Path) -> Result<()> {
    cubins(directory)?;
    std::fs::write(directory.join("plain.ptx"), ".version 8.8\n.target sm_90\n.address_size 64\n.global .b32 x;\n")?;
    let image = |kind: &str, sm: &str, file: &str| format!("--image3=kind={kind},sm={sm},file={file}");
    let images = [
        image("elf", "75", "sm_75.cubin"),
        image("elf", "90", "sm_90.cubin"),
        image("elf", "100f", "sm_100f.cubin"),
        image("elf", "120", "sm_120.cubin"),
        image("ptx", "90", "plain.ptx"),
    ];
    let files = "sm_75.cubin,file=sm_90.cubin,file=sm_100f.cubin,file=sm_120.cubin";
    let cases = [
        ("--compress-mode=none", "", ""),
        ("--compress-all", "--compress", ""),
        ("--compress-mode=size", "--compress --level 19", ""),
        ("--compress-mode=speed --compress-all", "--compress=lz4", ""),
        ("--concat --ident=a.cu", "--compress --concat", ",ident=a.cu"),
        ("--concat --compress-mode=speed -g", "--compress=lz4 --concat", ",debug=true"),
    ];
    for (theirs, ours, properties) in cases {
        let options: Vec<&str> = theirs.split(' ').collect();
        fatbinary(directory, &options, &images)?;
        let line = format!(
            "pack --kind cuda {ours} -o own --image file={files}{properties} --image file=plain.ptx{properties}"
        );
        let done = fatbin(directory, &line.split_whitespace().collect::<Vec<_>>())?;
        let (theirs, ours) = (std::fs::read(directory.join("fat"))?, std::fs::read(directory.join("own"))?);
        ensure!(
            word(&ours, 0)? == 0xba55_ed50 && ours == theirs,
            "{}",
            done.error("differs from the output of fatbinary")
        );
    }
    Ok(())
}
