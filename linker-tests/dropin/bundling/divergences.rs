//! Divergences of the drop-in, as a table: a call, the results of both programs, and the reason.
//!
//! `src/dropin/offload_bundler` documents the reasons too. Here they are tested, so that none of them is out of date.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::spelled;
use crate::dropin::{Call, CallResult, DirectoryEntry, Pair, Side};
use crate::harness::step::Step;
use crate::harness::tools::Tool;

/// Result of a call: exit status, and text on standard error, if any.
type End = (i32, &'static str);

/// A call, the results of the tool and of the drop-in, and the reason of the difference.
type Row = (&'static str, End, End, &'static str);

const LOSS: &str = "what is lost without a word is not found again";
const WHOLE: &str = "there is one place for one file";
const CRASH: &str = "the tool divides by zero, or reads the name of a file that was not given";
const GARBAGE: &str = "what is no bundle may be the host's, what is a broken one is not";

/// The behavior of the tool is undefined: its result can differ from run to run, so it is not called.
const UNDEFINED: End = (i32::MIN, "");

const WOULD: &str = "warning: clang-offload-bundler of LLVM 22 would store 'h";

#[rustfmt::skip]
const ROWS: [Row; 32] = [
    ("-type=bc -targets=hip-amdgcn-amd-amdhsa--fiji -input=../text -output=x", (0, ""), (0, WOULD), LOSS),
    ("-type=ii -targets=hip-amdgcn-amd-amdhsa--gfx940 -input=../text -output=x", (0, ""), (0, WOULD), LOSS),
    ("-type=ii -targets=hip-amdgcn-amd-amdhsa--gfx99 -input=../text -output=x", (0, ""), (0, WOULD), LOSS),
    ("-type=bc -targets=hip-amdgcn-amd-amdhsa-gfx906 -input=../text -output=x", (0, ""), (0, WOULD), LOSS),
    ("-type=bc -targets=hip-nvptx64-nvidia-cuda--sm_100f -input=../text -output=x", (0, ""), (0, WOULD), LOSS),
    ("-type=bc -targets=HOSTx -input=../text -output=x", (0, ""), (0, WOULD), LOSS),
    ("-type=bc -targets=DEVICE,hip-amdgcn-amd-amdhsa-unknown-gfx906 -input=../text -input=../text -output=x", (0, ""), (1, "Duplicate targets are not allowed"), LOSS),
    ("-type=bc -targets=DEVICE:xnack+:sramecc+,DEVICE:xnack- -input=../text -input=../text -output=x", (0, ""), (1, "conflicting targets: 'DEVICE:xnack+:sramecc+' and 'DEVICE:xnack-'"), "both serve a device, which one is chance"),
    ("-type=bc -targets=hip-amdgcn-a/b-linux-gnu -input=../text -output=x", (0, ""), (1, "invalid target 'hip-amdgcn-a/b-linux-gnu'"), "an id becomes a part of file names"),
    ("-type=bc -targets=HOST -input=../text -output=x -bundle-align=0", UNDEFINED, (1, "--bundle-align option: must be at least 1!"), CRASH),
    ("-type=o -targets=DEVICE,hip-amdgcn-amd-amdhsa--gfx90a -input=../host.o -input=../text -output=x", UNDEFINED, (0, ""), CRASH),
    ("-type=ii -targets=HOST -input=../marker -output=x", (0, ""), (1, "contains an end marker of text bundles"), LOSS),
    ("-type=o -targets=HOST,DEVICE -input=../object.bundle -input=../text -output=x", (0, ""), (1, "already a bundle"), LOSS),
    ("-type=o -targets=HOST,DEVICE -input=../mach.o -input=../text -output=x", (1, "'llvm-objcopy' tool failed"), (1, "is Mach-O; only ELF and COFF objects can be rewritten"), "llvm-objcopy is not called"),
    ("-type=o -targets=HOST,DEVICE -input=- -input=../text -output=x", (1, "'llvm-objcopy' tool failed"), (0, ""), "llvm-objcopy is not called"),
    ("-type=bc -unbundle -targets=DEVICE:xnack+,DEVICE:xnack- -input=../bundle -output=x -output=y", (1, "Can't find bundles for DEVICE:xnack"), (0, ""), "an entry may serve several targets"),
    ("-type=bc -unbundle -targets=HOST,DEVICE -input=../other.bundle -output=x -output=y -allow-missing-bundles", (0, ""), (0, ""), GARBAGE),
    ("-type=bc -unbundle -targets=HOST,DEVICE -input=../bundle -output=no/x -output=y", (1, "'no/x': No such file"), (1, "'no/x': No such file"), "outputs appear all or not at all"),
    ("-type=bc -unbundle -targets=HOST,DEVICE -input=../bundle -output=x -output=x", (0, ""), (1, "x: duplicate output"), WHOLE),
    ("-type=ii -unbundle -targets=DEVICE -input=../twice -output=x", (0, ""), (1, "duplicate entry DEVICE"), WHOLE),
    ("-type=bc -unbundle -targets=HOST -input=../two -output=x", (0, ""), (0, "warning: ../two: 1 bundle follows the first bundle at 0x"), LOSS),
    ("-type=bc -unbundle -targets=HOST -input=../two.compressed -output=x", (1, "Failed to decompress input"), (0, "../two.compressed: 1 bundle follows the first bundle at 0x"), "its size is in the header"),
    ("-type=bc -list -input=../two.compressed", (1, "Failed to decompress input"), (0, ""), "its size is in the header"),
    ("-type=bc -unbundle -targets=HOST,DEVICE -input=../cut -output=x -output=y -allow-missing-bundles", (0, ""), (1, "bundle entry"), GARBAGE),
    ("-type=bc -list -input=../cut", (0, ""), (1, "bundle entry"), GARBAGE),
    ("-type=ii -unbundle -targets=HOST -input=../cut.text -output=x", UNDEFINED, (1, "missing end marker of file"), GARBAGE),
    ("-type=o -unbundle -targets=HOST -input=../coff.bundle -output=x", (1, "The end of the file was unexpectedly encountered"), (0, ""), "an empty file is a file"),
    ("-type=bc -unbundle -targets=HOST -input=../hash -output=x", (0, ""), (1, "compressed bundle hash at 0x18: hash mismatch: stored 0x"), "a hash is there to be compared"),
    ("-type=bc -unbundle -targets=HOST -input=../cut.compressed -output=x", (1, "Failed to decompress input"), (1, "compressed bundle total size"), "the error has its location"),
    ("-type=bc -list -input=../cut.compressed", (1, "Failed to decompress input"), (1, "compressed bundle total size"), "the error has its location"),
    ("-type=bc -unbundle -targets=DEVICE -input=../bundle -output=x -debug-only=CodeObjectCompatibility", (1, "Unknown command line argument '-debug-only"), (0, "Compatible: Exact match: \t[CodeObject: DEVICE]\t:\t[Target: DEVICE]"), "the document promises it"),
    ("-type=o -targets=HOST,DEVICE -input=../host.o -input=../text -output=x -###", (0, "llvm-objcopy\" \"--add-section="), (0, "llvm-objcopy\" \"--add-section="), "an output that is not made is not left empty"),
];

pub fn are_these(pair: &Pair) -> Result<()> {
    prepare(pair)?;
    for (line, theirs, ours, _) in ROWS {
        let line = spelled(line);
        let object = pair.directory.join("host.o");
        let call = Call { stdin: line.contains("-input=- ").then_some(&object), ..Call::line(&line) };
        let own = pair.call(Side::Ours, &call)?;
        let is_complete = own.status == 0 || own.left.is_empty();
        ensure!(is_end(&own, ours) && is_complete, "{line}: expected {ours:?}, found {own:?}");
        if theirs != UNDEFINED {
            let other = pair.call(Side::Theirs, &call)?;
            ensure!(is_end(&other, theirs), "{line}: expected {theirs:?} of the tool, found {other:?}");
            // A row without a divergence must be removed.
            ensure!(other != own, "{line}: both programs have the same result");
        }
    }
    calls_of_objcopy_are_the_same(pair)?;
    nothing_is_copied_for_want_of_a_bundle(pair)
}

fn is_end(result: &CallResult, (status, message): End) -> bool {
    let is_printed = if message.is_empty() { result.err.is_empty() } else { result.err.contains(&spelled(message)) };
    result.status == status && is_printed
}

/// Makes bundles with the tool, valid and malformed.
fn prepare(pair: &Pair) -> Result<()> {
    let directory: &Path = &pair.directory;
    std::fs::write(directory.join("marker"), "a\n// __CLANG_OFFLOAD_BUNDLE____END__ b\n")?;
    let clang = Step::new(directory, Tool::Clang.path()?).args(["--target=x86_64-apple-macos", "-c", "host.c"]);
    clang.args(["-o", "mach.o"]).run()?;
    let make = |name: &str, line: &str| -> Result<Vec<u8>> {
        let line = format!("{} -output=x", spelled(line));
        let result = pair.call(Side::Theirs, &Call::line(&line))?;
        let Some(DirectoryEntry::File { bytes, .. }) = result.left.get("x") else {
            anyhow::bail!("{line}: {}", result.err)
        };
        std::fs::write(directory.join(name), bytes)?;
        Ok(bytes.clone())
    };
    let bundle = make("bundle", "-type=bc -targets=HOST,DEVICE -input=../text -input=../binary")?;
    make("other.bundle", "-type=bc -targets=hip-amdgcn-amd-amdhsa--gfx90a -input=../text")?;
    make("object.bundle", "-type=o -targets=HOST,DEVICE -input=../host.o -input=../text")?;
    make("coff.bundle", "-type=o -targets=HOST,DEVICE -input=../host.obj -input=../empty")?;
    make("twice", "-type=ii -targets=DEVICE,hip-amdgcn-amd-amdhsa-unknown-gfx906 -input=../text -input=../text")?;
    let text = make("text.bundle", "-type=ii -targets=HOST -input=../text")?;
    let mut compressed = make("compressed", "-type=bc -targets=HOST,DEVICE -input=../text -input=../large -compress")?;
    let write = |name: &str, bytes: &[u8]| std::fs::write(directory.join(name), bytes).with_context(|| name.to_owned());
    write("cut", &bundle[..100])?;
    write("cut.text", &text[..text.len() - 80])?;
    write("two", &[&bundle[..], &bundle[..]].concat())?;
    write("two.compressed", &[&compressed[..], &[0; 100], &compressed[..]].concat())?;
    write("cut.compressed", &compressed[..compressed.len() - 9])?;
    compressed[25] ^= 1;
    write("hash", &compressed)
}

/// Checks that `-###` prints the same calls, except for the path of llvm-objcopy and the name of the temporary file.
fn calls_of_objcopy_are_the_same(pair: &Pair) -> Result<()> {
    for line in [
        "-type=o -targets=HOST,DEVICE -input=../host.o -input=../text -output=x -###",
        "-type=o -targets=DEVICE,HOST -input=../text -input=../host.o -output=x --###",
        "-type=o -unbundle -targets=HOST,DEVICE -input=../object.bundle -output=x -output=y -###",
        "-type=o -unbundle -targets=DEVICE -input=../object.bundle -output=x -###",
        "-type=bc -targets=HOST,DEVICE -input=../host.o -input=../text -output=x -###",
    ] {
        let line = spelled(line);
        let call = Call::line(&line);
        let (theirs, ours) = pair.both(&call)?;
        ensure!(
            (theirs.status, plain(&theirs.err)) == (0, plain(&ours.err)) && ours.status == 0,
            "{}",
            pair.difference(&call, &theirs, &ours)
        );
        // For a host's object that it has not made, the tool leaves an empty file.
        let made = |result: &CallResult| -> Vec<String> {
            let is_made =
                |left: &&DirectoryEntry| matches!(left, DirectoryEntry::File { bytes, .. } if !bytes.is_empty());
            result
                .left
                .iter()
                .filter(|(_, left)| is_made(left))
                .map(|(name, left)| format!("{name} {left:?}"))
                .collect()
        };
        ensure!(made(&theirs) == made(&ours), "{}", pair.difference(&call, &theirs, &ours));
    }
    Ok(())
}

fn plain(calls: &str) -> String {
    let arguments = calls.split('"').map(|argument| match argument.rsplit_once('/') {
        Some((_, "llvm-objcopy")) => "llvm-objcopy".to_owned(),
        Some((before, file)) if file.starts_with("clang-offload-bundler") && file.ends_with(".tmp") => {
            format!("{before}/temporary")
        }
        _ => argument.to_owned(),
    });
    arguments.collect::<Vec<_>>().join("\"")
}

fn nothing_is_copied_for_want_of_a_bundle(pair: &Pair) -> Result<()> {
    let line = spelled(
        "-type=bc -unbundle -targets=HOST,DEVICE -input=../other.bundle -output=x -output=y -allow-missing-bundles",
    );
    let (theirs, ours) = pair.both(&Call::line(&line))?;
    let size = |result: &CallResult| match result.left.get("x") {
        Some(DirectoryEntry::File { bytes, .. }) => bytes.len() as u64,
        _ => u64::MAX,
    };
    let bundle = std::fs::metadata(pair.directory.join("other.bundle"))?.len();
    ensure!((size(&theirs), size(&ours)) == (bundle, 0), "{}", pair.difference(&Call::line(&line), &theirs, &ours));
    Ok(())
}
