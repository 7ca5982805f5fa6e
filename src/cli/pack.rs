//! `fatbin pack`, which writes offload binaries; [`pack_fatbin`] writes CUDA fat binaries.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::Status;
use super::compression::CompressionArguments;
use super::failure::{Context, Result, bail, coded, ensure};
use super::headings::{OUTPUT, SELECTION};
use super::id_style::id_style;
use super::known_names::unknown_name;
use super::outputs::{ForceArgument, OutputArgument};
use super::pack_fatbin::{self, FatbinArguments};
use super::session::Session;
use crate::codes::Code;
use fatbin_core::base::io::Input;
use fatbin_core::format::offload_binary::Version;
use fatbin_core::target::{IdStyle, OffloadKind};
use fatbin_ops::embed::llvm::{KindNumbers, NEWEST, Release};
use fatbin_ops::embed::pack::{PackInput, PackOptions, format_version};

/// Pack device images into an offload binary or CUDA fat binary
///
/// Triple and arch are read from the header of an image unless they are given.
///
/// The keys of --image in an offload binary are file, triple, arch, kind and any other, which the binary records. In a
/// CUDA fat binary they are file, arch, ident (an identifier, usually the name of a source file), options (passed to
/// the driver when it compiles PTX, LTO-IR or Tile IR), debug (true or false), compress (none, zstd or lz4) and level.
///
/// Exit status: 0 if the output was written, 2 otherwise.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Output file; `-` writes standard output
    #[arg(help_heading = OUTPUT, short, long, value_name = "OUT")]
    output: OutputArgument,

    #[command(flatten)]
    force: ForceArgument,

    /// Container: NVIDIA's fat binary instead of an offload binary
    #[arg(help_heading = SELECTION, long, value_name = "KIND", value_parser = ["cuda"], conflicts_with_all = ["abi", "format_version", "id_style", "flags"])]
    kind: Option<String>,

    /// Image with properties: file=F[,triple=T][,arch=A][,kind=K][,KEY=VALUE]...
    ///
    /// The values of a repeated key are joined with commas; several files share the properties.
    #[arg(help_heading = SELECTION, long = "image", value_name = "KEY=VALUE,...")]
    described: Vec<String>,

    /// Images whose headers record triple and arch
    #[arg(value_name = "IMAGE")]
    images: Vec<PathBuf>,

    /// Release of LLVM whose tools read the output
    ///
    /// It determines the format version and the numbers of offload kinds: HIP is 3 up to LLVM 20, and 4 since.
    #[arg(help_heading = OUTPUT, long, value_name = "ABI", value_parser = release_names(), default_value = NEWEST.name)]
    abi: String,

    /// Spelling of the triples of AMD's GPUs
    ///
    /// legacy: amdgcn-amd-amdhsa; subarch: amdgpu9.0a-amd-amdhsa, which LLVM reads since release 23; as-given: as in
    /// --image, and legacy for images whose headers record the target.
    #[arg(help_heading = OUTPUT, long, value_name = "STYLE", value_parser = id_style(), default_value = IdStyle::AsGiven.name())]
    id_style: IdStyle,

    /// Format version; LLVM up to 22 reads version 1
    #[arg(help_heading = OUTPUT, long, value_name = "N", value_parser = parse_version)]
    format_version: Option<Version>,

    #[command(flatten)]
    compression: CompressionArguments,

    /// Compress the images of a CUDA fat binary as one, as fatbinary --concat does
    #[arg(help_heading = OUTPUT, long, requires = "kind")]
    concat: bool,

    /// Flags of every entry, as a number
    #[arg(help_heading = OUTPUT, long, value_name = "N", value_parser = parse_flags, default_value = "0")]
    flags: u32,
}

/// Runs the command.
pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    if arguments.kind.is_some() {
        let Arguments { output, force, described, images, compression, concat, .. } = arguments;
        pack_fatbin::run(FatbinArguments { output, force, described, images, compression, concat }, session)?;
        return Ok(Status::Yes);
    }
    let compression = arguments.compression.compression("pack")?;
    let release = Release::named(&arguments.abi).unwrap_or(NEWEST);
    let version = match (arguments.format_version, compression) {
        (None, _) => format_version(release, compression),
        (Some(Version::Three), _) => Version::Three,
        (Some(version), None) => version,
        (Some(version), Some(_)) => {
            let message = format!("pack: --format-version {}: compression requires version 3", version.number());
            return Err(coded(Code::UnsupportedEncoding, message));
        }
    };
    let mut images = Vec::new();
    for text in &arguments.described {
        let described = Described::parse(text, release.kinds).with_context(|| format!("--image {text}"))?;
        for file in described.files {
            let mut image = PackInput::read(Input::open(file, session.access())?, described.strings.clone(), version)?;
            image.offload_kind = described.offload_kind;
            images.push(image);
        }
    }
    for path in arguments.images {
        images.push(PackInput::read(Input::open(path, session.access())?, Vec::new(), version)?);
    }
    if images.is_empty() {
        return Err(coded(Code::MissingArgument, "pack: no image given; pass IMAGE or --image file=IMAGE"));
    }
    for image in &mut images {
        image.flags = arguments.flags;
        image.spell_triple(arguments.id_style).with_context(|| image.input.path().display().to_string())?;
    }
    arguments.force.check_code(arguments.output.path(), images.iter().map(|image| image.input.path()), session)?;
    fatbin_ops::embed::pack::pack(
        &images,
        &PackOptions { version, compression, output: arguments.output.path().to_owned() },
    )?;
    Ok(Status::Yes)
}

/// Value of `--image`.
#[derive(Debug, PartialEq, Eq)]
struct Described {
    files: Vec<PathBuf>,
    /// Number of the offload kind.
    offload_kind: u16,
    strings: Vec<(String, String)>,
}

impl Described {
    fn parse(text: &str, kinds: KindNumbers) -> Result<Described> {
        let mut described = Described { files: Vec::new(), offload_kind: 0, strings: Vec::new() };
        for part in text.split(',') {
            let (key, value) = part.split_once('=').with_context(|| format!("{part:?} is not KEY=VALUE"))?;
            match key {
                "" => bail!("{part:?}: missing key"),
                "file" => {
                    ensure!(!value.is_empty(), "file=F is missing");
                    described.files.push(value.into());
                }
                "kind" => {
                    ensure!(described.offload_kind == 0, "duplicate key kind");
                    described.offload_kind = offload_kind(value, kinds)?;
                }
                _ => described.add(key, value),
            }
        }
        ensure!(!described.files.is_empty(), "file=F is missing");
        Ok(described)
    }

    /// Adds the value of a key, joined to an earlier one with a comma.
    fn add(&mut self, key: &str, value: &str) {
        match self.strings.iter_mut().find(|(known, _)| known == key) {
            Some((_, values)) => *values += &format!(",{value}"),
            None => self.strings.push((key.to_owned(), value.to_owned())),
        }
    }
}

fn offload_kind(name: &str, kinds: KindNumbers) -> Result<u16> {
    match OffloadKind::from_name(name) {
        _ if name == "none" => Ok(0),
        Some(kind) if kind.name() == name && kind.bit() != 0 => {
            let number = kinds.number(kind);
            ensure!(number != 0, "kind {name}: not supported before LLVM 21; raise --abi");
            Ok(number)
        }
        _ => Err(unknown_name(&format!("kind {name:?}"), name, &["openmp", "cuda", "hip", "sycl", "none"])),
    }
}

fn release_names() -> PossibleValuesParser {
    PossibleValuesParser::new(Release::names())
}

fn parse_version(text: &str) -> Result<Version> {
    let version = text.parse().ok().and_then(Version::from_number);
    version.context("unknown version (available: 1, 2, 3)")
}

fn parse_flags(text: &str) -> Result<u32> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.ok().context("expected a 32-bit number")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_files_kind_and_strings_in_order() {
        let described =
            Described::parse("file=a.o,triple=t,kind=hip,feature=+x,file=b.o,feature=-y,note=", KindNumbers::Bits)
                .unwrap();
        let strings = [("triple", "t"), ("feature", "+x,-y"), ("note", "")];
        let strings = strings.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        assert_eq!(described, Described { files: vec!["a.o".into(), "b.o".into()], offload_kind: 4, strings });
    }

    #[test]
    fn reports_the_error_in_an_invalid_argument() {
        let cases = [
            ("", "\"\" is not KEY=VALUE"),
            ("triple=t", "file=F is missing"),
            ("file=", "file=F is missing"),
            ("file=a,=x", "\"=x\": missing key"),
            ("file=a,kind=vulkan", "unknown kind \"vulkan\" (available: openmp, cuda, hip, sycl, none)"),
            (
                "file=a,kind=open-mp",
                "unknown kind \"open-mp\"; did you mean openmp? (available: openmp, cuda, hip, sycl, none)",
            ),
            ("file=a,kind=host", "unknown kind \"host\" (available: openmp, cuda, hip, sycl, none)"),
            ("file=a,kind=hip,kind=cuda", "duplicate key kind"),
        ];
        for (text, message) in cases {
            assert_eq!(Described::parse(text, KindNumbers::Bits).unwrap_err().to_string(), message, "{text}");
        }
    }
}
