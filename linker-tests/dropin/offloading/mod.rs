//! `llvm-objdump --offloading` and `llvm-readobj --offloading`, compared with the drop-ins on every kind of file with device
//! images, on hosts of every format, and on malformed files. LLVM's llvm-objcopy lacks the option of ROCm's, so that its
//! drop-in is compared with `fatbin extract`.
//!
//! `src/dropin/offloading` lists the divergences, and [`divergences`] tests them.

mod divergences;
mod inputs;
mod malformed;

use std::path::Path;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use super::{Call, CallResult, Pair, Side};
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::Tool;
use crate::harness::trial::{completion, fresh_directory};
use crate::real_files;
use inputs::{copy, prepare};

const OBJDUMP: &str = "llvm-objdump";
const READOBJ: &str = "llvm-readobj";
const OBJCOPY: &str = "llvm-objcopy";

/// Files for which the results are the same.
const FILES: [&str; 19] = [
    "one.o",
    "binaries.o",
    "both.o",
    "twice.o",
    "linked.so",
    "bitcode.bc",
    "bitcode.a",
    "bundles.a",
    "empty.a",
    "bundle",
    "compressed",
    "answer.hsaco",
    "answer.cubin",
    "text",
    "empty",
    "missing",
    ".",
    "one.o missing twice.o",
    "@response",
];

/// Files for llvm-objdump alone: the addresses in libraries differ, and llvm-readobj crashes on a binary.
const FOR_OBJDUMP: [&str; 5] = ["library.a", "thin.a", "binary", "universal", "--arch-name= one.o"];

/// Files for llvm-readobj alone.
const FOR_READOBJ: [&str; 1] = ["compressed.o"];

/// Hosts, and the kind of device code of an object for each. Bundles in COFF and Mach-O are divergences.
const HOSTS: [(&str, &str); 11] = [
    ("x86_64-unknown-linux-gnu", "hip"),
    ("aarch64-unknown-linux-gnu", "hip"),
    ("riscv64-unknown-linux-gnu", "hip"),
    ("powerpc64le-unknown-linux-gnu", "openmp"),
    ("s390x-unknown-linux-gnu", "openmp"),
    ("loongarch64-unknown-linux-gnu", "openmp"),
    ("x86_64-pc-windows-msvc", "openmp"),
    ("x86_64-w64-windows-gnu", "openmp"),
    ("aarch64-pc-windows-msvc", "openmp"),
    ("x86_64-apple-macosx", "openmp"),
    ("arm64-apple-macosx", "openmp"),
];

/// ELF machines by width and byte order, 1 for big-endian.
const MACHINES: [(u8, u8, u16); 11] = [
    (2, 0, 62),
    (1, 0, 3),
    (2, 0, 183),
    (1, 0, 40),
    (2, 0, 243),
    (2, 0, 21),
    (2, 1, 21),
    (2, 1, 22),
    (2, 0, 258),
    (2, 0, 190),
    (2, 0, 9999),
];

pub fn trials() -> Vec<Trial> {
    let trial = |name: &'static str, test: fn(&Path) -> Result<()>| {
        Trial::ignorable_test(format!("dropin/offloading/{name}"), move || {
            completion(fresh_directory("dropin-offloading", name).and_then(|directory| test(&directory)))
        })
    };
    vec![
        trial("files", same_for_every_file),
        trial("hosts", same_for_every_host),
        trial("options", other_options_are_refused),
        trial("malformed", malformed::are_errors_alike),
        trial("addresses", addresses_are_taken),
        trial("libraries", same_for_a_real_library),
        trial("divergences", divergences::are_these),
    ]
}

/// Both tools, each with its drop-in.
fn pairs(directory: &Path) -> Result<[Pair; 2]> {
    Ok([
        Pair::new(&directory.join(OBJDUMP), OBJDUMP, &Tool::Objdump.path()?)?,
        Pair::new(&directory.join(READOBJ), READOBJ, &Tool::Readobj.path()?)?,
    ])
}

/// Makes the inputs for both tools.
fn prepared(directory: &Path) -> Result<[Pair; 2]> {
    prepare(directory)?;
    pairs(directory)
}

/// A call with `--offloading` in a directory with copies of all inputs.
fn call(line: &str) -> Call<'_> {
    let mut call = Call { prepare: copy, ..Call::line(line) };
    call.arguments.insert(0, "--offloading");
    call
}

/// A result without the files.
fn shown(result: &CallResult) -> String {
    format!("status {}\n{}{}", result.status, result.out, result.err)
}

fn same_for_every_file(directory: &Path) -> Result<()> {
    let [objdump, readobj] = prepared(directory)?;
    for line in FILES.iter().chain(&FOR_OBJDUMP) {
        objdump.same(&call(line))?;
    }
    for line in FILES.iter().chain(&FOR_READOBJ) {
        readobj.same(&call(line))?;
    }
    let one = directory.join("inputs/one.o");
    for pair in [&objdump, &readobj] {
        let result = pair.same(&Call { stdin: Some(&one), ..call("-") })?;
        ensure!(result.out.contains("<stdin>") && result.out.contains("hipv4-"), "{}", shown(&result));
    }
    objdump.same(&Call::line("--offloading"))?;
    readobj.same(&Call::line("--offloading")).map(drop)
}

fn same_for_every_host(directory: &Path) -> Result<()> {
    let inputs = directory.join("inputs");
    std::fs::create_dir_all(&inputs)?;
    std::fs::copy(crate::harness::directives::fixture("answer-gfx90a.hsaco")?, inputs.join("a.hsaco"))?;
    for (host, kind) in HOSTS {
        let name = format!("{host}.o");
        let step = Step::new(&inputs, fatbin_program()).args(["wrap", "--kind", kind, "--host", host]);
        step.args(["-o", &name, "a.hsaco"]).run()?;
    }
    for (class, order, machine) in MACHINES {
        std::fs::write(inputs.join(format!("machine-{class}-{order}-{machine}")), header(class, order, machine))?;
    }
    for pair in pairs(directory)? {
        for (host, _) in HOSTS {
            pair.same(&call(&format!("{host}.o")))?;
        }
        for (class, order, machine) in MACHINES {
            let result = pair.same(&call(&format!("machine-{class}-{order}-{machine}")))?;
            ensure!(result.status == 0, "{}", shown(&result));
        }
    }
    Ok(())
}

/// Header of an ELF object without sections.
fn header(class: u8, order: u8, machine: u16) -> Vec<u8> {
    let number = |value: u16| if order == 1 { value.to_be_bytes() } else { value.to_le_bytes() };
    let size = if class == 2 { 64 } else { 52 };
    let mut bytes = vec![0; size];
    bytes[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, order + 1, 1]);
    bytes[16..18].copy_from_slice(&number(1));
    bytes[18..20].copy_from_slice(&number(machine));
    let version = if order == 1 { 22..24 } else { 20..22 };
    bytes[version].copy_from_slice(&number(1));
    bytes[size - 12..size - 10].copy_from_slice(&number(size as u16));
    bytes[size - 6..size - 4].copy_from_slice(&number(if class == 2 { 64 } else { 40 }));
    bytes
}

/// Unknown options and those that are not about offloading have the tool's status, and a message that begins like its own.
fn other_options_are_refused(directory: &Path) -> Result<()> {
    let [objdump, readobj] = prepared(directory)?;
    for pair in [&objdump, &readobj] {
        for line in ["--bogus one.o", "--offload one.o", "--offloading=1 one.o", "--arch-name one.o", "--"] {
            let (theirs, ours) = pair.both(&call(line))?;
            ensure!(ours.status == theirs.status && ours.out.is_empty(), "{line}: {} {}", shown(&theirs), shown(&ours));
            ensure!(ours.err.starts_with(theirs.err.trim_end()), "{line}: {} {}", shown(&theirs), shown(&ours));
            ensure!(ours.err.contains(&format!(": use LLVM's {} for anything but ", pair.name)), "{}", shown(&ours));
        }
        for line in ["--section-headers one.o", "-h one.o", "--symbols"] {
            let ours = pair.call(Side::Ours, &call(line))?;
            ensure!(ours.status == 1 && ours.err.contains("unknown argument '-"), "{}", shown(&ours));
        }
    }
    let (theirs, ours) = objdump.both(&Call { prepare: copy, ..Call::line("one.o") })?;
    ensure!(
        ours.status == theirs.status && ours.err.contains("nothing to do without --offloading"),
        "{}",
        shown(&ours)
    );
    Ok(())
}

/// `fatbin extract` and the drop-in for llvm-objcopy take the addresses that the drop-in for llvm-readobj prints.
fn addresses_are_taken(directory: &Path) -> Result<()> {
    let [_, readobj] = prepared(directory)?;
    let inputs = directory.join("inputs");
    let objcopy = Pair::new(&directory.join(OBJCOPY), OBJCOPY, &Tool::Objcopy.path()?)?;
    for (file, count) in [("one.o", 2), ("twice.o", 4), ("compressed.o", 2), ("library.a", 4), ("thin.a", 2)] {
        let listed = readobj.call(Side::Ours, &call(file))?;
        let lines = listed.out.lines().filter_map(|line| line.split_once("\tfile://"));
        let entries: Vec<_> = lines.filter(|(_, address)| !address.ends_with("size=0")).collect();
        ensure!(entries.len() == count, "{file}: {}", shown(&listed));
        for (id, address) in entries {
            let image =
                std::fs::read(inputs.join(if id.ends_with("gfx90a") { "answer.hsaco" } else { "xnack.hsaco" }))?;
            let address = format!("file://{address}");
            let step = Step::new(&inputs, fatbin_program()).args(["extract", &address, "--to", "image"]);
            step.run()?;
            ensure!(std::fs::read(inputs.join("image"))? == image, "{file}: {address}");
            let option = format!("--dump-offload-bundle={address}");
            let result = objcopy.call(Side::Ours, &Call { prepare: copy, ..Call::new(&[&option, file]) })?;
            let is_silent = result.status == 0 && result.out.is_empty() && result.err.is_empty();
            let name = address.trim_start_matches("file://").replace("#offset=", "-offset").replace("&size=", "-size");
            let written = result.left.get(&format!("{name}.co"));
            ensure!(is_silent && written.is_some_and(|file| file.has_bytes(&image)), "{address}: {}", shown(&result));
        }
    }
    Ok(())
}

fn same_for_a_real_library(directory: &Path) -> Result<()> {
    let inputs = directory.join("inputs");
    std::fs::create_dir_all(&inputs)?;
    std::os::unix::fs::symlink(real_files::path_of("rocrand")?, inputs.join("librocrand.so"))?;
    for pair in pairs(directory)? {
        let result = pair.same(&call("librocrand.so"))?;
        ensure!(result.out.matches("hipv4-").count() > 6, "{}", shown(&result));
    }
    Ok(())
}
