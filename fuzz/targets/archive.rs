//! Reads arbitrary bytes as an archive, with archives in it. Members are in the archive; a library without special members
//! has those that a naive reader finds.

#![no_main]

use std::io::{self, Write};

use fatbin::bytes::View;
use fatbin::internals::archive::{ArchiveFormat, MemberContent, members};
use fatbin_fuzz::fuzz_target;

/// Levels of archives, as many as a package in a package has.
const DEPTH: usize = 3;
/// Bytes to unpack from one input: a few kilobytes can hold gigabytes.
const MOST_UNPACKED: usize = 1 << 20;
/// Members to open: those of a zip file can share their bytes.
const MOST_MEMBERS: usize = 1000;

fuzz_target!(|data: &[u8]| {
    let mut left = Work { bytes: MOST_UNPACKED, members: MOST_MEMBERS };
    open(data, DEPTH, &mut left);
    compare_library(data);
});

struct Work {
    bytes: usize,
    members: usize,
}

fn open(data: &[u8], depth: usize, left: &mut Work) {
    let view = View::new(data);
    let Some(found) = members(view) else {
        assert!(ArchiveFormat::of(view).is_none());
        return;
    };
    let Ok(found) = found else { return };
    for member in found {
        if left.members == 0 {
            return;
        }
        left.members -= 1;
        match member.content {
            MemberContent::Here(content) => {
                fatbin_fuzz::check_view(data, content);
                descend(content.data(), depth, left);
            }
            MemberContent::Packed(unpack) => {
                let mut unpacked = Bounded { bytes: Vec::new(), left: left.bytes };
                let done = unpack(&mut unpacked);
                left.bytes = unpacked.left;
                if done.is_ok() {
                    descend(&unpacked.bytes, depth, left);
                }
            }
            MemberContent::Elsewhere(_) => {
                assert!(data.starts_with(b"!<thin>\n"), "only thin archives have such members");
            }
            MemberContent::Unreadable(reason) => assert!(!reason.is_empty()),
        }
    }
}

fn descend(data: &[u8], depth: usize, left: &mut Work) {
    if depth > 1 {
        open(data, depth - 1, left);
    }
}

/// Buffer that refuses bytes beyond its limit.
struct Bounded {
    bytes: Vec<u8>,
    left: usize,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Compares the members of a static library with those of a reader that knows short names only.
fn compare_library(data: &[u8]) {
    let Some(expected) = naive_library(data) else { return };
    let Some(Ok(found)) = members(View::new(data)) else { return };
    let found: Vec<(u64, u64)> = found
        .iter()
        .filter_map(|member| match member.content {
            MemberContent::Here(content) => Some((content.start(), content.size())),
            _ => None,
        })
        .collect();
    assert_eq!(found, expected, "a naive reader finds other members");
}

/// Returns offset and size of each member; `None` for anything but a well-formed archive of plain members.
fn naive_library(data: &[u8]) -> Option<Vec<(u64, u64)>> {
    const HEADER: usize = 60;
    let mut at = b"!<arch>\n".len();
    if !data.starts_with(b"!<arch>\n") {
        return None;
    }
    let mut found = Vec::new();
    while at < data.len() {
        let header = data.get(at..at + HEADER)?;
        let name = header[..16].trim_ascii_end().strip_suffix(b"/")?;
        let size: usize = std::str::from_utf8(header[48..58].trim_ascii_end()).ok()?.parse().ok()?;
        let is_plain = !name.is_empty() && name.iter().all(u8::is_ascii_alphanumeric) && header.ends_with(b"`\n");
        let end = at.checked_add(HEADER)?.checked_add(size)?;
        if !is_plain || end > data.len() {
            return None;
        }
        found.push(((at + HEADER) as u64, size as u64));
        at = end + size % 2;
    }
    Some(found)
}
