//! The options `--format FORMAT` and `--json` of all reports.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use super::headings::OUTPUT;

/// Form of a report. Each command has some of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text: tables and sentences
    #[value(aliases = ["text", "human"])]
    Table,
    /// One document, which `fatbin schema` describes
    Json,
    /// One line of JSON per file, as soon as the file is scanned: an element of the document's array `files` with the
    /// field `schema`. Every file that is specified or listed has at least one line; an unreadable one has `errors`
    Ndjson,
    /// Comma-separated values: a line for each row of the innermost level
    Csv,
    /// JUnit XML with a test case for each rule and file
    Junit,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Markdown
    Markdown,
    /// Annotations of GitHub Actions
    Github,
    /// Code Quality report of GitLab
    Gitlab,
    /// CycloneDX 1.6 with files and their images as components
    Cyclonedx,
    /// Key `backend` of metadata.json, for Hugging Face kernels
    HfKernels,
    /// variant.json of a wheel variant
    Pep825,
    /// Keys `depends` and `constrains` of info/index.json, for conda
    Conda,
    /// Substitution variables of a Debian package: `gpu:Architecture`, and `gpu:Depends` with --device-package
    Deb,
    /// Tags of an RPM spec file: Provides, and Requires with --device-package
    Rpm,
    /// For man
    Roff,
}

/// Formats of most reports.
pub const TABLE_OR_JSON: &[Format] = &[Format::Table, Format::Json];

/// Options for the form of a report. The command states its formats with [`among`].
#[derive(Debug, Clone, Copy, Args)]
pub struct FormatArguments {
    /// Format of the report [default: table]
    #[arg(help_heading = OUTPUT, long, value_name = "FORMAT", conflicts_with = "json", value_parser = among(TABLE_OR_JSON))]
    format: Option<Format>,

    /// Short form of --format json
    #[arg(help_heading = OUTPUT, long)]
    json: bool,
}

impl FormatArguments {
    /// Returns the format.
    pub fn format(self) -> Format {
        if self.json { Format::Json } else { self.format.unwrap_or(Format::Table) }
    }

    /// Returns whether the report is one JSON document.
    pub fn is_json(self) -> bool {
        self.format() == Format::Json
    }
}

/// Returns the parser of the formats that a command writes.
pub fn among(formats: &'static [Format]) -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(formats.iter().filter_map(ValueEnum::to_possible_value))
        .map(|name| Format::from_str(&name, true).expect("one of the names"))
}
