//! The line on standard error that explains an exit status other than 0 without an error: the answer is on standard
//! output, or nothing was found.

use super::failure::Failure;
use super::problems::are_shown;
use super::session::Session;
use super::{Command, Status};
use fatbin_core::scan::extract::ExtractError;
use fatbin_core::scan::filter::FilterError;
use fatbin_ops::link::doctor::DoctorError;

/// Adds the inputs to an error about all inputs.
pub fn with_inputs(error: Failure, session: &Session) -> Failure {
    let filter = match error.downcast_ref() {
        Some(ExtractError::Filter(error)) => Some(error),
        _ => error.downcast_ref(),
    };
    let is_about_all = matches!(filter, Some(FilterError::NoMatch { .. }))
        || matches!(error.downcast_ref(), Some(DoctorError::NoObjects));
    if is_about_all { error.about(session.inputs()) } else { error }
}

/// The answers of a command that it does not report as errors.
#[derive(Debug, Clone, Copy)]
pub struct Answers {
    /// Meaning of status 1.
    no: &'static str,
    /// Meaning of status 2.
    unknown: &'static str,
    /// The text on standard output states the meaning of status 1.
    is_in_report: bool,
}

impl Answers {
    pub fn of(command: &Command) -> Answers {
        let no = match command {
            Command::List(_) => "no bundle entries; fatbin scan lists device images of every form",
            Command::Select(_) => "no code for the device",
            Command::Check(_) => "the policy is violated",
            Command::Diff(_) => "the device code differs",
            Command::Doctor(_) => "the link has problems",
            Command::Addr2line(_) => "no source for a location",
            Command::Metadata(_) => "no device code to describe",
            Command::Overview(_)
            | Command::Scan(_)
            | Command::Extract(_)
            | Command::Inspect(_)
            | Command::Verify(_)
            | Command::Size(_)
            | Command::Requires(_)
            | Command::Lock(_) => "no device images",
            Command::Wrap(_)
            | Command::Embed(_)
            | Command::Link(_)
            | Command::Pack(_)
            | Command::Bundle(_)
            | Command::Unbundle(_)
            | Command::Prune(_)
            | Command::Strip(_)
            | Command::Split(_)
            | Command::Join(_)
            | Command::Recover(_)
            | Command::Transcode(_)
            | Command::Replace(_)
            | Command::Schema(_)
            | Command::Explain(_)
            | Command::Completions(_)
            | Command::Man(_)
            | Command::InstallLinks(_)
            | Command::Help(_) => "nothing was written",
        };
        let unknown = match command {
            Command::Doctor(_) => "the link fails or cannot be judged",
            _ => "the answer is not known",
        };
        let is_in_report = matches!(
            command,
            Command::Overview(_)
                | Command::Scan(_)
                | Command::Inspect(_)
                | Command::Verify(_)
                | Command::Requires(_)
                | Command::Check(_)
                | Command::Diff(_)
                | Command::Doctor(_)
        );
        Answers { no, unknown, is_in_report }
    }

    /// Prints the line about a status, unless an error was reported.
    pub fn report(self, status: Status, session: &Session) {
        let recorded = session.take_answer();
        // Nobody needs to read on a terminal what the report has just stated.
        let is_stated =
            status == Status::No && recorded.is_none() && self.is_in_report && session.has_shown() && are_shown();
        let answer = match status {
            Status::Yes => return,
            Status::No => recorded.unwrap_or_else(|| self.no.to_owned()),
            Status::Trouble | Status::Unknown => self.unknown.to_owned(),
        };
        if !session.has_reported() && !is_stated {
            session.print_answer(&format!("{}: {answer}", session.inputs()));
        }
    }
}
