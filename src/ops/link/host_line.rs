//! The command line of a host linker: its words, and their meaning for device code.
//!
//! A word without a meaning here is passed on in its place, because linkers have too many options to list. The value of
//! such an option looks like an input, and is one only if a file of that name has device code. Source:
//! clang-linker-wrapper 22.1.8.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::response_files::Dialect;
use super::words::joined;
use fatbin_core::base::io::os_string;

/// Words of a host linker's command line, without the linker itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostLine {
    /// Words in groups that belong together: an option and its value.
    pub words: Vec<HostWord>,
    /// True for a program that links nothing, whose words have no meaning here.
    pub links_nothing: bool,
    /// Dialect of the response files in the line; `None` if there are none.
    pub response_files: Option<&'static Dialect>,
}

/// Replacement of an input of the linker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replacement {
    /// The input stays.
    Nothing,
    /// The input is removed.
    Removed,
    /// Another file replaces the input.
    By(PathBuf),
}

/// A word that a linker sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The word.
    pub text: OsString,
    /// Words that pass it to the program. The program may be a compiler.
    pub written: Vec<OsString>,
}

/// An option with its value, or another word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostWord {
    /// Meaning for device code.
    pub meaning: Meaning,
    /// Words as the user gave them.
    pub written: Vec<OsString>,
}

/// Meaning of a word for device code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    /// An input, or the value of an option that is not known here.
    Input(OsString),
    /// A library, by the name after `-l`.
    Library(OsString),
    /// A directory with libraries.
    LibraryDirectory(OsString),
    /// A directory that the linked program searches for libraries.
    RunPath(OsString),
    /// Directory that replaces `=` at the start of a directory with libraries.
    Sysroot(OsString),
    /// An archive whose members are all linked.
    WholeInput(OsString),
    /// The output file.
    Output(OsString),
    /// True if members of the archives that follow are linked even if nothing refers to them.
    WholeArchive(bool),
    /// The output is an object.
    Relocatable,
    /// No meaning for device code.
    Other,
}

/// An option without the value that it requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingValue {
    /// The option.
    pub option: OsString,
}

/// Forms of an option with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The value follows in the same word: `-Ldir`, `--output=file`.
    Joined,
    /// The value is the next word.
    Separate,
    /// Either.
    Both,
}

/// Meaning of an option with a value.
type MeaningOf = fn(OsString) -> Meaning;

/// Option of Microsoft's linker for a library, on its line and in the directives of objects.
pub const DEFAULT_LIBRARY: &str = "-defaultlib:";

/// Options with a value. An option precedes any option that is a prefix of it.
const WITH_VALUE: [(&str, Form, MeaningOf); 20] = [
    // Microsoft's linker.
    ("-out:", Form::Joined, Meaning::Output),
    ("-libpath:", Form::Joined, Meaning::LibraryDirectory),
    (DEFAULT_LIBRARY, Form::Joined, default_library),
    ("-wholearchive:", Form::Joined, Meaning::WholeInput),
    ("--output=", Form::Joined, Meaning::Output),
    ("--output", Form::Separate, Meaning::Output),
    ("-o", Form::Both, Meaning::Output),
    ("--library-path=", Form::Joined, Meaning::LibraryDirectory),
    ("-library-path=", Form::Joined, Meaning::LibraryDirectory),
    ("--library-path", Form::Separate, Meaning::LibraryDirectory),
    ("-library-path", Form::Separate, Meaning::LibraryDirectory),
    ("-L", Form::Both, Meaning::LibraryDirectory),
    // The tool reads the value of `--library=` as a path; linkers do not.
    ("--library=", Form::Joined, Meaning::Library),
    ("--rpath=", Form::Joined, Meaning::RunPath),
    ("-rpath=", Form::Joined, Meaning::RunPath),
    ("--rpath", Form::Separate, Meaning::RunPath),
    ("-rpath", Form::Separate, Meaning::RunPath),
    ("--sysroot=", Form::Joined, Meaning::Sysroot),
    // macOS.
    ("-force_load", Form::Separate, Meaning::WholeInput),
    ("-l", Form::Both, Meaning::Library),
];

/// Options whose value is the name of the shared library. The name is often its path.
const NAME_OPTIONS: [&str; 4] = ["-soname", "--soname", "-h", "-install_name"];

/// Options without a value.
const FLAGS: [(&str, Meaning); 8] = [
    ("--whole-archive", Meaning::WholeArchive(true)),
    ("-whole-archive", Meaning::WholeArchive(true)),
    ("--no-whole-archive", Meaning::WholeArchive(false)),
    ("-no-whole-archive", Meaning::WholeArchive(false)),
    // macOS.
    ("-all_load", Meaning::WholeArchive(true)),
    ("-r", Meaning::Relocatable),
    ("--relocatable", Meaning::Relocatable),
    ("-relocatable", Meaning::Relocatable),
];

/// Linker options that begin like an option with a value. The last two are for macOS.
const OTHERS: [&str; 4] = ["-oformat", "-omagic", "-lto_library", "-object_path_lto"];

impl HostLine {
    /// Parses words in the syntax of linkers for ELF, or of a compiler that calls one.
    pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self, MissingValue> {
        HostLine::of_tokens(words.into_iter().map(|word| Token { text: word.clone(), written: vec![word] }))
    }

    /// Parses the words that a linker sees.
    pub fn of_tokens(tokens: impl IntoIterator<Item = Token>) -> Result<Self, MissingValue> {
        let mut line = HostLine::default();
        let mut tokens = tokens.into_iter();
        while let Some(Token { text, mut written }) = tokens.next() {
            let meaning = match read(&text) {
                Word::Complete(meaning) => meaning,
                Word::Needs(meaning) => {
                    let value = tokens.next().ok_or_else(|| MissingValue { option: text.clone() })?;
                    written.extend(value.written);
                    meaning(value.text)
                }
            };
            line.words.push(HostWord { meaning, written });
        }
        Ok(line)
    }

    /// Output file; the last one if there are several.
    pub fn output(&self) -> Option<&OsStr> {
        self.words.iter().rev().find_map(|word| match &word.meaning {
            Meaning::Output(path) => Some(path.as_os_str()),
            _ => None,
        })
    }

    /// Inputs, and values of options that are not known here, except the name of the shared library.
    pub fn inputs(&self) -> impl Iterator<Item = &OsStr> {
        let before = std::iter::once(None).chain(self.words.iter().map(|word| word.written.last()));
        let is_name =
            |option: Option<&OsString>| option.is_some_and(|word| NAME_OPTIONS.iter().any(|name| word == name));
        self.words.iter().zip(before).filter_map(move |(word, before)| match &word.meaning {
            Meaning::Input(path) | Meaning::WholeInput(path) if !is_name(before) => Some(path.as_os_str()),
            _ => None,
        })
    }

    /// Words as the user gave them, with replacements for inputs that the linker cannot read. Objects precede the first
    /// library, because the library may define what they use.
    pub fn with_objects(&self, objects: &[PathBuf], replacement: &dyn Fn(&OsStr) -> Replacement) -> Vec<OsString> {
        let is_library = |word: &HostWord| matches!(word.meaning, Meaning::Library(_) | Meaning::WholeArchive(_));
        let at = self.words.iter().position(is_library).unwrap_or(self.words.len());
        let (before, after) = self.words.split_at(at);
        let written = |words: &[HostWord]| words.iter().flat_map(|word| word.replaced(replacement)).collect::<Vec<_>>();
        [written(before), objects.iter().map(OsString::from).collect(), written(after)].concat()
    }

    /// Words as clang-linker-wrapper passes them on: in one spelling, with the objects after every output.
    pub fn respelled(&self, objects: &[PathBuf]) -> Vec<OsString> {
        let mut words = Vec::new();
        for word in &self.words {
            words.extend(word.respelled());
            if let Meaning::Output(_) = word.meaning {
                words.extend(objects.iter().map(OsString::from));
            }
        }
        words
    }

    /// True if the output is an object.
    pub fn is_relocatable(&self) -> bool {
        self.words.iter().any(|word| word.meaning == Meaning::Relocatable)
    }
}

impl HostWord {
    /// True for an option with a library, or with a directory of libraries.
    pub fn is_library_option(&self) -> bool {
        matches!(self.meaning, Meaning::Library(_) | Meaning::LibraryDirectory(_) | Meaning::RunPath(_))
    }

    /// Last word as the linker sees it.
    pub fn text(&self) -> &[u8] {
        let bytes = self.written.last().map_or(&[][..], |word| word.as_encoded_bytes());
        bytes.strip_prefix(b"-Wl,").unwrap_or(bytes)
    }

    /// Words as the linker sees them: several for a compiler's `-Wl,-u,NAME`.
    pub fn linker_words(&self) -> impl Iterator<Item = &[u8]> {
        let list = self.written.last().and_then(|word| word.as_encoded_bytes().strip_prefix(b"-Wl,"));
        let single = if list.is_some() { None } else { self.written.last().map(|word| word.as_encoded_bytes()) };
        list.into_iter().flat_map(|list| list.split(|&byte| byte == b',')).chain(single)
    }

    /// Words as the user gave them, with another input or none.
    fn replaced(&self, replacement: &dyn Fn(&OsStr) -> Replacement) -> Vec<OsString> {
        let Meaning::Input(path) = &self.meaning else { return self.written.clone() };
        match replacement(path) {
            Replacement::Nothing => self.written.clone(),
            Replacement::Removed => Vec::new(),
            Replacement::By(path) => vec![path.into()],
        }
    }

    /// Words for a compiler that calls the linker.
    pub fn for_compiler(&self) -> Vec<OsString> {
        match &self.meaning {
            Meaning::RunPath(directory) => vec![joined("-Wl,-rpath,", directory)],
            Meaning::WholeArchive(true) => vec!["-Wl,--whole-archive".into()],
            Meaning::WholeArchive(false) => vec!["-Wl,--no-whole-archive".into()],
            _ => self.respelled(),
        }
    }

    /// Words as clang-linker-wrapper passes them to clang for a CPU as a device.
    pub fn for_clang(&self) -> Vec<OsString> {
        match &self.meaning {
            Meaning::WholeArchive(_) => self.for_compiler(),
            _ => self.respelled(),
        }
    }

    /// Words in the spelling of clang-linker-wrapper.
    pub fn respelled(&self) -> Vec<OsString> {
        let is_microsoft = self.written.first().is_some_and(|word| is_microsoft(word));
        let option = match &self.meaning {
            Meaning::Output(_) | Meaning::LibraryDirectory(_) if is_microsoft => return self.written.clone(),
            Meaning::Output(value) => ["-o".into(), value.clone()],
            Meaning::Library(value) => ["-l".into(), value.clone()],
            Meaning::LibraryDirectory(value) => ["-L".into(), value.clone()],
            Meaning::RunPath(value) if self.written.len() == 1 => ["--rpath".into(), value.clone()],
            Meaning::Relocatable if self.written == ["-r"] => return vec!["--relocatable".into()],
            Meaning::Input(_)
            | Meaning::WholeInput(_)
            | Meaning::RunPath(_)
            | Meaning::Sysroot(_)
            | Meaning::WholeArchive(_)
            | Meaning::Relocatable
            | Meaning::Other => return self.written.clone(),
        };
        option.into()
    }
}

/// A word without a value, or an option whose value follows.
enum Word {
    Complete(Meaning),
    Needs(MeaningOf),
}

fn read(word: &OsStr) -> Word {
    let bytes = word.as_encoded_bytes();
    // Compilers pass this on to their linker.
    let text = bytes.strip_prefix(b"-Wl,").unwrap_or(bytes);
    if let Some((_, meaning)) = FLAGS.iter().find(|(flag, _)| flag.as_bytes() == text) {
        return Word::Complete(meaning.clone());
    }
    if is_whole_line(bytes) {
        return Word::Complete(Meaning::WholeArchive(true));
    }
    if OTHERS.iter().any(|other| bytes.starts_with(other.as_bytes())) {
        return Word::Complete(Meaning::Other);
    }
    for (option, form, meaning) in WITH_VALUE {
        match value_of(bytes, option) {
            Some([]) if form != Form::Joined => return Word::Needs(meaning),
            Some(value @ [_, ..]) if form != Form::Separate => {
                return Word::Complete(meaning(os_string(value)));
            }
            _ => {}
        }
    }
    let is_input = !bytes.starts_with(b"-") || bytes == b"-";
    Word::Complete(if is_input { Meaning::Input(word.to_owned()) } else { Meaning::Other })
}

/// The file of a library that Microsoft's linker searches like an input. Its extension may be missing.
fn default_library(name: OsString) -> Meaning {
    let mut path = PathBuf::from(name);
    if path.extension().is_none() {
        path.set_extension("lib");
    }
    Meaning::Input(path.into())
}

/// True for the option of Microsoft's linker that takes all members of all archives.
pub fn is_whole_line(word: &[u8]) -> bool {
    word.split_first().is_some_and(|(first, name)| b"-/".contains(first) && name.eq_ignore_ascii_case(b"wholearchive"))
}

fn is_microsoft(word: &OsStr) -> bool {
    let mut options = WITH_VALUE.iter().filter(|(option, ..)| option.ends_with(':'));
    options.any(|(option, ..)| value_of(word.as_encoded_bytes(), option).is_some())
}

/// Text after an option. Options that end in a colon are Microsoft's. Their case does not matter, and they may begin
/// with a slash.
fn value_of<'a>(word: &'a [u8], option: &str) -> Option<&'a [u8]> {
    if !option.ends_with(':') {
        return word.strip_prefix(option.as_bytes());
    }
    let (first, rest) = word.split_first()?;
    let (name, value) = rest.split_at_checked(option.len() - 1)?;
    let is_option = matches!(first, b'-' | b'/') && name.eq_ignore_ascii_case(&option.as_bytes()[1..]);
    is_option.then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Vec<Meaning> {
        let words = HostLine::parse(line.split(' ').map(OsString::from)).unwrap().words;
        words.into_iter().map(|word| word.meaning).collect()
    }

    #[test]
    fn words_have_the_meaning_that_linkers_give_them() {
        use Meaning::{
            Input, Library, LibraryDirectory, Other, Output, Relocatable, RunPath, Sysroot, WholeArchive, WholeInput,
        };
        let cases = [
            ("a.o", Input("a.o".into())),
            ("-", Input("-".into())),
            ("-oa", Output("a".into())),
            ("-o a", Output("a".into())),
            ("--output=a", Output("a".into())),
            ("--output a", Output("a".into())),
            ("-Ldir", LibraryDirectory("dir".into())),
            ("-L dir", LibraryDirectory("dir".into())),
            ("--library-path=dir", LibraryDirectory("dir".into())),
            ("-library-path dir", LibraryDirectory("dir".into())),
            ("-lx", Library("x".into())),
            ("-l :libx.a", Library(":libx.a".into())),
            ("--library=x", Library("x".into())),
            ("-rpath=dir", RunPath("dir".into())),
            ("--rpath dir", RunPath("dir".into())),
            ("--sysroot=/root", Sysroot("/root".into())),
            ("-whole-archive", WholeArchive(true)),
            ("-Wl,--no-whole-archive", WholeArchive(false)),
            ("-r", Relocatable),
            ("--oformat=binary", Other),
            ("-omagic", Other),
            ("-lto_library", Other),
            ("-object_path_lto", Other),
            ("-out:a.exe", Output("a.exe".into())),
            ("/OUT:a.exe", Output("a.exe".into())),
            ("/libpath:lib", LibraryDirectory("lib".into())),
            ("-WholeArchive:x.lib", WholeInput("x.lib".into())),
            ("/out/a.obj", Input("/out/a.obj".into())),
            ("--as-needed", Other),
            ("-static", Other),
        ];
        for (line, meaning) in cases {
            assert_eq!(parse(line), [meaning], "{line}");
        }
        assert_eq!(parse("-m elf_x86_64"), [Other, Input("elf_x86_64".into())]);
    }

    #[test]
    fn the_last_output_counts_and_an_option_needs_its_value() {
        let line = HostLine::parse(["-o", "a", "x.o", "-ob"].map(OsString::from)).unwrap();
        assert_eq!(line.output(), Some(OsStr::new("b")));
        assert!(!line.is_relocatable());
        let missing = HostLine::parse(["x.o", "-o"].map(OsString::from)).unwrap_err();
        assert_eq!(missing.option, "-o");
    }
}
