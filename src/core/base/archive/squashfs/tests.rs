//! Files of a written file system, and damaged file systems.

use super::*;
use crate::base::bytes::{Budget, Limits};

const BLOCK: usize = 4096;

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A block of metadata, as it is.
fn metadata(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u16 | METADATA_STORED).to_le_bytes()[..], bytes].concat()
}

fn inode(kind: u16, numbers: &[u32]) -> Vec<u8> {
    let words: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    [&kind.to_le_bytes()[..], &[0; 14], &words].concat()
}

/// A file `a` of a block and a part of a fragment, and `d/b` in the rest of the fragment. `last` is the inode of `b`.
fn file_system(last: u16) -> Vec<u8> {
    let content = vec![7; BLOCK + 900];
    let block = zlib(&content[..BLOCK]);
    let fragment = zlib(&[&content[BLOCK..], b"more"].concat());
    let listing = |name: &str, at: u16| {
        let header = [0_u32, 0, 0].map(u32::to_le_bytes).concat();
        [&header[..], &at.to_le_bytes(), &[0; 4], &(name.len() as u16 - 1).to_le_bytes(), name.as_bytes()].concat()
    };
    let a = inode(2, &[96, 0, 0, content.len() as u32, block.len() as u32]);
    let b = inode(2, &[0, 0, 900, 4]);
    let places = [0, a.len(), a.len() + b.len(), a.len() + b.len() + 32].map(|place| place as u16);
    let inner = listing("b", if last == 0 { places[1] } else { places[3] });
    let outer = [listing("a", 0), listing("d", places[2])].concat();
    let size_at = |size: usize, at: usize| (size as u32 + 3) | (at as u32) << 16;
    let d = inode(1, &[0, 2, size_at(inner.len(), 0), 0]);
    let root = inode(1, &[0, 2, size_at(outer.len(), inner.len()), 0]);
    let inodes = metadata(&[a, b, d, root].concat());
    let directories = metadata(&[inner, outer].concat());
    let start = (96 + block.len()) as u64;
    let entry = [&start.to_le_bytes()[..], &(fragment.len() as u32).to_le_bytes(), &[0; 4]].concat();
    let inode_table = start + fragment.len() as u64;
    let directory_table = inode_table + inodes.len() as u64;
    let entries = directory_table + directories.len() as u64;
    let table = entries + 2 + 16;
    let mut bytes =
        [MAGIC, &[0; 8], &(BLOCK as u32).to_le_bytes(), &[0; 4], &[1, 0, 12, 0, 0, 0, 0, 0, 4, 0, 0, 0]].concat();
    bytes.extend(u64::from(places[3]).to_le_bytes());
    bytes.extend([0, 0, 0, inode_table, directory_table, table, 0].map(u64::to_le_bytes).concat());
    assert_eq!(bytes.len(), 96);
    [bytes, block, fragment, inodes, directories, metadata(&entry), entries.to_le_bytes().to_vec()].concat()
}

fn listed(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
    let budget = Budget::new(Limits::default(), bytes.len() as u64);
    let mut found = Vec::new();
    let mut failed = None;
    let read = members(View::with_budget(bytes, &budget), &mut |member| match member.content {
        MemberContent::Packed(unpack) => {
            let mut content = Vec::new();
            failed = unpack(&mut content).err().or(failed.take());
            found.push((member.name.unwrap(), content));
        }
        MemberContent::Unreadable(reason) => failed = Some(io::Error::other(reason)),
        other => panic!("{other:?}"),
    });
    read.map_err(|error| error.to_string())?;
    failed.map_or(Ok(found), |error| Err(error.to_string()))
}

#[test]
fn files_of_blocks_and_fragments_are_members_of_their_directories() {
    let bytes = file_system(0);
    let expected = [("a", vec![7; BLOCK + 900]), ("d/b", b"more".to_vec())];
    assert_eq!(listed(&bytes).unwrap(), expected.map(|(name, content)| (name.to_owned(), content)));
    for cut in 0..bytes.len() {
        listed(&bytes[..cut]).unwrap_err();
    }
    for at in 0..bytes.len() {
        for value in [0, 1, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] = value;
            let _ = listed(&damaged);
        }
    }
}

#[test]
fn damage_and_cycles_are_errors() {
    let cases: [(u64, &[u8], &str); 5] = [
        (BLOCK_SIZE, &[0; 4], "squashfs block size at 0xc: not a power of two up to 1 MiB"),
        (BLOCK_SIZE, &[0, 0, 0x20, 0], "squashfs block size at 0xc: not a power of two up to 1 MiB"),
        (VERSION, &[3], "squashfs version at 0x1c: not 4.0"),
        (COMPRESSOR, &[3], "not opened: squashfs file system compressed by LZO; unpack it with unsquashfs"),
        (INODES, &[0xff; 8], "squashfs metadata at "),
    ];
    for (at, bytes, expected) in cases {
        let mut damaged = file_system(0);
        damaged[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
        let error = listed(&damaged).unwrap_err();
        assert!(error.starts_with(expected), "{error}, expected {expected}");
    }
    assert!(listed(&file_system(1)).unwrap_err().ends_with("contains itself"));
}

/// A file system with one file, whose block is compressed by zstd or xz.
fn file_system_of(compressor: u16, block: &[u8], size: u32) -> Vec<u8> {
    let listing = [&[0; 12][..], &[0; 6], &0_u16.to_le_bytes(), b"a"].concat();
    let file = inode(2, &[96, NO_FRAGMENT, 0, size, block.len() as u32]);
    let place = file.len() as u64;
    let root = inode(1, &[0, 2, listing.len() as u32 + 3, 0]);
    let inodes = metadata(&[file, root].concat());
    let inode_table = 96 + block.len() as u64;
    let directory_table = inode_table + inodes.len() as u64;
    let numbers = [place, 0, 0, 0, inode_table, directory_table, 0, 0];
    let start = [MAGIC, &[0; 8], &(BLOCK as u32).to_le_bytes(), &[0; 4], &compressor.to_le_bytes()].concat();
    let header = [&start[..], &[12, 0, 0, 0, 0, 0, 4, 0, 0, 0], &numbers.map(u64::to_le_bytes).concat()].concat();
    assert_eq!(header.len(), 96);
    [header, block.to_vec(), inodes, metadata(&listing)].concat()
}

#[test]
fn a_block_gets_no_window_of_the_size_that_it_states() {
    // A zstd frame that states a window of 2 GiB, and no size (RFC 8878, 3.1.1.1.2).
    let frame = [&[0x28, 0xb5, 0x2f, 0xfd, 0, 21 << 3][..], &[4 << 3 | 1, 0, 0], b"text"].concat();
    let expected = [("a".to_owned(), b"text".to_vec())];
    assert_eq!(listed(&file_system_of(6, &frame, 4)).unwrap(), expected);
    let xz_of = |dictionary: u32| {
        let mut options = liblzma::stream::LzmaOptions::new_preset(1).unwrap();
        options.dict_size(dictionary);
        let mut filters = liblzma::stream::Filters::new();
        filters.lzma2(&options);
        let stream = liblzma::stream::Stream::new_stream_encoder(&filters, liblzma::stream::Check::Crc32).unwrap();
        let mut encoder = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
        encoder.write_all(b"text").unwrap();
        encoder.finish().unwrap()
    };
    assert_eq!(listed(&file_system_of(4, &xz_of(1 << 20), 4)).unwrap(), expected);
    assert!(listed(&file_system_of(4, &xz_of(64 << 20), 4)).unwrap_err().contains("memory limit reached"));
}
