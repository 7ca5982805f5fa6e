//! Values of `--image3`, `--image2` and `--image`: pairs of a keyword and a value.

use super::{ToolFailure, fatal};
use crate::cli::dropin::llvm_options::text;

/// Value of `--image3`, `--image2` or `--image`.
#[derive(Debug)]
pub struct ImageSpec {
    pairs: Vec<(&'static str, Vec<u8>)>,
}

/// Kind of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageType {
    Elf,
    Ptx,
    Nvvm,
    TileIr,
}

impl ImageSpec {
    /// Parses the items of a list.
    pub fn parse(option: &str, keywords: &'static [&'static str], items: &[Vec<u8>]) -> Result<Self, ToolFailure> {
        let mut pairs: Vec<(&'static str, Vec<u8>)> = Vec::new();
        for item in items {
            let at = item.iter().position(|&byte| byte == b'=');
            let at = at.ok_or_else(|| fatal(format!("'{}' is not in 'keyword=value' format", text(item))))?;
            let (name, value) = (&item[..at], item[at + 1..].to_vec());
            let keyword = keywords.iter().find(|keyword| keyword.as_bytes() == name);
            let undefined = || fatal(format!("Keyword '{}' is not defined for option '{option}'", text(name)));
            let keyword = *keyword.ok_or_else(undefined)?;
            if pairs.iter().any(|(known, _)| *known == keyword) {
                return Err(fatal(format!("redefinition of keyword '{keyword}' ")));
            }
            pairs.push((keyword, value));
        }
        Ok(ImageSpec { pairs })
    }

    /// Returns the value of a keyword.
    pub fn value(&self, keyword: &str) -> Option<&[u8]> {
        self.pairs.iter().find(|(known, _)| *known == keyword).map(|(_, value)| value.as_slice())
    }
}

impl ImageType {
    /// Returns the kind with a name.
    pub fn parse(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"elf" => ImageType::Elf,
            b"ptx" => ImageType::Ptx,
            b"nvvm" => ImageType::Nvvm,
            b"tileir" => ImageType::TileIr,
            _ => return None,
        })
    }
}
