//! Tables in made files of every format, byte order and form of pointers.
//!
//! A file has three images at `IMAGES`, their rows at `ROWS`, a descriptor after these, and what the loader needs to move
//! the pointers at `FIXUPS`. A byte has its offset plus `base` as its address.

use std::ops::Range;

use super::image_tables::{Fixed, without_containers};
use crate::edit::{ArchName, EditedFile, FileEdit, ImageFate, Prune, edit_file};
use crate::embed::OffloadBinaryBuilder;
use fatbin_core::base::bytes::View;
use fatbin_core::base::io::Input;
use fatbin_core::scan::{Options, Scan};
use fatbin_core::target::OffloadKind;

const IMAGES: usize = 0x1000;
const ROWS: usize = 0x6000;
const FIXUPS: usize = 0x7000;
const SIZE: usize = 0x8000;

/// Format of a file, and the form of its pointers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    ElfRela,
    ElfFixed,
    ElfRel,
    Pe,
    PeFixed,
    MachORebase,
    MachOFixed,
    MachOChained(u16),
}

use Kind::{ElfFixed, ElfRel, ElfRela, MachOChained, MachOFixed, MachORebase, Pe, PeFixed};

#[derive(Debug, Clone, Copy)]
struct Case {
    form: Kind,
    width: usize,
    is_big: bool,
}

const fn case(form: Kind, width: usize, is_big: bool) -> Case {
    Case { form, width, is_big }
}

const CASES: [Case; 16] = [
    case(ElfRela, 8, false),
    case(ElfRela, 8, true),
    case(ElfFixed, 8, false),
    case(ElfFixed, 8, true),
    case(ElfFixed, 4, false),
    case(ElfRel, 4, false),
    case(ElfRel, 4, true),
    case(Pe, 8, false),
    case(Pe, 4, false),
    case(PeFixed, 8, false),
    case(PeFixed, 4, false),
    case(MachORebase, 8, false),
    case(MachORebase, 4, true),
    case(MachOFixed, 8, false),
    // DYLD_CHAINED_PTR_64 and DYLD_CHAINED_PTR_64_OFFSET.
    case(MachOChained(2), 8, false),
    case(MachOChained(6), 8, false),
];

/// A file that is made.
struct Maker {
    case: Case,
    bytes: Vec<u8>,
    /// Starts and ends of the images.
    images: Vec<Range<usize>>,
}

impl Case {
    fn number(self, value: u64, size: usize) -> Vec<u8> {
        if self.is_big { value.to_be_bytes()[8 - size..].to_vec() } else { value.to_le_bytes()[..size].to_vec() }
    }

    fn base(self) -> u64 {
        match self.form {
            ElfRela | ElfRel | MachORebase | MachOChained(_) => 0,
            Pe | PeFixed => 0x40_0000,
            ElfFixed | MachOFixed => 0x1_0000,
        }
    }

    /// Offsets of the pointers of the rows and of the descriptor.
    fn places(self) -> Vec<usize> {
        let rows = (0..12).map(|index| ROWS + index * self.width);
        rows.chain((13..16).map(|index| ROWS + index * self.width)).collect()
    }

    fn made(self) -> Maker {
        let mut maker = Maker { case: self, bytes: vec![0; SIZE], images: Vec::new() };
        let mut at = IMAGES;
        for name in ["gfx90a.hsaco", "sm_90.cubin", "gfx90a-xnack+.hsaco"] {
            let image = std::fs::read(format!("{}/../../fixtures/answer-{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
            let mut builder = OffloadBinaryBuilder::new();
            builder.image(OffloadKind::OpenMp, Input::from_bytes("image", image.clone()));
            let container = builder.build().unwrap();
            let start = at + container.windows(image.len()).position(|bytes| bytes == image).unwrap();
            maker.bytes[at..at + container.len()].copy_from_slice(&container);
            maker.images.push(start..start + image.len());
            at += container.len().next_multiple_of(8);
        }
        assert!(at < ROWS);
        maker.write_tables();
        maker.write_headers();
        maker
    }
}

impl Maker {
    fn set(&mut self, at: usize, value: u64, size: usize) {
        let number = self.case.number(value, size);
        self.bytes[at..at + size].copy_from_slice(&number);
    }

    fn words(&mut self, at: usize, values: &[u32]) {
        for (index, value) in values.iter().enumerate() {
            self.set(at + 4 * index, (*value).into(), 4);
        }
    }

    /// Writes numbers with the size of a pointer.
    fn pointers(&mut self, at: usize, values: &[u64]) -> usize {
        for (index, value) in values.iter().enumerate() {
            self.set(at + self.case.width * index, *value, self.case.width);
        }
        at + self.case.width * values.len()
    }

    fn write_tables(&mut self) {
        let Case { width, .. } = self.case;
        let base = self.case.base();
        // The host's entries are none, and end where the first container begins.
        let entries = base + IMAGES as u64;
        let mut values = Vec::new();
        for image in self.images.clone() {
            values.extend([base + image.start as u64, base + image.end as u64, entries, entries]);
        }
        values.extend([base + ROWS as u64, entries, entries]);
        let places = self.case.places();
        self.set(ROWS + 12 * width, 3, 4);
        for (index, (&place, &value)) in places.iter().zip(&values).enumerate() {
            let next = places.get(index + 1).map_or(0, |next| (next - place) / 4) as u64;
            match self.case.form {
                ElfRela => {
                    let at = FIXUPS + index * 24;
                    self.set(at, place as u64, 8);
                    self.set(at + 8, 8, 8);
                    self.set(at + 16, value, 8);
                }
                MachOChained(_) => self.set(place, value | next << 51, 8),
                _ => self.set(place, value, width),
            }
        }
    }

    fn write_headers(&mut self) {
        match self.case.form {
            ElfRela | ElfFixed | ElfRel => self.write_elf(),
            Pe | PeFixed => self.write_pe(),
            MachORebase | MachOFixed | MachOChained(_) => self.write_macho(),
        }
    }

    fn write_elf(&mut self) {
        let Case { form, width, is_big } = self.case;
        let base = self.case.base();
        let is_wide = width == 8;
        self.bytes[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', width as u8 / 4, 1 + u8::from(is_big), 1]);
        let (machine, header, program) = if is_wide { (62, 64, 56) } else { (3, 52, 32) };
        for (at, value) in [(16, 3), (18, machine)] {
            self.set(at, value, 2);
        }
        self.set(20, 1, 4);
        self.pointers(24, &[base, header as u64, 0]);
        let sizes = 24 + 3 * width + 4;
        for (index, value) in [header as u64, program as u64, 2].into_iter().enumerate() {
            self.set(sizes + 2 * index, value, 2);
        }
        // A segment of the whole file, and the dynamic section at the end of the headers.
        for (number, (kind, offset, size)) in [(1, 0, SIZE), (2, 0x200, 4 * 2 * width)].into_iter().enumerate() {
            let at = header + number * program;
            self.set(at, kind, 4);
            let places = [offset as u64, base + offset as u64, 0, size as u64, size as u64];
            self.pointers(at + if is_wide { 8 } else { 4 }, &places);
            self.set(at + if is_wide { 4 } else { 24 }, 6, 4);
        }
        let fixups = base + FIXUPS as u64;
        match form {
            ElfRela => drop(self.pointers(0x200, &[7, fixups, 8, 15 * 24])),
            ElfRel => {
                self.pointers(0x200, &[17, fixups, 18, 15 * 8]);
                for (index, place) in self.case.places().into_iter().enumerate() {
                    self.words(FIXUPS + index * 8, &[place as u32, 8]);
                }
            }
            _ => {}
        }
    }

    fn write_pe(&mut self) {
        let is_wide = self.case.width == 8;
        self.bytes[..2].copy_from_slice(b"MZ");
        self.words(0x3c, &[0x80]);
        self.bytes[0x80..0x84].copy_from_slice(b"PE\0\0");
        let directories = 0x98 + if is_wide { 112 } else { 96 };
        let sections = directories + 16 * 8;
        let (machine, magic) = if is_wide { (0x8664, 0x20b) } else { (0x14c, 0x10b) };
        let optional = (sections - 0x98) as u32;
        self.words(0x84, &[machine | 2 << 16, 0, 0, 0, optional | 0x2022 << 16, magic]);
        let base = self.case.base();
        if is_wide {
            self.set(0x98 + 24, base, 8);
        } else {
            self.set(0x98 + 28, base, 4);
        }
        self.words(directories - 4, &[16]);
        let size = (FIXUPS - IMAGES) as u32;
        for (at, range, name) in [(0, IMAGES..FIXUPS, b".data\0\0\0"), (40, FIXUPS..SIZE, b".reloc\0\0")] {
            let (start, size) = (range.start as u32, range.len() as u32);
            self.bytes[sections + at..sections + at + 8].copy_from_slice(name);
            self.words(sections + at + 8, &[size, start, size, start, 0, 0, 0, 0x4000_0040]);
        }
        assert!(size > 0);
        if self.case.form == Pe {
            let places = self.case.places();
            let block = 8 + places.len().next_multiple_of(2) * 2;
            self.words(directories + 5 * 8, &[FIXUPS as u32, block as u32]);
            self.words(FIXUPS, &[ROWS as u32, block as u32]);
            let kind = if is_wide { 10 } else { 3 };
            for (index, place) in places.into_iter().enumerate() {
                self.set(FIXUPS + 8 + 2 * index, (kind << 12) | (place - ROWS) as u64, 2);
            }
        }
    }

    fn write_macho(&mut self) {
        let Case { form, width, .. } = self.case;
        let is_wide = width == 8;
        let base = self.case.base();
        let (magic, header, command) = if is_wide { (0xfeed_facf, 32, 0x19) } else { (0xfeed_face, 28, 1) };
        let segment = if is_wide { 152 } else { 124 };
        self.words(0, &[magic, 7, 3, 6, 2, segment + 48, 0]);
        self.words(header, &[command, segment]);
        self.bytes[header + 8..header + 14].copy_from_slice(b"__DATA");
        let flags = self.pointers(header + 24, &[base, SIZE as u64, 0, SIZE as u64]);
        self.words(flags, &[3, 3, 1, 0]);
        let section = flags + 16;
        self.bytes[section..section + 6].copy_from_slice(b"__data");
        self.bytes[section + 16..section + 22].copy_from_slice(b"__DATA");
        let size = (FIXUPS - IMAGES) as u64;
        let offset = self.pointers(section + 32, &[base + IMAGES as u64, size]);
        self.words(offset, &[IMAGES as u32]);
        let command = header + segment as usize;
        let fixups = FIXUPS as u32;
        match form {
            MachOChained(form) => {
                self.words(command, &[0x8000_0034, 48, fixups, 0x200]);
                // The header, the starts in the image and in its only segment: page 6 of 8 has a chain.
                self.words(FIXUPS, &[0, 28, 0x100, 0x100, 0, 1, 0, 1, 8]);
                self.words(FIXUPS + 36, &[22 + 16, 0x1000 | u32::from(form) << 16, 0, 0, 0]);
                self.set(FIXUPS + 56, 8, 2);
                for page in 0..8 {
                    self.set(FIXUPS + 58 + 2 * page, if page == ROWS / 0x1000 { 0 } else { 0xffff }, 2);
                }
            }
            _ => {
                self.words(command, &[0x8000_0022, 48, fixups, 0x200]);
                // Set the type, then for each run the segment, the offset, and the number of pointers.
                let descriptor = ROWS + 13 * width;
                let mut opcodes = vec![0x11];
                for (at, count) in [(ROWS, 12), (descriptor, 3)] {
                    let offset = [at as u8 | 0x80, (at >> 7) as u8 | 0x80, (at >> 14) as u8];
                    opcodes.extend([&[0x20], &offset[..], &[0x60, count]].concat());
                }
                if form == MachORebase {
                    self.bytes[FIXUPS..FIXUPS + opcodes.len()].copy_from_slice(&opcodes);
                }
            }
        }
    }

    /// Returns the bounds that the rows of the table have when the file is loaded, as offsets.
    fn loaded(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let Case { form, width, is_big } = self.case;
        let read = |at: usize, size: usize| {
            let digits = bytes[at..at + size].iter().map(|&byte| u64::from(byte));
            let append = |number: u64, byte: u64| number << 8 | byte;
            if is_big { digits.fold(0, append) } else { digits.rev().fold(0, append) }
        };
        let pointer = |index: usize| {
            let place = ROWS + index * width;
            let value = match form {
                ElfRela => read(FIXUPS + index * 24 + 16, 8),
                MachOChained(_) => read(place, 8) & ((1 << 36) - 1),
                _ => read(place, width),
            };
            (value - self.case.base()) as usize
        };
        let count = read(ROWS + 12 * width, 4) as usize;
        (0..count).map(|row| pointer(4 * row)..pointer(4 * row + 1)).collect()
    }

    /// Returns the distances between the pointers of the chain.
    fn chain(&self, bytes: &[u8]) -> Vec<u64> {
        let words = self.case.places().into_iter().map(|at| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()));
        words.map(|word| word >> 51).collect()
    }

    fn pruned(&self, drop: &[&str]) -> (Vec<u8>, EditedFile) {
        let view = View::new(&self.bytes);
        let scan = Scan::with_options(view, Options::default(), None).unwrap();
        assert_eq!(scan.file().device_images().count(), 3, "{:?}", scan.file());
        let prune = Prune::Drop(drop.iter().map(|name| ArchName::new(name)).collect());
        let edit = prune.edit(scan.file()).unwrap();
        let (patches, edited) = edit_file(view, scan.file(), &*edit, false, &|| ()).unwrap();
        (patches.to_vec(view), edited)
    }
}

#[test]
fn removed_images_leave_the_table_in_every_format() {
    for case in CASES {
        let maker = case.made();
        assert_eq!(maker.loaded(&maker.bytes), maker.images, "{case:?}");
        for (drop, kept) in [
            (&["gfx90a"][..], &[1, 2][..]),
            (&["sm_90"], &[0, 2]),
            (&["gfx90a:xnack+"], &[0, 1]),
            (&["gfx90a", "sm_90"], &[2]),
        ] {
            let (bytes, edited) = maker.pruned(drop);
            assert_eq!(edited.fixed, [], "{case:?}");
            let expected: Vec<_> = kept.iter().map(|&index| maker.images[index].clone()).collect();
            assert_eq!(maker.loaded(&bytes), expected, "{case:?} {drop:?}");
            for image in expected {
                assert!(bytes[image.clone()] == maker.bytes[image], "{case:?} {drop:?}");
            }
            if let MachOChained(_) = case.form {
                assert_eq!(maker.chain(&bytes), maker.chain(&maker.bytes));
            }
        }
    }
}

#[test]
fn slices_of_universal_files_have_their_own_tables() {
    let first = case(MachORebase, 8, false).made();
    let second = case(MachOChained(6), 8, false).made();
    let mut bytes =
        [0xcafe_babe_u32, 2, 7, 3, 0x8000, 0x8000, 14, 12, 0, 0x10000, 0x8000, 14].map(u32::to_be_bytes).concat();
    bytes.resize(0x8000, 0);
    bytes.extend([&first.bytes[..], &second.bytes].concat());
    let view = View::new(&bytes);
    let scan = Scan::with_options(view, Options::default(), None).unwrap();
    let prune = Prune::Drop(vec![ArchName::new("gfx90a")]);
    let edit = prune.edit(scan.file()).unwrap();
    let (patches, edited) = edit_file(view, scan.file(), &*edit, false, &|| ()).unwrap();
    let bytes = patches.to_vec(view);
    assert_eq!(edited.fixed, []);
    for (maker, at) in [(first, 0x8000), (second, 0x10000)] {
        assert_eq!(maker.loaded(&bytes[at..at + SIZE]), maker.images[1..]);
    }
}

#[test]
fn an_image_without_a_known_table_stays() {
    for case in CASES {
        let width = case.width;
        let rows = ROWS as u64;
        let count = ROWS + 12 * width;
        let stays = |maker: &Maker, why: Fixed| {
            let (bytes, edited) = maker.pruned(&["gfx90a"]);
            assert_eq!((&edited.fixed[..], edited.fates[0]), (&[(0, why)][..], ImageFate::Kept), "{case:?}");
            assert!(bytes == maker.bytes, "{case:?}");
        };
        let mut wrong_length = case.made();
        wrong_length.set(count, 4, 4);
        stays(&wrong_length, Fixed::UnknownPointer(rows));
        // A number that may be a length, in front of a pointer to the table.
        let mut ambiguous = case.made();
        let entries = ROWS + 15 * width;
        let is_stored = !matches!(case.form, ElfRela | MachOChained(_));
        if is_stored {
            ambiguous.set(entries - width, 2, 4);
            ambiguous.set(entries, case.base() + rows, width);
            stays(&ambiguous, Fixed::UnknownLength(rows));
        }
        let mut unregistered = case.made();
        for image in 0..12 {
            match case.form {
                ElfRela => unregistered.set(FIXUPS + image * 24 + 16, 0, 8),
                MachOChained(_) => unregistered.set(ROWS + image * 8, 2 << 51, 8),
                _ => unregistered.set(ROWS + image * width, 0, width),
            }
        }
        for place in [14, 15] {
            match case.form {
                ElfRela => unregistered.set(FIXUPS + (place - 1) * 24 + 16, 0, 8),
                MachOChained(_) => unregistered.set(ROWS + place * 8, if place == 14 { 2 << 51 } else { 0 }, 8),
                _ => unregistered.set(ROWS + place * width, 0, width),
            }
        }
        stays(&unregistered, Fixed::NoTable);
    }
}

#[test]
fn pointers_that_the_loader_treats_differently_are_not_copied() {
    let mut maker = case(ElfRela, 8, false).made();
    // Another type of relocation for the start of the last row.
    maker.set(FIXUPS + 8 * 24 + 8, 1, 8);
    let (bytes, edited) = maker.pruned(&["sm_90"]);
    assert_eq!(edited.fixed, [(1, Fixed::MixedPointers(ROWS as u64))]);
    assert!(bytes == maker.bytes);
    let mut maker = case(Pe, 8, false).made();
    maker.set(FIXUPS + 8 + 2 * 11, 0, 2);
    assert_eq!(maker.pruned(&["sm_90"]).1.fixed, [(1, Fixed::MixedPointers(ROWS as u64))]);
    // Signed pointers of arm64e.
    let maker = case(MachOChained(1), 8, false).made();
    assert_eq!(maker.pruned(&["sm_90"]).1.fixed, [(1, Fixed::UnknownPointers)]);
}

#[test]
fn damaged_files_do_not_panic() {
    for case in CASES {
        let mut maker = case.made();
        let whole = maker.bytes.clone();
        let scan = Scan::with_options(View::new(&whole), Options::default(), None).unwrap();
        let removed: Vec<u64> = scan.file().containers.iter().filter_map(|container| container.offset).collect();
        let fields =
            (0..0x200).step_by(5).chain((ROWS..ROWS + 0x80).step_by(9)).chain((FIXUPS..FIXUPS + 0x60).step_by(5));
        for at in fields {
            maker.bytes[at] = 0xff;
            let _ = without_containers(View::new(&maker.bytes), scan.file(), &removed);
            let _ = without_containers(View::new(&maker.bytes[..at]), scan.file(), &removed);
            maker.bytes[at] = whole[at];
        }
    }
}
