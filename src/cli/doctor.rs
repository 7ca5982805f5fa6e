//! `fatbin doctor`.

use std::ffi::OsString;
use std::path::Path;

use clap::{Args, ValueEnum};

use super::Status;
use super::failure::Result;
use super::format::FormatArguments;
use super::headings::{INPUT, OUTPUT};
use super::limit::LimitArguments;
use super::outputs::{ForceArgument, OutputArgument};
use super::session::Session;
use crate::report;
use fatbin_core::base::error::Error;
use fatbin_core::base::io::{Output, OutputKind};
use fatbin_ops::link::doctor::{self, DoctorOptions, Linker};

/// Predict problems of a link with device code, before the link
///
/// Predicts the addresses of the sections from the sizes in the objects and the order of sections of the linker, and
/// reports relocations that large device sections move out of reach, images that no wrapper registers or several do,
/// kernels without entries and entries without kernels, and module IDs and symbols that collide. No linker runs; a
/// compiler prints the command line of its linker. Without a command line, the objects are linked by GNU ld into a
/// position-independent executable.
///
/// Exit status: 0 if there is no problem, 1 if there is one, 2 if an input cannot be read.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Objects, and archives whose members are all linked
    #[arg(value_name = "OBJECT", required_unless_present = "line")]
    objects: Vec<OsString>,

    /// Linker whose layout is predicted, by default the one that the command line calls
    #[arg(help_heading = INPUT, long, value_name = "LINKER", value_enum)]
    linker: Option<LinkerArgument>,

    /// Write a linker script that places large device sections after all others
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    script: Option<OutputArgument>,

    #[command(flatten)]
    force: ForceArgument,

    #[command(flatten)]
    format: FormatArguments,

    /// Print the predicted layout
    #[arg(long, conflicts_with = "json", help_heading = OUTPUT)]
    layout: bool,

    #[command(flatten)]
    limits: LimitArguments,

    /// Linker or compiler and its arguments
    #[arg(value_name = "LINE", last = true)]
    line: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LinkerArgument {
    /// GNU ld
    Bfd,
    /// GNU gold
    Gold,
    /// LLVM's lld
    Lld,
    /// mold
    Mold,
}

impl LinkerArgument {
    fn linker(self) -> Linker {
        match self {
            LinkerArgument::Bfd => Linker::Bfd,
            LinkerArgument::Gold => Linker::Gold,
            LinkerArgument::Lld => Linker::Lld,
            LinkerArgument::Mold => Linker::Mold,
        }
    }
}

/// Runs the command.
pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let words = arguments.objects.iter().chain(&arguments.line).map(Path::new);
    let set = arguments.force.files(words);
    let script = arguments.script.map(|path| Ok::<_, Error>((set.output(path.path(), OutputKind::Text)?, path)));
    let script = script.transpose()?;
    let options = DoctorOptions {
        line: arguments.line,
        objects: arguments.objects,
        linker: arguments.linker.map(LinkerArgument::linker),
        access: session.access(),
        limits: arguments.limits.limits(),
    };
    session
        .record_inputs(inputs(&options.line).chain(&options.objects).map(|path| path.to_string_lossy().into_owned()));
    let diagnosis = doctor::diagnose(&options)?;
    match (script, &diagnosis.script) {
        (Some((place, _)), Some(script)) => {
            Output::of_bytes(place, script.text.as_bytes())?;
        }
        (Some((_, path)), None) => {
            session.print_detail(format_args!("doctor: {} is not written: nothing to move", path.path().display()));
        }
        (None, _) => {}
    }
    if arguments.format.is_json() {
        session.print(&report::diagnosis_json(&diagnosis))?;
    } else {
        session.print(&report::diagnosis_text(&diagnosis, arguments.layout, &session.screen()))?;
    }
    Ok(if diagnosis.problems.is_empty() { Status::Yes } else { Status::No })
}

/// Leaves out the linker, options and the output.
fn inputs(line: &[OsString]) -> impl Iterator<Item = &OsString> {
    let is_output =
        |index: usize| index.checked_sub(1).and_then(|before| line.get(before)).is_some_and(|word| word == "-o");
    let words = line.iter().enumerate().skip(1);
    words
        .filter(move |(index, word)| !word.to_string_lossy().starts_with('-') && !is_output(*index))
        .map(|(_, word)| word)
}
