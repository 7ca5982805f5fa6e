//! Errors, and the border that no panic crosses.

use std::any::Any;
use std::ffi::{CString, c_char};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use fatbin_rs::embed::{ImageError, ProducerError, WrapError};
use fatbin_rs::{Cause, Malformed};

use crate::FATBIN_NONE;
use crate::strings::c_string;

/// Kind of an error. Later releases may add kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub enum Status {
    /// No error.
    Ok = 0,
    /// An argument is invalid: NULL, not UTF-8, an index out of range, an unknown name, or images that do not fit together.
    Argument = 1,
    /// The operating system reports an error, or a file changed while it was read.
    Io = 2,
    /// Bytes of a file violate their format. The error has their offset.
    Malformed = 3,
    /// Reading the file would take more memory or work than its size allows.
    Limit = 4,
    /// The format, host, release or kind is not supported.
    Unsupported = 5,
    /// The policy is invalid.
    Policy = 6,
    /// An error in this library, please report it. Free the handles of the call, and use them for nothing else.
    Internal = 7,
}

/// Reason why a call failed.
#[derive(Debug)]
pub struct Failure {
    status: Status,
    message: CString,
    offset: Option<u64>,
}

/// Result of the code behind a function.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// Creates an error without an offset.
    pub fn new(status: Status, message: impl ToString) -> Self {
        Failure { status, message: c_string(&message.to_string()), offset: None }
    }

    /// Creates an error about an argument.
    pub fn argument(message: impl ToString) -> Self {
        Failure::new(Status::Argument, message)
    }

    fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Failure::new(Status::Internal, format_args!("internal error: {text}"))
    }

    fn malformed(message: impl ToString, malformed: &Malformed) -> Self {
        let status = match malformed.cause {
            Cause::OverLimit { .. } | Cause::OverBudget { .. } | Cause::NoMemory { .. } => Status::Limit,
            Cause::UnsupportedVersion { .. } | Cause::UnsupportedCodec { .. } => Status::Unsupported,
            _ => Status::Malformed,
        };
        Failure { offset: Some(malformed.offset), ..Failure::new(status, message) }
    }
}

impl From<fatbin_rs::Error> for Failure {
    fn from(error: fatbin_rs::Error) -> Self {
        use fatbin_rs::Error;
        let status = match &error {
            Error::Malformed { malformed, .. } | Error::MalformedImage { malformed, .. } => {
                return Failure::malformed(&error, malformed);
            }
            Error::Address { .. }
            | Error::SameFile { .. }
            | Error::SameOutput { .. }
            | Error::ReplacesBinary { .. } => Status::Argument,
            Error::TooLarge { .. } => Status::Limit,
            Error::NotOpened { .. } | Error::Bitcode { .. } => Status::Unsupported,
            _ => Status::Io,
        };
        Failure::new(status, error)
    }
}

impl From<WrapError> for Failure {
    fn from(error: WrapError) -> Self {
        let status = match error {
            WrapError::File(error) | WrapError::Image(ImageError::File(error)) => return error.into(),
            WrapError::Image(_) | WrapError::DuplicateEntry { .. } | WrapError::NulInName { .. } => Status::Argument,
            WrapError::Write(_) => Status::Io,
            _ => Status::Unsupported,
        };
        Failure::new(status, error)
    }
}

impl From<ProducerError> for Failure {
    fn from(error: ProducerError) -> Self {
        let status = match error {
            ProducerError::File(error) | ProducerError::Image(ImageError::File(error)) => return error.into(),
            ProducerError::NoRoom { .. } => Status::Limit,
            _ => Status::Argument,
        };
        Failure::new(status, error)
    }
}

/// Runs code, and returns the panic that ended it.
pub fn caught<T>(call: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(call))
}

/// Runs the code behind a function. Returns `failed` and writes the error if it fails or panics; else writes NULL.
pub fn guard<T>(error: Option<&mut MaybeUninit<*mut Failure>>, failed: T, call: impl FnOnce() -> Result<T>) -> T {
    let result = caught(call).unwrap_or_else(|panic| Err(Failure::of_panic(&*panic)));
    let (value, failure) = match result {
        Ok(value) => (value, None),
        Err(failure) => (failed, Some(failure)),
    };
    if let Some(error) = error {
        error.write(failure.map_or(ptr::null_mut(), |failure| Box::into_raw(Box::new(failure))));
    }
    value
}

/// Runs a destructor, and catches its panics.
pub fn free<T>(handle: Option<Box<T>>) {
    // What is left after a panic is leaked.
    let _ = caught(|| drop(handle));
}

/// Returns the kind of an error; FATBIN_STATUS_OK for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_error_status(error: Option<&Failure>) -> Status {
    error.map_or(Status::Ok, |error| error.status)
}

/// Returns the message of an error, "PATH: FIELD at 0xOFFSET: CAUSE" where it is about a file. It is valid until the error is
/// freed.
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_error_message(error: Option<&Failure>) -> *const c_char {
    error.map_or(c"no error".as_ptr(), |error| error.message.as_ptr())
}

/// Returns the offset of malformed bytes in the file, or in the decompressed image if the message names one; FATBIN_NONE for
/// other errors.
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_error_offset(error: Option<&Failure>) -> u64 {
    error.and_then(|error| error.offset).unwrap_or(FATBIN_NONE)
}

/// Frees an error. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_error_free(error: Option<Box<Failure>>) {
    free(error);
}
