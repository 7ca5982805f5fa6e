//! Settings from the command line, or from the environment for options that are not given.
//!
//! Source: the behavior of clang-offload-bundler 19.1.7 and 22.1.8 under these variables. Warnings about them begin
//! without a program name.

use std::ffi::OsString;

use super::Line;
use fatbin_core::base::codec::{Codec, Compression};
use fatbin_core::format::ccob;
use fatbin_ops::embed::llvm::bundler::CompressionRules;

/// Settings of a run, without its files and targets.
#[derive(Debug, PartialEq, Eq)]
pub struct Settings {
    /// `-allow-missing-bundles`: write empty files for missing targets.
    pub allow_missing: bool,
    /// `-bundle-align`: alignment of code objects in a binary bundle.
    pub alignment: u64,
    /// `-check-input-archive`: first check an archive for conflicting target IDs.
    pub check_archive: bool,
    /// `-hip-openmp-compatible`: treat HIP and OpenMP code as compatible.
    pub hip_openmp: bool,
    /// `-###`: print calls of other programs instead of performing their work.
    pub dry_run: bool,
    /// `-verbose`: print sizes and compression figures.
    pub verbose: bool,
    /// Minimum size of a file to print figures about, in bytes.
    pub smallest_file: u64,
    /// `-debug-only=CodeObjectCompatibility`: print each comparison of an entry with a target.
    pub trace: bool,
    /// Compression of the bundle, if any.
    pub compression: Option<Compression>,
    /// Version of the compressed format.
    pub version: ccob::Version,
}

impl Settings {
    /// Reads the settings, and returns them with the warnings about invalid variables. Releases without compression
    /// read no variables.
    pub fn read(
        line: &Line,
        rules: Option<CompressionRules>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> (Self, String) {
        let ignored = rules.is_none() || variable("OFFLOAD_BUNDLER_IGNORE_ENV_VAR").is_some_and(|value| value == "1");
        let rules = rules.unwrap_or(UNUSED);
        let variable = |name: &str| {
            let value = if ignored { None } else { variable(name) };
            value.map(|it| it.to_string_lossy().into_owned())
        };
        let flag = |option: &str, name: &str| {
            line.stated_flag(option).unwrap_or_else(|| variable(name).is_some_and(|value| value == "1"))
        };
        let mut warnings = String::new();
        let mut compression = Compression { codec: Codec::Zstd, level: rules.level };
        if rules.has_levels
            && let Some(value) = variable("OFFLOAD_BUNDLER_COMPRESSION_LEVEL")
        {
            match value.parse() {
                Ok(level) if !value.starts_with('+') => compression.level = level,
                _ => warnings += &invalid("OFFLOAD_BUNDLER_COMPRESSION_LEVEL", &value, "Ignoring it"),
            }
        }
        if let Some(level) = line.number("compression-level") {
            compression.level = i32::try_from(level).expect("the option's value is a C int");
        }
        let mut version = rules.version;
        if rules.has_versions
            && let Some(value) = variable("COMPRESSED_BUNDLE_FORMAT_VERSION")
        {
            let default = format!("Using default version {}", version.number());
            let number: Option<u16> = if value.starts_with('+') { None } else { value.parse().ok() };
            let otherwise = match number {
                Some(2) => Ok(ccob::Version::Two),
                Some(3) => Ok(ccob::Version::Three),
                Some(_) => Err(format!("Valid values are 2 or 3. {default}")),
                None => Err(default),
            };
            match otherwise {
                Ok(stated) => version = stated,
                Err(otherwise) => warnings += &invalid("COMPRESSED_BUNDLE_FORMAT_VERSION", &value, &otherwise),
            }
        }
        let settings = Settings {
            allow_missing: line.flag("allow-missing-bundles"),
            alignment: line.number("bundle-align").map_or(1, i64::unsigned_abs),
            hip_openmp: line.flag("hip-openmp-compatible"),
            check_archive: line.flag("check-input-archive"),
            dry_run: line.flag("###"),
            verbose: flag("verbose", "OFFLOAD_BUNDLER_VERBOSE"),
            smallest_file: rules.smallest_file,
            trace: line.texts("debug-only").any(|name| name == "CodeObjectCompatibility"),
            compression: flag("compress", "OFFLOAD_BUNDLER_COMPRESS").then_some(compression),
            version,
        };
        (settings, warnings)
    }
}

/// Values for releases without compression.
const UNUSED: CompressionRules = CompressionRules {
    version: ccob::Version::One,
    level: 0,
    has_levels: false,
    has_versions: false,
    smallest_file: 0,
};

fn invalid(name: &str, value: &str, otherwise: &str) -> String {
    format!("Warning: Invalid value for {name}: {value}. {otherwise}.\n")
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::super::options;
    use super::*;
    use crate::llvm_options::{Tool, parse};
    use fatbin_ops::embed::llvm::Release;

    fn read_as(release: u32, arguments: &[&str], variables: &[(&str, &str)]) -> (Settings, String) {
        let rules = Release::numbered(release).bundler;
        let options = options::options(&rules);
        let tool = Tool { overview: "", category: "", options: &options, positional: None };
        let files = ["-type=o", "-inputs=in"];
        let arguments: Vec<OsString> = files.iter().chain(arguments).map(OsString::from).collect();
        let line = parse(&tool, OsStr::new("tool"), &arguments).unwrap();
        let value = |name: &str| variables.iter().find(|it| it.0 == name).map(|it| OsString::from(it.1));
        Settings::read(&line, rules.compression, value)
    }

    fn read(arguments: &[&str], variables: &[(&str, &str)]) -> (Settings, String) {
        read_as(22, arguments, variables)
    }

    #[test]
    fn a_release_compresses_in_its_own_form_and_reads_its_own_variables() {
        use ccob::Version::{One, Three, Two};
        let variables = [
            ("OFFLOAD_BUNDLER_COMPRESS", "1"),
            ("OFFLOAD_BUNDLER_COMPRESSION_LEVEL", "7"),
            ("COMPRESSED_BUNDLE_FORMAT_VERSION", "3"),
            ("OFFLOAD_BUNDLER_VERBOSE", "1"),
        ];
        let defaults = [(14, None), (17, None), (18, Some((One, 5))), (19, Some((Two, 7))), (20, Some((Three, 7)))];
        for (release, expected) in defaults {
            let (settings, warnings) = read_as(release, &[], &variables);
            let compression = settings.compression.map(|compression| (settings.version, compression.level));
            assert_eq!((compression, settings.verbose), (expected, expected.is_some()), "{release}");
            assert_eq!(warnings, "", "{release}");
        }
        for (release, version) in [(18, One), (19, Two), (20, Two), (21, Two), (22, Three), (23, Three)] {
            assert_eq!(read_as(release, &["-compress"], &[]).0.version, version, "{release}");
        }
        let (_, warnings) = read_as(21, &[], &[("COMPRESSED_BUNDLE_FORMAT_VERSION", "1")]);
        assert!(warnings.ends_with("Valid values are 2 or 3. Using default version 2.\n"), "{warnings}");
    }

    #[test]
    fn the_command_line_wins_over_the_environment() {
        let variables = [
            ("OFFLOAD_BUNDLER_COMPRESS", "1"),
            ("OFFLOAD_BUNDLER_COMPRESSION_LEVEL", "-7"),
            ("OFFLOAD_BUNDLER_VERBOSE", "1"),
            ("COMPRESSED_BUNDLE_FORMAT_VERSION", "2"),
        ];
        let (settings, warnings) = read(&[], &variables);
        assert_eq!(settings.compression, Some(Compression { codec: Codec::Zstd, level: -7 }));
        assert_eq!((settings.verbose, settings.version, warnings.as_str()), (true, ccob::Version::Two, ""));
        let (settings, _) = read(&["-compression-level=9", "-verbose=0"], &variables);
        assert_eq!((settings.compression.unwrap().level, settings.verbose), (9, false));
        assert_eq!(read(&["-compress=0"], &variables).0.compression, None);
        let ignored: Vec<_> = variables.into_iter().chain([("OFFLOAD_BUNDLER_IGNORE_ENV_VAR", "1")]).collect();
        assert_eq!(read(&[], &ignored), read(&[], &[]));
    }

    #[test]
    fn warns_of_invalid_variables_and_ignores_them() {
        let level = [("OFFLOAD_BUNDLER_COMPRESSION_LEVEL", "x"), ("OFFLOAD_BUNDLER_COMPRESS", "yes")];
        let (settings, warnings) = read(&["-compress"], &level);
        assert_eq!(settings.compression, Some(Compression::new(Codec::Zstd)));
        assert_eq!(warnings, "Warning: Invalid value for OFFLOAD_BUNDLER_COMPRESSION_LEVEL: x. Ignoring it.\n");
        for (value, hint) in [("1", "Valid values are 2 or 3. "), ("65536", ""), ("+2", ""), ("", "")] {
            let (settings, warnings) = read(&[], &[("COMPRESSED_BUNDLE_FORMAT_VERSION", value)]);
            let name = "COMPRESSED_BUNDLE_FORMAT_VERSION";
            let expected = format!("Warning: Invalid value for {name}: {value}. {hint}Using default version 3.\n");
            assert_eq!((settings.version, warnings), (ccob::Version::Three, expected));
        }
    }
}
