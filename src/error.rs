//! What can go wrong, with the values in it.
//!
//! There are two layers because there are two kinds of knowledge. A reader of a format knows bytes and offsets but no
//! file, so it returns [`Malformed`]; whoever opened the file adds its path and gets an [`Error`]. Both print as the
//! one line that `spec: fatbin: PATH: WHAT at OFFSET: CAUSE` asks for, without the program's name, which belongs to
//! the command line.

use std::io;
use std::path::{Path, PathBuf};

/// The result of everything that knows a file.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Bytes that are not what their place says they are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} at {offset:#x}: {cause}")]
pub struct Malformed {
    /// The structure and field, in the words of its specification: `offload binary header: size`.
    pub field: &'static str,
    /// Where the field is, in bytes from the start of the file (of the outermost view, where there is no file).
    pub offset: u64,
    /// What is wrong with its value.
    pub cause: Cause,
}

/// Why a field cannot be believed; each variant holds the offending value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// The structure goes on beyond the bytes that there are.
    #[error("needs {needed} bytes, {available} are there")]
    Truncated { needed: u64, available: u64 },
    /// An offset and size that do not lie within the structure they belong to.
    #[error("offset {offset} with size {size} does not fit into {limit} bytes")]
    OutOfBounds { offset: u64, size: u64, limit: u64 },
    /// A field with a fixed or bounded value that has another one.
    #[error("is {value:#x}, should be {expected}")]
    Unexpected { value: u64, expected: &'static str },
    /// A format version that this program cannot read.
    #[error("version {value} is not known, {supported}")]
    UnsupportedVersion { value: u64, supported: &'static str },
    /// A string that has no terminating NUL before its structure ends.
    #[error("string without an end")]
    Unterminated,
    /// A string that is not UTF-8, or an identifier that is not printable.
    #[error("not a readable string")]
    Unreadable,
    /// Bytes that belong to two things at once.
    #[error("is {offset}, but what stands before it ends at {end}")]
    Overlap { offset: u64, end: u64 },
    /// A text bundle with a file that does not end.
    #[error("has no line that ends the file {id}")]
    MissingEndMarker { id: String },
    /// A bundle entry id that does not follow `<kind>-<triple>[-<target id>]`.
    #[error("{id:?} is no bundle entry id (<offload kind>-<triple>[-<target id>])")]
    BundleEntryId { id: String },
    /// Bytes where a container should begin, and none of the known ones does.
    #[error("begins no container that is known ({first})")]
    NotAContainer { first: String },
    /// Compressed bytes whose stated size is more than is allowed.
    #[error("{size} bytes once decompressed, more than the limit of {limit}")]
    OverLimit { size: u64, limit: u64 },
    #[error("no memory for {size} bytes")]
    NoMemory { size: u64 },
    /// Bytes that are not a whole stream of their codec, in the words of its library.
    #[error("cannot be decompressed: {0}")]
    Compressed(String),
    #[error("gives {size} bytes once decompressed, should give {expected}")]
    SizeMismatch { size: u64, expected: u64 },
    #[error("is {stored:#018x}, but what is there has {found:#018x}")]
    HashMismatch { stored: u64, found: u64 },
    #[error("is compressed in a way that is not known ({codec})")]
    UnsupportedCodec { codec: &'static str },
    /// A compressed container in a compressed container, directly: no tool makes that.
    #[error("gives a container that is compressed again")]
    CompressedTwice,
    /// Error of the `object` crate, which parses host files and device ELF files.
    #[error("{0}")]
    ObjectFile(object::read::Error),
    /// Error that another crate or a check without numbers describes in words.
    #[error("{0}")]
    Described(String),
}

/// Everything that a user can be told, each with the file (or, where there is none, the word) it is about.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The cause is in the message and not a `source`, so that whoever prints the whole chain does not print it twice.
    #[error("{}: cannot {action}: {cause}", path.display())]
    Io { path: PathBuf, action: &'static str, cause: io::Error },
    #[error("{}: is {found}, not a regular file", path.display())]
    NotAFile { path: PathBuf, found: &'static str },
    #[error("{}: {malformed}", path.display())]
    Malformed { path: PathBuf, malformed: Malformed },
    #[error("{}: changed while it was being copied: {missing} bytes are gone", path.display())]
    Shrunk { path: PathBuf, missing: u64 },
    #[error("{}: is both input and output", path.display())]
    SameFile { path: PathBuf },
    #[error("{address}: {why}")]
    Address { address: String, why: String },
    #[error("{}: changed since it was scanned", path.display())]
    Changed { path: PathBuf },
    #[error("{}: {why}", path.display())]
    UnreadableMember { path: PathBuf, why: String },
    #[error("{}: is LLVM bitcode, whose embedded images are not looked for; make an object of it first (clang -c, llc)", path.display())]
    Bitcode { path: PathBuf },
    #[error("{}: does not fit into 64 bits with its headers", path.display())]
    TooLarge { path: PathBuf },
}

impl Error {
    /// For `map_err` on an operating system call about `path`; `action` completes "cannot …".
    pub fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |cause| Error::Io { path, action, cause }
    }
}

impl Malformed {
    /// Says which file the bytes came from.
    pub fn in_file(self, path: &Path) -> Error {
        Error::Malformed { path: path.to_owned(), malformed: self }
    }
}
