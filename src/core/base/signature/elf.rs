//! Signatures in ELF files, and after them.

use object::read::FileKind;
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, Pod, elf};

use super::Removal;
use crate::base::bytes::{ObjectBytes, View};

/// End of a signed module of the Linux kernel, and the size of the description before it. The description contains the
/// size of the signature at `MODULE_SIGNATURE_SIZE`, in big-endian order.
const MODULE_END: &[u8] = b"~Module signature appended~\n";
const MODULE_DESCRIPTION: u64 = 12;
const MODULE_SIGNATURE_SIZE: u64 = 8;

/// Returns the signature after a module.
pub fn module_signature(view: View<'_>) -> Option<Removal> {
    if !view.data().ends_with(MODULE_END) {
        return None;
    }
    let end = view.size().checked_sub(MODULE_END.len() as u64)?;
    let description = end.checked_sub(MODULE_DESCRIPTION)?;
    let size = view.from(description).u32("module signature size", MODULE_SIGNATURE_SIZE).ok()?.swap_bytes();
    let start = description.checked_sub(size.into())?;
    Some(Removal { cut: Some(start..view.size()), ..Removal::default() })
}

/// Sections with signatures. The runtime of every AppImage has its section, with zeros if it is not signed.
const SECTIONS: [&[u8]; 2] = [b".sha256_sig", b".SUNW_signature"];

/// Returns whether a section has a signature. Nothing removes it.
pub fn signature_section(view: View<'_>) -> Option<Removal> {
    let is_signed = match FileKind::parse(view.data()) {
        Ok(FileKind::Elf32) => has_section::<elf::FileHeader32<Endianness>>(view),
        Ok(FileKind::Elf64) => has_section::<elf::FileHeader64<Endianness>>(view),
        _ => None,
    };
    is_signed?.then(Removal::default)
}

fn has_section<Header: FileHeader<Endian = Endianness> + Pod>(view: View<'_>) -> Option<bool> {
    let data = ObjectBytes(view);
    let header = Header::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, data).ok()?;
    let is_signed = |section: &Header::SectionHeader| {
        let is_named = sections.section_name(endian, section).is_ok_and(|name| SECTIONS.contains(&name));
        is_named && section.data(endian, data).is_ok_and(|bytes| bytes.iter().any(|&byte| byte != 0))
    };
    Some(sections.iter().any(is_signed))
}
