//! Reads arbitrary bytes as a SYCLBIN file of version 1. Images lie inside of it and share no bytes.

#![no_main]

use fatbin_core::format::syclbin::container;
use fatbin_fuzz::{check_container, check_disjoint_images, fuzz_target};

fuzz_target!(|data: &[u8]| {
    check_container(data, container);
    check_disjoint_images(data, container);
});
