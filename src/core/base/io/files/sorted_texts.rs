//! Texts with names, which are read in the order of the names. They are on disk, because a package has a text for each
//! of a hundred thousand members.

use std::env::temp_dir;
use std::ops::Range;
use std::path::Path;

use super::spool::{Spool, Spooled};
use crate::base::error::{Error, Result};

/// Number of bytes that are written to the disk at a time. Fewer stay in memory.
const BLOCK: usize = 1 << 20;

/// Texts and their names.
#[derive(Debug)]
pub struct SortedTexts {
    /// Place of the name, offset and size of each text.
    texts: Vec<(Range<usize>, u64, u64)>,
    /// All names. Many small allocations would keep what is freed around them apart: 2 KB for each.
    names: String,
    spool: Spool,
    /// The last block. A spool starts again if nothing in it is used.
    last: Option<Spooled>,
    /// Number of bytes in the spool, and the bytes that follow.
    spooled: u64,
    rest: Vec<u8>,
}

impl SortedTexts {
    /// Creates an empty list.
    pub fn new() -> Self {
        let spool = Spool::in_directory(temp_dir());
        SortedTexts { texts: Vec::new(), names: String::new(), spool, last: None, spooled: 0, rest: Vec::new() }
    }

    /// Adds a text. `name` is also the name of the file in errors.
    pub fn add(&mut self, name: &str, text: &str) -> Result<()> {
        let start = self.names.len();
        self.names += name;
        self.texts.push((start..self.names.len(), self.spooled + self.rest.len() as u64, text.len() as u64));
        self.rest.extend(text.as_bytes());
        if self.rest.len() >= BLOCK {
            self.last = Some(self.spool.add(Path::new(name), |to| to.write_all(&self.rest))?);
            self.spooled += self.rest.len() as u64;
            self.rest.clear();
        }
        Ok(())
    }

    /// Calls `take` with the texts in the order of their names.
    pub fn each(mut self, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let name = |place: &Range<usize>| &self.names[place.clone()];
        self.texts.sort_by(|(one, ..), (other, ..)| name(one).cmp(name(other)));
        let spooled = self.spool.finish();
        for (place, start, size) in &self.texts {
            match (start.checked_sub(self.spooled), &spooled) {
                (None, Some(spooled)) => {
                    let read = spooled.part(*start..start + size).read();
                    take(&read.map_err(Error::io(Path::new(name(place)), "read a temporary file"))?)?;
                }
                (at, _) => take(&self.rest[at.unwrap_or_default() as usize..][..*size as usize])?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_in_memory_and_on_disk_come_by_name() {
        for size in [1, 1000, 70_000] {
            let mut texts = SortedTexts::new();
            let text = |number: usize| format!("{number}").repeat(size);
            (0..50).rev().for_each(|number| texts.add(&format!("{number:02}"), &text(number)).unwrap());
            let mut next = 0;
            let take = &mut |read: &[u8]| {
                assert_eq!(read, text(next).as_bytes());
                next += 1;
                Ok(())
            };
            texts.each(take).unwrap();
            assert_eq!(next, 50);
        }
    }
}
