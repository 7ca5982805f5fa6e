//! The TOML syntax of a policy. Values keep their place in the text, so that errors have a line and a column.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

pub type Text = Spanned<String>;
pub type List = Spanned<Vec<Text>>;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PolicyToml {
    pub must_hold: Vec<Text>,
    pub skip: Vec<Text>,
    pub warn: Vec<Text>,
    pub archs: Archs,
    pub sizes: Sizes,
    pub images: Images,
    pub package: Package,
    pub kernels: Option<Vec<Spanned<Kernels>>>,
    pub files: BTreeMap<Text, ExceptionToml>,
}

/// Contents of `[files."PATTERN"]`: everything that applies to a single file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExceptionToml {
    pub archs: FileArchs,
    pub sizes: FileSizes,
    pub images: Images,
    pub kernels: Option<Vec<Spanned<Kernels>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Archs {
    pub devices: Option<List>,
    pub ptx_fallback: Option<Text>,
    pub asked: Option<Text>,
    pub asked_cuda: Option<Text>,
    pub require: Option<List>,
    pub forbid: Option<List>,
    pub only: Option<List>,
    pub consistent_features: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FileArchs {
    pub devices: Option<List>,
    pub ptx_fallback: Option<Text>,
    pub asked: Option<Text>,
    pub asked_cuda: Option<Text>,
    pub require: Option<List>,
    pub forbid: Option<List>,
    pub only: Option<List>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Sizes {
    pub total: Option<Text>,
    pub package: Option<Text>,
    pub file: Option<Text>,
    pub arch: Option<BTreeMap<Text, Text>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FileSizes {
    pub file: Option<Text>,
    pub arch: Option<BTreeMap<Text, Text>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Images {
    pub debug: Option<DebugKeyword>,
    pub build_paths: Option<bool>,
    pub compressed: Option<bool>,
    pub readable_by: Option<Vec<Text>>,
    pub findable_by: Option<Vec<Text>>,
    pub loadable_by: Option<Vec<Text>>,
    pub intact: Option<bool>,
    pub ptx_assembles: Option<bool>,
    pub registered: Option<bool>,
    pub duplicates: Option<bool>,
    pub platform_tag: Option<bool>,
    pub host_runtime: Option<bool>,
    pub proven: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Package {
    pub metadata: Option<bool>,
    pub devices: Option<List>,
    pub jit: Option<bool>,
    pub kernels: Option<Vec<PackageKernels>>,
    pub promised_kernels: Option<bool>,
}

/// Kernels that a package as a whole must run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PackageKernels {
    #[serde(rename = "match")]
    pub matching: Text,
    pub devices: List,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DebugKeyword {
    None,
    Lines,
    Full,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Kernels {
    #[serde(rename = "match")]
    pub matching: Option<Text>,
    pub archs: Option<Spanned<AllOrList>>,
    pub devices: Option<Spanned<AllOrList>>,
    pub max_registers: Option<u64>,
    pub max_spills: Option<u64>,
    pub max_scratch: Option<Spanned<ByteCount>>,
    pub max_shared: Option<Spanned<ByteCount>>,
}

/// `"all"` or a list of architectures or devices.
#[derive(Debug)]
pub enum AllOrList {
    Keyword(String),
    Listed(Vec<Text>),
}

/// A number of bytes, or a size with a unit.
#[derive(Debug)]
pub enum ByteCount {
    Number(u64),
    Size(String),
}

// serde's untagged enums buffer the value first, which loses its place in the text.

impl<'de> Deserialize<'de> for AllOrList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor;
        impl<'de> Visitor<'de> for ValueVisitor {
            type Value = AllOrList;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"all\" or a list of names")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<AllOrList, E> {
                Ok(AllOrList::Keyword(word.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<AllOrList, A::Error> {
                let mut these = Vec::new();
                while let Some(item) = items.next_element()? {
                    these.push(item);
                }
                Ok(AllOrList::Listed(these))
            }
        }
        deserializer.deserialize_any(ValueVisitor)
    }
}

impl<'de> Deserialize<'de> for ByteCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor;
        impl Visitor<'_> for ValueVisitor {
            type Value = ByteCount;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of bytes or a size such as \"48 KiB\"")
            }

            fn visit_str<E: de::Error>(self, size: &str) -> Result<ByteCount, E> {
                Ok(ByteCount::Size(size.to_owned()))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<ByteCount, E> {
                let unexpected = || E::invalid_value(de::Unexpected::Signed(number), &self);
                u64::try_from(number).map(ByteCount::Number).map_err(|_| unexpected())
            }
        }
        deserializer.deserialize_any(ValueVisitor)
    }
}

impl From<FileArchs> for Archs {
    fn from(archs: FileArchs) -> Archs {
        let FileArchs { devices, ptx_fallback, asked, asked_cuda, require, forbid, only } = archs;
        Archs { devices, ptx_fallback, asked, asked_cuda, require, forbid, only, consistent_features: None }
    }
}

impl From<FileSizes> for Sizes {
    fn from(FileSizes { file, arch }: FileSizes) -> Sizes {
        Sizes { total: None, package: None, file, arch }
    }
}
