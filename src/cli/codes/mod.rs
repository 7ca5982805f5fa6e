//! Error codes. `fatbin explain` prints the page about a code.
//!
//! A code stands for a problem with one remedy, so several error variants may share a code. This module assigns the
//! codes of each error type in a `match` over all variants, so a new variant without a code does not compile. A code
//! never changes its meaning, and a removed code is not used again. The texts are in `docs/errors`.

mod basics;
mod judgement;
mod links;
mod lookup;
mod operations;
mod pages;

use std::fmt;

pub use lookup::code_of;
pub use pages::{Page, Section, pages, rule_help};

/// An error type whose values have codes.
pub trait Coded {
    /// Returns the code.
    fn code(&self) -> Code;
}

/// Declares [`Code`] from one table.
macro_rules! codes {
    ($($code:ident => $name:literal;)+) => {
        /// Code of an error.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = concat!("Code ", $name, ".")] $code,)+
        }

        impl Code {
            /// All codes, in order.
            #[cfg(test)]
            pub const ALL: &[Code] = &[$(Code::$code),+];

            /// Returns the name: `E`, two digits of the page and two of the problem.
            pub fn name(self) -> &'static str {
                match self { $(Code::$code => $name,)+ }
            }
        }
    };
}

codes! {
    // The command line.
    UnknownArgument => "E0001";
    InvalidValue => "E0002";
    MissingArgument => "E0003";
    ConflictingArguments => "E0004";
    NoImages => "E0005";
    // Bytes that violate their format.
    Truncated => "E0101";
    InvalidField => "E0102";
    UnsupportedVersion => "E0103";
    UnknownContainer => "E0104";
    DecompressedLimit => "E0105";
    WorkLimit => "E0106";
    DamagedCompression => "E0107";
    HashMismatch => "E0108";
    // Files.
    SystemCall => "E0201";
    NotAFile => "E0202";
    InputIsOutput => "E0203";
    FileAddress => "E0204";
    ChangedInput => "E0205";
    UnreadableMember => "E0206";
    NotOpened => "E0207";
    Bitcode => "E0208";
    UnreadableOutput => "E0209";
    SameOutput => "E0210";
    Internal => "E0211";
    BinaryFile => "E0212";
    // Device images, and the objects that register them.
    EmptyImage => "E0301";
    NotADeviceImage => "E0302";
    UnknownTarget => "E0303";
    ContradictedHeader => "E0304";
    DuplicateImage => "E0305";
    UnsupportedRelease => "E0306";
    UnsupportedHost => "E0307";
    LargeSections => "E0308";
    InvalidEntry => "E0309";
    UnknownHostObject => "E0310";
    InvalidSymbol => "E0311";
    InvalidPlacement => "E0312";
    // Names of targets.
    UnknownDevice => "E0401";
    InvalidTargetId => "E0402";
    InvalidEntryId => "E0403";
    UnsupportedSpelling => "E0404";
    InvalidPattern => "E0405";
    InvalidTemplate => "E0406";
    // Bundles.
    ConflictingTargets => "E0501";
    NotABundle => "E0502";
    MissingTargets => "E0503";
    UnsupportedBundle => "E0504";
    SeveralBundles => "E0505";
    // Selection and extraction of images.
    NoMatch => "E0601";
    KernelsUnknown => "E0602";
    StoredOnly => "E0603";
    SeveralMatches => "E0604";
    DefectiveImage => "E0605";
    // Changes of files.
    UnsupportedEncoding => "E0701";
    UnreadableByRelease => "E0702";
    InvalidReplacement => "E0703";
    NoRoom => "E0704";
    Unproven => "E0705";
    UnsupportedArchive => "E0706";
    NotSplittable => "E0707";
    NotJoinable => "E0708";
    Signed => "E0709";
    // Policies and locks.
    InvalidPolicy => "E0801";
    InvalidPolicyTarget => "E0802";
    InvalidPolicyValue => "E0803";
    Contradiction => "E0804";
    InvalidLock => "E0805";
    GrowthUnknown => "E0806";
    // Links.
    MissingTool => "E0901";
    MissingLinkInput => "E0902";
    NotLinkable => "E0903";
    MissingKernels => "E0904";
    ProgramFailed => "E0905";
    UnknownLayout => "E0906";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_in_order() {
        for pair in Code::ALL.windows(2) {
            assert!(pair[0].name() < pair[1].name(), "{} and {}", pair[0], pair[1]);
        }
    }
}
