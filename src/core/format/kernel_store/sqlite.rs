//! Rows of a table of an SQLite database, without its indexes. Source: SQLite, Database File Format, sections 1.3 to 2.1.
//!
//! A table is a tree of pages. A row that does not fit into its page continues in a chain of other pages. Pages are
//! numbered from 1.

use std::io::{self, Read};
use std::ops::Range;

use crate::base::bytes::{Extent, Resource, Table, View, entries_size, size_of_range};
use crate::base::error::{Cause, Malformed};
use crate::base::range::{self, offset_from};

/// First bytes of a database.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Offsets in the header: size of a page, unused bytes at the end of each page, and text encoding, which is 1 for UTF-8.
const PAGE_SIZE: u64 = 16;
const RESERVED: u64 = 20;
const ENCODING: u64 = 56;
/// Size of the header. The first page follows it.
const HEADER: u64 = 100;

/// Kinds of pages, and the sizes of their headers.
const INTERIOR: u8 = 5;
const LEAF: u8 = 13;
const INTERIOR_HEADER: u64 = 12;
const LEAF_HEADER: u64 = 8;

/// A database whose header has been checked.
#[derive(Debug, Clone, Copy)]
pub struct Sqlite<'data> {
    view: View<'data>,
    page_size: u64,
    /// Bytes of a page that are used.
    usable: u64,
}

/// A row: its number, and its bytes.
#[derive(Debug, Clone, Copy)]
pub struct Row<'data> {
    pub id: u64,
    database: Sqlite<'data>,
    /// The part in the page of the tree.
    local: View<'data>,
    /// First page of the rest; 0 if there is none.
    overflow: u32,
    size: u64,
}

/// A value of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    /// An integer, in this range of the row. An empty range is 0.
    Integer(Range<u64>),
    /// Text or bytes, in this range of the row.
    Bytes(Range<u64>),
    Other,
}

impl<'data> Sqlite<'data> {
    /// Reads the header; `None` for other files.
    pub fn read(view: View<'data>) -> Option<Self> {
        let page_size = match big_endian(view, "SQLite page size", PAGE_SIZE, 2).ok()? {
            1 => 65536,
            size => size,
        };
        let reserved = big_endian(view, "SQLite reserved size", RESERVED, 1).ok()?;
        let encoding = big_endian(view, "SQLite encoding", ENCODING, 4).ok()?;
        let usable = page_size.checked_sub(reserved)?;
        let is_valid = page_size.is_power_of_two() && usable >= 480 && encoding == 1;
        (view.starts_with(MAGIC) && is_valid).then_some(Sqlite { view, page_size, usable })
    }

    /// Calls `take` with each row of the table whose tree begins at a page.
    pub fn rows(self, root: u64, take: &mut dyn FnMut(Row<'data>) -> Result<(), Malformed>) -> Result<(), Malformed> {
        // No page is in a tree twice.
        let mut left = self.view.size().checked_div(self.page_size).unwrap_or(0);
        let mut pages = vec![root];
        while let Some(number) = pages.pop() {
            let page = self.page(number, "SQLite page")?;
            let too_many = || page.malformed("SQLite page", 0, Cause::Described("the tree has a cycle".to_owned()));
            left = left.checked_sub(1).ok_or_else(too_many)?;
            // The first page begins with the header of the file.
            let start = if number == 1 { HEADER } else { 0 };
            let count = big_endian(page.from(start), "SQLite cell count", 3, 2)?;
            page.charge("SQLite cell", Resource::Work, count)?;
            match big_endian(page.from(start), "SQLite page kind", 0, 1)? as u8 {
                INTERIOR => {
                    page.charge("SQLite page", Resource::Memory, entries_size(count, 8))?;
                    let last = big_endian(page.from(start), "SQLite child", 8, 4)?;
                    let children = cells(page, start, INTERIOR_HEADER, count)?;
                    let children = children.map(|cell| big_endian(page.from(cell?), "SQLite child", 0, 4));
                    let mut children = children.collect::<Result<Vec<_>, _>>()?;
                    children.push(last);
                    pages.extend(children.into_iter().rev());
                }
                LEAF => {
                    for cell in cells(page, start, LEAF_HEADER, count)? {
                        take(self.row(page.from(cell?))?)?;
                    }
                }
                value => {
                    let cause = Cause::Unexpected { value: value.into(), expected: "5 or 13" };
                    return Err(page.malformed("SQLite page kind", start, cause));
                }
            }
        }
        Ok(())
    }

    /// Returns the used bytes of a page.
    fn page(self, number: u64, field: &'static str) -> Result<View<'data>, Malformed> {
        self.view.charge(field, Resource::Work, 1)?;
        let offset = number.checked_sub(1).and_then(|index| index.checked_mul(self.page_size)).unwrap_or(u64::MAX);
        self.view.part(field, Extent { offset, size: self.usable })
    }

    /// Reads the row at the start of a view, which ends with the page.
    fn row(self, cell: View<'data>) -> Result<Row<'data>, Malformed> {
        let (size, after) = varint(cell, 0)?;
        let (id, at) = varint(cell, after)?;
        let local = self.local_size(size).ok_or_else(|| cell.malformed("SQLite row size", 0, Cause::EndsInside))?;
        let overflow =
            if local == size { 0 } else { big_endian(cell.from(at).from(local), "SQLite overflow page", 0, 4)? };
        let local = cell.part("SQLite row size", Extent { offset: at, size: local })?;
        Ok(Row { id, database: self, local, overflow: overflow as u32, size })
    }

    /// Returns the number of bytes of a row that are in the page of the tree. Of at least 480 usable bytes, as
    /// [`Sqlite::read`] requires, nothing here is negative.
    fn local_size(self, size: u64) -> Option<u64> {
        let most = self.usable.checked_sub(35)?;
        if size <= most {
            return Some(size);
        }
        let least = (self.usable.checked_sub(12)?.checked_mul(32)? / 255).checked_sub(23)?;
        let chained = self.usable.checked_sub(4)?;
        let preferred = least.checked_add(size.checked_sub(least)?.checked_rem(chained)?)?;
        Some(if preferred <= most { preferred } else { least })
    }
}

/// Returns the offsets of the cells of a page.
fn cells<'data>(
    page: View<'data>,
    start: u64,
    header: u64,
    count: u64,
) -> Result<impl Iterator<Item = Result<u64, Malformed>> + use<'data>, Malformed> {
    let pointers = page.from(start).from(header);
    let pointers = pointers.table(pointers.field("SQLite cell", 0), Table { offset: 0, count, entry_size: 2 })?;
    Ok(pointers.map(|pointer| big_endian(pointer, "SQLite cell", 0, 2)))
}

impl<'data> Row<'data> {
    /// Returns the columns of the row.
    pub fn columns(self) -> Result<Vec<Column>, Malformed> {
        let (header_size, mut at) = varint(self.local, 0)?;
        // The rows of the tables have few columns, and their headers are not in other pages.
        let header = self.local.prefix("SQLite row header size", header_size)?;
        let mut columns = Vec::new();
        let mut values = range::Cursor::at(header_size);
        while at < header_size {
            self.local.charge("SQLite column", Resource::Work, 1)?;
            let (kind, next) = varint(header, at)?;
            at = next;
            let range = values.take(match kind {
                1..=4 => kind,
                5 => 6,
                6 | 7 => 8,
                _ => kind.checked_sub(12).map_or(0, |size| size / 2),
            });
            columns.push(match kind {
                1..=6 | 8 => Column::Integer(range),
                12.. => Column::Bytes(range),
                _ => Column::Other,
            });
        }
        if values.end() > self.size {
            let cause = Cause::OutOfBounds { offset: values.end(), size: 0, limit: self.size };
            return Err(self.local.malformed("SQLite row header", 0, cause));
        }
        Ok(columns)
    }

    /// Returns the bytes of the row that are in the page of the tree, for errors.
    pub fn view(self) -> View<'data> {
        self.local
    }

    /// Returns a non-negative integer of the row.
    pub fn integer(self, range: Range<u64>) -> Result<u64, Malformed> {
        let bytes = self.bytes(range)?;
        Ok(bytes.iter().fold(0, |number: u64, byte| number << 8 | u64::from(*byte)))
    }

    /// Returns text or bytes of the row. They must be few.
    pub fn bytes(self, range: Range<u64>) -> Result<Vec<u8>, Malformed> {
        self.local.charge("SQLite value", Resource::Memory, size_of_range(&range))?;
        let mut bytes = Vec::new();
        let mut reader = self.reader(range);
        reader.read_to_end(&mut bytes).map_err(|error| {
            let cause = error.downcast::<Malformed>().map_or(Cause::EndsInside, |error| error.cause);
            self.local.malformed("SQLite value", 0, cause)
        })?;
        Ok(bytes)
    }

    /// Returns a reader of bytes of the row.
    pub fn reader(self, range: Range<u64>) -> RowReader<'data> {
        RowReader { row: self, part: self.local, next: self.overflow, at: 0, range }
    }
}

/// Reads bytes of a row. Reading from the chain charges each page.
#[derive(Debug)]
pub struct RowReader<'data> {
    row: Row<'data>,
    /// Bytes that follow at `at`, and the page after them.
    part: View<'data>,
    next: u32,
    at: u64,
    /// Bytes that are left.
    range: Range<u64>,
}

impl Read for RowReader<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.range.start < self.range.end {
            let skipped = self.range.start.saturating_sub(self.at);
            let left = self.part.from(skipped).data();
            if !left.is_empty() {
                let count =
                    left.len().min(to.len()).min(usize::try_from(size_of_range(&self.range)).unwrap_or(usize::MAX));
                if let (Some(to), Some(left)) = (to.get_mut(..count), left.get(..count)) {
                    to.copy_from_slice(left);
                }
                self.range.start = self.range.start.saturating_add(count as u64);
                return Ok(count);
            }
            self.at = self.at.saturating_add(self.part.size());
            let page = self.row.database.page(self.next.into(), "SQLite overflow page").map_err(io::Error::other)?;
            self.next = page.data().first_chunk().map_or(0, |number| u32::from_be_bytes(*number));
            self.part = page.from(4);
        }
        Ok(0)
    }
}

/// Reads a big-endian number of at most 8 bytes.
fn big_endian(view: View<'_>, field: &'static str, offset: u64, size: u64) -> Result<u64, Malformed> {
    let bytes = view.record(field, Extent { offset, size })?;
    Ok(bytes.data().iter().fold(0, |number: u64, byte| number << 8 | u64::from(*byte)))
}

/// Reads a number of 1 to 9 bytes, and returns the offset after it. The last byte has eight bits, others have seven.
fn varint(view: View<'_>, offset: u64) -> Result<(u64, u64), Malformed> {
    let mut number = 0_u64;
    for (length, byte) in (1..=9).zip(view.from(offset).data()) {
        let after = offset_from(offset, length);
        if length == 9 {
            return Ok((number << 8 | u64::from(*byte), after));
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Ok((number, after));
        }
    }
    Err(view.malformed("SQLite number", offset, Cause::EndsInside))
}
