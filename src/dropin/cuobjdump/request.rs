//! Requests: the work that a command line specifies.

use super::options::TOOL;
use crate::nvidia_options::{ParsedLine, ToolFailure};
use fatbin_core::base::io::OutputName;

/// Pattern that every name contains.
const ALL: &[u8] = b"all";

/// A request.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// True for executable and relocatable code; otherwise relocatable code is used only if there is no other.
    pub is_all: bool,
    /// Number of the architecture of the entries.
    pub arch: Option<u32>,
    /// Requested work.
    pub action: Action,
}

/// Work of the tool.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Files are written.
    Extract(Kinds<Patterns>),
    /// Names of files are printed.
    List(Kinds<()>),
    /// Headers and contents are printed.
    Dump(Dump),
}

/// Values for each kind of file; `None` if that kind is not requested.
#[derive(Debug, PartialEq, Eq)]
pub struct Kinds<T> {
    /// Cubins.
    pub elf: Option<T>,
    /// PTX.
    pub ptx: Option<T>,
    /// Code sections of cubins. They are not listed together with cubins.
    pub text: Option<T>,
}

/// Contents to print.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Dump {
    /// Resource usage of functions.
    pub usage: bool,
    /// Symbols.
    pub symbols: bool,
    /// Text of PTX.
    pub ptx: bool,
    /// Functions whose resources are printed; `None` for all.
    pub functions: Option<Vec<Vec<u8>>>,
    /// Symbol number of the function whose resources are printed.
    pub function_index: Option<usize>,
}

/// Parts of names of files to extract.
#[derive(Debug, PartialEq, Eq)]
pub struct Patterns(Vec<Vec<u8>>);

impl Patterns {
    /// Returns whether a name contains one of the patterns.
    pub fn contain(&self, name: &OutputName) -> bool {
        let name = name.as_path().as_os_str().as_encoded_bytes();
        let is_in = |pattern: &Vec<u8>| pattern == ALL || name.windows(pattern.len()).any(|part| part == pattern);
        self.0.iter().any(is_in)
    }
}

impl Request {
    /// Creates the request of a command line.
    pub fn of_line(line: &ParsedLine) -> Result<Self, ToolFailure> {
        let patterns = |name| line.list(name).map(|patterns| Patterns(patterns.to_vec()));
        let [elf, ptx, text] = ["extract-elf", "extract-ptx", "extract-text"].map(patterns);
        let flag = |name| line.flag(name).then_some(());
        let [list_elf, list_ptx, list_text] = ["list-elf", "list-ptx", "list-text"].map(flag);
        let action = if [&elf, &ptx, &text].into_iter().any(Option::is_some) {
            Action::Extract(Kinds { elf, ptx, text })
        } else if [list_elf, list_ptx, list_text].into_iter().any(|flag| flag.is_some()) {
            Action::List(Kinds { elf: list_elf, ptx: list_ptx, text: list_text })
        } else {
            Action::Dump(Dump::of_line(line)?)
        };
        // A suffix of the architecture does not restrict the entries further.
        let arch = line.text("gpu-architecture").and_then(number_of_arch);
        Ok(Request { is_all: line.flag("all-fatbin"), arch, action })
    }
}

impl Dump {
    fn of_line(line: &ParsedLine) -> Result<Self, ToolFailure> {
        for option in ["dump-sass", "dump-elf"] {
            if line.flag(option) {
                return Err(TOOL.fatal(format!(
                    "Option '--{option}' needs a disassembler, which fatbin does not have; use NVIDIA's cuobjdump or \
                     nvdisasm"
                )));
            }
        }
        let number = line.text("function-index").map(String::from_utf8_lossy);
        if number.as_ref().is_some_and(|number| number.starts_with('-')) {
            return Err(TOOL.fatal("Option 'function-index' must be non-negative"));
        }
        Ok(Dump {
            usage: line.flag("dump-resource-usage"),
            symbols: line.flag("dump-elf-symbols"),
            ptx: line.flag("dump-ptx"),
            functions: line.list("function").map(<[_]>::to_vec),
            function_index: number.map(|number| number.parse().unwrap_or(usize::MAX)),
        })
    }
}

/// Number of an architecture: 90 for `sm_90a`.
fn number_of_arch(name: &[u8]) -> Option<u32> {
    let number = std::str::from_utf8(name).ok()?.strip_prefix("sm_")?;
    number.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(arguments: &[&str]) -> Result<Request, String> {
        let mut line = ParsedLine::new(TOOL);
        let arguments: Vec<_> = arguments.iter().map(Into::into).collect();
        line.parse(&arguments).and_then(|()| Request::of_line(&line)).map_err(|failure| failure.message)
    }

    #[test]
    fn extraction_precedes_lists_and_lists_precede_dumps() {
        let request = |arguments: &[&str]| request(arguments).unwrap().action;
        let Action::Extract(kinds) = request(&["-sass", "-lelf", "-xptx", "a,b"]) else { panic!("no extraction") };
        assert_eq!((kinds.elf, kinds.ptx.unwrap().0, kinds.text), (None, vec![b"a".to_vec(), b"b".to_vec()], None));
        let lists = Kinds { elf: Some(()), ptx: None, text: Some(()) };
        assert_eq!(request(&["-elf", "-lelf", "-ltext"]), Action::List(lists));
        assert_eq!(request(&["-ptx"]), Action::Dump(Dump { ptx: true, ..Dump::default() }));
    }

    #[test]
    fn names_the_tools_that_disassemble() {
        for option in ["-sass", "-elf"] {
            let message = request(&[option]).unwrap_err();
            assert!(message.contains("use NVIDIA's cuobjdump or nvdisasm"), "{message}");
        }
    }

    #[test]
    fn patterns_are_parts_of_names() {
        let patterns = |list: &[&str]| Patterns(list.iter().map(|pattern| pattern.as_bytes().to_vec()).collect());
        for (list, is_in) in
            [(&["all"][..], true), (&["sm_9"], true), (&["x", "9"], true), (&["ALL"], false), (&[], false)]
        {
            assert_eq!(patterns(list).contain(&OutputName::of("a.1.sm_90.cubin")), is_in, "{list:?}");
        }
    }

    #[test]
    fn architectures_are_filtered_by_number() {
        assert_eq!(request(&["-arch=sm_90a"]).unwrap().arch, Some(90));
        assert_eq!(request(&["-arch", "sm_120"]).unwrap().arch, Some(120));
        assert!(request(&["-arch", "sm_70"]).is_err());
    }
}
