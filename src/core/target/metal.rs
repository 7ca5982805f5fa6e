//! Apple's systems: what a Metal library is compiled for.
//!
//! AIR, the code of Metal libraries, is not machine code: the driver compiles it for the GPU when it is loaded. A library
//! states the system and its oldest release, not a GPU. Source of the words in triples: LLVM, `llvm/TargetParser/Triple.h`,
//! and the modules of mlx-metal 0.32.4 (`air64_v26-apple-macosx14.0.0`).

use std::fmt;

use crate::base::short_text::ShortText;

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

/// A release of a system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
    /// Patch level, such as 2 in 26.6.2.
    pub patch: u32,
}

impl Release {
    /// Creates a release without a patch level.
    pub const fn new(major: u32, minor: u32) -> Release {
        Release { major, minor, patch: 0 }
    }
}

/// Formats the numbers. A patch level of 0 is left out.
impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        if self.patch == 0 { Ok(()) } else { write!(f, ".{}", self.patch) }
    }
}

/// Version of the Metal language, and the releases of macOS and iOS that support it. Source: Apple, `MTLLibrary.h` of
/// the SDK for macOS 27, `MTLLanguageVersion`.
#[rustfmt::skip]
const LANGUAGES: [(Language, Option<Release>, Release); 13] = [
    ((1, 0), None, Release::new(9, 0)),
    ((1, 1), Some(Release::new(10, 11)), Release::new(9, 0)),
    ((1, 2), Some(Release::new(10, 12)), Release::new(10, 0)),
    ((2, 0), Some(Release::new(10, 13)), Release::new(11, 0)),
    ((2, 1), Some(Release::new(10, 14)), Release::new(12, 0)),
    ((2, 2), Some(Release::new(10, 15)), Release::new(13, 0)),
    ((2, 3), Some(Release::new(11, 0)), Release::new(14, 0)),
    ((2, 4), Some(Release::new(12, 0)), Release::new(15, 0)),
    ((3, 0), Some(Release::new(13, 0)), Release::new(16, 0)),
    ((3, 1), Some(Release::new(14, 0)), Release::new(17, 0)),
    ((3, 2), Some(Release::new(15, 0)), Release::new(18, 0)),
    ((4, 0), Some(Release::new(26, 0)), Release::new(26, 0)),
    ((4, 1), Some(Release::new(27, 0)), Release::new(27, 0)),
];

/// First word of the triple of AIR.
pub const AIR64: &str = "air64";

/// Apple's numbers of GPUs: a word for each type of processor. Source: Apple, `file_cmds`, `file/macho.c`.
const GPU_WORDS: [(u32, &str); 3] = [(0x0100_0013, "applegpu_"), (0x0100_0014, "amdgpu_"), (0x0100_0015, "intelgpu_")];

/// Subtypes of Apple's GPUs. Source: as above.
#[rustfmt::skip]
static APPLE_GPUS: [(u32, ShortText<10>); 25] = [
    gpu(17, "g4p"), gpu(32, "gx2"), gpu(34, "g10p"), gpu(49, "g4g"), gpu(65, "g5p"), gpu(81, "g9p"),
    gpu(82, "g11m"), gpu(97, "g9g"), gpu(114, "g11p"), gpu(130, "g11g"), gpu(210, "g12p"), gpu(275, "g15g"),
    gpu(290, "g13p"), gpu(322, "g13g"), gpu(370, "g14p"), gpu(402, "g14g"), gpu(419, "g15s"), gpu(434, "g14s"),
    gpu(435, "g16p"), gpu(498, "g14d"), gpu(530, "g13s"), gpu(562, "g13c"), gpu(594, "g13d"), gpu(610, "g15p"),
    gpu(1602, "g11g_8fstp"),
];

const fn gpu(subtype: u32, name: &str) -> (u32, ShortText<10>) {
    (subtype, ShortText::new(name))
}

/// Returns the name of a GPU by the numbers in a Mach-O file: `applegpu_g13s`, or `applegpu_999` for one that is newer than
/// this program. `None` for other processors.
pub(crate) fn gpu_name(processor: u32, subtype: u32) -> Option<String> {
    let (_, word) = GPU_WORDS.iter().find(|(number, _)| *number == processor)?;
    let known = APPLE_GPUS.iter().find(|(number, _)| *number == subtype && *word == GPU_WORDS[0].1);
    Some(known.map_or_else(|| format!("{word}{subtype}"), |(_, name)| format!("{word}{}", &**name)))
}

/// Returns whether it is the name of a GPU as [`gpu_name`] returns it.
pub fn is_gpu_name(name: &str) -> bool {
    let [(_, apple), others @ ..] = GPU_WORDS;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let rest = |word| name.strip_prefix(word);
    rest(apple).is_some_and(|rest| is_number(rest) || APPLE_GPUS.iter().any(|(_, name)| *name == *rest))
        || others.iter().any(|(_, word)| rest(*word).is_some_and(is_number))
}

/// Version of the Metal language: major and minor number.
pub type Language = (u16, u16);

/// Releases of a system that support a version of the language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LanguageSupport {
    /// Supported since a release.
    Since(Release),
    /// The version is newer than this program: supported only after a release.
    After(Release),
}

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

    /// Returns the system in the platform of a Python wheel, such as `macosx_11_0_arm64`, and its oldest release. Triples
    /// have the same words (PyPA, Platform compatibility tags).
    #[doc(hidden)]
    pub fn of_tag(tag: &str) -> Option<(System, Release)> {
        let mut parts = tag.split('_');
        let word = parts.next()?;
        let row = ROWS.iter().find(|row| row.word == word)?;
        let mut number = || parts.next()?.parse().ok();
        Some((row.system, Release::new(number()?, number()?)))
    }

    /// Returns the releases that support a version of the language; `None` for systems whose releases are not in the
    /// table, and for versions that the system never had.
    #[doc(hidden)]
    pub fn supports(self, language: Language) -> Option<LanguageSupport> {
        let of_row = |&(_, mac_os, ios): &(Language, Option<Release>, Release)| match self {
            System::MacOs => mac_os,
            System::Ios => Some(ios),
            System::TvOs | System::WatchOs | System::VisionOs => None,
        };
        match LANGUAGES.iter().find(|(known, ..)| *known == language) {
            Some(row) => of_row(row).map(LanguageSupport::Since),
            None => {
                let newest = LANGUAGES.last().filter(|(newest, ..)| language > *newest)?;
                of_row(newest).map(LanguageSupport::After)
            }
        }
    }

    /// Returns the triple of AIR for a release of the system.
    pub(crate) fn triple(self, Release { major, minor, patch }: Release) -> String {
        format!("{AIR64}-apple-{}{major}.{minor}.{patch}", self.row().word)
    }

    /// Returns the system of a triple, and its oldest release.
    #[doc(hidden)]
    pub fn of_triple(triple: &str) -> Option<(System, Release)> {
        let mut parts = triple.split('-');
        parts.next().filter(|word| word.starts_with(AIR64))?;
        // The vendor.
        parts.next()?;
        let system = parts.next()?;
        let row = ROWS.iter().find(|row| system.starts_with(row.word))?;
        let mut numbers = system.strip_prefix(row.word)?.split('.').map(|number| number.parse().ok());
        let major = numbers.next()??;
        let minor = numbers.next().unwrap_or(Some(0))?;
        let patch = numbers.next().unwrap_or(Some(0))?;
        Some((row.system, Release { major, minor, patch }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_of_the_language_has_its_releases() {
        let since = |major, minor| Some(LanguageSupport::Since(Release::new(major, minor)));
        let cases = [
            (System::MacOs, (1, 0), None),
            (System::Ios, (1, 0), since(9, 0)),
            (System::MacOs, (2, 2), since(10, 15)),
            (System::MacOs, (3, 1), since(14, 0)),
            (System::Ios, (3, 2), since(18, 0)),
            (System::MacOs, (4, 1), since(27, 0)),
            (System::MacOs, (4, 2), Some(LanguageSupport::After(Release::new(27, 0)))),
            (System::MacOs, (2, 9), None),
            (System::VisionOs, (3, 1), None),
        ];
        for (system, language, expected) in cases {
            assert_eq!(system.supports(language), expected, "{system:?} {language:?}");
        }
        assert!(LANGUAGES.is_sorted_by_key(|(language, ..)| *language));
    }

    #[test]
    fn triples_lead_back_to_their_system() {
        for &system in System::ALL {
            for release in [Release::new(14, 2), Release { major: 26, minor: 6, patch: 2 }] {
                assert_eq!(System::of_triple(&system.triple(release)), Some((system, release)));
            }
            assert_eq!(System::named(system.device()), Some(system));
        }
        assert_eq!(System::of_triple("air64_v26-apple-macosx14.0.0"), Some((System::MacOs, Release::new(14, 0))));
        for other in ["arm64-apple-macosx14.0.0", "air64-apple-linux", "air64-apple-macosx", "air64"] {
            assert_eq!(System::of_triple(other), None, "{other}");
        }
    }
}
