//! Parser of locks, which [`super::write`] wrote and users may have edited.
//!
//! Only comments are skipped. An unknown entry or field is an error, because a lock that is only partly understood guards
//! only part of what its owner expects.

use std::collections::BTreeMap;
use std::str::Utf8Error;

use super::text::HEADER;
use super::{FIGURES, Hash, Lock, LockedFile, LockedImage, LockedKernel, LockedTarget};
use crate::inspect::Figure;

/// Error of parsing a lock.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {cause}")]
pub struct LockError {
    /// Line number, counted from 1.
    pub line: u64,
    /// Error in the line.
    pub cause: LineError,
}

/// Error in a line of a lock. Each variant has the invalid text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// The first line is not the header.
    #[error("invalid header {0:?}, expected {HEADER:?}")]
    Header(String),
    /// The line is not UTF-8.
    #[error("invalid UTF-8")]
    NotUtf8(#[from] Utf8Error),
    /// The line begins with an unknown word.
    #[error("unknown entry {0:?}, expected file, image or kernel")]
    UnknownEntry(String),
    /// An image precedes the first file, or a kernel the first image.
    #[error("{entry} before the first {outer}")]
    OutOfPlace {
        /// Type of the entry.
        entry: &'static str,
        /// Type of the entry that must precede it.
        outer: &'static str,
    },
    /// The entry has no name.
    #[error("{0} without a name")]
    NoName(&'static str),
    /// A required field is missing.
    #[error("missing field {field}")]
    Missing {
        /// Key of the field.
        field: &'static str,
    },
    /// A field is not of the form `KEY=VALUE`.
    #[error("invalid field {0:?}, expected KEY=VALUE")]
    InvalidField(String),
    /// The entry has no field with this key.
    #[error("unknown field {0:?}")]
    UnknownField(String),
    /// The entry has two fields with this key.
    #[error("duplicate field {0}")]
    DuplicateField(String),
    /// A quoted string is unterminated, or has an escape that JSON does not have.
    #[error("invalid string {0}: unterminated, or with an escape that JSON does not have")]
    InvalidString(String),
    /// A value is not a number.
    #[error("invalid {field} {value:?}, expected a number")]
    NotANumber {
        /// Key of the field.
        field: &'static str,
        /// The value.
        value: String,
    },
    /// A value is not a hash.
    #[error("invalid {field} {value:?}, expected the 64 hexadecimal digits of a SHA-256")]
    NotAHash {
        /// Key of the field.
        field: &'static str,
        /// The value.
        value: String,
    },
}

type Result<T> = std::result::Result<T, LineError>;

/// First bytes of a lock of any version.
const MAGIC: &[u8] = b"fatbin.lock/";

/// Returns whether a file that begins with these bytes is a lock.
pub fn is_lock(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Parses a lock.
pub fn read(bytes: &[u8]) -> std::result::Result<Lock, LockError> {
    let mut files = Vec::new();
    for (line, number) in bytes.split(|&byte| byte == b'\n').zip(1..) {
        let in_line = |cause| LockError { line: number, cause };
        let line = str::from_utf8(line).map_err(|error| in_line(error.into()))?.trim();
        match number {
            1 if line != HEADER => return Err(in_line(LineError::Header(excerpt(line)))),
            1 => {}
            _ if line.is_empty() || line.starts_with('#') => {}
            _ => add_entry(&mut files, line).map_err(in_line)?,
        }
    }
    Ok(Lock::new(files))
}

fn add_entry(files: &mut Vec<LockedFile>, line: &str) -> Result<()> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "file" => files.push(file(FieldReader::read("file", rest)?)?),
        "image" => {
            let outer = files.last_mut().ok_or(LineError::OutOfPlace { entry: "image", outer: "file" })?;
            outer.images.push(image(FieldReader::read("image", rest)?)?);
        }
        "kernel" => {
            let outer = files.last_mut().and_then(|file| file.images.last_mut());
            let outer = outer.ok_or(LineError::OutOfPlace { entry: "kernel", outer: "image" })?;
            outer.kernels.push(kernel(FieldReader::read("kernel", rest)?)?);
        }
        _ => return Err(LineError::UnknownEntry(excerpt(word))),
    }
    Ok(())
}

fn file(mut entry: FieldReader<'_>) -> Result<LockedFile> {
    let path = entry.name.take().ok_or(LineError::NoName("file"))?;
    let file = LockedFile {
        path,
        size: entry.number("size")?,
        stored: entry.number("stored")?,
        images: Vec::new(),
        order: None,
    };
    entry.finish(file)
}

fn image(mut entry: FieldReader<'_>) -> Result<LockedImage> {
    let target = LockedTarget {
        arch: entry.name.take(),
        kind: entry.string("kind"),
        image: entry.string("image").ok_or(LineError::Missing { field: "image" })?,
        triple: entry.string("triple"),
    };
    let image = LockedImage {
        target,
        kernels: Vec::new(),
        container_path: entry.string("in"),
        codec: entry.string("codec"),
        stored: entry.number("stored")?,
        size: entry.number("size")?,
        debug: entry.string("debug"),
        sha256: entry.hash("sha256")?,
        code: entry.hash("code")?,
        parts: None,
    };
    entry.finish(image)
}

fn kernel(mut entry: FieldReader<'_>) -> Result<LockedKernel> {
    let name = entry.name.take().ok_or(LineError::NoName("kernel"))?;
    let mut kernel = LockedKernel { name, demangled: entry.string("demangled"), ..Default::default() };
    for (figure, value) in FIGURES.iter().zip(&mut kernel.figures) {
        if *figure == Figure::Scratch
            && let Some(value) = entry.fields.get_mut(figure.key())
            && let Some(number) = value.strip_suffix('+')
        {
            kernel.scratch_is_minimum = true;
            *value = number.to_owned();
        }
        *value = entry.number(figure.key())?;
    }
    entry.finish(kernel)
}

/// Name and fields of an entry. Reading a field removes it, so that unknown fields remain.
struct FieldReader<'a> {
    name: Option<String>,
    fields: BTreeMap<&'a str, String>,
}

impl<'a> FieldReader<'a> {
    /// Parses the rest of a line, after its first word.
    fn read(word: &'static str, rest: &'a str) -> Result<Self> {
        let rest = rest.trim_start();
        if rest.is_empty() {
            return Err(LineError::NoName(word));
        }
        let (name, mut rest) = value(rest)?;
        let mut fields = BTreeMap::new();
        while !rest.is_empty() {
            let is_key =
                |key: &&str| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
            let (key, after) = rest.split_once('=').unwrap_or((rest, ""));
            if !rest.contains('=') || !is_key(&key) {
                return Err(LineError::InvalidField(excerpt(rest)));
            }
            let field;
            (field, rest) = value(after)?;
            if fields.insert(key, field.unwrap_or("-".to_owned())).is_some() {
                return Err(LineError::DuplicateField(excerpt(key)));
            }
        }
        Ok(FieldReader { name, fields })
    }

    fn string(&mut self, field: &'static str) -> Option<String> {
        self.fields.remove(field)
    }

    fn number(&mut self, field: &'static str) -> Result<Option<u64>> {
        let Some(value) = self.fields.remove(field) else { return Ok(None) };
        // `parse` alone would accept a plus sign.
        let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
        match value.parse() {
            Ok(number) if is_number => Ok(Some(number)),
            _ => Err(LineError::NotANumber { field, value: excerpt(&value) }),
        }
    }

    fn hash(&mut self, field: &'static str) -> Result<Option<Hash>> {
        let Some(value) = self.fields.remove(field) else { return Ok(None) };
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        let (pairs, rest) = value.as_bytes().as_chunks::<2>();
        let byte = |&[high, low]: &[u8; 2]| Some(digit(high)? << 4 | digit(low)?);
        let bytes: Option<Vec<u8>> = if rest.is_empty() { pairs.iter().map(byte).collect() } else { None };
        let hash = bytes.and_then(|bytes| bytes.try_into().ok());
        hash.map(Some).ok_or_else(|| LineError::NotAHash { field, value: excerpt(&value) })
    }

    /// Returns `entry`, or an error if a field is left.
    fn finish<T>(self, entry: T) -> Result<T> {
        match self.fields.into_keys().next() {
            Some(key) => Err(LineError::UnknownField(excerpt(key))),
            None => Ok(entry),
        }
    }
}

/// Splits the word or string off the start of `text`. A lone dash is `None`.
fn value(text: &str) -> Result<(Option<String>, &str)> {
    if !text.starts_with('"') {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        return Ok(((word != "-").then(|| word.to_owned()), rest.trim_start()));
    }
    let mut strings = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let Some(Ok(string)) = strings.next() else { return Err(LineError::InvalidString(excerpt(text))) };
    let rest = &text[strings.byte_offset()..];
    if !rest.is_empty() && !rest.starts_with(' ') {
        return Err(LineError::InvalidString(excerpt(text)));
    }
    Ok((Some(string), rest.trim_start()))
}

/// Shortens a text for a message.
fn excerpt(text: &str) -> String {
    const MAX_LENGTH: usize = 60;
    match text.char_indices().nth(MAX_LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
