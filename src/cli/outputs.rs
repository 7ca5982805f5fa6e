//! Outputs of commands: the type of every option that names an output, and the option that lets a text replace a binary
//! file.

use std::any::TypeId;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::{MapValueParser, PathBufValueParser, TypedValueParser, ValueParserFactory};
use clap::{Arg, Args, Command};

use super::failure::Result;
use super::headings::OUTPUT;
use super::session::Session;
use fatbin_core::base::error::Error;
use fatbin_core::base::io::{FileSet, Input, file_identity};
use fatbin_core::format::is_code_file;

/// Value of an option that names an output. The tests of this module find the outputs of all commands by this type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputArgument(PathBuf);

impl OutputArgument {
    /// The path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

/// An empty value is refused, as for every path.
impl ValueParserFactory for OutputArgument {
    type Parser = MapValueParser<PathBufValueParser, fn(PathBuf) -> OutputArgument>;

    fn value_parser() -> Self::Parser {
        PathBufValueParser::new().map(OutputArgument)
    }
}

impl<P: Into<OsString>> From<P> for OutputArgument {
    fn from(path: P) -> Self {
        OutputArgument(PathBuf::from(path.into()))
    }
}

/// Option of commands that write a text, or code.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct ForceArgument {
    /// Replace an existing file of another kind: a program by a report, or a text by an object
    #[arg(long, help_heading = OUTPUT)]
    force: bool,
}

impl ForceArgument {
    /// Returns the files of a run that reads these paths.
    pub fn files<'a>(self, inputs: impl IntoIterator<Item = &'a Path>) -> FileSet {
        FileSet::of_paths(inputs).replacing_binaries(self.force)
    }
}

impl ForceArgument {
    /// Checks that code does not replace an existing file of another kind. Devices and pipes are no files, and a writer
    /// refuses its inputs itself.
    pub fn check_code<'a>(
        self,
        path: &Path,
        inputs: impl IntoIterator<Item = &'a Path>,
        session: &Session,
    ) -> Result<()> {
        let is_input = || inputs.into_iter().any(|input| file_identity(input) == file_identity(path));
        if self.force || !path.is_file() || is_input() {
            return Ok(());
        }
        let input = Input::open_file(path.to_owned(), session.access())?;
        if is_code_file(input.view()) { Ok(()) } else { Err(Error::ReplacesOther { path: path.to_owned() }.into()) }
    }
}

/// Returns the command and the name of each option and argument that names an output.
pub fn options_of(program: &Command) -> impl Iterator<Item = (&str, &str)> {
    program.get_subcommands().flat_map(|command| {
        let outputs = command.get_arguments().filter(|option| is_output(option));
        outputs.map(|option| (command.get_name(), option.get_id().as_str()))
    })
}

fn is_output(option: &Arg) -> bool {
    let value = option.get_value_parser().type_id();
    value == TypeId::of::<OutputArgument>() || value == TypeId::of::<(String, OutputArgument)>()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Options and arguments that name input files; `*` stands for every command.
    const INPUTS: [(&str, &str); 39] = [
        ("addr2line", "file"),
        ("*", "files"),
        ("*", "files_from"),
        ("*", "input"),
        ("*", "inputs"),
        ("*", "kpack_path"),
        ("*", "kpack_path_prefix"),
        ("bundle", "targets"),
        ("check", "baseline"),
        ("check", "policy"),
        ("check", "proof"),
        ("check", "ptxas"),
        ("diff", "new"),
        ("diff", "old"),
        ("doctor", "line"),
        ("doctor", "objects"),
        ("embed", "symbol"),
        ("embed", "symbols_from"),
        ("install-links", "compiler"),
        ("join", "directory"),
        ("link", "cuda_path"),
        ("link", "device_link_tools"),
        ("link", "device_linker"),
        ("link", "line"),
        ("link", "override_image"),
        ("link", "policy"),
        ("link", "rocm_path"),
        ("lock", "since"),
        ("pack", "described"),
        ("pack", "images"),
        ("recover", "directory"),
        ("replace", "images"),
        ("select", "inputs"),
        ("select", "machine"),
        ("size", "baseline"),
        ("wrap", "entries"),
        ("wrap", "image"),
        ("wrap", "images"),
        ("wrap", "matching"),
    ];

    /// Parts of the names of values that are paths.
    const PATH_WORDS: [&str; 12] =
        ["FILE", "DIR", "PATH", "OUT", "INPUT", "IMAGE", "OBJECT", "LOCK", "POLICY", "PROOF", "LINE", "COMPILER"];

    /// An output is found by the type of its value. An option whose value is a path must have that type, or be listed
    /// as an input.
    #[test]
    fn every_option_that_names_a_file_is_an_input_or_an_output() {
        let mut program = crate::Arguments::command();
        program.build();
        let mut unknown = Vec::new();
        let mut outputs = 0;
        let mut inputs = 0;
        for command in program.get_subcommands() {
            for option in command.get_arguments().filter(|option| option.get_action().takes_values()) {
                let command = command.get_name();
                let name = option.get_id().as_str();
                let value = option.get_value_parser().type_id();
                let is_path = [TypeId::of::<PathBuf>(), TypeId::of::<OsString>(), TypeId::of::<(String, PathBuf)>()];
                let names: Vec<&str> = option.get_value_names().unwrap_or_default().iter().map(AsRef::as_ref).collect();
                let is_named = names.iter().any(|name| PATH_WORDS.iter().any(|word| name.contains(word)));
                let is_listed = INPUTS.iter().any(|known| known.1 == name && ["*", command].contains(&known.0));
                if is_output(option) {
                    assert!(!is_listed, "{command} {name}: is an output");
                    outputs += 1;
                } else if is_listed {
                    inputs += 1;
                } else if is_path.iter().any(|id| value == *id) || is_named {
                    unknown.push(format!("{command} {name}"));
                }
            }
        }
        assert!(unknown.is_empty(), "use OutputArgument for an output, or list an input: {unknown:#?}");
        assert!(outputs >= 25 && inputs > 60, "{outputs} outputs, {inputs} inputs: the search is broken");
    }
}
