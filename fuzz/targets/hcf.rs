//! Reads arbitrary bytes as an HCF container. Images lie inside of it and share no bytes.

#![no_main]

use fatbin::View;
use fatbin::internals::format::hcf::container;
use fatbin_fuzz::{budget, check_container, fuzz_target};

fuzz_target!(|data: &[u8]| {
    check_container(data, container);
    let budget = budget(data);
    let Ok(container) = container(View::with_budget(data, &budget)) else { return };
    let sizes = container.images().iter().map(|image| image.view.size());
    assert!(sizes.sum::<u64>() <= container.view.size());
});
