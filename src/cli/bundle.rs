//! `fatbin bundle`.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;

use super::compression::CompressionArguments;
use super::progress::Progress;
use super::{Status, figures};
use crate::format::bundle::{FILE_TYPES, FileType};
use crate::format::ccob;
use crate::io::Input;
use crate::ops::{self, BundleOptions, FileToBundle};
use crate::target::BundleEntryId;

/// Put files for several targets into one, each under its bundle entry id
///
/// An id is KIND-ARCH-VENDOR-OS-ENVIRONMENT[-TARGETID], such as host-x86_64-unknown-linux-gnu and
/// hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+. Parts of the triple may be left out, a processor may go by its other names and
/// its features stand in any order; what is written is the canonical form.
///
/// Exit status: 0 if it was written, 2 if not.
#[derive(Args)]
pub struct Arguments {
    /// What the files are
    #[arg(long = "type", value_name = "T", value_parser = parse_type, long_help = types_help())]
    file_type: FileType,

    /// A file and the id that it gets; the order is kept. /dev/null is an empty file
    #[arg(long = "target", value_name = "ID=FILE", value_parser = parse_target, required = true)]
    targets: Vec<(String, PathBuf)>,

    /// The file to write; - is standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    /// Put every code object of a binary bundle at a multiple of N, a power of two (HIP needs 4096)
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_alignment)]
    align: u64,

    #[command(flatten)]
    compression: CompressionArguments,

    /// Version of the compressed form: 2 is what LLVM 19 to 21 and the HIP runtimes of their time read
    #[arg(long, value_name = "N", requires = "compress", value_parser = parse_version)]
    format_version: Option<ccob::Version>,

    /// Print sizes, and of compression ratio, speed and hash
    #[arg(short, long)]
    verbose: bool,
}

pub fn run(arguments: Arguments) -> Result<Status> {
    let compression = arguments.compression.compression("bundle")?;
    let version = arguments.format_version.unwrap_or(ccob::Version::Three);
    let mut files = Vec::new();
    for (written, path) in &arguments.targets {
        let id = BundleEntryId::check(written).context("--target")?.canonical();
        files.push(FileToBundle { id, input: Input::open_any(path)? });
    }
    let ids: Vec<String> = files.iter().map(|file| file.id.clone()).collect();
    ops::check_composition(&ids)?;
    let options = BundleOptions {
        file_type: arguments.file_type,
        alignment: arguments.align,
        compression: compression.map(|compression| (compression, version)),
        output: arguments.output,
    };
    let mut progress = Progress::new(files.iter().map(|file| file.input.size()).sum());
    let bundled = ops::bundle(&files, &options, &mut |bytes| progress.advance(bytes))?;
    drop(progress);
    if arguments.verbose {
        let path = options.output.display();
        for file in &files {
            eprintln!("fatbin: {path}: {}: {} bytes", file.id, file.input.size());
        }
        eprintln!("fatbin: {path}: {} bytes", bundled.size);
        if let Some(compressed) = &bundled.compressed {
            eprintln!("fatbin: {path}: {}", figures::told(compressed));
        }
    }
    Ok(Status::Yes)
}

/// What `--type` can be, for its help.
pub fn types_help() -> String {
    let types = FILE_TYPES.iter().map(|it| format!("{:4} - {}", it.name, it.meaning));
    format!("What the files are:\n{}", types.collect::<Vec<_>>().join("\n"))
}

pub fn parse_type(name: &str) -> Result<FileType> {
    FileType::named(name).ok_or_else(|| {
        let names: Vec<&str> = FILE_TYPES.iter().map(|file_type| file_type.name).collect();
        anyhow!("{} are known", names.join(", "))
    })
}

/// An id never holds `=`; a path may.
pub fn parse_target(text: &str) -> Result<(String, PathBuf)> {
    let (id, file) = text.split_once('=').with_context(|| format!("{text:?} is not ID=FILE"))?;
    ensure!(!file.is_empty(), "{text:?} names no file");
    Ok((id.to_owned(), file.into()))
}

fn parse_alignment(text: &str) -> Result<u64> {
    let alignment: u64 = text.parse().ok().context("no number")?;
    ensure!(alignment.is_power_of_two() && alignment <= LARGEST_ALIGNMENT, "no power of two up to {LARGEST_ALIGNMENT}");
    Ok(alignment)
}

/// The largest page that any machine has; what it costs is zeros in the file.
const LARGEST_ALIGNMENT: u64 = 1 << 30;

fn parse_version(text: &str) -> Result<ccob::Version> {
    match text {
        "2" => Ok(ccob::Version::Two),
        "3" => Ok(ccob::Version::Three),
        _ => bail!("versions 2 and 3 can be written"),
    }
}
