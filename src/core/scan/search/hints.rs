//! Bytes that identify containers and images without one. A magic begins a container, and a hint is inside an image.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::packed::Searcher;
use aho_corasick::{AhoCorasick, Input, Span};

use crate::base::bytes::{Extent, View, size_of_range};
use crate::base::codec::ZSTD_MAGIC;
use crate::base::error::{Cause, Malformed};
use crate::format::embedded::{HINTS, Hint};
use crate::format::{self, ContainerView, FORMATS, Format};
use crate::scan::structure::Structure;

/// Length of the longest pattern in bytes.
pub static LONGEST: LazyLock<usize> = LazyLock::new(|| patterns().map(<[u8]>::len).max().unwrap_or_default());

/// Searcher for all patterns. The vectorized one runs at 17 GB/s, a pass of `memmem` for each pattern at 4.5, and the
/// automaton at 0.7. It needs vector instructions that not every machine has.
enum PatternSearcher {
    Vectorized(Searcher),
    Automaton(AhoCorasick),
}

static SEARCHER: LazyLock<PatternSearcher> = LazyLock::new(|| match Searcher::new(patterns()) {
    Some(searcher) => PatternSearcher::Vectorized(searcher),
    None => PatternSearcher::Automaton(AhoCorasick::new(patterns()).expect("a handful of short patterns")),
});

fn patterns() -> impl Iterator<Item = &'static [u8]> {
    let hints = HINTS.iter().map(|hint| hint.bytes);
    FORMATS.iter().map(|format| format.magic).chain(hints).chain([&ZSTD_MAGIC[..]])
}

/// Number of bytes of a header that are enough to reject most coincidences.
const HEAD: usize = 64;

/// A pattern that was found.
#[derive(Debug, Clone, Copy)]
pub enum Pattern {
    /// The magic of a container.
    Magic(&'static Format),
    /// A hint of an image.
    Hint(&'static Hint),
    /// The magic of a zstd frame. It is not a container.
    ZstdFrame,
}

impl Pattern {
    /// First occurrence of a pattern at or after `at`, and its offset.
    pub fn find(block: &[u8], at: usize) -> Option<(Pattern, usize)> {
        let span = Span { start: at, end: block.len() };
        let found = match &*SEARCHER {
            PatternSearcher::Vectorized(searcher) => searcher.find_in(block, span)?,
            PatternSearcher::Automaton(automaton) => automaton.find(Input::new(block).span(span))?,
        };
        let index = found.pattern().as_usize();
        let pattern = match FORMATS.get(index) {
            Some(format) => Pattern::Magic(format),
            None => HINTS.get(index.checked_sub(FORMATS.len())?).map_or(Pattern::ZstdFrame, Pattern::Hint),
        };
        Some((pattern, found.start()))
    }

    /// Returns whether `head`, the first bytes at a pattern, shows that no container begins there, `rest` bytes before the
    /// end of the file. The search has just read these bytes, and reading the file in another place maps pages.
    pub fn is_refuted_by(self, head: &[u8], rest: u64) -> bool {
        let Pattern::Magic(format) = self else { return false };
        match (format.read)(View::new(head.get(..HEAD).unwrap_or(head))).map_err(|error| error.cause) {
            Err(Cause::UnsupportedVersion { .. } | Cause::Unexpected { .. }) => true,
            Err(Cause::OutOfBounds { offset, size, .. }) => Extent { offset, size }.end() > rest,
            _ => false,
        }
    }

    /// Reads the container that begins at `offset`, or the image with this pattern there. An image extends neither
    /// beyond its section nor beyond `range`.
    pub fn read<'data>(
        self,
        view: View<'data>,
        offset: u64,
        structure: &Structure<'_>,
        range: &Range<u64>,
    ) -> Result<ContainerView<'data>, Malformed> {
        match self {
            Pattern::Magic(format) => (format.read)(view.from(offset)),
            Pattern::Hint(hint) => {
                let region = structure.region(view, offset, range);
                let at = size_of_range(&(region.view.start()..offset));
                let image = (hint.find)(region, at)?;
                Ok(image.container())
            }
            Pattern::ZstdFrame => Err(format::not_a_container("zstd frame", view.from(offset))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::ContainerType;
    use crate::scan::tests::sample;

    #[test]
    fn no_part_of_a_container_refutes_it() {
        for format in &FORMATS {
            let sample = sample(format.container_type).expect("a sample");
            for end in format.magic.len()..=sample.len() {
                let is_refuted = Pattern::Magic(format).is_refuted_by(&sample[..end], sample.len() as u64);
                assert!(!is_refuted, "{:?} {end}", format.container_type);
            }
        }
    }

    #[test]
    fn unknown_versions_and_sizes_beyond_the_file_refute_a_magic() {
        let refuted = |bytes: &[u8], rest| Pattern::find(bytes, 0).unwrap().0.is_refuted_by(bytes, rest);
        let mut binary = sample(ContainerType::OffloadBinary).unwrap();
        binary[4] = 9;
        assert!(refuted(&binary, u64::MAX));
        let mut bundle = sample(ContainerType::Bundle).unwrap();
        bundle[24..32].fill(0xff);
        assert!(refuted(&bundle, 1 << 40));
        // Any size may be in a truncated file.
        assert!(!refuted(&bundle, u64::MAX));
    }
}
