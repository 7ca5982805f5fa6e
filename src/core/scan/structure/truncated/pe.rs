//! PE executables and libraries: headers, sections, the symbol table and the certificates.

use object::read::pe::ImageNtHeaders;
use object::{LittleEndian as LE, pe};

use super::{coff, require};
use crate::base::bytes::View;
use crate::base::error::Malformed;
use crate::base::pe_layout::{DOS_HEADER_SIZE, DOS_MAGIC, E_LFANEW, E_LFARLC, OPTIONAL_HEADER, OPTIONAL_HEADER_SIZE};

/// Checks an MS-DOS program whose PE header is missing. MS-DOS programs have relocations in place of the PE header's
/// offset.
pub fn check_stub(view: View<'_>) -> Result<(), Malformed> {
    let Ok(relocations) = view.u16("MS-DOS header", E_LFARLC) else { return Ok(()) };
    let Ok(header) = view.u32("MS-DOS header", E_LFANEW) else { return Ok(()) };
    if !view.starts_with(DOS_MAGIC) || u64::from(relocations) < DOS_HEADER_SIZE || u64::from(header) < DOS_HEADER_SIZE {
        return Ok(());
    }
    check_headers(view, header.into())
}

fn check_headers(view: View<'_>, at: u64) -> Result<(), Malformed> {
    require(view, "PE header", at, OPTIONAL_HEADER)?;
    let optional = view.from(at).u16("PE header", OPTIONAL_HEADER_SIZE).unwrap_or_default();
    require(view.from(at), "PE optional header", OPTIONAL_HEADER, optional.into())
}

/// Checks headers, sections, symbols and certificates.
pub fn check<Pe: ImageNtHeaders>(view: View<'_>) -> Result<(), Malformed> {
    let at = u64::from(view.u32("MS-DOS header", E_LFANEW)?);
    check_headers(view, at)?;
    let mut sections_at = at;
    let Ok((headers, directories)) = Pe::parse(view.data(), &mut sections_at) else { return Ok(()) };
    coff::check_parts(view, headers.file_header(), sections_at)?;
    match directories.get(pe::IMAGE_DIRECTORY_ENTRY_SECURITY) {
        // The only directory whose address is an offset in the file.
        Some(certificates) if certificates.virtual_address.get(LE) != 0 => {
            let offset = certificates.virtual_address.get(LE);
            let size = certificates.size.get(LE);
            require(view, "PE certificates", offset.into(), size.into())
        }
        _ => Ok(()),
    }
}
