//! Symbols of variables in namespaces of C++.
//!
//! Sources: Itanium C++ ABI, 5.1 (a variable has a nested name and no type); objects of clang 22 for Windows: `3` is a
//! variable in a namespace, `QBEB` an array of `const unsigned char`, `_KB` a `const unsigned __int64`.

/// Type of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableType {
    /// `const unsigned char[]`.
    Bytes,
    /// `const uint64_t`.
    Number,
}

/// Returns the symbol of a variable on every system but Windows with Microsoft's C runtime.
pub fn itanium(namespaces: &[String], name: &str) -> String {
    let parts = namespaces.iter().map(String::as_str).chain([name]);
    let parts: String = parts.map(|part| format!("{}{part}", part.len())).collect();
    format!("_ZN{parts}E")
}

/// Returns the symbol of a variable that Microsoft's compiler, or clang for its runtime, refers to.
pub fn microsoft(namespaces: &[String], name: &str, variable: VariableType) -> String {
    let mut symbol = String::from("?");
    let mut known = Vec::new();
    for part in std::iter::once(name).chain(namespaces.iter().rev().map(String::as_str)) {
        match known.iter().position(|known| *known == part) {
            // A repeated name is encoded as its number, up to the tenth name.
            Some(number @ 0..10) => symbol.push_str(&number.to_string()),
            _ => {
                symbol.push_str(part);
                symbol.push('@');
                known.push(part);
            }
        }
    }
    let of_type = match variable {
        VariableType::Number => "_KB",
        VariableType::Bytes => "QBEB",
    };
    format!("{symbol}@3{of_type}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of clang 22 for `extern const unsigned char v[]` and `extern const unsigned long long v_size` in
    /// namespaces.
    #[test]
    fn symbols_are_those_of_clang() {
        let namespaces = |text: &str| text.split("::").map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(itanium(&namespaces("a::bc"), "v"), "_ZN1a2bc1vE");
        assert_eq!(microsoft(&namespaces("a::bc"), "v", VariableType::Bytes), "?v@bc@a@@3QBEB");
        assert_eq!(microsoft(&namespaces("a::bc"), "v_size", VariableType::Number), "?v_size@bc@a@@3_KB");
        assert_eq!(microsoft(&namespaces("v::v"), "v", VariableType::Bytes), "?v@00@3QBEB");
    }
}
