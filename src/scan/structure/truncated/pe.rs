//! PE executables and libraries: headers, sections, the symbol table and the certificates.

use object::LittleEndian as LE;
use object::pe;
use object::read::pe::ImageNtHeaders;

use super::{coff, require};
use crate::base::bytes::View;
use crate::base::error::Malformed;

/// Fields of the MS-DOS header: the offset of its relocations, and the offset of the PE header (PE format, MS-DOS
/// stub).
const DOS_RELOCATIONS: u64 = 0x18;
const DOS_HEADER_SIZE: u64 = 0x40;
const PE_HEADER: u64 = 0x3c;

/// Size of the signature and the COFF header, and offset of the field for the size of the optional header.
const SIGNATURE_SIZE: u64 = 4;
const FIXED_SIZE: u64 = SIGNATURE_SIZE + 20;
const OPTIONAL_SIZE: u64 = SIGNATURE_SIZE + 16;

/// Checks an MS-DOS program whose PE header is missing. MS-DOS programs have relocations in place of the PE header's
/// offset.
pub fn check_stub(view: View<'_>) -> Result<(), Malformed> {
    let (Ok(relocations), Ok(header)) =
        (view.u16("MS-DOS header", DOS_RELOCATIONS), view.u32("MS-DOS header", PE_HEADER))
    else {
        return Ok(());
    };
    if !view.starts_with(b"MZ") || u64::from(relocations) < DOS_HEADER_SIZE || u64::from(header) < DOS_HEADER_SIZE {
        return Ok(());
    }
    check_headers(view, header.into())
}

fn check_headers(view: View<'_>, at: u64) -> Result<(), Malformed> {
    require(view, "PE header", at, FIXED_SIZE)?;
    let optional = view.from(at).u16("PE header", OPTIONAL_SIZE).unwrap_or_default();
    require(view.from(at), "PE optional header", FIXED_SIZE, optional.into())
}

/// Checks headers, sections, symbols and certificates.
pub fn check<Pe: ImageNtHeaders>(view: View<'_>) -> Result<(), Malformed> {
    let at = u64::from(view.u32("MS-DOS header", PE_HEADER)?);
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
