//! Rewritten zip files, as the crate `zip` reads them.

use std::io::{Cursor, Read, Seek};

use ::zip::write::SimpleFileOptions;
use ::zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use super::*;
use fatbin_core::base::archive::{MemberContent, members};
use fatbin_core::base::bytes::{Budget, Limits};

/// Bytes of the members of [`wheel`].
const LIBRARY: &[u8] = b"a library, a library, a library, a library";
const STORED_LIBRARY: &[u8] = b"a stored library";
const RECORD: &str = "p/a.so,sha256=old,42\r\np/b.so,sha256=kept,16\r\np/c.txt,,\r\np-1.dist-info/RECORD,,\r\n";

/// Writes a wheel: a directory, a deflated, a stored and an empty member, and the record.
fn fill<W: Write + Seek>(mut writer: ZipWriter<W>, large: bool) -> W {
    let time = DateTime::from_date_and_time(2024, 2, 29, 12, 34, 56).unwrap();
    let options = SimpleFileOptions::default().last_modified_time(time).unix_permissions(0o751).large_file(large);
    let stored = options.compression_method(CompressionMethod::Stored);
    writer.set_comment("a comment").unwrap();
    writer.add_directory("p/", stored).unwrap();
    for (name, bytes, options) in [
        ("p/a.so", LIBRARY, options),
        ("p/b.so", STORED_LIBRARY, stored),
        ("p/c.txt", b"", options.unix_permissions(0o600)),
        ("p-1.dist-info/RECORD", RECORD.as_bytes(), options),
    ] {
        writer.start_file(name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap()
}

/// Returns wheels of every form: with 32-bit and 64-bit sizes, and with sizes after the data.
fn wheels() -> Vec<Vec<u8>> {
    let seekable = |large| fill(ZipWriter::new(Cursor::new(Vec::new())), large).into_inner();
    let stream = fill(ZipWriter::new_stream(Vec::new()), false).into_inner();
    vec![seekable(false), seekable(true), stream]
}

/// Properties of an entry that an edit keeps.
fn metadata(file: &::zip::read::ZipFile<'_, Cursor<&[u8]>>) -> String {
    let extra = file.extra_data();
    let time = file.last_modified();
    let mode = file.unix_mode();
    let method = file.compression();
    format!(
        "{:?} {time:?} {mode:?} {method:?} {:?} {}",
        file.name_raw(),
        file.comment(),
        extra.map_or(0, |it| it.len())
    )
}

/// Returns the metadata, the raw bytes and the contents of each entry.
fn entries(bytes: &[u8]) -> Vec<(String, Vec<u8>, Vec<u8>)> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).unwrap();
    (0..archive.len())
        .map(|index| {
            let mut raw = Vec::new();
            let mut content = Vec::new();
            archive.by_index_raw(index).unwrap().read_to_end(&mut raw).unwrap();
            let mut file = archive.by_index(index).unwrap();
            file.read_to_end(&mut content).unwrap();
            (metadata(&file), raw, content)
        })
        .collect()
}

fn rewrite(bytes: &[u8], changed: &[(usize, &[u8])]) -> Result<Vec<u8>> {
    rewrite_view(View::new(bytes), changed)
}

fn rewrite_view(view: View<'_>, changed: &[(usize, &[u8])]) -> Result<Vec<u8>> {
    let file = ZipFile::read(view, "p.zip")?;
    let mut packing = Packing::in_directory(std::env::temp_dir());
    for (index, new) in changed {
        file.pack(*index, Path::new("m"), &mut packing, |to| to.write_all(new))?;
    }
    Ok(file.with_members(&packing.finish(Path::new("zip"))?)?.to_vec(view))
}

#[test]
fn changed_members_get_their_bytes_and_all_others_stay() {
    let sizes = [0, 5, 16, 70_000];
    let contents = sizes.map(|size| b"new bytes, ".repeat(size)).to_vec();
    for (form, wheel) in wheels().iter().enumerate() {
        let before = entries(wheel);
        // Indexes of members, which skip the directory.
        for changed in [vec![0], vec![1], vec![2], vec![0, 1], vec![2, 1, 0]] {
            for new in &contents {
                let changes: Vec<(usize, &[u8])> = changed.iter().map(|&index| (index, &new[..])).collect();
                let after = entries(&rewrite(wheel, &changes).unwrap());
                assert_eq!(before.len(), after.len());
                for (index, (old, rewritten)) in before.iter().zip(&after).enumerate() {
                    assert_eq!(old.0, rewritten.0, "form {form}");
                    match index.checked_sub(1) {
                        Some(member) if changed.contains(&member) => assert_eq!(&rewritten.2, new),
                        // The record.
                        Some(3) => {}
                        _ => assert_eq!(old, rewritten),
                    }
                }
            }
        }
    }
}

#[test]
fn the_record_of_a_wheel_has_the_hashes_of_changed_members() {
    for wheel in wheels() {
        let rewritten = rewrite(&wheel, &[(0, b"abc"), (2, b"")]).unwrap();
        let record = String::from_utf8(entries(&rewritten).pop().unwrap().2).unwrap();
        // SHA-256 of "abc" (FIPS 180-2), in base64.
        let hash = "sha256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0";
        assert_eq!(record, RECORD.replace("sha256=old,42", &format!("{hash},3")));
    }
}

#[test]
fn the_same_bytes_of_a_stored_member_give_the_same_file() {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file("a", SimpleFileOptions::default().compression_method(CompressionMethod::Stored)).unwrap();
    writer.write_all(STORED_LIBRARY).unwrap();
    writer.start_file("b", SimpleFileOptions::default().compression_level(Some(9))).unwrap();
    writer.write_all(LIBRARY).unwrap();
    let zip = writer.finish().unwrap().into_inner();
    assert!(rewrite(&zip, &[]).unwrap() == zip);
    assert!(rewrite(&zip, &[(0, STORED_LIBRARY)]).unwrap() == zip);
    let grown = rewrite(&zip, &[(0, b"another size")]).unwrap();
    assert!(rewrite(&grown, &[(0, STORED_LIBRARY)]).unwrap() == zip);
}

#[test]
fn members_that_cannot_be_written_are_errors() {
    let wheel = |name: &str| {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in [("a.so", &b""[..]), ("p-1.dist-info/RECORD", b"a.so,,\n"), (name, b"")] {
            writer.start_file(name, SimpleFileOptions::default()).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    };
    assert!(rewrite(&wheel("b"), &[(0, b"x")]).is_ok());

    let zip = wheel("b");
    let with = |place: usize, value: u8| {
        let mut damaged = zip.clone();
        let at = zip.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap() + place;
        damaged[at] = value;
        // The local header, which has no version of its writer.
        damaged[place - 2] = value;
        rewrite(&damaged, &[(0, b"x")]).unwrap_err().to_string()
    };
    assert!(with(8, 1).contains("is encrypted"));
    assert!(with(10, 12).contains("unsupported compression method (12)"));
    assert!(rewrite(&zip, &[(9, b"x")]).unwrap_err().to_string().contains("no member 9"));
}

/// If there is another record at the end, the archive reader falls back on it. That record would keep the old offset of
/// the directory.
#[test]
fn files_with_several_ends_are_errors() {
    let zip = &wheels()[0];
    let end = zip.windows(4).rposition(|bytes| bytes == b"PK\x05\x06").unwrap();
    let error = |zip: &[u8]| rewrite(zip, &[(0, b"new")]).unwrap_err().to_string();
    let twice = [zip, &zip[end..]].concat();
    assert!(members(View::new(&twice)).unwrap().is_ok());
    let expected = format!("zip end of central directory at {end:#x}: the file has another one at {:#x}", zip.len());
    assert!(error(&twice).contains(&expected), "{}", error(&twice));
    for disks in [4, 6, 8] {
        let mut damaged = zip.clone();
        damaged[end + disks] += 1;
        assert!(error(&damaged).contains("is of a file in several parts"), "{}", error(&damaged));
    }
}

/// The extra field of a local header reaches into the next member.
#[test]
fn members_that_overlap_a_changed_one_are_errors() {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for name in ["a", "b"] {
        writer.start_file(name, SimpleFileOptions::default().compression_method(CompressionMethod::Stored)).unwrap();
        writer.write_all(STORED_LIBRARY).unwrap();
    }
    let mut zip = writer.finish().unwrap().into_inner();
    assert!(rewrite(&zip, &[(0, b"new")]).is_ok());
    for extra in [1, STORED_LIBRARY.len() as u8] {
        zip[28] = extra;
        let error = rewrite(&zip, &[(0, b"new")]).unwrap_err().to_string();
        assert!(error.contains("b overlaps the member before it"), "{error}");
    }
}

#[test]
fn every_member_of_the_archive_reader_can_be_changed_by_its_index() {
    let wheel = &wheels()[0];
    let count = members(View::new(wheel)).unwrap().unwrap().len();
    for index in 0..count - 1 {
        let new = format!("member {index}");
        let rewritten = rewrite(wheel, &[(index, new.as_bytes())]).unwrap();
        let read = members(View::new(&rewritten)).unwrap().unwrap().swap_remove(index);
        let mut bytes = Vec::new();
        match read.content {
            MemberContent::Here(view) => bytes = view.data().to_vec(),
            MemberContent::Packed(unpack) => unpack(&mut bytes).unwrap(),
            other => panic!("{other:?}"),
        }
        assert_eq!(bytes, new.as_bytes());
    }
}

#[test]
fn truncated_and_damaged_files_do_not_panic() {
    for wheel in wheels() {
        for at in 0..wheel.len() {
            let _ = rewrite(&wheel[..at], &[(0, b"new"), (1, b"new")]);
            for flip in [0xff, 0x01] {
                let mut damaged = wheel.clone();
                damaged[at] ^= flip;
                let _ = rewrite(&damaged, &[(0, b"new"), (1, b"new")]);
            }
        }
    }
}

#[test]
fn a_budget_that_refuses_an_entry_is_an_error() {
    let [bytes, ..] = &wheels()[..] else { panic!("no wheel") };
    let changed = [(0, &b"new bytes"[..]), (1, b"other new bytes")];
    let expected = rewrite(bytes, &changed).unwrap();
    let mut refused = 0;
    for work in 0.. {
        let budget = Budget::new(Limits::default(), 0);
        budget.charge(Resource::Work, budget.limit(Resource::Work) - work).unwrap();
        match rewrite_view(View::with_budget(bytes, &budget), &changed) {
            Ok(new) => {
                assert!(new == expected);
                break;
            }
            Err(error) => assert!(error.to_string().contains("exceeds the limit"), "{work} steps: {error}"),
        }
        refused += 1;
    }
    assert!(refused > 100, "{refused}");
}
