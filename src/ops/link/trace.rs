//! The files that a host linker reads, as the linker itself lists them.
//!
//! `--trace` of GNU ld, gold, lld and mold, and `-t` of Apple's linkers, print a line for each: `FILE`, `ARCHIVE` or
//! `ARCHIVE(MEMBER)`.
//!
//! Other linkers are not asked. Their inputs are the files on the line, and the libraries in the directives of objects.
//! lld-link's map names no archives. Sources: binutils 2.40, lld 22, mold 1.10.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::error::Result;
use super::host_line::{HostLine, Meaning};
use super::program_names;
use fatbin_core::base::io::{Access, Input};

/// Files that a linker has read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TracedFiles {
    /// Files and archives.
    pub paths: BTreeSet<PathBuf>,
    /// Members of archives that are linked, if the linker lists them: path of the archive and name.
    pub members: BTreeSet<(PathBuf, String)>,
    /// Other lines of the standard output.
    pub others: String,
}

/// Word that makes the linker of a line list the files that it reads; `None` if this is unknown.
pub fn option(program: &Path, line: &HostLine, host: &str) -> Option<&'static str> {
    let name = program_names::name(program);
    let has =
        |start: &str| line.words.iter().any(|word| word.text().to_ascii_lowercase().starts_with(start.as_bytes()));
    let selects = |linker: &str| has(&format!("-fuse-ld={linker}")) || has(&format!("--ld-path={linker}"));
    let is_other = has("--ld-path=") || selects("wild") || host.ends_with("msvc");
    let is_apple = name == "ld64.lld" || ["apple", "darwin", "macos"].iter().any(|system| host.contains(system));
    if program_names::is_compiler(program) {
        return (!is_other).then_some(if is_apple { "-Wl,-t" } else { "-Wl,--trace" });
    }
    let is_linker = matches!(&*name, "ld" | "ld.bfd" | "ld.gold" | "ld.lld" | "ld.mold" | "ld64.lld" | "gold" | "mold");
    is_linker.then_some(if is_apple { "-t" } else { "--trace" })
}

impl TracedFiles {
    /// Adds the file of a line, and returns whether it is one.
    fn add(&mut self, text: &str) -> bool {
        let (archive, member) = match text.strip_suffix(')').and_then(|text| text.rsplit_once('(')) {
            // binutils before 2.35.
            Some(_) if text.starts_with('(') => return false,
            Some((archive, member)) if Path::new(archive).is_file() => (archive, Some(member)),
            _ => match text.strip_prefix('(').and_then(|text| text.split_once(')')) {
                Some((archive, member)) if Path::new(archive).is_file() => (archive, Some(member)),
                _ => (text, None),
            },
        };
        if !Path::new(archive).is_file() {
            return false;
        }
        self.paths.insert(archive.into());
        if let Some(member) = member {
            // lld adds the offset of a member in its archive to the name.
            let member = member.split_once(" at ").map_or(member, |(name, _)| name);
            self.members.insert((archive.into(), member.to_owned()));
        }
        true
    }
}

/// Files that linker scripts on a line name (`INPUT`, `GROUP`), for a linker that is not asked.
pub fn of_scripts(line: &HostLine, access: Access) -> Result<TracedFiles> {
    let mut files = TracedFiles::default();
    for word in &line.words {
        let Meaning::Input(path) = &word.meaning else { continue };
        let path = Path::new(path);
        if !path.is_file() {
            continue;
        }
        let input = Input::open_file(path.to_owned(), access)?;
        let bytes = input.view().data();
        if input.size() < LONGEST_SCRIPT && !bytes.contains(&0) {
            let directory = path.parent().unwrap_or(Path::new(""));
            let names = script_inputs(&String::from_utf8_lossy(bytes));
            let places = names.into_iter().map(|name| [PathBuf::from(&name), directory.join(&name)]);
            files.paths.extend(places.filter_map(|places| places.into_iter().find(|path| path.is_file())));
        }
    }
    Ok(files)
}

/// A file of this size in bytes or more is not read as a linker script.
const LONGEST_SCRIPT: u64 = 1 << 20;

/// Names of files in the lists of a linker script, without libraries.
fn script_inputs(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for list in ["INPUT", "GROUP"].iter().flat_map(|list| text.split(list).skip(1)) {
        let Some(list) = list.trim_start().strip_prefix('(') else { continue };
        let mut depth = 1_usize;
        let is_inside = |c: char| {
            depth = if c == '(' { depth + 1 } else { depth - usize::from(c == ')') };
            depth > 0
        };
        let inside: String = list.chars().take_while(|&c| matches!(c, '\n' | '\r') || !c.is_control()).collect();
        let end = inside.char_indices().scan(is_inside, |is_inside, (at, c)| is_inside(c).then_some(at + c.len_utf8()));
        let inside = &inside[..end.last().unwrap_or_default()];
        let words = inside.split(|c: char| c.is_whitespace() || "(),\"".contains(c));
        names.extend(
            words.filter(|word| !word.is_empty() && *word != "AS_NEEDED" && !word.starts_with('-')).map(str::to_owned),
        );
    }
    names
}

/// Reads the list in the standard output of a linker.
pub fn of_output(output: &str) -> TracedFiles {
    let mut files = TracedFiles::default();
    for line in output.lines() {
        let text = line.strip_prefix("trace: ").unwrap_or(line);
        // The first line of binutils before 2.35.
        if !files.add(text) && !line.contains(": mode ") && !is_removed_object(text) {
            files.others += line;
            files.others.push('\n');
        }
    }
    files
}

/// True if a line names a temporary object that its compiler has since removed.
fn is_removed_object(text: &str) -> bool {
    let path = Path::new(text);
    let is_object =
        path.extension().is_some_and(|extension| ["o", "obj", "bc"].iter().any(|known| extension == *known));
    is_object && path.is_absolute() && path.parent().is_some_and(Path::is_dir)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn line(words: &[&str]) -> HostLine {
        HostLine::parse(words.iter().map(OsString::from)).unwrap()
    }

    #[test]
    fn known_linkers_are_asked() {
        let trace =
            |program: &str, words: &[&str]| option(Path::new(program), &line(words), "x86_64-unknown-linux-gnu");
        for program in ["/usr/bin/x86_64-linux-gnu-gcc-12", "clang++-22", "cc", "mpicxx"] {
            assert_eq!(trace(program, &["a.o"]), Some("-Wl,--trace"), "{program}");
        }
        for program in ["ld", "ld.lld-22", "x86_64-linux-gnu-ld.bfd", "mold"] {
            assert_eq!(trace(program, &["a.o"]), Some("--trace"), "{program}");
        }
        assert_eq!(trace("ld64.lld-22", &["a.o"]), Some("-t"));
        let others =
            [("lld-link", "a.obj"), ("cc", "-fuse-ld=wild"), ("cc", "--ld-path=/x/wild"), ("wild", ""), ("./host", "")];
        for (program, word) in others {
            assert_eq!(trace(program, &[word]), None, "{program} {word}");
        }
    }

    #[test]
    fn scripts_name_files_in_their_lists() {
        let text = "/* GNU ld script */\nOUTPUT_FORMAT(elf64-x86-64)\nGROUP ( /lib/a.so.6 b.a AS_NEEDED ( \"c d.so\" -lx ) )\nINPUT(k.o, e.o)";
        assert_eq!(script_inputs(text), ["k.o", "e.o", "/lib/a.so.6", "b.a", "c", "d.so"]);
        assert!(script_inputs("INPUT").is_empty() && script_inputs("no list").is_empty());
    }

    #[test]
    fn lines_that_name_files_are_the_list() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        for name in ["a.o", "k.a", "k (1).a"] {
            std::fs::write(path(name), "").unwrap();
        }
        let (a, k, spaced) = (path("a.o"), path("k.a"), path("k (1).a"));
        let removed = path("removed.o").display().to_string();
        let a_text = a.display();
        let k_text = k.display();
        let spaced_text = spaced.display();
        let output = format!(
            "ld: mode elf_x86_64\n{removed}\n{a_text}\ntrace: {k_text}(m.o)\n({k_text})old.o\n{spaced_text}(x.o)\na warning\nnone.o\n"
        );
        let files = of_output(&output);
        assert_eq!(files.paths, BTreeSet::from([a, k.clone(), spaced.clone()]));
        let members = [(k.clone(), "m.o"), (k, "old.o"), (spaced, "x.o")];
        assert_eq!(files.members, members.map(|(path, name)| (path, name.to_owned())).into());
        assert_eq!(files.others, "a warning\nnone.o\n");
    }
}
