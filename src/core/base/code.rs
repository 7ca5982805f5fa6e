//! Codes of errors, and the remedies that a caller of the library can apply.
//!
//! A code stands for a problem with one remedy, so several error variants may share a code. Each error type assigns codes
//! in a `match` over all its variants, so a variant without a code does not compile. A code never changes its meaning,
//! and a removed code is not used again. The texts are in `docs/errors`.

use std::error::Error;
use std::path::PathBuf;
use std::{fmt, io};

/// An error type whose values have codes.
pub trait Coded: Error {
    /// Returns the class; for an error that wraps another, the class of the other.
    fn class(&self) -> ErrorClass;
}

/// What a program distinguishes errors by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorClass {
    /// Code.
    pub code: Code,
    /// A change in the request that solves the problem. The message of the error does not mention it, because its
    /// words are the caller's: the program names an option.
    pub remedy: Option<Remedy>,
}

/// A change in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// Raise the limit on decompressed bytes.
    RaiseDecompressedLimit,
    /// Raise all limits by a factor.
    RaiseLimits,
    /// Allow that text replaces a binary file.
    ReplaceBinaries,
    /// Specify the files that the input refers to.
    SpecifyReferences,
    /// Embed the file unchanged and unchecked.
    EmbedUnchanged,
    /// Specify the processor of the image in this file.
    SpecifyArch(PathBuf),
    /// Specify the target triple of the image in this file.
    SpecifyTriple(PathBuf),
    /// Specify the host.
    SpecifyHost,
    /// Specify the release of the registration code.
    SpecifyRelease,
    /// Specify another release of the registration code.
    ChangeRelease,
    /// Take the release from the host objects.
    TakeReleaseOfObjects,
    /// Spell triples as all releases do.
    SpellLegacy,
    /// Do not require large sections for images.
    AllowSmallImages,
    /// Do not require large sections for images, or emit an object instead of LLVM IR.
    AllowSmallImagesOrEmitObject,
    /// Do not require large sections for files.
    AllowSmallFiles,
    /// Specify another section.
    ChangeSection,
    /// Specify another alignment.
    ChangeAlignment,
    /// Rename the symbol, or write no C header.
    RenameOrOmitHeader,
    /// Extract the bytes as they are stored.
    ExtractStored,
    /// Add the index or the file to the template of names.
    DistinguishNames,
    /// Allow another target of the same format.
    AllowOtherTarget,
    /// Allow that a signature breaks.
    BreakSignature,
    /// Split into files instead of kpack archives.
    SplitIntoFiles,
    /// Use a lock instead of its summary.
    WriteLock,
    /// Use locks that record sizes.
    RecordSizes,
    /// Specify the proof of the change.
    SpecifyProof,
    /// Specify ptxas.
    SpecifyPtxas,
}

impl From<Code> for ErrorClass {
    fn from(code: Code) -> ErrorClass {
        ErrorClass { code, remedy: None }
    }
}

impl Code {
    /// Adds a remedy.
    pub fn with(self, remedy: Remedy) -> ErrorClass {
        ErrorClass { code: self, remedy: Some(remedy) }
    }
}

impl Coded for io::Error {
    fn class(&self) -> ErrorClass {
        Code::SystemCall.into()
    }
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
    SymbolicLink => "E0213";
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
    LostDeviceCode => "E0313";
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
