//! An image as an entry, with the properties that its header states and those that the user specifies. The module's
//! documentation lists the differences from fatbinary.

use super::compress::{WriteError, compress, size_with};
use super::raw::{ALIGNMENT, EntryHeader, OptionBlock, codec_flag, flag, kind};
use crate::base::bytes::View;
use crate::base::codec::Compression;
use crate::base::content::Content;
use crate::base::elf_layout::{EI_ABIVERSION, ELF64};
use crate::base::error::{Cause, Malformed};
use crate::format::device_elf::{self, is_32_bit_cubin};
use crate::format::lto_ir::{self, LtoIr};
use crate::format::tile_ir::{self, TileIrVersion};
use crate::target::nvptx::{Arch, Ptx, Suffix};
use crate::target::triple;

/// Size of the shortest Tile IR that fatbinary 13.5 accepts, in bytes.
const TILE_IR_SIZE: u64 = 14;

/// Groups of images, in the order of the container: their kind, and whether they are cubins with Mercury code.
pub const GROUPS: [(u16, bool); 3] = [(kind::PTX, false), (kind::ELF, false), (kind::ELF, true)];

/// The header of an entry with its strings, and its payload without padding.
pub(super) struct EncodedEntry<'data> {
    pub header: Vec<u8>,
    pub payload: Content<'data>,
}

/// Operating system of the host, as an entry states it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HostSystem {
    /// Linux.
    #[default]
    Linux,
    /// macOS.
    Mac,
    /// Windows.
    Windows,
}

/// Language of the source. Entries stated it before CUDA 13.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// CUDA.
    Cuda,
    /// OpenCL.
    OpenCl,
}

/// A cubin, a PTX text, LTO-IR or Tile IR, and the properties that its entry states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FatbinImage<'data> {
    kind: u16,
    code_version: (u16, u16),
    arch: Arch,
    flags: u64,
    host: HostSystem,
    identifier: &'data [u8],
    /// Command line for ptxas (PTX) or the code generator (LTO-IR, Tile IR), whose entries always have one. For a
    /// cubin, its attributes.
    options: Option<&'data [u8]>,
    image: &'data [u8],
}

impl<'data> FatbinImage<'data> {
    /// Creates a member for a cubin or PTX. `suffix` is the suffix of a cubin's architecture if the user specifies it;
    /// otherwise it is read from the image, see [`crate::target::nvptx::Cubin::arch`].
    pub fn new(image: View<'data>, suffix: Option<Suffix>) -> Result<Self, Malformed> {
        let mut member = if image.starts_with(b"\x7fELF") {
            FatbinImage::of_cubin(image)?
        } else if let Some(ptx) = Ptx::read(image.data()) {
            let arch = Arch::parse(ptx.target);
            let arch = arch.ok_or_else(|| image.malformed("PTX target", 0, Cause::Unreadable))?;
            FatbinImage::of_ptx(image.data(), ptx.version, arch).with_64_bits(ptx.triple() != triple::NVPTX)
        } else {
            let value = u64::from(image.u32("CUDA image", 0)?);
            return Err(image.malformed("CUDA image", 0, Cause::Unexpected { value, expected: "a cubin or PTX" }));
        };
        member.arch.suffix = suffix.or(member.arch.suffix);
        Ok(member)
    }

    /// Creates a member for a PTX text with properties that the caller has determined.
    pub fn of_ptx(text: &'data [u8], version: (u16, u16), arch: Arch) -> Self {
        FatbinImage::compiled_by_the_driver(kind::PTX, version, arch, text)
    }

    /// Creates a member for LTO-IR, which is stored uncompressed: fatbinary scrambles what it compresses.
    pub fn of_lto_ir(image: View<'data>) -> Result<Self, Malformed> {
        let arch = LtoIr::read(image).arch;
        let arch = arch.ok_or_else(|| image.malformed("LTO-IR properties", 12, Cause::Unreadable))?;
        let [major, minor] = image.u16("LTO-IR version", lto_ir::VERSION_OFFSET)?.to_le_bytes();
        let version = (u16::from(major), u16::from(minor));
        Ok(FatbinImage::compiled_by_the_driver(kind::NVVM, version, arch, image.data()))
    }

    /// Creates a member for Tile IR bytecode, which states no architecture.
    pub fn of_tile_ir(image: View<'data>, arch: Arch) -> Result<Self, Malformed> {
        if !image.starts_with(&tile_ir::MAGIC) {
            let value = u64::from(image.u32("Tile IR magic", 0)?);
            return Err(image.malformed("Tile IR magic", 0, Cause::Unexpected { value, expected: "7F TileIR" }));
        }
        image.prefix("Tile IR header", TILE_IR_SIZE)?;
        let TileIrVersion { major, minor, tag } = TileIrVersion::read(image)?;
        // The entry repeats major and minor version in one field.
        let version = (u16::from_be_bytes([major, minor]), tag);
        Ok(FatbinImage::compiled_by_the_driver(kind::TILE_IR, version, arch, image.data()))
    }

    /// Creates a member for code whose entry has options for a compiler.
    fn compiled_by_the_driver(kind: u16, code_version: (u16, u16), arch: Arch, image: &'data [u8]) -> Self {
        let flags = flag::BITS_64;
        let host = HostSystem::Linux;
        let options = Some(&b""[..]);
        FatbinImage { kind, code_version, arch, flags, host, identifier: b"", options, image }
    }

    /// Creates a member for a cubin.
    pub fn of_cubin(image: View<'data>) -> Result<Self, Malformed> {
        let Some(cubin) = device_elf::read(image)?.cubin else {
            let value = u64::from(image.u16("ELF machine", ELF64.e_machine)?);
            return Err(image.malformed(
                "ELF machine",
                ELF64.e_machine,
                Cause::Unexpected { value, expected: "0xbe, CUDA" },
            ));
        };
        let arch = cubin.arch().ok_or_else(|| {
            let cause = Cause::UnsupportedVersion { value: u64::from(cubin.abi_version), supported: "up to 8" };
            image.malformed("cubin ABI version", EI_ABIVERSION, cause)
        })?;
        let bits = if is_32_bit_cubin(image) { 0 } else { flag::BITS_64 };
        let mercury = if cubin.has_mercury() { flag::MERCURY } else { 0 };
        Ok(FatbinImage {
            kind: kind::ELF,
            code_version: (1, u16::from(cubin.abi_version)),
            arch,
            flags: bits | mercury,
            host: HostSystem::Linux,
            identifier: b"",
            options: cubin.attributes(),
            image: image.data(),
        })
    }

    /// Sets the architecture that the entry states.
    pub fn with_arch(self, arch: Arch) -> Self {
        FatbinImage { arch, ..self }
    }

    /// Changes the kind of PTX to PTX of a linked object. Other images do not change.
    pub(super) fn relocatable(self) -> Self {
        FatbinImage { kind: if self.kind == kind::PTX { kind::RELOCATABLE_PTX } else { self.kind }, ..self }
    }

    /// Sets the identifier, usually the name of a source file; an empty one is none.
    pub fn with_identifier(self, identifier: &'data [u8]) -> Self {
        FatbinImage { identifier, ..self }
    }

    /// Sets the command line for the driver's compiler. A cubin has none.
    pub fn with_options(self, options: &'data [u8]) -> Self {
        let options = if self.kind == kind::ELF { self.options } else { Some(options) };
        FatbinImage { options, ..self }
    }

    /// Sets whether the code has debug information (`fatbinary -g`).
    pub fn with_debug(self, has_debug: bool) -> Self {
        self.with_flag(flag::DEBUG, has_debug)
    }

    /// Sets whether the code has 64-bit addresses.
    pub fn with_64_bits(self, is_64_bit: bool) -> Self {
        self.with_flag(flag::BITS_64, is_64_bit)
    }

    /// Sets the language that the entry states, by default none.
    pub fn with_language(self, language: Option<Language>) -> Self {
        let cuda = language == Some(Language::Cuda);
        let opencl = language == Some(Language::OpenCl);
        self.with_flag(flag::CUDA, cuda).with_flag(flag::OPENCL, opencl)
    }

    /// Sets the operating system of the host, by default Linux.
    pub fn with_host(self, host: HostSystem) -> Self {
        FatbinImage { host, ..self }
    }

    fn with_flag(self, flag: u64, is_set: bool) -> Self {
        FatbinImage { flags: if is_set { self.flags | flag } else { self.flags & !flag }, ..self }
    }

    /// Returns the architecture that the entry states.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Returns the kind of the image, see [`kind`].
    pub fn kind(&self) -> u16 {
        self.kind
    }

    /// Returns the index in [`GROUPS`] of the images that can be compressed together with this one, if any.
    pub fn group(&self) -> Option<usize> {
        GROUPS.iter().position(|group| *group == (self.kind, self.flags & flag::MERCURY != 0))
    }

    /// Returns the bytes of the payload, without padding.
    pub(super) fn payload(&self) -> Content<'data> {
        let mut payload = Content::from(self.image);
        if kind::is_ptx(self.kind) {
            // The driver expects a C string.
            payload.push(vec![0]);
        }
        payload
    }

    /// Writes the entry of a single image.
    pub(super) fn entry(&self, compression: Option<Compression>) -> Result<EncodedEntry<'data>, WriteError> {
        let payload = self.payload();
        let Some(how) = compression else {
            return Ok(EncodedEntry { header: self.header(payload.size().next_multiple_of(ALIGNMENT))?, payload });
        };
        let stored = compress(&payload, how)?;
        let (mut entry, strings) = self.parts(stored.len().next_multiple_of(ALIGNMENT as usize) as u64)?;
        entry.flags |= codec_flag(how.codec);
        entry.compressed_size = u32::try_from(stored.len()).map_err(|_| WriteError::TooLarge)?;
        entry.full_size = payload.size();
        Ok(EncodedEntry { header: joined(entry, strings), payload: Content::from(stored) })
    }

    /// Writes the row of an image at `offset` in the decompressed payload of a group, where its size is `size`.
    pub(super) fn row(&self, offset: u64, size: u64) -> Result<Vec<u8>, WriteError> {
        let (entry, strings) = self.parts(size)?;
        let header_size = u32::try_from(offset).map_err(|_| WriteError::TooLarge)?;
        Ok(joined(EntryHeader { header_size, ..entry }, strings))
    }

    fn header(&self, stored_size: u64) -> Result<Vec<u8>, WriteError> {
        let (entry, strings) = self.parts(stored_size)?;
        Ok(joined(entry, strings))
    }

    /// Returns the header of an uncompressed entry, and the identifier and the option block that follow it.
    pub(super) fn parts(&self, stored_size: u64) -> Result<(EntryHeader, Vec<u8>), WriteError> {
        let too_large = |_| WriteError::TooLarge;
        let mut strings = Vec::new();
        let mut name_offset = 0;
        if !self.identifier.is_empty() {
            name_offset = EntryHeader::SIZE as u32;
            strings.extend(self.identifier);
            end_string(&mut strings);
        }
        let mut options_offset = 0;
        if let Some(options) = self.options {
            options_offset = size_with(EntryHeader::SIZE, strings.len() as u64)?;
            let offset = options_offset.checked_add(OptionBlock::SIZE as u32).ok_or(WriteError::TooLarge)?;
            OptionBlock { offset, size: u32::try_from(options.len()).map_err(too_large)? }.write(&mut strings);
            if self.kind == kind::ELF {
                strings.push(0);
                strings.extend(options);
                align(&mut strings);
            } else {
                strings.extend(options);
                end_string(&mut strings);
            }
        }
        let entry = EntryHeader {
            kind: self.kind,
            header_size: size_with(EntryHeader::SIZE, strings.len() as u64)?,
            stored_size,
            compressed_size: 0,
            options_offset,
            code_version: self.code_version,
            arch_number: self.arch.number,
            name_offset,
            name_size: u32::try_from(self.identifier.len()).map_err(too_large)?,
            flags: self.flags | suffix_flag(self.arch.suffix) | host_flag(self.host),
            reserved: 0,
            full_size: 0,
        };
        Ok((entry, strings))
    }

    /// Returns the flags that a group of such images repeats.
    pub(super) fn group_flags(&self) -> u64 {
        self.flags & (flag::BITS_64 | flag::DEBUG | flag::CUDA | flag::OPENCL) | host_flag(self.host)
    }
}

fn host_flag(host: HostSystem) -> u64 {
    match host {
        HostSystem::Linux => flag::LINUX,
        HostSystem::Mac => flag::MAC,
        HostSystem::Windows => flag::WINDOWS,
    }
}

fn suffix_flag(suffix: Option<Suffix>) -> u64 {
    match suffix {
        Some(Suffix::Specific) => flag::SPECIFIC,
        Some(Suffix::Family) => flag::FAMILY,
        None => 0,
    }
}

/// Appends the NUL and the padding of a string.
fn end_string(bytes: &mut Vec<u8>) {
    bytes.push(0);
    align(bytes);
}

fn align(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT as usize), 0);
}

/// Returns the bytes of a header and of what follows it.
pub(super) fn joined(entry: EntryHeader, strings: Vec<u8>) -> Vec<u8> {
    let mut header = Vec::new();
    entry.write(&mut header);
    header.extend(strings);
    header
}
