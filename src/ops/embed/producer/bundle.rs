//! Bundles.

use std::path::PathBuf;

use super::ProducerError;
use super::offload_binary::stream_compression;
use crate::embed::bundle::file::{BundleFileError, BundleReader};
use crate::embed::bundle::{BundleError, BundleInput, BundleOptions, bundle_to_vec, check_composition, check_contents};
use fatbin_core::base::codec::Codec;
use fatbin_core::base::io::Input;
use fatbin_core::format::bundle::FileType;
use fatbin_core::format::ccob;
use fatbin_core::target::BundleEntryId;

/// Bundles files for several targets, like `fatbin bundle`.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use fatbin::{Codec, Input, embed::{BundleBuilder, unbundle}};
///
/// let mut builder = BundleBuilder::new("bc");
/// builder.compression = Some(Codec::Zstd);
/// builder.entry("host-x86_64-unknown-linux-gnu", Input::from_bytes("host", *b"host"));
/// builder.entry("hip-amdgcn-amd-amdhsa--gfx90a", Input::from_bytes("device", *b"device"));
/// let entries = unbundle(&Input::from_bytes("bundle", builder.build()?))?;
/// assert_eq!((entries[1].id.as_str(), &*entries[1].bytes), ("hip-amdgcn-amd-amdhsa--gfx90a", &b"device"[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct BundleBuilder {
    file_type: String,
    entries: Vec<BundleInput>,
    /// [`Codec::Zstd`] or [`Codec::Zlib`]; by default none.
    pub compression: Option<Codec>,
    /// Level of the codec; by default the level of LLVM's tools.
    pub level: Option<i32>,
    /// Version of the compressed form, 2 or 3; LLVM 19 to 21 and their HIP runtimes read 2.
    pub version: u16,
    /// Alignment of the files in a binary bundle, a power of two.
    pub alignment: u64,
}

/// An entry of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct BundleEntry {
    /// ID as written.
    pub id: String,
    /// The file.
    pub bytes: Vec<u8>,
}

impl BundleBuilder {
    /// Begins a bundle of files of a type, such as `o`, `bc` or `s`.
    pub fn new(file_type: impl Into<String>) -> Self {
        let version = ccob::Version::Three.number();
        let file_type = file_type.into();
        BundleBuilder { file_type, entries: Vec::new(), compression: None, level: None, version, alignment: 1 }
    }

    /// Adds the file of a target, such as `hip-amdgcn-amd-amdhsa--gfx90a`.
    pub fn entry(&mut self, id: impl Into<String>, file: Input) -> &mut Self {
        self.entries.push(BundleInput { id: id.into(), input: file });
        self
    }

    /// Returns the bundle.
    pub fn build(self) -> Result<Vec<u8>, ProducerError> {
        let unknown = |what: &str| ProducerError::refused(format!("unknown {what}"));
        let file_type = FileType::named(&self.file_type).ok_or_else(|| unknown(&format!("type {}", self.file_type)))?;
        let version = ccob::Version::from_number(self.version.into());
        let version = version.ok_or_else(|| unknown(&format!("version {}", self.version)))?;
        if !self.alignment.is_power_of_two() {
            return Err(ProducerError::refused(format!("alignment {}: not a power of two", self.alignment)));
        }
        let ids: Vec<String> = self.entries.iter().map(|entry| entry.id.clone()).collect();
        for id in &ids {
            BundleEntryId::check(id).map_err(ProducerError::refused)?;
        }
        check_composition(&ids)?;
        check_contents(&self.entries)?;
        let compression = stream_compression(self.compression, self.level)?.map(|compression| (compression, version));
        let output = PathBuf::from("<memory>");
        let options =
            BundleOptions { file_type, alignment: self.alignment, compression, output, replaces_inputs: false };
        Ok(bundle_to_vec(&self.entries, &options)?)
    }
}

/// Returns the entries of a bundle of any type, compressed or not. Only one bundle is read: further ones are an error.
pub fn unbundle(bundle: &Input) -> Result<Vec<BundleEntry>, ProducerError> {
    let fail = BundleError::at(bundle.path(), None);
    let file = BundleReader::of_input(bundle, None).read().map_err(&fail)?;
    let file = file.ok_or_else(|| fail(BundleFileError::NotABundle))?;
    if let Some(next) = &file.next {
        return Err(BundleError::SeveralBundles { path: bundle.path().to_owned(), offset: next.start() }.into());
    }
    let in_file = |malformed: fatbin_core::base::error::Malformed| malformed.in_file(bundle.path());
    let stream = match &file.ccob {
        Some(ccob) if file.entries.iter().any(|it| it.range_in_stream().is_some()) => {
            ccob.decompress().map_err(in_file)?
        }
        _ => Vec::new(),
    };
    let mut entries = Vec::new();
    for entry in file.entries {
        let bytes = entry.bytes(&stream).map_err(in_file)?.into_owned();
        entries.push(BundleEntry { id: entry.id, bytes });
    }
    Ok(entries)
}
