//! Names and fields of the entries of a lock.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::line_error::LineError;

type Result<T> = std::result::Result<T, LineError>;

/// Words that may follow the word of an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum EntryForm {
    /// Fields.
    Fields,
    /// A name and fields.
    Named,
    /// A name, fields, and fields for images after `@`.
    Scoped,
}

/// Name and fields of an entry.
pub struct FieldReader<'a> {
    /// Name, if it is known.
    pub name: Option<Cow<'a, str>>,
    /// Fields of the entry.
    pub fields: Fields<'a>,
    /// Labels of images, and the fields that are for these.
    pub scopes: Vec<(&'a str, Fields<'a>)>,
}

/// Fields by their keys; `None` for a dash. Reading a field removes it, so that unknown fields remain.
#[derive(Default)]
pub struct Fields<'a>(BTreeMap<&'a str, Option<Cow<'a, str>>>);

impl<'a> FieldReader<'a> {
    /// Parses the rest of a line, after its first word.
    pub fn read(word: &'static str, rest: &'a str, form: EntryForm) -> Result<Self> {
        let mut name = None;
        let mut rest = rest.trim_start();
        if form != EntryForm::Fields {
            if rest.is_empty() {
                return Err(LineError::NoName(word));
            }
            (name, rest) = value(rest)?;
        }
        let mut fields = Fields::default();
        rest = fields.read(rest, form)?;
        let mut scopes = Vec::new();
        while let Some(scope) = rest.strip_prefix('@') {
            let (labels, after) = scope.split_once(' ').unwrap_or((scope, ""));
            let mut fields = Fields::default();
            rest = fields.read(after.trim_start(), form)?;
            scopes.push((labels, fields));
        }
        Ok(FieldReader { name, fields, scopes })
    }
}

impl<'a> Fields<'a> {
    /// Parses fields up to the end of the line or the next `@`, and returns the rest of the line.
    fn read(&mut self, mut rest: &'a str, form: EntryForm) -> Result<&'a str> {
        let is_end = |rest: &str| rest.is_empty() || (form == EntryForm::Scoped && rest.starts_with('@'));
        while !is_end(rest) {
            let is_key =
                |key: &&str| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
            let (key, after) = rest.split_once('=').unwrap_or((rest, ""));
            if !rest.contains('=') || !is_key(&key) {
                return Err(LineError::InvalidField(excerpt(rest)));
            }
            let field;
            (field, rest) = value(after)?;
            if self.0.insert(key, field).is_some() {
                return Err(LineError::DuplicateField(excerpt(key)));
            }
        }
        Ok(rest)
    }

    /// Returns a field; the inner `None` is a dash.
    pub fn optional(&mut self, field: &'static str) -> Option<Option<Cow<'a, str>>> {
        self.0.remove(field)
    }

    pub fn string(&mut self, field: &'static str) -> Option<String> {
        self.text(field).map(Cow::into_owned)
    }

    fn text(&mut self, field: &'static str) -> Option<Cow<'a, str>> {
        Some(self.0.remove(field)?.unwrap_or(Cow::Borrowed("-")))
    }

    pub fn number(&mut self, field: &'static str) -> Result<Option<u64>> {
        self.text(field).map(|value| number(field, &value)).transpose()
    }

    /// Returns a number, and whether it is a minimum. A plus sign after the number marks a minimum.
    pub fn minimum(&mut self, field: &'static str) -> Result<Option<(u64, bool)>> {
        let Some(value) = self.text(field) else { return Ok(None) };
        match value.strip_suffix('+') {
            Some(minimum) => Ok(Some((number(field, minimum)?, true))),
            None => Ok(Some((number(field, &value)?, false))),
        }
    }

    pub fn hash<const SIZE: usize>(&mut self, field: &'static str) -> Result<Option<[u8; SIZE]>> {
        let Some(value) = self.text(field) else { return Ok(None) };
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        let (pairs, rest) = value.as_bytes().as_chunks::<2>();
        let byte = |&[high, low]: &[u8; 2]| Some(digit(high)? << 4 | digit(low)?);
        let bytes: Option<Vec<u8>> = if rest.is_empty() { pairs.iter().map(byte).collect() } else { None };
        let hash = bytes.and_then(|bytes| bytes.try_into().ok());
        hash.map(Some).ok_or_else(|| LineError::NotAHash {
            field,
            digits: SIZE.saturating_mul(2),
            value: excerpt(&value),
        })
    }

    /// Returns an error if a field is left.
    pub fn finish(self) -> Result<()> {
        match self.0.into_keys().next() {
            Some(key) => Err(LineError::UnknownField(excerpt(key))),
            None => Ok(()),
        }
    }
}

fn number(field: &'static str, value: &str) -> Result<u64> {
    // `parse` alone would accept a plus sign.
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    match value.parse() {
        Ok(number) if is_number => Ok(number),
        _ => Err(LineError::NotANumber { field, value: excerpt(value) }),
    }
}

/// Splits the word or string off the start of `text`. A lone dash is `None`.
fn value(text: &str) -> Result<(Option<Cow<'_, str>>, &str)> {
    if !text.starts_with('"') {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        return Ok(((word != "-").then_some(Cow::Borrowed(word)), rest.trim_start()));
    }
    let mut strings = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let Some(Ok(string)) = strings.next() else { return Err(LineError::InvalidString(excerpt(text))) };
    let rest = &text[strings.byte_offset()..];
    if !rest.is_empty() && !rest.starts_with(' ') {
        return Err(LineError::InvalidString(excerpt(text)));
    }
    Ok((Some(Cow::Owned(string)), rest.trim_start()))
}

/// Shortens a text for a message.
pub fn excerpt(text: &str) -> String {
    const MAX_LENGTH: usize = 60;
    match text.char_indices().nth(MAX_LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
