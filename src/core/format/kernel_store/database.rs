//! MIOpen's database of kernels: a table `kern_db` with a code object in each row, compressed by bzip2.
//!
//! The columns are `id`, `kernel_name`, `kernel_args`, `kernel_blob`, `kernel_hash` (MD5 of the code object in hexadecimal digits)
//! and `uncompressed_size`, which is 0 if the code object is not compressed. Source: ROCm/MIOpen, `src/include/miopen/kern_db.hpp`
//! and `src/bz2.cpp`.

use std::io::{self, BufReader, Read, Write};
use std::ops::Range;

use bzip2::bufread::BzDecoder;

use super::sqlite::{Column, Row, Sqlite};
use super::{charge_name, packed};
use crate::base::archive::Member;
use crate::base::bytes::{View, size_of_range};
use crate::base::error::{Cause, Malformed};
use md5::{Digest, Md5};

/// Name of the table.
const TABLE: &[u8] = b"kern_db";

/// Longest name of a kernel in bytes.
const MAX_NAME: u64 = 1 << 12;

/// Longest hash in bytes: MD5 has 32 digits.
const MAX_HASH: u64 = 64;

/// A database with the table.
#[derive(Debug)]
pub struct Database<'data> {
    sqlite: Sqlite<'data>,
    root: u64,
}

impl<'data> Database<'data> {
    /// Finds the table; `None` for a file or database without it.
    pub fn find(view: View<'data>) -> Option<Self> {
        let sqlite = Sqlite::read(view)?;
        let mut root = None;
        let searched = sqlite.rows(1, &mut |row| {
            // Type, name, name of the table, first page, statement.
            if let [_, Column::Bytes(name), _, Column::Integer(page), ..] = &row.columns()?[..]
                && size_of_range(name) == TABLE.len() as u64
                && row.bytes(name.clone())? == TABLE
            {
                root = root.or(Some(row.integer(page.clone())?));
            }
            Ok(())
        });
        searched.ok().and(root).map(|root| Database { sqlite, root })
    }

    /// Adds the code objects. Names are not unique, so the number of the row follows.
    pub fn members(&self, members: &mut Vec<Member<'data>>) -> Result<(), Malformed> {
        self.sqlite.rows(self.root, &mut |row| {
            let code = Code::read(row)?;
            let name = row.bytes(code.name.clone())?;
            let name = format!("{}#{}", String::from_utf8_lossy(&name), row.id);
            charge_name(row.view(), &name)?;
            members.push(packed(Some(name), Box::new(move |to| code.unpack(to))));
            Ok(())
        })
    }
}

/// The code object in a row.
#[derive(Debug)]
struct Code<'data> {
    row: Row<'data>,
    name: Range<u64>,
    stored: Range<u64>,
    hash: Range<u64>,
    /// Size, or 0 if the code object is not compressed.
    size: Range<u64>,
}

impl<'data> Code<'data> {
    fn read(row: Row<'data>) -> Result<Self, Malformed> {
        match &row.columns()?[..] {
            // The number of the row replaces the first column.
            [_, Column::Bytes(name), _, Column::Bytes(stored), Column::Bytes(hash), Column::Integer(size), ..]
                if size_of_range(name) <= MAX_NAME && size_of_range(hash) <= MAX_HASH =>
            {
                Ok(Code { row, name: name.clone(), stored: stored.clone(), hash: hash.clone(), size: size.clone() })
            }
            _ => {
                let cause = Cause::Described("not the columns of a kernel".to_owned());
                Err(row.view().malformed("row of kern_db", 0, cause))
            }
        }
    }

    /// Writes the code object, and compares its size and its hash.
    fn unpack(self, to: &mut dyn Write) -> io::Result<()> {
        let stored = BufReader::new(self.row.reader(self.stored));
        let size = self.row.integer(self.size).map_err(io::Error::other)?;
        let mut to = Hashed { to, hash: Md5::new() };
        let written = match size {
            0 => io::copy(&mut { stored }, &mut to)?,
            size => io::copy(&mut BzDecoder::new(stored).take(size.saturating_add(1)), &mut to)?,
        };
        let mut hash = String::new();
        self.row.reader(self.hash).read_to_string(&mut hash)?;
        let cause = if size != 0 && written != size {
            format!("{written} bytes decompressed, {size} stated")
        } else if to.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>() != hash {
            "not the MD5 of the kernel".to_owned()
        } else {
            return Ok(());
        };
        Err(io::Error::other(Cause::Described(cause)))
    }
}

/// A writer that hashes.
struct Hashed<'a> {
    to: &'a mut dyn Write,
    hash: Md5,
}

impl Write for Hashed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.to.write(bytes)?;
        self.hash.update(bytes.get(..count).unwrap_or(bytes));
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
