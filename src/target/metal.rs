//! Apple's systems: what a Metal library is compiled for.
//!
//! AIR, the code of Metal libraries, is not machine code: the driver compiles it for the GPU when it is loaded. A library
//! states the system and its oldest release, not a GPU. Source of the words in triples: LLVM, `llvm/TargetParser/Triple.h`,
//! and the modules of mlx-metal 0.32.4 (`air64_v26-apple-macosx14.0.0`).

/// A system with a Metal driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum System {
    /// macOS.
    MacOs,
    /// iOS and iPadOS.
    Ios,
    /// tvOS.
    TvOs,
    /// watchOS.
    WatchOs,
    /// visionOS.
    VisionOs,
}

/// Names of a system.
struct Row {
    system: System,
    /// Word of triples.
    word: &'static str,
    /// Name of the device.
    device: &'static str,
    /// Name for readers.
    name: &'static str,
}

const fn row(system: System, word: &'static str, device: &'static str, name: &'static str) -> Row {
    Row { system, word, device, name }
}

const ROWS: [Row; 5] = [
    row(System::MacOs, "macosx", "macos", "macOS"),
    row(System::Ios, "ios", "ios", "iOS"),
    row(System::TvOs, "tvos", "tvos", "tvOS"),
    row(System::WatchOs, "watchos", "watchos", "watchOS"),
    row(System::VisionOs, "xros", "visionos", "visionOS"),
];

/// Major and minor number of a release of a system.
pub type Release = (u32, u32);

/// First word of the triple of AIR.
pub const AIR64: &str = "air64";

impl System {
    /// Every system.
    pub const ALL: &[System] = &[System::MacOs, System::Ios, System::TvOs, System::WatchOs, System::VisionOs];

    fn row(self) -> &'static Row {
        ROWS.iter().find(|row| row.system == self).expect("every system has a row")
    }

    /// Returns the name of the device, such as `macos`.
    pub fn device(self) -> &'static str {
        self.row().device
    }

    /// Returns the name for readers, such as `macOS`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the system that is a device of this name.
    pub fn named(device: &str) -> Option<System> {
        ROWS.iter().find(|row| row.device == device).map(|row| row.system)
    }

    /// Returns the triple of AIR for a release of the system.
    pub(crate) fn triple(self, (major, minor): Release) -> String {
        format!("{AIR64}-apple-{}{major}.{minor}.0", self.row().word)
    }

    /// Returns the system of a triple, and its oldest release.
    pub(crate) fn of_triple(triple: &str) -> Option<(System, Release)> {
        let mut parts = triple.split('-');
        parts.next().filter(|word| word.starts_with(AIR64))?;
        // The vendor.
        parts.next()?;
        let system = parts.next()?;
        let row = ROWS.iter().find(|row| system.starts_with(row.word))?;
        let mut numbers = system.strip_prefix(row.word)?.split('.').map(|number| number.parse().ok());
        let major = numbers.next()??;
        let minor = numbers.next().unwrap_or(Some(0))?;
        Some((row.system, (major, minor)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triples_lead_back_to_their_system() {
        for &system in System::ALL {
            assert_eq!(System::of_triple(&system.triple((14, 2))), Some((system, (14, 2))));
            assert_eq!(System::named(system.device()), Some(system));
        }
        assert_eq!(System::of_triple("air64_v26-apple-macosx14.0.0"), Some((System::MacOs, (14, 0))));
        for other in ["arm64-apple-macosx14.0.0", "air64-apple-linux", "air64-apple-macosx", "air64"] {
            assert_eq!(System::of_triple(other), None, "{other}");
        }
    }
}
