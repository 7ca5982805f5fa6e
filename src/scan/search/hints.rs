//! Bytes that identify containers and images without one. A magic begins a container, and a hint is inside an image.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::packed::Searcher;
use aho_corasick::{AhoCorasick, Input, Span};

use crate::base::bytes::{View, size_of_range};
use crate::base::codec::ZSTD_MAGIC;
use crate::base::error::Malformed;
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
