//! `fatbin link`.

use std::ffi::OsString;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use super::Status;
use super::check::{check_file, read_policy, status_of};
use super::failure::{Context, Result};
use super::format::{Format, TABLE_OR_JSON, among};
use super::headings::{INPUT, JUDGEMENT, LIMITS, OUTPUT, SELECTION};
use super::id_style::{id_style, warn_of_hidden_id};
use super::limit::LimitArguments;
use super::session::Session;
use super::shell::quoted;
use crate::report;
use fatbin_core::base::error::Error;
use fatbin_core::base::io::{FileSet, OutputKind};
use fatbin_core::base::parallel::threads;
use fatbin_core::host::Host;
use fatbin_core::target::{IdStyle, OffloadKind};
use fatbin_ops::check::{self, Policy};
use fatbin_ops::embed::llvm::{NEWEST, Release};
use fatbin_ops::link::{
    AccountedInput, CommandLine, DeviceArguments, EntryCheck, HostLine, LinkEvent, LinkOptions, MissingKernel, Product,
    ProgramPaths, Spelling, TargetArgument,
};

/// Link device code and the program that contains it
///
/// Device images are taken from the objects and archives on the host linker's command line, linked for each target, and
/// registered by an object that is added to the command line. The program may be a linker or a compiler that calls one.
/// Code objects and bitcode for AMD GPUs need ld.lld, devices that are CPUs need cc; images that are linked already
/// need nothing.
///
/// Exit status: 0 if the program was linked, 1 if it violates the policy, 2 if it was not linked.
#[derive(Debug, Args)]
pub struct Arguments {
    /// LLVM release of the host objects and the runtime; auto is the release of each object's offload entries
    #[arg(help_heading = OUTPUT, long, value_name = "ABI", value_parser = release_names(), default_value = "auto")]
    abi: String,

    /// Machine of the program, by default the one fatbin was built for
    #[arg(help_heading = OUTPUT, long, value_name = "TRIPLE")]
    host: Option<String>,

    /// Spelling of the triples of AMD's GPUs in HIP's bundles
    ///
    /// legacy: amdgcn-amd-amdhsa, the only one that HIP runtimes find; subarch: amdgpu9.0a-amd-amdhsa; as-given: as in
    /// the inputs.
    #[arg(help_heading = OUTPUT, long, value_name = "STYLE", value_parser = id_style(), default_value = IdStyle::Legacy.name())]
    id_style: IdStyle,

    /// Linker for the device code of a target: a triple, or the architecture at its start
    #[arg(help_heading = INPUT, long = "device-link-tool", value_name = "TARGET=PATH", value_parser = parse_tool)]
    device_link_tools: Vec<(String, PathBuf)>,

    /// Argument for the device linkers, or for the device linker of one target
    #[arg(help_heading = INPUT, long = "device-linker", value_name = "[TRIPLE=]ARGUMENT", allow_hyphen_values = true)]
    device_linker: Vec<OsString>,

    /// Link members of archives for this processor even if no object has code for it
    #[arg(help_heading = SELECTION, long = "should-extract", value_name = "ARCH", value_delimiter = ',')]
    should_extract: Vec<String>,

    /// Directory of ROCm, whose ld.lld is used; by default ROCM_PATH
    #[arg(help_heading = INPUT, long, value_name = "DIR")]
    rocm_path: Option<PathBuf>,

    /// Directory of CUDA, whose ptxas and nvlink are used; by default CUDA_PATH
    #[arg(help_heading = INPUT, long, value_name = "DIR")]
    cuda_path: Option<PathBuf>,

    /// Register this image in place of the images in the inputs
    #[arg(help_heading = INPUT, long, value_name = "KIND=FILE", value_parser = parse_image)]
    override_image: Option<(OffloadKind, PathBuf)>,

    /// Treatment of kernels that the program uses and no device image has, and of device code that cannot be linked
    #[arg(help_heading = JUDGEMENT, long, value_name = "MODE", value_enum, num_args = 0..=1, require_equals = true)]
    #[arg(default_value_t = EntryCheckMode::Error, default_missing_value = "error")]
    check_entries: EntryCheckMode,

    /// Check the output against a policy, and remove it if it violates the policy; see `fatbin check`
    #[arg(help_heading = JUDGEMENT, long, value_name = "POLICY", conflicts_with = "dry_run")]
    policy: Option<PathBuf>,

    /// Print the images that were linked, and their inputs
    #[arg(help_heading = OUTPUT, long, value_name = "FORMAT", value_parser = among(TABLE_OR_JSON))]
    report: Option<Format>,

    /// Maximum number of device linkers that run at the same time [default: number of processors]
    #[arg(help_heading = LIMITS, short, long, value_name = "N")]
    jobs: Option<NonZero<usize>>,

    #[command(flatten)]
    limits: LimitArguments,

    /// Write the fat binary that would be registered to the output of the command line, and do not link the program
    #[arg(help_heading = OUTPUT, long)]
    emit_fatbin_only: bool,

    /// Keep the files between the steps, in the working directory
    #[arg(help_heading = OUTPUT, long)]
    save_temps: bool,

    /// Print the steps and run none
    #[arg(help_heading = OUTPUT, long)]
    dry_run: bool,

    /// Print each step
    #[arg(help_heading = OUTPUT, short, long)]
    verbose: bool,

    /// Host linker and its arguments
    #[arg(value_name = "LINKER", required = true, last = true)]
    line: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EntryCheckMode {
    /// Do not search for them
    Off,
    /// Print a warning for each
    Warn,
    /// Fail, and leave no program
    Error,
}

fn release_names() -> PossibleValuesParser {
    PossibleValuesParser::new(std::iter::once("auto").chain(Release::names()))
}

fn parse_tool(text: &str) -> Result<(String, PathBuf)> {
    let (target, path) = text.split_once('=').context("is not TARGET=PATH")?;
    Ok((target.to_owned(), path.into()))
}

fn parse_image(text: &str) -> Result<(OffloadKind, PathBuf)> {
    let (kind, path) = text.split_once('=').context("is not KIND=FILE")?;
    let kind = OffloadKind::from_name(kind).filter(|kind| kind.bit() != 0);
    Ok((kind.context("invalid kind: expected openmp, cuda, hip or sycl")?, path.into()))
}

/// Runs the command.
pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let is_verbose = arguments.verbose || arguments.dry_run;
    let format = arguments.report;
    let policy = arguments.policy.clone();
    let policy = policy.map(|path| read_policy(&path)).transpose()?;
    let limits = arguments.limits;
    let is_written = !arguments.dry_run;
    let other_inputs: Vec<PathBuf> =
        arguments.policy.iter().chain(arguments.override_image.iter().map(|(_, path)| path)).cloned().collect();
    let options = options(arguments, session)?;
    if is_written && !options.is_unchanged() && options.output().is_file() {
        let set = FileSet::of_paths(other_inputs.iter().map(PathBuf::as_path));
        if options.product == Product::FatBinary {
            options.line.inputs().for_each(|path| set.add_input(Path::new(path)));
        }
        set.output(options.output(), OutputKind::Code)?;
    }
    let mut printed = Ok(());
    let report = fatbin_ops::link::link(&options, &mut |event| {
        if let LinkEvent::FatBinary { kind: OffloadKind::Hip, images, .. } = event {
            images
                .iter()
                .filter_map(|image| image.hip_id(&options).ok())
                .for_each(|id| warn_of_hidden_id(&id, session));
        }
        match event {
            LinkEvent::Printed(text) => session.print_output(text),
            LinkEvent::HostPrinted(text) if options.reserves_output => session.print_output(text),
            LinkEvent::HostPrinted(text) => printed = session.print(text),
            LinkEvent::MissingKernel(kernel) => session.print_warning(&describe_missing(kernel)),
            LinkEvent::UnknownImage(path, target) => session.print_warning(&describe_unknown(path, target)),
            LinkEvent::Unregistered(kernel) => session.print_warning(&describe_unregistered(kernel)),
            LinkEvent::Lost(input) => session.print_warning(&input.loss().unwrap_or_default()),
            LinkEvent::Refused(refused) => session.print_warning(&format!("{}: {}", refused.path, refused.reason)),
            event if is_verbose => {
                for line in describe(event).iter().flat_map(|text| text.lines()) {
                    session.print_detail(format_args!("link: {line}"));
                }
            }
            _ => {}
        }
    })?;
    printed?;
    match format {
        Some(Format::Json) => session.print(&report::link_json(&report))?,
        Some(_) => session.print(&report::link_text(&report, &session.screen()))?,
        None => {}
    }
    match (policy, &report.output) {
        (Some(policy), Some(output)) => check_output(output, &policy, limits, session),
        // The policy is for the program that the library becomes part of.
        (Some(_), None) | (None, _) => Ok(Status::Yes),
    }
}

/// Checks the output against a policy. An output that violates the policy is removed, because a build tool would take
/// an existing output for a successful link.
fn check_output(output: &Path, policy: &Policy, limits: LimitArguments, session: &Session) -> Result<Status> {
    let verdict = check_file(output, policy, limits, session)?;
    let status = status_of(&verdict);
    if verdict.outcome() != check::Outcome::Passed {
        session.print_output(&report::verdict_text(&verdict, true, &report::Screen::default()));
    }
    if status != Status::Yes {
        std::fs::remove_file(output).map_err(Error::io(output, "remove"))?;
    }
    Ok(status)
}

/// Describes a step. Returns `None` if other steps show it.
fn describe(step: &LinkEvent<'_>) -> Option<String> {
    Some(match step {
        LinkEvent::Device(link) if link.commands.is_empty() => {
            format!("{}: image for {} {} is linked already", link.host_files.join(", "), link.triple, link.arch)
        }
        LinkEvent::Device(link) => link.commands.iter().map(words).collect::<Vec<_>>().join(" && "),
        LinkEvent::FatBinary { kind, images, .. } => {
            let archs: Vec<&str> = images.iter().map(|image| image.arch).collect();
            format!("{} fat binary of {}", kind.name(), archs.join(", "))
        }
        LinkEvent::Host(command) => words(command),
        LinkEvent::UnusedArchive(archive) => report::unused(archive),
        LinkEvent::MissingKernel(kernel) => describe_missing(kernel),
        LinkEvent::UnknownImage(path, target) => describe_unknown(path, target),
        LinkEvent::Unregistered(kernel) => describe_unregistered(kernel),
        // The fat binary and the host linker's command line follow.
        LinkEvent::Extract(_) | LinkEvent::Wrapper { .. } => return None,
        LinkEvent::Printed(text) | LinkEvent::HostPrinted(text) | LinkEvent::Ir(text) => (*text).to_owned(),
        LinkEvent::Refused(refused) => format!("{}: {}", refused.path, refused.reason),
        LinkEvent::Found(paths) => {
            let paths: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
            format!("the linker has found device code by itself: {}", paths.join(", "))
        }
        LinkEvent::Account(inputs) => return account(inputs),
        LinkEvent::Lost(input) => return input.loss(),
        LinkEvent::Isolate { output, entry_sections, .. } => {
            let sections: Vec<&str> = entry_sections.iter().copied().collect();
            format!("{}: own names for {}", output.display(), sections.join(", "))
        }
    })
}

/// Describes what became of the inputs, one line per input.
fn account(inputs: &[AccountedInput]) -> Option<String> {
    let line = |input: &AccountedInput| {
        input.loss().unwrap_or_else(|| format!("{}: {}", input.path, input.state.name().replace('-', " ")))
    };
    (!inputs.is_empty()).then(|| inputs.iter().map(line).collect::<Vec<_>>().join("\n"))
}

fn describe_missing(MissingKernel { path, kind, name }: &MissingKernel) -> String {
    format!("{path}: no {} image has kernel {name}; its launch will fail", kind.name())
}

fn describe_unknown(path: &str, target: &str) -> String {
    format!("{path}: the image for {target} is no device code; no runtime will load it")
}

fn describe_unregistered(MissingKernel { path, kind, name }: &MissingKernel) -> String {
    format!("{path}: the program does not register the {} kernel {name}; its launch will fail", kind.name())
}

fn options(arguments: Arguments, session: &Session) -> Result<LinkOptions> {
    let mut line = arguments.line.into_iter();
    let linker = line.next().context("link: no linker given; pass its command line after --")?;
    let abi = Release::named(&arguments.abi);
    let release = abi.unwrap_or(NEWEST);
    let argument = |value: &OsString| TargetArgument::parse(value);
    let linker = PathBuf::from(linker);
    let line = HostLine::of_program(&linker, line.collect())?;
    let device = DeviceArguments {
        linker: arguments.device_linker.iter().map(argument).collect(),
        ..DeviceArguments::default()
    };
    let path =
        |option: Option<PathBuf>, variable: &str| option.or_else(|| std::env::var_os(variable).map(PathBuf::from));
    let rocm = path(arguments.rocm_path, "ROCM_PATH").map(|directory| directory.join("llvm/bin"));
    let cuda = path(arguments.cuda_path, "CUDA_PATH").map(|directory| directory.join("bin"));
    let programs = ProgramPaths {
        specified: arguments.device_link_tools,
        directories: rocm.into_iter().chain(cuda).collect(),
        version: release.number,
    };
    let host = match arguments.host {
        Some(host) => host,
        None => Host::native()?.triple().to_owned(),
    };
    Ok(LinkOptions {
        linker,
        line,
        spelling: Spelling::AsWritten,
        product: if arguments.emit_fatbin_only { Product::FatBinary } else { Product::Program },
        host,
        release,
        abi,
        id_style: arguments.id_style,
        accepts_subarchs: true,
        override_image: arguments.override_image,
        entry_check: match arguments.check_entries {
            EntryCheckMode::Off => EntryCheck::Off,
            EntryCheckMode::Warn => EntryCheck::Warn,
            EntryCheckMode::Error => EntryCheck::Deny,
        },
        requested: arguments.should_extract,
        device,
        programs,
        rejects_conflicts: true,
        requires_images: true,
        reports_ir: false,
        reserves_output: arguments.report.is_some(),
        compression: None,
        keeps_files: arguments.save_temps,
        is_dry_run: arguments.dry_run,
        jobs: arguments.jobs.map_or_else(threads, NonZero::get),
        access: session.access(),
        limits: arguments.limits.limits(),
    })
}

/// Formats a command line, with the words quoted where a shell needs it.
fn words(command: &CommandLine) -> String {
    command.words().map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}
