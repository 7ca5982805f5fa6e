//! The index of a split file, `index.json`: schema `fatbin.split/1`. Later versions of fatbin only add fields.
//!
//! ```text
//! { "schema": "fatbin.split/1", "format": "files|kpack",
//!   "file": "libx.so", "size": 9000, "sha256": "...", "mode": 493,
//!   "host": { "file": "libx.so", "size": 9000, "sha256": "..." },
//!   "parts": [ { "file": "libx.so.gfx90a.part", "size": 3456, "sha256": "...", "archs": [ "gfx90a" ],
//!     "spans": [ { "offset": 4096, "size": 3456 } ] } ],
//!   "bytes": [ { "offset": 24, "hex": "48495046" } ] }
//! ```
//!
//! A part contains spans of the original file back to back, in the order of the index. The spans of a kpack archive
//! have the `key` and the `arch` of a code object instead. `bytes` are spans that no part has. An index without
//! `not_joinable` covers each difference between the host file and the original.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Result;
use super::error::SplitProblem;
use crate::edit::hash_file;
use fatbin_core::base::bytes::hexadecimal;
use fatbin_core::base::io::{Input, OutputName};
use fatbin_core::base::json::to_pretty_json;

/// Name of the index in its directory.
pub const INDEX_NAME: &str = "index.json";

const SCHEMA: &str = "fatbin.split/1";

/// An index.
#[derive(Debug, Serialize, Deserialize)]
pub struct Index {
    schema: String,
    pub format: IndexFormat,
    /// Name of the original file.
    #[serde(serialize_with = "write_name", deserialize_with = "read_name")]
    pub file: OutputName,
    /// Size of the original file.
    pub size: u64,
    /// SHA-256 of the original file.
    pub sha256: String,
    /// Permission bits of the original file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// The file without device code.
    pub host: IndexedFile,
    pub parts: Vec<IndexedPart>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bytes: Vec<IndexedBytes>,
    /// Reason why the original cannot be restored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_joinable: Option<String>,
}

/// Format of the parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IndexFormat {
    Files,
    Kpack,
}

/// A file in the directory of the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexedFile {
    /// Path relative to the directory of the index.
    #[serde(serialize_with = "write_name", deserialize_with = "read_path")]
    pub file: OutputName,
    pub size: u64,
    pub sha256: String,
}

/// A file with device code.
#[derive(Debug, Serialize, Deserialize)]
pub struct IndexedPart {
    #[serde(flatten)]
    pub file: IndexedFile,
    /// Processors whose code it has. Code for several processors is compressed together. A part without any processor
    /// has the headers and tables of containers.
    pub archs: Vec<String>,
    pub spans: Vec<IndexedSpan>,
}

/// A span of the original file.
#[derive(Debug, Serialize, Deserialize)]
pub struct IndexedSpan {
    pub offset: u64,
    pub size: u64,
    /// Key of the code object in a kpack archive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Target ID of the code object in a kpack archive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
}

/// Bytes of the original file.
#[derive(Debug, Serialize, Deserialize)]
pub struct IndexedBytes {
    pub offset: u64,
    /// Hexadecimal digits.
    pub hex: String,
}

impl Index {
    /// Creates an index without parts.
    pub fn new(format: IndexFormat, original: IndexedFile, host: IndexedFile) -> Self {
        let IndexedFile { file, size, sha256 } = original;
        let schema = SCHEMA.to_owned();
        let parts = Vec::new();
        let bytes = Vec::new();
        Index { schema, format, file, size, sha256, mode: None, host, parts, bytes, not_joinable: None }
    }

    /// Parses an index.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let invalid = |why: String| SplitProblem::Index(why);
        let index: Index = serde_json::from_slice(text).map_err(|error| invalid(error.to_string()))?;
        if index.schema != SCHEMA {
            return Err(invalid(format!("schema {:?}, expected {SCHEMA:?}", index.schema)).into());
        }
        Ok(index)
    }

    /// Returns the text of the index.
    pub fn to_text(&self) -> String {
        to_pretty_json(self)
    }
}

impl IndexedFile {
    /// Creates the record of an input under a name.
    pub fn of(file: OutputName, input: &Input) -> Result<Self> {
        Ok(IndexedFile { file, size: input.size(), sha256: hexadecimal(&hash_file(input)?) })
    }

    /// Returns an error unless an input is the recorded file.
    pub fn verify(&self, input: &Input) -> Result<()> {
        let differs = |what, found, expected| SplitProblem::Differs { what, found, expected };
        if input.size() != self.size {
            return Err(differs("size", input.size().to_string(), self.size.to_string()).into());
        }
        let found = hexadecimal(&hash_file(input)?);
        if found != self.sha256 {
            return Err(differs("SHA-256", found, self.sha256.clone()).into());
        }
        Ok(())
    }
}

impl IndexedBytes {
    /// Creates the record of bytes.
    pub fn new(offset: u64, bytes: &[u8]) -> Self {
        IndexedBytes { offset, hex: hexadecimal(bytes) }
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        let invalid = || SplitProblem::Index(format!("invalid hexadecimal digits for the bytes at {}", self.offset));
        let digits: Option<Vec<u8>> =
            self.hex.chars().map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
        let digits = digits.filter(|digits| digits.len().is_multiple_of(2)).ok_or_else(invalid)?;
        Ok(digits.chunks_exact(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect())
    }
}

fn write_name<S: Serializer>(name: &OutputName, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(name)
}

fn read_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<OutputName, D::Error> {
    OutputName::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn read_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<OutputName, D::Error> {
    OutputName::parse_path(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_names_outside_of_the_directory_and_other_schemas() {
        let file = |name: &str| IndexedFile { file: OutputName::of(name), size: 0, sha256: String::new() };
        let text = Index::new(IndexFormat::Files, file("original"), file("host")).to_text();
        let part = |name: &str| text.replace("\"host\",", &format!("{name:?},"));
        let original = |name: &str| text.replace("\"original\"", &format!("{name:?}"));
        for name in ["x.so", ".kpack/x.kpack", "a..b"] {
            let index = Index::parse(part(name).as_bytes()).unwrap();
            assert_eq!(index.host.file.to_string(), name);
        }
        for name in ["", "..", "../x", "/etc/passwd", "a/../../b", "./x"] {
            for text in [part(name), original(name)] {
                let error = Index::parse(text.as_bytes()).unwrap_err().to_string();
                assert!(error.contains(&format!("{name:?} is not the name of a file in the directory at")), "{error}");
            }
        }
        assert!(Index::parse(original("a/b").as_bytes()).is_err() && Index::parse(original("b").as_bytes()).is_ok());
        let other = text.replace(SCHEMA, "fatbin.split/2");
        assert!(Index::parse(other.as_bytes()).unwrap_err().to_string().contains("expected \"fatbin.split/1\""));
        assert!(Index::parse(b"{}").is_err() && Index::parse(b"").is_err());
    }

    #[test]
    fn bytes_round_trip_as_hexadecimal_digits() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(IndexedBytes::new(7, &all).bytes().unwrap(), all);
        for hex in ["0", "0g", "é0"] {
            assert!(IndexedBytes { offset: 0, hex: hex.to_owned() }.bytes().is_err(), "{hex}");
        }
    }
}
