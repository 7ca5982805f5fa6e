//! Response files: their words compared with the words that linkers read, and one that `fatbin link` writes.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::{fatbin, forms};
use crate::harness::command::command;
use crate::harness::fatbin_program;
use crate::harness::program::write_program;
use crate::harness::step::Step;
use crate::harness::tools::Tool;

/// Texts of response files, whose words no program finds.
const TEXTS: [&[u8]; 46] = [
    b"a b",
    b"a\tb\rc\nd\x0be\x0cf",
    b"a\r\nb\r\n",
    b"a\0b c",
    b"\xef\xbb\xbfx y",
    b"\xff\xfea\0 \0b\0",
    b"\xfe\xff\0a\0 \0b",
    br"'c\d.o'",
    br#""c\d""#,
    br"c\d",
    br"c\\d",
    br"'c\\d'",
    br#""c\\d""#,
    br"'it\'s'",
    br#""q\"r""#,
    br#"x"y z"w"#,
    b"x'y z'w",
    br"a\ b",
    b"\"\" b",
    b"'' b",
    b"\"u\"\"v\"",
    b"\"p\"\"\" q",
    br#""a\\" b"#,
    br#""a\\\" b""#,
    br"a\",
    b"\"open q",
    b"'open q",
    b"a\\\nb",
    b"\"a\\\nb\"",
    b"'a\\\nb'",
    b"# x\ny",
    b"a # b ; c",
    br#"\"a b\""#,
    br#"a"b\c"d"#,
    br"a'b\c'd",
    br"\\srv\x",
    br#""\\srv\x y""#,
    b"@@x y",
    b"@none y",
    b"x@y z",
    b"'@none' y",
    b"\"@inner\" y",
    br"\@inner y",
    b"@inner y",
    b"@below/outer z",
    b"$HOME `x` \"a\\qb\"",
];

/// Text around the name of a missing file in a message.
struct Around {
    before: &'static str,
    after: &'static str,
}

/// A program that reads response files.
struct Program {
    tool: Tool,
    /// Name that shows its dialect.
    name: &'static str,
    /// Words in front of the response file.
    options: &'static [&'static str],
    /// Messages about missing files.
    messages: &'static [Around],
}

const NO_SUCH: Around = Around { before: "cannot open ", after: ": No such" };
const NOT_FOUND: Around = Around { before: "cannot find ", after: ": No such" };

const PROGRAMS: [Program; 7] = [
    Program { tool: Tool::Bfd, name: "ld.bfd", options: &[], messages: &[NOT_FOUND] },
    Program { tool: Tool::Gold, name: "ld.gold", options: &[], messages: &[NO_SUCH] },
    Program {
        tool: Tool::Cc,
        name: "gcc",
        options: &["-fuse-ld=bfd"],
        messages: &[NOT_FOUND, Around { before: "error: ", after: ": No such" }],
    },
    Program { tool: Tool::Lld, name: "ld.lld", options: &["--error-limit=0"], messages: &[NO_SUCH] },
    Program {
        tool: Tool::Clang,
        name: "clang",
        options: &["-###"],
        messages: &[Around { before: "no such file or directory: '", after: "'\n" }],
    },
    Program {
        tool: Tool::LldLink,
        name: "lld-link",
        options: &["-errorlimit:0"],
        messages: &[Around { before: "could not open '", after: "': " }],
    },
    // The first missing file ends mold.
    Program { tool: Tool::Mold, name: "mold", options: &["-m", "elf_x86_64"], messages: &[NO_SUCH] },
];

/// The words come from the messages of each program about missing files.
pub fn quotes(directory: &Path) -> Result<()> {
    std::fs::create_dir(directory.join("below"))?;
    // Names in a file are relative to the working directory.
    for (name, text) in [("inner", "i1 i2"), ("below/outer", "@other s"), ("other", "here"), ("below/other", "there")] {
        std::fs::write(directory.join(name), text)?;
    }
    for Program { tool, name, options, messages } in PROGRAMS {
        let program = tool.path()?;
        for text in TEXTS.into_iter().filter(|text| !matches!(tool, Tool::Mold) || !is_read_otherwise_by_mold_1(text)) {
            std::fs::write(directory.join("words"), text)?;
            let output = command(&program).args(options).arg("@words").current_dir(directory).output()?;
            let missing = messages.iter().map(|around| missing_files(&output.stderr, around));
            let expected = missing.into_iter().find(|names| !names.is_empty()).unwrap_or_default();
            let found = words(directory, name)?;
            let is_same = match &found {
                None => expected.is_empty(),
                Some(found) if matches!(tool, Tool::Mold) => found.first() == expected.first(),
                Some(found) => *found == expected,
            };
            ensure!(is_same, "{program:?} {}: {found:?}, expected {expected:?}", text.escape_ascii());
        }
    }
    Ok(())
}

/// mold 1 reads a quote inside a word and a backslash at the end as characters, and no file in a file. It ends at an
/// empty name.
fn is_read_otherwise_by_mold_1(text: &[u8]) -> bool {
    let has_inner_quote = text.windows(2).any(|pair| pair[0].is_ascii_alphanumeric() && b"\"'".contains(&pair[1]));
    let has_file = [&b"@inner"[..], b"@below"].iter().any(|file| text.windows(6).any(|part| part == *file));
    let begins_empty = text.starts_with(b"\"\"") || text.starts_with(b"''");
    has_inner_quote || has_file || begins_empty || text.ends_with(b"\\") || text.contains(&0)
}

/// Names in messages about missing files. Empty ones are left out, because not every program mentions them.
fn missing_files(message: &[u8], around: &Around) -> Vec<Vec<u8>> {
    let find = |bytes: &[u8], text: &str| bytes.windows(text.len()).position(|part| part == text.as_bytes());
    let mut names = Vec::new();
    let mut rest = message;
    while let Some(start) = find(rest, around.before) {
        rest = &rest[start + around.before.len()..];
        let Some(end) = find(rest, around.after) else { break };
        names.push(rest[..end].to_vec());
        rest = &rest[end..];
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Returns the words that `fatbin link` passes to a program with this name; `None` if the response file is refused.
fn words(directory: &Path, name: &str) -> Result<Option<Vec<Vec<u8>>>> {
    const END: &[u8] = b"--end";
    let program = directory.join(name);
    if !program.exists() {
        write_program(&program, "#!/bin/sh\nprintf '%s\\0' \"$@\" >arguments\n")?;
    }
    let mut link = command(fatbin_program());
    let link = link.args(["link", "--"]).arg(&program).args(["@words", "--end"]).current_dir(directory);
    let output = link.output()?;
    if output.status.code() == Some(2) {
        return Ok(None);
    }
    ensure!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let words = std::fs::read(directory.join("arguments"))?;
    let words = words.split(|byte| *byte == 0).take_while(|word| *word != END);
    Ok(Some(words.filter(|word| !word.is_empty()).map(<[u8]>::to_vec).collect()))
}

/// More images than fit in a command line are linked, by words in a response file.
pub fn many_images(directory: &Path) -> Result<()> {
    const COUNT: usize = 700;
    std::fs::write(
        directory.join("weak.hip"),
        forms::HELPER.replace("int helper", "__attribute__((weak)) int helper"),
    )?;
    let hip = ["-x", "hip", "-nogpulib", "-nogpuinc", "-fgpu-rdc", "--offload-new-driver", "--offload-arch=gfx90a"];
    Step::new(directory, Tool::Clang.path()?).args(hip).args(["-c", "weak.hip", "-o", "weak.o"]).run()?;
    let name = "n".repeat(200);
    let mut objects = Vec::new();
    for number in 0..COUNT {
        let object = PathBuf::from(format!("{name}-{number}.o"));
        std::fs::hard_link(directory.join("weak.o"), directory.join(&object))?;
        objects.push(object);
    }
    Step::new(directory, Tool::Ar.path()?).args(["rcs", "libweak.a"]).args(&objects).run()?;
    let link = fatbin(directory).args(["link", "-v", "--device-linker=--allow-multiple-definition", "--"]);
    // All objects have the module ID of the first.
    let link = link.arg(Tool::Bfd.path()?);
    let done = link.args(["-r", "-z", "muldefs", "-o", "linked.o", "--whole-archive", "libweak.a"]).run()?;
    let uses_file =
        done.report.lines().any(|line| line.contains("ld.lld") && line.contains(" @") && line.ends_with(".rsp"));
    ensure!(uses_file, "{}", done.error("expected a response file"));
    let scan = fatbin(directory).args(["scan", "linked.o"]).run()?;
    ensure!(scan.stdout.contains("gfx90a"), "{}", scan.error("expected an image"));
    Ok(())
}
