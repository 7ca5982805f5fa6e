//! Sets of the releases of LLVM whose libomptarget was measured.

use std::fmt;

/// A set of measured releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LlvmReleases {
    is_member: [bool; LlvmReleases::MEASURED.len()],
}

impl LlvmReleases {
    /// The measured releases, in order.
    pub const MEASURED: [u32; 4] = [15, 16, 19, 22];

    /// All measured releases.
    pub const ALL: LlvmReleases = LlvmReleases { is_member: [true; Self::MEASURED.len()] };

    /// Returns the set of these measured releases.
    pub fn of(majors: impl IntoIterator<Item = u32>) -> Self {
        let majors: Vec<u32> = majors.into_iter().collect();
        LlvmReleases { is_member: Self::MEASURED.map(|major| majors.contains(&major)) }
    }

    /// Returns whether no release is missing.
    pub fn are_all(self) -> bool {
        self == Self::ALL
    }

    /// Returns the releases of both sets.
    pub fn and(self, other: Self) -> Self {
        Self::of(self.majors().filter(|major| other.majors().any(|own| own == *major)))
    }

    /// Returns the releases of either set.
    pub fn or(self, other: Self) -> Self {
        Self::of(self.majors().chain(other.majors()))
    }

    /// Returns the releases since a major version.
    pub fn since(self, first: u32) -> Self {
        Self::of(self.majors().filter(|major| *major >= first))
    }

    /// Returns the major versions, in order.
    pub fn majors(self) -> impl Iterator<Item = u32> {
        Self::MEASURED.into_iter().zip(self.is_member).filter(|(_, is_member)| *is_member).map(|(major, _)| major)
    }

    /// Returns the first and the last release of each run without a gap.
    fn runs(self) -> Vec<(u32, u32)> {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        let mut is_open = false;
        for (major, is_member) in Self::MEASURED.into_iter().zip(self.is_member) {
            match runs.last_mut() {
                Some((_, last)) if is_member && is_open => *last = major,
                _ if is_member => runs.push((major, major)),
                _ => {}
            }
            is_open = is_member;
        }
        runs
    }
}

impl fmt::Display for LlvmReleases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let newest = Self::MEASURED.last().copied();
        let run = |(first, last): (u32, u32)| match first {
            _ if Some(last) == newest => format!("LLVM {first} or newer"),
            _ if first == last => format!("LLVM {first}"),
            _ => format!("LLVM {first} to {last}"),
        };
        let runs: Vec<String> = self.runs().into_iter().map(run).collect();
        if runs.is_empty() { f.write_str("no measured release of LLVM") } else { f.write_str(&runs.join(" and ")) }
    }
}
