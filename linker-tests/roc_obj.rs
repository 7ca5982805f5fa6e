//! roc-obj-ls and roc-obj-extract of ROCm, compared with the drop-ins of these names. The scripts come from Debian's
//! hipcc 5.2.3, which does not yet print that they are deprecated.

use std::path::Path;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use crate::dropin::{Call, CallResult, Pair, Side};
use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Missing, Tool, fetched, find_in, in_path, not_fetched};
use crate::harness::trial::{completion, fresh_directory};
use crate::real_files;

const LIST: &str = "roc-obj-ls";
const EXTRACT: &str = "roc-obj-extract";

/// Warnings of the last release.
const DEPRECATED: &str =
    "This tool has been DEPRECATED. Similar functionality is provided by llvm-objdump in the rocm-llvm package.\n";

pub fn trials() -> Vec<Trial> {
    let trial = |name: &'static str, test: fn(&Path) -> Result<()>| {
        Trial::ignorable_test(format!("roc_obj/{name}"), move || {
            completion(fresh_directory("roc_obj", name).and_then(|directory| test(&directory)))
        })
    };
    vec![
        trial("list", lists_code_objects),
        trial("extract", extracts_code_objects),
        trial("libraries", lists_real_libraries),
        trial("divergences", divergences),
    ]
}

/// Path of the Perl modules that the scripts use.
fn modules() -> Result<String> {
    let modules = fetched("perl-modules").join("usr/share/perl5");
    let which = find_in(&modules, "Which.pm").ok_or_else(|| not_fetched("perl-modules"))?;
    ensure!(which.is_file(), "{}", which.display());
    Ok(modules.to_string_lossy().into_owned())
}

fn pair(directory: &Path, name: &'static str) -> Result<Pair> {
    in_path("perl").ok_or_else(|| Missing::new("perl", "perl"))?;
    Tool::Bfd.path()?;
    let script = find_in(&fetched("hipcc"), name).ok_or_else(|| not_fetched(name))?;
    Pair::new(directory, name, &script)
}

/// Calls both programs. The warning of the last release is removed.
fn both(pair: &Pair, arguments: &[&str]) -> Result<(CallResult, CallResult)> {
    let modules = modules()?;
    let call = || Call { variables: vec![("PERL5LIB", modules.as_str())], ..Call::new(arguments) };
    let theirs = pair.call(Side::Theirs, &call())?;
    let mut ours = pair.call(Side::Ours, &call())?;
    for start in ["Warning:  ", "Warning: "] {
        ours.err = ours.err.replace(&format!("{start}{DEPRECATED}"), "");
    }
    Ok((theirs, ours))
}

fn same(pair: &Pair, arguments: &[&str]) -> Result<CallResult> {
    let (theirs, ours) = both(pair, arguments)?;
    ensure!(ours == theirs, "{}", pair.difference(&Call::new(arguments), &theirs, &ours));
    Ok(theirs)
}

/// Writes bundles, also compressed, and objects with them in a section.
fn prepare(directory: &Path) -> Result<()> {
    let bundler = Tool::OffloadBundler.path()?;
    std::fs::write(directory.join("host"), "")?;
    for (name, option) in [("bundle", "-verbose=0"), ("compressed", "-compress")] {
        let images = [fixture("answer-gfx90a.hsaco")?, fixture("answer-gfx90a-xnack+.hsaco")?];
        let [plain, xnack] = images.map(|image| format!("-input={}", image.display()));
        let step =
            Step::new(directory, &bundler).args(["-type=o", "-bundle-align=4096", "-input=host", &plain, &xnack]);
        let step = if name == "compressed" { step.arg(option) } else { step };
        step.args([
            "-targets=host-x86_64-unknown-linux--,hipv4-amdgcn-amd-amdhsa--gfx90a,hipv4-amdgcn-amd-amdhsa--gfx908",
            &format!("-output={name}"),
        ])
        .run()?;
    }
    let section =
        |name: &str, bundle: &str| format!(".section {name}, \"a\", @progbits\n.balign 4096\n.incbin \"{bundle}\"\n");
    let files = [
        ("one", section(".hip_fatbin", "bundle")),
        ("two", section(".hip_fatbin", "bundle").repeat(2)),
        ("compressed", section(".hip_fatbin", "compressed")),
        ("rodata", section(".rodata", "bundle")),
        ("suffix", section(".hip_fatbin.a", "bundle") + &section(".hip_fatbin.b", "bundle")),
    ];
    for (name, text) in files {
        std::fs::write(directory.join(format!("{name}.s")), text)?;
        let (source, output) = (format!("{name}.s"), format!("{name}.o"));
        Step::new(directory, Tool::Cc.path()?).args(["-c", &source, "-o", &output]).run()?;
    }
    std::fs::copy(directory.join("one.o"), directory.join("a b.o"))?;
    Ok(())
}

fn lists_code_objects(directory: &Path) -> Result<()> {
    prepare(directory)?;
    let pair = pair(directory, LIST)?;
    for arguments in [&["../one.o"][..], &["../two.o", "../one.o"], &["-v", "../two.o"], &["-x", "--", "../a b.o"]] {
        let result = same(&pair, arguments)?;
        ensure!(result.status == 0 && result.out.contains("hipv4-amdgcn-amd-amdhsa--gfx90a"), "{result:?}");
    }
    for arguments in [&["-h"][..], &["-vh", "x"], &[], &["../nothing"], &["../one.o", "../nothing", "../two.o"]] {
        same(&pair, arguments)?;
    }
    // objdump prints further messages.
    let (theirs, ours) = both(&pair, &["../one.s"])?;
    ensure!(theirs.status == ours.status && theirs.err.ends_with(&ours.err) && !ours.err.is_empty(), "{ours:?}");
    Ok(())
}

fn extracts_code_objects(directory: &Path) -> Result<()> {
    prepare(directory)?;
    let listed = Step::new(directory, fatbin_program()).args(["install-links", "--with", "roc-obj", "links"]);
    listed.run()?;
    let list = Step::new(directory, directory.join("links").join(LIST)).arg("one.o").run()?;
    let addresses: Vec<&str> = list.stdout.lines().filter_map(|line| line.split_whitespace().last()).collect();
    ensure!(addresses.len() == 3, "{}", list.error("three entries"));
    let pair = pair(directory, EXTRACT)?;
    for (address, image) in addresses[1..].iter().zip(["answer-gfx90a.hsaco", "answer-gfx90a-xnack+.hsaco"]) {
        let result = same(&pair, &[&address.replace("file://", "file://../")])?;
        let written = format!("{:?}", result.left.values().next());
        let size = std::fs::metadata(fixture(image)?)?.len();
        ensure!(written.contains(&format!(" {size} bytes: ")), "{written}");
    }
    let lines: [&[&str]; 14] = [
        &["file://../one.o"],
        &["file://../one.o#offset=64&size=100", "FILE://../one.o?size=10&offset=0"],
        &["-o", "..", "file://../one.o#offset=1&size=2"],
        &["-o-", "file://../host.c#offset=0&size=4"],
        &["-o", "-", "file://../one.s#offset=0&size=8"],
        &["file://../a%20b.o#size=7&offset=1"],
        &["file://../one.o#offset=64&size=0"],
        &["file://../one.o#offset=64&size=99999999"],
        &["file://../nothing#offset=0&size=4", "http://x", "plain"],
        &["-o", "nothing", "file://../one.o"],
        &["-h"],
        &[],
        &["-q", "file://../one.o#offset=3&size=4"],
        &["file://../one.o#offset=60"],
    ];
    lines.iter().try_for_each(|line| same(&pair, line).map(drop))
}

fn lists_real_libraries(directory: &Path) -> Result<()> {
    let pair = pair(directory, LIST)?;
    let library = real_files::path_of("rocrand")?;
    let rocrand = library.to_string_lossy();
    let result = same(&pair, &["-v", &rocrand])?;
    ensure!(result.out.lines().count() > 8, "{result:?}");
    Ok(())
}

/// The divergences of the drop-ins, as their module lists them.
fn divergences(directory: &Path) -> Result<()> {
    prepare(directory)?;
    let list = pair(directory, LIST)?;
    let (theirs, ours) = both(&list, &["../compressed.o"])?;
    ensure!((theirs.status, theirs.out.as_str(), theirs.err.as_str()) == (0, "", ""), "{theirs:?}");
    ensure!(ours.status == 1 && ours.err.contains("is compressed") && ours.out.is_empty(), "{ours:?}");
    for (file, count) in [("../rodata.o", 3), ("../bundle", 3), ("../suffix.o", 6)] {
        let (theirs, ours) = both(&list, &[file])?;
        ensure!(theirs.out.lines().count() < count, "{theirs:?}");
        ensure!(ours.status == 0 && ours.out.lines().count() == count, "{ours:?}");
    }

    let extract = pair(directory, EXTRACT)?;
    let (theirs, ours) = both(&extract, &["file://../one.s#offset=0x1&size=3"])?;
    ensure!(theirs.left.len() == 1 && theirs.left != ours.left, "{theirs:?} {ours:?}");
    ensure!(format!("{:?}", ours.left).contains("bytes: sec"), "{ours:?}");
    let (theirs, ours) = both(&extract, &["memory://1#offset=0&size=1"])?;
    ensure!(theirs.status != 0 && ours.status == 1 && ours.err.contains("process are not supported"), "{ours:?}");
    let (theirs, ours) = both(&extract, &["-v", "file://../one.s#offset=0&size=3"])?;
    ensure!(theirs.out.contains("DD Command") && theirs.left == ours.left, "{theirs:?}");
    ensure!(ours.out.lines().count() + 1 == theirs.out.lines().count(), "{ours:?}");
    Ok(())
}
