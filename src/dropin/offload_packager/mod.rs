//! clang-offload-packager, or llvm-offload-binary since LLVM 22: packs device images into offload binaries and extracts
//! them.
//!
//! The differences between releases are columns of [`fatbin_ops::embed::llvm::RELEASES`].
//!
//! Divergences from LLVM 22.1, with the reasons:
//!
//! - Outputs are written completely or not at all, even if the tool overwrites a file in place or fails half way. A
//!   build uses existing outputs.
//! - An input that cannot be parsed is reported with file, offset and field, not as "Invalid data was encountered". The
//!   error can be located.
//! - An image or string outside of its binary, and an entry of unexpected size, are reported in the same way. The tool
//!   reads out of bounds.
//! - A file too short for the header of an object, or with two leading zeros, is not an object. The tool treats the
//!   latter as an object for an unknown machine.
//! - A device or pipe that cannot be written to is an ordinary error, not an "LLVM ERROR". Errors have one form.
//! - Text in a binary does not form paths: `/` in a generated name becomes `_`, and so do control characters and
//!   characters that are not displayed. Devices and pipes of such a name are replaced. The binary may be untrusted.
//! - Keys and values must be UTF-8. They are text in every known file.
//! - Symbols of bitcode are not in the symbol table of an archive. Bitcode is not supported.
//! - A thin archive is refused if more of its members contain binaries than files may be open at once. Payloads are
//!   copied from open files, not from memory.
//!
//! LLVM 23 and 24 were not available. Their behavior comes from LLVM's tests, `llvm/test/tools/llvm-offload-binary`. If
//! nothing specifies the release, the first release from LLVM 22 on with the options of the call is replaced, and
//! binaries of every version are read. The help of the options for compression is not LLVM's.
//!
//! Losses of the tool are kept. If several images have one file, a warning is printed and the last image remains.
//! `fatbin extract` reports an error instead.

mod extract;
mod image_argument;
mod map_order;
mod options;
mod pack;

use std::ffi::{OsStr, OsString};
use std::ops::RangeInclusive;
use std::path::Path;

use super::FAILED;
use super::diagnostics::{Diagnostics, print};
use super::files::create_file;
use super::llvm_options::{Line, Stop, parse_response_file};
use super::stand_in::StandIn;
use extract::Extraction;
use fatbin_core::base::codec::{Codec, Compression};
use fatbin_core::base::error::Error;
use fatbin_core::base::io::{FileSet, Output, OutputKind};
use fatbin_core::format::offload_binary::Version;
use fatbin_ops::embed::llvm::NEWEST;
use fatbin_ops::embed::llvm::packager::PackagerRules;
use image_argument::ImageArgument;

/// Old name. LLVM 22 and later print a warning for it.
const OLD_NAME: &str = "clang-offload-packager";

/// Levels of zlib.
const ZLIB_LEVELS: RangeInclusive<i32> = 0..=9;

/// Result of an operation; the error is the tool's message.
type Result<T, E = String> = std::result::Result<T, E>;

/// Parses a response file as the command line of the newest release's tool, with the arguments that describe images.
pub fn read_options(response_file: &[u8]) -> Result<Line, Stop> {
    let rules = &NEWEST.packager;
    let line = parse_response_file(options::tool(rules), response_file)?;
    images(&line, rules).map_err(|message| Stop { out: String::new(), err: message, status: FAILED })?;
    Ok(line)
}

/// Runs as the tool.
pub fn run(program: &OsStr, stand_in: StandIn, arguments: &[OsString]) -> u8 {
    let (line, release) = match stand_in.parse(|release| options::tool(&release.packager), program, arguments) {
        Ok(parsed) => parsed,
        Err(stop) => return stop.print(),
    };
    let rules = &release.packager;
    let diagnostics = Diagnostics { program: Some(program), color: line.stated_flag("color") };
    if rules.is_renamed
        && stem(&Path::new(program).file_name().unwrap_or(program).to_string_lossy()).ends_with(OLD_NAME)
    {
        let message = format!("'{OLD_NAME}' is deprecated. Use 'llvm-offload-binary' instead.");
        Diagnostics { program: None, ..diagnostics }.warning(&message);
    }
    let some = |text: Option<&OsStr>| text.filter(|text| !text.is_empty()).map(OsStr::to_owned);
    let output = some(line.text("o"));
    let input = some(line.positional.first().map(OsString::as_os_str));
    let done = match (line.flag("h"), output, input) {
        (true, ..) | (_, None, None) => return print(&options::tool(rules).short_help(program), 0),
        (_, Some(_), Some(_)) => Err("Packaging to an output file and extracting from an input file are mutually \
                                      exclusive."
            .to_owned()),
        (_, Some(output), None) => images(&line, rules)
            .and_then(|images| pack::pack(&images, &release, compression(&line)?, Path::new(&output))),
        (_, None, Some(input)) => images(&line, rules).and_then(|images| {
            let stand_in = StandIn { release, ..stand_in };
            let needs_members = images.iter().any(ImageArgument::has_member);
            let extraction = Extraction {
                input: Path::new(&input),
                images: &images,
                release: stand_in.release_with(|release| !needs_members || release.packager.has_members),
                // Any release may be the caller, so a file of a later release is read instead of refused.
                newest: if stand_in.is_specified { rules.reads } else { Version::Three },
                into_archive: line.flag("archive"),
                diagnostics,
            };
            extraction.run()
        }),
    };
    match done {
        Ok(()) => 0,
        Err(message) => {
            diagnostics.error(&message);
            FAILED
        }
    }
}

fn compression(line: &Line) -> Result<Option<Compression>> {
    if !line.flag("compress") {
        return Ok(None);
    }
    let codec = match line.text("compression-format").and_then(OsStr::to_str) {
        Some("zlib") => Codec::Zlib,
        _ => Codec::Zstd,
    };
    let level = line.number("compression-level");
    match level.map(i32::try_from) {
        Some(Ok(level)) if codec == Codec::Zlib && !ZLIB_LEVELS.contains(&level) => {
            Err(format!("invalid zlib compression level {level}; expected a value in [0, 9]"))
        }
        Some(Ok(level)) => Ok(Some(Compression { codec, level })),
        Some(Err(_)) | None => Ok(Some(Compression::new(codec))),
    }
}

fn images(line: &Line, rules: &PackagerRules) -> Result<Vec<ImageArgument>> {
    let texts = line.texts("image");
    let text = |text: &OsStr| text.to_str().map(str::to_owned).ok_or_else(|| format!("{text:?} is not UTF-8"));
    texts.map(|image| text(image).map(|image| ImageArgument::parse(&image, rules))).collect()
}

/// Name up to its last dot, like LLVM's `stem`.
fn stem(name: &str) -> &str {
    match name {
        "." | ".." => name,
        _ => name.rsplit_once('.').map_or(name, |(stem, _)| stem),
    }
}

/// Creates an output; `-` is standard output.
fn create(path: &Path) -> Result<Output, Error> {
    if path == Path::new("-") {
        return Output::create(FileSet::new().output(path, OutputKind::Code)?);
    }
    create_file(&FileSet::new(), path)
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn a_stem_ends_before_the_last_dot() {
        for (name, expected) in [("a.b.c", "a.b"), ("a", "a"), (".o", ""), ("a.", "a"), ("..x", "."), ("..", "..")] {
            assert_eq!(stem(name), expected, "{name}");
        }
    }
}
