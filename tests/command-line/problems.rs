//! Problems of many images: equal ones are one line, and `-v` prints all.

use crate::{Run, Sandbox};

/// Number of damaged images in each file.
const DAMAGED: usize = 20;

/// A static library with these members.
fn library(members: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut library = b"!<arch>\n".to_vec();
    for (number, bytes) in members.enumerate() {
        let name = format!("{number}.o/");
        library.extend(format!("{name:16}{0:<12}{0:<6}{0:<6}{1:<8}{2:<10}`\n", 0, 644, bytes.len()).bytes());
        library.extend(&bytes);
        library.resize(library.len().next_multiple_of(2), b'\n');
    }
    library
}

/// Returns a directory with two files of damaged images: `images`, an offload binary that holds an intact image too, and
/// `library`, a static library of damaged bundles.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").file("host", "");
    sandbox.fatbin(&format!("pack -o images {}", "--image file=a,kind=hip ".repeat(DAMAGED + 1))).ok();
    let mut bytes = sandbox.read("images");
    let is_magic = |at: &usize| bytes[*at..].starts_with(b"\x7fELF");
    let images: Vec<usize> = (0..bytes.len()).filter(is_magic).collect();
    assert_eq!(images.len(), DAMAGED + 1);
    for image in &images[1..] {
        // The offset of the section headers.
        bytes[image + 0x28..image + 0x30].copy_from_slice(&4000_u64.to_le_bytes());
    }
    sandbox.file("images", bytes);
    let ids = "--target host-x86_64-unknown-linux-gnu=host --target hipv4-amdgcn-amd-amdhsa--gfx90a=a";
    sandbox.fatbin(&format!("bundle --raw --type bc --compress {ids} -o bundle")).ok();
    let mut bundle = sandbox.read("bundle");
    // The hash: after magic, version, method and two sizes of 64 bits.
    bundle[24] ^= 1;
    sandbox.file("library", library((0..DAMAGED).map(|_| bundle.clone())));
    sandbox.file("policy.toml", "[files.\"*\"]\n");
    sandbox
}

/// Returns the lines on standard error, each without the count at its end, and that count.
fn counted(run: &Run) -> Vec<(&str, usize)> {
    let count = |line| match str::rsplit_once(line, " (and ") {
        Some((first, rest)) => {
            (first, rest.strip_suffix(" more like it; use -v to print all)").unwrap().parse().unwrap())
        }
        None => (line, 0),
    };
    run.err.lines().map(count).collect()
}

#[test]
fn every_command_prints_equal_problems_once_with_a_count() {
    let sandbox = sandbox();
    let image = "images: ELF ";
    let member = "library!0.o: compressed bundle hash at 0x18: hash mismatch: stored 0x";
    let commands = [
        ("verify images", image, 1),
        ("inspect images", image, 1),
        ("inspect --json images", image, 1),
        ("lock -o lock images", image, 1),
        ("diff images images", image, 2),
        ("extract --kernel answer -o out images", image, 1),
        ("verify library", member, 1),
        ("scan library", member, 1),
        ("scan --json library", member, 1),
        ("inspect library", member, 1),
        ("lock -o lock library", member, 1),
        ("select --device gfx90a library", member, 1),
        ("check --init library", member, 1),
        ("check --policy policy.toml library", member, 1),
        ("extract -o out library", member, 1),
        ("verify images library images", image, 3),
    ];
    for (command, start, lines) in commands {
        let brief = sandbox.fatbin(command);
        let counts: Vec<usize> = counted(&brief).iter().map(|(_, count)| *count).collect();
        assert_eq!(counts, vec![DAMAGED - 1; lines], "{command}: {}", brief.err);
        let complete = sandbox.fatbin(&format!("{command} --verbose"));
        assert_eq!(counted(&complete).len(), DAMAGED * lines, "{command}: {}", complete.err);
        // The line is the first line that the count includes.
        let first = counted(&brief)[0].0;
        assert!(first.strip_prefix("fatbin: ").unwrap().starts_with(start), "{command}: {first}");
        assert_eq!(complete.err.lines().next(), Some(first), "{command}");
        assert_eq!(brief.status, complete.status, "{command}");
        if !command.starts_with("scan library") && !command.starts_with("select") {
            assert_eq!(brief.out, complete.out, "{command}");
        }
    }
}

#[test]
fn warnings_are_counted_like_problems() {
    let sandbox = sandbox();
    sandbox.file("bc", crate::BITCODE).fixture("answer-gfx90a.hsaco", "a");
    let bitcode = "--image file=bc,triple=amdgcn-amd-amdhsa,kind=hip,arch=gfx90a ".repeat(3);
    sandbox.fatbin(&format!("pack -o packed a {bitcode}")).ok();
    let run = sandbox.fatbin("inspect --kernel answer packed");
    let expected = "fatbin: warning: packed: image 0: not inspected for kernels: LLVM bitcode, compiled to machine code at link time";
    assert_eq!(counted(&run), [(expected, 2)]);
    assert_eq!(counted(&sandbox.fatbin("inspect -v --kernel answer packed")).len(), 3);
}

#[test]
fn problems_that_differ_are_lines_in_the_order_of_their_first_place() {
    let sandbox = sandbox();
    let mut bytes = sandbox.read("images");
    let last = bytes.windows(4).rposition(|bytes| bytes == b"\x7fELF").unwrap();
    bytes[last + 0x28..last + 0x30].copy_from_slice(&5000_u64.to_le_bytes());
    let run = sandbox.file("images", &bytes).fatbin("verify images");
    let problems: Vec<(bool, usize)> =
        counted(&run).iter().map(|(line, count)| (line.contains(": offset 4000 with"), *count)).collect();
    assert_eq!(problems, [(true, DAMAGED - 2), (false, 0)], "{}", run.err);
    assert!(run.out.ends_with(&format!(", {DAMAGED} problems\n")), "{}", run.out);
}

#[test]
fn the_number_of_lines_about_a_file_is_limited() {
    let sandbox = sandbox();
    let bundle = sandbox.read("bundle");
    let member = |number: u8| {
        let mut bundle = bundle.clone();
        bundle[24] ^= number + 1;
        bundle
    };
    sandbox.file("library", library((0..250).map(member)));
    let run = sandbox.fatbin("verify library");
    assert_eq!((run.status, run.err.lines().count()), (2, 101), "{}", run.err);
    assert_eq!(run.err.lines().last(), Some("fatbin: library: 150 more problems; use -v to print all"));
    assert_eq!(sandbox.fatbin("verify -v library").err.lines().count(), 250);
}

/// The scan reads the headers of images in separate files, and the inspection reads them again.
#[test]
fn a_problem_of_an_image_that_is_a_file_is_one_line() {
    let sandbox = Sandbox::new();
    // A wrapper without its last fields, and an instruction of nine words with only one word.
    sandbox.file("cut.bc", b"\xde\xc0\x17\x0bP\xed\x12");
    sandbox.file("cut.spv", [0x0723_0203, 0x0001_0400, 0, 100, 0, 0x0009_0011_u32].map(u32::to_le_bytes).concat());
    for command in
        ["scan", "inspect", "inspect --json", "inspect --matrix", "verify", "lock -o lock", "check --init", "diff"]
    {
        let run = sandbox.fatbin(&format!("{command} cut.bc cut.spv"));
        let starts = ["cut.bc: bitcode wrapper at 0x0", "cut.spv: SPIR-V instruction's words at 0x14"];
        let lines = counted(&run);
        assert_eq!((run.status, lines.len()), (2, 2), "{command}: {}", run.err);
        for ((line, more), start) in lines.into_iter().zip(starts) {
            assert!(line.starts_with(&format!("fatbin: {start}: ")) && more == 0, "{command}: {}", run.err);
        }
    }
}

/// A `!` in the name of a file does not make it a member of an archive.
#[test]
fn problems_of_several_files_are_a_line_for_each() {
    let sandbox = sandbox();
    let images = sandbox.read("images");
    sandbox.file("a!b", &images).file("a!c", &images);
    let run = sandbox.fatbin("verify a!b a!c");
    assert_eq!(counted(&run).iter().map(|(_, count)| *count).collect::<Vec<_>>(), [DAMAGED - 1; 2], "{}", run.err);
}
