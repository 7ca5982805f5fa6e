//! Hostile text from files and names of files: none of it reaches a terminal, a report or another directory as it is.

use std::ffi::OsString;
use std::fs;
use std::io::{Cursor, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use fatbin_core::format::bundle;
use fatbin_core::format::offload_binary;
use fatbin_core::format::offload_binary::{OffloadBinaryImage, Version};

use crate::{Run, Sandbox, fixture};

/// Sequences that a terminal obeys, characters that change the direction or are not displayed, and markup.
const EVIL: &str = "\u{1b}[31mEVIL\u{1b}]0;t\u{7}\r\n\u{8}\u{7f}\u{9b}2J\u{202e}RTL\u{2028}\u{200b}\u{e0041}\u{feff}\u{2066}\
                    <script>alert(1)</script></script>|`*_[x](http://e)@user";

/// Bundle entry ID with the characters that readers accept.
const MARKUP: &str = "hip-amdgcn-amd-amdhsa--gfx906<script>alert(1)<!--|`*_[x](@user";

/// Returns whether a character must not leave the program.
pub fn is_unsafe(c: char) -> bool {
    c.is_control() && c != '\n'
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
        || ('\u{e0000}'..='\u{e007f}').contains(&c)
}

struct Section {
    name: Vec<u8>,
    kind: u32,
    flags: u64,
    link: u32,
    info: u32,
    entry_size: u64,
    data: Vec<u8>,
}

fn section(name: impl AsRef<[u8]>, kind: u32, data: impl Into<Vec<u8>>) -> Section {
    Section { name: name.as_ref().to_owned(), kind, flags: 2, link: 0, info: 0, entry_size: 0, data: data.into() }
}

/// Header fields of an ELF file: machine, type, flags, and the ABI with its version.
struct Header(u16, u16, u32, [u8; 2]);

fn elf(header: Header, mut sections: Vec<Section>) -> Vec<u8> {
    let Header(machine, kind, flags, abi) = header;
    let mut names = vec![0];
    let mut name_offsets = Vec::new();
    sections.push(section(".shstrtab", 3, []));
    for section in &sections {
        name_offsets.push(names.len() as u32);
        names.extend(section.name.iter().chain(&[0]));
    }
    sections.last_mut().unwrap().data = names;
    let (mut body, mut headers) = (vec![0; 64], vec![0; 64]);
    for (section, name) in sections.iter().zip(name_offsets) {
        body.resize(body.len().next_multiple_of(16), 0);
        headers.extend([name, section.kind].map(u32::to_le_bytes).concat());
        headers.extend([section.flags, 0, body.len() as u64, section.data.len() as u64].map(u64::to_le_bytes).concat());
        headers.extend([section.link, section.info].map(u32::to_le_bytes).concat());
        headers.extend([8, section.entry_size].map(u64::to_le_bytes).concat());
        body.extend(&section.data);
    }
    body.resize(body.len().next_multiple_of(16), 0);
    let mut start = b"\x7fELF\x02\x01\x01".to_vec();
    start.extend(abi);
    start.resize(16, 0);
    start.extend([kind, machine].map(u16::to_le_bytes).concat());
    start.extend(1_u32.to_le_bytes());
    start.extend([0, 0, body.len() as u64].map(u64::to_le_bytes).concat());
    start.extend(flags.to_le_bytes());
    let count = sections.len() as u16;
    start.extend([64, 0, 0, 64, count + 1, count].map(u16::to_le_bytes).concat());
    body[..64].copy_from_slice(&start);
    [body, headers].concat()
}

/// Returns sections of symbols that begin at `index`: one symbol of this kind in the section `of`.
fn symbols(index: u32, kind: u8, other: u8, of: u16) -> [Section; 2] {
    let mut table = vec![0; 24];
    table.extend([1, 0, 0, 0, kind, other]);
    table.extend(of.to_le_bytes());
    table.extend([0_u64, 16].map(u64::to_le_bytes).concat());
    let symbols = Section { link: index, info: 1, entry_size: 24, ..section(".symtab", 2, table) };
    [section(".strtab", 3, format!("\0{EVIL}\0")), symbols]
}

/// Returns a host object with evil names of sections, and one that registers a fat binary with an evil name.
fn hosts(bundle: &[u8], code_object: &[u8]) -> [Vec<u8>; 2] {
    let named = format!("__CLANG_OFFLOAD_BUNDLE__hip-amdgcn-amd-amdhsa--gfx90a{EVIL}");
    let sections = vec![
        section(EVIL, 1, bundle),
        section(named, 1, code_object),
        section(format!("__CLANG_OFFLOAD_BUNDLE__sycl-{EVIL}"), 1, code_object),
        section(".hip_fatbin", 1, format!("junk{EVIL}")),
    ];
    let library = elf(Header(62, 3, 0, [0, 0]), sections);
    let wrapper = [&0x4662_43b1_u32.to_le_bytes()[..], &1_u32.to_le_bytes(), &[0; 16]].concat();
    let [strings, table] = symbols(2, 0x10, 0, 0);
    let relocation = [8, 1 << 32 | 1, 0].map(u64::to_le_bytes).concat();
    let relocations = Section { link: 3, info: 1, entry_size: 24, ..section(".rela.nvFatBinSegment", 4, relocation) };
    let object =
        elf(Header(62, 1, 0, [0, 0]), vec![section(".nvFatBinSegment", 1, wrapper), strings, table, relocations]);
    [library, object]
}

/// Returns device images with evil names of kernels, arguments, producers and source files.
fn images() -> [(&'static str, Vec<u8>); 4] {
    let [strings, table] = symbols(2, 0x12, 0x10, 1);
    let cubin = vec![Section { flags: 6, ..section(".text.k", 1, [0; 16]) }, strings, table];
    let text = |text: &str| [&[0xda][..], &(text.len() as u16).to_be_bytes(), text.as_bytes()].concat();
    let evil = text(EVIL);
    let metadata = [
        b"\x81\xaeamdhsa.kernels\x91\x82\xa5.name".as_slice(),
        &evil,
        b"\xa5.args\x91\x84\xa5.name",
        &evil,
        b"\xa7.offset\0\xa5.size\x08\xab.value_kind\xa5other",
    ];
    let metadata = metadata.concat();
    let mut note = [7, metadata.len() as u32, 32].map(u32::to_le_bytes).concat();
    note.extend(b"AMDGPU\0\0");
    note.extend(metadata);
    note.resize(note.len().next_multiple_of(4), 0);
    let hsaco = vec![section(".note", 7, note), section(".comment", 1, format!("{EVIL}\0"))];
    let ptx = format!(
        "// Generated by LLVM\u{1b}[31mX\u{9b}\n.version 7.0\n.target sm_80\n.address_size 64\n.file 1 \"{EVIL}\"\n\
         .entry k(.param .u64 a){{.loc 1 1 1;}}\n"
    );
    let mut spirv = [0x0723_0203, 0x0001_0400, 0, 100, 0].map(u32::to_le_bytes).concat();
    let name = |front: &[u32]| {
        let mut words =
            [&front.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>(), EVIL.as_bytes(), b"\0"].concat();
        words.resize(words.len().next_multiple_of(4), 0);
        words
    };
    for (operation, operands) in [(15_u32, name(&[6, 1])), (7, name(&[9])), (8, name(&[9, 7, 1]))] {
        spirv.extend(((operands.len() as u32 / 4 + 1) << 16 | operation).to_le_bytes());
        spirv.extend(operands);
    }
    [
        ("evil.cubin", elf(Header(190, 2, 0x5a_055a, [51, 7]), cubin)),
        ("evil.hsaco", elf(Header(224, 3, 0x3f, [64, 2]), hsaco)),
        ("evil.ptx", ptx.into_bytes()),
        ("evil.spv", spirv),
    ]
}

fn offload_binary(strings: &[(&str, &str)], image: &[u8], image_kind: u16) -> Vec<u8> {
    let member = OffloadBinaryImage { image_kind, offload_kind: 2, flags: 0, strings, image };
    offload_binary::write(Version::One, &[member]).unwrap().content.to_vec()
}

fn text_bundle() -> String {
    let ids = ["host-x86_64-unknown-linux-gnu-", MARKUP];
    let entry = |id| {
        format!("\n// __CLANG_OFFLOAD_BUNDLE____START__ {id}\nint a;\n\n// __CLANG_OFFLOAD_BUNDLE____END__ {id}\n")
    };
    ids.map(entry).concat()
}

/// Names of archive members. Some would leave the output directory.
fn member_names(outside: &Path) -> Vec<String> {
    let outside = outside.display();
    let own = [
        "a\nb\u{1b}[31m",
        "C:\\x\\y",
        "con",
        ".hidden/..",
        "x!y",
        "A.bin",
        "a.bin",
        "é\u{202e}\u{200b}",
        &"n".repeat(4000),
    ];
    let own = own.map(str::to_owned).into_iter();
    own.chain([
        format!("../../../../../../../..{outside}/escaped"),
        format!("{outside}/absolute"),
        "../".repeat(50) + "x",
    ])
    .collect()
}

fn zip(names: &[String], content: &[u8]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for name in names {
        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Returns a tar file; names of more than 100 bytes are truncated.
fn tar(names: &[String], content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for name in names {
        let mut header = name.as_bytes()[..name.len().min(100)].to_vec();
        header.resize(100, 0);
        header.extend(
            format!("0000644\x000000000\x000000000\x00{:011o}\x0000000000000\x00        0", content.len()).bytes(),
        );
        header.resize(257, 0);
        header.extend(b"ustar\x0000");
        header.resize(512, 0);
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        bytes.extend(header);
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

/// Writes all inputs to the directory `in` and returns their names.
fn write_inputs(sandbox: &Sandbox) -> Vec<OsString> {
    let code_object = fixture("answer-gfx90a.hsaco");
    let host = ("host-x86_64-unknown-linux-gnu-", &b""[..]);
    let hip = format!("hip-amdgcn-amd-amdhsa--gfx906{EVIL}");
    let evil = format!("hip-{EVIL}-amd-amdhsa--gfx908");
    let invalid = bundle::write(&[host, (&hip, &code_object), (&evil, &code_object)], 1).unwrap().to_vec();
    let bundled = bundle::write(&[host, (MARKUP, &code_object)], 1).unwrap().to_vec();
    let [library, object] = hosts(&bundled, &code_object);
    let arch = format!("gfx{EVIL}");
    let strings = [("triple", EVIL), ("arch", &arch), ("producer", EVIL), (EVIL, EVIL)];
    let names = member_names(sandbox.directory.path());
    let mut files: Vec<(OsString, Vec<u8>)> = vec![
        ("strings".into(), offload_binary(&strings, &code_object, 1)),
        ("ptx".into(), offload_binary(&[("triple", &format!("nvptx64-nvidia-cuda{EVIL}")), ("arch", EVIL)], b"ptx", 5)),
        ("bundle".into(), bundled.clone()),
        ("invalid".into(), invalid),
        ("text".into(), text_bundle().into_bytes()),
        ("library.so".into(), library),
        ("object.o".into(), object),
        ("names.zip".into(), zip(&names, &code_object)),
        ("names.tar".into(), tar(&names, &code_object)),
        (OsString::from_vec(b"non-utf8-\xff\xfe-\x1b[31m.bin".to_vec()), code_object.clone()),
        ("line\nbreak\u{9b}\u{202e}".into(), b"CCOB\x03\0\x01\0truncated, and of a hostile name".to_vec()),
    ];
    files.extend(images().map(|(name, bytes)| (name.into(), bytes)));
    fs::create_dir_all(sandbox.path("in")).unwrap();
    for (name, bytes) in &files {
        fs::write(sandbox.path("in").join(name), bytes).unwrap();
    }
    files.into_iter().map(|(name, _)| Path::new("in").join(name).into_os_string()).collect()
}

fn check_text(what: &str, text: &str) {
    if let Some(at) = text.find(is_unsafe) {
        let start = text[..at].char_indices().rev().nth(40).map_or(0, |(start, _)| start);
        panic!("{what}: {:?}", text[start..].chars().take(100).collect::<String>());
    }
}

fn check_run(what: &str, run: &Run) {
    assert!((0..=2).contains(&run.status), "{what}: {}", run.err);
    check_text(what, &run.out);
    check_text(what, &run.err);
    for line in run.err.lines() {
        assert!(line.starts_with("fatbin: ") && line.chars().count() <= 1000, "{what}: {line}");
    }
}

const POLICY: &str = "must-hold = [\"nothing*\"]\n[archs]\nforbid = [\"gfx906\"]\nrequire = [\"sm_70\"]\n[images]\nintact = true\n\
                      build-paths = false\ndebug = \"none\"\nregistered = true\nduplicates = false\ncompressed = true\n\
                      [sizes]\ntotal = \"1 kB\"\nfile = \"10 B\"\n[[kernels]]\nmax-registers = 0\narchs = \"all\"\n";

/// Commands on all inputs, and commands on single inputs. Some of these have no errors.
const COMMANDS: [&str; 25] = [
    "scan",
    "scan -v",
    "scan --json --hash",
    "scan --ndjson",
    "inspect",
    "inspect --json",
    "inspect --matrix",
    "inspect --matrix --json",
    "inspect --html out/inspect.html",
    "verify -v",
    "list -v",
    "list -H",
    "select --device gfx90a",
    "select --device sm_90 --json",
    "check --policy policy --html out/check.html",
    "check --policy policy --format json",
    "check --policy policy --format junit",
    "check --policy policy --format sarif",
    "check --policy policy --format markdown",
    "check --policy policy --format github",
    "check --policy policy --format gitlab",
    "check --policy policy --format cyclonedx",
    "check --init",
    "metadata --format json",
    "metadata --format hf-kernels",
];

fn run(sandbox: &Sandbox, command: &str, inputs: &[OsString]) -> Run {
    crate::run(sandbox.command(env!("CARGO_BIN_EXE_fatbin")).args(command.split(' ')).args(inputs))
}

/// Returns the paths of all files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn hostile_text_is_escaped_in_every_output() {
    let sandbox = Sandbox::new();
    let inputs = write_inputs(&sandbox);
    fs::create_dir(sandbox.path("out")).unwrap();
    sandbox.file("policy", POLICY);
    for (number, inputs) in inputs.iter().map(std::slice::from_ref).chain([inputs.as_slice()]).enumerate() {
        for command in COMMANDS {
            let result = run(&sandbox, command, inputs);
            let what = format!("{command} {inputs:?}");
            check_run(&what, &result);
            if command.contains("json") && result.status < 2 && !command.contains("ndjson") {
                serde_json::from_str::<serde_json::Value>(&result.out).expect(&what);
            }
            if command.contains("junit") || command.contains("markdown") {
                assert!(!result.out.contains("<script>"), "{what}");
            }
        }
        let lock = format!("out/lock{number}");
        check_run("lock", &run(&sandbox, &format!("lock -o {lock}"), inputs));
        if sandbox.path(&lock).exists() {
            let locks = [OsString::from(&lock), "out/lock0".into()];
            check_run("diff", &run(&sandbox, "diff --all", &locks));
            check_run("diff", &run(&sandbox, "diff --json", &locks));
        }
        check_run("extract", &run(&sandbox, &format!("extract --index -o out/images{number}"), inputs));
    }
    let mut read = 0;
    for path in files(&sandbox.path("out")) {
        let name = path.strip_prefix(sandbox.directory.path()).unwrap().to_str().expect("UTF-8").to_owned();
        check_text("file name", &name);
        if name.ends_with("html") || name.ends_with("json") || name.starts_with("out/lock") {
            let text = fs::read_to_string(&path).unwrap();
            check_text(&name, &text);
            assert!(!name.ends_with("html") || !text.contains("<script>alert"), "{name}");
            read += 1;
        }
    }
    assert!(read > 15, "{read} reports");
    assert_eq!(sandbox.names(), ["in", "out", "policy"], "nothing is written elsewhere");
    assert_eq!(files(&sandbox.path("in")).len(), inputs.len());
}

#[test]
fn extraction_stays_below_its_directory_with_every_template() {
    let sandbox = Sandbox::new();
    write_inputs(&sandbox);
    let outside = sandbox.path("absolute").display().to_string();
    let absolute = format!("{outside}/{{member}}{{number}}");
    let templates = [
        "{number}{member}",
        "{file}/{number}/{member}",
        "{arch}/{triple}{number}",
        "../../{member}{number}",
        &absolute,
        "{name}\u{1b}[31m\u{202e}{number}",
        "{member}/../../../{number}",
        "{number}",
        "{kind}/{kind}/{kind}{number}",
    ];
    let mut inputs = ["in/strings", "in/bundle", "in/library.so"].map(str::to_owned).to_vec();
    for (index, name) in member_names(sandbox.directory.path()).into_iter().enumerate() {
        let code_object = fixture("answer-gfx90a.hsaco");
        fs::write(sandbox.path(&format!("in/{index}.zip")), zip(std::slice::from_ref(&name), &code_object)).unwrap();
        fs::write(sandbox.path(&format!("in/{index}.tar")), tar(&[name], &code_object)).unwrap();
        inputs.extend(["zip", "tar"].map(|kind| format!("in/{index}.{kind}")));
    }
    for (number, template) in templates.iter().enumerate() {
        for (index, input) in inputs.iter().enumerate() {
            let output = format!("out/{number}/{index}");
            let arguments = ["extract", "--name", template, "-o", &output, input];
            check_run(template, &crate::run(sandbox.command(env!("CARGO_BIN_EXE_fatbin")).args(arguments)));
        }
    }
    assert!(files(&sandbox.path("out")).len() > 200);
    for path in files(&sandbox.path("out")) {
        check_text("file name", path.to_str().expect("UTF-8"));
    }
    assert_eq!(sandbox.names(), ["in", "out"]);
}

#[test]
fn hostile_arguments_and_ids_are_escaped_in_messages() {
    let sandbox = Sandbox::new();
    write_inputs(&sandbox);
    let long = format!("in/{}", "\u{202e}".repeat(200).repeat(10));
    let program = || sandbox.command(env!("CARGO_BIN_EXE_fatbin"));
    let target = format!("hip-amdgcn-amd-amdhsa--gfx906{EVIL}=/dev/null");
    let cases: [&[&str]; 6] = [
        &["scan", EVIL],
        &["scan", &long],
        &["unbundle", "--explain", "--target", "hip-amdgcn-amd-amdhsa--gfx906=/dev/null", "in/bundle"],
        &["unbundle", "--target", &target, "in/bundle"],
        &["select", "--device", EVIL, "in/bundle"],
        &["check", "--policy", EVIL, "in/bundle"],
    ];
    for arguments in cases {
        let run = crate::run(program().args(arguments));
        check_run(&format!("{arguments:?}"), &run);
        assert!(run.status == 2 || arguments[0] == "unbundle", "{arguments:?}: {}", run.err);
    }
    // Errors of the command line have several lines.
    for arguments in
        [["scan", &format!("--{EVIL}")], ["scan", "--color=\u{1b}[31m\u{202e}"], ["no\u{1b}[31m\u{202e}", "in/bundle"]]
    {
        let run = crate::run(program().args(arguments));
        assert_eq!(run.status, 2);
        check_text("usage", &run.err);
        assert!(
            run.err.starts_with("fatbin: ") && run.err.lines().all(|line| line.chars().count() <= 1000),
            "{}",
            run.err
        );
    }
    for (tool, arguments) in [
        ("clang-offload-bundler", vec!["-list", "-type=bc", "-input=in/bundle"]),
        ("clang-offload-bundler", vec!["-list", "-type=ii", "-input=in/text"]),
        ("clang-offload-bundler", vec!["-list", "-type=bc", "-input=in/invalid"]),
        ("clang-offload-bundler", vec!["-unbundle", "-type=bc", &long, EVIL]),
        ("clang-offload-packager", vec!["in/strings", "--image=file=out,triple=\u{1b}[31m"]),
    ] {
        let run = crate::run(program().arg0(tool).args(&arguments));
        check_text(tool, &run.out);
        check_text(tool, &run.err);
        assert!(run.err.lines().all(|line| line.chars().count() <= 1000), "{}", run.err);
        assert_eq!(
            run.out.contains(MARKUP),
            arguments[0] == "-list" && run.err.is_empty(),
            "{arguments:?}: {}",
            run.out
        );
    }
}
