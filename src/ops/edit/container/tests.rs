//! Random containers, edited at random: kept images keep their bytes, dropped ones are gone, and nothing else changes.

use std::collections::BTreeMap;

use super::*;
use fatbin_core::base::codec::Compression;
use fatbin_core::format::bundle;
use fatbin_core::format::ccob::{self, Version as CcobVersion};
use fatbin_core::format::cuda_fatbin::{self, FatbinImage, FatbinMember, concatenate};
use fatbin_core::format::offload_binary::{self, OffloadBinaryImage, Version};
use fatbin_core::scan::inventory::File;
use fatbin_core::scan::{Options, Scan, scan};
use fatbin_core::target::nvptx::Suffix;

const ARCHS: [&str; 5] = ["gfx906", "gfx90a:xnack+", "gfx942", "gfx1100", "gfx1201"];

/// A generator of numbers, the same in each run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit
    }

    fn choose<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.next(values.len())]
    }

    /// Unique text that is no container.
    fn text(&mut self) -> Vec<u8> {
        let words = 1 + self.next(400);
        let mut text = format!("image {:x} ", self.0).into_bytes();
        for _ in 0..words {
            text.extend(self.choose(&[&b"load "[..], b"store ", b"add ", b"branch ", b"0x1f ", b"end\n"]));
        }
        text
    }

    fn ptx(&mut self) -> Vec<u8> {
        let target = self.choose(&["sm_70", "sm_90a", "sm_100f"]);
        let mut text = format!(".version 8.8\n.target {target}\n.address_size 64\n").into_bytes();
        text.extend(b"// ");
        text.extend(self.text());
        text
    }

    fn cubin(&mut self) -> Vec<u8> {
        let mut cubin =
            std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/answer-sm_90.cubin")).unwrap();
        // The text of the last symbol, so that no two are equal.
        let end = cubin.len();
        cubin[end - 1] = self.next(256) as u8;
        cubin
    }

    fn compression(&mut self, codecs: &[Codec]) -> Compression {
        Compression { codec: self.choose(codecs), level: self.choose(&[1, 3, 9]) }
    }

    /// A container with containers in its images down to a depth.
    pub fn container(&mut self, depth: usize) -> Vec<u8> {
        match self.next(4) {
            0 => self.fatbin(),
            1 => self.bundle(depth),
            2 => self.ccob(depth),
            _ => self.offload_binary(depth),
        }
    }

    /// Bytes of an image. They may be one or several containers.
    fn image(&mut self, depth: usize) -> Vec<u8> {
        if depth == 0 || self.next(3) > 0 {
            return self.text();
        }
        let mut image = self.container(depth - 1);
        for _ in 0..self.next(3) {
            image.resize(image.len().next_multiple_of(8), 0);
            image.extend(self.container(depth - 1));
        }
        image
    }

    pub fn fatbin(&mut self) -> Vec<u8> {
        let images: Vec<Vec<u8>> =
            (0..self.next(6)).map(|_| if self.next(2) == 0 { self.ptx() } else { self.cubin() }).collect();
        let mut members = Vec::new();
        for image in &images {
            // A cubin does not state its suffix, a text does.
            let suffix =
                if image.starts_with(b"\x7fELF") { self.choose(&[None, Some(Suffix::Specific)]) } else { None };
            let image = FatbinImage::new(View::new(image), suffix).unwrap();
            let image = image.with_identifier(self.choose(&[b"", b"a.cu"])).with_options(self.choose(&[b"", b"-O3"]));
            let compressed = self.compression(&[Codec::Lz4, Codec::Zstd]);
            let compression = self.choose(&[None, Some(compressed)]);
            members.push(FatbinMember::Image { image, compression });
        }
        if self.next(2) == 0 {
            let how = self.compression(&[Codec::Lz4, Codec::Zstd]);
            members = concatenate(members, how, 2);
        }
        cuda_fatbin::write_members(&members).unwrap().to_vec()
    }

    pub fn bundle(&mut self, depth: usize) -> Vec<u8> {
        let mut entries = vec![("host-x86_64-unknown-linux-gnu-".to_owned(), Vec::new())];
        for arch in ARCHS.iter().take(self.next(ARCHS.len() + 1)) {
            entries.push((format!("hipv4-amdgcn-amd-amdhsa--{arch}"), self.image(depth)));
        }
        if entries.len() > 1 && self.next(3) == 0 {
            entries.remove(0);
        }
        let entries: Vec<(&str, &[u8])> = entries.iter().map(|(id, image)| (id.as_str(), image.as_slice())).collect();
        bundle::write(&entries, self.choose(&[1, 8, 4096])).unwrap().to_vec()
    }

    pub fn ccob(&mut self, depth: usize) -> Vec<u8> {
        let plain = Content::from(self.bundle(depth));
        let version = self.choose(&[CcobVersion::One, CcobVersion::Two, CcobVersion::Three]);
        let how = self.compression(&[Codec::Zlib, Codec::Zstd]);
        let mut stream = Vec::new();
        let output = ccob::compress(&plain, how, version, &mut stream, &mut |_| {}).unwrap();
        [output.header, stream].concat()
    }

    fn offload_binary(&mut self, depth: usize) -> Vec<u8> {
        let version = self.choose(&Version::ALL);
        let count = if version == Version::One { 1 } else { 1 + self.next(4) };
        let images: Vec<Vec<u8>> = (0..count).map(|_| self.image(depth)).collect();
        let strings: Vec<_> =
            images.iter().map(|_| [("triple", "amdgcn-amd-amdhsa"), ("arch", self.choose(&ARCHS))]).collect();
        let members: Vec<_> = images
            .iter()
            .zip(&strings)
            .map(|(image, strings)| {
                // Metadata of one entry. No edit affects it.
                let is_metadata = version > Version::One && self.next(8) == 0;
                let (flags, image): (u32, &[u8]) = if is_metadata { (1, b"") } else { (0, image) };
                OffloadBinaryImage { image_kind: 1, offload_kind: 1, flags, strings, image }
            })
            .collect();
        let plain = offload_binary::write(version, &members).unwrap().content;
        if version < Version::Three || self.next(2) == 0 {
            return plain.to_vec();
        }
        let how = self.compression(&[Codec::Zlib, Codec::Zstd]);
        let mut stream = Vec::new();
        let (header, padding) = offload_binary::compress(&plain, how, &mut stream).unwrap();
        [header, stream, padding].concat()
    }
}

/// An edit by the indexes of images.
#[derive(Default)]
struct ByIndex {
    images: BTreeMap<usize, ImageEdit>,
    encoding: Encoding,
    /// Type that the encoding applies to.
    of: Option<ContainerType>,
}

impl Edit for ByIndex {
    fn image(&self, image: &EditedImage<'_>) -> Result<ImageEdit> {
        let Some(index) = image.index else { return Ok(ImageEdit::Drop) };
        assert!(!(image.bytes)()?.is_empty());
        Ok(self.images.get(&index).cloned().unwrap_or(ImageEdit::Keep))
    }

    fn encoding(&self, container: &Container) -> Encoding {
        if self.of == Some(container.container_type) { self.encoding } else { Encoding::Same }
    }
}

pub fn scanned(bytes: &[u8]) -> File {
    let file = scan(&View::new(bytes), Options::default()).unwrap();
    assert_eq!(file.errors, []);
    file
}

/// Returns target and bytes of each device image.
pub fn images(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let view = View::new(bytes);
    let scan = Scan::new(&view).unwrap();
    let listed = scan.images().map(|image| {
        let target = format!("{:?} {:?} {:?} {:?}", image.kind, image.triple, image.arch, image.id);
        (target, image.bytes().unwrap().to_vec())
    });
    listed.collect()
}

/// Rebuilds all containers of a file. The containers follow each other.
pub fn rebuilt(bytes: &[u8], edit: &dyn Edit) -> Option<Vec<u8>> {
    let file = scanned(bytes);
    let mut all = Vec::new();
    let mut index = 0;
    let mut is_changed = false;
    for container in &file.containers {
        let view = View::new(bytes).from(container.offset.unwrap());
        let new = rebuild(view, container, index, edit, 2).unwrap();
        is_changed |= new.is_some();
        let same = Content::from(&view.data()[..container.size as usize]);
        all.extend(new.unwrap_or(same).to_vec());
        index += container.images().filter(|image| image.is_device_image()).count();
    }
    is_changed.then_some(all)
}

#[test]
fn a_container_in_which_all_images_are_kept_does_not_change() {
    let mut random = Random(1);
    for _ in 0..300 {
        let bytes = random.container(2);
        assert_eq!(rebuilt(&bytes, &ByIndex::default()), None);
    }
}

#[test]
fn kept_images_keep_their_bytes_and_dropped_ones_are_gone() {
    let mut random = Random(2);
    let mut edited = 0;
    for round in 0..600 {
        let bytes = random.container(2);
        let before = images(&bytes);
        let mut edit = ByIndex::default();
        let mut expected = Vec::new();
        for (index, (target, image)) in before.iter().enumerate() {
            match random.next(3) {
                0 => drop(edit.images.insert(index, ImageEdit::Drop)),
                1 => {
                    // Another image for the same target; the bytes of a cubin end where its headers state.
                    let mut new =
                        [image.as_slice(), if image.starts_with(b"\x7fELF") { b"" } else { b" // new" }].concat();
                    *new.last_mut().unwrap() ^= 1;
                    edit.images.insert(index, ImageEdit::Replace(new.clone()));
                    expected.push((target.clone(), new));
                }
                _ => expected.push((target.clone(), image.clone())),
            }
        }
        let Some(new) = rebuilt(&bytes, &edit) else {
            assert!(edit.images.is_empty(), "round {round}");
            continue;
        };
        edited += 1;
        assert!(images(&new) == expected, "round {round}");
        // Once more nothing is left to do.
        assert_eq!(rebuilt(&new, &ByIndex::default()), None);
    }
    assert!(edited > 300, "{edited}");
}

/// Returns whether a part of the content is borrowed from these bytes.
fn borrows(content: &Content<'_>, bytes: &[u8]) -> bool {
    content
        .runs()
        .any(|run| run.as_ptr_range().start >= bytes.as_ptr() && bytes.as_ptr_range().end >= run.as_ptr_range().end)
}

fn drops(indexes: &[usize]) -> ByIndex {
    let images = indexes.iter().map(|&index| (index, ImageEdit::Drop)).collect();
    ByIndex { images, ..ByIndex::default() }
}

fn rebuilt_one<'a>(bytes: &'a [u8], edit: &dyn Edit) -> Content<'a> {
    let container = scanned(bytes).containers.remove(0);
    rebuild(View::new(bytes), &container, 0, edit, 1).unwrap().unwrap()
}

#[test]
fn entries_of_kept_images_are_borrowed_byte_for_byte() {
    let texts = ["sm_70", "sm_80", "sm_90"].map(|arch| format!(".version 8.8\n.target {arch}\n").into_bytes());
    let images = texts.each_ref().map(|text| FatbinImage::new(View::new(text), None).unwrap().with_identifier(b"a.cu"));
    let compressed = |image| FatbinMember::Image { image, compression: Some(Compression::new(Codec::Lz4)) };
    let members = [compressed(images[0]), images[1].into(), compressed(images[2])];
    let bytes = cuda_fatbin::write_members(&members).unwrap().to_vec();
    for dropped in 0..3 {
        let mut left = members.to_vec();
        left.remove(dropped);
        let content = rebuilt_one(&bytes, &drops(&[dropped]));
        assert_eq!(content.to_vec(), cuda_fatbin::write_members(&left).unwrap().to_vec());
        assert!(borrows(&content, &bytes));
    }
    let empty = rebuilt_one(&bytes, &drops(&[0, 1, 2])).to_vec();
    assert_eq!(empty, b"P\xed\x55\xba\x01\0\x10\0\0\0\0\0\0\0\0\0");
    assert_eq!(scanned(&empty).containers.len(), 1);
}

#[test]
fn bundles_keep_their_alignment_and_host_entry() {
    let host = ("host-x86_64-unknown-linux-gnu-", &b""[..]);
    let entries = [host, ("hip-amdgcn-amd-amdhsa--gfx906", b"one"), ("hip-amdgcn-amd-amdhsa--gfx90a", b"second")];
    for alignment in [1, 8, 4096] {
        let bytes = bundle::write(&entries, alignment).unwrap().to_vec();
        let content = rebuilt_one(&bytes, &drops(&[0]));
        assert_eq!(content.to_vec(), bundle::write(&[entries[0], entries[2]], alignment).unwrap().to_vec());
        assert!(borrows(&content, &bytes));
        assert_eq!(rebuilt_one(&bytes, &drops(&[0, 1])).to_vec(), bundle::write(&[host], 1).unwrap().to_vec());
        // Without a host entry, a new one replaces the images.
        let bytes = bundle::write(&entries[1..], alignment).unwrap().to_vec();
        assert_eq!(rebuilt_one(&bytes, &drops(&[0, 1])).to_vec(), bundle::write(&[host], 1).unwrap().to_vec());
    }
}

#[test]
fn an_image_without_a_container_is_dropped_to_nothing() {
    let bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/answer-gfx90a.hsaco")).unwrap();
    assert_eq!(rebuilt_one(&bytes, &drops(&[0])).size(), 0);
    let new = BTreeMap::from([(0, ImageEdit::Replace(b"new".to_vec()))]);
    assert_eq!(rebuilt_one(&bytes, &ByIndex { images: new, ..ByIndex::default() }).to_vec(), b"new");
    assert_eq!(rebuilt(&bytes, &ByIndex::default()), None);
}

#[test]
fn an_encoding_of_another_type_is_an_error() {
    let bytes = Random(4).offload_binary(0);
    let container = scanned(&bytes).containers.remove(0);
    let edit = ByIndex { encoding: Encoding::Bundle, of: Some(ContainerType::OffloadBinary), ..ByIndex::default() };
    let error = rebuild(View::new(&bytes), &container, 0, &edit, 1).unwrap_err().to_string();
    assert_eq!(error, "a container of type offload-binary has no such encoding");
}

#[test]
fn dropping_images_makes_no_container_larger() {
    let mut random = Random(3);
    for round in 0..200 {
        let bytes = random.container(1);
        let count = images(&bytes).len();
        let drops = (0..count).filter(|_| random.next(2) == 0).map(|index| (index, ImageEdit::Drop)).collect();
        let edit = ByIndex { images: drops, ..ByIndex::default() };
        let Some(new) = rebuilt(&bytes, &edit) else { continue };
        // An empty host entry replaces a last image of the same size or less.
        assert!(new.len() <= bytes.len() + 62, "round {round}: {} of {}", new.len(), bytes.len());
    }
}

/// Changes a few bytes, cuts bytes off, or repeats some.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..1 + random.next(4) {
        let at = random.next(bytes.len().min(400));
        match random.next(6) {
            0 => bytes.truncate(bytes.len() - at.min(bytes.len() - 1)),
            1 => bytes[at] = random.choose(&[0, 1, 8, 0x40, 0x7f, 0xff]),
            2 => bytes.extend_from_within(at..),
            _ => bytes[at] ^= 1 << random.next(8),
        }
    }
}

/// No panic, and a result that can be read has the kept images.
#[test]
fn damaged_containers_are_rebuilt_or_refused() {
    let mut random = Random(10);
    let mut rebuilt = 0;
    let mut refused = 0;
    for round in 0..3000 {
        let mut bytes = random.container(1);
        damage(&mut random, &mut bytes);
        let view = View::new(&bytes);
        let scan = Scan::new(&view).unwrap();
        let read = |image: fatbin_core::scan::ImageRef<'_>| image.bytes().map(|bytes| bytes.to_vec()).ok();
        let before: Vec<Option<Vec<u8>>> = scan.images().map(read).collect();
        let dropped: Vec<usize> = (0..before.len()).filter(|_| random.next(2) == 0).collect();
        let edit = Blind(drops(&dropped));
        let Ok(new) = patched(&bytes, scan.file(), &edit) else {
            refused += 1;
            continue;
        };
        let view = View::new(&new);
        let scan = Scan::new(&view).unwrap();
        // What was damaged may be lost with an image around it.
        if scan.file().errors.is_empty() {
            let kept = before.iter().enumerate().filter(|(index, _)| !dropped.contains(index));
            let after: Vec<_> = scan.images().map(read).collect();
            assert!(after.iter().eq(kept.map(|(_, bytes)| bytes)), "round {round}");
            rebuilt += 1;
        }
    }
    assert!(rebuilt > 400 && refused > 5, "{rebuilt} rebuilt, {refused} refused");
}

/// Returns a file with its containers rebuilt, and the bytes between them.
fn patched(bytes: &[u8], file: &File, edit: &dyn Edit) -> Result<Vec<u8>> {
    let mut new = Vec::new();
    let mut end = 0;
    let mut index = 0;
    for container in &file.containers {
        let start = container.offset.unwrap();
        new.extend(&bytes[end as usize..start as usize]);
        end = start + container.size;
        match rebuild(View::new(bytes).from(start), container, index, edit, 1)? {
            Some(content) => new.extend(content.to_vec()),
            None => new.extend(&bytes[start as usize..end as usize]),
        }
        index += container.images().filter(|image| image.is_device_image()).count();
    }
    new.extend(&bytes[end as usize..]);
    Ok(new)
}

/// An edit that does not read the images.
struct Blind(ByIndex);

impl Edit for Blind {
    fn image(&self, image: &EditedImage<'_>) -> Result<ImageEdit> {
        Ok(image.index.and_then(|index| self.0.images.get(&index).cloned()).unwrap_or(ImageEdit::Keep))
    }
}
