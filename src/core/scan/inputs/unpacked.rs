//! Unpacking of archive members to a temporary file, within the budget.

use std::io::{self, Write};
use std::path::Path;

use crate::base::activity::Work;
use crate::base::archive::{self, RowComparison};
use crate::base::bytes::{Budget, Resource};
use crate::base::error::{Cause, Error, Result};
use crate::base::io::{Input, SharedSpool};

/// Unpacks a member of an archive to a spool, compares it, and charges its bytes to `budget`. `name` is the name of the
/// member in errors.
pub fn unpacked(
    name: &str,
    unpack: archive::Unpack<'_>,
    comparison: Option<&mut RowComparison<'_>>,
    (archive, budget): (&Input, &Budget),
    spool: &mut SharedSpool,
) -> Result<Input> {
    let name = Path::new(name);
    let spooled = spool.add(name, |file| unpack(&mut Unpacking { to: file, comparison, archive, budget }));
    let spooled = spooled.map_err(|error| match error {
        // Only errors of the temporary file come from the system. Others come from the decoder and the budget.
        Error::Io { path, cause, .. } if cause.raw_os_error().is_none() => match cause.downcast::<Cause>() {
            Ok(cause) => archive.view().malformed("archive member", 0, cause).in_file(&path),
            Err(cause) => Error::UnreadableMember { path, why: format!("cannot be unpacked: {cause}") },
        },
        error => error,
    })?;
    Ok(Input::of_spool(name, spooled, archive.access())?.with_budget(budget.clone()))
}

/// A writer that charges decompressed bytes, because the stated size of a compressed member can be wrong. It also
/// counts the bytes of the archive that were read: at most as many.
struct Unpacking<'a, 'c, W> {
    to: W,
    comparison: Option<&'a mut RowComparison<'c>>,
    archive: &'a Input,
    budget: &'a Budget,
}

impl<W: Write> Write for Unpacking<'_, '_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let size = bytes.len() as u64;
        let charged = self.budget.charge(Resource::Decompressed, size);
        charged.map_err(|_| io::Error::other(self.budget.over_limit(Resource::Decompressed)))?;
        self.to.write_all(bytes)?;
        if let Some(comparison) = &mut self.comparison {
            let charged = self.budget.charge(Resource::Work, comparison.work(size));
            charged.map_err(io::Error::other)?;
            comparison.add(bytes);
        }
        Work::Decompressed.record(size);
        self.archive.count_read(size);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
