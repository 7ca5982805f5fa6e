//! A property of the search: an image of any kind is found with its exact extent between any other bytes.

use memchr::memmem::find_iter;

use super::tests::{bitcode, fixture, spirv};
use super::*;
use crate::format::{bitcode as stream, embed_record};

/// Trials of each kind.
const TRIALS: u64 = 1000;

/// A deterministic generator.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % end
    }

    fn bytes(&mut self, size: usize, mut byte: impl FnMut(&mut Random) -> u8) -> Vec<u8> {
        (0..size).map(|_| byte(self)).collect()
    }

    /// Returns bytes that may be around an image: random bytes, text, zeros, words that begin like blocks, other
    /// images, whole or cut. Text has no slash, because `//` begins a comment.
    fn surroundings(&mut self, others: &[Kind]) -> Vec<u8> {
        let size = self.below(200);
        match self.below(7) {
            0 => self.bytes(size, |random| random.below(256) as u8),
            1 => self.bytes(size, |random| b"abcdefghijklmnop {}();.\n\t"[random.below(25)]),
            2 => vec![0; size],
            3 => {
                let words = self.bytes(size, |random| random.below(256) as u8);
                let as_header = |(at, byte): (usize, u8)| if at % 4 == 0 { byte & !3 | 1 } else { byte };
                words.into_iter().enumerate().map(as_header).collect()
            }
            4 => {
                // Small words: sizes, counts and IDs.
                let words = self.bytes(size, |random| random.below(32) as u8);
                words.into_iter().enumerate().map(|(at, byte)| if at % 4 == 0 { byte } else { 0 }).collect()
            }
            5 => {
                let other = &others[self.below(others.len())];
                // The size that a longer part states may reach into the image.
                let end = self.below(other.image.len() / 2);
                [other.image[..end].to_vec(), vec![0]].concat()
            }
            _ => {
                let other = &others[self.below(others.len())];
                [&other.image[..], other.terminator].concat()
            }
        }
    }
}

/// A kind of image.
struct Kind {
    name: &'static str,
    image: Vec<u8>,
    /// Bytes after the image in an array.
    terminator: &'static [u8],
}

/// Returns a cubin of an older ABI, for sm_30.
fn old_cubin(abi: u8) -> Vec<u8> {
    let mut cubin = fixture("answer-sm_90.cubin");
    cubin[7..9].copy_from_slice(&[0x33, abi]);
    cubin[20..24].copy_from_slice(&1_u32.to_le_bytes());
    cubin[48..52].copy_from_slice(&0x1e_011e_u32.to_le_bytes());
    cubin
}

fn kinds() -> Vec<Kind> {
    let kind = |name, image| Kind { name, image, terminator: b"" };
    let device = bitcode("nvptx64-nvidia-cuda");
    let wrapper = [0, 20, device.len() as u32, 7].map(u32::to_le_bytes).concat();
    let module = fixture("answer-sm_80.ptx");
    let mut kinds = vec![
        kind("cubin", fixture("answer-sm_90.cubin")),
        kind("code object", fixture("answer-gfx90a.hsaco")),
        kind("zebin", fixture("answer-dg2.zebin")),
        kind("patch tokens", fixture("answer-gen9.gen")),
        kind("SPIR-V", spirv()),
        kind("bitcode", device.clone()),
        kind("bitcode in a wrapper", [&stream::WRAPPER_MAGIC[..], &wrapper, &device].concat()),
        Kind { terminator: b"\0", ..kind("PTX", module.clone()) },
        Kind {
            terminator: b"\0",
            ..kind("PTX without comments", module[find_iter(&module, ".version").next().unwrap()..].to_vec())
        },
    ];
    let old = [2, 3, 4, 5, 6, 7].map(|abi| kind("cubin of an older ABI", old_cubin(abi)));
    kinds.extend(old);
    kinds
}

/// Returns the images in the order of a search: hints inside of an image lead to nothing.
fn search(bytes: &[u8]) -> Vec<(usize, usize, Option<&str>)> {
    let region = Region { view: View::new(bytes), may_hold_text: true };
    let mut hints: Vec<(usize, Hint)> = Vec::new();
    for hint in HINTS {
        hints.extend(find_iter(bytes, hint.bytes).map(|at| (at, hint)));
    }
    hints.sort_by_key(|&(at, _)| at);
    let mut found = Vec::new();
    let mut next = 0;
    for (at, hint) in hints {
        // As the search does: bytes of the last image are not part of the region.
        let rest = Region { view: region.view.from(next as u64), ..region };
        if at >= next
            && let Ok(image) = (hint.find)(rest, (at - next) as u64)
        {
            let start = image.view.start() as usize;
            next = start + image.view.size() as usize;
            found.push((start, next, image.symbol));
        }
    }
    found
}

#[test]
fn an_image_of_every_kind_is_found_exactly_in_any_surroundings() {
    let kinds = kinds();
    for hint in HINTS {
        let is_tried = kinds.iter().any(|kind| find_iter(&kind.image, hint.bytes).next().is_some());
        assert!(is_tried || hint.bytes == embed_record::MAGIC, "{:?} has no kind", hint.bytes);
    }
    let mut random = Random(44);
    for kind in &kinds {
        let mut lost = 0;
        let mut other = 0;
        for _ in 0..TRIALS {
            let mut before = [random.surroundings(&kinds), random.surroundings(&kinds)].concat();
            // Spaces before a text are part of it.
            while !kind.terminator.is_empty() && before.last().is_some_and(u8::is_ascii_whitespace) {
                before.pop();
            }
            let behind = [random.surroundings(&kinds), random.surroundings(&kinds)].concat();
            let bytes = [&before[..], &kind.image, kind.terminator, &behind].concat();
            let start = before.len();
            let end = before.len() + kind.image.len();
            let found = search(&bytes);
            let exact = found.iter().any(|&(first, last, _)| (first, last) == (start, end));
            let overlaps = found.iter().find(|&&(first, last, _)| first < end && last > start);
            match (exact, overlaps) {
                (true, _) => {}
                (false, None) => lost += 1,
                (false, Some(_)) => other += 1,
            }
        }
        assert_eq!((lost, other), (0, 0), "lost and of another extent: {}", kind.name);
    }
}

#[test]
fn an_embedded_file_is_found_exactly_in_any_surroundings() {
    let kinds = kinds();
    let mut random = Random(45);
    for kind in &kinds {
        for _ in 0..TRIALS / 10 {
            let before = random.surroundings(&kinds);
            let behind = random.surroundings(&kinds);
            let record = embed_record::record("name", kind.image.len() as u64, 64);
            let bytes = [&before[..], &record, &kind.image, b"\0", &behind].concat();
            let start = before.len() + record.len();
            let expected = (start, start + kind.image.len(), Some("name"));
            assert!(search(&bytes).contains(&expected), "{}: {expected:?} {:?}", kind.name, search(&bytes));
        }
    }
}
