//! The status codes of nvFatbin.

use std::ffi::CStr;

use fatbin_core::base::error::Malformed;
use fatbin_core::format::cuda_fatbin::WriteError;

/// Reason why nvFatbin refuses an option or an input. The messages are nvFatbin's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NvFatbinError {
    /// An image or an object that cannot be read, or a container that is too large.
    #[error("internal error")]
    Internal,
    /// The cubin is for another architecture.
    #[error("fatbinary elf mismatch: elf arch does not match user-specified arch")]
    ElfArchMismatch,
    /// The image is not an ELF file of the word size.
    #[error("fatbinary elf mismatch: elf size doesn't match user-specified size")]
    ElfSizeMismatch,
    /// PTX without `.version`.
    #[error("could not find ptx version")]
    MissingPtxVersion,
    /// A pointer is null; also the result of [`NvFatbin::size`](super::NvFatbin::size) after an addition to a container
    /// whose groups are complete.
    #[error("input contained null pointer")]
    NullPointer,
    /// An error of the codec.
    #[error("compression failed")]
    CompressionFailed,
    /// An unknown option, an invalid value, or options that exclude each other.
    #[error("unknown option")]
    UnrecognizedOption,
    /// The architecture is not a number with an optional suffix.
    #[error("invalid architecture")]
    InvalidArch,
    /// LTO-IR without a header.
    #[error("invalid NVVM input")]
    InvalidNvvm,
    /// An image without bytes.
    #[error("empty input")]
    EmptyInput,
    /// The index cannot be read.
    #[error("invalid index input")]
    InvalidIndex,
    /// PTX of another object has the same identifier and architecture.
    #[error("each relocatable entry must have a unique identifier name per architecture")]
    IdentifierReuse,
    /// A damaged cubin, which nvFatbin stores. Its status is the internal error's.
    #[error("{0}")]
    MalformedCubin(Malformed),
}

/// Messages of the status codes from 1 on.
const MESSAGES: [&CStr; 17] = [
    c"internal error",
    c"fatbinary elf mismatch: elf arch does not match user-specified arch",
    c"fatbinary elf mismatch: elf size doesn't match user-specified size",
    c"could not find ptx version",
    c"input contained null pointer",
    c"compression failed",
    c"compressed size is bigger than max size of compressed size field",
    c"unknown option",
    c"invalid architecture",
    c"invalid NVVM input",
    c"empty input",
    c"missing ptx architecture",
    c"ptx architecture incompatible with specified architecture",
    c"host object doesn't contain a fatbin",
    c"invalid index input",
    c"each relocatable entry must have a unique identifier name per architecture",
    c"used ptx options include internal options",
];

impl NvFatbinError {
    /// Value of `nvFatbinResult`.
    pub fn status(&self) -> u32 {
        match self {
            NvFatbinError::Internal | NvFatbinError::MalformedCubin(_) => 1,
            NvFatbinError::ElfArchMismatch => 2,
            NvFatbinError::ElfSizeMismatch => 3,
            NvFatbinError::MissingPtxVersion => 4,
            NvFatbinError::NullPointer => 5,
            NvFatbinError::CompressionFailed => 6,
            NvFatbinError::UnrecognizedOption => 8,
            NvFatbinError::InvalidArch => 9,
            NvFatbinError::InvalidNvvm => 10,
            NvFatbinError::EmptyInput => 11,
            NvFatbinError::InvalidIndex => 15,
            NvFatbinError::IdentifierReuse => 16,
        }
    }

    /// Message of a status code, as `nvFatbinGetErrorString` returns it; `None` for success.
    pub fn message_of(status: u32) -> Option<&'static CStr> {
        let index = status.checked_sub(1)?;
        Some(MESSAGES.get(index as usize).copied().unwrap_or(c"unknown error"))
    }
}

impl NvFatbinError {
    /// The error of a container that cannot be written.
    pub(super) fn of_write(error: WriteError) -> Self {
        match error {
            WriteError::Compress(_) => NvFatbinError::CompressionFailed,
            _ => NvFatbinError::Internal,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use super::*;

    #[test]
    fn messages_are_those_of_the_status() {
        use NvFatbinError::*;
        let errors = [
            Internal,
            ElfArchMismatch,
            ElfSizeMismatch,
            MissingPtxVersion,
            NullPointer,
            CompressionFailed,
            UnrecognizedOption,
            InvalidArch,
            InvalidNvvm,
            EmptyInput,
            InvalidIndex,
            IdentifierReuse,
        ];
        for error in errors {
            assert_eq!(NvFatbinError::message_of(error.status()), Some(&*CString::new(error.to_string()).unwrap()));
        }
        assert_eq!(NvFatbinError::message_of(0), None);
        assert_eq!(NvFatbinError::message_of(18), Some(c"unknown error"));
    }
}
