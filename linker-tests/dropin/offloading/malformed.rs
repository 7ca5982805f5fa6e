//! Malformed bundles and binaries: the same exit status, output and severity; the messages differ.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::{Pair, call, prepared};

/// A change of an input: the name of the result, the input, a text in it, and bytes at an offset from the text.
pub struct Change {
    pub name: &'static str,
    pub input: &'static str,
    pub at: (&'static [u8], usize),
    pub bytes: &'static [u8],
}

const BUNDLE: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
const COMPRESSED: &[u8] = b"CCOB";
const BINARY: &[u8] = b"\x10\xff\x10\xad";
const ENTRY: &[u8] = b"hipv4-";

/// 2⁴⁰.
const HUGE: &[u8] = &[0, 0, 0, 0, 0, 1, 0, 0];

const CHANGES: [Change; 8] = [
    Change { name: "count", input: "one.o", at: (BUNDLE, 24), bytes: HUGE },
    Change { name: "length", input: "one.o", at: (BUNDLE, 48), bytes: HUGE },
    Change { name: "version", input: "compressed.o", at: (COMPRESSED, 4), bytes: &[9] },
    Change { name: "method", input: "compressed.o", at: (COMPRESSED, 6), bytes: &[9] },
    Change { name: "stream", input: "compressed.o", at: (COMPRESSED, 60), bytes: &[0; 40] },
    Change { name: "magic", input: "binaries.o", at: (BINARY, 0), bytes: b"x" },
    Change { name: "binary-version", input: "binaries.o", at: (BINARY, 4), bytes: &[9] },
    Change { name: "size", input: "binaries.o", at: (BINARY, 8), bytes: HUGE },
];

/// Changes that are divergences.
pub const OTHERS: [Change; 4] = [
    Change { name: "outside.o", input: "one.o", at: (ENTRY, 0), bytes: b"" },
    Change { name: "none.o", input: "one.o", at: (BUNDLE, 24), bytes: &[0; 8] },
    Change { name: "hash.o", input: "compressed.o", at: (COMPRESSED, 24), bytes: &[0; 8] },
    Change { name: "slash.o", input: "one.o", at: (b"gfx908", 0), bytes: b"gfx9/8" },
];

impl Change {
    pub fn make(&self, inputs: &Path) -> Result<()> {
        let mut bytes = fs::read(inputs.join(self.input))?;
        let (text, offset) = self.at;
        let found = bytes.windows(text.len()).position(|window| window == text);
        let start = found.with_context(|| self.input.to_owned())? + offset;
        if self.bytes.is_empty() {
            // The offset of the entry, before its size and the length of its ID.
            bytes[start - 24..start - 16].copy_from_slice(HUGE);
        }
        bytes[start..start + self.bytes.len()].copy_from_slice(self.bytes);
        Ok(fs::write(inputs.join(self.name), bytes)?)
    }
}

/// The tool's severity and file in a message, without its cause.
fn severity(text: &str) -> String {
    text.splitn(4, ": ").take(3).collect::<Vec<_>>().join(": ")
}

pub fn are_errors_alike(directory: &Path) -> Result<()> {
    let pairs = prepared(directory)?;
    let inputs = directory.join("inputs");
    for change in &CHANGES {
        change.make(&inputs)?;
        pairs.iter().try_for_each(|pair| is_alike(pair, change.name, true))?;
    }
    let whole = fs::read(inputs.join("one.o"))?;
    for (name, size) in [("half", whole.len() / 2), ("short", 60)] {
        fs::write(inputs.join(name), &whole[..size])?;
        // llvm-readobj prints the header of a damaged object first.
        pairs.iter().try_for_each(|pair| is_alike(pair, name, false))?;
    }
    Ok(())
}

fn is_alike(pair: &Pair, name: &str, has_same_output: bool) -> Result<()> {
    let call = call(name);
    let (theirs, ours) = pair.both(&call)?;
    let is_same = ours.status == theirs.status
        && (ours.out == theirs.out || !has_same_output)
        && severity(&ours.err) == severity(&theirs.err);
    ensure!(is_same && ours.left == theirs.left, "{}", pair.difference(&call, &theirs, &ours));
    Ok(())
}
