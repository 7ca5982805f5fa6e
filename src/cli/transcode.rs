//! `fatbin transcode`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Args, ValueEnum};

use super::compression::check_level;
use super::destination::DestinationArguments;
use super::limit::LimitArguments;
use super::problems::ProblemArguments;
use super::{Status, access, terminal};
use crate::codec::Codec;
use crate::edit::transcode::{BundleForm, Transcoding, check_readers, first_readers, requested};
use crate::edit::{ApplyOptions, Effort, apply};
use crate::format::ccob::Version as CcobVersion;
use crate::format::offload_binary::Version as OffloadBinaryVersion;
use crate::format::readers::Reader;
use crate::io::Input;
use crate::report;

/// Store device images in another form: compressed or not, in another version of their container
///
/// The images stay the same, and each is compared with the input before the output gets its name. In an object, executable or library the
/// containers stay at their offsets, and space that is left becomes zeros; a container that gets larger than its place is an
/// error. Containers of types for which nothing is requested stay as they are.
///
/// Prints the releases of ROCm, LLVM and CUDA that are needed to read the result.
///
/// Exit status: 0 if the output was written, 1 if the input has no such container, 2 for trouble.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Form of the containers; may be repeated, for containers of several types
    #[arg(long, value_name = "FORM", required = true, value_delimiter = ',')]
    to: Vec<Form>,

    /// Compression level: 1 to 22 for zstd, 1 to 9 for zlib, 1 to 12 for lz4
    ///
    /// By default the level of the tools that write such containers. Without this option and --best, data that has the requested
    /// codec already is not compressed again.
    #[arg(long, value_name = "N", conflicts_with = "best")]
    level: Option<i32>,

    /// Compress with the strongest levels, and take the smallest result
    #[arg(long)]
    best: bool,

    /// Refuse a result that this release cannot read, such as rocm-6.2, llvm-19 or cuda-12.2; may be repeated
    #[arg(long, value_name = "RELEASE", value_parser = parse_reader)]
    readable_by: Vec<Reader>,

    /// Write zeros instead of leaving holes in the output
    #[arg(long)]
    no_punch: bool,

    #[command(flatten)]
    destination: DestinationArguments,

    #[command(flatten)]
    problems: ProblemArguments,

    #[command(flatten)]
    limits: LimitArguments,

    /// Object, executable, library, or file of containers
    #[arg(value_name = "INPUT")]
    input: PathBuf,
}

/// Value of `--to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Bundles: uncompressed
    Plain,
    /// Bundles: compressed, format version 2
    Ccob2,
    /// Bundles: compressed, format version 3
    Ccob3,
    /// Offload binaries: format version 1, of one image each
    V1,
    /// Offload binaries: format version 2
    V2,
    /// Offload binaries: format version 3
    V3,
    /// Entries of CUDA fat binaries, and offload binaries of version 3: uncompressed
    None,
    /// Entries of CUDA fat binaries: LZ4
    Lz4,
    /// Entries of CUDA fat binaries, offload binaries of version 3, and compressed bundles: zstd
    Zstd,
    /// Offload binaries of version 3, and compressed bundles: zlib
    Zlib,
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<Status> {
    let problems = arguments.problems.problems();
    let transcoding = arguments.transcoding()?;
    let input = Input::open(&arguments.input, access::get())?;
    let mut output = arguments.destination.create(&arguments.input)?;
    let options = ApplyOptions { limits: arguments.limits.limits(), access: access::get(), holes: !arguments.no_punch };
    let (mut count, mut text, mut readable) = (0, String::new(), Ok(()));
    let applied =
        apply(input, &transcoding, options, output.as_mut().map(|output| &mut output.output), &mut |edited| {
            let (file, new_file) = (edited.scan.file(), edited.new_file.unwrap_or(edited.scan.file()));
            let changed = requested(file, &transcoding);
            count += changed;
            text += &report::transcoded(file, new_file, changed, &first_readers(new_file));
            let checked = check_readers(new_file, &arguments.readable_by);
            if let (Ok(()), Err(error)) = (&readable, checked) {
                readable = Err(error.in_file(Path::new(&file.path)));
            }
        })?;
    let Some(applied) = applied.filter(|_| count > 0) else {
        let (input, output) = (arguments.input.display(), arguments.destination.path(&arguments.input).display());
        problems.report(anyhow!("{input}: no container that --to is about; {output} was not written"));
        return Ok(Status::No);
    };
    readable?;
    if let Some(output) = output {
        output.commit(&problems)?;
    }
    // The output may be standard output.
    if !arguments.destination.is_standard_output() {
        terminal::print(&(text + &report::edit_sizes(applied.size, applied.new_size, None)))?;
    }
    Ok(Status::Yes)
}

impl Arguments {
    /// Returns the encodings that `--to` requests.
    fn transcoding(&self) -> Result<Transcoding> {
        let (mut bundle, mut offload_binary, mut codec) = (None, None, None);
        for form in &self.to {
            match form {
                Form::Plain => set(&mut bundle, BundleForm::Plain)?,
                Form::Ccob2 => set(&mut bundle, BundleForm::Compressed(CcobVersion::Two))?,
                Form::Ccob3 => set(&mut bundle, BundleForm::Compressed(CcobVersion::Three))?,
                Form::V1 => set(&mut offload_binary, OffloadBinaryVersion::One)?,
                Form::V2 => set(&mut offload_binary, OffloadBinaryVersion::Two)?,
                Form::V3 => set(&mut offload_binary, OffloadBinaryVersion::Three)?,
                Form::None => set(&mut codec, Codec::None)?,
                Form::Lz4 => set(&mut codec, Codec::Lz4)?,
                Form::Zstd => set(&mut codec, Codec::Zstd)?,
                Form::Zlib => set(&mut codec, Codec::Zlib)?,
            }
        }
        let effort = match (self.level, codec) {
            (None, _) if self.best => Effort::Best,
            (None, _) => Effort::Fit,
            (Some(_), Some(Codec::None)) => bail!("transcode: --level: --to none does not compress"),
            (Some(level), codec) => Effort::Level(check_level(codec.unwrap_or(Codec::Zstd), level)?),
        };
        Ok(Transcoding { bundle, offload_binary, codec, effort })
    }
}

/// Sets a choice that is made once.
fn set<T: PartialEq>(choice: &mut Option<T>, value: T) -> Result<()> {
    ensure!(choice.is_none(), "transcode: --to: several forms for containers of one type");
    *choice = Some(value);
    Ok(())
}

fn parse_reader(text: &str) -> Result<Reader> {
    Reader::parse(text).context("expected a release, for example rocm-6.2, llvm-19 or cuda-12.2")
}
