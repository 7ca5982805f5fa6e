//! Machine code of NVIDIA.

use super::{Step, Stub};
use crate::base::bytes::View;

/// Instructions of a generation.
struct Generation {
    /// First architecture.
    since: u32,
    /// Number of 64-bit words in a group. The first has the schedule of the others; a group of one has none.
    group: usize,
    /// Number of words of an instruction. Only the first is read.
    words: usize,
    step: fn(u64) -> Step,
}

/// The generations, the latest first.
const GENERATIONS: [Generation; 3] = [
    Generation { since: 70, group: 1, words: 2, step: of_volta },
    Generation { since: 50, group: 4, words: 1, step: of_maxwell },
    Generation { since: 35, group: 8, words: 1, step: of_kepler },
];

/// How kernels of sm_87 start, and the number of instructions before their own code: a branch goes round some that have
/// no effect for a program.
const START_OF_ORIN: ([u64; 2], usize) = ([0x2_ff00_7c0c, 0x120_0000_0947], 20);

/// Returns what code for an architecture does, if it has no body.
pub fn stub(code: View<'_>, arch: u32) -> Option<Stub> {
    let generation = GENERATIONS.iter().find(|generation| arch >= generation.since)?;
    let (words, _) = code.data().as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word)).enumerate();
    let is_instruction = |index: usize| generation.group == 1 || index.checked_rem(generation.group) != Some(0);
    let instructions = words.filter(|(index, _)| is_instruction(*index)).map(|(_, word)| word);
    let instructions = instructions.step_by(generation.words);
    let (start, size) = START_OF_ORIN;
    let skipped = if instructions.clone().take(start.len()).eq(start) { size } else { 0 };
    Step::end(instructions.skip(skipped).map(generation.step))
}

/// Bits 0 to 11 have the operation, and the next four the predicate: 7 is always, 15 never.
fn of_volta(word: u64) -> Step {
    match (word & 0xfff, word >> 12 & 0xf) {
        (_, 0xf) => Step::NoEffect,
        (0x94d, 7) => Step::Ends(Stub::Exit),
        // BPT.TRAP and its kin: ptxas writes it for `trap` and `brkpt`.
        (0x95c, 7) => Step::Ends(Stub::Trap),
        // MOV, LDC, NOP, and MEMBAR, ERRBAR and CGAERRBAR, which end unoptimized code.
        (0x202 | 0x802 | 0xa02 | 0xb82 | 0x918 | 0x992 | 0x9ab | 0x5ab, _) => Step::NoEffect,
        _ => Step::Body,
    }
}

/// Bits 16 to 19 have the predicate, and the upper bits the operation.
fn of_maxwell(word: u64) -> Step {
    match (word >> 48, word >> 16 & 0xf) {
        (0xe300, 7) => Step::Ends(Stub::Exit),
        (0xe3a0, 7 | 0) => Step::Ends(Stub::Trap),
        // MOV, LDC and NOP.
        (0x4c98 | 0x5c98 | 0xef94 | 0xef95 | 0x50b0, _) => Step::NoEffect,
        _ => Step::Body,
    }
}

/// Bits 18 to 21 have the predicate, and the upper bits the operation.
fn of_kepler(word: u64) -> Step {
    match (word >> 48, word >> 18 & 0xf) {
        (0x1800, 7) => Step::Ends(Stub::Exit),
        // BPT.TRAP has the number of the trap there.
        _ if word == 0x80_0300 => Step::Ends(Stub::Trap),
        // MOV, LDC and NOP.
        (0x64c0 | 0xe4c0 | 0x7ca0 | 0x7ca8 | 0x8580, _) => Step::NoEffect,
        _ => Step::Body,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arch: u32, words: &[u64]) -> Option<Stub> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        stub(View::new(&bytes), arch)
    }

    /// Code of ptxas 11.8, 12.9 and 13.5.
    #[test]
    fn bodies_that_only_end_or_trap() {
        let exit = [0x0000_0a00_ff01_7b82, 0, 0x794d, 0, 0xffff_fffc_00fc_7947, 0];
        assert_eq!(of(90, &exit), Some(Stub::Exit));
        let trap = [0x0000_0a00_0001_7a02, 0, 0x0000_00ff_ffff_f389, 0, 0x4_0000_795c, 0, 0x794d, 0];
        assert_eq!(of(70, &trap), Some(Stub::Trap));
        let maxwell =
            [0, 0x4c98_0780_0087_0001, 0x50b0_0000_0007_0f00, 0x50b0_0000_0007_0f00, 0, 0xe300_0000_0007_000f];
        assert_eq!(of(61, &maxwell), Some(Stub::Exit));
        assert_eq!(of(50, &[0, 0x4c98_0780_0087_0001, 0xe3a0_0000_0010_00c0]), Some(Stub::Trap));
        assert_eq!(of(35, &[0, 0x64c0_3c00_089c_0006, 0x80_0300]), Some(Stub::Trap));
        assert_eq!(of(37, &[0, 0x64c0_3c00_089c_0006, 0xe4c0_3c00_7f9c_03fe, 0x1800_0000_001c_003c]), Some(Stub::Exit));
    }

    #[test]
    fn bodies_with_effects_branches_or_conditions() {
        // A store, an exit for some threads, a barrier, an endless loop.
        for word in [0x0000_00ff_0200_7386, 0x894d, 0x7b1d, 0xffff_fff0_0000_7947] {
            assert_eq!(of(80, &[0x0000_0a00_0001_7a02, 0, word, 0, 0x794d, 0]), None, "{word:x}");
        }
        for word in [0xe300_0000_0000_000f, 0xf0a8_1b80_0007_0000, 0xe240_0fff_ff87_000f] {
            assert_eq!(of(60, &[0, word, 0xe300_0000_0007_000f]), None, "{word:x}");
        }
        for word in [0x1800_0000_0020_003c, 0xe480_0000_001c_0bfc] {
            assert_eq!(of(37, &[0, word, 0x1800_0000_001c_003c]), None, "{word:x}");
        }
        let orin = [START_OF_ORIN.0[0], 0, START_OF_ORIN.0[1], 0];
        let start = [&orin[..], &[0x17f55, 0].repeat(18), &[0xa00_0001_7a02, 0]].concat();
        assert_eq!(of(87, &[&start[..], &[0x794d, 0]].concat()), Some(Stub::Exit));
        assert_eq!(of(87, &[&start[..], &[0x7b1d, 0, 0x794d, 0]].concat()), None);
        assert_eq!(of(87, &start), None);
        // The code ends first, or the encoding is not known.
        assert_eq!(of(90, &[0x0000_0a00_ff01_7b82, 0]), None);
        assert_eq!(of(30, &[0x8000_0000_0000_1de7]), None);
    }
}
