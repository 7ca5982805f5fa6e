//! Regular expressions and globs from command lines and policies, compiled within limits of size and memory.
//!
//! Both are matched in time that is linear in the text. A few characters can expand to any number of states, so the
//! compiled size is limited.
//!
//! They match bytes: `\w`, `\d` and `(?i)` cover ASCII, and names of kernels are ASCII. The tables of Unicode were 70
//! KB of pointers, a quarter of the pointers that the program relocates whenever it starts.

use regex::bytes::{Regex, RegexBuilder};

use crate::base::code::{Code, Coded, ErrorClass};

/// Maximum length of a pattern, in bytes. Names of kernels, which are accepted as patterns, have up to three thousand.
pub const MAX_LENGTH: usize = 4096;

/// Maximum size of a compiled pattern, in bytes.
const MAX_COMPILED: usize = 1 << 20;

/// Maximum size of all compiled patterns of a policy, in bytes.
const MAX_TOTAL: usize = 64 << 20;

/// Limit on the compiled size to try first, in bytes; the library does not return the size of a compiled pattern.
const MIN_COMPILED: usize = 4 << 10;

/// Reason why a pattern is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// The pattern is too long.
    #[error("{length} bytes, at most {MAX_LENGTH} are allowed; use a shorter pattern")]
    TooLong {
        /// Length in bytes.
        length: usize,
    },
    /// The pattern has too many states.
    #[error("compiled size exceeds the limit of {limit} bytes; use fewer repetitions and alternatives")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// All patterns of a policy have too many states together.
    #[error("compiled size of all patterns exceeds the limit of {MAX_TOTAL} bytes; use fewer or shorter patterns")]
    TooLargeTogether,
    /// The pattern is malformed, in the words of the library.
    #[error("{0}")]
    Syntax(String),
}

impl Coded for PatternError {
    fn class(&self) -> ErrorClass {
        match self {
            PatternError::TooLong { .. }
            | PatternError::TooLarge { .. }
            | PatternError::TooLargeTogether
            | PatternError::Syntax(_) => Code::InvalidPattern.into(),
        }
    }
}

/// Compiles a regular expression, which may match anywhere in a text.
pub fn regex(text: &str) -> Result<Regex, PatternError> {
    regex_within(text, MAX_COMPILED)
}

fn regex_within(text: &str, limit: usize) -> Result<Regex, PatternError> {
    check_length(text)?;
    RegexBuilder::new(text)
        .unicode(false)
        .size_limit(limit)
        .dfa_size_limit(limit)
        .build()
        .map_err(|error| convert(&error, limit))
}

/// Compiles a glob, which matches a whole path; `*` matches separators too. The path has `/` as its separator.
fn glob_within(text: &str, limit: usize) -> Result<Regex, PatternError> {
    check_length(text)?;
    let glob = globset::GlobBuilder::new(text).literal_separator(false).build();
    let glob = glob.map_err(|error| PatternError::Syntax(error.kind().to_string()))?;
    // The library's own matcher panics if the expression cannot be compiled.
    let mut builder = RegexBuilder::new(glob.regex());
    builder.dot_matches_new_line(true).size_limit(limit).dfa_size_limit(limit);
    builder.build().map_err(|error| convert(&error, limit))
}

/// Patterns of a policy, whose compiled size is limited in total.
#[derive(Debug)]
pub struct PatternBudget {
    /// Number of bytes that are left.
    left: usize,
}

impl Default for PatternBudget {
    fn default() -> Self {
        PatternBudget { left: MAX_TOTAL }
    }
}

impl PatternBudget {
    /// Compiles a regular expression like [`regex()`].
    pub fn regex(&mut self, text: &str) -> Result<Regex, PatternError> {
        self.compile(|limit| regex_within(text, limit))
    }

    /// Compiles a glob, which matches a whole path with `/` as its separator; `*` matches separators too.
    pub fn glob(&mut self, text: &str) -> Result<Regex, PatternError> {
        self.compile(|limit| glob_within(text, limit))
    }

    /// Compiles a pattern with growing limits, and charges the first limit that suffices.
    fn compile<T>(&mut self, compile: impl Fn(usize) -> Result<T, PatternError>) -> Result<T, PatternError> {
        let mut limit = MIN_COMPILED;
        loop {
            self.left.checked_sub(limit).ok_or(PatternError::TooLargeTogether)?;
            match compile(limit) {
                Err(PatternError::TooLarge { .. }) if limit < MAX_COMPILED => limit *= 4,
                Err(error) => return Err(error),
                Ok(pattern) => {
                    self.left -= limit;
                    return Ok(pattern);
                }
            }
        }
    }
}

fn check_length(text: &str) -> Result<(), PatternError> {
    if text.len() > MAX_LENGTH { Err(PatternError::TooLong { length: text.len() }) } else { Ok(()) }
}

/// Converts an error of the library. The last line of its message states the cause; the lines before it draw the
/// expression.
fn convert(error: &regex::Error, limit: usize) -> PatternError {
    match error {
        regex::Error::CompiledTooBig(_) => PatternError::TooLarge { limit },
        _ => {
            let message = error.to_string();
            PatternError::Syntax(message.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compiles a text as both kinds of pattern. Neither may panic.
    fn compile(text: &str) -> [Result<(), PatternError>; 2] {
        let budget = &mut PatternBudget::default();
        [budget.regex(text).map(drop), budget.glob(text).map(drop)]
    }

    #[test]
    fn nested_alternatives_of_any_depth_do_not_panic() {
        for depth in (1..=200).chain([1000, 2048]) {
            let glob = "{a,".repeat(depth) + &"}".repeat(depth);
            let regex = "(a|".repeat(depth) + &")".repeat(depth);
            let classes = "[a".repeat(depth) + &"]".repeat(depth);
            let [_, as_glob] = compile(&glob);
            assert!(depth > 100 || as_glob.is_ok(), "{depth}: {as_glob:?}");
            assert!(depth < 200 || as_glob.is_err(), "{depth}");
            let [as_regex, _] = compile(&regex);
            assert!(depth > 100 || as_regex.is_ok(), "{depth}: {as_regex:?}");
            assert!(depth < 300 || as_regex.is_err(), "{depth}");
            let _ = compile(&classes);
        }
    }

    #[test]
    fn long_patterns_are_errors_with_a_remedy() {
        let long = "a".repeat(300_000);
        let message = "300000 bytes, at most 4096 are allowed; use a shorter pattern";
        for result in compile(&long) {
            assert_eq!(result.unwrap_err().to_string(), message);
        }
        assert_eq!(regex(&long).unwrap_err().to_string(), message);
        assert_eq!(compile(&long[..MAX_LENGTH]), [Ok(()), Ok(())]);
    }

    #[test]
    fn patterns_of_many_states_are_errors_with_a_remedy() {
        for text in [r"\w{30000}", "((a{99}){99}){99}", r"(?i)[^\w&&[^\d]]{20000}", &r"\w{99}".repeat(600)] {
            let error = regex(text).unwrap_err();
            assert_eq!(error, PatternError::TooLarge { limit: MAX_COMPILED }, "{text}");
            assert!(error.to_string().ends_with("; use fewer repetitions and alternatives"));
        }
        for text in [r"\w{10}", "^(ampere|volta)_.*gemm.*\\d+x\\d+", "void f<int>\\(int\\*\\)"] {
            assert!(regex(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn expressions_match_bytes() {
        let matches = |text, name: &str| regex(text).unwrap().is_match(name.as_bytes());
        assert!(matches("(?i)gemm_ä", "HGEMM_ä") && matches(r"^\w+\d$", "k1"));
        assert!(!matches("(?i)ä", "Ä") && !matches("^.$", "ä"));
        assert_eq!(regex("[ä]").unwrap_err(), PatternError::Syntax("Unicode not allowed here".to_owned()));
    }

    #[test]
    fn matching_takes_linear_time() {
        let name = "a".repeat(1 << 16);
        let budget = &mut PatternBudget::default();
        for (text, matches) in [("*a".repeat(100) + "b", false), ("*".repeat(500), true), ("{a,aa}*".repeat(20), true)]
        {
            assert_eq!(budget.glob(&text).unwrap().is_match(name.as_bytes()), matches, "{text}");
        }
        let text = "(a*)*".repeat(50) + "b";
        assert!(!budget.regex(&text).unwrap().is_match(name.as_bytes()));
    }

    #[test]
    fn the_patterns_of_a_policy_share_a_budget() {
        let mut budget = PatternBudget::default();
        let mut count = 0;
        let error = loop {
            match budget.regex(r"\w{5000}") {
                Ok(_) => count += 1,
                Err(error) => break error,
            }
        };
        assert_eq!((count, error), (64, PatternError::TooLargeTogether));
        assert!((0..10_000).all(|_| PatternBudget { left: MIN_COMPILED }.glob("lib*.so").is_ok()));
    }

    #[test]
    fn globs_match_whole_paths_with_separators() {
        let budget = &mut PatternBudget::default();
        for (text, path, matches) in [
            ("lib*.so", "libx.so", true),
            ("lib*.so", "libx.so.1", false),
            ("a/*", "a/b/c", true),
            ("*.so", "a\nb.so", true),
            ("[!a]?", "bc", true),
            ("{a,b{c,d}}", "bd", true),
        ] {
            assert_eq!(budget.glob(text).unwrap().is_match(path.as_bytes()), matches, "{text} {path}");
        }
    }
}
