//! Output bytes: a sequence of runs, each owned or borrowed, that is never joined in memory.
//!
//! A wrapper object of a 300 MB image is 300 MB of borrowed bytes between a few hundred owned ones. If a section were
//! one slice, the image would have to be copied to make it contiguous. Writers of formats therefore return runs, and
//! [`crate::base::io::Sink`] moves the borrowed ones from file to file.

use std::borrow::Cow;

/// A sequence of byte runs with a known total size.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content<'data> {
    runs: Vec<Cow<'data, [u8]>>,
    size: u64,
}

impl<'data> Content<'data> {
    /// Creates empty content.
    pub fn new() -> Self {
        Content::default()
    }

    /// Appends a run.
    pub fn push(&mut self, run: impl Into<Cow<'data, [u8]>>) {
        let run = run.into();
        self.size += run.len() as u64;
        if !run.is_empty() {
            self.runs.push(run);
        }
    }

    /// Appends all runs of another sequence.
    pub fn append(&mut self, other: Content<'data>) {
        self.size += other.size;
        self.runs.extend(other.runs);
    }

    /// Appends zeros up to a multiple of `alignment`, a power of two.
    pub fn align(&mut self, alignment: u64) {
        let padding = self.size.wrapping_neg() & (alignment - 1);
        self.push(vec![0; padding as usize]);
    }

    /// Appends zeros up to a size; none if the content is larger.
    pub fn pad_to(&mut self, size: u64) {
        self.push(vec![0; size.saturating_sub(self.size) as usize]);
    }

    /// Returns content that borrows all runs.
    pub fn borrowed(&self) -> Content<'_> {
        Content { runs: self.runs().map(Cow::Borrowed).collect(), size: self.size }
    }

    /// Total size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Runs, in order.
    pub fn runs(&self) -> impl Iterator<Item = &[u8]> {
        self.runs.iter().map(AsRef::as_ref)
    }

    /// Returns the runs from an offset on; the first one may be partial.
    pub fn runs_from(&self, offset: u64) -> impl Iterator<Item = &[u8]> {
        let mut before = offset;
        self.runs().map(move |run| {
            let skipped = before.min(run.len() as u64);
            before -= skipped;
            &run[skipped as usize..]
        })
    }

    /// Returns the offset of the first run of at least `size` bytes.
    pub fn first_run_of(&self, size: u64) -> Option<u64> {
        let mut offset = 0;
        for run in self.runs() {
            if run.len() as u64 >= size {
                return Some(offset);
            }
            offset += run.len() as u64;
        }
        None
    }

    /// Copies the borrowed runs.
    pub fn into_owned(self) -> Content<'static> {
        let runs = self.runs.into_iter().map(|run| Cow::Owned(run.into_owned())).collect();
        Content { runs, size: self.size }
    }

    /// All bytes joined, for tests and for small content.
    pub fn to_vec(&self) -> Vec<u8> {
        self.runs().collect::<Vec<_>>().concat()
    }
}

impl<'data> From<Vec<u8>> for Content<'data> {
    fn from(bytes: Vec<u8>) -> Self {
        let mut content = Content::new();
        content.push(bytes);
        content
    }
}

impl<'data> From<&'data [u8]> for Content<'data> {
    fn from(bytes: &'data [u8]) -> Self {
        let mut content = Content::new();
        content.push(bytes);
        content
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_from_an_offset_omit_earlier_bytes() {
        let mut content = Content::from(b"0123".to_vec());
        content.push(&b"45"[..]);
        content.push(&b"6789"[..]);
        for offset in 0..=11 {
            let joined: Vec<u8> = content.runs_from(offset).flatten().copied().collect();
            assert_eq!(joined, &b"0123456789"[offset.min(10) as usize..]);
        }
    }
}
