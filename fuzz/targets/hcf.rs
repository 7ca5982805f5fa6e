//! Reads arbitrary bytes as an HCF container. Images lie inside of it and share no bytes.

#![no_main]

use fatbin_core::format::hcf::container;
use fatbin_fuzz::{check_container, check_disjoint_images, fuzz_target};

fuzz_target!(|data: &[u8]| {
    check_container(data, container);
    check_disjoint_images(data, container);
});
