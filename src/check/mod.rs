//! A policy, and whether files are as it demands: rules over what is known of files, and findings as plain data.
//!
//! A verdict says what was judged and not only what is wrong, for "nothing wrong" and "nothing looked at" must not look
//! alike. What cannot be decided is a finding of its own kind: a library that cannot be read has not passed.

mod rule;
mod verdict;

pub use rule::Rule;
pub use verdict::{Finding, ImagePlace, Judged, Outcome, Verdict};
