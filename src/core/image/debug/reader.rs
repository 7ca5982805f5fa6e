//! Aliases for `gimli`'s types over the sections of a device ELF file, and strings read from them.

use gimli::Reader as _;

use super::budget::{DwarfError, ParseBudget};
pub use super::sections::Reader;

/// The debug sections of a file.
pub type Dwarf<'a> = gimli::Dwarf<Reader<'a>>;
/// A unit of debug information.
pub type Unit<'a> = gimli::Unit<Reader<'a>>;

/// Reads a string of the file.
pub fn text(reader: &Reader<'_>, budget: ParseBudget<'_>) -> Result<String, DwarfError> {
    budget.charge_text(reader.len())?;
    Ok(reader.to_string_lossy()?.into_owned())
}
