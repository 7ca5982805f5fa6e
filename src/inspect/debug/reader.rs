//! Aliases for `gimli`'s types over the sections of a device ELF file, and strings read from them.

use gimli::Reader as _;

use super::budget::{DwarfError, ParseBudget};
pub use super::sections::Reader;

pub type Dwarf<'a> = gimli::Dwarf<Reader<'a>>;
pub type Unit<'a> = gimli::Unit<Reader<'a>>;

/// Reads a string of the file.
pub fn text(reader: &Reader<'_>, budget: &mut ParseBudget) -> Result<String, DwarfError> {
    budget.charge(reader.len())?;
    Ok(reader.to_string_lossy()?.into_owned())
}
