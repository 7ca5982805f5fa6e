//! Settings from the command line and, for options that are not given, from the environment.
//!
//! Source: the behavior of clang-offload-bundler 22.1.8 under these variables. Warnings about them begin without a program
//! name.

use std::ffi::OsString;

use super::Line;
use crate::codec::{Codec, Compression};
use crate::format::ccob;

/// Settings of a run, apart from its files and targets.
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
    /// `-debug-only=CodeObjectCompatibility`: print each comparison of an entry with a target.
    pub trace: bool,
    /// Compression of the bundle, if any.
    pub compression: Option<Compression>,
    /// Version of the compressed format.
    pub version: ccob::Version,
}

impl Settings {
    /// Reads the settings, and returns them with the warnings about invalid variables.
    pub fn read(line: &Line, variable: impl Fn(&str) -> Option<OsString>) -> (Self, String) {
        let ignored = variable("OFFLOAD_BUNDLER_IGNORE_ENV_VAR").is_some_and(|value| value == "1");
        let variable = |name: &str| variable(name).filter(|_| !ignored).map(|it| it.to_string_lossy().into_owned());
        let flag = |option: &str, name: &str| {
            line.stated_flag(option).unwrap_or_else(|| variable(name).is_some_and(|value| value == "1"))
        };
        let mut warnings = String::new();
        let mut compression = Compression::new(Codec::Zstd);
        if let Some(value) = variable("OFFLOAD_BUNDLER_COMPRESSION_LEVEL") {
            match value.parse().ok().filter(|_| !value.starts_with('+')) {
                Some(level) => compression.level = level,
                None => warnings += &invalid("OFFLOAD_BUNDLER_COMPRESSION_LEVEL", &value, "Ignoring it"),
            }
        }
        if let Some(level) = line.number("compression-level") {
            compression.level = i32::try_from(level).expect("the option's value is a C int");
        }
        let mut version = ccob::Version::Three;
        if let Some(value) = variable("COMPRESSED_BUNDLE_FORMAT_VERSION") {
            let number: Option<u16> = value.parse().ok().filter(|_| !value.starts_with('+'));
            let otherwise = match number {
                Some(2 | 3) => None,
                Some(_) => Some("Valid values are 2 or 3. Using default version 3"),
                None => Some("Using default version 3"),
            };
            match otherwise {
                Some(otherwise) => warnings += &invalid("COMPRESSED_BUNDLE_FORMAT_VERSION", &value, otherwise),
                None if number == Some(2) => version = ccob::Version::Two,
                None => {}
            }
        }
        let settings = Settings {
            allow_missing: line.flag("allow-missing-bundles"),
            alignment: line.number("bundle-align").map_or(1, i64::unsigned_abs),
            hip_openmp: line.flag("hip-openmp-compatible"),
            check_archive: line.flag("check-input-archive"),
            dry_run: line.flag("###"),
            verbose: flag("verbose", "OFFLOAD_BUNDLER_VERBOSE"),
            trace: line.texts("debug-only").any(|name| name == "CodeObjectCompatibility"),
            compression: flag("compress", "OFFLOAD_BUNDLER_COMPRESS").then_some(compression),
            version,
        };
        (settings, warnings)
    }
}

fn invalid(name: &str, value: &str, otherwise: &str) -> String {
    format!("Warning: Invalid value for {name}: {value}. {otherwise}.\n")
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;
    use crate::cli::dropin::llvm_options::parse;

    fn read(arguments: &[&str], variables: &[(&str, &str)]) -> (Settings, String) {
        let arguments: Vec<OsString> = ["-type=o"].iter().chain(arguments).map(OsString::from).collect();
        let line = parse(&super::super::TOOL, OsStr::new("tool"), &arguments).unwrap();
        let value = |name: &str| variables.iter().find(|it| it.0 == name).map(|it| OsString::from(it.1));
        Settings::read(&line, value)
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
