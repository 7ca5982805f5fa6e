//! Bytes on their way out: a sequence of runs, each owned or borrowed, that is never joined in memory.
//!
//! A wrapper object of a 300 MB image is 300 MB of somebody else's bytes with a few hundred of ours around them. If a
//! section were one slice, those would have to be copied once to stand beside each other. So the writers of formats
//! return runs, and [`crate::io::Sink`] moves the borrowed ones from file to file.

use std::borrow::Cow;

/// A sequence of byte runs with a known total size.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content<'data> {
    runs: Vec<Cow<'data, [u8]>>,
    size: u64,
}

impl<'data> Content<'data> {
    /// Nothing yet.
    pub fn new() -> Self {
        Content::default()
    }

    /// Adds a run at the end.
    pub fn push(&mut self, run: impl Into<Cow<'data, [u8]>>) {
        let run = run.into();
        self.size += run.len() as u64;
        if !run.is_empty() {
            self.runs.push(run);
        }
    }

    /// Adds all runs of another sequence.
    pub fn append(&mut self, other: Content<'data>) {
        self.size += other.size;
        self.runs.extend(other.runs);
    }

    /// Adds zeros up to a multiple of `alignment`, a power of two.
    pub fn align(&mut self, alignment: u64) {
        let padding = self.size.wrapping_neg() & (alignment - 1);
        self.push(vec![0; padding as usize]);
    }

    /// Total size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The runs in order.
    pub fn runs(&self) -> impl Iterator<Item = &[u8]> {
        self.runs.iter().map(|run| run.as_ref())
    }

    /// The runs from an offset on, the first one cut.
    pub fn runs_from(&self, offset: u64) -> impl Iterator<Item = &[u8]> {
        let mut before = offset;
        self.runs().map(move |run| {
            let skipped = before.min(run.len() as u64);
            before -= skipped;
            &run[skipped as usize..]
        })
    }

    /// Where the first run of at least `size` bytes begins.
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

    /// All bytes joined: for tests and for content that is known to be small.
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
    fn runs_from_an_offset_leave_out_what_stands_before_it() {
        let mut content = Content::from(b"0123".to_vec());
        content.push(&b"45"[..]);
        content.push(&b"6789"[..]);
        for offset in 0..=11 {
            let joined: Vec<u8> = content.runs_from(offset).flatten().copied().collect();
            assert_eq!(joined, &b"0123456789"[offset.min(10) as usize..]);
        }
    }
}
