//! Holes of sparse files. Their bytes are zeros that no disk stores.

use std::fs::File;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{SeekFrom, seek};
use rustix::io::{Errno, Result};

/// The holes of a file, as its file system reports them.
///
/// The answer for an offset also serves the offsets after it, up to the next hole. To find a hole, the system visits
/// all extents up to it: asking for each member of an archive took eight times as long for 40,000 members as for 10,000
/// (ext4, Linux 6.18).
#[derive(Debug, Default)]
pub struct Holes {
    /// A range without a hole.
    data: Mutex<Range<u64>>,
}

impl Holes {
    /// Returns the offset of the next byte that is stored, at or after `offset`, in a file of `size` bytes.
    pub fn next_data(&self, file: &File, size: u64, offset: u64) -> u64 {
        if self.end_of_data(offset).is_some() {
            return offset;
        }
        match ask(file, SeekFrom::Data(offset)) {
            Ok(data) => data,
            // There is no data after the offset.
            Err(Errno::NXIO) => size.max(offset),
            Err(_) => offset,
        }
    }

    /// Returns the offset of the next hole at or after `offset`, or the end of the file.
    pub fn next_hole(&self, file: &File, size: u64, offset: u64) -> u64 {
        if let Some(end) = self.end_of_data(offset) {
            return end;
        }
        let hole = ask(file, SeekFrom::Hole(offset)).unwrap_or(size);
        *self.data.lock().unwrap_or_else(PoisonError::into_inner) = offset..hole;
        hole
    }

    fn end_of_data(&self, offset: u64) -> Option<u64> {
        let data = self.data.lock().unwrap_or_else(PoisonError::into_inner);
        data.contains(&offset).then_some(data.end)
    }
}

/// Moves the position of the file and returns it. Nothing depends on the position.
fn ask(file: &File, to: SeekFrom) -> Result<u64> {
    seek(file, to)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    /// The expected answers come from the file system: it may store holes, or store them in larger blocks.
    #[test]
    fn answers_are_those_of_the_system_in_any_order() {
        let file = tempfile::tempfile().unwrap();
        let block = 1 << 20;
        let size = 5 << 20;
        file.set_len(size).unwrap();
        for start in [block, 3 * block] {
            file.write_all_at(&vec![1; block as usize], start).unwrap();
        }
        let asked = |offset| {
            let data = ask(&file, SeekFrom::Data(offset)).unwrap_or(size);
            (data, ask(&file, SeekFrom::Hole(offset)).unwrap())
        };
        let places =
            [0, block - 1, block, block + 1, 2 * block - 1, 2 * block, 3 * block, 4 * block - 1, 4 * block, size - 1];
        for (first, second) in places.iter().flat_map(|first| places.iter().map(move |second| (*first, *second))) {
            let holes = Holes::default();
            for offset in [first, second, first] {
                let found = (holes.next_data(&file, size, offset), holes.next_hole(&file, size, offset));
                assert_eq!(found, asked(offset), "at {offset}, after {first}");
            }
        }
    }
    #[test]
    fn the_system_is_asked_once_for_all_places_before_a_hole() {
        let file = tempfile::tempfile().unwrap();
        let empty = tempfile::tempfile().unwrap();
        file.write_all_at(&[1; 100], 0).unwrap();
        let holes = Holes::default();
        assert_eq!(holes.next_hole(&file, 100, 10), 100);
        // The system's answer for the empty file would be its end.
        assert_eq!(holes.next_data(&empty, 100, 50), 50);
        assert_eq!(holes.next_data(&empty, 100, 5), 100);
    }
}
