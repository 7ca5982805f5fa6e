//! The subcommand `fatbin wrap`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use super::Status;
use super::failure::{Context, Result, coded, ensure};
use super::headings::{INPUT, OUTPUT, SELECTION};
use super::image_argument::parse_image;
use super::known_names::unknown_name;
use super::outputs::{ForceArgument, OutputArgument};
use super::session::Session;
use super::value_enum::{large_images, offload_kind};
use crate::codes::Code;
use fatbin_core::base::io::{FileSet, OutputKind};
use fatbin_core::host::Host;
use fatbin_core::scan::Options;
use fatbin_core::scan::filter::{self, FilterError, ImageFilter, KernelPattern, Predicate};
use fatbin_core::target::OffloadKind;
use fatbin_ops::analyze::requires::left_out_by_llvm;
use fatbin_ops::embed::llvm::Release;
use fatbin_ops::embed::wrap::files::{ImageFile, WrapOptions, WrapSummary};
use fatbin_ops::embed::wrap::{EmbeddedForm, LargeImages, OffloadEntry, TargetOverride, WrapperFormat};

/// Write a host object that registers device images
///
/// The images are registered when the program or library of the object is loaded. The object is ELF for Linux, COFF for
/// Windows or Mach-O for macOS, by --host. An output named *.bc or *.ll is LLVM IR for a compiler. Triple and processor
/// of an image are read from its header. OpenMP and SYCL take any number of images, each embedded inside an offload
/// binary, so that `fatbin scan` and `llvm-objdump --offloading` can list it. CUDA and HIP take one fat binary, or images
/// to build one from.
///
/// Exit status: 0 if the object was written, 2 if not.
#[derive(Args)]
pub struct Arguments {
    /// Runtime to register the images with
    #[arg(help_heading = SELECTION, long, value_name = "KIND", value_parser = offload_kind(), ignore_case = true)]
    kind: OffloadKind,

    /// Object or LLVM IR to write
    #[arg(help_heading = OUTPUT, short, long, value_name = "OUT")]
    output: OutputArgument,

    #[command(flatten)]
    force: ForceArgument,

    /// Write an object, or LLVM IR as bitcode or text; auto takes OUT.bc for bitcode, OUT.ll for text
    #[arg(help_heading = OUTPUT, long, value_name = "FORMAT", default_value = "auto")]
    emit: Emit,

    #[arg(help_heading = OUTPUT, long, value_name = "TRIPLE", help = host_help())]
    host: Option<String>,

    /// Image with properties that its header does not have: file=F[,triple=T][,arch=A]
    #[arg(help_heading = SELECTION, long, value_name = "KEY=VALUE,...", value_parser = parse_image)]
    image: Vec<ImageFile>,

    /// LLVM release of the host objects and the runtime; auto is the release of --match, or the newest
    #[arg(help_heading = OUTPUT, long, value_name = "ABI", default_value = "auto", value_parser = abi_names())]
    abi: String,

    /// Take ABI and host from this host object, and keep its offload entries
    ///
    /// The result will be linked with the host object. The sections of its entries survive --gc-sections.
    #[arg(help_heading = INPUT, long = "match", value_name = "HOST_OBJECT")]
    matching: Option<PathBuf>,

    /// Add an offload entry for a host program compiled without offloading
    ///
    /// The entry is for the kernel or variable NAME of the image. The host refers to it by the address of HOST_SYMBOL,
    /// by default NAME. Flags are a number, or names of OpenMP's flags with | between them: link, ctor, dtor, indirect.
    #[arg(help_heading = INPUT, long, value_name = "NAME[=HOST_SYMBOL][,size=N][,flags=N][,data=N][,aux=SYMBOL]", value_parser = parse_entry)]
    entry: Vec<OffloadEntry>,

    /// Accept entries for kernels that no image has
    #[arg(help_heading = INPUT, long)]
    allow_missing_kernels: bool,

    /// Read such entries from a file, one per line; # begins a comment
    #[arg(help_heading = INPUT, long, value_name = "FILE")]
    entries: Vec<PathBuf>,

    /// Place the images among large sections, out of reach of code and data; auto does so from 1 GiB on
    #[arg(help_heading = OUTPUT, long, value_name = "WHEN", value_parser = large_images(), default_value = "auto")]
    large_images: LargeImages,

    /// Embed the images unchanged, without an offload binary around each
    ///
    /// For CUDA and HIP, embed the single image as the fat binary, regardless of its format.
    #[arg(help_heading = OUTPUT, long)]
    raw: bool,

    /// Embed the images unchanged but for ELF notes that name their producer, as LLVM 13 to 15 could
    #[arg(help_heading = OUTPUT, long, conflicts_with = "raw")]
    offload_notes: bool,

    /// Print ABI, host and placement of the images
    #[arg(help_heading = OUTPUT, short, long)]
    verbose: bool,

    /// Images; they follow the images of --image
    #[arg(value_name = "IMAGE")]
    images: Vec<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Emit {
    Auto,
    Object,
    Bitcode,
    Text,
}

pub fn host_help() -> String {
    let hosts = Host::supported();
    format!(
        "Machine and system that the object is for, by default those that fatbin was built for (available: {hosts})"
    )
}

fn abi_names() -> PossibleValuesParser {
    PossibleValuesParser::new(std::iter::once("auto").chain(Release::names()))
}

/// Runs `fatbin wrap`.
pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let verbose = arguments.verbose;
    let force = arguments.force;
    let lists = arguments.entries.clone();
    let allows_missing = arguments.allow_missing_kernels;
    let options = options(arguments, session)?;
    let images = options.images.iter().map(|image| image.path.as_path());
    let inputs = images.chain(options.matching.as_deref()).chain(lists.iter().map(PathBuf::as_path));
    if !allows_missing {
        check_kernels(&options, session)?;
    }
    let output = FileSet::of_paths(inputs).output(&options.output, OutputKind::Code)?;
    force.check_code(&options.output, [], session)?;
    let summary = fatbin_ops::embed::wrap::files::wrap_into(output, &options)?;
    if options.kind == OffloadKind::OpenMp {
        warn_of_left_out(&options, &summary, session);
    }
    if verbose {
        let place = if summary.large { ", images among the large sections" } else { "" };
        session.print_detail(format_args!(
            "{}: ABI {}, host {}{place}",
            options.output.display(),
            summary.abi,
            summary.host
        ));
        // LLVM IR as text has no images that a scan finds.
        if let Some(heading) = super::requires::heading(&options.output, session) {
            session.print_detail(format_args!("{}", heading.trim_end()));
        }
    }
    Ok(Status::Yes)
}

/// Warns of images that OpenMP's runtime of the release leaves out without a word.
fn warn_of_left_out(options: &WrapOptions, summary: &WrapSummary, session: &Session) {
    let Some(major) = Release::named(summary.abi).and_then(|release| release.number) else { return };
    let paths: Vec<PathBuf> = options.images.iter().map(|image| image.path.clone()).collect();
    let structure_only = Options::default().with_structure_only(true);
    for file in session.scanner(structure_only).scan(paths).flatten() {
        for image in file.file().device_images() {
            for (property, releases) in left_out_by_llvm(image, major) {
                session.print_warning(&format!(
                    "{}: {property}: the OpenMP runtime of {} leaves this image out; {releases} load it",
                    file.file().path,
                    summary.abi
                ));
            }
        }
    }
}

/// Checks that an image has the kernel of each entry. Entries with a size or flags are for variables and functions, and
/// the kernels of some images are not known.
fn check_kernels(options: &WrapOptions, session: &Session) -> Result<()> {
    let kernels: Vec<&OffloadEntry> = options.entries.iter().filter(|it| it.size == 0 && it.flags == 0).collect();
    if kernels.is_empty() {
        return Ok(());
    }
    let paths: Vec<PathBuf> = options.images.iter().map(|image| image.path.clone()).collect();
    let mut files = Vec::new();
    let mut is_read = true;
    for scanned in session.scanner(Options::default()).scan(paths) {
        match scanned {
            Ok(file) if file.file().device_images().next().is_some() => files.push(file),
            // An image that fatbin cannot read may have any kernel.
            _ => is_read = false,
        }
    }
    for entry in kernels {
        let kernel = KernelPattern::parse(&format!("^{}$", regex::escape(&entry.name)))?;
        match filter::apply(&ImageFilter::from_iter([Predicate::Kernel(kernel)]), &files) {
            Err(FilterError::NoMatch { .. }) if is_read => {
                let images = options.images.iter().map(|image| image.path.display().to_string()).collect::<Vec<_>>();
                let message = format!(
                    "{}: no kernel {}; fatbin inspect lists the kernels, size=N declares a variable",
                    images.join(" and "),
                    entry.name
                );
                return Err(coded(Code::InvalidEntry, message));
            }
            _ => {}
        }
    }
    Ok(())
}

fn options(arguments: Arguments, session: &Session) -> Result<WrapOptions> {
    let positional = arguments.images.into_iter().map(|path| ImageFile { path, target: TargetOverride::default() });
    let images: Vec<_> = arguments.image.into_iter().chain(positional).collect();
    if images.is_empty() {
        return Err(coded(Code::MissingArgument, "wrap: no image given; specify IMAGE or --image file=IMAGE"));
    }
    let mut entries = arguments.entry;
    for path in &arguments.entries {
        entries.extend(read_entries(path)?);
    }
    let kind = arguments.kind;
    Ok(WrapOptions {
        release: Release::named(&arguments.abi),
        host: arguments.host,
        matching: arguments.matching,
        form: match (arguments.raw, arguments.offload_notes) {
            (_, true) => EmbeddedForm::RawWithNotes,
            (true, false) => EmbeddedForm::Raw,
            (false, false) => EmbeddedForm::OffloadBinary,
        },
        large: arguments.large_images,
        entries,
        format: match arguments.emit {
            Emit::Auto => WrapperFormat::of_path(arguments.output.path()),
            Emit::Object => WrapperFormat::Object,
            Emit::Bitcode => WrapperFormat::Bitcode,
            Emit::Text => WrapperFormat::Text,
        },
        access: session.access(),
        ..WrapOptions::new(kind, images, arguments.output.path().to_owned())
    })
}

/// Parses `NAME[=HOST_SYMBOL][,size=N][,flags=N][,data=N][,aux=SYMBOL]`; numbers may be hexadecimal, and flags have
/// names.
fn parse_entry(text: &str) -> Result<OffloadEntry> {
    // Most of a file's tens of thousands of entries are a name.
    if !text.is_empty() && !text.bytes().any(|byte| matches!(byte, b',' | b'=')) {
        return Ok(OffloadEntry::new(text, text));
    }
    let mut parts = text.split(',');
    let first = parts.next().unwrap_or_default();
    let (name, host_symbol) = first.split_once('=').unwrap_or((first, first));
    ensure!(!name.is_empty(), "{text:?} has no name");
    ensure!(!host_symbol.is_empty(), "{text:?} has no symbol of the host after =");
    let mut entry = OffloadEntry::new(name, host_symbol);
    for part in parts {
        let (key, value) = part.split_once('=').with_context(|| format!("{part:?} is not KEY=VALUE"))?;
        if key == "aux" {
            entry.aux_symbol = Some(value.to_owned());
            continue;
        }
        if let Some(flags) = if key == "flags" { named_flags(value) } else { None } {
            entry.flags = flags;
            continue;
        }
        let number = parse_number(value).with_context(|| format!("{key}={value}: not a number"))?;
        let word = || u32::try_from(number).with_context(|| format!("{key}={value}: does not fit into 32 bits"));
        match key {
            "size" => entry.size = number,
            "flags" => entry.flags = word()?,
            "data" => entry.data = word()?,
            _ => return Err(unknown_name(&format!("key {key:?}"), key, &["size", "flags", "data", "aux"])),
        }
    }
    Ok(entry)
}

/// Flags of OpenMP's entries: a variable that the device reaches through a pointer, a constructor and a destructor of
/// the device, and a function that is called through a pointer. Source: libomptarget, `omptarget.h`.
const FLAGS: [(&str, u32); 4] = [("link", 1), ("ctor", 2), ("dtor", 4), ("indirect", 8)];

/// Parses names of flags with `|` between them; `None` for any other text.
fn named_flags(text: &str) -> Option<u32> {
    let flag = |name: &str| FLAGS.iter().find(|(known, _)| *known == name).map(|&(_, flag)| flag);
    text.split('|').try_fold(0, |flags, name| Some(flags | flag(name)?))
}

fn parse_number(text: &str) -> Result<u64, std::num::ParseIntError> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    }
}

fn read_entries(path: &PathBuf) -> Result<Vec<OffloadEntry>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{}: cannot read", path.display()))?;
    let lines = text.lines().map(str::trim).enumerate();
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(index, line)| parse_entry(line).with_context(|| format!("{}:{}", path.display(), index + 1)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_name_symbol_and_numbers_of_an_entry() {
        let entry = parse_entry("saxpy").unwrap();
        assert_eq!((entry.name.as_str(), entry.host_symbol.as_str(), entry.size), ("saxpy", "saxpy", 0));
        let entry = parse_entry("table=host_table,size=64,flags=0x10,data=8").unwrap();
        assert_eq!((entry.host_symbol.as_str(), entry.size, entry.flags, entry.data), ("host_table", 64, 16, 8));
        let flags = |text: &str| parse_entry(&format!("a,flags={text}")).unwrap().flags;
        assert_eq!(["link", "ctor", "dtor", "indirect", "dtor|link", "3"].map(flags), [1, 2, 4, 8, 5, 3]);
    }

    #[test]
    fn reports_the_mistake_in_an_entry() {
        let cases = [
            ("", "\"\" has no name"),
            ("=x", "\"=x\" has no name"),
            ("x=", "\"x=\" has no symbol of the host after ="),
            ("a,b", "\"b\" is not KEY=VALUE"),
            ("a,size=many", "size=many: not a number"),
            ("a,flags=0x100000000", "flags=0x100000000: does not fit into 32 bits"),
            ("a,color=1", "unknown key \"color\" (available: size, flags, data, aux)"),
        ];
        for (text, message) in cases {
            assert_eq!(parse_entry(text).unwrap_err().to_string(), message, "{text}");
        }
    }
}
