//! The string table, laid out like an ELF string table of LLVM's `StringTableBuilder`, so that a binary written here
//! equals the one that llvm-offload-binary writes.
//!
//! It has a leading NUL, then the strings by descending order of their reversed text, so that a string which is a
//! suffix of another directly follows it and can share its bytes; the empty string is the leading NUL.

use std::collections::HashMap;

/// Strings with their offsets in a table.
pub struct StringTable<'text> {
    bytes: Vec<u8>,
    offsets: HashMap<&'text [u8], u64>,
}

impl<'text> StringTable<'text> {
    /// Lays out a table that contains all of `strings`, which may repeat.
    pub fn new(strings: impl IntoIterator<Item = &'text [u8]>) -> Self {
        let mut strings: Vec<&[u8]> = strings.into_iter().filter(|text| !text.is_empty()).collect();
        strings.sort_unstable_by(|a, b| b.iter().rev().cmp(a.iter().rev()));
        let mut table = StringTable { bytes: vec![0], offsets: HashMap::from([(&[][..], 0)]) };
        let mut previous: &[u8] = &[];
        for text in strings {
            // The table ends with the preceding text and its NUL.
            if previous.ends_with(text)
                && let Some(before) = table.bytes.strip_suffix(b"\0").and_then(|it| it.strip_suffix(text))
            {
                table.offsets.insert(text, before.len() as u64);
            } else {
                table.offsets.insert(text, table.bytes.len() as u64);
                table.bytes.extend(text);
                table.bytes.push(0);
                previous = text;
            }
        }
        table
    }

    /// Returns the table's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the offset of one of the strings.
    ///
    /// # Panics
    ///
    /// Panics if the table does not contain the string.
    pub fn offset(&self, text: &[u8]) -> u64 {
        *self.offsets.get(text).expect("a string of the table")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_share_their_bytes() {
        let table = StringTable::new(["arch", "x86_64", "64", "", "arch", "4"].map(str::as_bytes));
        assert_eq!(table.bytes(), b"\0arch\0x86_64\0");
        assert_eq!(table.offset(b"arch"), 1);
        assert_eq!(table.offset(b"x86_64"), 6);
        assert_eq!(table.offset(b"64"), 10);
        assert_eq!(table.offset(b"4"), 11);
        assert_eq!(table.offset(b""), 0);
    }
}
