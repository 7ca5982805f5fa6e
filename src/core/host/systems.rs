//! The systems of hosts: their names in triples, and their conventions for objects.

use object::pe;

use crate::format::embed_record::is_part_of;

/// An operating system with its C library.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct System {
    /// Operating system and environment that may follow the machine and a vendor, without versions.
    spellings: &'static [&'static [&'static str]],
    /// True if this program was built for the system, or for a system without a row.
    pub is_native: bool,
}

/// Linux. Other environments change the ABI (`gnux32`, `gnu_ilp32`, `gnusf`) or the C library so much (`android`) that
/// nothing here was tried on them.
pub(super) const LINUX: System = System {
    spellings: &[&["linux"], &["linux", "gnu"], &["linux", "musl"]],
    is_native: cfg!(not(any(windows, target_os = "macos"))),
};

/// Windows with Microsoft's C runtime and linker, or LLVM's.
pub(super) const WINDOWS_MSVC: System = System {
    spellings: &[&["windows"], &["windows", "msvc"], &["win32"]],
    is_native: cfg!(all(windows, not(target_env = "gnu"))),
};

/// Windows with the C runtime of MinGW-w64.
pub(super) const WINDOWS_GNU: System =
    System { spellings: &[&["windows", "gnu"], &["mingw32"]], is_native: cfg!(all(windows, target_env = "gnu")) };

/// macOS; Apple's other systems have the same objects with another version, and nothing here was tried on them.
pub(super) const MACOS: System =
    System { spellings: &[&["macosx"], &["macos"], &["darwin"]], is_native: cfg!(target_os = "macos") };

/// Segment and section of macOS for a section that is named as in ELF; names of macOS stay. Source: tests of LLVM's
/// main branch; clang for data. LLVM has no name for OpenMP's images, so fatbin defines one.
pub(super) fn mach_o_section(name: &str) -> &str {
    match name {
        ".text.startup" => "__TEXT,__StaticInit",
        ".llvm.rodata.offloading" => "__TEXT,__const",
        _ if is_part_of(name, ".rodata") => "__TEXT,__const",
        _ if is_part_of(name, ".data.rel.ro") => "__DATA,__const",
        ".bss" => "__DATA,__bss",
        ".init_array" => "__DATA,__mod_init_func",
        ".fini_array" => "__DATA,__mod_term_func",
        ".llvm.offloading" => "__TEXT,__offloading",
        ".llvm.offloading.relocatable" => "__TEXT,__offloading_r",
        name => name,
    }
}

/// C runtime of Windows, which runs the constructors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WindowsRuntime {
    /// Microsoft's.
    Msvc,
    /// MinGW-w64's.
    Gnu,
}

impl System {
    /// Returns whether the parts of a triple after machine and vendor name this system. A version may follow each part.
    pub fn has_spelling(&self, parts: &[&str]) -> bool {
        let is_word = |(&part, &word): (&&str, &&str)| {
            let version = part.strip_prefix(word);
            version.is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
        };
        let is_same = |spelling: &&[&str]| spelling.len() == parts.len() && parts.iter().zip(*spelling).all(is_word);
        self.spellings.iter().any(is_same)
    }

    /// Returns the spellings for messages.
    pub fn names(&self) -> Vec<String> {
        self.spellings.iter().map(|spelling| spelling.join("-")).collect()
    }
}

/// Priority of a constructor that does not specify one.
const DEFAULT_PRIORITY: u16 = u16::MAX;

/// Names of sections and flags. Source: objects of LLVM 22; its priorities 200 and 400 stand for the ones that
/// Microsoft's compiler gives to `#pragma init_seg`.
impl WindowsRuntime {
    /// Returns the section of constructors with a priority. Microsoft's runtime runs them in the order of the names,
    /// and MinGW-w64's runs them in the reverse order.
    pub fn constructors(self, priority: u16) -> String {
        self.functions(".CRT$XC", 'U', ".ctors", priority)
    }

    /// Returns the section of destructors with a priority.
    pub fn destructors(self, priority: u16) -> String {
        self.functions(".CRT$XT", 'X', ".dtors", priority)
    }

    fn functions(self, msvc: &str, default: char, gnu: &str, priority: u16) -> String {
        match (self, priority) {
            (WindowsRuntime::Msvc, DEFAULT_PRIORITY) => format!("{msvc}{default}"),
            (WindowsRuntime::Msvc, 200) => format!("{msvc}C"),
            (WindowsRuntime::Msvc, 400) => format!("{msvc}L"),
            (WindowsRuntime::Msvc, 0..200) => format!("{msvc}A{priority:05}"),
            (WindowsRuntime::Msvc, 201..400) => format!("{msvc}C{priority:05}"),
            (WindowsRuntime::Msvc, _) => format!("{msvc}T{priority:05}"),
            (WindowsRuntime::Gnu, DEFAULT_PRIORITY) => gnu.to_owned(),
            (WindowsRuntime::Gnu, _) => format!("{gnu}.{:05}", DEFAULT_PRIORITY - priority),
        }
    }

    /// Returns the flags of these sections in addition to the flags of read-only data.
    pub fn array_flags(self) -> pe::SectionFlags {
        match self {
            WindowsRuntime::Msvc => pe::SectionFlags(0),
            WindowsRuntime::Gnu => pe::IMAGE_SCN_MEM_WRITE,
        }
    }
}
