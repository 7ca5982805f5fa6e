//! A linker's command line: the linker, the type of the output, scripts and inputs.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::driver::{self, LinkerCommand};
use super::linkers::{Inserts, Linker};
use super::script::{Script, ScriptError};
use super::{DoctorOptions, Result};
use crate::link::response_files::{self, Dialect, ResponseFileError};
use crate::link::{HostLine, HostWord, Meaning, find_library};
use fatbin_core::base::code::{Code, Coded, ErrorClass};
use fatbin_core::base::error::Error;
use fatbin_core::base::io::Input;

/// A command line that is not understood.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// A linker without rules.
    #[error("{}: the layout of this linker is not known; specify a similar one with --linker", program.display())]
    UnknownLinker {
        /// The linker.
        program: PathBuf,
    },
    /// An option without its value.
    #[error("{}: missing argument", option.display())]
    MissingValue {
        /// The option.
        option: OsString,
    },
    /// A linker script.
    #[error("{}: {cause}", path.display())]
    Script {
        /// Path of the script.
        path: PathBuf,
        /// The reason.
        cause: ScriptError,
    },
    /// A script for a linker that reads none of its kind.
    #[error("{}: {} reads no scripts with INSERT; link with GNU ld or lld", path.display(), linker.title())]
    UnreadScript {
        /// Path of the script.
        path: PathBuf,
        /// Linker.
        linker: Linker,
    },
    /// The address of a section.
    #[error("{option}: layouts with addresses of sections cannot be predicted; place sections by a script with INSERT")]
    Address {
        /// The option.
        option: String,
    },
    /// A response file.
    #[error(transparent)]
    ResponseFile(#[from] ResponseFileError),
}

impl Coded for LineError {
    fn class(&self) -> ErrorClass {
        match self {
            LineError::MissingValue { .. } => Code::MissingLinkInput.into(),
            LineError::UnknownLinker { .. }
            | LineError::Script { .. }
            | LineError::UnreadScript { .. }
            | LineError::Address { .. }
            | LineError::ResponseFile(_) => Code::UnknownLayout.into(),
        }
    }
}

/// Type of a linker's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputType {
    /// Executable at a fixed address.
    Executable,
    /// Position-independent executable.
    Pie,
    /// Shared library.
    Shared,
    /// Object.
    Relocatable,
}

/// An input of a linker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineInput {
    /// Path.
    pub path: PathBuf,
    /// True if all members of an archive are linked.
    pub is_whole: bool,
}

/// Linker and options that determine the layout of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// Linker.
    pub linker: Linker,
    /// Type of the output.
    pub output_type: OutputType,
    /// Address of the output, if the command line states it.
    pub base: Option<u64>,
    /// True if large read-only sections follow all others (`-z lrodata-after-bss` of lld).
    pub places_large_last: bool,
}

/// A linker's command line.
#[derive(Debug)]
pub struct LinkLine {
    /// Linker, output and options of the layout.
    pub placement: Placement,
    /// True if the command links device code and registers the images.
    pub links_device_code: bool,
    /// True if GCC compiles images from its bytecode in the objects.
    pub compiles_gimple: bool,
    /// Architectures that nvlink links device code for.
    pub nvlink_archs: Vec<String>,
    /// True if a library uses its own functions before those of others (`-Bsymbolic`).
    pub binds_symbols: bool,
    /// Scripts that add sections to the default layout.
    pub scripts: Vec<Script>,
    /// Inputs, in order.
    pub inputs: Vec<LineInput>,
}

/// Options with the path of a linker script.
const SCRIPT_OPTIONS: [&str; 4] = ["-T", "--script", "-dT", "--default-script"];

/// Options that begin like an option with a script, but state addresses.
const ADDRESS_OPTIONS: [&str; 5] = ["-Ttext", "-Tdata", "-Tbss", "-Trodata", "-Tldata"];

impl OutputType {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            OutputType::Executable => "executable",
            OutputType::Pie => "pie",
            OutputType::Shared => "shared",
            OutputType::Relocatable => "relocatable",
        }
    }

    /// True if the loader may change its address.
    pub fn is_position_independent(self) -> bool {
        self != OutputType::Executable
    }
}

impl LinkLine {
    /// Reads the command line. For a compiler, this is the command line of its linker.
    pub fn new(options: &DoctorOptions) -> Result<LinkLine> {
        let objects = options.objects.iter().map(|path| LineInput { path: path.into(), is_whole: true });
        let Some((program, arguments)) = options.line.split_first() else {
            let linker = options.linker.unwrap_or(Linker::Bfd);
            let placement = Placement { linker, output_type: OutputType::Pie, base: None, places_large_last: false };
            return Ok(LinkLine {
                placement,
                links_device_code: false,
                compiles_gimple: false,
                nvlink_archs: Vec::new(),
                binds_symbols: false,
                scripts: Vec::new(),
                inputs: objects.collect(),
            });
        };
        // GCC passes the words of response files on in a temporary response file, and then removes it.
        let given = expand(Path::new(program), arguments.to_vec())?;
        let LinkerCommand { program, arguments, links_device_code, compiles_gimple, nvlink_archs } =
            driver::linker_command(program, &given)?;
        let words = expand(&program, arguments)?;
        let Some(linker) = options.linker.or_else(|| linker(&program, &words)) else {
            return Err(LineError::UnknownLinker { program }.into());
        };
        let placement = Placement {
            linker,
            output_type: output_type(&words),
            base: base(&words)?,
            places_large_last: places_large_last(&words),
        };
        // Other linkers do not call GCC's plugin for offload code.
        let compiles_gimple = compiles_gimple && matches!(linker, Linker::Bfd | Linker::Gold);
        let inputs = objects.collect();
        let binds_symbols = words.iter().any(|word| word.to_str().is_some_and(|word| word.starts_with("-Bsymbolic")));
        let mut line = LinkLine {
            placement,
            links_device_code,
            compiles_gimple,
            nvlink_archs,
            binds_symbols,
            scripts: Vec::new(),
            inputs,
        };
        let host = HostLine::parse(words).map_err(|missing| LineError::MissingValue { option: missing.option })?;
        line.add_words(&host, &given, options)?;
        Ok(line)
    }

    /// Adds the words of the linker; the user gave some of them.
    fn add_words(&mut self, host: &HostLine, given: &[OsString], options: &DoctorOptions) -> Result<()> {
        let mut takes_all = false;
        let mut script_follows = false;
        let before = std::iter::once(None).chain(host.words.iter().map(|word| word.written.last()));
        for (HostWord { meaning, written }, before) in host.words.iter().zip(before) {
            let is_script_path = std::mem::take(&mut script_follows);
            let path = match meaning {
                Meaning::Input(path) if is_script_path => {
                    self.add_script(Path::new(path), options)?;
                    continue;
                }
                Meaning::Input(path) | Meaning::WholeInput(path) => Some(PathBuf::from(path)),
                Meaning::Library(name) => find_library(host, name),
                Meaning::WholeArchive(on) => {
                    takes_all = *on;
                    continue;
                }
                Meaning::Relocatable => {
                    self.placement.output_type = OutputType::Relocatable;
                    continue;
                }
                Meaning::Other => {
                    match script_option(written) {
                        Some(ScriptOption::Separate) => script_follows = true,
                        Some(ScriptOption::Joined(path)) => self.add_script(&path, options)?,
                        None => {}
                    }
                    continue;
                }
                Meaning::LibraryDirectory(_) | Meaning::RunPath(_) | Meaning::Sysroot(_) | Meaning::Output(_) => {
                    continue;
                }
            };
            let is_whole = takes_all || matches!(meaning, Meaning::WholeInput(_));
            // The value of an unknown option looks like an input.
            match path.filter(|path| path.is_file()) {
                Some(path) if is_script(&path, options)? => self.add_script(&path, options)?,
                Some(path) => self.inputs.push(LineInput { path, is_whole }),
                None => check_exists(meaning, before, given)?,
            }
        }
        Ok(())
    }

    fn add_script(&mut self, path: &Path, options: &DoctorOptions) -> Result<()> {
        let input = Input::open_file(path.to_owned(), options.access)?;
        let text = String::from_utf8_lossy(input.view().data()).into_owned();
        let script = Script::parse(&text).map_err(|cause| LineError::Script { path: path.to_owned(), cause })?;
        if !script.is_empty() && self.placement.linker.rules().inserts == Inserts::Refused {
            return Err(LineError::UnreadScript { path: path.to_owned(), linker: self.placement.linker }.into());
        }
        self.scripts.extend(script);
        Ok(())
    }
}

/// Options of linkers whose value is a name, or a file to be written.
const NAME_OPTIONS: [&str; 8] =
    ["-soname", "--soname", "-h", "-install_name", "-Map", "--Map", "--out-implib", "--dependency-file"];

/// Extensions of objects and static libraries.
const INPUT_EXTENSIONS: [&str; 5] = ["o", "obj", "a", "lib", "lo"];

/// Checks that an input exists, unless an earlier step of the compiler would write it. After another option, only a
/// word with the extension of an object or a library is certainly an input.
fn check_exists(meaning: &Meaning, before: Option<&OsString>, given: &[OsString]) -> Result<()> {
    let (Meaning::Input(path) | Meaning::WholeInput(path)) = meaning else { return Ok(()) };
    let is_given = given.contains(path);
    let path = Path::new(path);
    let follows_option = before.is_some_and(|word| word.as_encoded_bytes().starts_with(b"-"));
    let is_name = before.is_some_and(|word| NAME_OPTIONS.iter().any(|option| word == option));
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    if !is_given || is_name || follows_option && !INPUT_EXTENSIONS.contains(&extension) {
        return Ok(());
    }
    std::fs::metadata(path).map_err(Error::io(path, "open"))?;
    Ok(())
}

/// Replaces `@FILE` by the words in the file.
fn expand(program: &Path, words: Vec<OsString>) -> Result<Vec<OsString>, LineError> {
    let dialect = Dialect::of_program(program, &words);
    Ok(response_files::expand(words, dialect)?.words)
}

/// GCC's collect2 receives the option that selects the linker.
fn linker(program: &Path, words: &[OsString]) -> Option<Linker> {
    let selected = words.iter().rev().find_map(|word| word.to_str()?.strip_prefix("-fuse-ld=").map(PathBuf::from));
    let named = selected.unwrap_or_else(|| program.to_owned());
    let name = named.file_name().and_then(OsStr::to_str)?;
    match Linker::from_name(&named) {
        Some(linker) => Some(linker),
        // Every system's default linker has this name, so the file behind it decides.
        None if name == "collect2" || name == "ld" || name.ends_with("-ld") => {
            let path = if named.is_file() && name != "collect2" { named } else { default_linker()? };
            let target = std::fs::canonicalize(&path).unwrap_or(path);
            Some(Linker::from_name(&target).unwrap_or(Linker::Bfd))
        }
        None => None,
    }
}

/// First file in `PATH` with the name of the default linker.
fn default_linker() -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|directory| directory.join("ld")).find(|path| path.is_file())
}

fn output_type(words: &[OsString]) -> OutputType {
    let of_word = |word: &OsString| match word.to_str()?.trim_start_matches('-') {
        "shared" | "Bshareable" => Some(OutputType::Shared),
        "pie" | "pic-executable" | "static-pie" => Some(OutputType::Pie),
        "no-pie" | "nopie" => Some(OutputType::Executable),
        _ => None,
    };
    let is_option = |word: &&OsString| word.as_encoded_bytes().starts_with(b"-");
    words.iter().rev().filter(is_option).find_map(of_word).unwrap_or(OutputType::Executable)
}

/// Address of the output, if the words state it. Addresses of single sections are not supported.
fn base(words: &[OsString]) -> Result<Option<u64>, LineError> {
    let mut base = None;
    let mut words = words.iter().filter_map(|word| word.to_str()).peekable();
    while let Some(word) = words.next() {
        let (option, value) = word.split_once('=').map_or((word, None), |(option, value)| (option, Some(value)));
        let name = option.trim_start_matches('-');
        if !option.starts_with('-') || !ADDRESSES.contains(&name) {
            continue;
        }
        let value = value.or_else(|| words.next()).unwrap_or_default();
        let digits = value.strip_prefix("0x").unwrap_or(value);
        // GNU ld reads addresses of segments as hexadecimal, with and without the prefix. lld requires the prefix.
        match u64::from_str_radix(digits, 16) {
            Ok(address) if name == "image-base" || name == "Ttext-segment" => base = Some(address),
            _ => return Err(LineError::Address { option: option.to_owned() }),
        }
    }
    Ok(base)
}

/// Options that state addresses, without the dashes.
const ADDRESSES: [&str; 6] = ["image-base", "Ttext-segment", "Ttext", "Tdata", "Tbss", "section-start"];

fn places_large_last(words: &[OsString]) -> bool {
    let mut keywords =
        words.iter().filter_map(|word| word.to_str()).map(|word| word.strip_prefix("-z").unwrap_or(word));
    keywords.rfind(|word| word.ends_with("lrodata-after-bss")) == Some("lrodata-after-bss")
}

/// Option with the path of a linker script.
#[derive(Debug, PartialEq, Eq)]
enum ScriptOption {
    /// The path is the next word.
    Separate,
    /// The path is in the same word.
    Joined(PathBuf),
}

/// Reads a word as an option with the path of a linker script.
fn script_option(written: &[OsString]) -> Option<ScriptOption> {
    let [word] = written else { return None };
    let word = word.to_str()?;
    if SCRIPT_OPTIONS.contains(&word) {
        return Some(ScriptOption::Separate);
    }
    let is_address = ADDRESS_OPTIONS.iter().any(|option| word.starts_with(option));
    let joined = word.strip_prefix("--script=").or_else(|| word.strip_prefix("--default-script="));
    let joined = if is_address { joined } else { joined.or_else(|| word.strip_prefix("-T")) };
    joined.map(|path| ScriptOption::Joined(path.into()))
}

/// True for a linker script that describes sections. Linkers read every file of unknown format as a script, and
/// libraries such as `libc.so` are scripts that name others.
fn is_script(path: &Path, options: &DoctorOptions) -> Result<bool, Error> {
    const LONGEST: u64 = 1 << 20;
    let input = Input::open_file(path.to_owned(), options.access)?;
    let bytes = input.view().data();
    let is_text = input.size() < LONGEST && !bytes.contains(&0);
    Ok(is_text && bytes.windows(8).any(|window| window == b"SECTIONS"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &[&str]) -> DoctorOptions {
        DoctorOptions {
            line: line.iter().map(OsString::from).collect(),
            objects: vec!["x.o".into()],
            linker: None,
            access: fatbin_core::base::io::Access::read(),
            limits: fatbin_core::base::bytes::Limits::default(),
        }
    }

    #[test]
    fn the_words_decide_on_linker_and_output() {
        let cases: [(&[&str], Linker, OutputType); 6] = [
            (&["ld.lld", "-shared", "link"], Linker::Lld, OutputType::Shared),
            (&["/usr/bin/ld.gold", "link"], Linker::Gold, OutputType::Executable),
            (&["mold", "-pie", "link"], Linker::Mold, OutputType::Pie),
            (&["x86_64-linux-gnu-ld.bfd", "-r", "link"], Linker::Bfd, OutputType::Relocatable),
            (&["collect2", "-fuse-ld=mold", "-pie", "link"], Linker::Mold, OutputType::Pie),
            (&["ld.lld-22", "-pie", "--no-pie", "link"], Linker::Lld, OutputType::Executable),
        ];
        for (words, linker, output_type) in cases {
            let line = LinkLine::new(&options(words)).unwrap();
            assert_eq!((line.placement.linker, line.placement.output_type), (linker, output_type), "{words:?}");
            // A directory is not an input.
            assert_eq!(line.inputs, [LineInput { path: "x.o".into(), is_whole: true }]);
        }
        let error = LinkLine::new(&options(&["wild", "link"])).unwrap_err().to_string();
        assert_eq!(error, "wild: the layout of this linker is not known; specify a similar one with --linker");
    }

    #[test]
    fn the_words_decide_on_addresses() {
        let placement = |words: &[&str]| LinkLine::new(&options(words)).map(|line| line.placement);
        let default = placement(&["ld.lld", "link"]).unwrap();
        let moved = Placement { base: Some(0x1_0000), ..default };
        for word in ["--image-base=0x10000", "-Ttext-segment=10000"] {
            assert_eq!(placement(&["ld.lld", word, "link"]).unwrap(), moved, "{word}");
        }
        assert_eq!(placement(&["ld.lld", "--image-base", "0x10000", "link"]).unwrap(), moved);
        for words in [["-z", "lrodata-after-bss"], ["link", "-zlrodata-after-bss"]] {
            let words = [&["ld.lld"], &words[..]].concat();
            assert_eq!(placement(&words).unwrap(), Placement { places_large_last: true, ..default }, "{words:?}");
        }
        let error = placement(&["ld.bfd", "-Ttext=0x1000"]).unwrap_err().to_string();
        assert!(error.starts_with("-Ttext: layouts with addresses of sections cannot be predicted"), "{error}");
    }

    #[test]
    fn finds_the_paths_of_scripts() {
        let cases = [
            ("-Ta.ld", Some(ScriptOption::Joined("a.ld".into()))),
            ("--script=a.ld", Some(ScriptOption::Joined("a.ld".into()))),
            ("-T", Some(ScriptOption::Separate)),
            ("-Ttext=0", None),
            ("-pie", None),
        ];
        for (word, expected) in cases {
            assert_eq!(script_option(&[word.into()]), expected, "{word}");
        }
    }
}
