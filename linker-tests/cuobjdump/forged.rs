//! Containers that no tool writes: entries of every kind, with every flag, and with odd identifiers.

use std::path::Path;

use anyhow::Result;

use super::pair;
use crate::dropin::{Call, Pair};
use crate::harness::directives::fixture;

const BITS_64: u64 = 0x1;
const LINUX: u64 = 0x10;

pub const PTX: u16 = 1;
pub const ELF: u16 = 2;

/// Kinds that have options, and cannot be without.
const WITH_OPTIONS: [u16; 4] = [PTX, 8, 0x40, 0x80];

/// Kinds of entries. 0x10 is listed like ELF.
const KINDS: [u16; 14] = [0, PTX, ELF, 3, 4, 5, 6, 7, 8, 0x10, 0x20, 0x40, 0x80, 0x200];

/// Flags of hosts, sizes, debug information and suffixes; others have no effect.
const FLAGS: [u64; 23] = [
    0,
    1,
    2,
    4,
    8,
    0x10,
    0x20,
    0x40,
    0x30,
    0x60,
    0x91,
    0x111,
    0x211,
    0x411,
    0x811,
    0x2_0011,
    0x4_0011,
    0x10_0011,
    0x20_0011,
    0x30_0011,
    0x100_0011,
    0x200_0011,
    0x2_0000_0011,
];

const IDENTIFIERS: [&str; 15] = [
    "foo",
    "/a/b/",
    "a.b.c",
    ".hidden",
    "d.x/foo",
    "foo.",
    "..",
    "a/..",
    "a\\b.cu",
    "sp ace.cu",
    "a\0b.cu",
    "/",
    ".",
    "x/.cu",
    "%s.cu",
];

const LISTS: [&str; 8] =
    ["", "-lelf", "-lptx", "-lelf -lptx", "-xelf all -xptx all", "-ptx -symbols -res-usage", "-ltext", "-arch sm_75"];

/// An entry of a container.
pub struct Entry<'a> {
    pub kind: u16,
    pub payload: &'a [u8],
    pub identifier: Option<&'a [u8]>,
    pub options: Option<&'a [u8]>,
    pub flags: u64,
    pub arch: u32,
    pub marker: u16,
}

impl<'a> Entry<'a> {
    pub fn new(kind: u16, payload: &'a [u8]) -> Self {
        let options = WITH_OPTIONS.contains(&kind).then_some(&b"-v"[..]);
        Entry { kind, payload, identifier: None, options, flags: BITS_64 | LINUX, arch: 90, marker: 0x101 }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut strings = Vec::new();
        let (mut name, mut name_size, mut options) = (0_u32, 0_u32, 0_u32);
        if let Some(identifier) = self.identifier {
            (name, name_size) = (64, identifier.len() as u32);
            strings = padded(&[identifier, &[0]].concat());
        }
        if let Some(text) = self.options {
            options = 64 + strings.len() as u32;
            let block = [&(options + 8).to_le_bytes(), &(text.len() as u32).to_le_bytes(), text, &[0]].concat();
            strings.extend(padded(&block));
        }
        let payload = padded(self.payload);
        let mut bytes = Vec::new();
        bytes.extend(self.kind.to_le_bytes());
        bytes.extend(self.marker.to_le_bytes());
        bytes.extend((64 + strings.len() as u32).to_le_bytes());
        bytes.extend((payload.len() as u64).to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(options.to_le_bytes());
        bytes.extend([8, 0, 1, 0]);
        bytes.extend(self.arch.to_le_bytes());
        bytes.extend(name.to_le_bytes());
        bytes.extend(name_size.to_le_bytes());
        bytes.extend(self.flags.to_le_bytes());
        bytes.extend([0; 16]);
        [bytes, strings, payload].concat()
    }
}

fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(8), 0);
    padded
}

/// Returns a container.
pub fn container(entries: &[Entry<'_>]) -> Vec<u8> {
    let entries: Vec<u8> = entries.iter().flat_map(Entry::bytes).collect();
    let header = [&b"\x50\xed\x55\xba\x01\0\x10\0"[..], &(entries.len() as u64).to_le_bytes()].concat();
    [header, entries].concat()
}

/// Text of PTX with a NUL.
pub const TEXT: &[u8] = b".version 8.8\n.target sm_90\n\0";

fn payload(kind: u16, cubin: &[u8]) -> &[u8] {
    match kind {
        ELF | 4 | 0x10 => cubin,
        PTX | 0x40 => TEXT,
        _ => b"12345678",
    }
}

/// Both programs agree on entries of every kind, with every flag and with odd identifiers.
pub fn entries(directory: &Path) -> Result<()> {
    let cubin = std::fs::read(fixture("answer-sm_90.cubin")?)?;
    let pair = pair(directory)?;
    for kind in KINDS {
        let entries = [Entry::new(ELF, &cubin), Entry::new(kind, payload(kind, &cubin)), Entry::new(PTX, TEXT)];
        agree(directory, &pair, &container(&entries))?;
    }
    for flags in FLAGS {
        agree(directory, &pair, &container(&[Entry { flags, ..Entry::new(ELF, &cubin) }]))?;
    }
    for identifier in IDENTIFIERS.map(str::as_bytes) {
        let named = |kind, payload| Entry { identifier: Some(identifier), ..Entry::new(kind, payload) };
        agree(directory, &pair, &container(&[named(ELF, &cubin), named(PTX, TEXT)]))?;
    }
    damaged(directory, &pair, &cubin)
}

/// Both programs agree on damaged containers.
fn damaged(directory: &Path, pair: &Pair, cubin: &[u8]) -> Result<()> {
    let whole = container(&[Entry::new(ELF, cubin), Entry::new(PTX, TEXT)]);
    let mut containers = vec![
        whole[..whole.len() - 8].to_vec(),
        whole[..100].to_vec(),
        whole[..20].to_vec(),
        [&whole[..], &whole].concat(),
        [&whole[..], &[0; 8], &whole].concat(),
        [&whole[..], b"remaining bytes that are not a container"].concat(),
        container(&[]),
        container(&[Entry::new(ELF, b"not an ELF file")]),
        container(&[Entry::new(ELF, &cubin[..100])]),
        container(&[Entry::new(ELF, cubin), Entry { flags: 0x2011, ..Entry::new(ELF, cubin) }]),
        container(&[Entry { flags: 0x8011, ..Entry::new(ELF, cubin) }]),
        container(&[Entry { options: Some(b""), ..Entry::new(0x100, b"12345678") }]),
        container(&[Entry::new(0x100, b"12345678")]),
    ];
    // A header size that is too large.
    let mut oversized = whole;
    oversized[16 + 4..16 + 8].copy_from_slice(&9999_u32.to_le_bytes());
    containers.push(oversized);
    containers.iter().try_for_each(|container| agree(directory, pair, container))
}

fn agree(directory: &Path, pair: &Pair, container: &[u8]) -> Result<()> {
    std::fs::write(directory.join("forged.o"), container)?;
    for list in LISTS {
        let line: Vec<&str> = list.split_whitespace().chain(["../forged.o"]).collect();
        pair.same(&Call::new(&line))?;
    }
    Ok(())
}
