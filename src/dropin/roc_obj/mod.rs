//! ROCm's roc-obj-ls and roc-obj-extract: the former lists the addresses of code objects in HIP programs, the latter
//! writes the code objects at such addresses to files.
//!
//! Source: the scripts of that name in `hipamd/bin` of ROCm/clr, in their last form, which warns of its deprecation.
//! Output and exit statuses are compared with the scripts of Debian's hipcc 5.2.3. Only that warning differs.
//!
//! Divergences from the scripts, with the reasons:
//!
//! - Compressed bundles are reported as errors. The scripts print nothing and succeed.
//! - Bundles are found in all sections and formats of host files, and without alignment. The scripts need objdump and
//!   one section `.hip_fatbin`.
//! - Special characters of a path are encoded in its address, as in release 5.2. roc-obj-extract decodes them.
//! - Numbers may be hexadecimal or octal, as the help states. The scripts pass them to dd, which reads decimal numbers.
//! - Without `offset=` the offset is 0. The scripts use the offset of the preceding address.
//! - `memory://` addresses are refused. They refer to the memory of a process.
//! - `-d` prints nothing more, and `-v` prints no command line of dd. dd is not called.
//! - Files are written completely or not at all, and never through symbolic links. Control characters and characters that
//!   are not displayed become `_` in their names.

mod extract;
mod list;
mod short_options;

pub use extract::run as extract;
pub use list::run as list;

/// Warning of the last release.
const fn deprecated() -> &'static str {
    "This tool has been DEPRECATED. Similar functionality is provided by llvm-objdump in the rocm-llvm package.\n"
}

/// Exit status of a failed system call: the error number of `ENOENT`.
const NOT_FOUND: u8 = 2;

/// Exit status of other failures.
const DIED: u8 = 255;
