//! The subcommand `fatbin embed`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::Status;
use super::failure::{Context, Result, coded, ensure};
use super::headings::{INPUT, OUTPUT};
use super::outputs::{ForceArgument, OutputArgument};
use super::session::Session;
use super::value_enum::{SYMBOL_STYLES, large_images, one_of};
use crate::codes::Code;
use fatbin_core::base::io::{Access, Input};
use fatbin_core::host::Host;
use fatbin_ops::embed::files::write::EmbedOptions;
use fatbin_ops::embed::files::{DEFAULT_ALIGNMENT, Name, ObjectOptions, SymbolStyle};
use fatbin_ops::embed::wrap::LargeImages;

/// Write a host object with any files as named data
///
/// The program refers to the bytes of a file by symbols: NAME is the first byte, NAME_end follows the last one, and
/// NAME_size is a number of 64 bits. A NUL follows each file, so PTX can be passed to the driver as it is. The linker
/// keeps the files that the program refers to and, with --gc-sections, drops the others.
///
/// `fatbin scan` lists the device images among the files, with the names of their symbols, also in a stripped program.
///
/// Exit status: 0 if the object was written, 2 if not.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Object to write
    #[arg(help_heading = OUTPUT, short, long, value_name = "OUT")]
    output: OutputArgument,

    /// File, and its name in the program: a symbol, or a variable of C++ as NAMESPACE::NAME
    #[arg(help_heading = INPUT, short, long = "symbol", value_name = "NAME=FILE", value_parser = parse_symbol)]
    symbol: Vec<(Name, PathBuf)>,

    /// Read more of them from a file, one NAME=FILE per line; # begins a comment, `-` is standard input
    #[arg(help_heading = INPUT, long, value_name = "FILE")]
    symbols_from: Vec<PathBuf>,

    /// Symbols of each file: NAME, NAME_end and NAME_size, or the symbols of `ld -r -b binary`
    ///
    /// binary: NAME_start, NAME_end and the absolute symbol NAME_size. A FILE without a name gets the name that GNU ld
    /// uses, _binary_FILE.
    #[arg(help_heading = OUTPUT, long, value_name = "STYLE", value_parser = one_of(SYMBOL_STYLES), default_value = "start-end-size")]
    symbols: SymbolStyle,

    /// Section of all files, instead of .rodata.NAME for each
    #[arg(help_heading = OUTPUT, long, value_name = "NAME")]
    section: Option<String>,

    /// Alignment of each file in bytes, a power of two
    #[arg(help_heading = OUTPUT, long, value_name = "N", default_value_t = DEFAULT_ALIGNMENT)]
    align: u64,

    /// Keep all files in the program, whether or not it refers to them
    #[arg(help_heading = OUTPUT, long)]
    retain: bool,

    /// Hide the symbols from users of a library that contains the object
    #[arg(help_heading = OUTPUT, long)]
    hidden: bool,

    /// Place the files among large sections, out of reach of code and data; auto does so from 1 GiB on
    #[arg(help_heading = OUTPUT, long, value_name = "WHEN", value_parser = large_images(), default_value = "auto")]
    large: LargeImages,

    /// Add a table of all files with their names, sizes and SHA-256, and the number of its entries, NAME_count
    #[arg(help_heading = OUTPUT, long, value_name = "NAME")]
    index: Option<String>,

    /// Write a C and C++ header with the symbols
    #[arg(help_heading = OUTPUT, long, value_name = "OUT.h")]
    header: Option<OutputArgument>,

    /// Write a Rust module with a function for each file
    #[arg(help_heading = OUTPUT, long, value_name = "OUT.rs")]
    rust: Option<OutputArgument>,

    #[command(flatten)]
    force: ForceArgument,

    #[arg(help_heading = OUTPUT, long, value_name = "TRIPLE", help = super::wrap::host_help())]
    host: Option<String>,

    /// Print host, number and size of the files
    #[arg(help_heading = OUTPUT, short, long)]
    verbose: bool,

    /// Files with their names, or that --symbols binary names; they follow the files of the options
    #[arg(value_name = "[NAME=]FILE")]
    files: Vec<PathBuf>,
}

/// Runs `fatbin embed`.
pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let is_verbose = arguments.verbose;
    let force = arguments.force;
    let options = options(arguments, session)?;
    force.check_code(&options.output, options.files.iter().map(|(_, path)| path.as_path()), session)?;
    let summary = fatbin_ops::embed::files::write::embed(&options)?;
    if is_verbose {
        let place = if summary.is_large { ", among the large sections" } else { "" };
        let output = options.output.display();
        let host = options.object.host.triple();
        session.print_detail(format_args!(
            "{output}: host {host}, {} files, {} bytes{place}",
            options.files.len(),
            summary.size
        ));
    }
    Ok(Status::Yes)
}

/// Splits `NAME=FILE`; `None` for a file, or without a valid name.
fn named_file(path: &Path) -> Option<(Name, PathBuf)> {
    let (name, file) = path.to_str()?.split_once('=')?;
    let name = Name::parse(name).ok().filter(|_| !path.exists())?;
    Some((name, file.into()))
}

fn options(arguments: Arguments, session: &Session) -> Result<EmbedOptions> {
    let set = arguments.force.files(arguments.symbols_from.iter().map(PathBuf::as_path));
    let mut files = arguments.symbol;
    for list in &arguments.symbols_from {
        read_list(list, &mut files)?;
    }
    for path in arguments.files {
        if let Some(named) = named_file(&path) {
            files.push(named);
            continue;
        }
        ensure!(
            arguments.symbols == SymbolStyle::Binary,
            "{}: no name; specify NAME={} or --symbols binary",
            path.display(),
            path.display()
        );
        files.push((Name::of_path(&path.to_string_lossy())?, path));
    }
    if files.is_empty() {
        return Err(coded(Code::MissingArgument, "embed: no file given; specify NAME=FILE"));
    }
    let host = match &arguments.host {
        Some(triple) => triple.parse()?,
        None => Host::native()?,
    };
    let object = ObjectOptions {
        host,
        style: arguments.symbols,
        section: arguments.section,
        alignment: arguments.align,
        retain: arguments.retain,
        hidden: arguments.hidden,
        large: arguments.large,
        index: arguments.index,
    };
    let owned = |path: OutputArgument| path.path().to_owned();
    let Arguments { output, header, rust, .. } = arguments;
    let output = owned(output);
    let header = header.map(owned);
    let rust = rust.map(owned);
    Ok(EmbedOptions { files, access: session.access(), object, output, header, rust, set })
}

/// Parses `NAME=FILE`; a name has no `=`, and a path may.
fn parse_symbol(text: &str) -> Result<(Name, PathBuf)> {
    let (name, path) = text.split_once('=').context("expected NAME=FILE")?;
    ensure!(!path.is_empty(), "no file after {name}=");
    Ok((Name::parse(name)?, path.into()))
}

/// Reads a list of files.
fn read_list(list: &Path, files: &mut Vec<(Name, PathBuf)>) -> Result<()> {
    let input = Input::open(list, Access::read())?;
    let text = std::str::from_utf8(input.view().data()).with_context(|| format!("{}: not UTF-8", list.display()))?;
    for (number, line) in text.lines().map(str::trim).enumerate() {
        if !line.is_empty() && !line.starts_with('#') {
            files.push(parse_symbol(line).with_context(|| format!("{}:{}", list.display(), number + 1))?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_at_the_first_equals_sign() {
        let (name, path) = parse_symbol("ns::kernel=a=b.cubin").unwrap();
        assert_eq!((name.text(), path), ("ns::kernel", PathBuf::from("a=b.cubin")));
    }

    #[test]
    fn reports_the_error_in_an_invalid_argument() {
        for (text, message) in [
            ("kernel", "expected NAME=FILE"),
            ("kernel=", "no file after kernel="),
            ("=file", "invalid symbol name \"\": it is empty"),
        ] {
            assert_eq!(parse_symbol(text).unwrap_err().to_string(), message);
        }
    }
}
