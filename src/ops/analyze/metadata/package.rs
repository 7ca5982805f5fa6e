//! Packages with metadata: the file with the claims, and the files that they are about.

use serde_json::Value;

use super::claim::Claim;
use super::device_code::{Backend, DeviceCode};
use super::{conda, hugging_face, wheel_variant};
use fatbin_core::base::file_path::FilePath;

/// Largest file that is read.
const MAX_SIZE: usize = 16 << 20;

/// Format of metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataFormat {
    /// `metadata.json` of Hugging Face kernels.
    HuggingFace,
    /// `variant.json` of a wheel.
    WheelVariant,
    /// `info/index.json` of a conda package.
    Conda,
}

/// Metadata of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageMetadata {
    /// Path of the file.
    pub path: String,
    /// Format.
    pub format: MetadataFormat,
    /// Claims about device code.
    pub claims: Vec<Claim>,
    /// Beginning of the paths of the files in the package.
    root: String,
}

/// Reason why metadata cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMetadata {
    /// It is not JSON.
    #[error("invalid JSON: {0}")]
    Json(String),
    /// It is larger than any metadata.
    #[error("{0} bytes of metadata, at most {MAX_SIZE} are read")]
    Size(usize),
    /// It lacks required keys.
    #[error("not the metadata of a package: {0} missing")]
    Keys(&'static str),
}

impl MetadataFormat {
    /// Returns the format of the file with this path and the beginning of the paths of the package's files; `None` for
    /// other files.
    fn of_path(path: &FilePath) -> Option<(MetadataFormat, &str)> {
        let mut components = path.components_from_end();
        let (name, directory) = (components.next()?, components.next().unwrap_or_default());
        match name {
            hugging_face::FILE_NAME => Some((MetadataFormat::HuggingFace, path.split_before(1).0)),
            wheel_variant::FILE_NAME if directory.ends_with(".dist-info") => {
                Some((MetadataFormat::WheelVariant, path.split_before(2).0))
            }
            conda::FILE_NAME if directory == conda::DIRECTORY => Some((MetadataFormat::Conda, conda_root(path))),
            _ => None,
        }
    }

    fn missing_keys(self) -> &'static str {
        match self {
            MetadataFormat::HuggingFace => "backend.type",
            MetadataFormat::WheelVariant => "variants",
            MetadataFormat::Conda => "name",
        }
    }
}

/// Returns the beginning of the paths of a conda package's files. A package in the newer form is a zip file of two tar files: one has
/// the metadata, the other has all other files.
fn conda_root(path: &FilePath) -> &str {
    let is_newer = path.archives().next().is_some_and(|archive| archive.ends_with(".tar.zst"));
    if is_newer && path.members().count() > 1 { path.split_before(4).0 } else { path.split_before(2).0 }
}

impl PackageMetadata {
    /// Returns whether a file with this path may be metadata of a package.
    pub fn has_path(path: &FilePath) -> bool {
        MetadataFormat::of_path(path).is_some()
    }

    /// Parses the file with this path; `None` if it is not metadata of a package.
    pub fn parse(path: &FilePath, bytes: &[u8]) -> Result<Option<PackageMetadata>, InvalidMetadata> {
        let Some((format, root)) = MetadataFormat::of_path(path) else { return Ok(None) };
        if bytes.len() > MAX_SIZE {
            return Err(InvalidMetadata::Size(bytes.len()));
        }
        let document: Value =
            serde_json::from_slice(bytes).map_err(|error| InvalidMetadata::Json(error.to_string()))?;
        let claims = match format {
            MetadataFormat::HuggingFace => hugging_face::claims(&document),
            MetadataFormat::WheelVariant => wheel_variant::claims(&document),
            MetadataFormat::Conda => conda::claims(&document),
        };
        match claims {
            Some(claims) => Ok(Some(PackageMetadata { path: path.to_string(), format, claims, root: root.to_owned() })),
            // Many other programs have files of this name.
            None if format == MetadataFormat::HuggingFace => Ok(None),
            None => Err(InvalidMetadata::Keys(format.missing_keys())),
        }
    }

    /// Returns whether the file with this path belongs to the package.
    pub fn covers(&self, path: &str) -> bool {
        path.starts_with(&self.root)
    }

    /// Returns whether a package without device code contradicts its metadata. Kernels that are compiled when they run
    /// have no machine in the name of their directory.
    pub fn requires_code(&self) -> bool {
        let directory = self.root.trim_end_matches(['/', '!', '\\']);
        let systems = ["-linux", "-windows", "-darwin"];
        self.format != MetadataFormat::HuggingFace || systems.iter().any(|system| directory.ends_with(system))
    }

    /// Returns whether the reader accepts the package on the devices of `code`, an image. `None` if the metadata claims
    /// nothing about these devices.
    pub fn accepts(&self, code: &DeviceCode) -> Option<bool> {
        let [backend] = code.backends()[..] else { return None };
        let mut claims = self.claims.iter().filter(|claim| claim.meaning.backend() == Some(backend)).peekable();
        claims.peek()?;
        let archs = code.cubins.iter().chain(&code.ptx);
        let numbers: Vec<u32> = archs.map(|arch| arch.number).chain(code.linked.iter().copied()).collect();
        Some(claims.any(|claim| {
            numbers.iter().any(|number| claim.meaning.accepts_nvidia(*number))
                || code.amd.iter().any(|id| claim.meaning.accepts_amd(id))
        }))
    }

    /// Returns whether PTX is claimed, where the format distinguishes it. Ranges of devices need not include later
    /// ones.
    pub fn claims_later_devices(&self) -> bool {
        self.format == MetadataFormat::Conda || self.claims.iter().any(|claim| claim.meaning.is_ptx())
    }

    /// Returns the architectures that are claimed, as they are written.
    pub fn claimed(&self, backend: Backend) -> String {
        let claims = self.claims.iter().filter(|claim| claim.meaning.backend() == Some(backend));
        claims.map(|claim| claim.text.rsplit(": ").next().unwrap_or_default()).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::super::device_code::tests::code;
    use super::*;

    #[test]
    fn packages_have_the_files_around_their_metadata() {
        let cases = [
            ("metadata.json", "lib.so", true),
            ("build/torch/metadata.json", "build/torch/lib/x.so", true),
            ("build/torch/metadata.json", "build/other/x.so", false),
            ("a.whl!a-1.dist-info/variant.json", "a.whl!lib/x.so", true),
            ("a.whl!a-1.dist-info/variant.json", "b.whl!lib/x.so", false),
            ("site/a-1.dist-info/variant.json", "site/a/x.so", true),
            ("p.conda!info-p.tar.zst!info/index.json", "p.conda!pkg-p.tar.zst!lib/x.so", true),
            ("p.tar.bz2!info/index.json", "p.tar.bz2!lib/x.so", true),
            ("unpacked/info/index.json", "unpacked/lib/x.so", true),
            ("unpacked/info/index.json", "other/lib/x.so", false),
        ];
        for (path, file, expected) in cases {
            let text = r#"{ "name": "p", "variants": {}, "backend": { "type": "cuda" } }"#;
            let package = PackageMetadata::parse(&FilePath::parse(path), text.as_bytes()).unwrap().expect(path);
            assert_eq!(package.covers(file), expected, "{path}: {file}");
        }
        for path in ["my-metadata.json", "variant.json", "x.dist-info/other.json", "myinfo/index.json", "a.so"] {
            assert!(!PackageMetadata::has_path(&FilePath::parse(path)), "{path}");
        }
    }

    #[test]
    fn rejects_what_cannot_be_understood() {
        let parse = |path, text: &str| PackageMetadata::parse(&FilePath::parse(path), text.as_bytes());
        assert_eq!(parse("metadata.json", "[]"), Ok(None));
        assert!(matches!(parse("metadata.json", "{"), Err(InvalidMetadata::Json(_))));
        assert_eq!(parse("a.dist-info/variant.json", "{}"), Err(InvalidMetadata::Keys("variants")));
        let nested = "[".repeat(1 << 20);
        assert!(matches!(parse("metadata.json", &nested), Err(InvalidMetadata::Json(_))));
        let large = " ".repeat(MAX_SIZE + 1);
        assert_eq!(parse("metadata.json", &large), Err(InvalidMetadata::Size(large.len())));
    }

    #[test]
    fn devices_are_accepted_if_a_claim_covers_them() {
        let text = r#"{ "backend": { "type": "cuda", "archs": ["8.0"] } }"#;
        let package = PackageMetadata::parse(&FilePath::parse("metadata.json"), text.as_bytes()).unwrap().unwrap();
        assert_eq!(package.accepts(&code("sm_86")), Some(true));
        assert_eq!(package.accepts(&code("sm_90")), Some(false));
        assert_eq!(package.accepts(&code("gfx90a")), None);
        assert!(!package.claims_later_devices());
        assert_eq!(package.claimed(Backend::Cuda), "8.0");
    }

    #[test]
    fn only_builds_for_a_machine_must_have_device_code() {
        let requires_code = |path| {
            let text = br#"{ "backend": { "type": "cuda" } }"#;
            PackageMetadata::parse(&FilePath::parse(path), text).unwrap().unwrap().requires_code()
        };
        assert!(requires_code("build/torch213-cxx11-cu130-x86_64-linux/metadata.json"));
        assert!(!requires_code("build/torch-cuda/metadata.json"));
    }
}
