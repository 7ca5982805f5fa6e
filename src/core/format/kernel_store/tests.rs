//! The database of the fixtures: pages of 512 bytes, rows in chains of pages, and a tree of two levels. Python wrote it.

use super::*;

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../../fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Name and bytes of a member, or its error.
type Unpacked = (String, Result<Vec<u8>, String>);

/// Returns all members, and the defect.
fn unpacked(bytes: &[u8]) -> Option<(Vec<Unpacked>, Option<Malformed>)> {
    let Members { members, defect } = members(View::new(bytes))?;
    let members = members.into_iter().map(|member| {
        let MemberContent::Packed(unpack) = member.content else { panic!("{member:?}") };
        let mut to = Vec::new();
        let done = unpack(&mut to).map(|()| to).map_err(|error| error.to_string());
        (member.name.unwrap_or_default(), done)
    });
    Some((members.collect(), defect))
}

#[test]
fn rows_are_code_objects() {
    let code = fixture("answer-gfx90a.hsaco");
    let (members, defect) = unpacked(&fixture("answer.kdb")).unwrap();
    assert_eq!(defect, None);
    let expected = ["answer.cpp.o#1", "answer.cpp.o#2"].map(|name| (name.to_owned(), Ok(code.clone())));
    assert_eq!(members[..2], expected);
    let texts = (0..20).map(|index| (format!("text.cpp.o#{}", index + 3), Ok(format!("no code {index}").into_bytes())));
    assert!(members[2..].iter().cloned().eq(texts));
}

#[test]
fn other_databases_have_no_members() {
    let bytes = fixture("answer.kdb");
    let name = bytes.windows(12).position(|word| word == b"tablekern_db").unwrap();
    let mut other = bytes.clone();
    other[name + 5] ^= 1;
    assert!(members(View::new(&other)).is_none());
    assert!(members(View::new(b"SQLite format 3\0")).is_none());
    // Page size, text in UTF-16, more unused bytes than a page has.
    for (at, value) in [(16, 3), (17, 1), (59, 2), (20, 255)] {
        let mut other = bytes.clone();
        other[at] = value;
        assert!(members(View::new(&other)).is_none(), "{at}");
    }
}

#[test]
fn a_truncated_database_has_defects() {
    let bytes = fixture("answer.kdb");
    let (whole, _) = unpacked(&bytes).unwrap();
    for end in (0..bytes.len()).step_by(256) {
        let Some((members, defect)) = unpacked(&bytes[..end]) else { continue };
        let intact = members.iter().filter(|(_, code)| code.is_ok()).count();
        // The last pages are of the index.
        assert!(defect.is_some() || intact < members.len() || members == whole, "{end}");
    }
}

#[test]
fn changed_databases_are_errors_and_end() {
    let bytes = fixture("answer.kdb");
    let (whole, _) = unpacked(&bytes).unwrap();
    let mut failed = 0;
    for at in (0..bytes.len()).step_by(11) {
        for value in [0, 0xff, bytes[at] ^ 1] {
            let mut changed = bytes.clone();
            changed[at] = value;
            let Some((members, defect)) = unpacked(&changed) else { continue };
            failed += usize::from(defect.is_some());
            for (_, code) in members.iter().filter(|(_, code)| code.is_ok()) {
                assert!(whole.iter().any(|(_, known)| known == code), "{at} {value}");
            }
        }
    }
    assert!(failed > 20, "{failed}");
}

#[test]
fn a_tree_with_a_cycle_is_an_error() {
    let bytes = fixture("answer.kdb");
    // The root of the table is an interior page; its last child becomes the page.
    let root = (1..bytes.len() / 512).find(|page| bytes[page * 512] == 5).unwrap();
    let mut changed = bytes;
    changed[root * 512 + 8..root * 512 + 12].copy_from_slice(&(root as u32 + 1).to_be_bytes());
    let Members { defect, .. } = members(View::new(&changed)).unwrap();
    assert!(defect.unwrap().to_string().contains("the tree has a cycle"));
}
