//! Error codes: the pages that `fatbin explain` prints, and the options that solve a problem.

mod pages;
mod remedies;

pub use fatbin_core::base::code::{Code, Coded};
pub use pages::{Page, Section, pages, rule_help};
pub use remedies::{Options, complete, failure, message, options};
