//! Demangling of kernel names.
//!
//! HIP and CUDA compilers mangle names by the Itanium C++ ABI, and Rust's compiler has a scheme of its own. Libraries read
//! both. A mangled name refers to parts of itself, so a short name can expand without bound; the output is limited.

use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};

/// Maximum length of a demangled name, in bytes. Kernels of template libraries have some thousands.
const MAX_NAME_LENGTH: usize = 1 << 16;

/// Maximum nesting of a name, in parsing and in writing.
const MAX_DEPTH: u32 = 160;

/// Returns the demangled name; `None` if the name is not mangled or its scheme is unknown.
pub fn demangle(name: &str) -> Option<String> {
    rust(name).or_else(|| cpp(name))
}

fn rust(name: &str) -> Option<String> {
    let demangled = rustc_demangle::try_demangle(name).ok()?;
    // Without the hash at the end.
    format_bounded(|text| write!(text, "{demangled:#}"))
}

fn cpp(name: &str) -> Option<String> {
    if !name.starts_with("_Z") {
        return None;
    }
    let options = ParseOptions::default().recursion_limit(MAX_DEPTH);
    let symbol = Symbol::new_with_options(name.as_bytes(), &options).ok()?;
    let options = DemangleOptions::default().recursion_limit(MAX_DEPTH);
    let text = format_bounded(|text| symbol.structured_demangle(text, &options))?;
    // The library writes a comma before an empty pack of arguments; real kernels of Kokkos have them.
    let text = text.replace(", >", ">");
    // SYCL kernels are named after a type. Only the type is of interest.
    Some(text.strip_prefix(TYPE_NAME_PREFIX).map(str::to_owned).unwrap_or(text))
}

/// Prefix of demangled names that begin with `_ZTS`.
const TYPE_NAME_PREFIX: &str = "typeinfo name for ";

/// Returns the text that a function writes, unless it exceeds the maximum length.
fn format_bounded(write: impl FnOnce(&mut BoundedString) -> fmt::Result) -> Option<String> {
    let mut text = BoundedString(String::new());
    write(&mut text).ok().map(|()| text.0)
}

/// String of at most [`MAX_NAME_LENGTH`] bytes.
struct BoundedString(String);

impl Write for BoundedString {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.0.len() + part.len() > MAX_NAME_LENGTH {
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
            ("_Z1fIiJEEvv", "void f<int>()"),
            ("_RNvC6kernel4main", "kernel::main"),
            ("_ZN6kernel4main17h0123456789abcdefE", "kernel::main"),
        ];
        for (name, expected) in names {
            assert_eq!(demangle(name).as_deref(), Some(expected), "{name}");
        }
        for name in ["answer_kernel", "main", "", "_Z", "_ZN", "__omp_offloading_fd00_1234_main_l5"] {
            assert_eq!(demangle(name), None, "{name}");
        }
    }

    /// A function of nested pairs, each of two copies of the previous pair: every step doubles the text but not the name.
    fn doubling(steps: u32) -> String {
        let pair = |before: u32| format!("S_IS{0}_S{0}_E", base36(before));
        format!("_Z1f4pairIiiE{}", (0..steps).map(pair).collect::<String>())
    }

    #[test]
    fn does_not_demangle_a_name_that_expands_without_bound() {
        let two = "f(pair<int, int>, pair<pair<int, int>, pair<int, int> >)";
        assert_eq!(demangle(&doubling(1)).as_deref(), Some(two));
        assert_eq!(demangle(&doubling(9)).unwrap().matches("int").count(), 2 * 1023);
        assert_eq!(demangle(&doubling(60)), None);
    }

    fn base36(number: u32) -> String {
        let digits = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let high = if number / 36 > 0 { base36(number / 36) } else { String::new() };
        format!("{high}{}", digits[(number % 36) as usize] as char)
    }
}
