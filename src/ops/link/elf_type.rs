//! The type of an ELF file, which distinguishes linked images and libraries from objects.

use object::elf::FileType;
use object::read::FileKind;

use fatbin_core::base::bytes::View;
use fatbin_core::base::elf_layout::{ELF64, is_big_endian};

/// Type of an ELF file of either byte order; `None` for any other file.
pub fn elf_type(view: View<'_>) -> Option<FileType> {
    FileKind::parse(view.data()).ok().filter(|kind| matches!(kind, FileKind::Elf32 | FileKind::Elf64))?;
    let value = view.u16("ELF type", ELF64.e_type).ok()?;
    Some(FileType(if is_big_endian(view.data()) { value.swap_bytes() } else { value }))
}

#[cfg(test)]
mod tests {
    use object::elf;

    use super::*;

    #[test]
    fn both_byte_orders_are_read_and_other_files_have_no_type() {
        let header = |order: u8, value: [u8; 2]| {
            let mut bytes = [b"\x7fELF\x02", &[order, 1][..], &[0; 9], &value].concat();
            bytes.resize(64, 0);
            bytes
        };
        assert_eq!(elf_type(View::new(&header(1, [3, 0]))), Some(elf::ET_DYN));
        assert_eq!(elf_type(View::new(&header(2, [0, 3]))), Some(elf::ET_DYN));
        assert_eq!(elf_type(View::new(&header(2, [0, 1]))), Some(elf::ET_REL));
        for bytes in [&b""[..], b"\x7fELF", b"!<arch>\n", &header(1, [3, 0])[..17]] {
            assert_eq!(elf_type(View::new(bytes)), None, "{bytes:?}");
        }
    }
}
