//! Images of a command line: their files and their entries.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::{ToolFailure, fatal, library_error};
use crate::access;
use crate::llvm_options::{os_string, text};
use crate::nvidia_options::{KeywordValues, ParsedLine};
use fatbin_core::base::archive::ArchiveFormat;
use fatbin_core::base::io::Input;
use fatbin_ops::embed::producer::ImageType;
use fatbin_ops::embed::{NvFatbin, NvFatbinError};

/// Architecture of `--image2`. Its images state none.
const IMAGE2_ARCH: &[u8] = b"80";

/// An image and its file.
#[derive(Debug)]
pub struct EntryInput {
    /// Absent for an object, whose PTX is added.
    image_type: Option<ImageType>,
    /// Architecture as on the command line.
    arch: Vec<u8>,
    pub input: Input,
}

/// Opens the image file that an option names.
fn open_image(argument: &KeywordValues, option: &str) -> Result<EntryInput, ToolFailure> {
    let missing_file = || fatal("Missing file in image");
    let unknown_kind = || fatal("Missing or unknown kind in image3");
    let (image_type, arch, file) = match option {
        "image" => {
            let profile = argument.value("profile").ok_or_else(|| fatal("Missing profile in image"))?;
            let (image_type, arch) = parse_profile(profile)?;
            (Some(Some(image_type)), arch, argument.value("file").ok_or_else(missing_file)?)
        }
        "image2" => {
            let kind = argument.value("kind").ok_or_else(unknown_kind)?;
            let file = argument.value("file").ok_or_else(missing_file)?;
            let image_type = match kind {
                b"tileir" => Some(Some(ImageType::TileIr)),
                b"reloc" => Some(None),
                _ => None,
            };
            (image_type, IMAGE2_ARCH, file)
        }
        _ => {
            let kind = argument.value("kind").ok_or_else(unknown_kind)?;
            let arch = argument.value("sm").ok_or_else(|| fatal("Missing sm in image3"))?;
            (ImageType::parse(kind).map(Some), arch, argument.value("file").ok_or_else(missing_file)?)
        }
    };
    let image_type = image_type.ok_or_else(unknown_kind)?;
    let input = open(file)?;
    Ok(EntryInput { image_type, arch: arch.to_vec(), input })
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
    /// Adds the image, or the PTX of an object, to a container.
    pub fn add_to<'a>(&'a self, container: &mut NvFatbin<'a>, line: &ParsedLine) -> Result<(), ToolFailure> {
        let view = self.input.view();
        let (data, arch) = (view.data(), &self.arch);
        let text = |name: &str| line.text(name).unwrap_or_default();
        let identifier = text("ident");
        let added = match self.image_type {
            Some(image_type) => {
                let options = match image_type {
                    ImageType::Elf => "",
                    ImageType::Ptx => "cmdline",
                    ImageType::Nvvm => "cicc-cmdline",
                    ImageType::TileIr => "tileir-cmdline",
                };
                let code = match image_type {
                    // The size that the library expects includes the NUL.
                    ImageType::Ptx => [data, b"\0"].concat().into(),
                    _ => Cow::Borrowed(data),
                };
                container.add_image(image_type, code, arch, identifier, text(options))
            }
            None if ArchiveFormat::of(view).is_some_and(ArchiveFormat::is_library) => {
                let failure = library_error(&NvFatbinError::Internal);
                let message = format!("{}{}", fatal("unexpected archive format").message, failure.message);
                return Err(ToolFailure { message, ..failure });
            }
            None => container.add_reloc(data),
        };
        added.map_err(|error| match error {
            NvFatbinError::MalformedCubin(malformed) => {
                library_error(&format_args!("{}: {malformed}", self.input.path().display()))
            }
            other => library_error(&other),
        })
    }
}
