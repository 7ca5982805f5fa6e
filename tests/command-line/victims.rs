//! Files that a mistake in the arguments could overwrite: every option of every command that names an output, on every
//! kind of file that it could name.

use std::os::unix::fs::symlink;

use crate::faults::{HOST, ONE};
use crate::{Run, Sandbox};

/// An option that names an output, in a command line that writes it.
struct Writer {
    command: &'static str,
    /// Name of the option in the definition of the command.
    option: &'static str,
    /// Arguments, with `OUT` in place of the output, or of its directory, and `NAME` in place of its name there.
    arguments: &'static str,
    /// Inputs of the command line.
    inputs: &'static [&'static str],
    kind: Kind,
}

/// Kind of an output.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Text,
    /// Files in a directory, with the name of the one that the tests look at; the name of the victim if there is none.
    CodeIn(Option<&'static str>),
    TextIn(&'static str),
}

use Kind::{Code, CodeIn, Text, TextIn};

const fn writer(
    command: &'static str,
    option: &'static str,
    kind: Kind,
    arguments: &'static str,
    inputs: &'static [&'static str],
) -> Writer {
    Writer { command, option, arguments, inputs, kind }
}

const CHECK: &str = "--policy policy --baseline baseline --format markdown --proof proof --html OUT image";

const WRITERS: [Writer; 27] = [
    writer(
        "wrap",
        "output",
        Code,
        "--kind openmp --allow-missing-kernels --entries entries -o OUT image",
        &["image", "entries"],
    ),
    writer("embed", "output", Code, "--symbol k=image --symbols-from list -o OUT", &["image", "list"]),
    writer("embed", "header", Text, "--symbol k=image --symbols-from list -o o --header OUT", &["image", "list"]),
    writer("embed", "rust", Text, "--symbol k=image --symbols-from list -o o --rust OUT", &["image", "list"]),
    writer("doctor", "script", Text, "--script OUT host.o", &["host.o"]),
    writer("pack", "output", Code, "-o OUT image", &["image"]),
    writer(
        "bundle",
        "output",
        Code,
        "--raw --type bc --target HOST=image --target ONE=cubin -o OUT",
        &["image", "cubin"],
    ),
    writer("unbundle", "targets", Code, "--target ONE=OUT bundle", &["bundle"]),
    writer("extract", "to", Code, "--to OUT --files-from paths", &["image", "paths"]),
    writer("extract", "output", CodeIn(None), "-o OUT --name NAME image", &["image"]),
    writer("inspect", "html", Text, "--html OUT --files-from paths", &["image", "paths"]),
    writer("prune", "output", Code, "--device sm_90 -o OUT fat", &["fat"]),
    writer("prune", "proof", Text, "--device sm_90 -o o --proof OUT fat", &["fat"]),
    writer("strip", "output", Code, "--device-debug -o OUT cubin", &["cubin"]),
    writer("strip", "proof", Text, "--device-debug -o o --proof OUT cubin", &["cubin"]),
    writer("transcode", "output", Code, "--to zstd -o OUT fat", &["fat"]),
    writer("transcode", "proof", Text, "--to zstd -o o --proof OUT fat", &["fat"]),
    writer("replace", "output", Code, "--image 0=cubin -o OUT fat", &["fat", "cubin"]),
    writer("replace", "proof", Text, "--image 0=cubin -o o --proof OUT fat", &["fat", "cubin"]),
    writer("split", "output", CodeIn(Some("host.o")), "-o OUT host.o", &["host.o"]),
    writer("join", "output", Code, "parts -o OUT", &["parts/host.o", "parts/index.json", "parts/host.o.gfx90a.part"]),
    writer("check", "html", Text, CHECK, &["image", "policy", "baseline", "proof"]),
    writer("check", "schema", Text, "--init --schema OUT image", &["image"]),
    writer("lock", "output", Text, "-o OUT --files-from paths", &["image", "paths"]),
    writer("man", "output", TextIn("fatbin.1"), "-o OUT", &[]),
    writer("install-links", "directory", CodeIn(Some("clang-offload-bundler")), "OUT", &[]),
    // Not an option that takes a value.
    writer("extract", "index", TextIn("index.json"), "-o OUT --index image", &[]),
];

/// Beginnings of files that no text replaces.
const BINARIES: [(&str, &[u8]); 9] = [
    ("zip", b"PK\x03\x04\x14\x00\x00\x00"),
    ("ELF", b"\x7fELF\x02\x01\x01\x00"),
    ("PE", b"MZ\x90\x00\x03\x00\x00\x00"),
    ("Mach-O", b"\xcf\xfa\xed\xfe\x0c\x00\x00\x01"),
    ("archive", b"!<arch>\n"),
    ("fat binary", b"\x50\xed\x55\xba\x01\x00\x10\x00"),
    ("offload binary", b"\x10\xff\x10\xad\x01\x00\x00\x00"),
    ("gzip", b"\x1f\x8b\x08\x08\x01\x02\x03\x04"),
    ("text bundle", b"# __CLANG_OFFLOAD_BUNDLE____START__ host-x86_64-unknown-linux-gnu-\n"),
];

/// Returns a directory with an input of every kind.
fn inputs() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "image").fixture("answer-sm_90-debug.cubin", "cubin");
    sandbox.fixture("answer-sm_80.ptx", "kernel.ptx").file("list", "m=image\n").file("entries", "kernel\n");
    sandbox.file("policy", "[archs]\nforbid = [\"sm_70\"]\n[images]\nproven = true\n").file("paths", "image\n");
    sandbox.fatbin("wrap --kind openmp -o host.o image").ok();
    sandbox.fatbin("pack --kind cuda -o fat cubin kernel.ptx").ok();
    sandbox.fatbin(&format!("bundle --raw --type bc --target {HOST}=image --target {ONE}=cubin -o bundle")).ok();
    sandbox.fatbin("lock -o baseline image").ok();
    sandbox.fatbin("strip --device-debug -o o --proof proof cubin").ok();
    sandbox.fatbin("split host.o -o parts").ok();
    std::fs::create_dir(sandbox.path("below")).unwrap();
    symlink(".", sandbox.path("around")).unwrap();
    std::fs::remove_file(sandbox.path("o")).unwrap();
    sandbox
}

impl Writer {
    fn line(&self, output: &str, name: &str) -> String {
        let arguments = self.arguments.replace("ONE", ONE).replace("HOST", HOST).replace("OUT", output);
        format!("{} {}", self.command, arguments.replace("NAME", name))
    }

    fn is_text(&self) -> bool {
        matches!(self.kind, Text | TextIn(_))
    }

    /// Returns the command lines that name a file as their output, each with the name of the spelling.
    fn lines(&self, sandbox: &Sandbox, victim: &str) -> Vec<(&'static str, String)> {
        let [hard, symbolic] = ["hard", "symbolic"].map(|name| sandbox.path(name));
        let _ = (std::fs::remove_file(&hard), std::fs::remove_file(&symbolic));
        match self.kind {
            CodeIn(_) | TextIn(_) => vec![
                ("directory", self.line(".", victim)),
                ("directory by another", self.line("below/..", victim)),
                ("link to the directory", self.line("around", victim)),
            ],
            Code | Text => {
                std::fs::hard_link(sandbox.path(victim), hard).unwrap();
                symlink(victim, symbolic).unwrap();
                let lines = [
                    ("path", victim.to_owned()),
                    ("path by another", format!("./below/../{victim}")),
                    ("path through a link", format!("around/{victim}")),
                    ("hard link", "hard".to_owned()),
                    ("symbolic link", "symbolic".to_owned()),
                ];
                lines.map(|(spelling, path)| (spelling, self.line(&path, ""))).to_vec()
            }
        }
    }
}

/// Number of runs that tried to overwrite a file, and the runs that succeeded.
#[derive(Default)]
struct Victims {
    runs: usize,
    overwritten: Vec<String>,
}

impl Victims {
    /// Runs a command line that is to be refused, and to leave a file as it is.
    fn run(&mut self, sandbox: &Sandbox, script: &str, victim: &str) {
        let before = sandbox.read(victim);
        let Run { status, out, err } = sandbox.shell(&format!("fatbin {script}"));
        self.runs += 1;
        let is_kept = sandbox.path(victim).exists() && sandbox.read(victim) == before;
        if status != 2 || err.lines().count() != 1 || !is_kept {
            self.overwritten.push(format!("{script}: status {status}, kept: {is_kept}: {out}{err}"));
            sandbox.file(victim, before);
        }
    }
}

#[test]
fn every_option_that_names_an_output_is_tried() {
    let mut known: Vec<_> = WRITERS.iter().map(|it| (it.command.to_owned(), it.option.to_owned())).collect();
    known.retain(|(_, option)| option != "index");
    known.sort();
    let mut defined = fatbin_cli::output_options();
    defined.sort();
    assert_eq!(known, defined);
}

/// A command line that is always refused would show nothing.
#[test]
fn every_command_line_writes_an_output_that_is_no_victim() {
    for writer in &WRITERS {
        let sandbox = inputs();
        std::fs::create_dir(sandbox.path("new")).unwrap();
        let is_in_directory = !matches!(writer.kind, Code | Text);
        let name = match writer.kind {
            CodeIn(Some(name)) | TextIn(name) => name,
            _ => "file",
        };
        let run = sandbox.fatbin(&writer.line(if is_in_directory { "new" } else { "new/file" }, name));
        assert!(run.status <= 1, "{} {}: {}", writer.command, writer.option, run.err);
        let written = sandbox.path("new").join(name);
        // Nothing has to be moved in the layout of a small object.
        assert_eq!(written.symlink_metadata().is_ok(), writer.command != "doctor", "{}", writer.command);
    }
}

#[test]
fn no_output_overwrites_an_input() {
    let mut victims = Victims::default();
    let sandbox = inputs();
    for writer in &WRITERS {
        for victim in writer.inputs {
            for (_, line) in writer.lines(&sandbox, victim) {
                victims.run(&sandbox, &line, victim);
            }
            if matches!(writer.kind, Code | Text) {
                for standard_output in ["-", "/dev/stdout"] {
                    victims.run(&sandbox, &format!("{} 1<>{victim}", writer.line(standard_output, "")), victim);
                }
            }
        }
    }
    for (line, victim) in [
        ("pack -o image - <image", "image"),
        ("strip --device-debug -o cubin - <cubin", "cubin"),
        ("wrap --kind openmp --match host.o -o host.o image", "host.o"),
        ("lock -o image - <image", "image"),
        ("prune --device sm_90 -i --proof fat fat", "fat"),
        ("prune --device sm_90 -o . fat", "fat"),
        ("strip --device-debug -o below/.. cubin", "cubin"),
        ("transcode --to zstd -o around fat", "fat"),
        ("replace --image 0=cubin -o . fat", "fat"),
        ("join parts -o parts", "parts/host.o"),
        ("link --emit-fatbin-only -- ld -o host.o host.o", "host.o"),
        ("link --policy policy -- ld -o policy host.o", "policy"),
    ] {
        victims.run(&sandbox, line, victim);
    }
    println!("{} runs with an input as the output, {} overwritten", victims.runs, victims.overwritten.len());
    assert!(victims.overwritten.is_empty(), "{:#?}", victims.overwritten);
    assert!(victims.runs > 250, "only {} runs", victims.runs);
}

#[test]
fn no_text_overwrites_a_binary_file() {
    let mut victims = Victims::default();
    let sandbox = inputs();
    for writer in WRITERS.iter().filter(|writer| writer.is_text()) {
        for (format, bytes) in BINARIES {
            let victim = if let TextIn(name) = writer.kind { name } else { "victim" };
            sandbox.file(victim, bytes);
            for (_, line) in writer.lines(&sandbox, victim) {
                victims.run(&sandbox, &line, victim);
            }
            let place = if victim == "victim" { "victim" } else { "." };
            let run = sandbox.fatbin(&format!("{} --force", writer.line(place, victim)));
            assert!(run.status <= 1, "{format}: {}", run.err);
            assert!(sandbox.read(victim) != bytes || writer.command == "doctor", "{} {format}", writer.command);
        }
    }
    sandbox.file("clang-offload-bundler", "a tool of LLVM");
    victims.run(&sandbox, "install-links .", "clang-offload-bundler");
    println!("{} runs with a binary file as a text output, {} overwritten", victims.runs, victims.overwritten.len());
    assert!(victims.overwritten.is_empty(), "{:#?}", victims.overwritten);
    assert!(victims.runs > 400, "only {} runs", victims.runs);
}

#[test]
fn no_output_overwrites_another_or_a_file_in_a_directory_that_is_searched() {
    let mut victims = Victims::default();
    let sandbox = inputs();
    sandbox.file("same", "old");
    symlink("same", sandbox.path("symbolic")).unwrap();
    for other in ["same", "./same", "around/same", "symbolic"] {
        for line in [
            format!("prune --device sm_90 -o same --proof {other} fat"),
            format!("strip --device-debug -o same --proof {other} cubin"),
            format!("embed --symbol k=image -o same --header {other}"),
            format!("embed --symbol k=image -o o --header same --rust {other}"),
            format!("unbundle --target {HOST}=same --target {ONE}={other} bundle"),
        ] {
            victims.run(&sandbox, &line, "same");
        }
    }
    std::fs::create_dir(sandbox.path("searched")).unwrap();
    for name in ["image", "kernel.ptx", "host.o", "cubin"] {
        std::fs::copy(sandbox.path(name), sandbox.path("searched").join(name)).unwrap();
    }
    sandbox.file("paths", "searched\n");
    for name in ["image", "kernel.ptx", "host.o", "cubin"] {
        let victim = format!("searched/{name}");
        for line in [
            format!("lock -o {victim} searched"),
            format!("inspect --html {victim} searched"),
            format!("inspect --html {victim} --files-from - <paths"),
            format!("check --policy policy --html {victim} searched"),
            format!("check --init --schema {victim} searched"),
            format!("extract -o searched --arch gfx90a --name {name} searched/image searched"),
            format!("extract --arch sm_80 --to {victim} searched"),
        ] {
            victims.run(&sandbox, &line, &victim);
        }
    }
    println!("{} runs with other victims, {} overwritten", victims.runs, victims.overwritten.len());
    assert!(victims.overwritten.is_empty(), "{:#?}", victims.overwritten);
}
