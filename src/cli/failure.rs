//! Failures of commands: errors of the library with their code and remedy, and messages of the command line.
//!
//! An error type of the library that is not [`Coded`] does not convert to a [`Failure`], so `?` does not compile.

use std::error::Error;
use std::fmt::{self, Display};

use fatbin_core::base::system_error::describe_io;

use super::codes::{Code, Coded, Options, options};

/// Result of commands and of what they consist of.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// Reason why a command fails.
#[derive(Debug)]
pub struct Failure {
    error: anyhow::Error,
    /// What it is about, from the inside to the outside.
    contexts: Vec<String>,
    code: Option<Code>,
    options: Options,
}

/// Errors of the library have a code, and a remedy or none.
macro_rules! with_code {
    ($($error:ty,)+) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                let class = error.class();
                let options = class.remedy.as_ref().map(options).unwrap_or_default();
                Failure { error: error.into(), contexts: Vec::new(), code: Some(class.code), options }
            }
        }
    )+};
}

with_code!(
    std::io::Error,
    fatbin_core::base::error::Error,
    fatbin_core::base::pattern::PatternError,
    fatbin_core::host::HostError,
    fatbin_core::scan::ExtractError,
    fatbin_core::scan::FilterError,
    fatbin_core::scan::TemplateError,
    fatbin_core::target::InvalidDevice,
    fatbin_core::target::InvalidTargetId,
    fatbin_core::target::UnsupportedStyle,
    fatbin_core::target::bundle_entry_id::InvalidBundleEntryId,
    fatbin_core::target::machine::InvalidMachine,
    fatbin_ops::analyze::locate::LocateError,
    fatbin_ops::analyze::verify::VerifyError,
    fatbin_ops::check::PolicyError,
    fatbin_ops::check::asked::InvalidAsked,
    fatbin_ops::check::lock::BudgetError,
    fatbin_ops::check::lock::LockError,
    fatbin_ops::edit::EditError,
    fatbin_ops::edit::split::SplitError,
    fatbin_ops::embed::ImageError,
    fatbin_ops::embed::WrapError,
    fatbin_ops::embed::bundle::BundleError,
    fatbin_ops::embed::files::EmbedError,
    fatbin_ops::link::LinkError,
    fatbin_ops::link::doctor::DoctorError,
);

/// A message of the command line, without a code.
impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Failure {
        Failure { error, contexts: Vec::new(), code: None, options: Options::default() }
    }
}

/// Errors of other crates have no code.
macro_rules! without_code {
    ($($error:ty,)+) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                anyhow::Error::from(error).into()
            }
        }
    )+};
}

without_code!(serde_json::Error, std::num::ParseIntError, std::num::TryFromIntError, std::str::Utf8Error,);

/// Creates the failure for a problem that has no error type.
pub fn coded(code: Code, message: impl Into<String>) -> Failure {
    Failure { code: Some(code), ..anyhow::Error::msg(message.into()).into() }
}

impl Failure {
    /// Code, if it has one.
    pub fn code(&self) -> Option<Code> {
        self.code
    }

    /// Adds what the failure is about.
    pub fn about(mut self, context: impl Display) -> Failure {
        self.contexts.push(context.to_string());
        self
    }

    /// Returns whether the message has only the error's own text.
    pub fn is_bare(&self) -> bool {
        self.contexts.is_empty() && self.error.chain().len() == 1
    }

    /// The error, if it has this type.
    pub fn downcast_ref<E: Error + Send + Sync + 'static>(&self) -> Option<&E> {
        self.error.downcast_ref()
    }
}

/// The alternate form has all contexts and causes. The other one has the outermost text only: `clap` prints it for an
/// invalid value.
impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { before, after } = &self.options;
        match self.contexts.last() {
            Some(context) if !f.alternate() => f.write_str(context),
            None if !f.alternate() => write!(f, "{before}{}{after}", self.error),
            _ => {
                for context in self.contexts.iter().rev() {
                    write!(f, "{context}: ")?;
                }
                write!(f, "{before}{}{after}", chain(&self.error))
            }
        }
    }
}

impl Error for Failure {}

/// Returns the messages of an error and its causes. A cause whose message is already part of the last one is left out.
fn chain(error: &anyhow::Error) -> String {
    let mut message = String::new();
    for cause in error.chain() {
        let text = cause.downcast_ref().map_or_else(|| cause.to_string(), describe_io);
        if message.is_empty() {
            message = text;
        } else if !message.ends_with(&text) {
            message = format!("{message}: {text}");
        }
    }
    message
}

/// Adds what a failure is about.
pub trait Context<T> {
    fn context(self, context: impl Display) -> Result<T>;

    fn with_context<C: Display>(self, context: impl FnOnce() -> C) -> Result<T>;
}

impl<T, E: Into<Failure>> Context<T> for Result<T, E> {
    fn context(self, context: impl Display) -> Result<T> {
        self.map_err(|error| error.into().about(context))
    }

    fn with_context<C: Display>(self, context: impl FnOnce() -> C) -> Result<T> {
        self.map_err(|error| error.into().about(context()))
    }
}

/// For a missing value, the context is the message.
impl<T> Context<T> for Option<T> {
    fn context(self, context: impl Display) -> Result<T> {
        self.with_context(|| context)
    }

    fn with_context<C: Display>(self, context: impl FnOnce() -> C) -> Result<T> {
        self.ok_or_else(|| anyhow::Error::msg(context().to_string()).into())
    }
}

/// Adapts a function of the library to a parser of an option's values, so that its errors keep their code.
pub fn parser<T, E: Into<Failure>>(
    parse: fn(&str) -> Result<T, E>,
) -> impl Fn(&str) -> Result<T> + Clone + Send + Sync {
    move |text| parse(text).map_err(Into::into)
}

/// Returns with a message.
macro_rules! bail {
    ($($message:tt)*) => {
        return Err($crate::failure::Failure::from(anyhow::anyhow!($($message)*)))
    };
}

/// Returns with a message, unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)*) => {
        if !$condition {
            $crate::failure::bail!($($message)*);
        }
    };
}

pub(crate) use {bail, ensure};
