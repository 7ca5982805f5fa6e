//! Members of zip files, as the crate `zip` reads them.

use std::io::{Cursor, Read, Seek, Write};

use ::zip::write::SimpleFileOptions;
use ::zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::*;
use crate::base::bytes::{Budget, Limits};
use crate::base::error::Cause;

const TEXT: &[u8] = b"a text, a text, a text, a text";

fn fill<W: Write + Seek>(mut writer: ZipWriter<W>, large: bool) -> W {
    let deflated = SimpleFileOptions::default().large_file(large);
    writer.add_directory("d/", deflated).unwrap();
    writer.start_file("b/a", deflated).unwrap();
    writer.write_all(TEXT).unwrap();
    writer.start_file("a/b", deflated.compression_method(CompressionMethod::Stored)).unwrap();
    writer.write_all(TEXT).unwrap();
    writer.finish().unwrap()
}

/// Returns archives of every form: with 32-bit and 64-bit sizes, with sizes after the data, behind other bytes with
/// offsets from both starts, with a comment, with an end record in the comment, with zip64 records, in front of other
/// bytes, and with the same name twice.
fn archives() -> Vec<Vec<u8>> {
    let plain = fill(ZipWriter::new(Cursor::new(Vec::new())), false).into_inner();
    let mut adjusted = Cursor::new(b"prefix".to_vec());
    adjusted.set_position(6);
    let with_comment = |comment: Vec<u8>| {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        writer.set_raw_comment(comment.into()).unwrap();
        fill(writer, false).into_inner()
    };
    let end = plain.len() - END_SIZE as usize;
    vec![
        [b"prefix", &plain[..]].concat(),
        fill(ZipWriter::new(Cursor::new(Vec::new())), true).into_inner(),
        fill(ZipWriter::new_stream(Vec::new()), false).into_inner(),
        fill(ZipWriter::new(adjusted), false).into_inner(),
        with_comment(b"a comment".to_vec()),
        with_comment(plain[end..].to_vec()),
        with_comment(b"PK\x05\x06".to_vec()),
        large(&plain),
        [b"prefix", &large(&plain)[..]].concat(),
        [&plain[..], b"more"].concat(),
        same_names(&plain),
        plain,
    ]
}

/// Adds zip64 end records.
fn large(plain: &[u8]) -> Vec<u8> {
    let (entries, end) = plain.split_at(plain.len() - END_SIZE as usize);
    let [size, start] = [12, 16].map(|at| u64::from(u32::from_le_bytes(end[at..at + 4].try_into().unwrap())));
    let mut bytes = [entries, b"PK\x06\x06"].concat();
    bytes.extend(44_u64.to_le_bytes());
    bytes.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend([3, 3, size, start].map(u64::to_le_bytes).concat());
    bytes.extend([&b"PK\x06\x07\0\0\0\0"[..], &(entries.len() as u64).to_le_bytes(), &1_u32.to_le_bytes()].concat());
    bytes.extend([&end[..8], &[0xff; 12], &[0, 0]].concat());
    bytes
}

/// Gives both files the name of the second, in the directory.
fn same_names(plain: &[u8]) -> Vec<u8> {
    let mut bytes = plain.to_vec();
    let at = plain.windows(3).rposition(|name| name == b"b/a").unwrap();
    bytes[at..at + 3].copy_from_slice(b"a/b");
    bytes
}

/// Returns name and contents of each file; `None` if there is an error.
fn ours(bytes: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    members(View::new(bytes), &|_| {}, &mut |member| found.push(member)).ok()?;
    let content = |member: Member<'_>| {
        let mut bytes = Vec::new();
        match member.content {
            MemberContent::Here(view) => bytes = view.data().to_vec(),
            MemberContent::Packed(unpack) => unpack(&mut bytes).ok()?,
            _ => return None,
        }
        Some((member.name?, bytes))
    };
    found.into_iter().map(content).collect()
}

fn theirs(bytes: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).ok()?;
    let mut found = Vec::new();
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).ok()?;
        if !file.is_dir() {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).ok()?;
            found.push((file.name().ok()?.into_owned(), bytes));
        }
    }
    Some(found)
}

#[test]
fn members_are_as_another_reader_finds_them() {
    for (form, archive) in archives().iter().enumerate() {
        assert!(ours(archive).is_some(), "form {form}");
        for end in 0..=archive.len() {
            assert_eq!(ours(&archive[..end]), theirs(&archive[..end]), "form {form} cut at {end}");
        }
    }
}

fn contradictions(bytes: &[u8]) -> Result<Vec<String>, Malformed> {
    let read = |_| {};
    let reader = ZipReader::read(View::new(bytes), "a.whl", RecordUse::Bytes, &read)?;
    Ok(reader.contradictions(&read)?.iter().map(ToString::to_string).collect())
}

#[test]
fn archives_of_every_form_have_no_contradictions() {
    for (form, archive) in archives().iter().enumerate() {
        let has_two_names = *archive == same_names(archives().last().unwrap());
        assert_eq!(contradictions(archive).unwrap().is_empty(), !has_two_names, "form {form}");
    }
}

#[test]
fn damaged_archives_do_not_panic() {
    for archive in archives() {
        for at in 0..archive.len() {
            let _ = contradictions(&archive[..at]);
            for flip in [0xff, 0x01, 0x80] {
                let mut damaged = archive.clone();
                damaged[at] ^= flip;
                let _ = contradictions(&damaged);
            }
        }
    }
}

/// Every byte of a local header counts for some reader, but for the time, the version and unused flags.
#[test]
fn a_changed_local_header_is_a_contradiction() {
    let archive = archives().pop().unwrap();
    let start = archive.windows(4).position(|bytes| bytes == MAGIC).unwrap();
    let second = 4 + archive[start + 4..].windows(4).position(|bytes| bytes == MAGIC).unwrap();
    for place in [6, 8].into_iter().chain(14..33) {
        let mut damaged = archive.clone();
        damaged[second + place] ^= 1;
        let is_readable = ours(&damaged).is_some();
        assert!(!is_readable || !contradictions(&damaged).unwrap().is_empty(), "byte {place}");
    }
}

#[test]
fn many_contradictions_are_counted() {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for number in 0..1000 {
        writer.start_file(format!("{number}"), SimpleFileOptions::default()).unwrap();
    }
    let mut archive = writer.finish().unwrap().into_inner();
    let starts: Vec<usize> = (0..archive.len() - 4).filter(|&at| archive[at..].starts_with(MAGIC)).collect();
    for at in &starts {
        archive[at + 30] = b'x';
    }
    let found = contradictions(&archive).unwrap();
    assert_eq!(
        (found.len(), found.last().unwrap().as_str()),
        (101, "zip file at 0x0: 900 more contradictions between its records")
    );
}

#[test]
fn a_member_of_another_size_than_stated_is_an_error() {
    let archive = archives().pop().unwrap();
    let entries = (0..archive.len() - 4).filter(|&at| archive[at..].starts_with(b"PK\x01\x02"));
    // The first entry is a directory.
    for entry in entries.skip(1) {
        let mut damaged = archive.clone();
        damaged[entry + 24] -= 1;
        assert!(
            ours(&archive).is_some() && (ours(&damaged).is_none() || !contradictions(&damaged).unwrap().is_empty())
        );
    }
}

#[test]
fn names_that_are_not_utf_8_are_in_code_page_437() {
    assert_eq!(decode_name("é\u{2588}".as_bytes()), "é\u{2588}");
    assert_eq!(decode_name(b"th\x82\xdb\xff"), "thé\u{2588}\u{a0}");
}

#[test]
fn a_budget_that_refuses_an_entry_leaves_out_no_member() {
    let bytes = same_names(&fill(ZipWriter::new(Cursor::new(Vec::new())), false).into_inner());
    let mut number = 0;
    let mut lists = Vec::new();
    for work in 0.. {
        let budget = Budget::new(Limits::default(), 0);
        budget.charge(Resource::Work, budget.limit(Resource::Work) - work).unwrap();
        let mut names = Vec::new();
        let view = View::with_budget(&bytes, &budget);
        let result = members(view, &|_| {}, &mut |member| names.push(member.name));
        number += 1;
        match result {
            Err(error) => assert!(matches!(error.cause, Cause::OverBudget { .. }), "{work} steps: {error}"),
            Ok(()) => {
                lists.push(names);
                // Once all entries are read, more steps change nothing.
                if lists.len() == 3 {
                    break;
                }
            }
        }
    }
    assert!(number > 100 && lists.iter().all(|list| *list == lists[2] && !list.is_empty()), "{lists:?}");
}
