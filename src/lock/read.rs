//! A lock read back: from the text that [`super::write`] made, or that somebody has edited since.
//!
//! Nothing is skipped but comments: an entry or a field that is not known is an error, for a lock that is half understood
//! guards half of what its owner thinks.

use std::collections::BTreeMap;

use super::text::HEADER;
use super::{FIGURES, Hash, Lock, LockedFile, LockedImage, LockedKernel, LockedTarget};
use crate::inspect::Figure;

/// Why a text is no lock.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {cause}")]
pub struct LockError {
    /// Counted from 1.
    pub line: u64,
    pub cause: LineError,
}

/// What is wrong with a line; each holds the offending text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    #[error("is {0:?}, should be {HEADER:?}")]
    Header(String),
    #[error("is not UTF-8")]
    Unreadable,
    #[error("{0:?} is no entry (file, image, kernel)")]
    UnknownEntry(String),
    #[error("{entry} stands before the first {outer}")]
    OutOfPlace { entry: &'static str, outer: &'static str },
    #[error("{0} has no name")]
    NoName(&'static str),
    #[error("{field} is missing")]
    Missing { field: &'static str },
    #[error("{0:?} is no field (KEY=VALUE)")]
    NoField(String),
    #[error("{0:?} is no field of this entry")]
    UnknownField(String),
    #[error("{0} is there twice")]
    RepeatedField(String),
    #[error("{0} is a string without an end, or with an escape that JSON does not have")]
    BadString(String),
    #[error("{field} is {value:?}, should be a number")]
    NotANumber { field: &'static str, value: String },
    #[error("{field} is {value:?}, should be the 64 hexadecimal digits of a SHA-256")]
    NotAHash { field: &'static str, value: String },
}

type Result<T> = std::result::Result<T, LineError>;

/// What every version begins with.
const MAGIC: &[u8] = b"fatbin.lock/";

/// Whether a file that begins with these bytes means to be a lock.
pub fn is_lock(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// The lock that this text is.
pub fn read(bytes: &[u8]) -> std::result::Result<Lock, LockError> {
    let mut files = Vec::new();
    for (line, number) in bytes.split(|&byte| byte == b'\n').zip(1..) {
        let entry = |cause| LockError { line: number, cause };
        let line = str::from_utf8(line).map_err(|_| entry(LineError::Unreadable))?.trim();
        match number {
            1 if line != HEADER => return Err(entry(LineError::Header(excerpt(line)))),
            1 => {}
            _ if line.is_empty() || line.starts_with('#') => {}
            _ => add_entry(&mut files, line).map_err(entry)?,
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
    let file = LockedFile { path, size: entry.number("size")?, stored: entry.number("stored")?, images: Vec::new() };
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

/// The name and the fields of an entry, from which they are taken one by one.
struct FieldReader<'a> {
    name: Option<String>,
    fields: BTreeMap<&'a str, String>,
}

impl<'a> FieldReader<'a> {
    /// What stands behind the word.
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
            let (key, behind) = rest.split_once('=').unwrap_or((rest, ""));
            if !rest.contains('=') || !is_key(&key) {
                return Err(LineError::NoField(excerpt(rest)));
            }
            let field;
            (field, rest) = value(behind)?;
            if fields.insert(key, field.unwrap_or("-".to_owned())).is_some() {
                return Err(LineError::RepeatedField(excerpt(key)));
            }
        }
        Ok(FieldReader { name, fields })
    }

    fn string(&mut self, field: &'static str) -> Option<String> {
        self.fields.remove(field)
    }

    fn number(&mut self, field: &'static str) -> Result<Option<u64>> {
        let Some(value) = self.fields.remove(field) else { return Ok(None) };
        let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
        let number = value.parse().ok().filter(|_| is_number);
        number.map(Some).ok_or_else(|| LineError::NotANumber { field, value: excerpt(&value) })
    }

    fn hash(&mut self, field: &'static str) -> Result<Option<Hash>> {
        let Some(value) = self.fields.remove(field) else { return Ok(None) };
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        let pairs = value.as_bytes().chunks(2);
        let bytes: Option<Vec<u8>> = pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?)).collect();
        let hash = bytes.and_then(|bytes| bytes.try_into().ok());
        hash.map(Some).ok_or_else(|| LineError::NotAHash { field, value: excerpt(&value) })
    }

    /// `made`, if nothing is left.
    fn finish<T>(self, made: T) -> Result<T> {
        match self.fields.into_keys().next() {
            Some(key) => Err(LineError::UnknownField(excerpt(key))),
            None => Ok(made),
        }
    }
}

/// The word or string at the start of `text`, nothing for a lone dash, and what stands behind it.
fn value(text: &str) -> Result<(Option<String>, &str)> {
    if !text.starts_with('"') {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        return Ok(((word != "-").then(|| word.to_owned()), rest.trim_start()));
    }
    let mut strings = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let Some(Ok(string)) = strings.next() else { return Err(LineError::BadString(excerpt(text))) };
    let rest = &text[strings.byte_offset()..];
    if !rest.is_empty() && !rest.starts_with(' ') {
        return Err(LineError::BadString(excerpt(text)));
    }
    Ok((Some(string), rest.trim_start()))
}

/// As much of a text as a message has room for.
fn excerpt(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
