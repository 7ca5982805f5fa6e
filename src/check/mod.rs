//! A policy, and whether files are as it demands: rules over what is known of files, and findings as plain data.
//!
//! A verdict says what was judged and not only what is wrong, for "nothing wrong" and "nothing looked at" must not look
//! alike. What cannot be decided is a finding of its own kind: a library that cannot be read has not passed.
//!
//! A policy is read ([`Policy::parse`]), it says what has to be known of which file ([`Policy::analysis_options`]), and whoever has
//! found that out gets the verdict ([`check`]). Every rule is judged file by file: what is missing in one library is not
//! made up for by another.

mod coverage;
mod facts;
mod generate;
mod input;
mod policy;
mod readers;
mod rule;
mod rules;
mod verdict;

pub use generate::generate_policy;
pub use input::input_of;
pub use policy::{Policy, PolicyError, Size};
pub use rule::Rule;
pub use rules::{CheckedFile, check};
pub use verdict::{Evaluation, Finding, ImageLocation, Outcome, Verdict};
