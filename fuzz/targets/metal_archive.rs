//! Reads arbitrary bytes as an archive of compiled Metal pipelines, and checks the machine code in it.

#![no_main]

use fatbin::View;
use fatbin_core::format::metal_archive::container;
use fatbin_core::format::metal_binary::check;
use fatbin_fuzz::{budget, check_container, fuzz_target};

fuzz_target!(|data: &[u8]| {
    check_container(data, container);
    let budget = budget(data);
    if let Err(problem) = check(View::with_budget(data, &budget)) {
        assert!(problem.offset <= data.len() as u64);
    }
});
