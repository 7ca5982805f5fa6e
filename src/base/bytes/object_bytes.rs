//! A view as input of the `object` crate.

use std::ops::Range;

use object::ReadRef;

use super::{Resource, View, size_of_range, text_work};

/// Bytes of an object file. They charge the budget for every name whose end is searched.
///
/// Any number of sections and symbols may share one name, which may have any length or no end.
#[derive(Debug, Clone, Copy)]
pub struct ObjectBytes<'data>(pub View<'data>);

impl<'data> ReadRef<'data> for ObjectBytes<'data> {
    fn len(self) -> Result<u64, ()> {
        Ok(self.0.size())
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'data [u8], ()> {
        self.0.data().read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'data [u8], ()> {
        // A search is charged afterwards, when its length is known, so none may begin once the budget is exhausted.
        if self.0.budget().is_some_and(|budget| budget.is_exhausted(Resource::Work)) {
            return Err(());
        }
        let bytes = self.read_bytes_at(range.start, size_of_range(&range))?;
        let name = bytes.read_bytes_at_until(0..bytes.len() as u64, delimiter);
        let searched = name.map_or(bytes.len(), <[u8]>::len);
        self.0.charge("name", Resource::Work, text_work(searched)).map_err(drop)?;
        name
    }
}

#[cfg(test)]
pub mod tests {
    use object::read::{File, Object, ObjectSection};

    use super::*;
    use crate::base::bytes::{Budget, Limits};

    /// Returns an ELF object with sections that share the name at the start of a string table.
    pub fn elf_sharing_a_name(count: u64, strings: &[u8]) -> Vec<u8> {
        let table = 64 + strings.len() as u64;
        let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        let header = [1 | 62 << 16 | 1 << 32, 0, 0, table, 64 << 32, 64 << 16 | count << 32 | 1 << 48];
        bytes.extend(header.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(strings);
        let section = |section_type: u64, offset, size| [section_type << 32, 0, 0, offset, size, 0, 1, 0];
        let names = section(3, 64, strings.len() as u64);
        let others = (2..count).map(|_| section(1, 0, 0));
        let sections = [[0; 8], names].into_iter().chain(others).flatten();
        bytes.extend(sections.flat_map(u64::to_le_bytes));
        bytes
    }

    /// Returns a COFF object with sections that share the name at the start of a string table.
    pub fn coff_sharing_a_name(count: u16, strings: &[u8]) -> Vec<u8> {
        let mut bytes = [0x8664_u16.to_le_bytes(), count.to_le_bytes()].concat();
        let symbols = 20 + 40 * u32::from(count);
        bytes.extend([0, symbols, 0, 0].into_iter().flat_map(u32::to_le_bytes));
        for _ in 0..count {
            bytes.extend(b"/4");
            bytes.extend([0; 38]);
        }
        bytes.extend((4 + strings.len() as u32).to_le_bytes());
        bytes.extend(strings);
        bytes
    }

    /// Objects with a thousand sections that share a name of one megabyte, with and without its end.
    pub fn objects_sharing_a_long_name(prefix: &[u8]) -> [Vec<u8>; 4] {
        let unterminated = [prefix, &[b'a'; 1 << 20]].concat();
        let terminated = [&unterminated[..], &[0]].concat();
        let [elf, coff] = [elf_sharing_a_name(1000, &terminated), coff_sharing_a_name(1000, &terminated)];
        [elf, coff, elf_sharing_a_name(1000, &unterminated), coff_sharing_a_name(1000, &unterminated)]
    }

    #[test]
    fn reading_names_ends_with_the_budget() {
        for bytes in objects_sharing_a_long_name(b"") {
            let budget = Budget::new(Limits::default(), bytes.len() as u64);
            let file = File::parse(ObjectBytes(View::with_budget(&bytes, &budget))).unwrap();
            let steps = (8 << 20) + 4 * bytes.len() as u64;
            let readable = (steps / text_work(1 << 20)) as usize;
            for (index, section) in file.sections().enumerate() {
                let is_read = section.name_bytes().is_ok();
                assert!(!is_read || index < readable, "{index}");
                assert_eq!(budget.is_exhausted(Resource::Work), index >= readable, "{index}");
            }
            assert_eq!(file.sections().count(), if bytes[0] == 0x7f { 999 } else { 1000 });
        }
    }
}
