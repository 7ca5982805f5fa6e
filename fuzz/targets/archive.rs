//! Reads arbitrary bytes as an archive, with archives in it. Members are in the archive. For a library without special
//! members, a naive reader finds the same members. A member that was replaced has the new bytes, and all others are
//! unchanged.

#![no_main]

use fatbin::View;
use fatbin_core::base::archive::{ArchiveFormat, MemberContent, members};
use fatbin_core::base::content::Content;
use fatbin_fuzz::{Bounded, fuzz_target};
use fatbin_ops::edit::archive::{
    ar,
    zip::{Packing, ZipFile},
};
use fatbin_ops::edit::patch::{Patch, Patches};

/// Levels of archives, as many as a package in a package has.
const DEPTH: usize = 3;
/// Bytes to unpack from one input: a few kilobytes can hold gigabytes.
const MOST_UNPACKED: usize = 1 << 20;
/// Members to open. Members of a zip file can share their bytes.
const MOST_MEMBERS: usize = 1000;
/// Members of one library to change.
const MOST_CHANGED: usize = 8;

fuzz_target!(|data: &[u8]| {
    let mut left = Work { bytes: MOST_UNPACKED, members: MOST_MEMBERS };
    open(data, DEPTH, &mut left);
    compare_library(data);
    change_library(data);
    change_zip(data);
});

struct Work {
    bytes: usize,
    members: usize,
}

fn open(data: &[u8], depth: usize, left: &mut Work) {
    let budget = fatbin_fuzz::budget(data);
    let view = View::with_budget(data, &budget);
    let Some(format) = ArchiveFormat::of(view) else { return };
    // Members are opened even if readers find different ones.
    let _ = format.check_whole(view);
    for member in format.members(view).members {
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

/// Compares the members of a static library with the members found by a reader that knows short names only.
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

/// Removes the first byte of each member of a static library in turn.
fn change_library(data: &[u8]) {
    let Some(expected) = contents(data).filter(|_| data.starts_with(b"!<arch>\n")) else { return };
    for (index, (name, bytes, start)) in expected.iter().enumerate().take(MOST_CHANGED) {
        if bytes.is_empty() {
            continue;
        }
        let patch = Patch::resizing(*start..start + 1, Content::new());
        let changes = Patches::new(vec![patch]).expect("one span");
        let Ok(patches) = ar::with_members(View::new(data), changes) else { continue };
        let changed = patches.to_vec(View::new(data));
        let found = contents(&changed).expect("an intact archive");
        assert_eq!(found.len(), expected.len());
        for (other, (before, after)) in expected.iter().zip(&found).enumerate() {
            assert_eq!(before.0, after.0);
            if other == index {
                // Members of archives for macOS are padded.
                assert!(after.1.starts_with(&bytes[1..]), "{name}");
            } else {
                assert_eq!(before.1, after.1);
            }
        }
    }
}

/// Returns name, bytes and offset of each member of an intact static library.
fn contents(data: &[u8]) -> Option<Vec<(String, Vec<u8>, u64)>> {
    let found = members(View::new(data))?.ok()?;
    let content = |member: fatbin_core::base::archive::Member<'_>| match member.content {
        MemberContent::Here(view) => Some((member.name.unwrap_or_default(), view.data().to_vec(), view.start())),
        _ => None,
    };
    found.into_iter().map(content).collect()
}

/// Gives the first member of a zip file new bytes.
fn change_zip(data: &[u8]) {
    const NEW: &[u8] = b"new bytes";
    let view = View::new(data);
    if !data.starts_with(b"PK\x03\x04") || !matches!(members(view), Some(Ok(_))) {
        return;
    }
    let Ok(file) = ZipFile::read(view, "a.whl") else { return };
    let (mut packing, name) = (Packing::in_directory(std::env::temp_dir()), std::path::Path::new("member"));
    if file.pack(0, name, &mut packing, |to| to.write_all(NEW)).is_err() {
        return;
    }
    let packed = packing.finish(name).expect("a temporary file");
    let Ok(patches) = file.with_members(&packed) else { return };
    let changed = patches.to_vec(view);
    let Some(Ok(found)) = members(View::new(&changed)) else { panic!("the changed file is unreadable") };
    let mut bytes = Vec::new();
    match found.into_iter().next().expect("the changed member").content {
        MemberContent::Here(view) => bytes = view.data().to_vec(),
        MemberContent::Packed(unpack) => unpack(&mut bytes).expect("an intact member"),
        other => panic!("{other:?}"),
    }
    assert_eq!(bytes, NEW);
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
