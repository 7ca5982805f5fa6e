//! An image and the strings of its entry.

use std::borrow::Cow;

use object::elf;

use super::options::{Options, integer};
use super::{NvFatbinError, Result, ptx};
use fatbin_core::base::bytes::View;
use fatbin_core::base::codec::Compression;
use fatbin_core::base::elf_layout::{EI_CLASS, ELF64};
use fatbin_core::format::cuda_fatbin::{FatbinImage, FatbinMember};
use fatbin_core::target::nvptx::{Arch, Suffix};

/// Kind of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageType {
    Elf,
    Ptx,
    Nvvm,
    TileIr,
}

impl ImageType {
    /// Parses the name of a kind in options of fatbinary.
    pub fn parse(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"elf" => ImageType::Elf,
            b"ptx" => ImageType::Ptx,
            b"nvvm" => ImageType::Nvvm,
            b"tileir" => ImageType::TileIr,
            _ => return None,
        })
    }
}

/// An image to add.
#[derive(Debug, Clone)]
pub struct Entry<'data> {
    image_type: ImageType,
    /// The image; of PTX, what is stored.
    image: Cow<'data, [u8]>,
    /// Version of PTX.
    version: (u16, u16),
    arch: Arch,
    identifier: Vec<u8>,
    options: Vec<u8>,
}

impl<'data> Entry<'data> {
    /// Creates an entry with an identifier and options for a compiler.
    pub fn new(
        image_type: ImageType,
        image: Cow<'data, [u8]>,
        arch: &[u8],
        (identifier, options): (&[u8], &[u8]),
    ) -> Result<Self> {
        // The size of PTX includes its NUL.
        let least = if image_type == ImageType::Ptx { 2 } else { 1 };
        if image.len() < least {
            return Err(NvFatbinError::EmptyInput);
        }
        let arch = parse_arch(arch).ok_or(NvFatbinError::InvalidArch)?;
        let mut entry = Entry {
            image_type,
            image,
            version: (0, 0),
            arch,
            identifier: identifier.to_vec(),
            options: options.to_vec(),
        };
        if image_type == ImageType::Ptx {
            entry.version = ptx::version(&entry.image).ok_or(NvFatbinError::MissingPtxVersion)?;
            let mut text = ptx::minify(&entry.image);
            // The writer adds the NUL.
            if text.last() == Some(&0) {
                text.pop();
            }
            entry.image = text.into();
        }
        Ok(entry)
    }

    /// The group of images that the image can be compressed with, see [`FatbinImage::group`]. The image is read.
    pub fn group(&self, options: &Options) -> Result<Option<usize>> {
        Ok(self.image(options)?.0.group())
    }

    /// The entry to write.
    pub fn member(&self, options: &Options) -> Result<FatbinMember<'_>> {
        let (image, compression) = self.image(options)?;
        Ok(FatbinMember::Image { image, compression })
    }

    fn image(&self, options: &Options) -> Result<(FatbinImage<'_>, Option<Compression>)> {
        let view = View::new(&self.image);
        let (image, compression) = match self.image_type {
            ImageType::Elf => (self.cubin(options.is_64_bit)?, options.compression_of_cubins()),
            ImageType::Ptx => (FatbinImage::of_ptx(&self.image, self.version, self.arch), options.compression),
            // nvFatbin scrambles what it compresses.
            ImageType::Nvvm => {
                let image = FatbinImage::of_lto_ir(view).map_err(|_| self.unreadable_lto_ir())?;
                (image.with_arch(self.arch), None)
            }
            ImageType::TileIr => {
                let image = FatbinImage::of_tile_ir(view, self.arch).map_err(|_| NvFatbinError::Internal)?;
                (image, options.compression)
            }
        };
        let image = image.with_identifier(&self.identifier).with_options(&self.options);
        Ok((options.applied_to(image), compression))
    }

    fn unreadable_lto_ir(&self) -> NvFatbinError {
        if self.image.len() < SHORTEST_LTO_IR { NvFatbinError::InvalidNvvm } else { NvFatbinError::Internal }
    }

    fn cubin(&self, is_64_bit: bool) -> Result<FatbinImage<'_>> {
        let view = View::new(&self.image);
        let class = if is_64_bit { elf::ELFCLASS64 } else { elf::ELFCLASS32 };
        if view.data().get(EI_CLASS as usize) != Some(&class.0) {
            return Err(NvFatbinError::ElfSizeMismatch);
        }
        if !is_cubin(view) {
            return Err(NvFatbinError::ElfArchMismatch);
        }
        let image = FatbinImage::of_cubin(view).map_err(NvFatbinError::MalformedCubin)?;
        if image.arch().number != self.arch.number {
            return Err(NvFatbinError::ElfArchMismatch);
        }
        Ok(image.with_arch(self.arch))
    }
}

/// Size below which LTO-IR has its own error.
const SHORTEST_LTO_IR: usize = 8;

fn is_cubin(view: View<'_>) -> bool {
    view.u16("ELF machine", ELF64.e_machine).is_ok_and(|machine| machine == elf::EM_CUDA.0)
}

/// Parses a number with an optional suffix.
fn parse_arch(text: &[u8]) -> Option<Arch> {
    let (number, suffix) = match text {
        [number @ .., b'a'] => (number, Some(Suffix::Specific)),
        [number @ .., b'f'] => (number, Some(Suffix::Family)),
        number => (number, None),
    };
    let number = u32::try_from(integer(number)?).ok()?;
    Some(Arch { number, suffix })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of `sm` that fatbinary 13.5 accepts or rejects.
    #[test]
    fn parses_architectures_as_fatbinary_does() {
        let cases = [
            ("90", Some((90, None))),
            ("90a", Some((90, Some(Suffix::Specific)))),
            ("100f", Some((100, Some(Suffix::Family)))),
            ("", Some((0, None))),
            ("a", Some((0, Some(Suffix::Specific)))),
            ("+90", Some((90, None))),
            ("-0", Some((0, None))),
            ("+", None),
            (" a", None),
            (" 090", Some((90, None))),
            ("9999", Some((9999, None))),
            ("sm_90", None),
            ("90b", None),
            ("90aa", None),
            ("-1", None),
            ("0x5a", None),
            ("90.5", None),
            ("4294967386", None),
            ("99999999999999999999", None),
        ];
        for (text, expected) in cases {
            let arch = parse_arch(text.as_bytes()).map(|arch| (arch.number, arch.suffix));
            assert_eq!(arch, expected, "{text}");
        }
    }
}
