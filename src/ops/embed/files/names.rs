//! Names: from the name of a file in the program to the symbols of its bytes, their end and their number.

use std::collections::HashMap;

use super::cxx::{self, VariableType};
use super::error::EmbedError;
use fatbin_core::format::embed_record::MAX_NAME;
use fatbin_core::host::{Host, ObjectFormat};

/// Symbols of each embedded file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolStyle {
    /// `NAME` and `NAME_end`.
    StartEnd,
    /// `NAME` and `NAME_size`, a number of 64 bits.
    StartSize,
    /// `NAME`, `NAME_end` and `NAME_size`.
    StartEndSize,
    /// `NAME_start`, `NAME_end` and the absolute symbol `NAME_size`, as `ld -b binary` has them.
    Binary,
}

/// Role of a symbol of an embedded file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// First byte.
    Start,
    /// Byte after the last one.
    End,
    /// Variable with the number of bytes.
    Size,
    /// Absolute symbol of that number.
    AbsoluteSize,
}

/// Name of an embedded file, as the user gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    text: String,
    /// Names of namespaces and the name in them; one part for a symbol that is used as it is.
    parts: Vec<String>,
}

impl SymbolStyle {
    /// Returns the roles of the symbols and the suffixes of their names.
    pub fn symbols(self) -> &'static [(Role, &'static str)] {
        match self {
            SymbolStyle::StartEnd => &[(Role::Start, ""), (Role::End, "_end")],
            SymbolStyle::StartSize => &[(Role::Start, ""), (Role::Size, "_size")],
            SymbolStyle::StartEndSize => &[(Role::Start, ""), (Role::End, "_end"), (Role::Size, "_size")],
            SymbolStyle::Binary => &[(Role::Start, "_start"), (Role::End, "_end"), (Role::AbsoluteSize, "_size")],
        }
    }
}

impl Role {
    /// Type of the symbol's variable.
    fn variable_type(self) -> VariableType {
        match self {
            Role::Size => VariableType::Number,
            Role::Start | Role::End | Role::AbsoluteSize => VariableType::Bytes,
        }
    }

    /// Description for messages.
    fn description(self) -> &'static str {
        match self {
            Role::Start => "the start of",
            Role::End => "the end of",
            Role::Size | Role::AbsoluteSize => "the size of",
        }
    }
}

impl Name {
    /// Parses a symbol, or a variable of C++ in namespaces: `a::b`.
    pub fn parse(text: &str) -> Result<Name, EmbedError> {
        let invalid = |problem| EmbedError::InvalidName { name: text.to_owned(), problem };
        if text.is_empty() {
            return Err(invalid("it is empty"));
        }
        if text.contains(|c: char| c.is_control()) {
            return Err(invalid("it contains a control character"));
        }
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(invalid("it begins with a digit"));
        }
        if text.len() > MAX_NAME / 2 {
            return Err(invalid("it is longer than 32768 bytes"));
        }
        // The names of Microsoft's compiler contain colons only in C++.
        let parts: Vec<String> = text.split("::").map(str::to_owned).collect();
        if parts.len() > 1 && !parts.iter().all(|part| is_identifier(part)) {
            return Err(invalid("expected identifiers separated by ::"));
        }
        Ok(Name { text: text.to_owned(), parts })
    }

    /// Returns the name that `ld -b binary` derives from a path: its bytes other than letters and digits are
    /// underscores.
    pub fn of_path(path: &str) -> Result<Name, EmbedError> {
        let byte = |byte: u8| if byte.is_ascii_alphanumeric() { char::from(byte) } else { '_' };
        Name::parse(&format!("_binary_{}", path.bytes().map(byte).collect::<String>()))
    }

    /// The name as the user gave it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Namespaces, from the outermost one on.
    pub fn namespaces(&self) -> &[String] {
        self.parts.split_last().map_or(&[], |(_, namespaces)| namespaces)
    }

    /// Returns the identifier in C and C++ of the variable with a suffix, without its namespaces; `None` if it is not
    /// one.
    pub fn identifier(&self, suffix: &str) -> Option<String> {
        let last = self.parts.last().filter(|last| is_identifier(last))?;
        Some(format!("{last}{suffix}"))
    }

    /// Returns the symbol of the variable with a suffix.
    pub fn symbol(&self, suffix: &str, role: Role, host: Host) -> String {
        let last = format!("{}{suffix}", self.parts.last().map_or("", String::as_str));
        match self.namespaces() {
            [] => last,
            namespaces if host.has_microsoft_names() => cxx::microsoft(namespaces, &last, role.variable_type()),
            namespaces => cxx::itanium(namespaces, &last),
        }
    }
}

/// Returns whether a name is an identifier of C. Whether it is a keyword is left to the compiler.
pub fn is_identifier(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(is_part) && name.starts_with(|c: char| !c.is_ascii_digit())
}

/// Symbols that the object defines, with their origins.
#[derive(Debug)]
pub struct SymbolNames {
    host: Host,
    defined: HashMap<String, String>,
}

impl SymbolNames {
    /// Creates an empty set of names.
    pub fn new(host: Host) -> SymbolNames {
        SymbolNames { host, defined: HashMap::new() }
    }

    /// Returns an embedded file's symbol for a role. Nothing else may define it.
    pub fn of_file(&mut self, name: &Name, (role, suffix): (Role, &str)) -> Result<String, EmbedError> {
        let symbol = name.symbol(suffix, role, self.host);
        self.define(&symbol, format!("{} {}", role.description(), name.text()))?;
        Ok(symbol)
    }

    /// Defines a symbol.
    pub fn define(&mut self, symbol: &str, origin: String) -> Result<(), EmbedError> {
        if self.host.format() == ObjectFormat::Elf && symbol.contains('@') {
            let problem = "linkers read what follows @ as a version";
            return Err(EmbedError::InvalidName { name: symbol.to_owned(), problem });
        }
        match self.defined.insert(symbol.to_owned(), origin.clone()) {
            None => Ok(()),
            Some(one) => Err(EmbedError::DuplicateSymbol { symbol: symbol.to_owned(), one, other: origin }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_those_of_the_host() {
        let symbol = |text: &str, host| Name::parse(text).unwrap().symbol("_end", Role::End, host);
        for host in Host::ALL.iter().copied() {
            assert_eq!(symbol("kernel", host), "kernel_end");
            assert_eq!(symbol("_ZN2ns6kernelE", host), "_ZN2ns6kernelE_end");
        }
        assert_eq!(symbol("ns::kernel", Host::X86_64), "_ZN2ns10kernel_endE");
        assert_eq!(symbol("ns::kernel", Host::X86_64WindowsGnu), "_ZN2ns10kernel_endE");
        assert_eq!(symbol("a::b::kernel", Host::Aarch64WindowsMsvc), "?kernel_end@b@a@@3QBEB");
    }

    #[test]
    fn a_path_becomes_the_name_that_gnu_ld_gives_it() {
        let name = |path| Name::of_path(path).unwrap().symbol("_start", Role::Start, Host::X86_64);
        assert_eq!(name("k-90.v1.cubin"), "_binary_k_90_v1_cubin_start");
        assert_eq!(name("/a/b/k"), "_binary__a_b_k_start");
        assert_eq!(name("\u{e9}"), "_binary____start");
    }

    #[test]
    fn rejects_names_that_no_symbol_has() {
        let message = |text: &str| Name::parse(text).unwrap_err().to_string();
        assert_eq!(message(""), "invalid symbol name \"\": it is empty");
        assert_eq!(message("a\0b"), "invalid symbol name \"a\\0b\": it contains a control character");
        assert_eq!(message("a::2"), "invalid symbol name \"a::2\": expected identifiers separated by ::");
        assert!(message(&"x".repeat(40_000)).ends_with("it is longer than 32768 bytes"));
        let versioned = |host| SymbolNames::new(host).define("a@b", String::new()).is_err();
        assert!(versioned(Host::X86_64) && !versioned(Host::X86_64WindowsMsvc));
    }

    #[test]
    fn a_duplicate_names_both_origins() {
        let mut names = SymbolNames::new(Host::X86_64);
        let [x, x_end] = ["x", "x_end"].map(|text| Name::parse(text).unwrap());
        for &symbol in SymbolStyle::StartEnd.symbols() {
            names.of_file(&x, symbol).unwrap();
        }
        let error = names.of_file(&x_end, (Role::Start, "")).unwrap_err().to_string();
        assert_eq!(error, "duplicate symbol x_end: the end of x and the start of x_end; rename one of them");
    }
}
