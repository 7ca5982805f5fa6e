//! Tests of commits, and of the other files of their run.

use super::*;
use crate::base::io::{FileSet, OutputKind, OutputName, OutputPath};

/// Contents of binary files, by their formats.
const BINARIES: [(&str, &[u8]); 10] = [
    ("zip", b"PK\x03\x04\x14\x00\x00\x00"),
    ("ELF", b"\x7fELF\x02\x01\x01\x00"),
    ("PE", b"MZ\x90\x00\x03\x00\x00\x00"),
    ("Mach-O", b"\xcf\xfa\xed\xfe\x0c\x00\x00\x01"),
    ("archive", b"!<arch>\nfile/           0           0     0     644     4         `\ntext"),
    ("text bundle", b"# __CLANG_OFFLOAD_BUNDLE____START__ host-x86_64-unknown-linux-gnu-\n"),
    ("fat binary", b"\x50\xed\x55\xba\x01\x00\x10\x00"),
    ("gzip", b"\x1f\x8b\x08\x08\x01\x02\x03\x04"),
    ("zstd", b"\x28\xb5\x2f\xfd\x24\x04\x21\x11"),
    ("bitcode", b"BC\xc0\xde\x35\x14\x01\x02"),
];

fn directory(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        std::fs::write(directory.path().join(name), bytes).unwrap();
    }
    directory
}

fn message(result: Result<OutputPath>) -> String {
    result.unwrap_err().to_string()
}

/// Writes an output of these bytes.
fn write(path: OutputPath, bytes: &[u8]) -> Result<()> {
    let mut output = Output::create(path)?;
    output.write(bytes)?;
    output.commit([])
}

#[test]
fn an_output_is_no_input_by_any_spelling_of_its_path() {
    let directory = directory(&[("in", b"input")]);
    let path = directory.path().join("in");
    std::fs::create_dir(directory.path().join("below")).unwrap();
    let mut spellings = vec![path.clone()];
    spellings.extend(["./in", "below/../in"].map(|name| directory.path().join(name)));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("in", directory.path().join("symbolic")).unwrap();
        std::os::unix::fs::symlink(".", directory.path().join("around")).unwrap();
        spellings.extend(["symbolic", "around/in", "hard"].map(|name| directory.path().join(name)));
        std::fs::hard_link(&path, directory.path().join("hard")).unwrap();
    }
    for spelling in spellings {
        let set = FileSet::of_paths([path.as_path()]);
        for kind in [OutputKind::Code, OutputKind::Text] {
            let error = message(set.output(&spelling, kind));
            assert_eq!(error, format!("{}: is both input and output", spelling.display()));
            assert!(set.clone().replacing_binaries(true).output(&spelling, kind).is_err());
        }
        assert!(set.accepting_inputs(true).output(&spelling, OutputKind::Code).is_ok());
    }
}

#[test]
fn outputs_differ_from_one_another_also_if_they_do_not_exist() {
    let directory = directory(&[("old", b"text")]);
    for name in ["old", "new"] {
        let set = FileSet::new();
        let path = directory.path().join(name);
        set.output(&path, OutputKind::Code).unwrap();
        for same in [path.clone(), directory.path().join("./").join(name)] {
            let error = message(set.output(&same, OutputKind::Text));
            assert!(error.ends_with("duplicate output; specify another path"), "{error}");
        }
        assert!(set.output_in(directory.path(), &OutputName::of(name), OutputKind::Code).is_err());
        assert!(set.output(&directory.path().join("other"), OutputKind::Code).is_ok());
    }
}

/// On a file system that ignores case, two names lead to one file as soon as it exists. A directory that becomes a link
/// has the same effect.
#[cfg(unix)]
#[test]
fn an_output_that_has_become_another_is_not_replaced() {
    let directory = directory(&[]);
    let [one, other] = ["one", "other"].map(|name| directory.path().join(name));
    for path in [&one, &other] {
        std::fs::create_dir(path).unwrap();
    }
    let set = FileSet::new();
    let paths = [&one, &other].map(|path| set.output(&path.join("file"), OutputKind::Code).unwrap());
    let mut outputs = paths.map(|path| Output::create(path).unwrap());
    outputs[0].write(b"first").unwrap();
    std::fs::remove_dir(&other).unwrap();
    std::os::unix::fs::symlink("one", &other).unwrap();
    let error = commit_all(outputs.into(), []).unwrap_err().to_string();
    assert!(error.ends_with("duplicate output; specify another path"), "{error}");
    assert_eq!(std::fs::read_dir(&one).unwrap().count(), 0);
}

#[test]
fn a_text_replaces_no_binary_file() {
    for (format, bytes) in BINARIES {
        let directory = directory(&[("old", bytes)]);
        let path = directory.path().join("old");
        let error = message(FileSet::new().output(&path, OutputKind::Text));
        assert!(error.ends_with("is not text, and would be replaced by text"), "{error}");
        let old = OutputName::of("old");
        assert!(FileSet::new().output_in(directory.path(), &old, OutputKind::Text).is_err(), "{format}");
        write(FileSet::new().replacing_binaries(true).output(&path, OutputKind::Text).unwrap(), b"{}").unwrap();
        write(FileSet::new().output(&path, OutputKind::Text).unwrap(), "[\"\u{e9}\"]".as_bytes()).unwrap();
        write(FileSet::new().output(&path, OutputKind::Code).unwrap(), bytes).unwrap();
    }
}

#[test]
fn only_an_earlier_report_is_replaced_in_a_directory_that_is_searched() {
    let page = b"<!doctype html>\n<html>";
    let ptx = b".version 8.0\n.target sm_80\n";
    let directory = directory(&[("lib.so", BINARIES[1].1), ("kernel.ptx", ptx), ("page.html", page)]);
    let searched = || FileSet::of_paths([directory.path()]);
    let path = |name: &str| directory.path().join(name);
    for name in ["lib.so", "kernel.ptx", "page.html"] {
        assert!(searched().output(&path(name), OutputKind::Code).is_err(), "{name}");
    }
    assert!(searched().replacing_binaries(true).output(&path("lib.so"), OutputKind::Text).is_err());
    let error = write(searched().output(&path("kernel.ptx"), OutputKind::Text).unwrap(), page).unwrap_err();
    assert!(matches!(error, Error::SameFile { .. }), "{error}");
    assert_eq!(std::fs::read(path("kernel.ptx")).unwrap(), ptx);
    for name in ["page.html", "new.html"] {
        write(searched().output(&path(name), OutputKind::Text).unwrap(), b"<!doctype html>\n<p>").unwrap();
    }
    write(searched().output(&path("new.o"), OutputKind::Code).unwrap(), b"new").unwrap();
}

#[test]
fn an_input_that_is_added_later_is_not_replaced() {
    let directory = directory(&[("in", b"input")]);
    let set = FileSet::new();
    let path = directory.path().join("in");
    let output = set.output(&path, OutputKind::Code).unwrap();
    set.add_input(&path);
    assert!(matches!(write(output, b"output").unwrap_err(), Error::SameFile { .. }));
    assert_eq!(std::fs::read(path).unwrap(), b"input");
}

#[test]
fn a_replacement_is_of_the_file_that_was_read() {
    let directory = directory(&[("file", b"old"), ("newer", b"newer")]);
    let [path, newer] = ["file", "newer"].map(|name| directory.path().join(name));
    write(FileSet::new().replacement(&path).unwrap(), b"edited").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"edited");
    let output = FileSet::new().replacement(&path).unwrap();
    std::fs::rename(newer, &path).unwrap();
    assert!(matches!(write(output, b"edited").unwrap_err(), Error::Changed { .. }));
    let outputs = [(); 2].map(|()| FileSet::new().replacement(&path).unwrap());
    let results = outputs.map(|output| write(output, b"edited twice"));
    assert!(matches!(results, [Ok(()), Err(Error::Changed { .. })]), "{results:?}");
    let output = FileSet::new().replacement(&path).unwrap();
    std::fs::write(&path, "written in place").unwrap();
    assert!(matches!(write(output, b"edited").unwrap_err(), Error::Changed { .. }));
    assert_eq!(std::fs::read(&path).unwrap(), b"written in place");
    assert!(FileSet::new().replacement(directory.path()).is_err());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}
