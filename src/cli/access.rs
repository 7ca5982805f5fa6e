//! Scanners with the access that `main` decided on.

pub use fatbin_dropin::access::{get, set};

use fatbin_core::scan::{Options, Scanner};

/// Creates a scanner with the access of this process.
pub fn scanner(options: Options) -> Scanner {
    Scanner::new(options).with_access(get())
}
