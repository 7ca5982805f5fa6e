//! The divergences of the drop-in, as its module lists them: each shows what NVIDIA's tool does and what the drop-in does.

use std::path::Path;

use anyhow::{Result, ensure};

use super::compare::{call, file, prepare};
use crate::dropin::{CallResult, Pair, Side};

/// Calls one program with words separated by blanks.
fn run(pair: &Pair, side: Side, line: &str) -> Result<CallResult> {
    let line: Vec<String> = line.split(' ').map(str::to_owned).collect();
    pair.call(side, &call(&line))
}

/// Calls both programs with the same words.
fn both(pair: &Pair, line: &str) -> Result<(CallResult, CallResult)> {
    Ok((run(pair, Side::Theirs, line)?, run(pair, Side::Ours, line)?))
}

const ELF: &str = "--image3=kind=elf,sm=90,file=../sm_90.cubin";
const PTX: &str = "--image3=kind=ptx,sm=75,file=../sm_75.ptx";
const LTO_IR: &str = "--image3=kind=nvvm,sm=90,file=../sm_90.ltoir";

pub fn divergences(directory: &Path) -> Result<()> {
    let pair = prepare(directory)?;
    accepts_images_with_profiles(&pair)?;
    stores_lto_ir_uncompressed(&pair)?;
    refuses_damaged_cubins(&pair, directory)?;
    has_no_hidden_options_of_the_codec(&pair)?;
    writes_all_outputs_or_none(&pair)?;
    reports_errors_of_writing(&pair)?;
    let (theirs, ours) = both(&pair, "--version")?;
    ensure!(theirs.out.contains("release 13.5, V13.5.37\n") && ours.out.ends_with("release 13.5, V13.5.37\n"));
    ensure!(ours.out.starts_with("fatbin ") && theirs.out.starts_with("fatbinary: NVIDIA"), "{}", ours.out);
    Ok(())
}

fn accepts_images_with_profiles(pair: &Pair) -> Result<()> {
    let images = "--image=profile=sm_90,file=../sm_90.cubin --image=profile=compute_75,file=../sm_75.ptx";
    let (theirs, ours) = both(pair, &format!("-64 --create=x {images}"))?;
    ensure!(theirs.err == "fatbinary fatal   : Unknown option '-image'\n", "{theirs:?}");
    let expected = run(pair, Side::Theirs, &format!("-64 --create=x --compress-mode=speed {ELF} {PTX}"))?;
    ensure!(file(&ours, "x")? == file(&expected, "x")?, "other bytes than those of --image3 and LZ4");
    let ours = run(pair, Side::Ours, &format!("--create=x --compress-mode=default {images}"))?;
    let expected = run(pair, Side::Theirs, &format!("--create=x {ELF} {PTX}"))?;
    ensure!(file(&ours, "x")? == file(&expected, "x")?, "--compress-mode has no effect");
    for (image, message) in [
        ("file=../sm_75.ptx", "Missing profile in image"),
        ("profile=sm_90", "Missing file in image"),
        ("profile=lto_90,file=../sm_90.cubin", "Unknown profile 'lto_90' in image"),
    ] {
        let ours = run(pair, Side::Ours, &format!("--create=x --image={image}"))?;
        ensure!(ours.status == 1 && ours.err == format!("fatbinary fatal   : {message}\n"), "{ours:?}");
    }
    Ok(())
}

fn stores_lto_ir_uncompressed(pair: &Pair) -> Result<()> {
    // Of the container's header, the entry's and the LTO-IR.
    let size = 16 + 80 + 2048;
    for mode in ["default", "size", "speed"] {
        let (theirs, ours) = both(pair, &format!("--create=x --compress-mode={mode} {LTO_IR} {ELF}"))?;
        let plain = run(pair, Side::Theirs, &format!("--create=x --compress-mode=none {LTO_IR} {ELF}"))?;
        ensure!(file(&ours, "x")?[16..size] == file(&plain, "x")?[16..size], "{mode}: other bytes");
        ensure!(file(&theirs, "x")?[16..size] != file(&plain, "x")?[16..size], "{mode}: the tool does not compress");
    }
    Ok(())
}

fn refuses_damaged_cubins(pair: &Pair, directory: &Path) -> Result<()> {
    let cubin = std::fs::read(directory.join("sm_90.cubin"))?;
    for (size, place) in [(100, "ELF"), (3000, "ELF")] {
        std::fs::write(directory.join("damaged"), &cubin[..size])?;
        let (theirs, ours) = both(pair, "--create=x --image3=kind=elf,sm=90,file=../damaged")?;
        ensure!(theirs.status == 0 && theirs.left.contains_key("x"), "{theirs:?}");
        let start = format!("\nnvFatbin error: ../damaged: {place} ");
        ensure!(ours.status == 1 && ours.err.starts_with(&start) && !ours.left.contains_key("x"), "{ours:?}");
    }
    Ok(())
}

fn has_no_hidden_options_of_the_codec(pair: &Pair) -> Result<()> {
    for (option, value) in [("okey", "1"), ("compress-algorithm", "1"), ("compress-level", "3")] {
        let (theirs, ours) = both(pair, &format!("--create=x --{option}={value} {PTX}"))?;
        ensure!(theirs.status == 0, "{theirs:?}");
        let message = format!("fatbinary fatal   : Unknown option '-{option}'\n");
        ensure!((ours.status, ours.err.as_str()) == (1, message.as_str()), "{ours:?}");
    }
    Ok(())
}

fn writes_all_outputs_or_none(pair: &Pair) -> Result<()> {
    for line in ["--create=old --embedded-fatbin=no/x", "--create=no/x --embedded-fatbin=old"] {
        let (theirs, ours) = both(pair, &format!("{line} {PTX}"))?;
        ensure!((theirs.status, &theirs.err) == (ours.status, &ours.err), "{theirs:?} {ours:?}");
        ensure!(file(&ours, "old")? == b"old", "{line}: an output was replaced");
    }
    let theirs = run(pair, Side::Theirs, &format!("--create=old --embedded-fatbin=no/x {PTX}"))?;
    ensure!(file(&theirs, "old")? != b"old", "the tool leaves the first output");
    Ok(())
}

fn reports_errors_of_writing(pair: &Pair) -> Result<()> {
    let (theirs, ours) = both(pair, &format!("--create=/dev/full {PTX}"))?;
    ensure!(theirs.status == 0, "{theirs:?}");
    ensure!(ours.status == 1 && ours.err.contains("/dev/full: cannot write: no space left on device"), "{ours:?}");
    Ok(())
}
