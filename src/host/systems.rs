//! The systems of hosts, and their names in triples.

/// An operating system with its C library.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct System {
    /// Operating system and environment that may follow the machine and a vendor, without versions.
    spellings: &'static [&'static [&'static str]],
    /// True if this program was built for the system, or for one that has no row of its own.
    pub is_native: bool,
}

/// Linux. Other environments change the ABI (`gnux32`, `gnu_ilp32`, `gnusf`) or the C library so much (`android`) that nothing
/// here was tried on them.
pub(super) const LINUX: System =
    System { spellings: &[&["linux"], &["linux", "gnu"], &["linux", "musl"]], is_native: true };

impl System {
    /// Returns whether the parts of a triple after machine and vendor name this system.
    pub fn has_spelling(&self, parts: &[&str]) -> bool {
        self.spellings.contains(&parts)
    }

    /// Returns the spellings for messages.
    pub fn names(&self) -> Vec<String> {
        self.spellings.iter().map(|spelling| spelling.join("-")).collect()
    }
}
