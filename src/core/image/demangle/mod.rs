//! Demangling of kernel names.
//!
//! HIP and CUDA compilers mangle names by the Itanium C++ ABI, and Rust's compiler has a different scheme. A mangled
//! name refers to parts of itself, so a short name can expand without bound. The output is limited.

mod cache;
mod itanium;

use std::fmt::{self, Write};
use std::sync::Mutex;

use cache::Cache;

/// Maximum length of a demangled name, in bytes. Kernels of template libraries have some thousands.
const MAX_NAME_LENGTH: usize = 1 << 16;

/// Demangles names, and reuses those that it demangled last, for any thread. Libraries have each kernel once per
/// architecture, one image after another.
#[derive(Default)]
pub struct Demangler(Mutex<Option<Cache>>);

impl Demangler {
    /// Demangles a name like [`demangle`].
    pub fn demangle(&self, name: &str) -> Option<String> {
        Cache::get(&self.0, name, demangle)
    }
}

/// Demangles a name; `None` if the name is not mangled or its scheme is unknown.
pub fn demangle(name: &str) -> Option<String> {
    rust(name).or_else(|| cpp(name))
}

fn rust(name: &str) -> Option<String> {
    if !has_rust_scheme(name) {
        return None;
    }
    let demangled = rustc_demangle::try_demangle(name).ok()?;
    // Without the hash at the end.
    format_bounded(|text| write!(text, "{demangled:#}"))
}

/// True if a name is mangled by Rust's current scheme or by the older one, which is like C++ with a hash of 16 digits
/// at the end. `rustc_demangle` mistakes a C++ name for a Rust name if its last part is an `h` and any number of
/// hexadecimal digits.
fn has_rust_scheme(name: &str) -> bool {
    let hash = name.rsplit_once("17h").map(|(_, hash)| hash.as_bytes());
    let is_hash = |hash: &[u8]| {
        let (digits, end) = hash.split_at_checked(16).unwrap_or_default();
        digits.iter().all(u8::is_ascii_hexdigit) && end.starts_with(b"E")
    };
    name.starts_with("_R") || hash.is_some_and(is_hash)
}

fn cpp(name: &str) -> Option<String> {
    let text = itanium::demangle(mangled_part(name))?;
    // SYCL kernels are named after a type. Only the type is printed.
    Some(text.strip_prefix(TYPE_NAME_PREFIX).map(str::to_owned).unwrap_or(text))
}

/// Extracts the mangled name from the name of a static function. nvcc makes such names unique with the name of the
/// file.
///
/// Source: names by nvcc 13.5: `__nv_static_`, the length of the file's identifier, and the identifier, each with a
/// `_`.
fn mangled_part(name: &str) -> &str {
    let own = || {
        let rest = name.strip_prefix("__nv_static_")?;
        let (size, rest) = rest.split_once('_')?;
        rest.get(size.parse().ok()?..)?.strip_prefix('_')
    };
    own().unwrap_or(name)
}

/// Prefix of demangled names that begin with `_ZTS`.
const TYPE_NAME_PREFIX: &str = "typeinfo name for ";

/// Collects the text that a function writes; `None` if it exceeds the maximum length.
fn format_bounded(write: impl FnOnce(&mut BoundedString) -> fmt::Result) -> Option<String> {
    let mut text = BoundedString(String::new());
    write(&mut text).ok().map(|()| text.0)
}

/// String of at most [`MAX_NAME_LENGTH`] bytes.
struct BoundedString(String);

impl Write for BoundedString {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let left = MAX_NAME_LENGTH.checked_sub(self.0.len()).ok_or(fmt::Error)?;
        if part.len() > left {
            return Err(fmt::Error);
        }
        self.0.push_str(part);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expectations are the output of `llvm-cxxfilt` 22, except for SYCL.
    #[test]
    fn demangles_cpp_and_rust_names() {
        let names = [
            ("_Z5plainPi", "plain(int*)"),
            ("_ZN1a5spillILi3EEEvPf", "void a::spill<3>(float*)"),
            ("_ZN3cub11EmptyKernelIvEEvv", "void cub::EmptyKernel<void>()"),
            ("_ZTS20kDequantizeBlockwiseIfLi512ELi4ELi0EE", "kDequantizeBlockwise<float, 512, 4, 0>"),
            ("_RNvC6kernel4main", "kernel::main"),
            ("_ZN6kernel4main17h0123456789abcdefE", "kernel::main"),
            // Found by the fuzz target demangle.
            ("_ZN6kernel5main08h9abcdefE", "kernel::main0::h9abcdef"),
            ("_ZN6kernel4main1hE", "kernel::main::h"),
        ];
        for (name, expected) in names {
            assert_eq!(demangle(name).as_deref(), Some(expected), "{name}");
        }
        for name in ["answer_kernel", "main", "", "_Z", "_ZN", "__omp_offloading_fd00_1234_main_l5"] {
            assert_eq!(demangle(name), None, "{name}");
        }
    }

    /// Names by nvcc 13.5 with `-rdc=true`; the identifier of the file may hold a mangled name itself.
    #[test]
    fn demangles_static_functions_of_nvcc() {
        let names = [
            ("__nv_static_29__16_CUDA_HOG_cpp1_ii_04c76ffe__ZSt8__ioinit", Some("std::__ioinit")),
            ("__nv_static_25__ec6bcd19_4_k_cu__Z3lamPi__Z2stIiJEEvPT_DpT0_", Some("void st<int>(int*)")),
            ("__nv_static_27__14_coords_cpp1_ii_7126c51d_const_param", None),
            ("__nv_static_99__14_coords_cpp1_ii_7126c51d__Z1fv", None),
            ("__nv_static_", None),
        ];
        for (name, expected) in names {
            assert_eq!(demangle(name).as_deref(), expected, "{name}");
        }
    }
}
