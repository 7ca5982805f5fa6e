//! The codes of the errors that a command has reported, for the hint at its end.

use std::error::Error;
use std::sync::{Mutex, PoisonError};

use clap::error::ErrorKind;

use super::codes::Code;
use super::failure::Failure;

/// Maximum number of codes in the hint.
const MAX_CODES: usize = 4;

/// Codes in the order of the first error of each.
static REPORTED: Mutex<Vec<Code>> = Mutex::new(Vec::new());

/// Records the code of a failure, if it has one.
pub fn record(failure: &Failure) {
    add(failure.code());
}

/// Records the code of an error in the arguments.
pub fn record_usage(error: &clap::Error) {
    let of_value = || error.source()?.downcast_ref::<Failure>()?.code();
    let code = match error.kind() {
        ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument | ErrorKind::TooManyValues => Code::UnknownArgument,
        ErrorKind::InvalidValue
        | ErrorKind::ValueValidation
        | ErrorKind::InvalidUtf8
        | ErrorKind::NoEquals
        | ErrorKind::TooFewValues
        | ErrorKind::WrongNumberOfValues => of_value().unwrap_or(Code::InvalidValue),
        ErrorKind::MissingRequiredArgument | ErrorKind::MissingSubcommand => Code::MissingArgument,
        ErrorKind::ArgumentConflict => Code::ConflictingArguments,
        _ => return,
    };
    add(Some(code));
}

fn add(code: Option<Code>) {
    let mut codes = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(code) = code.filter(|code| !codes.contains(code)) {
        codes.push(code);
    }
}

/// Returns the command that explains the errors so far; `None` if there were none with a code.
pub fn command() -> Option<String> {
    let codes = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    let names: Vec<&str> = codes.iter().take(MAX_CODES).map(|code| code.name()).collect();
    if names.is_empty() { None } else { Some(format!("fatbin explain {}", names.join(" "))) }
}
