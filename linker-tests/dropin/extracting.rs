//! `llvm-offload-binary FILE --image=...`: the images found in each file, the matches, and the names of outputs.
//!
//! The tool supports all of the files: offload binaries alone, in every kind of object, program, library and archive,
//! and malformed ones. `src/dropin/offload_packager` lists the divergences of the drop-in. Two of them affect the
//! comparison: [`Pair::same_but_for_words`] for inputs that cannot be read, and names that would leave the directory.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use libtest_mimic::Trial;

use super::{Call, CallResult, Pair, Side};
use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::Tool;
use crate::harness::trial::{completion, fresh_directory};

/// Requests for every file.
const ASKED: [&str; 8] = [
    "",
    "--image=",
    "--image=file=out",
    "--image=triple=tA",
    "--archive --image=file=out.a",
    "--archive --image=file=out.a,arch=a1 --image=file=other.a,triple=tN",
    "--image=kind=cuda,file=cuda --image=arch=",
    "--image=arch=none --archive",
];

/// Requests for one file only, because the parsing of arguments does not depend on the file.
const ASKED_ONCE: [&str; 45] = [
    "--image=file",
    "--image=file=",
    "--image=file=-",
    "--image=file=-,arch=a2",
    "--image=file=-,arch=a2 --archive",
    "--image=triple=tA,file=out",
    "--image=triple=tA,arch=a2,file=out",
    "--image=triple=tX,file=out",
    "--image=triple=tX",
    "--image=triple",
    "--image=triple=",
    "--image=kind=openmp",
    "--image=kind=hip,file=out",
    "--image=kind=none",
    "--image=kind=bogus",
    "--image=kind=",
    "--image=kind",
    "--image=kind=openmp,kind=openmp",
    "--image=foo=bar",
    "--image=foo=",
    "--image=foo",
    "--image=,",
    "--image==x",
    "--image=arch=a1,arch=a1",
    "--image=arch=a1,triple=tB",
    "--image=file=one,file=two,triple=tB",
    "--image=file=same,triple=tB --image=file=same,triple=tA,arch=a2",
    "--image=triple=tB --image=triple=tA",
    "--image=triple=tA --image=file=no/out,triple=tB --image=file=never",
    "--archive",
    "--archive --image=",
    "--archive --image=triple=tA",
    "--archive --image=triple=tX",
    "--archive --image=file=no/out.a",
    "--archive --image=file=directory",
    "--archive --image=file=",
    "--archive --image=file",
    "--archive=0 --image=triple=tB",
    "--image=file=no/out",
    "--image=file=directory",
    "--image=file=target",
    "--image=file=link,arch=a2",
    "--archive --image=file=link,arch=a2",
    "--image=file=out --color",
    "--image=file=directory --color=true",
];

pub fn trials() -> Vec<Trial> {
    let trial = |name: &str, run: fn(&Path, &Pair) -> Result<()>| {
        let name = name.to_owned();
        Trial::ignorable_test(format!("dropin/extracting/{name}"), move || {
            completion(fresh_directory("dropin-extracting", &name).and_then(|directory| {
                let pair = Pair::new(&directory, "llvm-offload-binary", &Tool::OffloadBinary.path()?)?;
                make_binaries(&pair, &directory)?;
                run(&directory, &pair)
            }))
        })
    };
    vec![
        trial("arguments", arguments_mean_the_same),
        trial("files", the_same_is_found_in_every_file),
        trial("damaged-binaries", damaged_binaries_are_refused_alike),
        trial("damaged-objects", damaged_objects_are_refused_alike),
        trial("names", names_stay_in_the_directory),
    ]
}

fn arguments_mean_the_same(directory: &Path, pair: &Pair) -> Result<()> {
    for asked in ASKED_ONCE {
        let line = format!("../in.bin {asked}");
        pair.same(&Call { prepare, ..Call::line(&line) })?;
    }
    for name in [".in", "in", "in.", "..in", "a.b.c", "gfx90a:xnack+.out", "-in.bin"] {
        std::fs::copy(directory.join("in.bin"), directory.join(name))?;
        let path = format!("../{name}");
        let result = pair.same(&Call::new(&[&path, "--image=arch=a1", "--image=file=out,triple=tB"]))?;
        ensure!(result.left.len() > 2, "{name}: {:?}", result.left.keys());
    }
    Ok(())
}

fn prepare(directory: &Path) -> Result<()> {
    std::fs::create_dir(directory.join("directory"))?;
    std::fs::write(directory.join("target"), "old")?;
    Ok(std::os::unix::fs::symlink("target", directory.join("link"))?)
}

/// Makes offload binaries with the tool: four images, and nested binaries.
fn make_binaries(pair: &Pair, directory: &Path) -> Result<()> {
    std::fs::write(directory.join("one.o"), "image one")?;
    std::fs::write(directory.join("two.cubin"), "2")?;
    let pack = |name: &str, images: &str| -> Result<()> {
        let line = format!("-o ../{name} {images}");
        let result = pair.call(Side::Theirs, &Call::line(&line))?;
        ensure!(result.status == 0, "{line}: {}", result.err);
        Ok(())
    };
    pack(
        "in.bin",
        "--image=file=../one.o,triple=tA,arch=a1,kind=openmp --image=file=../two.cubin,triple=tA,arch=a2,kind=cuda \
         --image=file=../one.o,triple=tB,arch=a1,kind=hip,foo=bar --image=file=../two.cubin,triple=tA,arch=a1",
    )?;
    std::fs::copy(directory.join("in.bin"), directory.join("in.bin.o"))?;
    pack("nested.bin", "--image=file=../in.bin.o,triple=tN,arch=aN,kind=openmp --image=file=../one.o,triple=tN")?;
    for name in ["answer-sm_90.cubin", "answer-gfx90a.hsaco"] {
        std::fs::copy(fixture(name)?, directory.join(name))?;
    }
    pack(
        "real.bin",
        "--image=file=../answer-sm_90.cubin,triple=tA,arch=a1 --image=file=../answer-gfx90a.hsaco,triple=tN \
         --image=file=../answer-sm_90.cubin,triple=tA",
    )?;
    pack("nothing.bin", "--image=file=../one.o")?;
    pack("none.bin", "--image=file")
}

fn the_same_is_found_in_every_file(directory: &Path, pair: &Pair) -> Result<()> {
    let bytes = |name: &str| std::fs::read(directory.join(name));
    let write = |name: &str, parts: &[&[u8]]| std::fs::write(directory.join(name), parts.concat());
    let one = bytes("in.bin")?;
    write("twice.bin", &[&one, &bytes("real.bin")?])?;
    write("padded.bin", &[&one, &[0; 64]])?;
    write("junk-behind.bin", &[&one, b"junk"])?;
    write("junk-between.bin", &[&one, b"12345678", &one])?;
    write("junk-before.bin", &[b"12345678", &one])?;
    write("text", &[b"no object at all"])?;
    write("empty", &[])?;
    let mut files =
        vec!["in.bin", "nested.bin", "real.bin", "nothing.bin", "none.bin", "text", "empty", "directory", "no"];
    files.extend(["twice.bin", "padded.bin", "junk-behind.bin", "junk-between.bin", "junk-before.bin"]);
    files.extend(make_objects(directory)?);
    files.extend(make_archives(directory)?);
    for file in files {
        for asked in ASKED {
            let line = format!("../{file} {asked}");
            let result = pair.same_but_for_words(&Call { prepare, ..Call::line(&line) })?;
            let should_be_found = asked == "--image=" && !HOLD_NOTHING.contains(&file);
            // Prepared files are present as well.
            ensure!(!should_be_found || result.left.len() > 3, "{line}: nothing found\n{}", result.err);
        }
    }
    for asked in ASKED {
        let (line, stdin) = (format!("- {asked}"), directory.join("nested.bin"));
        pair.same(&Call { stdin: Some(&stdin), ..Call::line(&line) })?;
    }
    std::fs::remove_file(directory.join("deep/embedded.elf.o"))?;
    let result = pair.same(&Call::line("../deep/thin.a --image="))?;
    ensure!(result.err.ends_with("No such file or directory\n"), "a member that is gone: {}", result.err);
    Ok(())
}

/// Makes inputs without any result: without images, malformed, or not files.
const HOLD_NOTHING: [&str; 14] = [
    "none.bin",
    "text",
    "empty",
    "directory",
    "no",
    "padded.bin",
    "junk-behind.bin",
    "junk-between.bin",
    "junk-before.bin",
    "plain.elf",
    "plain.coff",
    "plain.bc",
    "broken-archive",
    "empty-archive",
];

/// Makes host objects with binaries for every object format that clang embeds into, and links them.
fn make_objects(directory: &Path) -> Result<Vec<&'static str>> {
    std::fs::write(directory.join("host.c"), "int answer(void) { return 42; }\n")?;
    let clang = |arguments: &str| -> Result<()> {
        let step = Step::new(directory, Tool::Clang.path()?).args(["-c", "host.c"]);
        step.args(arguments.split_whitespace()).run().map(|_| ())
    };
    let embed = |name: &str| format!("-Xclang -fembed-offload-object={name}");
    clang(&format!("-o embedded.elf.o {}", embed("in.bin")))?;
    clang(&format!("-o several.o {} {} {}", embed("in.bin"), embed("nested.bin"), embed("real.bin")))?;
    clang(&format!("-o elf32-be.o --target=powerpc-linux-gnu {}", embed("in.bin")))?;
    clang(&format!("-o coff.o --target=x86_64-pc-windows-msvc {} {}", embed("in.bin"), embed("real.bin")))?;
    clang(&format!("-o coff-arm64.o --target=aarch64-pc-windows-msvc {}", embed("in.bin")))?;
    clang(&format!("-o host.bc -emit-llvm {} {}", embed("in.bin"), embed("real.bin")))?;
    clang("-o plain.bc -emit-llvm")?;
    clang("-o plain.elf")?;
    clang("-o plain.coff --target=x86_64-pc-windows-msvc")?;
    // Programs and libraries keep the section only if it is loaded, as in fatbin's wrapper objects.
    let wrap = Step::new(directory, fatbin_program()).args(["wrap", "--kind", "openmp", "-o", "wrapped.o"]);
    wrap.arg(fixture("answer-gfx90a.hsaco")?).run()?;
    let lld = || -> Result<Step> { Ok(Step::new(directory, Tool::Lld.path()?).arg("wrapped.o")) };
    lld()?.args(["-shared", "-o", "library.so"]).run()?;
    lld()?.args(["--unresolved-symbols=ignore-all", "-e", "0", "-o", "program"]).run()?;
    lld()?.args(["-r", "several.o", "-o", "relocatable.o"]).run()?;
    Ok(vec![
        "embedded.elf.o",
        "several.o",
        "elf32-be.o",
        "coff.o",
        "coff-arm64.o",
        "plain.elf",
        "plain.coff",
        "wrapped.o",
        "library.so",
        "program",
        "relocatable.o",
        "host.bc",
        "plain.bc",
    ])
}

fn make_archives(directory: &Path) -> Result<Vec<&'static str>> {
    std::fs::create_dir(directory.join("deep"))?;
    let long = "deep/a-name-that-is-longer-than-a-header-of-an-archive-has-room-for.o";
    std::fs::copy(directory.join("several.o"), directory.join(long))?;
    std::fs::copy(directory.join("embedded.elf.o"), directory.join("deep/embedded.elf.o"))?;
    let ar = |arguments: &[&str]| Step::new(directory, Tool::Ar.path()?).args(arguments).run();
    ar(&["rc", "library.a", "plain.elf", "embedded.elf.o", "text", long, "coff.o", "host.bc"])?;
    ar(&["rc", "raw.a", "in.bin", "empty", "real.bin"])?;
    ar(&["rcT", "deep/thin.a", "deep/embedded.elf.o", long])?;
    ar(&["rc", "--format=bsd", "bsd.a", "embedded.elf.o", long])?;
    ar(&["rc", "nested.a", "library.a", "in.bin"])?;
    ar(&["rc", "broken-archive", "embedded.elf.o", "junk-behind.bin"])?;
    ar(&["rc", "empty-archive"])?;
    Ok(vec!["library.a", "raw.a", "deep/thin.a", "bsd.a", "nested.a", "broken-archive", "empty-archive"])
}

/// Every prefix of a binary, and every field of it with invalid values. The reference is called only where its behavior
/// is defined: elsewhere it reads beyond its buffer, and what it finds there differs from run to run.
fn damaged_binaries_are_refused_alike(directory: &Path, pair: &Pair) -> Result<()> {
    let good = std::fs::read(directory.join("in.bin"))?;
    let mut counts = Counts::default();
    for size in (0..80).chain((80..good.len()).step_by(7)) {
        counts.add(refuse_damaged(directory, pair, &good[..size])?);
    }
    let whole = u64::from_le_bytes(good[8..16].try_into()?);
    for (field, size) in FIELDS {
        for value in VALUES.into_iter().chain([whole - 1, whole, whole + 1]) {
            let mut damaged = good.clone();
            damaged[field..field + size].copy_from_slice(&value.to_le_bytes()[..size]);
            counts.add(refuse_damaged(directory, pair, &damaged)?);
        }
    }
    ensure!(counts.by_both > 100 && counts.only_by_us > 20, "{counts:?}");
    Ok(())
}

/// Number of damaged files by outcome.
#[derive(Debug, Default)]
struct Counts {
    by_both: usize,
    only_by_us: usize,
}

impl Counts {
    fn add(&mut self, refused: Refused) {
        self.by_both += usize::from(refused == Refused::ByBoth);
        self.only_by_us += usize::from(refused == Refused::OnlyByUs);
    }
}

fn refuse_damaged(directory: &Path, pair: &Pair, bytes: &[u8]) -> Result<Refused> {
    std::fs::write(directory.join("damaged.bin"), bytes)?;
    if reference_stays_inside(bytes).is_none() {
        return refused_by_us(pair);
    }
    let has_wrong_entry_size = bytes.len() >= 32 && bytes[ENTRY_SIZE..ENTRY_SIZE + 8] != 40_u64.to_le_bytes();
    are_refused_alike(pair, has_wrong_entry_size)
}

fn refused_by_us(pair: &Pair) -> Result<Refused> {
    let ours = pair.call(Side::Ours, &Call::line(DAMAGED))?;
    ensure!(is_refusal(&ours), "accepted: status {}, {:?}, {}", ours.status, ours.left.keys(), ours.err);
    Ok(Refused::OnlyByUs)
}

/// `Some` if llvm-offload-binary 22 reads no byte outside the first binary of a file: either one of its checks refuses
/// the binary, or the string table, the strings and the image are inside it.
/// Source: `OffloadBinary::create` and its constructor in `llvm/lib/Object/OffloadBinary.cpp` of LLVM 22.
fn reference_stays_inside(bytes: &[u8]) -> Option<()> {
    const HEADER: u64 = 32;
    const ENTRY: u64 = 40;
    let number = |at: u64| Some(u64::from_le_bytes(bytes.get(at as usize..)?.get(..8)?.try_into().ok()?));
    let file_size = bytes.len() as u64;
    if file_size < HEADER + ENTRY || bytes[..8] != [0x10, 0xff, 0x10, 0xad, 1, 0, 0, 0] {
        return Some(());
    }
    let (size, entry, entry_size) = (number(8)?, number(16)?, number(24)?);
    let is_size_refused = size > file_size || size < ENTRY;
    if is_size_refused || entry > size - ENTRY || entry_size > size - HEADER {
        return Some(());
    }
    let (strings, count, image, image_size) =
        (number(entry + 8)?, number(entry + 16)?, number(entry + 24)?, number(entry + 32)?);
    if image > file_size || strings > file_size {
        return Some(());
    }
    let is_inside = |offset: u64, length: u64| offset.checked_add(length).is_some_and(|end| end <= size);
    let is_table_inside = count.checked_mul(16).is_some_and(|length| is_inside(strings, length));
    if !is_table_inside || !is_inside(image, image_size) || !entry.is_multiple_of(8) || !strings.is_multiple_of(8) {
        return None;
    }
    for at in (0..count * 2).map(|index| strings + 8 * index) {
        let text = bytes[..size as usize].get(number(at)? as usize..)?;
        text.contains(&0).then_some(())?;
    }
    Some(())
}

/// Checks prefixes of objects, libraries and archives. A file shorter than the smallest header is not an object.
fn damaged_objects_are_refused_alike(directory: &Path, pair: &Pair) -> Result<()> {
    make_objects(directory)?;
    for (name, bytes) in [("text", ""), ("empty", ""), ("junk-behind.bin", "")] {
        std::fs::write(directory.join(name), bytes)?;
    }
    make_archives(directory)?;
    for name in ["embedded.elf.o", "coff.o", "elf32-be.o", "library.so", "raw.a", "deep/thin.a"] {
        let whole = std::fs::read(directory.join(name))?;
        let sizes = (SMALLEST_HEADER..120).step_by(3).chain((120..whole.len()).step_by(whole.len() / 40));
        let mut count = 0;
        for size in sizes.filter(|&size| size < whole.len()) {
            std::fs::write(directory.join("damaged.bin"), &whole[..size])?;
            // The reference takes a member's size from its header, and reads an offload binary beyond the end of the file.
            let is_inside_binary = name == "raw.a" && size > FIRST_MEMBER;
            let refused = if is_inside_binary { refused_by_us(pair)? } else { are_refused_alike(pair, false)? };
            count += usize::from(refused != Refused::ByNone);
        }
        ensure!(count > 30, "{name}: only {count} prefixes were refused");
    }
    Ok(())
}

/// The outcome for a damaged file.
#[derive(PartialEq)]
enum Refused {
    ByBoth,
    OnlyByUs,
    /// The damage has no effect, and both programs found the same.
    ByNone,
}

/// The command line for a damaged file.
const DAMAGED: &str = "../damaged.bin --image=";

fn is_refusal(result: &CallResult) -> bool {
    result.status == 1 && result.left.is_empty() && result.err.contains(": error: ")
}

/// Calls both programs with the damaged file. The reference accepts damage in fields that it ignores.
fn are_refused_alike(pair: &Pair, is_ignored: bool) -> Result<Refused> {
    let call = Call::line(DAMAGED);
    let (theirs, ours) = pair.both(&call)?;
    match (is_refusal(&theirs), is_refusal(&ours)) {
        (true, true) => Ok(Refused::ByBoth),
        (false, true) if is_ignored => Ok(Refused::OnlyByUs),
        (false, false) if ours == theirs => Ok(Refused::ByNone),
        _ => bail!("{}", pair.difference(&call, &theirs, &ours)),
    }
}

/// Fields of the header and the entry: offset and size.
const FIELDS: [(usize, usize); 12] =
    [(0, 4), (4, 4), (8, 8), (16, 8), (24, 8), (32, 2), (34, 2), (36, 4), (40, 8), (48, 8), (56, 8), (64, 8)];

/// Offset of the size of an entry, which the reference ignores.
const ENTRY_SIZE: usize = 24;

/// Offset of the contents of an archive's first member: magic and one header.
const FIRST_MEMBER: usize = 8 + 60;

/// No value begins with two zeros followed by other bytes: the tool would treat the file as an object.
const VALUES: [u64; 12] = [0, 1, 2, 7, 8, 31, 33, 39, 41, 0x0101_0101, u64::MAX - 39, u64::MAX];

/// Size of the header of a COFF object. The ELF header is longer.
const SMALLEST_HEADER: usize = 20;

/// Checks a triple that is a path. The tool would write to that path.
fn names_stay_in_the_directory(directory: &Path, pair: &Pair) -> Result<()> {
    let pack = "-o ../hostile.bin --image=file=../one.o,triple=x/../../../../escaped,arch=/y";
    ensure!(pair.call(Side::Theirs, &Call::line(pack))?.status == 0, "the tool refuses to pack it");
    std::fs::create_dir(directory.join("escape"))?;
    let result = pair.call(Side::Ours, &Call::line("../hostile.bin --image="))?;
    let names: Vec<&String> = result.left.keys().collect();
    ensure!(names == ["hostile-x_.._.._.._.._escaped-_y.0.o"], "{names:?} {}", result.err);
    Ok(())
}
