//! ELF host files that end before their section headers, which linkers store at the end: the remains of a download.

use object::elf::{FileHeader32, FileHeader64};
use object::read::FileKind;
use object::read::elf::FileHeader;
use object::{Endianness, Pod};

use crate::bytes::View;
use crate::error::{Cause, Malformed};

/// Returns the defect of an ELF file whose header or section headers extend beyond its end; `None` for any other file.
pub fn defect(kind: FileKind, view: View<'_>) -> Option<Malformed> {
    match kind {
        FileKind::Elf32 => headers::<FileHeader32<Endianness>>(view),
        FileKind::Elf64 => headers::<FileHeader64<Endianness>>(view),
        _ => None,
    }
}

fn headers<Header: FileHeader<Endian = Endianness> + Pod>(view: View<'_>) -> Option<Malformed> {
    let (needed, available) = (size_of::<Header>() as u64, view.size());
    if available < needed {
        return Some(view.malformed("ELF header", 0, Cause::Truncated { needed, available }));
    }
    let header = Header::parse(view.data()).ok()?;
    let endian = header.endian().ok()?;
    let offset: u64 = header.e_shoff(endian).into();
    if offset == 0 {
        return None;
    }
    // A number that is too large for the header is in the first section header.
    let count = u64::from(header.e_shnum(endian).max(1));
    let needed = count * size_of::<Header::SectionHeader>() as u64;
    let available = view.size().saturating_sub(offset);
    (available < needed).then(|| view.malformed("section headers", offset, Cause::Truncated { needed, available }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: &[u8]) -> Option<String> {
        defect(FileKind::parse(bytes).unwrap(), View::new(bytes)).map(|defect| defect.to_string())
    }

    #[test]
    fn every_cut_into_the_section_headers_is_a_defect() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/answer-x86_64.so");
        let bytes = std::fs::read(path).unwrap();
        let offset = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
        let needed = usize::from(bytes[60]) * 64;
        assert_eq!(offset + needed, bytes.len(), "the headers end the file");
        assert_eq!(message(&bytes), None);
        for end in 16..bytes.len() {
            let expected = match end {
                ..64 => format!("ELF header at 0x0: truncated: need 64 bytes, {end} available"),
                _ => {
                    let available = end.saturating_sub(offset);
                    format!("section headers at {offset:#x}: truncated: need {needed} bytes, {available} available")
                }
            };
            assert_eq!(message(&bytes[..end]), Some(expected), "{end}");
        }
    }

    #[test]
    fn a_file_without_section_headers_is_intact() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/answer-x86_64.so");
        let mut bytes = std::fs::read(path).unwrap();
        bytes[40..48].fill(0);
        bytes[60..62].fill(0);
        assert_eq!(message(&bytes), None);
    }

    #[test]
    fn reads_headers_of_32_bits_in_big_endian_order() {
        let mut bytes = [0; 92];
        bytes[..7].copy_from_slice(b"\x7fELF\x01\x02\x01");
        bytes[32..36].copy_from_slice(&52_u32.to_be_bytes());
        bytes[48..50].copy_from_slice(&1_u16.to_be_bytes());
        assert_eq!(message(&bytes), None);
        let expected = "section headers at 0x34: truncated: need 40 bytes, 39 available";
        assert_eq!(message(&bytes[..91]).as_deref(), Some(expected));
    }
}
