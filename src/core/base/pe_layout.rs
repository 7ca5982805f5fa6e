//! Offsets and sizes in the headers of PE files, from their declarations in the crate `object`.

use std::mem::offset_of;

use object::pe::{
    IMAGE_DIRECTORY_ENTRY_SECURITY, ImageDataDirectory, ImageDosHeader, ImageFileHeader, ImageNtHeaders64,
    ImageOptionalHeader32, ImageOptionalHeader64, ImageSectionHeader,
};

use super::bytes::View;

/// First bytes of a program for MS-DOS, such as the stub in front of the PE header.
pub const DOS_MAGIC: &[u8] = b"MZ";
const PE_MAGIC: &[u8] = b"PE\0\0";

/// Offsets in the header for MS-DOS: of the relocations' offset, and of the PE header's offset.
pub const E_LFARLC: u64 = offset_of!(ImageDosHeader, e_lfarlc) as u64;
pub const E_LFANEW: u64 = offset_of!(ImageDosHeader, e_lfanew) as u64;
pub const DOS_HEADER_SIZE: u64 = size_of::<ImageDosHeader>() as u64;

/// Offsets in the PE header, which are the same in both widths.
const FILE_HEADER: u64 = offset_of!(ImageNtHeaders64, file_header) as u64;
pub const SECTION_COUNT: u64 = FILE_HEADER + offset_of!(ImageFileHeader, number_of_sections) as u64;
pub const OPTIONAL_HEADER_SIZE: u64 = FILE_HEADER + offset_of!(ImageFileHeader, size_of_optional_header) as u64;
pub const OPTIONAL_HEADER: u64 = offset_of!(ImageNtHeaders64, optional_header) as u64;

/// Offsets in the optional header: of the checksum, and of the number of directories for each width. The directories
/// follow their number.
pub const CHECKSUM: u64 = offset_of!(ImageOptionalHeader64, check_sum) as u64;
pub const DIRECTORY_COUNT_32: u64 = offset_of!(ImageOptionalHeader32, number_of_rva_and_sizes) as u64;
pub const DIRECTORY_COUNT_64: u64 = offset_of!(ImageOptionalHeader64, number_of_rva_and_sizes) as u64;
pub const DIRECTORY_SIZE: u64 = size_of::<ImageDataDirectory>() as u64;

/// Offset of the directory with the certificates from the number of directories.
pub const CERTIFICATES: u64 = size_of::<u32>() as u64 + IMAGE_DIRECTORY_ENTRY_SECURITY as u64 * DIRECTORY_SIZE;

/// Offsets in the header of a section.
pub const RAW_SIZE: u64 = offset_of!(ImageSectionHeader, size_of_raw_data) as u64;
pub const RAW_START: u64 = offset_of!(ImageSectionHeader, pointer_to_raw_data) as u64;
pub const SECTION_HEADER_SIZE: u64 = size_of::<ImageSectionHeader>() as u64;

/// Returns everything from the PE header on.
pub fn pe_header(file: View<'_>) -> Option<View<'_>> {
    if !file.starts_with(DOS_MAGIC) {
        return None;
    }
    let header = file.from(file.u32("PE header offset", E_LFANEW).ok()?.into());
    header.starts_with(PE_MAGIC).then_some(header)
}

/// Returns everything from the optional header of a PE file on.
pub fn optional_header(file: View<'_>) -> Option<View<'_>> {
    pe_header(file).map(|header| header.from(OPTIONAL_HEADER))
}
