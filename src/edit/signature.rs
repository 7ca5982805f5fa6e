//! Signatures in files. A change of the signed bytes breaks a signature, so it is refused unless it is requested.
//!
//! Sources: Microsoft, PE Format (attribute certificate table; `CheckSum`); Apple, `mach-o/loader.h`
//! (`LC_CODE_SIGNATURE`); Linux, `include/linux/module_signature.h`; Oracle, JAR File Specification (signed JAR file);
//! PyPA, Binary distribution format (signed wheel files).

use std::fmt;
use std::io::{self, Write};
use std::ops::Range;

use object::pe::{IMAGE_DIRECTORY_ENTRY_SECURITY, IMAGE_NT_OPTIONAL_HDR32_MAGIC, IMAGE_NT_OPTIONAL_HDR64_MAGIC};

use super::patch::{Patch, Patches};
use crate::base::bytes::{Extent, Resource, Table, View};
use crate::base::content::Content;
use crate::base::error::Malformed;
use crate::base::pe_layout;
use crate::base::range::range_at;

/// A signature of all of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signature {
    /// Authenticode, in the table of certificates of a PE file: the place of the table's address, and the table.
    Authenticode {
        /// Offset of the address and the size of the table in the headers.
        entry: u64,
        /// Range of the table.
        table: Range<u64>,
    },
    /// `LC_CODE_SIGNATURE` of a Mach-O file.
    MachO,
    /// After a module of the Linux kernel.
    Module {
        /// Range of the signature with its description.
        range: Range<u64>,
    },
    /// Of the members of a jar.
    Jar,
    /// Of the record of a wheel.
    Wheel,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Signature::Authenticode { .. } => "Authenticode",
            Signature::MachO => "LC_CODE_SIGNATURE",
            Signature::Module { .. } => "module signature",
            Signature::Jar => "jar",
            Signature::Wheel => "RECORD of a wheel",
        })
    }
}

impl Signature {
    /// Returns the signature of a file that is no archive.
    pub fn of(view: View<'_>) -> Option<Signature> {
        authenticode(view).or_else(|| module_signature(view)).or_else(|| {
            let is_signed = is_signed_macho(view) || universal_parts(view).any(is_signed_macho);
            is_signed.then_some(Signature::MachO)
        })
    }

    /// Returns the signature of an archive if a member with this name has it.
    pub fn of_member(name: &str) -> Option<Signature> {
        let is_of_record = |file: &str| matches!(file, "RECORD.jws" | "RECORD.p7s");
        if name.split_once(".dist-info/").is_some_and(|(package, file)| !package.contains('/') && is_of_record(file)) {
            return Some(Signature::Wheel);
        }
        Signature::is_of_jar(name).then_some(Signature::Jar)
    }

    fn is_of_jar(name: &str) -> bool {
        let name = name.to_ascii_uppercase();
        let signs = [".SF", ".RSA", ".DSA", ".EC"].iter().any(|suffix| name.ends_with(suffix));
        signs && name.strip_prefix("META-INF/").is_some_and(|file| !file.contains('/'))
    }

    /// Returns the patches that remove the signature, if that is possible. Tools that sign replace the other kinds.
    fn removal<'data>(&self, view: View<'_>) -> Vec<Patch<'data>> {
        let zeros = |range: Range<u64>| Patch::in_place(range, Content::new());
        let cut = |range: Range<u64>| Patch::resizing(range, Content::new());
        match self {
            Signature::Authenticode { entry, table } => {
                let address = zeros(range_at(*entry, pe_layout::DIRECTORY_SIZE));
                let table = if table.end == view.size() { Some(cut(table.clone())) } else { zeros(table.clone()) };
                address.into_iter().chain(table).collect()
            }
            Signature::Module { range } => vec![cut(range.clone())],
            Signature::MachO | Signature::Jar | Signature::Wheel => Vec::new(),
        }
    }
}

/// Returns the patches of a changed file, without its signature and with a right checksum if its headers state one.
/// `None` if patches overlap.
pub fn respected<'data>(
    view: View<'data>,
    patches: Patches<'data>,
    signature: Option<&Signature>,
) -> Result<Option<Patches<'data>>, Malformed> {
    let mut all: Vec<Patch<'data>> = patches.iter().cloned().collect();
    all.extend(signature.into_iter().flat_map(|signature| signature.removal(view)));
    let Some(place) = checksum_place(view) else { return Ok(Patches::new(all)) };
    let zeros = Patch::in_place(place.clone(), Content::new());
    let Some(without) = Patches::new(all.iter().cloned().chain(zeros).collect()) else { return Ok(None) };
    view.charge("PE checksum", Resource::Work, view.size() / BYTES_PER_STEP)?;
    let mut checksum = Checksum::default();
    without.copy_to(view, &mut checksum).expect("a sum can be written");
    all.extend(Patch::in_place(place, Content::from(checksum.finish().to_le_bytes().to_vec())));
    Ok(Patches::new(all))
}

/// Number of bytes that are summed in a step of work.
const BYTES_PER_STEP: u64 = 64;

/// Returns everything from the optional header of a PE file on.
fn optional_header(view: View<'_>) -> Option<View<'_>> {
    pe_layout::pe_header(view).map(|header| header.from(pe_layout::OPTIONAL_HEADER))
}

/// Returns the place of the checksum of a PE file, if it states one.
fn checksum_place(view: View<'_>) -> Option<Range<u64>> {
    let checksum = optional_header(view)?.from(pe_layout::CHECKSUM);
    let stated = checksum.u32("PE checksum", 0).ok()?;
    (stated != 0).then(|| range_at(checksum.range_in(view).start, 4))
}

fn authenticode(view: View<'_>) -> Option<Signature> {
    let header = optional_header(view)?;
    let magic = header.u16("PE optional header magic", 0).ok()?;
    let count = match magic {
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
    let entry = directory.range_in(view).start;
    (size > 0 && table.end <= view.size()).then_some(Signature::Authenticode { entry, table })
}

/// End of a signed module, and the size of the description before it. The description contains the size of the
/// signature at `MODULE_SIGNATURE_SIZE`, in big-endian order.
const MODULE_END: &[u8] = b"~Module signature appended~\n";
const MODULE_DESCRIPTION: u64 = 12;
const MODULE_SIGNATURE_SIZE: u64 = 8;

fn module_signature(view: View<'_>) -> Option<Signature> {
    if !view.data().ends_with(MODULE_END) {
        return None;
    }
    let end = view.size().checked_sub(MODULE_END.len() as u64)?;
    let description = end.checked_sub(MODULE_DESCRIPTION)?;
    let size = view.from(description).u32("module signature size", MODULE_SIGNATURE_SIZE).ok()?.swap_bytes();
    Some(Signature::Module { range: description.checked_sub(size.into())?..view.size() })
}

/// Magic of a 64-bit Mach-O file in little-endian order, offsets of the number of load commands and of the first one,
/// and the command of a signature.
const MACHO_64: &[u8] = b"\xcf\xfa\xed\xfe";
const COMMAND_COUNT: u64 = 16;
const FIRST_COMMAND: u64 = 32;
const LC_CODE_SIGNATURE: u32 = 0x1d;

fn is_signed_macho(view: View<'_>) -> bool {
    if !view.starts_with(MACHO_64) {
        return false;
    }
    let mut rest = view.from(FIRST_COMMAND);
    for _ in 0..view.u32("Mach-O command count", COMMAND_COUNT).unwrap_or(0) {
        let command = rest.u32("Mach-O load command", 0);
        let size = rest.u32("Mach-O load command size", 4).unwrap_or(0);
        if command == Ok(LC_CODE_SIGNATURE) {
            return true;
        }
        if size == 0 || view.charge("Mach-O load command", Resource::Work, 1).is_err() {
            return false;
        }
        rest = rest.from(size.into());
    }
    false
}

/// Magic of a universal Mach-O file, offset and size of its entries, and the maximum number of entries. Numbers are in
/// big-endian order. Java's classes have the same magic, but larger numbers in place of the number of entries.
const UNIVERSAL: &[u8] = b"\xca\xfe\xba\xbe";
const FIRST_ENTRY: u64 = 8;
const ENTRY_SIZE: u64 = 20;
const MAX_ENTRIES: u32 = 30;

/// Returns the files in a universal file.
fn universal_parts(view: View<'_>) -> impl Iterator<Item = View<'_>> {
    let count = if view.starts_with(UNIVERSAL) { view.u32("entry count", 4).unwrap_or(0).swap_bytes() } else { 0 };
    let count = if count <= MAX_ENTRIES { count } else { 0 };
    let table = Table { offset: FIRST_ENTRY, count: count.into(), entry_size: ENTRY_SIZE };
    view.table(view.field("entry", FIRST_ENTRY), table).into_iter().flatten().filter_map(move |entry| {
        let [start, size] = [8, 12].map(|field| entry.u32("entry", field).map(u32::swap_bytes));
        view.part(entry.field("entry", 0), Extent { offset: start.ok()?.into(), size: size.ok()?.into() }).ok()
    })
}

/// The checksum of PE files: the sum of all 16-bit numbers with the carry added, and the size.
#[derive(Debug, Default)]
struct Checksum {
    sum: u64,
    size: u64,
}

impl Checksum {
    fn finish(self) -> u32 {
        let mut sum = self.sum;
        while sum > 0xffff {
            sum = [sum & 0xffff, sum >> 16].iter().sum();
        }
        // The field has 32 bits.
        sum.wrapping_add(self.size) as u32
    }
}

impl Write for Checksum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for &byte in bytes {
            let is_high = !self.size.is_multiple_of(2);
            let value = if is_high { u64::from(byte) << 8 } else { byte.into() };
            self.sum = self.sum.wrapping_add(value);
            self.size = self.size.wrapping_add(1);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a PE file: a header and `body`, with a checksum, and a table of certificates after it.
    pub fn pe(body: &[u8], certificates: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0_u8; 0x200];
        bytes[..2].copy_from_slice(b"MZ");
        bytes[0x3c] = 0x80;
        bytes[0x80..0x84].copy_from_slice(b"PE\0\0");
        let optional = 0x80 + 24;
        bytes[optional..optional + 2].copy_from_slice(&IMAGE_NT_OPTIONAL_HDR64_MAGIC.to_le_bytes());
        bytes[optional + 64..optional + 68].copy_from_slice(&0x1234_u32.to_le_bytes());
        bytes[optional + 108] = 16;
        bytes.extend(body);
        if !certificates.is_empty() {
            let start = (bytes.len() as u32).to_le_bytes();
            bytes[optional + 144..optional + 148].copy_from_slice(&start);
            bytes[optional + 148..optional + 152].copy_from_slice(&(certificates.len() as u32).to_le_bytes());
            bytes.extend(certificates);
        }
        bytes
    }

    #[test]
    fn the_table_of_certificates_is_removed_and_the_checksum_is_right() {
        let signed = pe(&[7; 99], &[9; 64]);
        let view = View::new(&signed);
        let signature = Signature::of(view).unwrap();
        assert_eq!(signature.to_string(), "Authenticode");
        let patches = Patches::new(vec![Patch::in_place(0x200..0x210, Content::from(vec![1; 16])).unwrap()]).unwrap();
        let result = respected(view, patches, Some(&signature)).unwrap().unwrap().to_vec(view);
        assert_eq!(Signature::of(View::new(&result)), None);
        let mut expected = pe(&[&[1; 16][..], &[7; 83]].concat(), &[]);
        let place = 0x80 + 24 + 64;
        // The sum of the words with the carry, and the size.
        expected[place..place + 4].fill(0);
        let words = expected.chunks(2).map(|word| u64::from(word[0]) | u64::from(*word.get(1).unwrap_or(&0)) << 8);
        let sum = words.fold(0_u64, |sum, word| {
            let sum = sum + word;
            (sum & 0xffff) + (sum >> 16)
        });
        let checksum = (sum as u32 + expected.len() as u32).to_le_bytes();
        expected[place..place + 4].copy_from_slice(&checksum);
        assert!(result == expected);
        assert_eq!(Signature::of(View::new(&pe(&[7; 99], &[]))), None);
    }

    #[test]
    fn signatures_of_modules_and_mach_o_files_are_found() {
        let module = [b"module".as_slice(), &[5; 300], &[0; 8], &300_u32.to_be_bytes(), MODULE_END].concat();
        let view = View::new(&module);
        let signature = Signature::of(view).unwrap();
        assert_eq!(respected(view, Patches::default(), Some(&signature)).unwrap().unwrap().to_vec(view), b"module");
        assert_eq!(Signature::of(View::new(&module[..module.len() - 1])), None);

        let macho = |command: u32| {
            let mut bytes = [MACHO_64, &[0; 28]].concat();
            bytes[16] = 2;
            for command in [2, command] {
                bytes.extend([command, 16, 0, 0].map(u32::to_le_bytes).concat());
            }
            bytes
        };
        let universal = |part: &[u8]| {
            let entry = [7, 3, 28, part.len() as u32, 0].map(u32::to_be_bytes).concat();
            [UNIVERSAL, &1_u32.to_be_bytes(), &entry, part].concat()
        };
        for (command, expected) in [(LC_CODE_SIGNATURE, Some(Signature::MachO)), (3, None)] {
            assert_eq!(Signature::of(View::new(&macho(command))), expected);
            assert_eq!(Signature::of(View::new(&universal(&macho(command)))), expected);
        }
    }

    #[test]
    fn members_that_sign_a_jar_are_at_the_top_of_its_metadata() {
        let names = ["META-INF/A.SF", "meta-inf/x.rsa", "META-INF/a/B.SF", "META-INF/MANIFEST.MF", "A.SF"];
        assert_eq!(names.map(Signature::is_of_jar), [true, true, false, false, false]);
        let names = [
            "p-1.dist-info/RECORD.jws",
            "p-1.dist-info/RECORD.p7s",
            "a/p-1.dist-info/RECORD.jws",
            "p-1.dist-info/RECORD",
        ];
        let is_wheel = |name| Signature::of_member(name) == Some(Signature::Wheel);
        assert_eq!(names.map(is_wheel), [true, true, false, false]);
    }

    #[test]
    fn truncated_and_damaged_files_do_not_panic() {
        let signed = pe(&[7; 99], &[9; 64]);
        for at in 0..signed.len() {
            Signature::of(View::new(&signed[..at]));
            let mut damaged = signed.clone();
            damaged[at] ^= 0xff;
            let view = View::new(&damaged);
            let _ = respected(view, Patches::default(), Signature::of(view).as_ref());
        }
    }
}
