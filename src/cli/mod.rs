//! The command line: subcommands, messages and exit statuses.

mod access;
mod addr2line;
mod asked;
mod bundle;
mod check;
mod codes;
mod command_page;
mod completions;
mod compression;
mod destination;
mod devices;
mod diff;
mod doctor;
pub(crate) mod dropin;
mod editing;
mod embed;
mod explain;
mod explanations;
mod extract;
mod failure;
mod figures;
mod filter;
mod format;
mod forms;
mod headings;
mod help;
mod id_style;
mod image_argument;
mod inputs;
mod inspect;
mod inspected;
mod install_links;
mod join;
mod known_names;
mod limit;
mod link;
mod list;
mod lock;
mod locking;
mod man;
mod metadata;
mod negative;
mod outputs;
mod overview;
mod pack;
mod pack_fatbin;
mod path_list;
mod problems;
mod progress;
mod proofs;
mod prune;
mod quiet;
mod recover;
mod repaired;
mod replace;
pub(crate) mod report;
mod requires;
mod scan;
mod scan_arguments;
mod scanned;
mod schema;
mod select;
mod select_set;
mod shell;
mod size;
mod split;
mod status;
mod strip;
mod terminal;
mod texts;
mod threads;
mod transcode;
mod unbundle;
mod usage;
mod value_enum;
mod verify;
#[cfg(test)]
mod vocabulary;
mod wrap;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::base::io::standard_output;
use crate::base::io::{Access, signals};
use failure::{Failure, Result};
use problems::Problems;
use status::Status;

#[derive(Parser)]
#[command(name = "fatbin", version, term_width = help::width(&terminal::screen()), subcommand_required = true, arg_required_else_help = true)]
#[command(override_usage = "fatbin [OPTIONS] <FILE>...\n       fatbin [OPTIONS] <COMMAND>")]
#[command(disable_help_subcommand = true)]
/// Embed, list, extract and check GPU device images in host files
///
/// Without a command, prints on one screen what files are, on which devices they run, and what to ask next.
///
/// Exit status: 0 yes (written, found, as required, equal), 1 no (nothing found, not as required, different), 2 trouble
/// (invalid usage, an input that cannot be read or parsed, an output that cannot be written, nothing to decide on).
struct Arguments {
    #[command(flatten)]
    common: CommonArguments,

    #[command(subcommand)]
    command: Command,
}

#[derive(Args)]
struct CommonArguments {
    #[command(flatten)]
    color: terminal::ColorArgument,

    #[command(flatten)]
    threads: threads::ThreadArgument,

    #[command(flatten)]
    quiet: quiet::QuietArgument,
}

// Only the command that runs is defined, because the definitions of all take most of the time of a short run.
#[derive(Subcommand)]
#[command(defer = true)]
enum Command {
    Wrap(wrap::Arguments),
    Embed(embed::Arguments),
    Link(link::Arguments),
    Doctor(doctor::Arguments),
    Pack(pack::Arguments),
    Bundle(bundle::Arguments),
    Unbundle(unbundle::Arguments),
    List(list::Arguments),
    #[command(name = overview::NAME, hide = true)]
    Overview(overview::Arguments),
    Scan(scan::Arguments),
    Extract(extract::Arguments),
    Inspect(inspect::Arguments),
    #[command(name = "addr2line")]
    Addr2line(addr2line::Arguments),
    Verify(verify::Arguments),
    Prune(prune::Arguments),
    Strip(strip::Arguments),
    Split(split::Arguments),
    Join(join::Arguments),
    Select(select::Arguments),
    Size(size::Arguments),
    Requires(requires::Arguments),
    Check(check::Arguments),
    Metadata(metadata::Arguments),
    Lock(lock::Arguments),
    Diff(diff::Arguments),
    Transcode(transcode::Arguments),
    Replace(replace::Arguments),
    Recover(recover::Arguments),
    Schema(schema::Arguments),
    Explain(explain::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
    InstallLinks(install_links::Arguments),
    Help(help::Arguments),
}

/// Runs the command line of the process. If the process was started under the name of an LLVM tool, acts as that tool.
pub fn run(access: Access) -> ExitCode {
    signals::install();
    access::set(access);
    let arguments: Vec<_> = std::env::args_os().collect();
    if let Some(status) = dropin::run(&arguments) {
        return status;
    }
    let result = standard_output::check().map_err(Failure::from).and_then(|()| run_command(arguments));
    // Otherwise the rest of the buffer would be written when the process exits, and errors would be ignored.
    let result = result.and_then(|status| Ok(io::stdout().flush().map(|()| status)?));
    let status = result.unwrap_or_else(|error| Problems::default().report(negative::with_inputs(error)));
    recover::warn_of_unfinished();
    problems::print_hint();
    ExitCode::from(status.code())
}

fn run_command(mut arguments: Vec<OsString>) -> Result<Status> {
    // Build systems ask for the version at every start. Without this shortcut, defining all commands would take most of
    // the time.
    if let [_, flag] = arguments.as_slice()
        && (flag == "--version" || flag == "-V")
    {
        terminal::print(concat!("fatbin ", env!("CARGO_PKG_VERSION"), "\n"))?;
        return Ok(Status::Yes);
    }
    overview::insert(&mut arguments, |word| Arguments::command().find_subcommand(word).is_some());
    match parse(arguments) {
        Ok(Arguments { common: CommonArguments { color, threads, quiet }, command }) => {
            color.apply();
            quiet.apply();
            let answers = negative::Answers::of(&command);
            let status = threads.limit(|| {
                // The programs of a link print by themselves.
                let is_link = matches!(command, Command::Link(_));
                let _line = if is_link { None } else { Some(progress::ProgressLine::start()) };
                command.run()
            })??;
            answers.report(status);
            Ok(status)
        }
        Err(refused) => {
            let (text, program) = *refused;
            if matches!(text.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
                return Ok(text.print().map(|()| Status::Yes)?);
            }
            problems::exit_with_usage(&text, &program)
        }
    }
}

/// Returns the command and the name of each option and argument that names an output. Used by the program's tests.
#[doc(hidden)]
pub fn output_options() -> Vec<(String, String)> {
    outputs::options_of(&program()).map(|(command, option)| (command.to_owned(), option.to_owned())).collect()
}

/// Returns the definition of the program, with all commands.
fn program() -> clap::Command {
    help::by_job(built())
}

fn built() -> clap::Command {
    let mut program = Arguments::command();
    program.build();
    program
}

fn parse(arguments: Vec<OsString>) -> Result<Arguments, Box<(clap::Error, clap::Command)>> {
    if let Some(parsed) = parse_alone(&arguments) {
        return Ok(parsed);
    }
    // Help and errors name other commands, too.
    let is_long = arguments.iter().any(|argument| argument == "--help");
    let mut program = if is_long { program() } else { help::on_one_screen(built()) };
    let parsed = program.try_get_matches_from_mut(arguments).and_then(|found| Arguments::from_arg_matches(&found));
    parsed.map_err(|error| Box::new((error, program)))
}

/// Parses arguments with the definition of their command only: clap copies the common options into every command that
/// is defined, which takes most of the time of a short run. Refuses what the whole program may accept or explain.
fn parse_alone(arguments: &[OsString]) -> Option<Arguments> {
    let commands = Command::augment_subcommands(clap::Command::new("fatbin"));
    let command = arguments.iter().skip(1).find_map(|word| commands.find_subcommand(word))?;
    let program = clap::Command::new("fatbin").disable_help_subcommand(true).subcommand(command.clone());
    let program = CommonArguments::augment_args(program);
    Arguments::from_arg_matches(&program.try_get_matches_from(arguments).ok()?).ok()
}

impl Command {
    fn run(self) -> Result<Status> {
        match self {
            Command::Wrap(arguments) => wrap::run(arguments),
            Command::Embed(arguments) => embed::run(arguments),
            Command::Link(arguments) => link::run(arguments),
            Command::Doctor(arguments) => doctor::run(arguments),
            Command::Pack(arguments) => pack::run(arguments),
            Command::Bundle(arguments) => bundle::run(arguments),
            Command::Unbundle(arguments) => unbundle::run(arguments),
            Command::List(arguments) => list::run(arguments),
            Command::Overview(arguments) => overview::run(arguments),
            Command::Scan(arguments) => scan::run(arguments),
            Command::Extract(arguments) => extract::run(arguments),
            Command::Inspect(arguments) => inspect::run(arguments),
            Command::Addr2line(arguments) => addr2line::run(arguments),
            Command::Verify(arguments) => verify::run(arguments),
            Command::Prune(arguments) => prune::run(arguments),
            Command::Strip(arguments) => strip::run(arguments),
            Command::Split(arguments) => split::run(arguments),
            Command::Join(arguments) => join::run(arguments),
            Command::Select(arguments) => select::run(arguments),
            Command::Size(arguments) => size::run(arguments),
            Command::Requires(arguments) => requires::run(arguments),
            Command::Check(arguments) => check::run(arguments),
            Command::Metadata(arguments) => metadata::run(arguments),
            Command::Lock(arguments) => lock::run(arguments),
            Command::Diff(arguments) => diff::run(arguments),
            Command::Transcode(arguments) => transcode::run(arguments),
            Command::Replace(arguments) => replace::run(arguments),
            Command::Recover(arguments) => recover::run(&arguments),
            Command::Schema(arguments) => schema::run(arguments),
            Command::Explain(arguments) => explain::run(arguments),
            Command::Completions(arguments) => completions::run(arguments, Arguments::command()),
            Command::Man(arguments) => man::run(arguments, program()),
            Command::InstallLinks(arguments) => install_links::run(arguments),
            Command::Help(arguments) => help::run(&arguments, program()),
        }
    }
}
