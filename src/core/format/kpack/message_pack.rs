//! MessagePack: a reader of untrusted bytes, and a writer, for the few kinds of values in archives and markers.
//!
//! The reader works on a [`View`], so every value is charged to the budget and errors state offsets in the file. Text
//! is borrowed, and no memory is allocated for stated lengths. Unlike `rmp-serde`, it is available without features of
//! the crate; the tests compare the two. Source: MessagePack specification.

use crate::base::bytes::{Cursor, Resource, View};
use crate::base::error::{Cause, Malformed};

/// Reader of consecutive values.
#[derive(Debug, Clone, Copy)]
pub struct MessagePackReader<'data> {
    view: View<'data>,
    /// Position of the next value.
    cursor: Cursor<'data>,
}

/// First byte of a value, or the value itself where it is short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marker {
    /// A non-negative integer.
    Number(u64),
    /// Text of this length in bytes, which follows.
    Text(u64),
    /// An array of this many values, which follow.
    Array(u64),
    /// A map of this many pairs of values, which follow.
    Map(u64),
    /// Any other value, with this many bytes that follow.
    Other(u64),
}

impl<'data> MessagePackReader<'data> {
    /// Creates a reader that starts at the first byte of a view.
    pub fn new(view: View<'data>) -> Self {
        MessagePackReader { view, cursor: Cursor::new(view) }
    }

    /// Offset of the next value in the view, in bytes.
    pub fn position(&self) -> u64 {
        self.cursor.at()
    }

    /// Reads the start of a map and returns the number of its pairs.
    pub fn map(&mut self, field: &'static str) -> Result<u64, Malformed> {
        match self.marker(field)? {
            (_, Marker::Map(pairs)) => Ok(pairs),
            (at, _) => Err(self.unexpected(field, at, "a map")),
        }
    }

    /// Reads the start of an array and returns the number of its values.
    pub fn array(&mut self, field: &'static str) -> Result<u64, Malformed> {
        match self.marker(field)? {
            (_, Marker::Array(values)) => Ok(values),
            (at, _) => Err(self.unexpected(field, at, "an array")),
        }
    }

    /// Reads text.
    pub fn text(&mut self, field: &'static str) -> Result<&'data str, Malformed> {
        match self.marker(field)? {
            (at, Marker::Text(size)) => self.cursor.string(self.view.field(field, at), size),
            (at, _) => Err(self.unexpected(field, at, "text")),
        }
    }

    /// Reads a non-negative integer.
    pub fn number(&mut self, field: &'static str) -> Result<u64, Malformed> {
        match self.marker(field)? {
            (_, Marker::Number(number)) => Ok(number),
            (at, _) => Err(self.unexpected(field, at, "a non-negative integer")),
        }
    }

    /// Skips a value with everything in it. A count of the remaining values replaces a stack, so no nesting is too
    /// deep. A count beyond 64 bits is more than any file has. The number of pairs of a map has 32 bits.
    pub fn skip(&mut self, field: &'static str) -> Result<(), Malformed> {
        let mut left = 1_u64;
        while let Some(rest) = left.checked_sub(1) {
            let (at, marker) = self.marker(field)?;
            left = match marker {
                Marker::Number(_) => rest,
                Marker::Text(size) | Marker::Other(size) => {
                    self.cursor.take_stated(self.view.field(field, at), size)?;
                    rest
                }
                Marker::Array(values) => rest.saturating_add(values),
                Marker::Map(pairs) => rest.saturating_add(pairs << 1),
            };
        }
        Ok(())
    }

    /// Creates an error about the value at `at`.
    pub fn malformed(&self, field: &'static str, at: u64, cause: Cause) -> Malformed {
        self.view.malformed(field, at, cause)
    }

    fn unexpected(&self, field: &'static str, at: u64, expected: &'static str) -> Malformed {
        let value = self.view.from(at).data().first().copied().unwrap_or_default().into();
        self.malformed(field, at, Cause::Unexpected { value, expected })
    }

    /// Reads a marker and the integer after it, and returns its offset.
    fn marker(&mut self, field: &'static str) -> Result<(u64, Marker), Malformed> {
        let at = self.cursor.at();
        let first = self.big_endian(field, 1)?;
        let marker = match first {
            0x00..=0x7f => Marker::Number(first),
            0x80..=0x8f => Marker::Map(first & 0x0f),
            0x90..=0x9f => Marker::Array(first & 0x0f),
            0xa0..=0xbf => Marker::Text(first & 0x1f),
            // bin 8, 16, 32
            0xc4..=0xc6 => Marker::Other(self.big_endian(field, size_of_form(first, 0xc4))?),
            // ext 8, 16, 32: the type follows the size.
            0xc7..=0xc9 => {
                let size = self.big_endian(field, size_of_form(first, 0xc7))?;
                self.big_endian(field, 1)?;
                Marker::Other(size)
            }
            // float 32, 64
            0xca => Marker::Other(4),
            0xcb => Marker::Other(8),
            // uint 8, 16, 32, 64
            0xcc..=0xcf => Marker::Number(self.big_endian(field, size_of_form(first, 0xcc))?),
            // int 8, 16, 32, 64
            0xd0..=0xd3 => self.signed(field, size_of_form(first, 0xd0))?,
            // fixext 1, 2, 4, 8, 16: the type is first.
            0xd4..=0xd8 => {
                self.big_endian(field, 1)?;
                Marker::Other(size_of_form(first, 0xd4))
            }
            // str 8, 16, 32
            0xd9..=0xdb => Marker::Text(self.big_endian(field, size_of_form(first, 0xd9))?),
            // array 16, 32
            0xdc | 0xdd => Marker::Array(self.big_endian(field, size_of_form(first, 0xdb))?),
            // map 16, 32
            0xde | 0xdf => Marker::Map(self.big_endian(field, size_of_form(first, 0xdd))?),
            // nil, false, true, negative fixint, and one that is never used
            _ => Marker::Other(0),
        };
        Ok((at, marker))
    }

    /// Reads a signed integer of `size` bytes.
    fn signed(&mut self, field: &'static str, size: u64) -> Result<Marker, Malformed> {
        // The first byte has the sign.
        let is_negative = self.cursor.rest().data().first().is_some_and(|&byte| byte >= 0x80);
        let number = self.big_endian(field, size)?;
        Ok(if is_negative { Marker::Other(0) } else { Marker::Number(number) })
    }

    /// Reads an integer of at most eight bytes.
    fn big_endian(&mut self, field: &'static str, size: u64) -> Result<u64, Malformed> {
        self.view.charge(field, Resource::Work, 1)?;
        let bytes = self.cursor.take(field, size)?;
        Ok(bytes.data().iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }
}

/// Size of the form `first` in bytes. It doubles from form to form, and is one byte for `start`.
fn size_of_form(first: u64, start: u64) -> u64 {
    1_u64.wrapping_shl(first.abs_diff(start) as u32)
}

/// Writer of values in their shortest form.
#[derive(Debug, Default)]
pub struct MessagePackWriter(pub Vec<u8>);

impl MessagePackWriter {
    /// Writes the start of a map with this many pairs.
    pub fn map(&mut self, pairs: usize) {
        self.sized(pairs, [(0x80, 0x0f), (0xde, 0xffff)], 0xdf);
    }

    /// Writes the start of an array with this many values.
    pub fn array(&mut self, values: usize) {
        self.sized(values, [(0x90, 0x0f), (0xdc, 0xffff)], 0xdd);
    }

    /// Writes text.
    pub fn text(&mut self, text: &str) {
        match text.len() {
            size @ ..=0x1f => self.0.push(0xa0 | size as u8),
            size @ ..=0xff => self.0.extend([0xd9, size as u8]),
            size => self.sized(size, [(0, 0), (0xda, 0xffff)], 0xdb),
        }
        self.0.extend(text.as_bytes());
    }

    /// Writes a non-negative integer.
    pub fn number(&mut self, number: u64) {
        match number {
            0..=0x7f => self.0.push(number as u8),
            0x80..=0xff => self.0.extend([0xcc, number as u8]),
            0x100..=0xffff => {
                self.0.push(0xcd);
                self.0.extend((number as u16).to_be_bytes());
            }
            0x1_0000..=0xffff_ffff => {
                self.0.push(0xce);
                self.0.extend((number as u32).to_be_bytes());
            }
            _ => {
                self.0.push(0xcf);
                self.0.extend(number.to_be_bytes());
            }
        }
    }

    /// Writes a marker and a size: in the marker, in 16 or in 32 bits.
    fn sized(&mut self, size: usize, [(short, short_limit), (medium, medium_limit)]: [(u8, usize); 2], long: u8) {
        if size <= short_limit {
            self.0.push(short | size as u8);
        } else if size <= medium_limit {
            self.0.push(medium);
            self.0.extend((size as u16).to_be_bytes());
        } else {
            self.0.push(long);
            self.0.extend((size as u32).to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(bytes: &[u8]) -> MessagePackReader<'_> {
        MessagePackReader::new(View::new(bytes))
    }

    /// Numbers around every border between two forms.
    fn borders() -> impl Iterator<Item = u64> {
        [0, 5, 7, 8, 15, 16, 31, 32, 63].into_iter().flat_map(|bits| {
            let power = 1_u64 << bits;
            [power - 1, power, power + 1]
        })
    }

    #[test]
    fn numbers_and_texts_equal_those_of_rmp() {
        for number in borders().chain([u64::MAX]) {
            let mut writer = MessagePackWriter::default();
            writer.number(number);
            assert_eq!(writer.0, rmp_serde::to_vec(&number).unwrap());
            assert_eq!(reader(&writer.0).number("n"), Ok(number));
            if let Ok(signed) = i64::try_from(number) {
                let signed = rmp_serde::to_vec(&signed).unwrap();
                assert_eq!(reader(&signed).number("n"), Ok(number));
            }
        }
        for length in [0, 1, 31, 32, 255, 256, 65535, 65536] {
            let text = "x".repeat(length);
            let mut writer = MessagePackWriter::default();
            writer.text(&text);
            assert_eq!(writer.0, rmp_serde::to_vec(&text).unwrap());
            assert_eq!(reader(&writer.0).text("t"), Ok(text.as_str()));
        }
        for length in [0, 15, 16, 65535, 65536] {
            let mut writer = MessagePackWriter::default();
            writer.array(length);
            let expected = rmp_serde::to_vec(&vec![1_u8; length]).unwrap();
            assert!(expected.starts_with(&writer.0));
            assert_eq!(reader(&expected).array("a"), Ok(length as u64));
        }
    }

    #[test]
    fn skips_any_value_as_a_whole() {
        let value =
            serde_json::json!({"a": [1, -1, 1.5, null, true, {"b": "text", "c": [[[]]]}], "d": -40000, "e": 70000});
        let bytes = [rmp_serde::to_vec(&value).unwrap(), vec![7]].concat();
        let mut skipping = reader(&bytes);
        skipping.skip("value").unwrap();
        assert_eq!((skipping.position(), skipping.number("n")), (bytes.len() as u64 - 1, Ok(7)));
        // bin, ext and fixext, which JSON does not have.
        for bytes in
            [&b"\xc4\x02ab\x07"[..], b"\xc7\x02\x05ab\x07", b"\xd5\x05ab\x07", b"\xcb12345678\x07", b"\xca1234\x07"]
        {
            let mut skipping = reader(bytes);
            skipping.skip("value").unwrap();
            assert_eq!(skipping.number("n"), Ok(7), "{bytes:x?}");
        }
    }

    #[test]
    fn rejects_other_kinds_negative_numbers_and_ends_inside() {
        let cases: [(&[u8], &str); 6] = [
            (b"\xa1x", "n at 0x0: invalid value 0xa1, expected a non-negative integer"),
            (b"\xff", "n at 0x0: invalid value 0xff, expected a non-negative integer"),
            (b"\xd0\x80", "n at 0x0: invalid value 0xd0, expected a non-negative integer"),
            (b"\xcf\0\0", "n at 0x1: truncated: need 8 bytes, 2 available"),
            (b"", "n at 0x0: truncated: need 1 bytes, 0 available"),
            (b"\x80", "n at 0x0: invalid value 0x80, expected a non-negative integer"),
        ];
        for (bytes, message) in cases {
            assert_eq!(reader(bytes).number("n").unwrap_err().to_string(), message);
        }
        assert!(reader(b"\xa5abc").text("t").is_err() && reader(b"\xa2\xff\xff").text("t").is_err());
        assert!(reader(&[0x91; 100_000]).skip("s").is_err());
        assert!(reader(b"\xdf\xff\xff\xff\xff").skip("s").is_err());
    }
}
