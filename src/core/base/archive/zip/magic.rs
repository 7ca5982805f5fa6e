//! Search for the magics of records.

use aho_corasick::packed::Searcher;

use crate::base::bytes::{Resource, View};
use crate::base::error::Malformed;

/// Number of bytes searched in one step of work.
const BYTES_PER_STEP: u64 = 64;

/// A magic with its searcher. Not every processor has the vector instructions.
pub struct Magic {
    bytes: [u8; 4],
    searcher: Option<Searcher>,
}

impl Magic {
    pub fn new(magic: u32) -> Self {
        let bytes = magic.to_le_bytes();
        Magic { bytes, searcher: Searcher::new([bytes]) }
    }

    /// Returns the offsets of the magic in a part of a file.
    pub fn offsets<'a>(
        &'a self,
        file: View<'a>,
        searched: View<'a>,
    ) -> Result<impl Iterator<Item = u64> + 'a, Malformed> {
        searched.charge("zip file", Resource::Work, searched.size() / BYTES_PER_STEP)?;
        let mut rest = searched;
        Ok(std::iter::from_fn(move || {
            let found = rest.from(self.first(rest.data())?);
            rest = found.from(self.bytes.len() as u64);
            Some(found.range_in(file).start)
        }))
    }

    fn first(&self, bytes: &[u8]) -> Option<u64> {
        let first = match &self.searcher {
            Some(searcher) => searcher.find(bytes)?.start(),
            None => bytes.windows(self.bytes.len()).position(|window| window == self.bytes)?,
        };
        Some(first as u64)
    }
}
