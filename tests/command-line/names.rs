//! Names that come from inputs: none leads out of the output directory, and none is followed through a link that is
//! there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Cursor, Write};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Component, Path, PathBuf};

use fatbin_core::format::offload_binary::{self, OffloadBinaryImage, Version};
use serde_json::Value;

use crate::hostile_text::is_unsafe;
use crate::program::write_program;
use crate::{Run, Sandbox, fixture};

/// Hostile names, after one that is ordinary. `ROOT` is the directory of the test.
const NAMES: [&str; 13] = [
    "plain",
    "../victim",
    "../../victim",
    "ROOT/victim",
    ".",
    "..",
    "",
    "sub/victim",
    "sub/../../../victim",
    "escape\u{1b}[31m",
    "line\nfeed",
    "bidi\u{202e}os.x",
    "back\\..\\slash\u{9b}2J",
];

/// Links in place of outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    File,
    Directory,
    Dangling,
}

const LINKS: [Link; 3] = [Link::File, Link::Directory, Link::Dangling];

/// A command that writes files with names from inputs, or with its own names.
struct Writer {
    command: &'static str,
    /// Arguments, separated by spaces, in the output directory. `IN` is the directory of inputs, `BIN` of programs, `FILE`
    /// the last component of the name, `URI` the same for addresses.
    arguments: &'static str,
    /// An input that is in the output directory, under the name `FILE`.
    before: Option<&'static str>,
    /// The inputs have one name. Otherwise they have all names.
    has_one_name: bool,
}

const fn all(command: &'static str, arguments: &'static str) -> Writer {
    Writer { command, arguments, before: None, has_one_name: false }
}

const fn each(command: &'static str, arguments: &'static str) -> Writer {
    Writer { has_one_name: true, ..all(command, arguments) }
}

const WRITERS: [Writer; 23] = [
    each("join", "IN/parts -o ."),
    each("extract", "IN/members.zip -o . --name {member}/{number}.{extension}"),
    each("extract", "IN/strings -o . --name {triple}/{arch}.{number}"),
    each("split", "IN/FILE -o ."),
    Writer { before: Some("hip.o"), ..each("llvm-objdump", "--offloading FILE") },
    Writer { before: Some("image"), ..each("llvm-objcopy", "--dump-offload-bundle=file://URI#offset=0&size=4") },
    each("roc-obj-extract", "file://IN/URI#offset=0&size=4"),
    all("extract", "IN/members.zip -o . --index"),
    all("extract", "IN/strings -o ."),
    all("extract", "IN/strings -o . --archive"),
    all("split", "IN/strings -o ."),
    all("split", "IN/hip.o -o . --to kpack"),
    all("link", "--save-temps -- BIN/host --whole-archive IN/library.a -o program"),
    all("clang-linker-wrapper", "--linker-path=BIN/host --save-temps --whole-archive IN/library.a -o program"),
    all("cuobjdump", "-xelf all IN/fat"),
    all("cuobjdump", "-xtext all IN/fat"),
    all("cuobjdump", "-xptx all IN/fat"),
    all("llvm-objdump", "--offloading IN/objects.a"),
    all("clang-offload-packager", "IN/strings --image="),
    all("llvm-offload-binary-23", "IN/strings"),
    all("man", "-o ."),
    all("man", "-o . --format markdown"),
    all("install-links", ". --llvm 19"),
];

/// Commands and tools whose outputs have the names that the command line states, or that write none.
const OTHERS: [&str; 33] = [
    "addr2line",
    "bundle",
    "check",
    "clang-offload-bundler",
    "clang-offload-wrapper",
    "completions",
    "diff",
    "doctor",
    "embed",
    "explain",
    "fatbinary",
    "help",
    "inspect",
    "list",
    "llvm-offload-wrapper",
    "llvm-readobj",
    "lock",
    "metadata",
    "pack",
    "prune",
    "recover",
    "replace",
    "requires",
    "roc-obj-ls",
    "scan",
    "schema",
    "select",
    "size",
    "strip",
    "transcode",
    "unbundle",
    "verify",
    "wrap",
];

#[test]
fn every_command_that_names_files_by_an_input_is_tried() {
    let sandbox = Sandbox::new();
    let help = sandbox.fatbin("--help").ok();
    let links = sandbox.fatbin("install-links tools --llvm 22 --with cuobjdump,roc-obj,llvm-obj").ok();
    let tools = links.lines().map(|link| link.trim_start_matches("tools/"));
    let defined: BTreeSet<&str> = crate::commands_of_help(&help).into_iter().chain(tools).collect();
    let tried: BTreeSet<&str> = WRITERS.iter().map(|it| it.command.trim_end_matches("-23")).collect();
    let known: BTreeSet<&str> = tried.iter().copied().chain(OTHERS).collect();
    assert_eq!(known, defined);
    assert!(OTHERS.iter().all(|other| !tried.contains(other)));
}

/// Device linker that writes a code object.
const DEVICE_LINKER: &str =
    "#!/bin/sh\nfor word; do\n[ \"$last\" = -o ] && /bin/cp \"${0%/*}/image\" \"$word\"\nlast=$word\ndone\n";

/// Inputs of all names, and the programs that a link calls.
struct Inputs {
    common: Vec<(String, Vec<u8>)>,
    programs: Sandbox,
}

impl Inputs {
    fn new() -> Self {
        let programs = Sandbox::new();
        programs.fixture("answer-gfx90a.hsaco", "image").file("a.bc", crate::BITCODE);
        programs.fatbin("wrap --allow-missing-kernels --kind hip --entry k=k -o hip.o image").ok();
        programs.fatbin("split hip.o -o parts").ok();
        programs.fatbin("pack -o code --image file=a.bc,triple=amdgcn-amd-amdhsa,kind=hip,arch=gfx90a").ok();
        write_program(&programs.path("ld.lld"), DEVICE_LINKER).unwrap();
        write_program(&programs.path("host"), "#!/bin/sh\n: > program\n").unwrap();
        let mut common =
            vec![("image".to_owned(), programs.read("image")), ("hip.o".to_owned(), programs.read("hip.o"))];
        for file in fs::read_dir(programs.path("parts")).unwrap() {
            let path = format!("parts/{}", file.unwrap().file_name().to_str().unwrap());
            common.push((path.clone(), programs.read(&path)));
        }
        Inputs { common, programs }
    }

    /// Writes the inputs with these names to the directory `in`.
    fn write(&self, sandbox: &Sandbox, names: &[String]) {
        let _ = fs::remove_dir_all(sandbox.path("in"));
        fs::create_dir_all(sandbox.path("in/parts")).unwrap();
        for (file, bytes) in &self.common {
            sandbox.file(&format!("in/{file}"), bytes);
        }
        let mut index: Value = serde_json::from_slice(&sandbox.read("in/parts/index.json")).unwrap();
        index["file"] = names[0].as_str().into();
        let image = self.programs.read("image");
        let strings = offload_binary(names, &image);
        let archive = |member: &str| library(names, &self.programs.read(member));
        for (file, bytes) in [
            ("parts/index.json", index.to_string().into_bytes()),
            ("strings", strings.clone()),
            ("members.zip", zip(names, &image)),
            ("library.a", archive("code")),
            ("objects.a", archive("hip.o")),
            ("fat", fat_binary(names)),
        ] {
            sandbox.file(&format!("in/{file}"), bytes);
        }
        if let Some(file) = last_component(&names[0]) {
            sandbox.file(&format!("in/{file}"), strings);
        }
    }
}

/// Returns the part of a name that a file can have.
fn last_component(name: &str) -> Option<&str> {
    name.rsplit('/').next().filter(|name| !["", ".", ".."].contains(name))
}

fn offload_binary(names: &[String], image: &[u8]) -> Vec<u8> {
    let strings: Vec<[(&str, &str); 2]> = names.iter().map(|name| [("triple", &**name), ("arch", name)]).collect();
    let image = |strings| OffloadBinaryImage { image_kind: 1, offload_kind: 2, flags: 0, strings, image };
    let images: Vec<_> = strings.iter().map(|strings| image(strings)).collect();
    offload_binary::write(Version::Two, &images).unwrap().content.to_vec()
}

/// Returns a static library in the form that states names of any length.
fn library(names: &[String], member: &[u8]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for name in names {
        let size = name.len() + member.len();
        bytes.extend(format!("#1/{:<13}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", name.len(), 0, 0, 0, 644).bytes());
        bytes.extend([name.as_bytes(), member].concat());
        bytes.resize(bytes.len().next_multiple_of(2), b'\n');
    }
    bytes
}

fn zip(names: &[String], member: &[u8]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for name in names {
        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(member).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Returns a CUDA fat binary. Each name is the identifier of a cubin with a function of this name, and of PTX.
fn fat_binary(names: &[String]) -> Vec<u8> {
    let old = b"answer_kernel";
    let mut entries = Vec::new();
    for name in names {
        let function: Vec<u8> = name.bytes().chain([0; 13]).take(old.len()).collect();
        let mut cubin = fixture("answer-sm_90.cubin");
        while let Some(at) = cubin.windows(old.len()).position(|part| part == old) {
            cubin[at..at + old.len()].copy_from_slice(&function);
        }
        entries.extend(fat_binary_entry(2, name, &cubin));
        entries.extend(fat_binary_entry(1, name, &[fixture("answer-sm_80.ptx"), vec![0]].concat()));
    }
    [&b"\x50\xed\x55\xba\x01\0\x10\0"[..], &(entries.len() as u64).to_le_bytes(), &entries].concat()
}

fn fat_binary_entry(kind: u16, identifier: &str, image: &[u8]) -> Vec<u8> {
    let padded = |bytes: &[u8]| [bytes, &vec![0; bytes.len().next_multiple_of(8) - bytes.len()]].concat();
    let [identifier, image] = [&[identifier.as_bytes(), &[0]].concat(), image].map(padded);
    let mut entry = [kind, 0x101].map(u16::to_le_bytes).concat();
    entry.extend((64 + identifier.len() as u32).to_le_bytes());
    entry.extend((image.len() as u64).to_le_bytes());
    entry.extend([[0; 4], [0; 4], [8, 0, 1, 0]].concat());
    entry.extend([90, 64, identifier.len() as u32].map(u32::to_le_bytes).concat());
    entry.extend([0x11_u64, 0, 0].map(u64::to_le_bytes).concat());
    [entry, identifier, image].concat()
}

/// Contents of a file, target of a link, or nothing for a directory.
type Tree = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// Returns what is below a directory, except below `left_out`.
fn tree(directory: &Path, left_out: &[PathBuf]) -> Tree {
    let mut found = Tree::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(path) = pending.pop() {
        let kind = path.symlink_metadata().unwrap().file_type();
        let content = if kind.is_symlink() {
            Some(fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes())
        } else if kind.is_dir() {
            let below = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
            pending.extend(below.filter(|path| !left_out.contains(path)));
            None
        } else {
            Some(fs::read(&path).unwrap())
        };
        found.insert(path.strip_prefix(directory).unwrap().to_owned(), content);
    }
    found
}

/// Runs of a writer, and what they did wrong.
#[derive(Default)]
struct Report {
    runs: usize,
    written: usize,
    /// Number of links that an output replaced, or that were refused.
    links: usize,
    faults: Vec<String>,
}

/// A writer in a directory.
struct Trial<'a> {
    writer: &'a Writer,
    inputs: &'a Inputs,
    sandbox: Sandbox,
    report: Report,
}

impl Trial<'_> {
    fn output(&self) -> PathBuf {
        self.sandbox.path("deep/out")
    }

    /// Tries names, first without links, then with links in place of what was written.
    fn names(&mut self, names: &[&str]) {
        let root = self.sandbox.directory.path().to_str().unwrap();
        let names: Vec<String> = names.iter().map(|name| name.replace("ROOT", root)).collect();
        self.inputs.write(&self.sandbox, &names);
        let inputs = tree(&self.sandbox.path("in"), &[]);
        let (run, written) = self.run(&names, &[]);
        let outputs = written.iter().filter(|(_, content)| content.is_some()).map(|(path, _)| path.as_path());
        // The host linker writes the program.
        let mut places: Vec<&Path> = outputs.filter(|path| *path != Path::new("program")).collect();
        self.report.written += places.len();
        for path in &places {
            let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
            if !is_plain || path.to_str().is_none_or(|path| path.contains(is_unsafe)) {
                self.fault(&names, &format!("writes {path:?}: {}", run.err));
            }
        }
        if places.is_empty() {
            // A link is where the name leads.
            let first = names[0].split('/').next().filter(|first| last_component(first).is_some());
            places.extend(first.map(Path::new));
        }
        for link in LINKS {
            self.links(&names, link, &places, (&run, &written));
        }
        if tree(&self.sandbox.path("in"), &[]) != inputs {
            self.fault(&names, "changes an input");
        }
    }

    fn fault(&mut self, names: &[String], what: &str) {
        let Writer { command, arguments, .. } = self.writer;
        self.report.faults.push(format!("{command} {arguments} {names:?}: {what}"));
    }

    /// Repeats a run with links in place of the outputs, or of the first directories in their names.
    fn links(&mut self, names: &[String], link: Link, outputs: &[&Path], (run, written): (&Run, &Tree)) {
        let first = |output: &Path| PathBuf::from(output.iter().next().unwrap());
        let place = |output: &&Path| if link == Link::File { output.to_path_buf() } else { first(output) };
        let places: BTreeSet<PathBuf> = outputs.iter().map(place).collect();
        let links: Vec<(PathBuf, PathBuf)> =
            places.into_iter().enumerate().map(|(number, place)| (place, self.target(link, number))).collect();
        let (again, found) = self.run(names, &links);
        let is_replaced = (again.status, &found) == (run.status, written);
        let is_in_place_of_directory = link != Link::File && outputs.iter().any(|output| first(output) != *output);
        let names_link = again.err.contains("is a symbolic link");
        let content = |place| found.get(place).cloned().flatten();
        let is_left =
            links.iter().all(|(place, target)| content(place) == Some(target.as_os_str().as_encoded_bytes().to_vec()));
        let is_refused = again.status != 0 && is_left && (names_link || !is_in_place_of_directory);
        self.report.links += links.len();
        if !is_replaced && !is_refused {
            let what = format!("{link:?}: status {}, {:?}: {}", again.status, found.keys(), again.err);
            self.fault(names, &what);
        }
    }

    fn target(&self, link: Link, number: usize) -> PathBuf {
        let target = self.sandbox.path(&format!("outside/{link:?}{number}"));
        match link {
            Link::File => fs::write(&target, "precious").unwrap(),
            Link::Directory => fs::create_dir_all(&target).unwrap(),
            Link::Dangling => {}
        }
        target
    }

    /// Runs the writer in a new output directory. Returns what is there afterwards, except the input.
    fn run(&mut self, names: &[String], links: &[(PathBuf, PathBuf)]) -> (Run, Tree) {
        let output = self.output();
        let _ = fs::remove_dir_all(&output);
        fs::create_dir_all(&output).unwrap();
        let file = last_component(&names[0]).unwrap_or(&names[0]);
        let before = self.writer.before.filter(|_| last_component(&names[0]).is_some());
        if let Some(input) = before {
            fs::copy(self.sandbox.path("in").join(input), output.join(file)).unwrap();
        }
        for (place, target) in links {
            fs::create_dir_all(output.join(place).parent().unwrap()).unwrap();
            symlink(target, output.join(place)).unwrap();
        }
        let left_out = [self.sandbox.path("in"), output.clone()];
        let around = tree(self.sandbox.directory.path(), &left_out);
        let run = crate::run(&mut self.command(file));
        let after = tree(self.sandbox.directory.path(), &left_out);
        self.report.runs += 1;
        if after != around {
            let changed = after.iter().filter(|(path, content)| around.get(*path) != Some(content));
            let changed: Vec<_> = changed.map(|(path, _)| path).collect();
            self.fault(names, &format!("{links:?}: writes {changed:?}"));
        }
        let mut found = tree(&output, &[]);
        found.retain(|path, _| before.is_none() || path != Path::new(file));
        (run, found)
    }

    fn command(&self, file: &str) -> std::process::Command {
        let address: String = file.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let programs = self.inputs.programs.directory.path();
        let words = self.writer.arguments.split(' ').map(|word| {
            let word = word.replace("BIN", programs.to_str().unwrap()).replace("IN/", "../../in/");
            word.replace("FILE", file).replace("URI", &address)
        });
        let mut command = self.sandbox.command(env!("CARGO_BIN_EXE_fatbin"));
        if OWN.contains(&self.writer.command) {
            command.arg(self.writer.command);
        } else {
            command.arg0(self.writer.command);
        }
        command.args(words).current_dir(self.output()).env("PATH", programs);
        command
    }
}

/// Commands of the program; the others are tools.
const OWN: [&str; 6] = ["extract", "install-links", "join", "link", "man", "split"];

fn try_all(writer: &Writer, inputs: &Inputs) -> Report {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("outside")).unwrap();
    let mut trial = Trial { writer, inputs, sandbox, report: Report::default() };
    for names in NAMES.chunks(if writer.has_one_name { 1 } else { NAMES.len() }) {
        trial.names(names);
    }
    trial.report
}

#[test]
fn no_name_from_an_input_leads_out_of_the_directory() {
    let inputs = Inputs::new();
    let reports: Vec<Report> = std::thread::scope(|scope| {
        let running: Vec<_> = WRITERS.iter().map(|writer| scope.spawn(|| try_all(writer, &inputs))).collect();
        running.into_iter().map(|report| report.join().unwrap()).collect()
    });
    let faults: Vec<&String> = reports.iter().flat_map(|report| &report.faults).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    for (report, Writer { command, arguments, .. }) in reports.iter().zip(&WRITERS) {
        assert!(report.written > 0 && report.links > 2, "{command} {arguments}: nothing is written");
    }
    let runs: usize = reports.iter().map(|report| report.runs).sum();
    let written: usize = reports.iter().map(|report| report.written).sum();
    let links: usize = reports.iter().map(|report| report.links).sum();
    assert!(runs > 300 && written > 300 && links > 900, "{runs} runs, {written} files, {links} links");
}
