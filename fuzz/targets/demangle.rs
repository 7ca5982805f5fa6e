//! Demangles arbitrary names of kernels, which PTX passes on unchanged. The result is bounded, and does not depend on the
//! name of the file that nvcc adds.

#![no_main]

use fatbin::View;
use fatbin_core::format::ImageKind;
use fatbin_core::image::{Demangler, inspect};
use fatbin_fuzz::{budget, fuzz_target};

/// Maximum length of a demangled name.
const MAX_NAME_LENGTH: usize = 1 << 16;

fuzz_target!(|data: &[u8]| {
    let Ok(name) = std::str::from_utf8(data) else { return };
    let is_identifier = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    if !name.starts_with('_') || !name.chars().all(is_identifier) {
        return;
    }
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

fn demangle(name: &str) -> Option<String> {
    let ptx = format!(".version 8.0\n.target sm_90\n.address_size 64\n.entry {name}(){{ret;}}\n");
    let budget = budget(ptx.as_bytes());
    let kernels = inspect(ImageKind::Ptx, View::with_budget(ptx.as_bytes(), &budget), &Demangler::default()).kernels;
    assert_eq!(kernels.len(), 1, "one kernel in {ptx}");
    assert_eq!(kernels[0].name, name);
    kernels.into_iter().next().and_then(|kernel| kernel.demangled)
}
