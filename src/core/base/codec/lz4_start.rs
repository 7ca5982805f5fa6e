//! The first bytes of an LZ4 block. liblz4's function for this is not part of the bindings, and decompressing a whole
//! block for the 64 bytes of an ELF header takes 100 times as long.
//!
//! Source: LZ4 Block Format Description (lz4 1.10, doc/lz4_Block_format.md): a sequence is a token, further bytes of
//! the number of literals, the literals, the offset of a match in two bytes, and further bytes of the length of the
//! match.

/// Smallest length of a match; a token states the rest.
const SHORTEST_MATCH: usize = 4;

/// Largest length in half of a token: more bytes of the length follow.
const LONG: usize = 15;

/// Returns the first `size` bytes of a block, or fewer if the block ends earlier; `None` if it is malformed before
/// that.
pub fn start(stored: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut start = Vec::new();
    let mut stored = stored.iter();
    while start.len() < size
        && let Some(&token) = stored.next()
    {
        let literals = length(&mut stored, usize::from(token >> 4))?;
        let (taken, rest) = stored.as_slice().split_at_checked(literals)?;
        stored = rest.iter();
        start.extend(taken.iter().take(size.abs_diff(start.len())));
        // The last sequence has no match.
        if start.len() == size || rest.is_empty() {
            break;
        }
        let offset = usize::from(u16::from_le_bytes([*stored.next()?, *stored.next()?]));
        let matched = length(&mut stored, usize::from(token) & LONG)?.checked_add(SHORTEST_MATCH)?;
        let from = if offset == 0 { None } else { start.len().checked_sub(offset) }?;
        // A match may overlap the bytes that it makes.
        for at in (from..).take(matched.min(size.abs_diff(start.len()))) {
            start.push(*start.get(at)?);
        }
    }
    Some(start)
}

/// Reads the rest of a length whose first part is half of a token.
fn length(stored: &mut std::slice::Iter<'_, u8>, first: usize) -> Option<usize> {
    let mut length = first;
    let mut is_long = first == LONG;
    while is_long {
        let more = *stored.next()?;
        length = length.checked_add(usize::from(more))?;
        is_long = more == u8::MAX;
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns bytes with literals, matches of all lengths, and overlapping matches.
    fn samples() -> Vec<Vec<u8>> {
        let repeated = |unit: &[u8], times| unit.repeat(times);
        let mixed = (0..5000_u32).flat_map(|number| (number * number % 97).to_le_bytes()).collect();
        vec![repeated(b"a", 1000), repeated(b"abc", 700), mixed, b"short".to_vec(), Vec::new()]
    }

    #[test]
    fn equals_the_start_of_what_liblz4_decompresses() {
        for sample in samples() {
            let stored = lz4::block::compress(&sample, None, false).unwrap();
            for size in [0, 1, 5, 64, 255, 1000, 4096, sample.len(), sample.len() + 1] {
                assert_eq!(start(&stored, size).unwrap(), sample[..size.min(sample.len())], "{size}");
            }
        }
    }

    #[test]
    fn damaged_blocks_do_not_panic_and_stay_within_the_size() {
        let stored = lz4::block::compress(&samples()[2], None, false).unwrap();
        for at in 0..stored.len().min(2000) {
            let mut broken = stored.clone();
            broken[at] ^= 0xff;
            assert!(start(&broken, 500).map_or(0, |bytes| bytes.len()) <= 500);
            assert!(start(&stored[..at], 20_000).map_or(0, |bytes| bytes.len()) <= 20_000);
        }
        // A match before the first byte, and one of offset 0.
        for block in [&b"\x10a\x02\x00"[..], b"\x10a\x00\x00"] {
            assert_eq!(start(block, 64), None);
        }
    }
}
