//! The index: a table of all files, their names, addresses, sizes and hashes, in the order of the files.
//!
//! It refers to every file, so a linker that keeps it keeps all of them.

use super::error::EmbedError;
use super::{EmbeddedFile, FileAddresses, PlanBuilder};
use fatbin_core::host::{Data, Definition, Field, PlanSection, SectionKind};

/// Size of an entry in bytes: two pointers, a number, a hash.
const ENTRY_SIZE: u64 = 8 + 8 + 8 + 32;

/// Suffix of the variable with the number of entries.
pub const COUNT: &str = "_count";

/// Adds the table `name` and the variable with the number of its entries.
pub fn add(
    builder: &mut PlanBuilder<'_, '_>,
    name: &str,
    files: &[EmbeddedFile<'_>],
    addresses: &[FileAddresses],
) -> Result<(), EmbedError> {
    let parsed = super::Name::parse(name)?;
    if !parsed.namespaces().is_empty() {
        let problem = "the index is a variable of C, without namespaces";
        return Err(EmbedError::InvalidName { name: name.to_owned(), problem });
    }
    let count_name = format!("{name}{COUNT}");
    builder.names.define(name, format!("the index {name}"))?;
    builder.names.define(&count_name, format!("the number of entries of the index {name}"))?;
    let mut fields = Vec::new();
    for (file, addresses) in files.iter().zip(addresses) {
        fields.push(Field::Pointer(addresses.name));
        fields.push(Field::Pointer(addresses.bytes));
        fields.push(Field::U64(file.bytes.len() as u64));
        fields.extend(file.sha256.unwrap_or_default().map(Field::U8));
    }
    fields.push(Field::U64(files.len() as u64));

    let options = builder.options;
    let size = ENTRY_SIZE * files.len() as u64;
    let section = builder.object.next_section();
    let mut define = |name: &str, offset, size| {
        builder.object.scoped_symbol(name, Definition::Data { section, offset, size }, options.scope());
    };
    define(name, 0, size);
    define(&count_name, size, 8);
    let kind = if options.retain { SectionKind::RetainedWritable } else { SectionKind::Writable };
    let section = PlanSection::new(format!(".data.rel.ro.{name}"), kind, 8, Data::Fields(fields));
    builder.object.section(section);
    Ok(())
}
