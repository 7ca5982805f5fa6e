//! Parts of an object that every format has: the code back to back, structures as bytes, and the place of payloads.

use object::Endianness;

use super::architecture::Architecture;
use super::assembler::CompiledFunction;
use super::plan::Field;
use super::symbol::SymbolAddress;
use crate::base::content::Content;

/// Section of the functions. A linker places it with other code that runs once.
pub const TEXT: &str = ".text.startup";

/// The functions of an object, back to back.
#[derive(Debug)]
pub struct Code {
    /// Each function.
    pub functions: Vec<CompiledFunction>,
    /// Offset of each function.
    pub starts: Vec<u64>,
    /// Machine code of all functions, with fillers between them.
    pub bytes: Vec<u8>,
}

impl Code {
    /// Places functions at their alignment.
    pub fn new(architecture: &Architecture, functions: Vec<CompiledFunction>) -> Code {
        let mut bytes = Vec::new();
        let mut starts = Vec::new();
        for function in &functions {
            let start = bytes.len().next_multiple_of(architecture.function_alignment as usize);
            let gap = start - bytes.len();
            bytes.extend(architecture.fill.iter().cycle().take(gap));
            bytes.extend(&function.bytes);
            starts.push(start as u64);
        }
        Code { functions, starts, bytes }
    }

    /// Returns offset and size of a function.
    pub fn place(&self, function: usize) -> (u64, u64) {
        (self.starts[function], self.functions[function].bytes.len() as u64)
    }

    /// Returns each function with its offset.
    pub fn placed(&self) -> impl Iterator<Item = (u64, &CompiledFunction)> {
        self.starts.iter().copied().zip(&self.functions)
    }
}

/// Structures as bytes.
#[derive(Debug, Default)]
pub struct EncodedFields {
    /// Bytes, with zeros in place of addresses.
    pub bytes: Vec<u8>,
    /// Offset of each address, and the address.
    pub pointers: Vec<(u64, SymbolAddress)>,
}

impl EncodedFields {
    /// Encodes fields in the byte order of a machine.
    pub fn new(fields: &[Field], endianness: Endianness) -> EncodedFields {
        let mut encoded = EncodedFields::default();
        for field in fields {
            match *field {
                Field::U8(value) => encoded.bytes.push(value),
                Field::U16(value) => encoded.push(value.to_le_bytes(), endianness),
                Field::U32(value) => encoded.push(value.to_le_bytes(), endianness),
                Field::U64(value) => encoded.push(value.to_le_bytes(), endianness),
                Field::Pointer(address) => {
                    encoded.pointers.push((encoded.bytes.len() as u64, address));
                    encoded.bytes.extend_from_slice(&[0; 8]);
                }
            }
        }
        encoded
    }

    /// Appends a number, given as its little-endian bytes.
    fn push<const N: usize>(&mut self, mut number: [u8; N], endianness: Endianness) {
        if endianness == Endianness::Big {
            number.reverse();
        }
        self.bytes.extend_from_slice(&number);
    }
}

/// Contents of a section of the object.
#[derive(Debug)]
pub enum SectionContent<'plan> {
    /// Contents that the plan has.
    Plan(&'plan Content<'plan>),
    /// Contents that the emitter has built, or joined.
    Own(Content<'plan>),
    /// This number of zero bytes, none of them in the file.
    Zero(u64),
}

impl<'plan> SectionContent<'plan> {
    /// Returns contents that the emitter has built.
    pub fn own(bytes: Vec<u8>) -> Self {
        SectionContent::Own(Content::from(bytes))
    }

    /// Returns the bytes in the file.
    pub fn in_file(&self) -> Option<&Content<'_>> {
        match self {
            SectionContent::Plan(content) => Some(content),
            SectionContent::Own(content) => Some(content),
            SectionContent::Zero(_) => None,
        }
    }

    /// Returns the contents as runs, so that more runs can be appended. Zeros that are not in the file stay so.
    pub fn into_runs(self) -> Self {
        match self {
            SectionContent::Plan(content) => SectionContent::Own(content.borrowed()),
            other => other,
        }
    }

    /// Returns the size in memory, in bytes.
    pub fn size(&self) -> u64 {
        match self {
            SectionContent::Zero(size) => *size,
            SectionContent::Plan(content) => content.size(),
            SectionContent::Own(content) => content.size(),
        }
    }

    /// Returns the offset in a file that may begin at `end`: at the alignment or, for a large payload, so that the
    /// payload is aligned. The gap is not part of any section and no linker copies it.
    pub fn file_offset(&self, end: u64, alignment: u64) -> u64 {
        let plain = end.next_multiple_of(alignment);
        let Some(before) = self.in_file().and_then(|content| content.first_run_of(LARGE_PAYLOAD)) else { return plain };
        let aligned = (end + before).next_multiple_of(PAYLOAD_ALIGNMENT) - before;
        if aligned.is_multiple_of(alignment) { aligned } else { plain }
    }
}

/// Smallest payload that is worth a gap before it, in bytes.
const LARGE_PAYLOAD: u64 = 1 << 20;

/// Alignment in the file that lets the kernel copy a payload fastest, in bytes. It copies in blocks of this size, and
/// one that straddles two blocks of the destination took 1.25 times as long on ext4 (Linux 6.18, 300 MB; a gap to 4 KiB
/// made it 1.2, to 16 KiB 1.1, to 64 KiB 1.0). File systems that share blocks instead of copying them need whole blocks
/// of at least 4 KiB.
const PAYLOAD_ALIGNMENT: u64 = 64 << 10;
