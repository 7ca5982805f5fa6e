//! What is wrong with a policy, and where.

use std::ops::Range;

use super::target::did_you_mean;

/// A mistake in a policy. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line}:{column}: {what}")]
pub struct PolicyError {
    pub path: String,
    pub line: usize,
    pub column: usize,
    pub what: String,
}

impl PolicyError {
    /// A mistake in these bytes of the text.
    pub fn new(path: &str, text: &str, span: Range<usize>, what: String) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let (line, column) = (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1);
        PolicyError { path: path.to_owned(), line, column, what }
    }

    /// What the TOML reader has to say, with a guess at what was meant where a name is not known.
    pub fn of_toml(path: &str, text: &str, error: &toml::de::Error) -> Self {
        let said = error.message().trim().replace('\n', ", ");
        // serde names them in this form: unknown field `a`, expected one of `b`, `c`.
        let names: Vec<&str> = said.split('`').skip(1).step_by(2).collect();
        let hint = match names.split_first() {
            Some((written, known)) if said.starts_with("unknown ") => {
                did_you_mean(written, known.iter().map(|&name| name.to_owned()))
            }
            _ => String::new(),
        };
        let what = if said.starts_with("unknown field") {
            let known = names[1..].join(", ");
            format!("there is no key {:?} here{hint} (there is {known})", names[0])
        } else {
            format!("{said}{hint}")
        };
        PolicyError::new(path, text, error.span().unwrap_or(0..0), what)
    }
}
