//! Members of every kind of archive, and truncated archives.

use super::*;
use crate::base::bytes::{Budget, Limits};

fn ar_header(name: &str, size: usize) -> String {
    format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644)
}

/// Lists names and contents; the content of a member in another file is its path.
fn listed(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let members = members(View::new(bytes)).expect("an archive").unwrap();
    let listed = members.into_iter().map(|member| {
        let content = match member.content {
            MemberContent::Here(view) => view.data().to_vec(),
            MemberContent::Elsewhere(path) => path.to_str().unwrap().as_bytes().to_vec(),
            MemberContent::Packed(unpack) => {
                let mut unpacked = Vec::new();
                unpack(&mut unpacked).unwrap();
                unpacked
            }
            MemberContent::Unreadable(why) => panic!("{why}"),
        };
        (member.name.unwrap_or_default(), content)
    });
    listed.collect()
}

fn zip_of(files: &[(&str, &[u8], ::zip::CompressionMethod)]) -> Vec<u8> {
    let mut writer = ::zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    for (name, content, method) in files {
        let options = ::zip::write::SimpleFileOptions::default().compression_method(*method);
        writer.start_file(*name, options).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn tar_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = ::tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = ::tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_cksum();
        builder.append_data(&mut header, name, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

fn gzip_of(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn expected(files: &[(&str, &[u8])]) -> Vec<(String, Vec<u8>)> {
    files.iter().map(|(name, content)| ((*name).to_owned(), content.to_vec())).collect()
}

#[test]
fn reads_every_dialect_of_ar() {
    let long = ["!<arch>\n", &ar_header("//", 20), "a-very-long-name.o/\n", &ar_header("/0", 3), "one\n"].concat();
    let gnu = [long.as_bytes(), ar_header("b.o/", 2).as_bytes(), b"\x00\x01"].concat();
    assert_eq!(listed(&gnu), expected(&[("a-very-long-name.o", b"one"), ("b.o", b"\x00\x01")]));
    let bsd = ["!<arch>\n", &ar_header("#1/8", 11), "c.o\0\0\0\0\0two"].concat();
    assert_eq!(listed(bsd.as_bytes()), expected(&[("c.o", b"two")]));
    let thin = ["!<thin>\n", &ar_header("//", 10), "sub/d.o/\n\n", &ar_header("/0", 999)].concat();
    assert_eq!(listed(thin.as_bytes()), expected(&[("sub/d.o", b"sub/d.o")]));
    assert_eq!(listed(b"!<arch>\n"), []);
}

#[test]
fn rejects_a_thin_archive_truncated_within_its_tables() {
    let long_names = ["!<thin>\n", &ar_header("/", 4), "\0\0\0\0", &ar_header("//", 6), "a.o/\n\n"];
    let whole = long_names.concat() + &ar_header("/0", 9);
    assert_eq!(listed(whole.as_bytes()), expected(&[("a.o", b"a.o")]));
    for end in 68..whole.len() {
        let read = members(View::new(&whole.as_bytes()[..end])).unwrap();
        // Nothing refers to the second table.
        assert_eq!(read.is_ok(), end == 72, "{end}");
    }
}

#[test]
fn members_before_a_cut_are_read_and_every_cut_is_a_defect() {
    // A symbol table of GNU: the number of symbols, the offsets of their members, and names.
    let table = [&[2_u32, 88, 152].map(u32::to_be_bytes).concat()[..], b"one\0two\0"].concat();
    let [symbols, one, two] =
        [("/", 20), ("a.o/", 4), ("b.o/", 4)].map(|(name, size)| ar_header(name, size).into_bytes());
    let ar = [b"!<arch>\n", &symbols[..], &table, &one, b"four", &two, b"five"].concat();
    let tar = tar_of(&[("a", b"content"), ("b", b"more")]);
    let read = |bytes: &[u8]| {
        let format = ArchiveFormat::of(View::new(bytes)).expect("an archive");
        let Members { members, defect } = format.members(View::new(bytes));
        (members.len(), defect.or(format.check_whole(View::new(bytes)).err()))
    };
    // The magic alone is an archive without members. Nothing refers to the second block of zeros at the end of a tar
    // file.
    for (archive, magic, second, end) in [(&ar, 9, 88 + 64, ar.len()), (&tar, 512, 519, tar.len() - 512)] {
        assert_eq!(read(archive), (2, None));
        for cut in magic..end {
            let (members, defect) = read(&archive[..cut]);
            assert!(defect.is_some(), "{cut}");
            assert_eq!(members > 0, cut >= second, "{cut}");
        }
    }
}

#[test]
fn a_long_name_without_member_is_a_defect_of_the_end() {
    // The last name ends with a slash and a line break, as GNU writes it, or with NUL, as in archives of COFF objects.
    for names in ["first_long_name.o/\nsecond_long_name.o/\n\n", "first_long_name.o\0second_long_name.o\0\0"] {
        let second = names.find("second").unwrap();
        let headers = [("//".to_owned(), names.len()), ("/0".to_owned(), 4), (format!("/{second}"), 4)];
        let [table, one, two] = headers.map(|(name, size)| ar_header(&name, size).into_bytes());
        let ar = [b"!<arch>\n", &table[..], names.as_bytes(), &one, b"four", &two, b"five"].concat();
        let check_whole =
            |bytes: &[u8]| ArchiveFormat::of(View::new(bytes)).expect("an archive").check_whole(View::new(bytes));
        assert_eq!(check_whole(&ar), Ok(()));
        let at = 68 + second;
        let size = ar.len() - 64;
        let error = check_whole(&ar[..size]).unwrap_err().to_string();
        let cause = format!("offset {size} with size 60 is out of bounds ({size} bytes available)");
        assert_eq!(error, format!("archive long name at {at:#x}: {cause}"));
    }
    // An empty table, and a member with a short name after the last long one.
    for members in [vec![("//", 0)], vec![("//", 4), ("/0", 0), ("short/", 0)]] {
        let mut ar = b"!<arch>\n".to_vec();
        for (name, size) in members {
            ar.extend(ar_header(name, size).bytes());
            ar.extend(&b"ab/\n"[..size]);
        }
        ArchiveFormat::of(View::new(&ar)).expect("an archive").check_whole(View::new(&ar)).unwrap();
    }
}

/// Builds a sparse file of GNU tar: 512 zeros, `data`, and zeros up to 4096 bytes.
fn sparse_of(data: &[u8]) -> Vec<u8> {
    let mut header = ::tar::Header::new_gnu();
    header.set_path("sparse.so").unwrap();
    header.set_entry_type(::tar::EntryType::GNUSparse);
    header.set_size(data.len() as u64);
    let gnu = header.as_gnu_mut().unwrap();
    let octal = |field: &mut [u8; 12], value: usize| field[..11].copy_from_slice(format!("{value:011o}").as_bytes());
    octal(&mut gnu.sparse[0].offset, 512);
    octal(&mut gnu.sparse[0].numbytes, data.len());
    octal(&mut gnu.sparse[1].offset, 4096);
    octal(&mut gnu.sparse[1].numbytes, 0);
    octal(&mut gnu.realsize, 4096);
    header.set_cksum();
    let mut bytes = [header.as_bytes(), data].concat();
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

#[test]
fn lzma_in_zip_files_is_read_and_damage_is_an_error() {
    // Output of Python's zipfile for a member `a`, with an end marker.
    let zip = |method: u8, data: &[u8], size: u8| {
        let mut bytes = zip_of(&[("a", data, ::zip::CompressionMethod::Stored)]);
        let directory = bytes.windows(4).position(|word| word == b"PK\x01\x02").unwrap();
        // The directory entry has a version before the fields of the local header.
        for header in [0, directory + 2] {
            bytes[header + 8] = method;
            bytes[header + 14..header + 18].copy_from_slice(&0x48b1fc81_u32.to_le_bytes());
            bytes[header + 22] = size;
        }
        bytes
    };
    let unpack = |bytes: &[u8]| {
        let member = members(View::new(bytes)).unwrap().unwrap().remove(0);
        let mut unpacked = Vec::new();
        match member.content {
            MemberContent::Packed(unpack) => {
                unpack(&mut unpacked).map(|()| unpacked).map_err(|error| error.to_string())
            }
            MemberContent::Unreadable(why) => Err(why),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(unpack(&zip(14, LZMA_MEMBER, 30)).unwrap(), b"abcabcabcabcabcabcabcabcabcabc");
    for end in 0..LZMA_MEMBER.len() {
        assert!(unpack(&zip(14, &LZMA_MEMBER[..end], 30)).is_err(), "{end}");
    }
    for at in [2, 3, 4, 9, 12] {
        let mut damaged = LZMA_MEMBER.to_vec();
        damaged[at] ^= 0x55;
        assert!(unpack(&zip(14, &damaged, 30)).is_err(), "{at}");
    }
    let deflated_64 = unpack(&zip(9, LZMA_MEMBER, 30)).unwrap_err();
    assert_eq!(deflated_64, "not opened: unsupported compression method (Deflate64); unpack it with 7z");
}

const LZMA_MEMBER: &[u8] =
    b"\x09\x04\x05\x00\x5d\x00\x00\x80\x00\x00\x30\x98\x88\xaa\xfc\x0b\x7d\x1e\xff\xff\xfd\xac\x10\x00";

#[test]
fn sparse_and_contiguous_members_of_tar_files_are_read() {
    let mut builder = ::tar::Builder::new(Vec::new());
    let mut header = ::tar::Header::new_gnu();
    header.set_entry_type(::tar::EntryType::Continuous);
    header.set_size(3);
    header.set_cksum();
    builder.append_data(&mut header, "contiguous.so", &b"abc"[..]).unwrap();
    let tar = builder.into_inner().unwrap();
    let archive = [&sparse_of(b"data")[..], &tar].concat();
    let whole = [&[0; 512][..], b"data", &[0; 4096 - 516]].concat();
    assert_eq!(listed(&archive), expected(&[("sparse.so", &whole), ("contiguous.so", b"abc")]));
    let cut = members(View::new(&archive[..515])).unwrap().err().unwrap().to_string();
    assert_eq!(cut, "tar member size at 0x200: offset 512 with size 4 is out of bounds (515 bytes available)");
}

#[test]
fn a_sparse_member_in_pax_format_is_unreadable() {
    let mut builder = ::tar::Builder::new(Vec::new());
    builder.append_pax_extensions([("GNU.sparse.major", &b"1"[..]), ("GNU.sparse.minor", b"0")]).unwrap();
    let mut header = ::tar::Header::new_ustar();
    header.set_size(4);
    header.set_cksum();
    builder.append_data(&mut header, "GNUSparseFile.0/a.so", &b"data"[..]).unwrap();
    let bytes = builder.into_inner().unwrap();
    let members = members(View::new(&bytes)).unwrap().unwrap();
    assert!(matches!(&members[0].content, MemberContent::Unreadable(why) if why.starts_with("not opened: ")));
}

#[test]
fn reads_stored_and_compressed_members_of_zip_and_tar_files() {
    let one = b"content".repeat(100);
    let two = b"stored".as_slice();
    let files = [("lib/a.so", &one[..]), ("b.txt", two)];
    let methods = [::zip::CompressionMethod::Deflated, ::zip::CompressionMethod::Stored];
    let zip = zip_of(&[0, 1].map(|index| (files[index].0, files[index].1, methods[index])));
    assert_eq!(listed(&zip), expected(&files));
    assert_eq!(listed(&zip_of(&[])), []);

    let long = "nested/".repeat(40) + "c.so";
    let files = [("lib/a.so", &one[..]), (long.as_str(), two)];
    let tar = tar_of(&files);
    assert_eq!(listed(&tar), expected(&files));
    let compressed = [gzip_of(&tar), zstd::encode_all(&tar[..], 1).unwrap()];
    for bytes in compressed {
        assert_eq!(listed(&bytes), [(String::new(), tar.clone())]);
    }
}

#[test]
fn a_small_compressed_file_does_not_allocate_a_large_window() {
    // A frame without content size: its window of 1 << 28 bytes, and the last block, of 7 bytes as they are (RFC 8878).
    let frame = [b"\x28\xb5\x2f\xfd\x00\x90\x39\x00\x00".as_slice(), b"content"].concat();
    let unpacked = |limits| {
        let budget = Budget::new(limits, frame.len() as u64);
        let mut members = members(View::with_budget(&frame, &budget)).unwrap().unwrap();
        let MemberContent::Packed(unpack) = members.remove(0).content else { panic!("a compressed file") };
        let mut bytes = Vec::new();
        unpack(&mut bytes).map(|()| bytes).map_err(|error| error.to_string())
    };
    assert_eq!(unpacked(Limits::default()).unwrap_err(), "Frame requires too much memory for decoding");
    let limits = Limits { decompressed: Some(1 << 28), ..Limits::default() };
    assert_eq!(unpacked(limits).unwrap(), b"content");
}

/// Builds a universal file for x86_64, arm64 and a machine without a name (mach-o/fat.h: numbers are big-endian).
fn universal_of(slices: [&[u8]; 3]) -> Vec<u8> {
    let mut bytes = [0xcafe_babe_u32, 3].map(u32::to_be_bytes).concat();
    let mut offset = 128;
    for (machine, slice) in [0x0100_0007, 0x0100_000c, 77].into_iter().zip(slices) {
        bytes.extend([machine, 0, offset, slice.len() as u32, 3].map(u32::to_be_bytes).concat());
        offset += slice.len() as u32;
    }
    bytes.resize(128, 0);
    bytes.extend(slices.concat());
    bytes
}

#[test]
fn slices_of_a_universal_static_library_are_its_members() {
    let library = ["!<arch>\n", &ar_header("b.o/", 2), "ab"].concat();
    let slices = [library.as_bytes(), b"!<arch>\n", b"no archive"];
    let bytes = universal_of(slices);
    let [one, two, three] = slices;
    assert_eq!(listed(&bytes), expected(&[("x86_64", one), ("arm64", two), ("machine 77", three)]));
    let cut = members(View::new(&bytes[..bytes.len() - 1])).unwrap().err().unwrap().to_string();
    assert_eq!(cut, "universal file offset at 0x38: offset 206 with size 10 is out of bounds (215 bytes available)");
    let mut twice = bytes.clone();
    twice[36..40].copy_from_slice(&128_u32.to_be_bytes());
    assert!(members(View::new(&twice)).unwrap().is_err(), "the same bytes twice");
    assert!(members(View::new(&universal_of([b"\xcf\xfa\xed\xfe", b"a", b"b"]))).is_none(), "a universal program");
}

#[test]
fn other_files_are_not_archives() {
    for bytes in [&b""[..], b"!<arch", b"PK", b"\x7fELF", &[0; 600]] {
        assert!(members(View::new(bytes)).is_none());
    }
}

#[test]
fn truncated_and_damaged_archives_do_not_panic() {
    let ar = ["!<arch>\n", &ar_header("a.o/", 4), "four", &ar_header("b.o/", 4), "five"].concat().into_bytes();
    let zip = zip_of(&[("a", b"content content content", ::zip::CompressionMethod::Deflated)]);
    let tar = tar_of(&[("a", b"content")]);
    for archive in [ar, zip, tar[..1536].to_vec(), gzip_of(b"content"), zstd::encode_all(&b"content"[..], 1).unwrap()] {
        for at in 0..archive.len() {
            let mut flipped = archive.clone();
            flipped[at] ^= 0xff;
            for bytes in [&archive[..at], &flipped] {
                let Some(Ok(members)) = members(View::new(bytes)) else { continue };
                for member in members {
                    if let MemberContent::Packed(unpack) = member.content {
                        let _ = unpack(&mut io::sink());
                    }
                }
            }
        }
    }
}
