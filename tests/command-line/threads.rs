//! Output does not depend on the number of threads.

use super::*;

/// Commands that work in parallel.
const COMMANDS: [&str; 29] = [
    "scan in",
    "scan --json --hash in bad",
    "scan --ndjson in",
    "inspect in",
    "inspect --json in bad",
    "inspect --json --kernel answer in/fat in/many.so",
    "inspect --matrix in",
    "verify in bad",
    "size --by kernel --duplicates --json in bad",
    "size --by tu,family in",
    "lock -o - in",
    "requires --json in",
    "metadata --format json in",
    "check --init in",
    "select --device sm_90 --json in",
    "diff in/fat in/many.so",
    "inspect --json --decompressed-limit 100K in/fat",
    "verify --decompressed-limit 100K in/fat",
    "scan --json --hash package.whl",
    "inspect --json package.whl",
    "check --init intact.whl",
    "size package.whl",
    "lock -o - intact.whl",
    "select --device sm_90 package.whl",
    "scan --json package.whl in",
    "scan --json cut.whl",
    "scan --json --decompressed-limit 150K package.whl",
    "inspect --json --decompressed-limit 1500K package.whl",
    "verify --decompressed-limit 3M package.whl",
];

/// Creates inputs with many images: compressed by themselves, compressed together, uncompressed and damaged.
fn inputs() -> Sandbox {
    let sandbox = Sandbox::new();
    let fixtures = [
        ("answer-sm_90.cubin", "a.cubin"),
        ("answer-sm_90-debug.cubin", "b.cubin"),
        ("answer-sm_80.ptx", "c.ptx"),
        ("answer-gfx90a.hsaco", "d.hsaco"),
        ("answer-gfx90a-debug.hsaco", "e.hsaco"),
    ];
    for (fixture, name) in fixtures {
        sandbox.fixture(fixture, name);
    }
    std::fs::create_dir(sandbox.path("in")).unwrap();
    let (cubins, code_objects) = ("a.cubin b.cubin c.ptx ".repeat(16), "d.hsaco e.hsaco ".repeat(20));
    sandbox.fatbin(&format!("pack --kind cuda --compress -o in/fat {cubins}")).ok();
    sandbox.fatbin(&format!("pack -o in/packed {code_objects}")).ok();
    sandbox.fatbin(&format!("wrap --kind openmp -o in/many.so {code_objects}")).ok();
    let target = |name: &str, arch: &str| format!(" --target hip-amdgcn-amd-amdhsa--{arch}={name}");
    let targets = target("d.hsaco", "gfx90a") + &target("e.hsaco", "gfx942") + &target("d.hsaco", "gfx906");
    sandbox.fatbin(&format!("bundle --raw --type o --compress{targets} -o bundle")).ok();
    sandbox.file("in/bundles", sandbox.read("bundle").repeat(9));
    let mut damaged = sandbox.read("in/fat");
    for at in (500..damaged.len()).step_by(6000) {
        damaged[at] ^= 0x5a;
    }
    sandbox.file("bad", damaged);
    package(&sandbox);
    sandbox
}

/// Writes a package of compressed and stored members, of a package, and of members that cannot be read.
fn package(sandbox: &Sandbox) {
    let write = |members: &[(&str, Vec<u8>)]| {
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (index, (name, bytes)) in members.iter().enumerate() {
            let method = if index % 7 == 3 { zip::CompressionMethod::Stored } else { zip::CompressionMethod::Deflated };
            let options = zip::write::SimpleFileOptions::default().compression_method(method);
            writer.start_file(*name, options).unwrap();
            std::io::Write::write_all(&mut writer, bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    };
    let names = ["in/fat", "in/packed", "in/many.so", "in/bundles", "bad", "c.ptx"];
    let members: Vec<(String, Vec<u8>)> = (0..5)
        .flat_map(|copy| names.map(|name| (format!("{copy}/{name}"), sandbox.read(name))))
        .chain([("text".to_owned(), b"text".repeat(1000))])
        .collect();
    let members: Vec<(&str, Vec<u8>)> = members.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
    let inner = write(&members[..9]);
    let mut bytes = write(&[&members[..20], &[("inner.whl", inner)], &members[20..]].concat());
    sandbox.file("intact.whl", write(&members[6..10]));
    // The data of a member does not have its checksum.
    let at = bytes.windows(11).position(|name| name == b"2/in/packed").unwrap() + 100;
    bytes[at] ^= 0x5a;
    sandbox.file("package.whl", bytes.clone());
    // The local header of a member, 30 bytes in front of its name, has no signature.
    let at = bytes.windows(8).position(|name| name == b"3/in/fat").unwrap() - 30;
    bytes[at] ^= 0x5a;
    sandbox.file("cut.whl", bytes);
}

#[test]
fn output_is_the_same_with_any_number_of_threads() {
    let sandbox = inputs();
    for command in COMMANDS {
        let (name, arguments) = command.split_once(' ').unwrap();
        let run = |threads: usize| sandbox.fatbin(&format!("{name} --threads {threads} {arguments}"));
        let expected = run(1);
        assert!(!expected.out.is_empty() && !expected.err.contains("unexpected argument"), "{command}: {expected:?}");
        if command.contains("limit") {
            assert!(expected.status == 2 && expected.err.contains("exceeds the limit"), "{command}: {}", expected.err);
        }
        for threads in [2, 7, 7] {
            assert_eq!(run(threads), expected, "{command}: {threads} threads");
        }
    }
    let page = |threads: &str| {
        sandbox.fatbin(&format!("inspect --threads {threads} --html page in/fat in/many.so")).ok();
        sandbox.read("page")
    };
    let expected = page("1");
    assert!(["2", "7"].iter().all(|threads| page(threads) == expected));
}

#[test]
fn the_number_of_threads_is_an_option_and_a_variable() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "a");
    for value in ["0", "x", "-1"] {
        assert_eq!(sandbox.fatbin(&format!("scan --threads={value} a")).status, 2);
        let run = sandbox.shell(&format!("FATBIN_THREADS={value} fatbin scan a"));
        let expected = format!("fatbin: FATBIN_THREADS={value}: expected a number of threads, at least 1\n");
        assert_eq!((run.status, run.err), (2, expected));
    }
    let expected = sandbox.fatbin("scan a").ok();
    for prefix in ["FATBIN_THREADS=3 fatbin", "FATBIN_THREADS= fatbin", "FATBIN_THREADS=x fatbin --threads 2"] {
        assert_eq!(sandbox.shell(&format!("{prefix} scan a")).ok(), expected);
    }
    sandbox.fatbin("install-links tools").ok();
    let run = sandbox.shell("FATBIN_THREADS=none tools/clang-offload-bundler --version");
    assert_eq!(run.status, 1);
    assert!(run.err.contains("FATBIN_THREADS=none: expected a number of threads, at least 1"), "{}", run.err);
}

/// A command, its input, and a limit that the command reaches while it reads the input.
type LimitedCommand = (&'static str, &'static str, &'static str);

const LIMITED: [LimitedCommand; 26] = [
    ("scan --json", "members.whl", "120K"),
    ("inspect --json", "members.whl", "300K"),
    ("verify", "members.whl", "120K"),
    ("lock -o -", "members.whl", "120K"),
    ("check --init", "members.whl", "120K"),
    ("size", "members.whl", "120K"),
    ("select --device sm_90 --json", "members.whl", "120K"),
    ("diff fat", "members.whl", "120K"),
    ("requires --json", "members.whl", "120K"),
    ("metadata --format json", "members.whl", "120K"),
    ("size --what-if none", "members.whl", "400K"),
    ("extract -o out", "members.whl", "120K"),
    ("extract -o out", "members.whl", "300K"),
    ("extract -o out", "members.tar.gz", "300K"),
    ("extract -o out", "nested.zip", "400K"),
    ("extract -o out", "nested.zip", "800K"),
    ("extract -o out", "library.a", "40K"),
    ("extract -o out", "bundles", "40K"),
    ("extract -o out", "large", "2M"),
    ("extract --archive -o out", "nested.zip", "500K"),
    ("inspect --json", "large", "2M"),
    ("prune --drop gfx942 -o out", "members.whl", "120K"),
    ("prune --drop gfx942 -o out", "bundles", "60K"),
    ("transcode --to none -o out", "large", "2M"),
    ("transcode --to plain -o out", "bundles", "60K"),
    ("strip --device-debug -o out", "members.whl", "120K"),
];

/// Creates inputs whose members and images reach a limit one after another.
fn limited_inputs() -> Sandbox {
    let sandbox = Sandbox::new();
    for (fixture, name) in [
        ("answer-sm_90.cubin", "a.cubin"),
        ("answer-sm_80.ptx", "c.ptx"),
        ("answer-gfx90a.hsaco", "d.hsaco"),
        ("answer-gfx90a-debug.hsaco", "e.hsaco"),
    ] {
        sandbox.fixture(fixture, name);
    }
    sandbox.fatbin(&format!("pack --kind cuda --compress -o fat {}", "a.cubin c.ptx ".repeat(6))).ok();
    let targets = " --target hip-amdgcn-amd-amdhsa--gfx90a=d.hsaco --target hip-amdgcn-amd-amdhsa--gfx942=e.hsaco";
    sandbox.fatbin(&format!("bundle --raw --type o --compress{targets} -o bundle")).ok();
    sandbox.file("bundles", sandbox.read("bundle").repeat(6));
    sandbox.fatbin("wrap --kind cuda -o fat.o fat").ok();
    // Batches of one image, so that several threads extract.
    sandbox.file("long.ptx", [sandbox.read("c.ptx"), b"// padding\n".repeat(60_000)].concat());
    sandbox.fatbin(&format!("pack --kind cuda --compress -o large {}", "long.ptx a.cubin ".repeat(6))).ok();
    let names = ["fat", "bundles", "a.cubin", "fat.o"];
    let members: Vec<(String, Vec<u8>)> =
        (0..3).flat_map(|copy| names.map(|name| (format!("{copy}/{name}"), sandbox.read(name)))).collect();
    sandbox.file("members.whl", zip_of(&members));
    sandbox.file("members.tar.gz", tar_gz_of(&members));
    let packed = (0..3).map(|index| (format!("{index}.tar.gz"), tar_gz_of(&members[..5])));
    let nested = packed.chain([("inner.zip".to_owned(), zip_of(&members[..6]))]).chain(members[..3].iter().cloned());
    sandbox.file("nested.zip", zip_of(&nested.collect::<Vec<_>>()));
    sandbox.file("library.a", library_of(&["fat.o", "bundles", "fat"].map(|name| (name, sandbox.read(name)))));
    sandbox
}

/// A zip file of compressed and stored members.
pub fn zip_of(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (index, (name, bytes)) in members.iter().enumerate() {
        let method = if index % 7 == 3 { zip::CompressionMethod::Stored } else { zip::CompressionMethod::Deflated };
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        writer.start_file(name.as_str(), options).unwrap();
        std::io::Write::write_all(&mut writer, bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

pub fn tar_gz_of(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default()));
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        archive.append_data(&mut header, name, bytes.as_slice()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

fn library_of(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut library = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        let end = format!("{name}/");
        library.extend(format!("{end:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, bytes.len()).bytes());
        library.extend(bytes);
        library.resize(library.len().next_multiple_of(2), b'\n');
    }
    library
}

/// The files below a directory, or one file, with their bytes.
fn contents(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    if path.is_file() {
        return vec![(path.to_owned(), std::fs::read(path).unwrap())];
    }
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    let mut found: Vec<_> = entries.flat_map(|entry| contents(&entry.unwrap().path())).collect();
    found.sort();
    found
}

/// Which members are opened, which images are read and which files are written.
#[test]
fn results_at_a_limit_are_the_same_with_any_number_of_threads() {
    let sandbox = limited_inputs();
    for (command, input, limit) in LIMITED {
        let (name, arguments) = command.split_once(' ').unwrap_or((command, ""));
        let run = |threads: usize| {
            let line = format!("{name} --threads {threads} --decompressed-limit {limit} {arguments} {input}");
            let mut run = sandbox.fatbin(&line);
            if command.contains("what-if") {
                // Times are measured.
                run.out.clear();
            }
            let out = sandbox.path("out");
            let written = contents(&out);
            let _ = std::fs::remove_file(&out);
            let _ = std::fs::remove_dir_all(&out);
            (run, written)
        };
        let expected = run(1);
        assert!(expected.0.err.contains("exceeds the limit"), "{command} {input} {limit}: {}", expected.0.err);
        for threads in [2, 4] {
            assert!(run(threads) == expected, "{command} {input} {limit}: {threads} threads, {}", expected.0.err);
        }
    }
}
