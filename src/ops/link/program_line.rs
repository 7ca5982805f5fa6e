//! The words that a host linker sees, from the command line of its program: a linker, or a compiler that calls one.
//!
//! Response files are expanded, and the compilers' options for words of the linker (`-Wl,`, `-Xlinker`) are taken
//! apart. Each word keeps a spelling that means the same to the program.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::error::{LinkError, Result};
use super::host_line::{HostLine, HostWord, Meaning, MissingValue, Token};
use super::program_names;
use super::response_files::{self, Dialect, Expanded, GNU};
use super::words::joined;
use fatbin_core::base::io::os_string;

/// Option of compilers with words for the linker, separated by commas.
const LIST: &str = "-Wl,";

/// Options of compilers whose value is a word for the linker.
const WORD: [&str; 2] = ["-Xlinker", "--for-linker"];

/// Options that change the treatment of the inputs after them.
const STATES: [&[u8]; 9] = [
    b"--push-state",
    b"--pop-state",
    b"-Bstatic",
    b"-dn",
    b"-non_shared",
    b"-Bdynamic",
    b"-dy",
    b"-call_shared",
    b"-static",
];

/// Treatment of the inputs at a place of the line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InputState {
    /// True if all members of archives are linked.
    pub takes_all: bool,
    /// True if no shared libraries are searched.
    pub is_static: bool,
}

/// Treatment of the inputs from the start of a line to its end.
#[derive(Debug, Default)]
pub struct InputStates {
    /// Treatment of the next input.
    pub now: InputState,
    saved: Vec<InputState>,
}

impl HostLine {
    /// Reads the command line of a program as the program and its linker read it. The words of a program that links
    /// nothing have no meaning.
    pub fn of_program(program: &Path, words: Vec<OsString>) -> Result<HostLine> {
        if program_names::links_nothing(program, &words) {
            let unread = |word| HostWord { meaning: Meaning::Other, written: vec![word] };
            let words = words.into_iter().map(unread).collect();
            return Ok(HostLine { words, links_nothing: true, ..HostLine::default() });
        }
        let dialect = Dialect::of_program(program, &words);
        let Expanded { words, mut has_response_files } = response_files::expand(words, dialect)?;
        let mut tokens = Vec::new();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let bytes = word.as_encoded_bytes();
            if let Some(list) = bytes.strip_prefix(LIST.as_bytes()) {
                has_response_files |= add_list(&mut tokens, list, &word)?;
            } else if WORD.iter().any(|option| option.as_bytes() == bytes) {
                let missing = || LinkError::MissingValue(MissingValue { option: word.clone() });
                let value = words.next().ok_or_else(missing)?;
                tokens.push(Token { text: value.clone(), written: vec![word, value] });
            } else {
                tokens.push(Token { text: word.clone(), written: vec![word] });
            }
        }
        let line = HostLine::of_tokens(tokens).map_err(LinkError::MissingValue)?;
        Ok(HostLine { response_files: has_response_files.then_some(dialect), ..line })
    }
}

/// Adds the words of a list. Returns whether some are from response files. A list without a word that concerns device
/// code stays as written.
fn add_list(tokens: &mut Vec<Token>, list: &[u8], word: &OsStr) -> Result<bool> {
    let items: Vec<OsString> = list.split(|&byte| byte == b',').map(os_string).collect();
    let is_single = items.len() == 1;
    // A linker reads its response files itself.
    let Expanded { words, has_response_files } = response_files::expand(items, &GNU)?;
    let spelled = |text: OsString| {
        let has_comma = text.as_encoded_bytes().contains(&b',');
        let written = if has_comma { vec![WORD[0].into(), text.clone()] } else { vec![joined(LIST, &text)] };
        Token { text, written }
    };
    let items: Vec<Token> = words.into_iter().map(spelled).collect();
    let states_device_code = |item: &Token| STATES.contains(&item.text.as_encoded_bytes());
    let concerns = has_response_files || is_single || items.iter().any(states_device_code) || {
        // An option and its value in two words.
        HostLine::of_tokens(items.iter().cloned())
            .map_or(true, |line| line.words.iter().any(|word| !is_of_no_concern(&word.meaning)))
    };
    if concerns {
        tokens.extend(items);
    } else {
        tokens.push(Token { text: word.to_owned(), written: vec![word.to_owned()] });
    }
    Ok(has_response_files)
}

/// True for an option, or for the value of one if it is not a file.
fn is_of_no_concern(meaning: &Meaning) -> bool {
    match meaning {
        Meaning::Other | Meaning::RunPath(_) => true,
        Meaning::Input(path) => !Path::new(path).is_file(),
        _ => false,
    }
}

impl InputStates {
    /// Treatment at the start of a line. A static program's line is static as a whole.
    pub fn new(line: &HostLine) -> InputStates {
        let has = |words: &[&[u8]]| line.words.iter().any(|word| words.contains(&word.text()));
        let now = InputState {
            takes_all: line.words.iter().any(|word| super::host_line::is_whole_line(word.text())),
            is_static: has(&[b"-static", b"--static", b"-static-pie"]),
        };
        InputStates { now, saved: Vec::new() }
    }

    /// Applies a word.
    pub fn apply(&mut self, meaning: &Meaning, text: &[u8]) {
        match (meaning, text) {
            (Meaning::WholeArchive(on), _) => self.now.takes_all = *on,
            (Meaning::Other, b"-Bstatic" | b"-dn" | b"-non_shared") => self.now.is_static = true,
            (Meaning::Other, b"-Bdynamic" | b"-dy" | b"-call_shared") => self.now.is_static = false,
            (Meaning::Other, b"--push-state") => self.saved.push(self.now),
            (Meaning::Other, b"--pop-state") => self.now = self.saved.pop().unwrap_or(self.now),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::host_line::Replacement;

    fn line(words: &[&str]) -> HostLine {
        let words = words.iter().map(OsString::from).collect();
        HostLine::of_program(Path::new("cc"), words).unwrap()
    }

    fn library(name: &str) -> Meaning {
        Meaning::Library(name.into())
    }

    #[test]
    fn the_words_of_the_linker_are_found_in_every_form() {
        let forms: [&[&str]; 6] = [
            &["-L", "d", "-lk"],
            &["-Wl,-Ld,-lk"],
            &["-Wl,-L,d,-l,k"],
            &["-Wl,-L", "-Wl,d", "-Wl,-lk"],
            &["-Xlinker", "-Ld", "-Xlinker", "-lk"],
            &["-Xlinker", "-L", "-Xlinker", "d", "--for-linker", "-lk"],
        ];
        for words in forms {
            let meanings: Vec<Meaning> = line(words).words.into_iter().map(|word| word.meaning).collect();
            assert_eq!(meanings, [Meaning::LibraryDirectory("d".into()), library("k")], "{words:?}");
        }
        let error = HostLine::of_program(Path::new("cc"), vec!["-Xlinker".into()]).unwrap_err();
        assert_eq!(error.to_string(), "-Xlinker: missing argument");
    }

    #[test]
    fn the_program_gets_words_of_the_same_meaning() {
        let cases: [(&[&str], &[&str]); 4] = [
            (&["a.o", "-Wl,-z,defs", "-lx"], &["a.o", "-Wl,-z,defs", "WRAPPER", "-lx"]),
            (&["a.o", "-Wl,-Ld,-lk"], &["a.o", "-Wl,-Ld", "WRAPPER", "-Wl,-lk"]),
            (&["-Xlinker", "--whole-archive", "k.a"], &["WRAPPER", "-Xlinker", "--whole-archive", "k.a"]),
            (&["-Wl,--push-state,-Bstatic", "-lk"], &["-Wl,--push-state", "-Wl,-Bstatic", "WRAPPER", "-lk"]),
        ];
        for (words, expected) in cases {
            assert_eq!(line(words).with_objects(&["WRAPPER".into()], &|_| Replacement::Nothing), expected, "{words:?}");
        }
    }

    #[test]
    fn the_treatment_of_inputs_is_saved_and_restored() {
        let words = ["-lone", "-Wl,--push-state,--whole-archive,-Bstatic", "-ltwo", "-Wl,--pop-state", "-lthree"];
        let line = line(&words);
        let mut states = InputStates::new(&line);
        let mut found = Vec::new();
        for word in &line.words {
            states.apply(&word.meaning, word.text());
            if matches!(word.meaning, Meaning::Library(_)) {
                found.push(states.now);
            }
        }
        let plain = InputState::default();
        assert_eq!(found, [plain, InputState { takes_all: true, is_static: true }, plain]);
    }
}
