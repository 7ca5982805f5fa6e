//! The codes of the errors that a command has reported, for the hint at its end.

use std::error::Error;
use std::sync::{Mutex, MutexGuard, PoisonError};

use clap::error::ErrorKind;

use super::codes::Code;
use super::failure::Failure;

/// Maximum number of codes in the hint.
const MAX_CODES: usize = 4;

/// Codes in the order of the first error of each.
#[derive(Debug, Default)]
pub struct ReportedCodes(Mutex<Vec<Code>>);

impl ReportedCodes {
    /// Records the code of a failure, if it has one.
    pub fn record(&self, failure: &Failure) {
        self.add(failure.code());
    }

    /// Records the code of an error in the arguments.
    pub fn record_usage(&self, error: &clap::Error) {
        self.add(code_of_usage(error));
    }

    fn add(&self, code: Option<Code>) {
        let mut codes = self.codes();
        if let Some(code) = code.filter(|code| !codes.contains(code)) {
            codes.push(code);
        }
    }

    /// The command that explains the errors so far; `None` if there were none with a code.
    pub fn command(&self) -> Option<String> {
        let codes = self.codes();
        let names: Vec<&str> = codes.iter().take(MAX_CODES).map(|code| code.name()).collect();
        if names.is_empty() { None } else { Some(format!("fatbin explain {}", names.join(" "))) }
    }

    fn codes(&self) -> MutexGuard<'_, Vec<Code>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn code_of_usage(error: &clap::Error) -> Option<Code> {
    let of_value = || error.source()?.downcast_ref::<Failure>()?.code();
    Some(match error.kind() {
        ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument | ErrorKind::TooManyValues => Code::UnknownArgument,
        ErrorKind::InvalidValue
        | ErrorKind::ValueValidation
        | ErrorKind::InvalidUtf8
        | ErrorKind::NoEquals
        | ErrorKind::TooFewValues
        | ErrorKind::WrongNumberOfValues => of_value().unwrap_or(Code::InvalidValue),
        ErrorKind::MissingRequiredArgument | ErrorKind::MissingSubcommand => Code::MissingArgument,
        ErrorKind::ArgumentConflict => Code::ConflictingArguments,
        _ => return None,
    })
}
