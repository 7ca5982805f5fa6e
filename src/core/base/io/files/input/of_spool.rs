//! Inputs that are files of a spool.

use std::path::Path;

use super::{Access, Bytes, Input};
use crate::base::error::{Error, Result};
use crate::base::io::files::descriptor::Descriptor;
use crate::base::io::files::mapping::Mapping;
use crate::base::io::files::spool::Spooled;

/// Maximum size of a spooled file that is read into memory, in bytes: mapping it takes longer.
const SMALL: u64 = 64 << 10;

impl Input {
    /// Opens a file of a spool, without a descriptor; `path` is its name in errors.
    pub(crate) fn of_spool(path: &Path, spooled: Spooled, access: Access) -> Result<Input> {
        let range = spooled.range();
        let bytes = if range.end - range.start <= SMALL {
            Bytes::Read(spooled.read().map_err(Error::io(path, "read"))?)
        } else {
            Bytes::Mapped(Mapping::of_range(spooled.file(), range).map_err(Error::io(path, "map"))?)
        };
        let input = Input::new(path.to_owned(), None, bytes, None, access);
        Ok(Input { spooled: Some(spooled), ..input })
    }

    /// Opens all files of a spool as one input, whose bytes the kernel can copy.
    #[doc(hidden)]
    pub fn of_whole_spool(path: &Path, whole: Spooled, access: Access) -> Result<Input> {
        let file = whole.file().try_clone().map_err(Error::io(path, "open"))?;
        let file = Descriptor::keep(file, u64::MAX);
        Ok(Input { file, ..Input::of_spool(path, whole, access)? })
    }

    /// Place of the bytes in a spool.
    pub(crate) fn spooled(&self) -> Option<&Spooled> {
        self.spooled.as_ref()
    }
}
