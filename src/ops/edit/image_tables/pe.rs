//! Pointers of PE files: stored, and moved by base relocations.

use std::ops::Range;

use object::LittleEndian as LE;
use object::endian::Endianness;
use object::pe::{IMAGE_REL_BASED_DIR64, IMAGE_REL_BASED_HIGHLOW, IMAGE_SCN_CNT_CODE, IMAGE_SCN_MEM_EXECUTE};
use object::read::pe::{ImageNtHeaders, ImageOptionalHeader, PeFile};

use super::super::Result;
use super::Host;
use super::loaded::{Fixups, LoadedFile, outside};
use fatbin_core::base::bytes::View;
use fatbin_core::base::range::{offset_from, range_at};

/// Reads the headers and the base relocations.
pub fn read<'data, Pe: ImageNtHeaders>(view: View<'data>, containers: &[Range<u64>]) -> Result<Host<'data>> {
    let Ok(pe) = PeFile::<Pe>::parse(view.data()) else { return Ok(Host::Unknown) };
    let base = pe.nt_headers().optional_header().image_base();
    let sections = pe.section_table();
    let mut segments = Vec::new();
    let mut data = Vec::new();
    for section in sections.iter() {
        let (offset, size) = section.pe_file_range();
        let range = range_at(offset.into(), size.into());
        let flags = section.characteristics.get(LE);
        if flags.0 & (IMAGE_SCN_CNT_CODE.0 | IMAGE_SCN_MEM_EXECUTE.0) == 0 {
            data.push(range.clone());
        }
        segments.push((range, offset_from(base, section.virtual_address.get(LE).into())));
    }
    let pointer = if pe.nt_headers().is_type_64() { 8 } else { 4 };
    let data = outside(data.into_iter(), containers);
    let fixups = Fixups::Listed(Vec::new());
    let file = LoadedFile { view, endian: Endianness::Little, pointer, segments, data, fixups };
    let Ok(blocks) = pe.data_directories().relocation_blocks(view.data(), &sections) else { return Ok(Host::Unknown) };
    let mut listed = Vec::new();
    for block in blocks.into_iter().flatten() {
        let Ok(block) = block else { return Ok(Host::Unknown) };
        for relocation in block {
            if [IMAGE_REL_BASED_DIR64, IMAGE_REL_BASED_HIGHLOW].contains(&relocation.typ) {
                let address = offset_from(base, relocation.virtual_address.into());
                listed.extend(file.moved(address, relocation.typ.0.into())?);
            }
        }
    }
    Ok(Host::Loaded(file.with_fixups(listed)))
}
