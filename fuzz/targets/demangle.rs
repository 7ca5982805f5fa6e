//! Demangles arbitrary text. The result is bounded, and does not depend on the name of the file that nvcc adds.

#![no_main]

use fatbin::internals::demangle::demangle;
use fatbin_fuzz::fuzz_target;

/// Maximum length of a demangled name.
const MAX_NAME_LENGTH: usize = 1 << 16;

fuzz_target!(|data: &[u8]| {
    let Ok(name) = std::str::from_utf8(data) else { return };
    let demangled = demangle(name);
    if let Some(text) = &demangled {
        assert!(text.len() <= MAX_NAME_LENGTH, "{} bytes", text.len());
        assert_ne!(text, name, "the name is not mangled");
    }
    // nvcc compiles no Rust, whose older names have a hash of this length.
    if name.starts_with("_Z") && !name.contains("17h") {
        assert_eq!(demangle(&format!("__nv_static_5__k_cu_{name}")), demangled);
    }
});
