//! Reads arbitrary bytes as a response file of the tools that fatbin replaces. Text from it is in messages a bounded number
//! of times.

#![no_main]

use fatbin_dropin::read_options;
use fatbin_fuzz::fuzz_target;

/// Length of the longest help and of the longest message for one argument.
const HELP: usize = 1 << 14;
const MESSAGE: usize = 256;

fuzz_target!(|data: &[u8]| {
    let printed = read_options(data);
    assert_eq!(read_options(data), printed);
    for text in printed {
        // An argument is at least one byte and a separator; invalid UTF-8 is replaced by three bytes.
        assert!(text.len() <= HELP + data.len() * (MESSAGE + 6), "{} bytes printed", text.len());
    }
});
