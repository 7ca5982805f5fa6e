//! The blocks of text that describe entries.

use fatbin_core::format::cuda_fatbin::{EntryHeader, FatbinEntry, flag, kind};

/// Word for a host that the flags do not state.
const UNKNOWN_HOST: &str = "<unknown>";

/// Hosts and their flags, in the order the tool tests them.
const HOSTS: [(u64, &str); 3] = [(flag::LINUX, "linux"), (flag::MAC, "mac"), (flag::WINDOWS, "windows")];

/// Names that the tool gives to the kinds of entries.
const KINDS: [(u16, &str); 9] = [
    (0, "<invalid kind>"),
    (kind::PTX, "ptx"),
    (kind::ELF, "elf"),
    (kind::CUBIN, "cubin"),
    (kind::NVVM, "nvvm"),
    (kind::INDEX, "index"),
    (kind::RELOCATABLE_PTX, "relocatable ptx"),
    (kind::TILE_IR, "tile ir"),
    (kind::GROUP, "concatenated entry"),
];

const UNKNOWN_KIND: &str = "<unknown kind>";

/// Names of an entry's options, by its kind.
const OPTIONS: [(u16, &str); 4] = [
    (kind::PTX, "ptxasOptions"),
    (kind::RELOCATABLE_PTX, "ptxasOptions"),
    (kind::NVVM, "nvvmOptions"),
    (kind::TILE_IR, "tileIROptions"),
];

/// Architecture of an entry, from its header.
pub fn arch(header: &EntryHeader) -> String {
    let suffix = match header.flags & (flag::SPECIFIC | flag::FAMILY) {
        0 => "",
        flag::FAMILY => "f",
        _ => "a",
    };
    format!("sm_{}{suffix}", header.arch_number)
}

/// Name and text of an entry's options; `None` if it has none.
pub fn options(entry: &FatbinEntry<'_>) -> Option<(&'static str, String)> {
    let (_, name) = OPTIONS.iter().find(|(kind, _)| *kind == entry.header.kind)?;
    Some((name, text(entry.options?.data())))
}

/// Text of an identifier or of options, up to the first NUL.
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Describes an entry as a block of text. The lines of an image in a group begin with a tab.
pub fn block(entry: &FatbinEntry<'_>, is_in_group: bool) -> String {
    let header = &entry.header;
    let name = KINDS.iter().find(|(kind, _)| *kind == header.kind).map_or(UNKNOWN_KIND, |(_, name)| name);
    let title = format!("Fatbin {name} code:");
    let mut lines = vec!["=".repeat(title.len())];
    lines.insert(0, title);
    if ![kind::INDEX, kind::GROUP].contains(&header.kind) {
        lines.push(format!("arch = {}", arch(header)));
    }
    let (major, minor) = header.code_version;
    lines.push(format!("code version = [{major},{minor}]"));
    let host = HOSTS.iter().find(|(flag, _)| header.flags & flag != 0).map_or(UNKNOWN_HOST, |(_, host)| host);
    lines.push(format!("host = {host}"));
    lines.push(format!("compile_size = {}", if header.flags & flag::BITS_64 != 0 { "64bit" } else { "32bit" }));
    if header.flags & flag::DEBUG != 0 {
        lines.push("has debug info".to_owned());
    }
    if header.flags & (flag::LZ4 | flag::ZSTD) != 0 {
        lines.push("compressed".to_owned());
    }
    lines.extend(entry.identifier.map(|identifier| format!("identifier = {}", text(identifier.data()))));
    lines.extend(options(entry).map(|(name, options)| format!("{name} = {options}")));
    let indent = if is_in_group { "\t" } else { "" };
    lines.iter().fold("\n".to_owned(), |block, line| format!("{block}{indent}{line}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fatbin_core::base::bytes::View;
    use fatbin_core::base::codec::Codec;

    fn entry(header: EntryHeader) -> FatbinEntry<'static> {
        let codec = Codec::None;
        FatbinEntry { header, codec, part: None, identifier: None, options: None, image: View::new(&[]) }
    }

    fn header(kind: u16, flags: u64) -> EntryHeader {
        EntryHeader {
            kind,
            header_size: 64,
            stored_size: 0,
            compressed_size: 0,
            options_offset: 0,
            code_version: (1, 8),
            arch_number: 90,
            name_offset: 0,
            name_size: 0,
            flags,
            reserved: 0,
            full_size: 0,
        }
    }

    /// The output of cuobjdump 13.5.
    #[test]
    fn prints_the_lines_that_apply() {
        let full = FatbinEntry {
            identifier: Some(View::new(b"src/foo.cu\0x")),
            options: Some(View::new(b"-v")),
            ..entry(header(kind::PTX, flag::BITS_64 | flag::DEBUG | flag::LINUX | flag::ZSTD | flag::SPECIFIC))
        };
        let lines = "\n\tFatbin ptx code:\n\t================\n\tarch = sm_90a\n\tcode version = [1,8]\n\thost = linux\n\t\
                     compile_size = 64bit\n\thas debug info\n\tcompressed\n\tidentifier = src/foo.cu\n\tptxasOptions = -v\n";
        assert_eq!(block(&full, true), lines);
        let index =
            "\nFatbin index code:\n==================\ncode version = [1,8]\nhost = <unknown>\ncompile_size = 32bit\n";
        assert_eq!(block(&entry(header(kind::INDEX, 0)), false), index);
        let unknown = block(&entry(header(3, flag::WINDOWS | flag::FAMILY)), false);
        assert!(unknown.starts_with("\nFatbin <unknown kind> code:\n===========================\narch = sm_90f\n"));
        assert!(unknown.contains("host = windows\n"), "{unknown}");
    }
}
