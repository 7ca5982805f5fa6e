//! The codes of the errors that a command has reported, for the hint at its end.

use std::error::Error as StdError;
use std::sync::{Mutex, PoisonError};

use clap::error::ErrorKind;

use crate::cli::codes::{Code, code_of};

/// Maximum number of codes in the hint.
const MAX_CODES: usize = 4;

/// Codes in the order of the first error of each.
static REPORTED: Mutex<Vec<Code>> = Mutex::new(Vec::new());

/// An error of the command line.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct CodedMessage {
    code: Code,
    message: String,
}

/// Creates an error for a command-line problem that has no error type.
pub fn coded(code: Code, message: impl Into<String>) -> anyhow::Error {
    CodedMessage { code, message: message.into() }.into()
}

/// Records the code of an error, if it has one.
pub fn record(error: &anyhow::Error) {
    let own = |error: &(dyn StdError + 'static)| error.downcast_ref::<CodedMessage>().map(|it| it.code);
    add(error.chain().find_map(|error| code_of(error).or_else(|| own(error))));
}

/// Records the code of an error in the arguments.
pub fn record_usage(error: &clap::Error) {
    let code = match error.kind() {
        ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument | ErrorKind::TooManyValues => Code::UnknownArgument,
        ErrorKind::InvalidValue
        | ErrorKind::ValueValidation
        | ErrorKind::InvalidUtf8
        | ErrorKind::NoEquals
        | ErrorKind::TooFewValues
        | ErrorKind::WrongNumberOfValues => error.source().and_then(code_of).unwrap_or(Code::InvalidValue),
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
