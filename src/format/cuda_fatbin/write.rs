//! Writing: images as they are, each with the properties in its own header. The module's documentation lists the
//! differences from fatbinary.

use super::raw::{ALIGNMENT, EntryHeader, Header, OptionBlock, VERSION, flag, kind};
use crate::bytes::View;
use crate::content::Content;
use crate::error::{Cause, Malformed};
use crate::format::device_elf;
use crate::target::nvptx::{Arch, Ptx, Suffix};

/// Offsets of two fields of an ELF header (System V ABI).
const EI_ABIVERSION: u64 = 8;
const E_MACHINE: u64 = 18;

/// A cubin or a PTX text and the properties that its entry states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FatbinImage<'data> {
    kind: u16,
    code_version: (u16, u16),
    arch: Arch,
    flags: u64,
    /// Bytes after the NUL of an empty option string: none for PTX, which always has that string, and a cubin's
    /// attributes; a cubin without attributes has neither.
    attributes: Option<&'data [u8]>,
    image: &'data [u8],
}

impl<'data> FatbinImage<'data> {
    /// Creates a member for this image. `suffix` is the suffix of a cubin's architecture if the user specifies it;
    /// otherwise it is read from the image, see [`crate::target::nvptx::Cubin::arch`].
    pub fn new(image: View<'data>, suffix: Option<Suffix>) -> Result<Self, Malformed> {
        let mut member = if image.starts_with(b"\x7fELF") {
            FatbinImage::of_cubin(image)?
        } else if let Some(ptx) = Ptx::read(image.data()) {
            FatbinImage::of_ptx(image, &ptx)?
        } else {
            let value = u64::from(image.u32("CUDA image", 0)?);
            return Err(image.malformed("CUDA image", 0, Cause::Unexpected { value, expected: "a cubin or PTX" }));
        };
        member.arch.suffix = suffix.or(member.arch.suffix);
        Ok(member)
    }

    fn of_ptx(image: View<'data>, ptx: &Ptx) -> Result<Self, Malformed> {
        let arch = Arch::parse(ptx.target);
        let arch = arch.ok_or_else(|| image.malformed("PTX target", 0, Cause::Unreadable))?;
        // The PTX document defines 32 as the default, but no toolkit in use writes or accepts that.
        let flags = if ptx.address_size == Some(32) { 0 } else { flag::BITS_64 };
        let (code_version, attributes) = (ptx.version, Some(&b""[..]));
        Ok(FatbinImage { kind: kind::PTX, code_version, arch, flags, attributes, image: image.data() })
    }

    fn of_cubin(image: View<'data>) -> Result<Self, Malformed> {
        let Some(cubin) = device_elf::read(image)?.cubin else {
            let value = u64::from(image.u16("ELF machine", E_MACHINE)?);
            return Err(image.malformed("ELF machine", E_MACHINE, Cause::Unexpected { value, expected: "0xbe, CUDA" }));
        };
        let arch = cubin.arch().ok_or_else(|| {
            let cause = Cause::UnsupportedVersion { value: u64::from(cubin.abi_version), supported: "up to 8" };
            image.malformed("cubin ABI version", EI_ABIVERSION, cause)
        })?;
        let mercury = if cubin.has_mercury() { flag::MERCURY } else { 0 };
        let code_version = (1, u16::from(cubin.abi_version));
        let (flags, attributes) = (flag::BITS_64 | mercury, cubin.attributes());
        Ok(FatbinImage { kind: kind::ELF, code_version, arch, flags, attributes, image: image.data() })
    }

    /// Writes the header, the option block and the payload.
    fn write(&self) -> Option<Content<'data>> {
        let mut options = Vec::new();
        if let Some(attributes) = self.attributes {
            let offset = EntryHeader::SIZE + OptionBlock::SIZE;
            OptionBlock { offset: offset as u32, size: u32::try_from(attributes.len()).ok()? }.write(&mut options);
            options.push(0);
            options.extend(attributes);
            options.resize(options.len().next_multiple_of(ALIGNMENT as usize), 0);
        }
        let mut payload = Content::from(self.image);
        if self.kind == kind::PTX {
            // The driver expects a C string.
            payload.push(vec![0]);
        }
        payload.align(ALIGNMENT);

        let suffix = match self.arch.suffix {
            Some(Suffix::Specific) => flag::SPECIFIC,
            Some(Suffix::Family) => flag::FAMILY,
            None => 0,
        };
        let mut header = Vec::new();
        EntryHeader {
            kind: self.kind,
            header_size: u32::try_from(EntryHeader::SIZE.saturating_add(options.len() as u64)).ok()?,
            stored_size: payload.size(),
            compressed_size: 0,
            options_offset: if options.is_empty() { 0 } else { EntryHeader::SIZE as u32 },
            code_version: self.code_version,
            arch_number: self.arch.number,
            name_offset: 0,
            name_size: 0,
            flags: self.flags | suffix | flag::LINUX,
            reserved: 0,
            full_size: 0,
        }
        .write(&mut header);
        header.extend(options);
        let mut content = Content::from(header);
        content.append(payload);
        Some(content)
    }
}

/// Writes a container of these images in this order; their bytes are borrowed. `None` where a size does not fit its
/// field.
pub fn write<'data>(members: &[FatbinImage<'data>]) -> Option<Content<'data>> {
    let entries: Vec<_> = members.iter().map(FatbinImage::write).collect::<Option<_>>()?;
    let size = entries.iter().try_fold(0u64, |size, entry| size.checked_add(entry.size()))?;
    let mut header = Vec::new();
    Header { version: VERSION, size }.write(&mut header);
    let mut content = Content::from(header);
    for entry in entries {
        content.append(entry);
    }
    Some(content)
}
