//! `fatbin link`.

use std::ffi::OsString;
use std::num::NonZero;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::PossibleValuesParser;

use super::Status;
use super::access;
use super::limit::LimitArguments;
use super::problems::{print_detail, print_output};
use crate::host::Host;
use crate::link::{
    CommandLine, DeviceArguments, HostLine, LinkError, LinkOptions, Product, ProgramPaths, Spelling, Step,
    TargetArgument,
};
use crate::llvm::{NEWEST, Release};
use crate::parallel::processors;

/// Link device code and the program that contains it
///
/// Device images are taken from the objects and archives on the host linker's command line, linked for each target,
/// and registered by an object that is added to the command line. The program may be a linker or a compiler that calls
/// one. Code objects and bitcode for AMD GPUs need ld.lld, devices that are CPUs need cc; images that are linked already
/// need nothing.
///
/// Exit status: 0 if the program was linked, 2 if not.
#[derive(Debug, Args)]
pub struct Arguments {
    /// LLVM release of the host objects and the runtime
    #[arg(long, value_name = "ABI", value_parser = release_names(), default_value = NEWEST.name)]
    abi: String,

    /// Machine of the program, by default the one fatbin was built for
    #[arg(long, value_name = "TRIPLE")]
    host: Option<String>,

    /// Linker for the device code of a target: a triple, or the architecture at its start
    #[arg(long = "device-link-tool", value_name = "TARGET=PATH", value_parser = parse_tool)]
    device_link_tools: Vec<(String, PathBuf)>,

    /// Argument for the device linkers, or for that of one target
    #[arg(long = "device-linker", value_name = "[TRIPLE=]ARGUMENT", allow_hyphen_values = true)]
    device_linker: Vec<OsString>,

    /// Link members of archives for this processor even if no object has code for it
    #[arg(long = "should-extract", value_name = "ARCH", value_delimiter = ',')]
    should_extract: Vec<String>,

    /// Directory of ROCm, whose ld.lld is used; by default that of ROCM_PATH
    #[arg(long, value_name = "DIR")]
    rocm_path: Option<PathBuf>,

    /// Maximum number of device linkers that run at the same time [default: number of processors]
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZero<usize>>,

    #[command(flatten)]
    limits: LimitArguments,

    /// Write the fat binary that would be registered to the output of the command line, and do not link the program
    #[arg(long)]
    emit_fatbin_only: bool,

    /// Keep the files between the steps, in the working directory
    #[arg(long)]
    save_temps: bool,

    /// Print the steps and run none
    #[arg(long)]
    dry_run: bool,

    /// Print each step
    #[arg(short, long)]
    verbose: bool,

    /// Host linker and its arguments
    #[arg(value_name = "LINKER", required = true, last = true)]
    line: Vec<OsString>,
}

fn release_names() -> PossibleValuesParser {
    PossibleValuesParser::new(Release::names())
}

fn parse_tool(text: &str) -> Result<(String, PathBuf)> {
    let (target, path) = text.split_once('=').context("is not TARGET=PATH")?;
    Ok((target.to_owned(), path.into()))
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<Status> {
    let is_verbose = arguments.verbose || arguments.dry_run;
    let options = options(arguments)?;
    crate::link::link(&options, &mut |step| match step {
        Step::Printed(text) => print_output(text),
        step if is_verbose => print_detail(format_args!("link: {}", describe(step))),
        _ => {}
    })?;
    Ok(Status::Yes)
}

/// Describes a step.
fn describe(step: &Step<'_>) -> String {
    match step {
        Step::Device(link) if link.commands.is_empty() => {
            format!("{}: image for {} {} is linked already", link.host_files.join(", "), link.triple, link.arch)
        }
        Step::Device(link) => link.commands.iter().map(words).collect::<Vec<_>>().join(" && "),
        Step::FatBinary { kind, images, .. } => {
            let archs: Vec<&str> = images.iter().map(|image| image.arch).collect();
            format!("{} fat binary of {}", kind.name(), archs.join(", "))
        }
        Step::Host(command) => words(command),
        Step::Printed(text) => (*text).to_owned(),
        Step::Isolate { output, entry_sections, .. } => {
            let sections: Vec<&str> = entry_sections.iter().copied().collect();
            format!("{}: own names for {}", output.display(), sections.join(", "))
        }
    }
}

fn options(arguments: Arguments) -> Result<LinkOptions> {
    let mut line = arguments.line.into_iter();
    let linker = line.next().context("link: no linker given; pass its command line after --")?;
    let release = Release::named(&arguments.abi).unwrap_or(NEWEST);
    let argument = |value: &OsString| TargetArgument::parse(value);
    let line = HostLine::parse(line).map_err(LinkError::MissingValue)?;
    let device = DeviceArguments {
        linker: arguments.device_linker.iter().map(argument).collect(),
        ..DeviceArguments::default()
    };
    let rocm = arguments.rocm_path.or_else(|| std::env::var_os("ROCM_PATH").map(PathBuf::from));
    let rocm = rocm.map(|directory| directory.join("llvm/bin"));
    let programs = ProgramPaths {
        specified: arguments.device_link_tools,
        directories: rocm.into_iter().collect(),
        version: release.number,
    };
    let host = match arguments.host {
        Some(host) => host,
        None => Host::native()?.triple().to_owned(),
    };
    Ok(LinkOptions {
        linker: linker.into(),
        line,
        spelling: Spelling::AsWritten,
        product: if arguments.emit_fatbin_only { Product::FatBinary } else { Product::Program },
        host,
        release,
        requested: arguments.should_extract,
        device,
        programs,
        requires_images: true,
        compression: None,
        keeps_files: arguments.save_temps,
        is_dry_run: arguments.dry_run,
        jobs: arguments.jobs.map_or_else(processors, NonZero::get),
        access: access::get(),
        limits: arguments.limits.limits(),
    })
}

/// Returns the words of a command line, quoted where a shell needs it.
fn words(command: &CommandLine) -> String {
    let quote = |word: &std::ffi::OsStr| {
        let word = word.to_string_lossy();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "%+,-./:=@_".contains(c);
        if !word.is_empty() && word.chars().all(is_plain) {
            word.into_owned()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    command.words().map(quote).collect::<Vec<_>>().join(" ")
}
