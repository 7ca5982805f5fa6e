//! Containers that NVIDIA's fatbinary writes, with contents that other tests do not have: LTO-IR, groups of images compressed
//! as one, and cubins of architectures with a suffix. ptxas makes the cubins; the LTO-IR is a fixture.
//!
//! | module | trials |
//! |---|---|
//! | [`compare`], [`divergences`] | the drop-in `fatbinary`, compared with the tool |
//! | [`containers`] | `fatbin pack --kind cuda`, compared with fatbinary and cuobjdump |
//! | [`nvfatbin`] | the functions of nvFatbin in the C library |
//! | [`clang`] | compilers that call the drop-in |
//! | [`relocatable`] | PTX of the objects of a link |
//! | [`tile_ir`] | Tile IR that nvcc writes |

mod clang;
mod compare;
mod containers;
mod divergences;
mod nvfatbin;
mod relocatable;
mod tile_ir;

use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::step::{Done, Step};
use crate::harness::tools::{Tool, fetched, find_in, not_fetched};
use crate::harness::trial::{completion, fresh_directory};

/// Compression modes, and whether LTO-IR is scrambled in them.
const MODES: [(&str, bool); 4] = [("none", false), ("default", true), ("size", true), ("speed", true)];

/// Architectures of the cubins in groups, and of the cubins without a container.
const ARCHITECTURES: [&str; 7] = ["sm_75", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_120"];

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (mode, is_scrambled) in MODES {
        trials.push(trial(format!("lto-ir/{mode}"), move |directory| lto_ir(directory, mode, is_scrambled)));
    }
    trials.push(trial("lto-ir/library".to_owned(), library));
    trials.push(trial("groups/plain".to_owned(), |directory| group(directory, &[])));
    trials.push(trial("groups/identifiers".to_owned(), |directory| group(directory, &["--ident=src/hello.cu"])));
    trials.push(trial("suffixes".to_owned(), suffixes));
    trials.push(trial("drop-in/options".to_owned(), compare::options));
    trials.push(trial("drop-in/mistakes".to_owned(), compare::mistakes));
    trials.push(trial("drop-in/texts".to_owned(), compare::texts));
    trials.push(trial("drop-in/divergences".to_owned(), divergences::divergences));
    trials.push(trial("pack/read".to_owned(), containers::are_read));
    trials.push(trial("pack/equal".to_owned(), containers::equal_those_of_fatbinary));
    trials.push(trial("relocatable/drop-in".to_owned(), relocatable::are_written));
    trials.push(trial("relocatable/images".to_owned(), relocatable::are_read));
    trials.push(trial("nvfatbin".to_owned(), nvfatbin::have_equal_results));
    trials.push(trial("tile-ir/images".to_owned(), tile_ir::are_read));
    trials.push(trial("tile-ir/architectures".to_owned(), tile_ir::have_the_architecture_of_their_code));
    trials.push(trial("tile-ir/drop-in".to_owned(), tile_ir::is_embedded_by_the_drop_in));
    for release in clang::RELEASES {
        let test = move |directory: &Path| clang::builds_an_object(directory, release);
        trials.push(trial(format!("clang/{release}"), test));
    }
    trials
}

fn trial(name: String, test: impl Fn(&Path) -> Result<()> + Send + 'static) -> Trial {
    let directory = name.replace('/', "-");
    Trial::ignorable_test(format!("fatbinary/{name}"), move || {
        completion(fresh_directory("fatbinary", &directory).and_then(|directory| test(&directory)))
    })
}

fn fatbin(directory: &Path, arguments: &[&str]) -> Result<Done> {
    Step::new(directory, fatbin_program()).args(arguments).run()
}

fn fatbinary(directory: &Path, options: &[&str], images: &[String]) -> Result<()> {
    let step = Step::new(directory, Tool::Fatbinary.path()?).args(["-64", "--create=fat"]);
    step.args(options).args(images).run()?;
    Ok(())
}

/// Offsets in a container of one entry: of the entry's flags, and of its field at +48.
const FLAGS: usize = 16 + 40;
const WORD: usize = 16 + 48;

fn lto_ir(directory: &Path, mode: &str, is_scrambled: bool) -> Result<()> {
    let file = fixture("answer-sm_90.ltoir")?;
    let image = format!("--image3=kind=nvvm,sm=90,file={}", file.display());
    fatbinary(directory, &[&format!("--compress-mode={mode}"), "--cicc-cmdline=-ftz=0 "], &[image])?;

    // The entry repeats a word of the LTO-IR where that is scrambled.
    let (bytes, original) = (std::fs::read(directory.join("fat"))?, std::fs::read(&file)?);
    let word_offset = word(&original, 16)? as usize;
    let expected = if is_scrambled { word(&original, word_offset)? } else { 0 };
    ensure!(word(&bytes, WORD)? == expected, "the field at +48 is not {expected:#x}");
    ensure!((word(&bytes, FLAGS)? & 0x1_0000 != 0) == is_scrambled, "scrambled, or not, against expectation");

    let verified = fatbin(directory, &["verify", "fat"])?;
    let line = "fat: 1 device image, no damage found, 1 LTO-IR, not inspected\n";
    ensure!(verified.stdout == line, "{}", verified.error("another summary"));
    let inspected = fatbin(directory, &["inspect", "fat"])?;
    ensure!(inspected.stdout == "fat: 1 image of LTO-IR, not inspected\n", "{}", inspected.error("another line"));
    let extracted = fatbin(directory, &["extract", "fat", "-o", "out"])?;
    let name = "out/fat.0-cuda-nvptx64-nvidia-cuda-sm_90.ltoir";
    if is_scrambled {
        ensure!(extracted.stdout.is_empty(), "{}", extracted.error("scrambled bytes are extracted"));
    } else {
        let own = std::fs::read(directory.join(name))?;
        // LTO-IR does not state its size, so the padding of the entry remains.
        let padding = own.strip_prefix(&original[..]).context("another file")?;
        ensure!(padding.len() < 8 && padding.iter().all(|&byte| byte == 0), "{}", extracted.error("padding"));
        let scanned = fatbin(directory, &["scan", name])?;
        ensure!(
            scanned.stdout.contains("  ltoir      -        -     nvptx64-nvidia-cuda  sm_90  nvvm"),
            "{}",
            scanned.error(name)
        );
    }
    Ok(())
}

fn word(bytes: &[u8], at: usize) -> Result<u32> {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk()).context("a truncated file")?;
    Ok(u32::from_le_bytes(*word))
}

/// A library that ships LTO-IR, in the section `.data`.
fn library(directory: &Path) -> Result<()> {
    let stem = "nvidia_libmathdx_cu12-0.3.1.9-py3-none-manylinux_2_24_x86_64";
    let wheel = find_in(&fetched("lto-ir"), stem).ok_or_else(|| not_fetched(stem))?;
    std::os::unix::fs::symlink(wheel, directory.join("lib.whl"))?;
    let verified = fatbin(directory, &["verify", "lib.whl"])?;
    let lines: Vec<&str> = verified.stdout.lines().filter(|line| !line.ends_with(": no device images")).collect();
    let expected = "lib.whl!nvidia/cu12/lib/libmathdx.so.0: 1 device image, no damage found, 1 LTO-IR, not inspected";
    ensure!(lines == [expected], "{}", verified.error("another summary"));
    let extracted = fatbin(directory, &["extract", "lib.whl", "-o", "out"])?;
    ensure!(extracted.stdout.is_empty(), "{}", extracted.error("scrambled bytes are extracted"));
    Ok(())
}

/// Makes PTX and a cubin for each architecture from the same text: `sm_90.ptx`, `sm_90.cubin`, and so on.
pub fn cubins(directory: &Path) -> Result<()> {
    let text = std::fs::read_to_string(fixture("answer-sm_80.ptx")?)?;
    for arch in ARCHITECTURES {
        let line = |line: &str| match line.split(' ').next() {
            Some(".version") => ".version 8.8\n".to_owned(),
            Some(".target") => format!(".target {arch}\n"),
            _ => format!("{line}\n"),
        };
        let (input, output) = (format!("{arch}.ptx"), format!("{arch}.cubin"));
        std::fs::write(directory.join(&input), text.lines().map(line).collect::<String>())?;
        Step::new(directory, Tool::Ptxas.path()?).args([&format!("-arch={arch}"), "-o", &output, &input]).run()?;
    }
    Ok(())
}

/// All cubins in one container; fatbinary makes one group of those before `sm_100`, and one of the others.
fn group(directory: &Path, options: &[&str]) -> Result<()> {
    cubins(directory)?;
    let image = |arch: &str| format!("--image3=kind=elf,sm={},file={arch}.cubin", &arch["sm_".len()..]);
    let images: Vec<String> = ARCHITECTURES.map(image).into();
    fatbinary(directory, &[&["--concat", "--compress-all"], options].concat(), &images)?;
    let kinds = entry_kinds(&std::fs::read(directory.join("fat"))?)?;
    ensure!(kinds == [0x100, 0x100], "fatbinary writes entries of kinds {kinds:x?}");
    let verified = fatbin(directory, &["verify", "fat"])?;
    ensure!(verified.stdout == "fat: 7 device images, intact\n", "{}", verified.error("not intact"));
    let extracted = fatbin(directory, &["extract", "fat", "-o", "out", "--name", "{arch}.{extension}"])?;
    let names: Vec<&str> = extracted.stdout.lines().collect();
    ensure!(names.len() == ARCHITECTURES.len(), "{}", extracted.error("another number of images"));
    for arch in ARCHITECTURES {
        let name = format!("{arch}.cubin");
        let same = std::fs::read(directory.join("out").join(&name))? == std::fs::read(directory.join(&name))?;
        ensure!(same, "{}", extracted.error(format!("{name} differs from the output of ptxas")));
    }
    Ok(())
}

fn entry_kinds(bytes: &[u8]) -> Result<Vec<u16>> {
    let (mut kinds, mut at) = (Vec::new(), 16);
    while at < bytes.len() {
        kinds.push(word(bytes, at)? as u16);
        at += word(bytes, at + 4)? as usize + word(bytes, at + 8)? as usize;
    }
    Ok(kinds)
}

/// Cubins without a container state their suffix, which decides where they run.
fn suffixes(directory: &Path) -> Result<()> {
    cubins(directory)?;
    for arch in ARCHITECTURES {
        let file = format!("{arch}.cubin");
        for command in ["scan", "inspect"] {
            let done = fatbin(directory, &[command, "--json", &file])?;
            let document: Value = serde_json::from_str(&done.stdout)?;
            let file = &document["files"][0];
            let image = if command == "scan" { &file["containers"][0]["images"][0] } else { &file["images"][0] };
            ensure!(image["arch"] == arch, "{}", done.error(format!("expected {arch}")));
        }
    }
    let runs = |file: &str, device: &str| fatbin(directory, &["select", "--device", device, file]);
    for (file, device) in [("sm_100f.cubin", "sm_103"), ("sm_100a.cubin", "sm_100"), ("sm_90a.cubin", "sm_90")] {
        runs(file, device)?;
    }
    for (file, device) in [("sm_100a.cubin", "sm_103"), ("sm_100f.cubin", "sm_120")] {
        ensure!(runs(file, device).is_err(), "{file} does not run on {device}");
    }
    Ok(())
}
