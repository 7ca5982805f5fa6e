//! Divergences of the drop-ins, as a table: a call, the results of both programs, and the reason.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};

use super::malformed::OTHERS;
use super::{OBJDUMP, READOBJ, Side, call, prepared, shown};
use crate::dropin::CallResult;

/// Result of a call: exit status, and a part of the output.
type End = (i32, &'static str);

/// A tool, an argument, the results of the tool and of the drop-in, and the reason of the difference.
type Row = (&'static str, &'static str, End, End, &'static str);

const FOUND: &str = "what the file has is found";
const CHECKED: &str = "what a file states is checked";
const READ: &str = "an address names a file";

/// The behavior of the tool is undefined, so it is not called.
const UNDEFINED: End = (i32::MIN, "");

#[rustfmt::skip]
const ROWS: [Row; 15] = [
    (OBJDUMP, "--arch-name=gfx908 one.o", (0, "one.o.0.hipv4-amdgcn-amd-amdhsa--gfx90a\n"), (0, "64\nExtracting offload bundle: one.o.0.hipv4-amdgcn-amd-amdhsa--gfx908\n"), "the document promises it"),
    (OBJDUMP, "compressed.o", (0, "compressed.o.0.hipv4-"), (0, "compressed.o.0.hipv4-"), "an image is decompressed"),
    (OBJDUMP, "mixed.o", (0, "mixed.o.0.hipv4-"), (0, "mixed.o.2.hipv4-"), FOUND),
    (OBJDUMP, "coff.obj", (1, "COFF object files not supported"), (0, "coff.obj.0.hipv4-"), FOUND),
    (READOBJ, "coff.obj", (0, "COFF object files not supported"), (0, "\tfile://coff.obj#offset="), FOUND),
    (OBJDUMP, "binary.a", (1, "Invalid data"), (0, "OFFLOADING IMAGE [2]"), FOUND),
    (OBJDUMP, "outside.o", UNDEFINED, (1, "bundle entry offset at 0x"), CHECKED),
    (OBJDUMP, "none.o", (0, ""), (1, "bundle entry count at 0x"), CHECKED),
    (OBJDUMP, "hash.o", (0, ""), (1, "hash mismatch"), CHECKED),
    (OBJDUMP, "slash.o", (1, "No such file or directory"), (1, "bundle entry id at 0x"), "text of a file is no path"),
    (OBJDUMP, "members.a", (0, ""), (1, "duplicate output"), "there is one place for one file"),
    (READOBJ, "library.a", (0, "\tfile://one.o#offset="), (0, "\tfile://library.a#offset="), READ),
    (READOBJ, "a#b.o", (0, "\tfile://a#b.o#offset="), (0, "\tfile://a%23b.o#offset="), READ),
    (READOBJ, "binary", UNDEFINED, (1, "'binary': an offload binary: use llvm-offload-binary"), "the tool crashes"),
    (READOBJ, "universal", (0, "Format: Mach-O 64-bit x86-64"), (1, "a universal binary: use LLVM's llvm-readobj"), "it has no bundles"),
];

pub fn are_these(directory: &Path) -> Result<()> {
    let [objdump, readobj] = prepared(directory)?;
    let inputs = directory.join("inputs");
    fs::copy(inputs.join("one.o"), inputs.join("a#b.o"))?;
    OTHERS.iter().try_for_each(|change| change.make(&inputs))?;
    for (tool, line, theirs, ours, _) in ROWS {
        let pair = if tool == OBJDUMP { &objdump } else { &readobj };
        let own = pair.call(Side::Ours, &call(line))?;
        ensure!(is_end(&own, ours), "{tool} {line}: expected {ours:?}, found {}", shown(&own));
        if theirs != UNDEFINED {
            let other = pair.call(Side::Theirs, &call(line))?;
            ensure!(is_end(&other, theirs), "{tool} {line}: expected {theirs:?} of the tool, found {}", shown(&other));
            // A row without a divergence must be removed.
            ensure!(other != own, "{tool} {line}: both programs have the same result");
        }
    }
    let own = objdump.call(Side::Ours, &call("compressed.o"))?;
    let image = fs::read(inputs.join("answer.hsaco"))?;
    let written = own.left.get("compressed.o.0.hipv4-amdgcn-amd-amdhsa--gfx90a");
    ensure!(written.is_some_and(|file| file.has_bytes(&image)), "{}", shown(&own));
    Ok(())
}

fn is_end(result: &CallResult, (status, text): End) -> bool {
    result.status == status && (result.out.contains(text) || result.err.contains(text))
}
