//! Aliases for `gimli`'s types over the sections of a device ELF file, and strings read from them.

use gimli::{Reader as _, Unit};

pub use super::sections::Reader;
use super::work::{Stop, Work};

pub type Dwarf<'a> = gimli::Dwarf<Reader<'a>>;
pub type UnitOf<'a> = Unit<Reader<'a>>;

/// A string of the file.
pub fn text(reader: &Reader<'_>, work: &mut Work) -> Result<String, Stop> {
    work.spend(reader.len())?;
    Ok(reader.to_string_lossy()?.into_owned())
}
