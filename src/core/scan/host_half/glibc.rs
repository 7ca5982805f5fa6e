//! Dependencies that glibc demands of a file before it loads it.

use object::elf::{self, FileHeader32, FileHeader64};
use object::read::FileKind;
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, Pod};

use crate::base::bytes::View;
use crate::base::error::{Cause, Malformed};

/// Version that a file with packed relocations depends on, so that an older loader refuses it.
const PACKED: &[u8] = b"GLIBC_ABI_DT_RELR";

/// Start of the name of glibc's library. A file that does not need it is not checked.
const LIBRARY: &[u8] = b"libc.so.";

/// Returns the defect of a host file with packed relocations that does not depend on the version for them. glibc 2.36
/// and later refuse it. Source: glibc, elf/dl-version.c (`_dl_check_map_versions`).
pub fn defects(host: View<'_>) -> Option<Malformed> {
    match FileKind::parse(host.data()) {
        Ok(FileKind::Elf32) => packed_without_version::<FileHeader32<Endianness>>(host),
        Ok(FileKind::Elf64) => packed_without_version::<FileHeader64<Endianness>>(host),
        _ => None,
    }
}

fn packed_without_version<Header: FileHeader<Endian = Endianness> + Pod>(host: View<'_>) -> Option<Malformed> {
    let header = Header::parse(host.data()).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, host.data()).ok()?;
    let table = segments.iter().find_map(|segment| segment.dynamic(endian, host.data()).ok().flatten())?;
    if !table.iter().any(|entry| entry.d_tag(endian) == elf::DT_RELR) {
        return None;
    }
    let sections = header.sections(endian, host.data()).ok()?;
    let (mut needed, strings) = sections.iter().find_map(|section| {
        let (needed, strings) = section.gnu_verneed(endian, host.data()).ok()??;
        let strings = sections.strings(endian, host.data(), strings).ok()?;
        Some(((needed, section.sh_offset(endian).into()), strings))
    })?;
    while let Ok(Some((library, mut versions))) = needed.0.next() {
        if !library.file(endian, strings).is_ok_and(|name| name.starts_with(LIBRARY)) {
            continue;
        }
        while let Ok(Some(version)) = versions.next() {
            if version.name(endian, strings).is_ok_and(|name| name == PACKED) {
                return None;
            }
        }
        let cause = "packed relocations (DT_RELR) without a dependency on GLIBC_ABI_DT_RELR, which glibc refuses";
        return Some(host.malformed("versions needed", needed.1, Cause::Described(cause.to_owned())));
    }
    None
}
