//! Objects for the tests of all readers: sections that share one long name.

/// Returns an ELF object with sections that share the name at the start of a string table.
pub fn elf_sharing_a_name(count: u64, strings: &[u8]) -> Vec<u8> {
    let table = 64 + strings.len() as u64;
    let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let header = [1 | 62 << 16 | 1 << 32, 0, 0, table, 64 << 32, 64 << 16 | count << 32 | 1 << 48];
    bytes.extend(header.iter().flat_map(|word| word.to_le_bytes()));
    bytes.extend(strings);
    let section = |section_type: u64, offset, size| [section_type << 32, 0, 0, offset, size, 0, 1, 0];
    let names = section(3, 64, strings.len() as u64);
    let others = (2..count).map(|_| section(1, 0, 0));
    let sections = [[0; 8], names].into_iter().chain(others).flatten();
    bytes.extend(sections.flat_map(u64::to_le_bytes));
    bytes
}

/// Returns a COFF object with sections that share the name at the start of a string table.
pub fn coff_sharing_a_name(count: u16, strings: &[u8]) -> Vec<u8> {
    let mut bytes = [0x8664_u16.to_le_bytes(), count.to_le_bytes()].concat();
    let symbols = 20 + 40 * u32::from(count);
    bytes.extend([0, symbols, 0, 0].into_iter().flat_map(u32::to_le_bytes));
    for _ in 0..count {
        bytes.extend(b"/4");
        bytes.extend([0; 38]);
    }
    bytes.extend((4 + strings.len() as u32).to_le_bytes());
    bytes.extend(strings);
    bytes
}

/// Objects with a thousand sections that share a name of one megabyte, with and without its end.
pub fn objects_sharing_a_long_name(prefix: &[u8]) -> [Vec<u8>; 4] {
    let unterminated = [prefix, &[b'a'; 1 << 20]].concat();
    let terminated = [&unterminated[..], &[0]].concat();
    let [elf, coff] = [elf_sharing_a_name(1000, &terminated), coff_sharing_a_name(1000, &terminated)];
    [elf, coff, elf_sharing_a_name(1000, &unterminated), coff_sharing_a_name(1000, &unterminated)]
}
