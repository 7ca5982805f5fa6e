//! `fatbin bundle`.

use std::path::PathBuf;

use clap::Args;

use super::compression::CompressionArguments;
use super::failure::{Context, Result, bail, ensure};
use super::headings::{INPUT, OUTPUT, SELECTION};
use super::id_style::{id_style, warn_of_hidden_id};
use super::known_names::unknown_name;
use super::outputs::{ForceArgument, OutputArgument};
use super::progress::Progress;
use super::session::Session;
use super::{Status, figures};
use fatbin_core::base::io::Input;
use fatbin_core::format::bundle::{FILE_TYPES, FileType};
use fatbin_core::format::ccob;
use fatbin_core::target::{BundleEntryId, IdStyle};
use fatbin_ops::embed::bundle::{BundleInput, BundleOptions};

/// Bundle files for several targets into one file
///
/// Each file is stored under an entry ID: KIND-ARCH-VENDOR-OS-ENVIRONMENT[-TARGETID], such as host-x86_64-unknown-linux-gnu
/// or hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+. Parts of the triple may be omitted, a processor may be given by any of its
/// names, and its features in any order; the canonical form is written.
///
/// Exit status: 0 if the bundle was written, 2 otherwise.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Type of the files
    #[arg(help_heading = INPUT, long = "type", value_name = "T", value_parser = parse_type, long_help = types_help("Type of the files"))]
    file_type: FileType,

    /// File to bundle, with its entry ID; /dev/null is an empty file
    ///
    /// Files are stored in the given order.
    #[arg(help_heading = SELECTION, long = "target", value_name = "ID=FILE", value_parser = parse_target, required = true)]
    targets: Vec<(String, PathBuf)>,

    /// Output file; `-` writes standard output
    #[arg(help_heading = OUTPUT, short, long, value_name = "OUT")]
    output: OutputArgument,

    #[command(flatten)]
    force: ForceArgument,

    /// Align the code objects of a binary bundle to N, a power of two (HIP needs 4096)
    #[arg(help_heading = OUTPUT, long, value_name = "N", default_value = "1", value_parser = parse_alignment)]
    align: u64,

    /// Accept files whose headers contradict their IDs
    #[arg(help_heading = OUTPUT, long)]
    raw: bool,

    /// Spelling of the triples of AMD's GPUs in entry IDs
    ///
    /// legacy: amdgcn-amd-amdhsa, the only one that HIP runtimes find; subarch: amdgpu9.0a-amd-amdhsa, which LLVM reads since
    /// release 23; as-given: as in --target.
    #[arg(help_heading = OUTPUT, long, value_name = "STYLE", value_parser = id_style(), default_value = IdStyle::Legacy.name())]
    id_style: IdStyle,

    #[command(flatten)]
    compression: CompressionArguments,

    /// Compressed format version; LLVM 19 to 21 and their HIP runtimes read 2
    #[arg(help_heading = OUTPUT, long, value_name = "N", requires = "compress", value_parser = parse_version)]
    format_version: Option<ccob::Version>,

    /// Print sizes, and the ratio, speed and hash of the compression
    #[arg(help_heading = OUTPUT, short, long)]
    verbose: bool,
}

/// Runs the command.
pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let compression = arguments.compression.compression("bundle")?;
    let version = arguments.format_version.unwrap_or(ccob::Version::Three);
    let mut files = Vec::new();
    for (written, path) in &arguments.targets {
        let id = BundleEntryId::check(written).context("--target")?;
        let id = arguments.id_style.id(&id).with_context(|| format!("--target {written}"))?;
        files.push(BundleInput { id, input: Input::open_any(path, session.access())? });
    }
    let ids: Vec<String> = files.iter().map(|file| file.id.clone()).collect();
    fatbin_ops::embed::bundle::check_composition(&ids)?;
    if !arguments.raw {
        fatbin_ops::embed::bundle::check_contents(&files)?;
    }
    let options = BundleOptions {
        file_type: arguments.file_type,
        alignment: arguments.align,
        compression: compression.map(|compression| (compression, version)),
        output: arguments.output.path().to_owned(),
        replaces_inputs: false,
    };
    arguments.force.check_code(&options.output, files.iter().map(|file| file.input.path()), session)?;
    let progress = Progress::new(session.progress(), files.iter().map(|file| file.input.size()).sum());
    let bundled = fatbin_ops::embed::bundle::bundle(&files, &options, &mut |bytes| progress.advance(bytes))?;
    for id in &ids {
        warn_of_hidden_id(id, session);
    }
    drop(progress);
    if arguments.verbose {
        let path = options.output.display();
        for file in &files {
            session.print_detail(format_args!("{path}: {}: {} bytes", file.id, file.input.size()));
        }
        session.print_detail(format_args!("{path}: {} bytes", bundled.size));
        if let Some(compressed) = &bundled.compressed {
            session.print_detail(format_args!("{path}: {}", figures::line(compressed)));
        }
    }
    Ok(Status::Yes)
}

/// Summary of `--type` for commands that read bundles.
pub const DETECTED: &str = "Type of the bundled files; detected from the content by default";

/// Returns the help of `--type`: a summary, and all types with their descriptions.
pub fn types_help(summary: &str) -> String {
    let mut help = format!("{summary}:");
    for FileType { name, meaning, .. } in &FILE_TYPES {
        help.extend(["\n", name, &"    "[name.len()..], " - ", meaning]);
    }
    help
}

/// Parses the value of `--type`.
pub fn parse_type(name: &str) -> Result<FileType> {
    FileType::named(name).ok_or_else(|| {
        let names: Vec<&str> = FILE_TYPES.iter().map(|file_type| file_type.name).collect();
        unknown_name("type", name, &names)
    })
}

/// Parses `ID=FILE`. An ID contains no `=`; a path may.
pub fn parse_target(text: &str) -> Result<(String, PathBuf)> {
    let (id, file) = text.split_once('=').with_context(|| format!("{text:?} is not ID=FILE"))?;
    ensure!(!file.is_empty(), "{text:?}: missing file");
    Ok((id.to_owned(), file.into()))
}

fn parse_alignment(text: &str) -> Result<u64> {
    let alignment: u64 = text.parse().ok().context("expected a number")?;
    ensure!(
        alignment.is_power_of_two() && alignment <= LARGEST_ALIGNMENT,
        "expected a power of two, at most {LARGEST_ALIGNMENT}"
    );
    Ok(alignment)
}

/// Maximum alignment: the largest page size of any machine.
const LARGEST_ALIGNMENT: u64 = 1 << 30;

fn parse_version(text: &str) -> Result<ccob::Version> {
    match text {
        "2" => Ok(ccob::Version::Two),
        "3" => Ok(ccob::Version::Three),
        _ => bail!("unsupported version (available: 2, 3)"),
    }
}
