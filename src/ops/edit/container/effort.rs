//! Levels of compression of rebuilt containers.

use crate::edit::decision::{Effort, Recompression};
use fatbin_core::base::codec::{Codec, Compression};
use fatbin_core::format::cuda_fatbin::level;

/// Levels for a whole container, ascending. The first are the defaults of LLVM's tools.
const STREAM_ZSTD: &[i32] = &[3, 9, 15, 19, 22];
const STREAM_ZLIB: &[i32] = &[6, 9];

/// Levels for an entry of a CUDA fat binary, ascending. The first are the defaults of fatbinary.
const BLOCK_ZSTD: &[i32] = &[level::ZSTD, 12, level::ZSTD_SIZE, 22];
const BLOCK_LZ4: &[i32] = &[level::LZ4, 9, 12];

/// Number of levels that [`Effort::Best`] compares: the strongest one does not always give the smallest result.
const COMPARED: usize = 2;

/// Form of compressed bytes. It determines the levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A container as a whole.
    Container,
    /// An entry of a CUDA fat binary.
    Entry,
}

/// Returns the levels of a codec that are tried, ascending.
fn levels(codec: Codec, unit: Unit) -> &'static [i32] {
    match (codec, unit) {
        (Codec::Zstd, Unit::Container) => STREAM_ZSTD,
        (Codec::Zlib, _) => STREAM_ZLIB,
        (Codec::Zstd, Unit::Entry) => BLOCK_ZSTD,
        _ => BLOCK_LZ4,
    }
}

/// Returns the largest number of levels that a codec has for this form.
pub fn steps(unit: Unit) -> usize {
    match unit {
        Unit::Container => STREAM_ZSTD.len(),
        Unit::Entry => BLOCK_ZSTD.len(),
    }
}

/// Returns a level by its position, or the strongest one.
pub fn at_step(codec: Codec, unit: Unit, step: usize) -> Compression {
    let levels = levels(codec, unit);
    let level = levels.get(step).or(levels.last());
    Compression { codec, level: level.copied().unwrap_or_default() }
}

/// Calls `attempt` with one level after another. It returns a result and its size; the smallest result is returned.
/// With [`Effort::Fit`] this ends at the first result of at most `goal` bytes.
pub fn compress<T, E>(
    how: Recompression,
    unit: Unit,
    goal: u64,
    mut attempt: impl FnMut(Compression) -> Result<(T, u64), E>,
) -> Result<T, E> {
    let all = levels(how.codec, unit);
    let own;
    let tried = match how.effort {
        Effort::Fit => all,
        Effort::Best => all.rchunks(COMPARED).next().unwrap_or_default(),
        Effort::Level(level) => {
            own = [level];
            &own
        }
    };
    let mut tried = tried.iter().map(|&level| Compression { codec: how.codec, level });
    let first = tried.next().unwrap_or(Compression::new(how.codec));
    let (mut best, mut size) = attempt(first)?;
    for compression in tried {
        if how.effort == Effort::Fit && size <= goal {
            break;
        }
        let (other, other_size) = attempt(compression)?;
        if other_size < size {
            (best, size) = (other, other_size);
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the levels that are tried, and the one whose result is taken, if results have these sizes by level.
    fn tried(codec: Codec, effort: Effort, unit: Unit, goal: u64, size: fn(i32) -> u64) -> (Vec<i32>, i32) {
        let mut levels = Vec::new();
        let how = Recompression { codec, effort };
        let best = compress(how, unit, goal, |how| {
            levels.push(how.level);
            Ok::<_, ()>((how.level, size(how.level)))
        });
        (levels, best.unwrap())
    }

    #[test]
    fn stronger_levels_are_tried_until_the_result_fits() {
        let smaller = |level: i32| 100 - level as u64;
        let cases = [
            (Codec::Zstd, Unit::Container, 97, &[3][..], 3),
            (Codec::Zstd, Unit::Container, 90, &[3, 9, 15], 15),
            (Codec::Zstd, Unit::Container, 1, &[3, 9, 15, 19, 22], 22),
            (Codec::Zlib, Unit::Container, 1, &[6, 9], 9),
            (Codec::Zstd, Unit::Entry, 85, &[5, 12, 19], 19),
            (Codec::Lz4, Unit::Entry, 91, &[3, 9], 9),
        ];
        for (codec, unit, goal, levels, best) in cases {
            assert_eq!(tried(codec, Effort::Fit, unit, goal, smaller), (levels.to_vec(), best), "{codec:?} {goal}");
        }
        assert_eq!(tried(Codec::Zstd, Effort::Level(7), Unit::Entry, 1, smaller), (vec![7], 7));
    }

    #[test]
    fn the_smallest_result_is_taken_whatever_its_level() {
        let odd = |level: i32| if level == 19 { 10 } else { 20 };
        assert_eq!(tried(Codec::Zstd, Effort::Best, Unit::Container, u64::MAX, odd), (vec![19, 22], 19));
        assert_eq!(tried(Codec::Zstd, Effort::Fit, Unit::Container, 1, odd), (vec![3, 9, 15, 19, 22], 19));
    }
}
