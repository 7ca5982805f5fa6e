//! The divergences of the drop-in, as its module lists them: each shows what NVIDIA's tool does and what the drop-in does.

use std::path::Path;

use anyhow::{Result, ensure};

use super::compare::{object, prepare};
use super::forged::{ELF, Entry, PTX, TEXT, container};
use super::pair;
use crate::dropin::{Call, CallResult, Pair, Side};
use crate::harness::directives::fixture;
use crate::harness::step::Step;
use crate::harness::tools::Tool;

/// A file, options, and parts of the output of the tool and of the drop-in with their statuses.
struct Divergence {
    line: &'static str,
    theirs: (i32, &'static str),
    ours: (i32, &'static str),
}

const LIST: &str = "ELF file    1: ";
const INVALID: (i32, &str) = (1, "Invalid fatbin header in");
const NO_CODE: (i32, &str) = (255, "does not contain device code");

const DIVERGENCES: [Divergence; 20] = [
    Divergence { line: "-sass all", theirs: (1, "nvdisasm"), ours: (1, "use NVIDIA's cuobjdump or nvdisasm") },
    Divergence { line: "-elf all", theirs: (0, ".section .strtab"), ours: (1, "use NVIDIA's cuobjdump or nvdisasm") },
    Divergence { line: "-lelf rodata.o", theirs: NO_CODE, ours: (0, LIST) },
    Divergence { line: "-lelf stripped.so", theirs: NO_CODE, ours: (0, LIST) },
    Divergence { line: "-lelf segment.o", theirs: (1, "Support for old fatbin has been removed"), ours: (0, LIST) },
    Divergence { line: "-lelf old", theirs: (1, "Support for 'sm_35' has been removed"), ours: (0, LIST) },
    Divergence { line: "-lelf text.a", theirs: NO_CODE, ours: (0, "text.1.sm_75.cubin") },
    Divergence { line: "-lelf cubin.a", theirs: NO_CODE, ours: (0, "cubin.1.sm_90.cubin") },
    Divergence { line: "-lptx no-options", theirs: INVALID, ours: (0, "PTX file    1: no-options.1.sm_90.ptx") },
    Divergence { line: "-lptx no-nul", theirs: INVALID, ours: (0, "PTX file    1: no-nul.1.sm_90.ptx") },
    Divergence { line: "-lelf zeros", theirs: INVALID, ours: (0, LIST) },
    Divergence { line: "-lelf no-bytes.o", theirs: INVALID, ours: NO_CODE },
    Divergence { line: "-lelf version", theirs: (0, LIST), ours: INVALID },
    Divergence { line: "-lelf marker", theirs: (0, LIST), ours: INVALID },
    Divergence { line: "-xelf all twice", theirs: (0, ""), ours: (0, "holds the last of several images of this name") },
    Divergence { line: "-lelf unnamed", theirs: (1, "Internal error: null filename"), ours: (0, LIST) },
    Divergence { line: "-ptx escape", theirs: (0, "\x1b[2J"), ours: (0, "\\u{1b}[2J") },
    Divergence { line: "-arch sm_75 -lelf sm_90.cubin", theirs: (0, LIST), ours: (0, "No ELF file found") },
    Divergence { line: "-res-usage texture.cubin", theirs: (1, "elf section not found"), ours: (0, "TEXTURE:0") },
    Divergence { line: "--version", theirs: (0, "cuobjdump: NVIDIA"), ours: (0, "in place of cuobjdump") },
];

pub fn divergences(directory: &Path) -> Result<()> {
    prepare(directory)?;
    objects(directory)?;
    containers(directory)?;
    let pair = pair(directory)?;
    for Divergence { line, theirs, ours } in DIVERGENCES {
        let (their_result, our_result) = (run(&pair, Side::Theirs, line)?, run(&pair, Side::Ours, line)?);
        ensure!(has(&their_result, theirs), "{line}: the tool: {their_result:?}");
        ensure!(has(&our_result, ours) && our_result != their_result, "{line}: the drop-in: {our_result:?}");
    }
    never_writes_through_links(&pair)
}

/// Runs a program with options and a file in `..`.
fn run(pair: &Pair, side: Side, line: &str) -> Result<CallResult> {
    let (options, file) = line.rsplit_once(' ').unwrap_or((line, ""));
    let path = format!("../{file}");
    let words = options.split(' ').chain((!file.is_empty()).then_some(path.as_str()));
    pair.call(side, &Call::new(&words.collect::<Vec<_>>()))
}

fn has(result: &CallResult, (status, part): (i32, &str)) -> bool {
    result.status == status && (result.out.contains(part) || result.err.contains(part))
}

fn objects(directory: &Path) -> Result<()> {
    object(directory, "rodata", &[(".rodata", "all")])?;
    object(directory, "segment", &[(".nvFatBinSegment", "all")])?;
    object(directory, "no-bytes", &[(".nv_fatbin", "no")])?;
    Step::new(directory, Tool::Cc.path()?).args(["-shared", "-o", "whole.so", "plain.o"]).run()?;
    Step::new(directory, Tool::Objcopy.path()?).args(["--strip-sections", "whole.so", "stripped.so"]).run()?;
    for (name, members) in [("text.a", ["text", "plain.o"]), ("cubin.a", ["sm_90.cubin", "host.o"])] {
        Step::new(directory, Tool::Ar.path()?).args(["rc", name]).args(members).run()?;
    }
    let ptx = ".version 8.8\n.target sm_75\n.address_size 64\n.global .texref texture;\n.visible .entry k(.param .u64 p)\n\
               {\n.reg .f32 %f<5>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\ntex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, \
               [texture, {1}];\nst.global.f32 [%rd1], %f1;\nret;\n}\n";
    std::fs::write(directory.join("texture.ptx"), ptx)?;
    Step::new(directory, Tool::Ptxas.path()?).args(["-arch=sm_75", "-o", "texture.cubin", "texture.ptx"]).run()?;
    Ok(())
}

fn containers(directory: &Path) -> Result<()> {
    let cubin = std::fs::read(fixture("answer-sm_90.cubin")?)?;
    let elf = || Entry::new(ELF, &cubin);
    let whole = container(&[elf()]);
    let mut version = whole.clone();
    version[4] = 2;
    let twice = || Entry { identifier: Some(b"a.cu"), ..elf() };
    let files = [
        ("old", container(&[Entry { arch: 35, ..elf() }])),
        ("no-options", container(&[Entry { options: None, ..Entry::new(PTX, TEXT) }])),
        ("no-nul", container(&[Entry::new(PTX, b".version")])),
        ("zeros", [&whole[..], &[0; 64]].concat()),
        ("version", version),
        ("marker", container(&[Entry { marker: 0x102, ..elf() }])),
        ("twice", container(&[twice(), twice()])),
        ("unnamed", container(&[Entry { identifier: Some(b""), ..elf() }])),
        ("escape", container(&[Entry::new(PTX, b".version 8.8\n// \x1b[2J\n\0")])),
    ];
    for (name, bytes) in files {
        std::fs::write(directory.join(name), bytes)?;
    }
    Ok(())
}

/// A name comes from the container, and a link of that name may lead anywhere.
fn never_writes_through_links(pair: &Pair) -> Result<()> {
    let call = Call {
        prepare: |directory| {
            std::fs::write(directory.join("target"), "target")?;
            Ok(std::os::unix::fs::symlink("target", directory.join("a-name.x.sm_90.cubin"))?)
        },
        ..Call::new(&["-xelf", "sm_90", "../ident"])
    };
    let [theirs, ours] = [Side::Theirs, Side::Ours].map(|side| pair.call(side, &call));
    let target = |result: &CallResult| format!("{:?}", result.left.get("target"));
    let (theirs, ours) = (theirs?, ours?);
    ensure!(target(&ours).ends_with("6 bytes: target)") && target(&theirs) != target(&ours), "{ours:?}");
    Ok(())
}
