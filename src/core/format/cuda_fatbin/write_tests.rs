//! Containers with compressed entries, groups and strings: round trips, output of NVIDIA's own tool, and errors.

use super::raw::{EntryHeader, GroupTable, Header, flag};
use super::*;
use crate::base::codec::{Codec, Compression};
use crate::format::Fate;
use crate::target::nvptx::{Arch, Suffix};

const PTX: &[u8] = b".version 8.8\n.target sm_100f\n.address_size 64\n";

const ZSTD: Compression = Compression { codec: Codec::Zstd, level: level::ZSTD };
const ZSTD_SIZE: Compression = Compression { codec: Codec::Zstd, level: level::ZSTD_SIZE };
const LZ4: Compression = Compression { codec: Codec::Lz4, level: level::LZ4 };

/// A header of Tile IR, and arbitrary bytes.
const TILE_IR: &[u8] = b"\x7fTileIR\0\x0d\x01\x02\x03bytes";

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../../fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn member(image: FatbinImage<'_>, compression: Option<Compression>) -> FatbinMember<'_> {
    FatbinMember::Image { image, compression }
}

fn written(members: &[FatbinMember]) -> Vec<u8> {
    write_members(members).unwrap().to_vec()
}

/// Returns the decompressed images of a container.
fn images(bytes: &[u8]) -> Vec<Vec<u8>> {
    let container = container(View::new(bytes)).unwrap();
    container.images().iter().map(|image| image.bytes().unwrap().into_owned()).collect()
}

#[test]
fn compressed_entries_with_strings_round_trip() {
    let cubin = fixture("answer-sm_90.cubin");
    let lto_ir = fixture("answer-sm_90.ltoir");
    let arch = Arch { number: 100, suffix: Some(Suffix::Specific) };
    let inputs = [
        (FatbinImage::new(View::new(&cubin), None).unwrap(), &cubin[..]),
        (FatbinImage::new(View::new(PTX), None).unwrap(), PTX),
        (FatbinImage::of_tile_ir(View::new(TILE_IR), arch).unwrap(), TILE_IR),
        (FatbinImage::of_lto_ir(View::new(&lto_ir)).unwrap(), &lto_ir),
    ];
    let text = b"-v --warn";
    for (image, bytes) in inputs {
        for compression in [None, Some(ZSTD), Some(ZSTD_SIZE), Some(LZ4)] {
            if image.kind() == kind::NVVM && compression.is_some() {
                continue;
            }
            for size in 0..=text.len() {
                let image = image.with_identifier(&text[..size]).with_options(&text[size..]).with_debug(true);
                let written = written(&[member(image, compression), member(image, None)]);
                let fatbin = CudaFatbin::read(View::new(&written)).unwrap();
                assert_eq!((fatbin.entries.len(), fatbin.view.size()), (2, written.len() as u64));
                let entry = &fatbin.entries[0];
                assert_eq!(entry.codec, compression.map_or(Codec::None, |how| how.codec));
                assert_eq!(entry.identifier.map_or(&b""[..], |view| view.data()), &text[..size]);
                if entry.header.kind == kind::ELF {
                    assert_eq!(entry.options, None);
                } else {
                    assert_eq!(entry.options.unwrap().data(), &text[size..]);
                }
                assert!(entry.header.flags & flag::DEBUG != 0 && written.len().is_multiple_of(8));
                let read = &images(&written)[0];
                assert!(read.starts_with(bytes) && read[bytes.len()..].iter().all(|&byte| byte == 0));
            }
        }
    }
}

#[test]
fn output_equals_that_of_fatbinary_13_5() {
    // fatbinary --compress-mode=speed --compress-all -ident=a.cu --cmdline=-O3 --create=out --image3=kind=ptx,sm=100f,…
    let image = FatbinImage::new(View::new(PTX), None).unwrap().with_identifier(b"a.cu").with_options(b"-O3");
    assert_eq!(written(&[member(image, Some(LZ4))]), super::tests::SPEED);
    // fatbinary --compress-mode=none --create=out --image3=kind=tileir,sm=100,…
    let expected = b"P\xedU\xba\x01\0\x10\0\x68\0\0\0\0\0\0\0\x80\0\x01\x01P\0\0\0\x18\0\0\0\0\0\0\0\0\0\0\0@\0\0\0\x02\x03\
        \x01\x0dd\0\0\0\0\0\0\0\0\0\0\0\x11\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0H\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
        \x7fTileIR\0\x0d\x01\x02\x03bytes\0\0\0\0\0\0\0";
    let image = FatbinImage::of_tile_ir(View::new(TILE_IR), Arch { number: 100, suffix: None }).unwrap();
    assert_eq!(written(&[image.into()]), expected);
}

#[test]
fn concatenation_forms_groups_of_two_and_more_behind_other_entries() {
    let plain = fixture("answer-sm_90.cubin");
    let mut mercury = plain.clone();
    (mercury[7], mercury[8]) = (0x41, 8);
    mercury[48..52].copy_from_slice(&0x600_6402_u32.to_le_bytes());
    let image = |letter: char| {
        let bytes = match letter {
            'p' => PTX,
            'm' => &mercury,
            _ => &plain,
        };
        FatbinImage::new(View::new(bytes), None).unwrap()
    };
    // Letters are images in order: PTX, plain cubins, and cubins with Mercury code. Parentheses are groups.
    let cases = [
        ("", ""),
        ("p", "p"),
        ("epm", "epm"),
        ("ee", "(ee)"),
        ("epe", "p(ee)"),
        ("mem", "e(mm)"),
        ("mpepme", "(pp)(ee)(mm)"),
        ("pepm", "em(pp)"),
    ];
    for (letters, expected) in cases {
        let members = concatenate(letters.chars().map(|letter| image(letter).into()).collect(), LZ4, 2);
        let letter = |image: &FatbinImage| ['p', 'e', 'm'][image.group().unwrap()];
        let arranged: String = members
            .iter()
            .map(|member| match member {
                FatbinMember::Image { image, .. } => letter(image).to_string(),
                FatbinMember::Group { images, .. } => format!("({})", images.iter().map(letter).collect::<String>()),
                FatbinMember::Relocatable { .. } => "r".to_owned(),
            })
            .collect();
        assert_eq!(arranged, expected, "{letters}");
        let written = written(&members);
        let flat: Vec<char> = arranged.chars().filter(char::is_ascii_alphabetic).collect();
        assert_eq!(images(&written).len(), flat.len());
        for (read, letter) in images(&written).iter().zip(flat) {
            let bytes = [PTX, &mercury, &plain]["pme".find(letter).unwrap()];
            assert!(read.starts_with(bytes) && read.len() - bytes.len() < 8, "{letters}: {letter}");
        }
    }
}

#[test]
fn rejects_codecs_and_images_that_entries_cannot_have() {
    let lto_ir = fixture("answer-sm_90.ltoir");
    let image = FatbinImage::new(View::new(PTX), None).unwrap();
    let lto_ir = FatbinImage::of_lto_ir(View::new(&lto_ir)).unwrap();
    let cases = [
        (member(image, Some(Compression::new(Codec::Zlib))), "zlib is not a codec of CUDA fat binaries"),
        (member(lto_ir, Some(ZSTD)), "LTO-IR cannot be compressed"),
        (
            FatbinMember::Group { images: vec![image], compression: Compression { codec: Codec::None, level: 0 } },
            "none is not",
        ),
    ];
    for (member, message) in cases {
        let error = write_members(&[member]).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn rejects_files_that_are_not_tile_ir_or_lto_ir() {
    let arch = Arch { number: 100, suffix: None };
    let lto_ir = fixture("answer-sm_90.ltoir");
    for end in 0..14 {
        FatbinImage::of_tile_ir(View::new(&TILE_IR[..end]), arch).unwrap_err();
    }
    let message = FatbinImage::of_tile_ir(View::new(PTX), arch).unwrap_err().to_string();
    assert_eq!(message, "Tile IR magic at 0x0: invalid value 0x7265762e, expected 7F TileIR");
    for bytes in [&lto_ir[..20], PTX, b""] {
        FatbinImage::of_lto_ir(View::new(bytes)).unwrap_err();
    }
}

/// Containers of a group with an image twice: compressed, and uncompressed. No tool writes the uncompressed form.
fn groups(image: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let fatbin_image = FatbinImage::new(View::new(image), None).unwrap();
    let images = vec![fatbin_image, fatbin_image];
    let compressed = written(&[FatbinMember::Group { images, compression: LZ4 }]);
    let entry = View::new(&compressed).from(Header::SIZE);
    let old = EntryHeader::read(entry).unwrap();
    let payload = [image, &vec![0; image.len().next_multiple_of(8) - image.len()]].concat().repeat(2);
    let new = EntryHeader {
        stored_size: payload.len() as u64,
        compressed_size: 0,
        full_size: 0,
        flags: old.flags & !flag::LZ4,
        ..old
    };
    let mut plain = Vec::new();
    Header { version: 1, size: u64::from(new.header_size) + new.stored_size }.write(&mut plain);
    new.write(&mut plain);
    plain.extend(&entry.data()[EntryHeader::SIZE as usize..new.header_size as usize]);
    plain.extend(payload);
    (compressed, plain)
}

/// Found by the fuzz target `rebuild`.
#[test]
fn images_of_a_group_have_the_same_bytes_compressed_or_not() {
    let cubin = fixture("answer-sm_90.cubin");
    // Bytes after the end that the cubin's headers state.
    let (compressed, plain) = groups(&[&cubin[..], &[0; 40]].concat());
    assert_eq!(images(&compressed), [&cubin[..], &cubin[..]]);
    assert_eq!(images(&plain), images(&compressed));
}

/// Found by the fuzz target `rebuild`.
#[test]
fn padding_does_not_become_a_part_of_an_image_of_a_group() {
    let cubin = fixture("answer-sm_90.cubin");
    let (_, mut plain) = groups(&cubin);
    // The second image lacks the last three bytes, so that it does not state its end.
    let row = Header::SIZE + EntryHeader::SIZE + GroupTable::SIZE + EntryHeader::SIZE;
    let cut = cubin.len() - 3;
    plain[row as usize + 8..][..8].copy_from_slice(&(cut as u64).to_le_bytes());
    assert_eq!(images(&plain), [&cubin[..], &cubin[..cut]]);
    let entries = stored_entries(View::new(&plain)).unwrap();
    let group = entries[0].plain(&[Fate::Keep, Fate::Keep]).unwrap().unwrap();
    let again = write_entries(group.stored(Some(LZ4)).unwrap()).to_vec();
    assert_eq!(images(&again), images(&plain));
    let error = group.stored(None).unwrap_err().to_string();
    assert_eq!(error, "an image of 3309 bytes does not state its end, and cannot be stored without compression");
}
