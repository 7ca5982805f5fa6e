//! The command line of the linker that a compiler calls, as the compiler prints it.
//!
//! GCC and clang print their commands and run none with `-###`, nvcc with `--dryrun`. The last of them is the link.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fatbin_core::base::code::{Code, Coded, ErrorClass};

use super::linkers::Linker;
use fatbin_core::base::system_error::describe_start;

/// A compiler that does not print the command line of its linker.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The compiler cannot be started.
    #[error("{}: cannot start: {}", program.display(), describe_start(cause))]
    Start {
        /// The compiler.
        program: PathBuf,
        /// Error of the operating system.
        cause: io::Error,
    },
    /// The compiler prints no command.
    #[error("{}: {option} prints no link{}; specify the linker's own command line", program.display(), because(.message))]
    NoLink {
        /// The compiler.
        program: PathBuf,
        /// Option that prints commands.
        option: &'static str,
        /// Its last message.
        message: String,
    },
}

impl Coded for DriverError {
    fn class(&self) -> ErrorClass {
        match self {
            DriverError::Start { .. } => Code::ProgramFailed.into(),
            DriverError::NoLink { .. } => Code::UnknownLayout.into(),
        }
    }
}

/// Command line of a linker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkerCommand {
    /// The linker, or a program that passes its arguments on to one.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// True if the command links device code and registers the images.
    pub links_device_code: bool,
    /// True if the linker's plugin compiles images from GCC's bytecode.
    pub compiles_gimple: bool,
    /// Architectures that nvlink links device code for.
    pub nvlink_archs: Vec<String>,
}

/// Maximum number of compilers that call one another.
const MAX_DRIVERS: usize = 4;

/// Program that links device code before it calls the linker.
const LINKER_WRAPPER: &str = "clang-linker-wrapper";

/// Program that extracts device code from the inputs, when clang itself links HIP's relocatable device code.
const BUNDLER: &str = "clang-offload-bundler";

/// Command line of the linker that a compiler calls. A linker's own command line is returned unchanged.
pub fn linker_command(program: &OsStr, arguments: &[OsString]) -> Result<LinkerCommand, DriverError> {
    let mut program = PathBuf::from(program);
    let mut arguments = arguments.to_vec();
    let mut links_device_code = false;
    let mut compiles_gimple = false;
    let mut nvlink_archs = Vec::new();
    for _ in 0..MAX_DRIVERS {
        if is_linker(&program) {
            break;
        }
        if let Some(line) = linked_by_fatbin(&program, &arguments) {
            links_device_code = true;
            let mut words = line.iter().cloned();
            program = words.next().unwrap_or_default().into();
            arguments = words.collect();
            continue;
        }
        if is_named(&program, LINKER_WRAPPER) {
            links_device_code = true;
            program = linker_path(&arguments).unwrap_or_else(|| "ld".into());
            break;
        }
        let is_nvcc = is_named(&program, "nvcc");
        links_device_code |= is_nvcc;
        let (option, prefix) = if is_nvcc { ("--dryrun", "#$ ") } else { ("-###", " ") };
        let printed = printed_command(&program, &arguments, option, prefix)?;
        links_device_code |= printed.links_device_code;
        compiles_gimple |= printed.compiles_gimple;
        if let Some(nvlink) = printed.nvlink {
            nvlink_archs = nvlink.archs;
            // nvcc -dlink compiles the object that registers the linked code, and links nothing else.
            if printed.words.iter().any(|word| word == "-c") {
                program = "ld".into();
                arguments = nvlink.inputs;
                break;
            }
        }
        let mut words = printed.words.into_iter();
        program = words.next().unwrap_or_default().into();
        arguments = words.collect();
    }
    Ok(LinkerCommand { program, arguments, links_device_code, compiles_gimple, nvlink_archs })
}

/// What a compiler prints.
struct Printed {
    /// True if the commands link device code.
    links_device_code: bool,
    /// True if GCC calls a compiler for devices that is installed.
    compiles_gimple: bool,
    /// The device links of nvcc.
    nvlink: Option<Nvlink>,
    /// The last command.
    words: Vec<OsString>,
}

/// Runs a compiler so that it prints its commands.
fn printed_command(
    program: &Path,
    arguments: &[OsString],
    option: &'static str,
    prefix: &str,
) -> Result<Printed, DriverError> {
    let output = Command::new(program).arg(option).args(arguments).stdin(Stdio::null()).env("LC_ALL", "C").output();
    let output = output.map_err(|cause| DriverError::Start { program: program.to_owned(), cause })?;
    let text = String::from_utf8_lossy(&output.stderr);
    let words = text.lines().rev().find_map(|line| line.strip_prefix(prefix)).map(split).unwrap_or_default();
    if words.is_empty() {
        let message = text.lines().last().unwrap_or_default().to_owned();
        return Err(DriverError::NoLink { program: program.to_owned(), option, message });
    }
    let compiles_gimple = compiles_gimple(&text, &words);
    let nvlink = Nvlink::read(text.lines().filter_map(|line| line.strip_prefix(prefix)));
    Ok(Printed { links_device_code: text.contains(BUNDLER), compiles_gimple, nvlink, words })
}

/// Device links, one for each architecture.
struct Nvlink {
    archs: Vec<String>,
    /// Objects and libraries, as words of a linker that writes a relocatable output.
    inputs: Vec<OsString>,
}

impl Nvlink {
    fn read<'a>(commands: impl Iterator<Item = &'a str>) -> Option<Nvlink> {
        let links: Vec<Vec<OsString>> = commands.filter(|line| line.starts_with("nvlink ")).map(split).collect();
        let arch = |words: &Vec<OsString>| {
            words.iter().find_map(|word| Some(word.to_str()?.strip_prefix("--arch=")?.to_owned()))
        };
        let mut inputs = vec![OsString::from("-r")];
        let mut words = links.first()?.iter().skip(1);
        while let Some(word) = words.next() {
            let text = word.to_string_lossy();
            if ["-o", "--host-ccbin"].contains(&&*text) {
                words.next();
            } else if !text.starts_with('-') || text.starts_with("-L") || text.starts_with("-l") {
                inputs.push(word.clone());
            }
        }
        Some(Nvlink { archs: links.iter().filter_map(arch).collect(), inputs })
    }
}

/// Variable with the targets that GCC compiles offload code for. Source: GCC, `gcc.cc` and `lto-wrapper.cc`.
const GCC_TARGETS: &str = "OFFLOAD_TARGET_NAMES=";

/// Option with the program that compiles the bytecode in objects.
const GCC_PLUGIN: &str = "-plugin-opt=";

/// Returns whether GCC's linker plugin compiles images: it has a target, and the compiler for this target is installed
/// next to the plugin's program. Without one, GCC links no images, and says nothing.
fn compiles_gimple(text: &str, words: &[OsString]) -> bool {
    let Some(targets) = text.lines().find_map(|line| line.strip_prefix(GCC_TARGETS)) else { return false };
    let options = words.iter().filter_map(|word| word.to_str()?.strip_prefix(GCC_PLUGIN));
    let mut wrappers = options.filter(|path| path.ends_with("/lto-wrapper"));
    let Some(directory) = wrappers.next().and_then(|path| Path::new(path).parent()) else { return false };
    targets.split(':').any(|target| directory.join("accel").join(target).join("mkoffload").exists())
}

/// Splits a line that a compiler prints into words. A backslash escapes the next character, except in single quotes.
fn split(text: &str) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(characters.next()),
            ('"' | '\'', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (_, Some(open)) if character == open => quote = None,
            (_, None) if character.is_whitespace() => words.extend(word.take().map(OsString::from)),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word.map(OsString::from));
    words
}

/// True for a linker, and for GCC's `collect2`, which passes its arguments on to one.
fn is_linker(program: &Path) -> bool {
    let name = program.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let last = name.rsplit('-').find(|part| !part.chars().all(|c| c.is_ascii_digit() || c == '.')).unwrap_or(name);
    last == "ld"
        || last.starts_with("ld.")
        || last == "collect2"
        || last == "wild"
        || Linker::from_name(program).is_some()
}

/// Command line after `fatbin link --`.
fn linked_by_fatbin<'a>(program: &Path, arguments: &'a [OsString]) -> Option<&'a [OsString]> {
    if !is_named(program, "fatbin") || arguments.first().is_none_or(|word| word != "link") {
        return None;
    }
    let at = arguments.iter().position(|word| word == "--")?;
    arguments.get(at.checked_add(1)?..)
}

/// Compares the name of a program, ignoring its version.
fn is_named(program: &Path, name: &str) -> bool {
    let own = program.file_name().and_then(OsStr::to_str).unwrap_or_default();
    own.strip_prefix(name).is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || "-.".contains(c)))
}

/// Linker that clang-linker-wrapper calls.
fn linker_path(arguments: &[OsString]) -> Option<PathBuf> {
    let path = |word: &OsString| Some(PathBuf::from(word.to_str()?.strip_prefix("--linker-path=")?));
    arguments.iter().rev().find_map(path)
}

fn because(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(" ({message})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_the_words_that_compilers_print() {
        let cases: [(&str, &[&str]); 5] = [
            ("", &[]),
            ("a  b\n\tc", &["a", "b", "c"]),
            (r#""a b" -o "c\"d" """#, &["a b", "-o", "c\"d", ""]),
            (r"a\ b 'c\d'", &["a b", r"c\d"]),
            ("x\"y z\"", &["xy z"]),
        ];
        for (text, words) in cases {
            assert_eq!(split(text), words, "{text}");
        }
    }

    #[test]
    fn recognizes_linkers_by_their_names() {
        let linkers =
            ["ld", "/usr/bin/ld.bfd", "ld.lld-22", "x86_64-linux-gnu-ld", "mold", "collect2", "ld.gold", "wild"];
        for name in linkers {
            assert!(is_linker(Path::new(name)), "{name}");
        }
        for name in ["cc", "/usr/bin/clang-22", "g++-12", "nvcc", "clang-linker-wrapper-22", "build", "hipcc"] {
            assert!(!is_linker(Path::new(name)), "{name}");
        }
        assert!(is_named(Path::new("/opt/bin/clang-linker-wrapper-22"), LINKER_WRAPPER));
    }

    #[test]
    fn the_command_line_of_a_linker_is_left_as_it_is() {
        let arguments = ["-pie", "a.o"].map(OsString::from);
        let command = linker_command(OsStr::new("ld.lld"), &arguments).unwrap();
        let expected = LinkerCommand {
            program: "ld.lld".into(),
            arguments: arguments.into(),
            links_device_code: false,
            compiles_gimple: false,
            nvlink_archs: Vec::new(),
        };
        assert_eq!(command, expected);
        let arguments = ["link", "-v", "--", "ld.lld", "-pie", "a.o"].map(OsString::from);
        let command = linker_command(OsStr::new("/usr/bin/fatbin"), &arguments).unwrap();
        assert_eq!((command.program, command.links_device_code), ("ld.lld".into(), true));
        assert_eq!(command.arguments, ["-pie", "a.o"]);
        let arguments = ["--linker-path=/usr/bin/ld.lld", "a.o"].map(OsString::from);
        let command = linker_command(OsStr::new("clang-linker-wrapper"), &arguments).unwrap();
        assert_eq!((command.program, command.links_device_code), ("/usr/bin/ld.lld".into(), true));
    }
}
