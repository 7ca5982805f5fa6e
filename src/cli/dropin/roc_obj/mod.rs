//! ROCm's roc-obj-ls and roc-obj-extract: the former lists the addresses of code objects in HIP programs, the latter
//! writes the code objects at such addresses to files.
//!
//! Source: the scripts of that name in `hipamd/bin` of ROCm/clr, in their last form, which warns of its deprecation.
//! Output and exit statuses are compared with the scripts of Debian's hipcc 5.2.3. Only that warning differs.
//!
//! | divergence from the scripts | why |
//! |---|---|
//! | compressed bundles are reported as errors | the scripts print nothing and succeed |
//! | bundles are found in all sections and formats of host files, and without alignment | the scripts need objdump and one section `.hip_fatbin` |
//! | special characters of a path are encoded in its address, as in release 5.2 | roc-obj-extract decodes them |
//! | numbers may be hexadecimal or octal, as the help states | the scripts pass them to dd, which reads decimal numbers |
//! | without `offset=` the offset is 0 | the scripts use the offset of the preceding address |
//! | `memory://` addresses are refused | they refer to the memory of a process |
//! | `-d` prints nothing more, and `-v` prints no command line of dd | dd is not called |
//! | files are written completely or not at all | |

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
