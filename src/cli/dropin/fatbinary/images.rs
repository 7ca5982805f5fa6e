//! Images of a command line: their files and their entries.

use std::path::{Path, PathBuf};

use object::elf;

use super::compression::CompressionMode;
use super::image_type::ImageType;
use super::{EntryProperties, ToolFailure, fatal, library_error, ptx, relocatable};
use crate::base::bytes::View;
use crate::base::elf_layout::{EI_CLASS, ELF64};
use crate::base::io::Input;
use crate::cli::access;
use crate::cli::dropin::llvm_options::{os_string, text};
use crate::cli::dropin::nvidia_options::{KeywordValues, ParsedLine};
use crate::format::cuda_fatbin::{FatbinImage, FatbinMember};
use crate::target::nvptx::{Arch, Suffix};

/// Architecture of `--image2`. Its images state none.
const IMAGE2_ARCH: &[u8] = b"80";

/// An image and its file.
#[derive(Debug)]
pub struct EntryInput {
    image_type: ImageType,
    /// Architecture as on the command line.
    arch: Vec<u8>,
    pub input: Input,
    /// PTX without comments.
    minified: Vec<u8>,
}

/// Opens the image file that an option names.
fn open_image(argument: &KeywordValues, option: &str) -> Result<EntryInput, ToolFailure> {
    let missing_file = || fatal("Missing file in image");
    let unknown_kind = || fatal("Missing or unknown kind in image3");
    let (image_type, arch, file) = match option {
        "image" => {
            let profile = argument.value("profile").ok_or_else(|| fatal("Missing profile in image"))?;
            let (image_type, arch) = parse_profile(profile)?;
            (Some(image_type), arch, argument.value("file").ok_or_else(missing_file)?)
        }
        "image2" => {
            let kind = argument.value("kind").ok_or_else(unknown_kind)?;
            let file = argument.value("file").ok_or_else(missing_file)?;
            let is_kind = |kind: &ImageType| [ImageType::TileIr, ImageType::Relocatable].contains(kind);
            (ImageType::parse(kind).filter(is_kind), IMAGE2_ARCH, file)
        }
        _ => {
            let kind = argument.value("kind").ok_or_else(unknown_kind)?;
            let arch = argument.value("sm").ok_or_else(|| fatal("Missing sm in image3"))?;
            let image_type = ImageType::parse(kind).filter(|&kind| kind != ImageType::Relocatable);
            (image_type, arch, argument.value("file").ok_or_else(missing_file)?)
        }
    };
    let image_type = image_type.ok_or_else(unknown_kind)?;
    let input = open(file)?;
    let data = input.view().data();
    let minified = if image_type == ImageType::Ptx { ptx::minify(data) } else { Vec::new() };
    Ok(EntryInput { image_type, arch: arch.to_vec(), input, minified })
}

/// Parses the value of `profile`. The kind is a prefix of the architecture.
fn parse_profile(profile: &[u8]) -> Result<(ImageType, &[u8]), ToolFailure> {
    let prefixes = [(&b"sm_"[..], ImageType::Elf), (b"compute_", ImageType::Ptx)];
    let parsed = prefixes.iter().find_map(|(prefix, kind)| Some((*kind, profile.strip_prefix(*prefix)?)));
    parsed.ok_or_else(|| fatal(format!("Unknown profile '{}' in image", text(profile))))
}

fn open(file: &[u8]) -> Result<Input, ToolFailure> {
    let path = PathBuf::from(os_string(file.to_vec()));
    if path.is_dir() {
        return Err(fatal("Memory allocation failure"));
    }
    // The tool treats `-` as a file name.
    let place = if path == Path::new("-") { Path::new("./-") } else { &path };
    Input::open(place, access::get()).map_err(|_| fatal(format!("Could not open input file '{}'", text(file))))
}

/// Opens the files of all images, in the order of the entries.
pub fn open_all(line: &ParsedLine) -> Result<Vec<EntryInput>, ToolFailure> {
    let mut files = Vec::new();
    for option in ["image3", "image2", "image"] {
        for (_, argument) in line.images.iter().filter(|(name, _)| *name == option) {
            files.push(open_image(argument, option)?);
        }
    }
    Ok(files)
}

impl EntryInput {
    /// True for an object of a link.
    pub fn is_relocatable(&self) -> bool {
        self.image_type == ImageType::Relocatable
    }

    /// Entries of the file, in output order.
    pub fn members<'a>(
        &'a self,
        line: &'a ParsedLine,
        mode: CompressionMode,
        target: EntryProperties,
    ) -> Result<Vec<FatbinMember<'a>>, ToolFailure> {
        match self.image_type {
            ImageType::Relocatable => relocatable::members(self.input.view()),
            _ => Ok(vec![self.member(line, mode, target)?]),
        }
    }

    fn member<'a>(
        &'a self,
        line: &'a ParsedLine,
        mode: CompressionMode,
        target: EntryProperties,
    ) -> Result<FatbinMember<'a>, ToolFailure> {
        if self.input.view().size() == 0 {
            return Err(library_error("empty input"));
        }
        let arch = parse_arch(&self.arch).ok_or_else(|| library_error("invalid architecture"))?;
        let options = |name: &str| line.text(name).unwrap_or_default();
        let image = match self.image_type {
            ImageType::Elf => self.cubin(arch, target.is_64_bit)?,
            ImageType::Ptx => {
                let version = ptx::version(self.input.view().data());
                let version = version.ok_or_else(|| library_error("could not find ptx version"))?;
                FatbinImage::of_ptx(&self.minified, version, arch).with_options(options("cmdline"))
            }
            ImageType::Nvvm => {
                let image = FatbinImage::of_lto_ir(self.input.view()).map_err(|_| library_error("internal error"))?;
                image.with_arch(arch).with_options(options("cicc-cmdline"))
            }
            ImageType::Relocatable => unreachable!("an object has no image of its own"),
            ImageType::TileIr => {
                let image = FatbinImage::of_tile_ir(self.input.view(), arch);
                image.map_err(|_| library_error("internal error"))?.with_options(options("tileir-cmdline"))
            }
        };
        let image = image.with_identifier(options("ident")).with_debug(line.flag("debug"));
        let image = image.with_64_bits(target.is_64_bit).with_host(target.host).with_language(target.language);
        // fatbinary scrambles what it compresses.
        let is_compressible = self.image_type != ImageType::Nvvm;
        let compression = if is_compressible { mode.of(self.image_type) } else { None };
        Ok(FatbinMember::Image { image, compression })
    }

    fn cubin(&self, arch: Arch, is_64_bit: bool) -> Result<FatbinImage<'_>, ToolFailure> {
        let view = self.input.view();
        let class = if is_64_bit { elf::ELFCLASS64 } else { elf::ELFCLASS32 };
        if view.data().get(EI_CLASS as usize) != Some(&class.0) {
            return Err(library_error("fatbinary elf mismatch: elf size doesn't match user-specified size"));
        }
        let other_arch = || library_error("fatbinary elf mismatch: elf arch does not match user-specified arch");
        // No device is 32-bit.
        if !is_64_bit || !is_cubin(view) {
            return Err(other_arch());
        }
        let damaged = |malformed| library_error(&format!("{}: {malformed}", self.input.path().display()));
        let image = FatbinImage::of_cubin(view).map_err(damaged)?;
        if image.arch().number != arch.number {
            return Err(other_arch());
        }
        Ok(image.with_arch(arch))
    }
}

fn is_cubin(view: View<'_>) -> bool {
    view.u16("ELF machine", ELF64.e_machine).is_ok_and(|machine| machine == elf::EM_CUDA.0)
}

/// Parses a number with an optional suffix like C's `strtol`: white space and a sign are skipped, and text without
/// digits is 0.
fn parse_arch(text: &[u8]) -> Option<Arch> {
    let (number, suffix) = match text {
        [number @ .., b'a'] => (number, Some(Suffix::Specific)),
        [number @ .., b'f'] => (number, Some(Suffix::Family)),
        number => (number, None),
    };
    let number = std::str::from_utf8(number).ok()?.trim_start();
    let number = number.strip_prefix('+').unwrap_or(number);
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = if number.is_empty() { Some(0) } else { number.parse::<i32>().ok() };
    let number = number.and_then(|number| u32::try_from(number).ok());
    number.map(|number| Arch { number, suffix })
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
