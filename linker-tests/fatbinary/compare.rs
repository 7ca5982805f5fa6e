//! The drop-in compared with NVIDIA's tool: tables of command lines, the texts of PTX, and the divergences.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::cubins;
use crate::dropin::{Call, CallResult, DirectoryEntry, Pair};
use crate::harness::directives::fixture;
use crate::harness::tools::Tool;

/// Command lines with equal results, and mistakes with equal messages.
const LINES: &str = include_str!("options.txt");
const MISTAKES: &str = include_str!("mistakes.txt");

/// Minimum numbers of command lines.
const FEWEST_LINES: usize = 40;

/// PTX with comments, strings and blanks in all places.
const ODD_PTX: &str = "// a comment\r\n/* .version 1.2 */ \t /* two\nlines */\n\n  .version \t 8.8   // trailing\n.target\tsm_90 ,  \
                       debug\n.address_size  64\n\n.file 1 \"a  b // c /* d \\\"  e\"\n\n.visible .entry k ( .param .u64  p \
                       )\n{\n\t.reg .b64 \t%rd<3>;  \n /*/ ld.param.u64  %rd1, [p]; /* x */\n\tret;/**/\x0b \x0c \n}\n\n \n";

/// PTX with 32-bit addresses.
const PTX_32: &[u8] = b".version 7.0\n.target sm_75\n.address_size 32\n.visible .entry k()\n{\nret;\n}\n";

/// A header of Tile IR and arbitrary bytes, which fatbinary accepts.
const FAKE_TILE_IR: &[u8] = b"\x7fTileIR\0\x0d\x01\x02\x03 instead of bytecode";

/// Creates the inputs in a directory, and both programs.
pub fn prepare(directory: &Path) -> Result<Pair> {
    cubins(directory)?;
    let lto_ir = std::fs::read(fixture("answer-sm_90.ltoir")?)?;
    let tile_ir = std::fs::read(fixture("answer.tilebc")?)?;
    let crlf = ODD_PTX.replace('\n', "\r\n");
    let cubin_32 = std::fs::read(fixture("answer-sm_75-32.cubin")?)?;
    let files: [(&str, &[u8]); 20] = [
        ("sm_75-32.cubin", &cubin_32),
        ("sm_75-32.ptx", PTX_32),
        ("sm_90.ltoir", &lto_ir),
        ("sm_90a.ltoir", &lto_ir),
        ("sm_100.tileir", &tile_ir),
        ("sm_fake.tileir", FAKE_TILE_IR),
        ("short.tileir", &FAKE_TILE_IR[..13]),
        ("odd.ptx", ODD_PTX.as_bytes()),
        ("crlf.ptx", crlf.as_bytes()),
        ("no-version.ptx", b"// .versions 8.8\n.target sm_90\n"),
        ("empty", b""),
        ("short", b"\x7fEL"),
        ("options", b"--ident=\"a b\"\t--image3=kind=ptx,sm=90,file=../sm_90.ptx\r\n --cmdline \\\"-v\\\" '-g\n"),
        ("more", b"-g"),
        ("nested", b"-optf ../more --create=x"),
        ("endless", b"-optf ../endless"),
        ("unterminated", b"--ident=\"a b"),
        ("bogus", b"-g\n-bogus"),
        ("host", &std::fs::read(fixture("answer-x86_64.so")?)?),
        ("old", b"old"),
    ];
    for (name, bytes) in files {
        std::fs::write(directory.join(name), bytes)?;
    }
    Pair::new(directory, "fatbinary", &Tool::Fatbinary.path()?)
}

fn lines(table: &str) -> impl Iterator<Item = Vec<String>> {
    let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split_whitespace().map(word).collect())
}

/// Expands an image, and replaces the characters that stand for blanks.
fn word(word: &str) -> String {
    for (kind, extension) in [("elf", "cubin"), ("ptx", "ptx"), ("nvvm", "ltoir"), ("tileir", "tileir")] {
        if let Some(image) = word.strip_prefix(kind).and_then(|rest| rest.strip_prefix(':')) {
            let (arch, file) = image.split_once('=').unwrap_or((image, image));
            return format!("--image3=kind={kind},sm={arch},file=../sm_{file}.{extension}");
        }
    }
    word.replace('~', " ")
}

pub fn call(line: &[String]) -> Call<'_> {
    let words: Vec<&str> = line.iter().map(String::as_str).collect();
    Call { prepare: |directory| Ok(std::fs::write(directory.join("old"), "old")?), ..Call::new(&words) }
}

/// Both programs write equal files and print equal messages.
pub fn options(directory: &Path) -> Result<()> {
    let pair = prepare(directory)?;
    let mut count = 0;
    for line in lines(LINES) {
        let result = pair.same(&call(&line))?;
        ensure!(result.status == 0, "{line:?}: status {}: {}", result.status, result.err);
        count += 1;
    }
    ensure!(count >= FEWEST_LINES, "{count} lines");
    Ok(())
}

/// Both programs print equal messages about mistakes, and exit with status 1.
pub fn mistakes(directory: &Path) -> Result<()> {
    let pair = prepare(directory)?;
    let mut count = 0;
    for line in lines(MISTAKES) {
        let call = call(&line);
        let result = pair.same(&call)?;
        ensure!(result.status == 1 && !result.err.is_empty(), "{line:?}: {result:?}");
        count += 1;
    }
    ensure!(count >= FEWEST_LINES, "{count} lines");
    Ok(())
}

/// PTX of random characters that matter to the removal of comments, and versions of all forms.
pub fn texts(directory: &Path) -> Result<()> {
    let pair = prepare(directory)?;
    let mut state = 1_u32;
    let mut next = |below: usize| {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
        (state >> 16) as usize % below
    };
    let alphabets: [&[u8]; 3] = [b" \t\n/*a", b" \"\\a/*\n", b" \x0b\x0c\r\n\0a/\"\\*\xe9"];
    let texts: Vec<Vec<u8>> = (0..600)
        .map(|number| {
            let alphabet = alphabets[number % alphabets.len()];
            let random: Vec<u8> = (0..next(14)).map(|_| alphabet[next(alphabet.len())]).collect();
            [b".version 8.8\n", random.as_slice()].concat()
        })
        .collect();
    same_texts(directory, &pair, &texts)?;
    for version in VERSIONS {
        let text = directory.join("text0");
        std::fs::write(&text, version)?;
        let line = ["--create=x".to_owned(), image_of_text(0)];
        pair.same(&call(&line)).with_context(|| format!("{}", version.escape_ascii()))?;
    }
    Ok(())
}

/// Texts with a version that fatbinary reads in an unusual way, or does not find.
const VERSIONS: [&[u8]; 24] = [
    b"/* .version 1.2 */ .version 8.8\n",
    b"// .version 1.2\n.version 8.8\n",
    b"\".version 1.1\" .version 2.2",
    b".versionx 3.3 .version 4.4",
    b".version 4.4 .version 5.5",
    b".version3.3",
    b".version \t\x0b\x0c\r\n 3.3",
    b".version 3. 4",
    b".version 3.4x",
    b".version +3.+4",
    b".version 65537.70000",
    b".version 4294967297.4294967298",
    b".version 99999999999999999999.1",
    b".version 0x3.1",
    b".version 03.010",
    b"a\0.version 3.3",
    b".version /* */ 3.3",
    b"x.version 9.10",
    b".version .3",
    b".version 3..3",
    b".Version 3.3",
    b".version ",
    b"\x7fELF .version 3.3",
    b"\0",
];

fn image_of_text(number: usize) -> String {
    format!("--image3=kind=ptx,sm=90,file=../text{number}")
}

/// Compares the entries of all texts in one container.
fn same_texts(directory: &Path, pair: &Pair, texts: &[Vec<u8>]) -> Result<()> {
    let mut line = vec!["--create=x".to_owned(), "--compress=false".to_owned()];
    for (number, text) in texts.iter().enumerate() {
        std::fs::write(directory.join(format!("text{number}")), text)?;
        line.push(image_of_text(number));
    }
    let result = pair.same(&call(&line))?;
    ensure!(file(&result, "x")?.len() > texts.len() * 88, "a container without texts");
    Ok(())
}

/// Returns the bytes of a file that a program left.
pub fn file<'a>(result: &'a CallResult, name: &str) -> Result<&'a [u8]> {
    match result.left.get(name) {
        Some(DirectoryEntry::File { bytes, .. }) => Ok(bytes),
        _ => anyhow::bail!("no file {name}: {result:?}"),
    }
}
