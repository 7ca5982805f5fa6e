//! Values of options that are pairs of a keyword and a value.

use super::{NvidiaTool, ToolFailure};
use crate::llvm_options::{split_value, text};

/// Pairs of a keyword and a value, as in `--image3=kind=elf,sm=90,file=F`.
#[derive(Debug)]
pub struct KeywordValues {
    pairs: Vec<(&'static str, Vec<u8>)>,
}

impl KeywordValues {
    /// Parses the items of a list.
    pub fn parse(
        tool: &NvidiaTool,
        option: &str,
        keywords: &'static [&'static str],
        items: &[Vec<u8>],
    ) -> Result<Self, ToolFailure> {
        let mut pairs: Vec<(&'static str, Vec<u8>)> = Vec::new();
        for item in items {
            let (name, value) = split_value(item);
            let value =
                value.ok_or_else(|| tool.fatal(format!("'{}' is not in 'keyword=value' format", text(item))))?;
            let keyword = keywords.iter().find(|keyword| keyword.as_bytes() == name);
            let undefined = || tool.fatal(format!("Keyword '{}' is not defined for option '{option}'", text(name)));
            let keyword = *keyword.ok_or_else(undefined)?;
            if pairs.iter().any(|(known, _)| *known == keyword) {
                return Err(tool.fatal(format!("redefinition of keyword '{keyword}' ")));
            }
            pairs.push((keyword, value.to_vec()));
        }
        Ok(KeywordValues { pairs })
    }

    /// Value of a keyword.
    pub fn value(&self, keyword: &str) -> Option<&[u8]> {
        self.pairs.iter().find(|(known, _)| *known == keyword).map(|(_, value)| value.as_slice())
    }
}
