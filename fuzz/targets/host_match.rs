//! Reads arbitrary bytes as the host object of `wrap --match`, for every kind of offloading.

#![no_main]

use std::path::Path;

use fatbin::OffloadKind;
use fatbin::View;
use fatbin_fuzz::{budget, fuzz_target};
use fatbin_ops::embed::wrap::matching;

const KINDS: [OffloadKind; 4] = [OffloadKind::OpenMp, OffloadKind::Cuda, OffloadKind::Hip, OffloadKind::Sycl];

fuzz_target!(|data: &[u8]| {
    let budget = budget(data);
    for kind in KINDS {
        match matching::read(View::with_budget(data, &budget), Path::new("host.o"), kind) {
            // Each symbol takes an entry of the symbol table.
            Ok(host) => assert!(host.entry_symbols.len() <= data.len() / 16),
            Err(error) => fatbin_fuzz::check_text(&error.to_string()),
        }
    }
});
