//! Names of SYCL kernels: the value of the key `symbols`.
//!
//! DPC++ and LLVM up to 22 write names that end with NUL. LLVM 23 writes a table: the number of names, the offset of each
//! name in the value, both in four bytes, and the names. Source: llvm-project pull requests 180274 and 193876, and
//! `llvm/Frontend/Offloading/Utility.h`.

use crate::base::bytes::{Extent, Resource, Table, View, record_memory};
use crate::base::error::Malformed;

/// Key of the value.
pub const KEY: &str = "symbols";

/// Size of the number of names, and of an offset.
const WORD: u64 = 4;

/// Returns whether a value is a table: the first name follows the offsets.
pub fn is_table(value: &[u8]) -> bool {
    let view = View::new(value);
    let word = |at| view.u32(KEY, at).map(u64::from);
    let (Ok(count), Ok(first)) = (word(0), word(WORD)) else { return false };
    count > 0 && Some(first) == count.checked_mul(WORD).and_then(|size| size.checked_add(WORD))
}

/// Returns the names in a value.
pub fn names(value: View<'_>) -> Result<Vec<&str>, Malformed> {
    if !is_table(value.data()) {
        let text = value.string(value.field("SYCL symbols", 0), Extent { offset: 0, size: value.size() })?;
        return Ok(text.split('\0').filter(|name| !name.is_empty()).collect());
    }
    let count = value.u32("SYCL symbol count", 0)?;
    let offsets = Table { offset: WORD, count: count.into(), entry_size: WORD };
    let mut names = Vec::new();
    for row in value.table(value.field("SYCL symbol count", 0), offsets)? {
        row.charge("SYCL symbol", Resource::Memory, record_memory(size_of::<&str>(), []))?;
        let offset = row.u32("SYCL symbol offset", 0)?;
        names.push(value.c_string(row.field("SYCL symbol offset", 0), offset.into())?);
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a table as the source describes it.
    fn table(names: &[&str]) -> Vec<u8> {
        let words = names.len() as u32 + 1;
        let sizes = names.iter().scan(words * 4, |at, name| {
            let start = *at;
            *at += name.len() as u32 + 1;
            Some(start)
        });
        let words: Vec<u32> = [names.len() as u32].into_iter().chain(sizes).collect();
        let text: String = names.iter().map(|name| format!("{name}\0")).collect();
        [words.iter().flat_map(|word| word.to_le_bytes()).collect(), text.into_bytes()].concat()
    }

    #[test]
    fn tables_and_texts_have_the_same_names() {
        let many: Vec<String> = (0..200).map(|number| format!("_ZTS{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for names in [&["_ZTS1a", "", "é"][..], &["k"], &many] {
            let table = table(names);
            assert_eq!(super::names(View::new(&table)).unwrap(), names);
        }
        assert!(std::str::from_utf8(&table(&many)).is_err(), "offsets are not text");
        for text in ["", "_ZTS1a\0_ZTS1b\0", "_ZTS1a\0_ZTS1b"] {
            let expected: Vec<&str> = text.split('\0').filter(|name| !name.is_empty()).collect();
            assert_eq!(super::names(View::new(text.as_bytes())).unwrap(), expected);
        }
    }

    #[test]
    fn hostile_tables_are_errors_with_their_place() {
        let valid = table(&["one", "two"]);
        let cases = [
            ("no NUL", valid[..valid.len() - 1].to_vec(), 8, "unterminated string"),
            ("offset", [&valid[..8], &[0xff; 4], &valid[12..]].concat(), 8, "offset 4294967295 with size 0 is out of"),
            ("text", [&valid[..12], b"\xff", &valid[13..]].concat(), 4, "not a printable UTF-8 string"),
            ("not a table", b"\xff\0\0\0".to_vec(), 0, "not a printable UTF-8 string"),
        ];
        for (name, bytes, offset, message) in cases {
            let error = names(View::new(&bytes)).unwrap_err();
            assert_eq!(error.offset, offset, "{name}: {error}");
            assert!(error.to_string().contains(message), "{name}: {error}");
        }
        // More offsets than bytes.
        let bytes = [1000_u32, 4004].map(u32::to_le_bytes).concat();
        names(View::new(&bytes)).unwrap_err();
    }
}
