//! llvm-offload-binary, and clang-offload-packager, as it was called until LLVM 21: device images into offload binaries and
//! out of them again.
//!
//! | divergence from LLVM 22.1 | why |
//! |---|---|
//! | outputs appear whole or not at all, also where the tool writes over a file in place or dies half way | a build takes what is there |
//! | an input that cannot be read is told with file, offset and field, not as "Invalid data was encountered" | so that it can be mended |
//! | an image or string that lies outside its binary is such an error, and an entry of another size | the tool reads whatever stands there in memory |
//! | a file too short for the header of an object, or with two zeros in front, is no object | the tool takes the latter for one of an unknown machine |
//! | a device or pipe that takes no more is an error like others, not an "LLVM ERROR" | one way to say it |
//! | bitcode with embedded binaries is refused | nothing here reads bitcode; an object can be made of it |
//! | text in a binary makes no path: `/` in a generated name becomes `_` | whoever extracts may not trust the binary |
//! | keys and values have to be UTF-8 | they are text in every file that was ever seen |
//! | symbols of bitcode are not in the symbol table of an archive | the same |
//! | a thin archive with more members that hold binaries than may be open at once is refused | payloads are moved from open files, not from memory |
//!
//! What is lost in the tool is lost here as well: several images for one file are told in a warning, and the last one
//! stays. Our own `fatbin extract` makes an error of it.

mod extract;
mod image_argument;
mod map_order;
mod pack;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::Path;

use super::FAILED;
use super::diagnostics::{Diagnostics, cause, print};
use super::llvm_options::{Line, LlvmOption, Occurs, Positional, Shown, Tool, Value, parse};
use crate::error::Error;
use crate::io::{Input, Output};
use image_argument::ImageArgument;

static TOOL: Tool = Tool {
    overview: "\
A utility for bundling several object files into a single binary.
The output binary can then be embedded into the host section table
to create a fatbinary containing offloading code.
",
    category: "llvm-offload-binary options",
    options: &[
        option("archive", Value::Flag, "Write extracted files to a static archive"),
        option(
            "image",
            Value::Text("<key>=<value>,..."),
            "List of key and value arguments. Required keywords are 'file' and 'triple'.",
        ),
        option("o", Value::Text("file"), "Write output to <file>."),
    ],
    positional: Some(Positional { help: "Extract from <file>.", at_least: 0, at_most: Some(1) }),
};

const fn option(name: &'static str, value: Value, help: &'static str) -> LlvmOption {
    LlvmOption { name, value, occurs: Occurs::Optional, shown: Shown::Always, help }
}

/// The name that LLVM 22 warns of.
const DEPRECATED: &str = "clang-offload-packager";

/// What the tool says where its output cannot be opened or made, or an input cannot be opened.
type Result<T, E = String> = std::result::Result<T, E>;

/// Runs as the tool.
pub fn run(program: &OsStr, arguments: &[OsString]) -> u8 {
    let line = match parse(&TOOL, program, arguments) {
        Ok(line) => line,
        Err(stop) => return stop.print(),
    };
    let diagnostics = Diagnostics { program: Some(program), color: line.stated_flag("color") };
    if stem(&Path::new(program).file_name().unwrap_or(program).to_string_lossy()).ends_with(DEPRECATED) {
        let message = format!("'{DEPRECATED}' is deprecated. Use 'llvm-offload-binary' instead.");
        Diagnostics { program: None, ..diagnostics }.warning(&message);
    }
    let some = |text: Option<&OsStr>| text.filter(|text| !text.is_empty()).map(OsStr::to_owned);
    let (output, input) = (some(line.text("o")), some(line.positional.first().map(OsString::as_os_str)));
    let done = match (line.flag("h"), output, input) {
        (true, ..) | (_, None, None) => return print(&TOOL.short_help(program), 0),
        (_, Some(_), Some(_)) => Err("Packaging to an output file and extracting from an input file are mutually \
                                      exclusive."
            .to_owned()),
        (_, Some(output), None) => images(&line).and_then(|images| pack::pack(&images, Path::new(&output))),
        (_, None, Some(input)) => images(&line)
            .and_then(|images| extract::extract(Path::new(&input), &images, line.flag("archive"), diagnostics)),
    };
    match done {
        Ok(()) => 0,
        Err(message) => {
            diagnostics.error(&message);
            FAILED
        }
    }
}

fn images(line: &Line) -> Result<Vec<ImageArgument>> {
    let texts = line.texts("image");
    let text = |text: &OsStr| text.to_str().map(str::to_owned).ok_or_else(|| format!("{text:?} is not UTF-8"));
    texts.map(|image| text(image).map(|image| ImageArgument::parse(&image))).collect()
}

/// A name up to its last dot, as LLVM cuts it.
fn stem(name: &str) -> &str {
    match name {
        "." | ".." => name,
        _ => name.rsplit_once('.').map_or(name, |(stem, _)| stem),
    }
}

/// Opens any file: what is no regular one goes through a temporary one, which has a place for every byte.
fn open(path: &Path) -> Result<Input, Error> {
    if path == Path::new("-") || std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return Input::open(path);
    }
    let mut file = File::open(path).map_err(Error::io(path, "open"))?;
    Input::made(path, &std::env::temp_dir(), |to| io::copy(&mut file, to).map(|_| ()))
}

/// Begins an output: a device is written, and anything else but a folder replaced, also a link, as the tool does it.
fn create(path: &Path) -> Result<Output, Error> {
    match (std::fs::metadata(path), path.file_name()) {
        (Err(error), None) => Err(Error::io(path, "create")(error)),
        (Ok(metadata), _) if !metadata.is_file() => Output::create(path),
        (_, name) => Output::create_in(path.parent().unwrap_or(Path::new("")), name.unwrap_or_default()),
    }
}

/// An error in the words of the operating system where it is about that.
fn words(error: &Error) -> String {
    match error {
        Error::Io { cause: error, .. } => cause(error),
        Error::NotAFile { .. } => "Is a directory".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn a_stem_ends_before_the_last_dot_wherever_that_is() {
        for (name, expected) in [("a.b.c", "a.b"), ("a", "a"), (".o", ""), ("a.", "a"), ("..x", "."), ("..", "..")] {
            assert_eq!(stem(name), expected, "{name}");
        }
    }
}
