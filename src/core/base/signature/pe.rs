//! Signatures of PE files.

use object::pe::{
    COMIMAGE_FLAGS_STRONGNAMESIGNED, IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR, IMAGE_DIRECTORY_ENTRY_SECURITY,
    IMAGE_NT_OPTIONAL_HDR32_MAGIC, IMAGE_NT_OPTIONAL_HDR64_MAGIC, ImageCor20Header, ImageNtHeaders32, ImageNtHeaders64,
};
use object::read::FileKind;
use object::read::pe::{ImageNtHeaders, PeFile};
use object::{LittleEndian as LE, pod};

use super::Removal;
use crate::base::bytes::View;
use crate::base::pe_layout;
use crate::base::range::range_at;

/// Returns the table of certificates. Its address in the headers becomes zero.
pub fn certificates(view: View<'_>) -> Option<Removal> {
    let header = pe_layout::optional_header(view)?;
    let count = match header.u16("PE optional header magic", 0).ok()? {
        IMAGE_NT_OPTIONAL_HDR32_MAGIC => header.from(pe_layout::DIRECTORY_COUNT_32),
        IMAGE_NT_OPTIONAL_HDR64_MAGIC => header.from(pe_layout::DIRECTORY_COUNT_64),
        _ => return None,
    };
    if count.u32("PE directory count", 0).ok()? as usize <= IMAGE_DIRECTORY_ENTRY_SECURITY {
        return None;
    }
    let directory = count.from(pe_layout::CERTIFICATES);
    let start = u64::from(directory.u32("PE certificate table", 0).ok()?);
    let size = u64::from(directory.u32("PE certificate table size", 4).ok()?);
    let table = range_at(start, size);
    if size == 0 || table.end > view.size() {
        return None;
    }
    let address = range_at(directory.range_in(view).start, pe_layout::DIRECTORY_SIZE);
    Some(if table.end == view.size() {
        Removal { zeros: vec![address], cut: Some(table) }
    } else {
        Removal { zeros: vec![address, table], cut: None }
    })
}

/// Returns whether a .NET assembly has a strong name. Nothing removes it: the names of the assemblies that use it
/// contain its key. An assembly that is to be signed later has zeros in its place.
pub fn strong_name(view: View<'_>) -> Option<Removal> {
    let is_signed = match FileKind::parse(view.data()) {
        Ok(FileKind::Pe32) => has_strong_name::<ImageNtHeaders32>(view),
        Ok(FileKind::Pe64) => has_strong_name::<ImageNtHeaders64>(view),
        _ => None,
    };
    is_signed?.then(Removal::default)
}

fn has_strong_name<Pe: ImageNtHeaders>(view: View<'_>) -> Option<bool> {
    let file = PeFile::<Pe>::parse(view.data()).ok()?;
    let sections = file.section_table();
    let directory = file.data_directories().get(IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR)?;
    let header = directory.data(view.data(), &sections).ok()?;
    let (header, _) = pod::from_bytes::<ImageCor20Header>(header).ok()?;
    if header.flags.get(LE).0 & COMIMAGE_FLAGS_STRONGNAMESIGNED.0 == 0 {
        return None;
    }
    let signature = header.strong_name_signature.data(view.data(), &sections).ok()?;
    Some(signature.iter().any(|&byte| byte != 0))
}
