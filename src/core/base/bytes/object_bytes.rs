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
mod tests {
    use object::read::{File, Object, ObjectSection};

    use super::*;
    use crate::base::bytes::object_tests::objects_sharing_a_long_name;
    use crate::base::bytes::{Budget, Limits};

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
