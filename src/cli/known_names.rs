//! Values of options that are names from a list, which shells complete.

use std::ffi::OsStr;
use std::sync::LazyLock;

use anyhow::anyhow;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};

use super::failure::{Failure, Result, ensure};
use fatbin_core::base::spelling::{Suggestions, enumerated};
use fatbin_core::target::device::{device_names, processor_names};
use fatbin_core::target::{InvalidTargetId, TargetId};

/// A parser of values, with the names that shells offer for it. The parser may accept other values.
#[derive(Debug, Clone)]
pub struct KnownNames<P> {
    parser: P,
    names: fn() -> Vec<&'static str>,
}

impl<P> KnownNames<P> {
    /// Adds names to a parser.
    pub fn new(parser: P, names: fn() -> Vec<&'static str>) -> Self {
        KnownNames { parser, names }
    }
}

impl<P: TypedValueParser> TypedValueParser for KnownNames<P> {
    type Value = P::Value;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<P::Value, Error> {
        self.parser.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.names)().into_iter().map(PossibleValue::new)))
    }
}

/// Returns the parser of an architecture. Names that are newer than this program are accepted, and features without
/// their sign are not.
pub fn arch() -> KnownNames<impl TypedValueParser<Value = String>> {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| processor_names().collect());
    KnownNames::new(parse_arch, || NAMES.iter().map(String::as_str).collect())
}

fn parse_arch(text: &str) -> Result<String> {
    ensure!(!text.is_empty(), "expected a processor");
    match TargetId::parse(text) {
        Err(error @ InvalidTargetId::NoSign { .. }) => Err(error.into()),
        _ => Ok(text.to_owned()),
    }
}

/// Returns a parser of devices, which completes their names.
pub fn device<P>(parser: P) -> KnownNames<P> {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| device_names().collect());
    KnownNames::new(parser, || NAMES.iter().map(String::as_str).collect())
}

/// Returns the error about a name that is not in a list; `what` is the subject of the message.
pub fn unknown_name(what: &str, written: &str, names: &[&str]) -> Failure {
    let suggestions = Suggestions::new(written, names.iter().copied());
    anyhow!("unknown {what}{suggestions} (available: {})", enumerated(names)).into()
}
