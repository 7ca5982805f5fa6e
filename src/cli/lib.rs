//! The command line: subcommands, messages and exit statuses.

#![deny(unsafe_code)]
#![allow(clippy::new_without_default, reason = "methods are written when the program or a test calls them")]

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
mod recover;
mod repaired;
mod replace;
pub mod report;
mod requires;
mod scan;
mod scan_arguments;
mod scanned;
mod schema;
mod select;
mod select_set;
mod session;
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

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use failure::{Failure, Result};
use fatbin_core::base::io::standard_output;
use fatbin_core::base::io::{Access, signals};
use fatbin_core::base::parallel::with_usual_stack;
use problems::Problems;
use progress::ShownLine;
use session::{OutputChoices, Session};
use status::Status;

#[derive(Parser)]
#[command(name = "fatbin", version, term_width = help::width(terminal::width()), subcommand_required = true, arg_required_else_help = true)]
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
    output: OutputChoices,

    #[command(flatten)]
    threads: threads::ThreadArgument,
}

/// Defines the commands. The definitions of all take most of the time of a short run, so a command is parsed without
/// the others, or only the definition of the command that runs is completed.
macro_rules! commands {
    ($($name:literal $command:ident($module:ident) $(#[$attribute:meta])?,)+) => {
        #[derive(Subcommand)]
        #[command(defer = true)]
        enum Command {
            $(#[command(name = $name)] $(#[$attribute])? $command($module::Arguments),)+
        }

        impl Command {
            fn is_name(word: &str) -> bool {
                matches!(word, $($name)|+)
            }

            fn parse_alone(name: &str, arguments: &[&OsString]) -> Option<Arguments> {
                match name {
                    $($name => parse_as($name, arguments).map(|(common, it)| Arguments { common, command: Command::$command(it) }),)+
                    _ => None,
                }
            }

            fn run(self, session: &Session) -> Result<Status> {
                match self {
                    $(Command::$command(arguments) => $module::run(arguments, session),)+
                }
            }
        }
    };
}

commands! {
    "wrap" Wrap(wrap),
    "embed" Embed(embed),
    "link" Link(link),
    "doctor" Doctor(doctor),
    "pack" Pack(pack),
    "bundle" Bundle(bundle),
    "unbundle" Unbundle(unbundle),
    "list" List(list),
    "overview" Overview(overview) #[command(hide = true)],
    "scan" Scan(scan),
    "extract" Extract(extract),
    "inspect" Inspect(inspect),
    "addr2line" Addr2line(addr2line),
    "verify" Verify(verify),
    "prune" Prune(prune),
    "strip" Strip(strip),
    "split" Split(split),
    "join" Join(join),
    "select" Select(select),
    "size" Size(size),
    "requires" Requires(requires),
    "check" Check(check),
    "metadata" Metadata(metadata),
    "lock" Lock(lock),
    "diff" Diff(diff),
    "transcode" Transcode(transcode),
    "replace" Replace(replace),
    "recover" Recover(recover),
    "schema" Schema(schema),
    "explain" Explain(explain),
    "completions" Completions(completions),
    "man" Man(man),
    "install-links" InstallLinks(install_links),
    "help" Help(help),
}

/// Runs the command line of the process. If the process was started under the name of an LLVM tool, acts as that tool.
pub fn run(access: Access, arguments: Vec<OsString>) -> u8 {
    signals::install();
    with_usual_stack(|| run_here(access, arguments))
}

fn run_here(access: Access, arguments: Vec<OsString>) -> u8 {
    if let Some(status) = fatbin_dropin::run(access, &arguments) {
        return status;
    }
    let mut session = Session::new(access);
    let checked = standard_output::check().map_err(Failure::from);
    let result = checked.and_then(|()| run_command(arguments, &mut session));
    // Otherwise the rest of the buffer would be written when the process exits, and errors would be ignored.
    let result = result.and_then(|status| Ok(io::stdout().flush().map(|()| status)?));
    let status =
        result.unwrap_or_else(|error| Problems::new(&session, false).report(negative::with_inputs(error, &session)));
    recover::warn_of_unfinished(&session);
    session.print_hint();
    status.code()
}

fn run_command(mut arguments: Vec<OsString>, session: &mut Session) -> Result<Status> {
    // Build systems ask for the version at every start. Without this shortcut, defining all commands would take most of
    // the time.
    if let [_, flag] = arguments.as_slice()
        && (flag == "--version" || flag == "-V")
    {
        session.print(concat!("fatbin ", env!("CARGO_PKG_VERSION"), "\n"))?;
        return Ok(Status::Yes);
    }
    overview::insert(&mut arguments, Command::is_name);
    match parse(arguments) {
        Ok(Arguments { common: CommonArguments { output, threads }, command }) => {
            session.choose(output);
            let answers = negative::Answers::of(&command);
            let status = threads.limit(|| {
                // The programs of a link print by themselves.
                let is_link = matches!(command, Command::Link(_));
                let line = if is_link || session.is_quiet() { None } else { session.progress().show() };
                let status = command.run(session);
                line.into_iter().for_each(ShownLine::remove);
                status
            })??;
            answers.report(status, session);
            Ok(status)
        }
        Err(refused) => {
            let (text, program) = *refused;
            if matches!(text.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
                return Ok(text.print().map(|()| Status::Yes)?);
            }
            session.exit_with_usage(&text, &program)
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

/// Parses arguments with the definition of their command only. Options of all commands may precede it.
fn parse_alone(arguments: &[OsString]) -> Option<Arguments> {
    let at = overview::first_word(arguments)?;
    let (before, rest) = arguments.split_at(at);
    let (command, after) = rest.split_first()?;
    let is_split = before.iter().any(|word| word == "--");
    let program = || CommonArguments::augment_args(clap::Command::new("fatbin"));
    if at > 1 && (is_split || program().try_get_matches_from(before).is_err()) {
        return None;
    }
    let arguments: Vec<_> = before.iter().chain(after).collect();
    Command::parse_alone(command.to_str()?, &arguments)
}

fn parse_as<A: Args>(name: &'static str, arguments: &[&OsString]) -> Option<(CommonArguments, A)> {
    let command = CommonArguments::augment_args(A::augment_args(clap::Command::new(name)));
    let mut found = command.try_get_matches_from(arguments).ok()?;
    Some((CommonArguments::from_arg_matches_mut(&mut found).ok()?, A::from_arg_matches_mut(&mut found).ok()?))
}
