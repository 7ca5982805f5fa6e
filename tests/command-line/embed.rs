//! `fatbin embed`: objects, headers and modules written, and errors.

use object::{Object, ObjectSection, ObjectSymbol};

use crate::Sandbox;

/// Names and contents of the files that the tests embed.
const FILES: [(&str, &[u8]); 3] = [("one", b"first"), ("two", b""), ("three", b"\0\xff\0")];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for (name, bytes) in FILES {
        sandbox.file(name, bytes);
    }
    sandbox
}

/// A symbol: name, offset in the file or absolute value, and size.
fn symbols(object: &[u8]) -> Vec<(String, u64, u64)> {
    let file = object::File::parse(object).unwrap();
    let global = file.symbols().filter(ObjectSymbol::is_global);
    let symbols = global.map(|symbol| {
        let place = match symbol.section_index() {
            Some(index) => {
                let section = file.section_by_index(index).unwrap();
                section.file_range().unwrap().0 + (symbol.address() - section.address())
            }
            None => symbol.address(),
        };
        (symbol.name().unwrap().to_owned(), place, symbol.size())
    });
    symbols.collect()
}

#[test]
fn symbols_lead_to_the_bytes_on_every_host() {
    let sandbox = sandbox();
    for host in fatbin::Host::ALL {
        let triple = host.triple();
        sandbox.fatbin(&format!("embed --host {triple} -o o --symbol one=one -s two=two -s three=three")).ok();
        let object = sandbox.read("o");
        let symbols = symbols(&object);
        assert_eq!(symbols.len(), 9, "{triple}: {symbols:?}");
        let prefix = if triple.contains("apple") { "_" } else { "" };
        for (name, expected) in FILES {
            let find = |suffix| {
                let name = format!("{prefix}{name}{suffix}");
                symbols.iter().find(|symbol| symbol.0 == name).unwrap_or_else(|| panic!("{triple}: {name}")).1 as usize
            };
            let (start, end, size) = (find(""), find("_end"), find("_size"));
            assert_eq!(&object[start..end], expected, "{triple}");
            assert_eq!(object[end], 0, "{triple}: a NUL follows");
            let number = object[size..size + 8].try_into().unwrap();
            let number =
                if triple.starts_with("s390x") { u64::from_be_bytes(number) } else { u64::from_le_bytes(number) };
            assert_eq!(number, expected.len() as u64, "{triple}");
        }
    }
}

#[test]
fn each_style_has_its_symbols() {
    let sandbox = sandbox();
    let names = |arguments: &str| {
        sandbox.fatbin(&format!("embed -o o {arguments} --host x86_64-linux-gnu")).ok();
        symbols(&sandbox.read("o")).into_iter().map(|symbol| symbol.0).collect::<Vec<_>>()
    };
    assert_eq!(names("-s k=one"), ["k", "k_end", "k_size"]);
    assert_eq!(names("-s k=one --symbols start-end"), ["k", "k_end"]);
    assert_eq!(names("-s k=one --symbols start-size"), ["k", "k_size"]);
    assert_eq!(names("-s k=one --symbols start-end-size"), ["k", "k_end", "k_size"]);
    assert_eq!(names("-s __KERNEL=one --symbols binary"), ["__KERNEL_start", "__KERNEL_end", "__KERNEL_size"]);
    assert_eq!(names("--symbols binary ./one"), ["_binary___one_start", "_binary___one_end", "_binary___one_size"]);
    assert_eq!(names("-s ns::k=one --symbols start-end"), ["_ZN2ns1kE", "_ZN2ns5k_endE"]);
    assert_eq!(names("-s k=one --index all --symbols start-end"), ["k", "k_end", "all", "all_count"]);
    let size = symbols(&sandbox.read("o")).into_iter().find(|symbol| symbol.0 == "all").unwrap().2;
    assert_eq!(size, 56);
}

#[test]
fn section_alignment_and_flags_are_those_that_are_specified() {
    let sandbox = sandbox();
    let section = |arguments: &str| {
        sandbox.fatbin(&format!("embed -o o -s one=one --host x86_64-linux-gnu {arguments}")).ok();
        let object = sandbox.read("o");
        let file = object::File::parse(&*object).unwrap();
        let one = file.symbols().find(|symbol| symbol.name() == Ok("one")).unwrap();
        let section = file.section_by_index(one.section_index().unwrap()).unwrap();
        let object::SectionFlags::Elf { sh_flags, .. } = section.flags() else { panic!("not ELF") };
        assert!(file.section_by_name(".note.GNU-stack").is_some());
        assert_eq!(one.address() % section.align(), 0);
        (section.name().unwrap().to_owned(), section.align(), sh_flags.0)
    };
    assert_eq!(section(""), (".rodata.one".to_owned(), 64, 2));
    assert_eq!(section("--section blobs --align 4096"), ("blobs".to_owned(), 4096, 2));
    assert_eq!(section("--retain"), (".rodata.one".to_owned(), 64, 0x20_0002));
    assert_eq!(section("--large always"), (".lrodata.one".to_owned(), 64, 0x1000_0002));
}

#[test]
fn reads_lists_with_comments() {
    let sandbox = sandbox();
    sandbox.file("list", "# kernels\n\none=one\n  three=three  \n");
    sandbox.fatbin("embed -o o --symbols-from list").ok();
    let run = sandbox.shell("printf 'one=one\\nthree=three\\n' | fatbin embed -o p --symbols-from -");
    run.ok();
    assert_eq!(sandbox.read("o"), sandbox.read("p"));
    sandbox.file("list", "one=one\nthree\n");
    let run = sandbox.fatbin("embed -o o --symbols-from list");
    assert_eq!((run.status, run.err.as_str()), (2, "fatbin: list:2: expected NAME=FILE\n"));
}

#[test]
fn outputs_depend_on_names_and_bytes_only() {
    let (here, there) = (sandbox(), sandbox());
    here.fatbin("embed -o o --header h.h --rust m.rs --index all -s k=one").ok();
    there.file("elsewhere", b"first");
    there.fatbin("embed -o p --header ./h.h --rust n.rs --index all -s k=./elsewhere").ok();
    for (one, other) in [("o", "p"), ("h.h", "h.h"), ("m.rs", "n.rs")] {
        assert_eq!(here.read(one), there.read(other));
    }
}

#[test]
fn the_index_has_names_sizes_and_hashes() {
    let sandbox = sandbox();
    sandbox.fatbin("embed -o o --index all -s one=one -s two=two --host x86_64-linux-gnu").ok();
    let object = sandbox.read("o");
    let (_, at, size) = symbols(&object).into_iter().find(|symbol| symbol.0 == "all").unwrap();
    let table = &object[at as usize..][..size as usize];
    let entries: Vec<&[u8]> = table.chunks(56).collect();
    assert_eq!(entries.len(), 2);
    let number = |entry: &[u8]| u64::from_le_bytes(entry[16..24].try_into().unwrap());
    assert_eq!(entries.iter().map(|entry| number(entry)).collect::<Vec<_>>(), [5, 0]);
    let hash = |entry: &[u8]| entry[24..].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    // sha256sum of "first" and of nothing.
    assert_eq!(hash(entries[0]), "a7937b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e");
    assert_eq!(hash(entries[1]), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

#[test]
fn scan_lists_images_and_containers_among_the_files_and_nothing_else() {
    let sandbox = sandbox();
    for name in ["answer-sm_90.cubin", "answer-sm_80.ptx", "answer-gfx90a.hsaco", "answer-sm_90.ltoir", "host.c"] {
        sandbox.fixture(name, name);
    }
    sandbox.fatbin("pack -o packed answer-gfx90a.hsaco").ok();
    for host in ["x86_64-linux-gnu", "s390x-linux-gnu", "x86_64-pc-windows-msvc", "arm64-apple-macosx"] {
        let files =
            "-s c=answer-sm_90.cubin -s p=answer-sm_80.ptx -s l=answer-sm_90.ltoir -s t=host.c -s b=packed -s e=two";
        sandbox.fatbin(&format!("embed --host {host} -o o {files} --index all")).ok();
        let table = sandbox.fatbin("scan o").ok();
        let rows: Vec<(&str, &str)> = table
            .lines()
            .skip(2)
            .map(|line| (line.split_whitespace().next().unwrap(), line.split_whitespace().last().unwrap()))
            .collect();
        let embedded = ["c", "p", "l"].map(|name| ("embedded", name));
        assert_eq!(rows[..3], embedded, "{host}: {table}");
        assert_eq!((rows.len(), rows[3].0), (4, "offload-binary"), "{host}: {table}");
        sandbox.fatbin("verify o").ok();
    }
}

#[test]
fn the_header_declares_each_symbol() {
    let sandbox = sandbox();
    sandbox.fatbin("embed -o o --header my-blobs.h --hidden --index all -s one=one -s two=two -s a::b::c=three").ok();
    let header = String::from_utf8(sandbox.read("my-blobs.h")).unwrap();
    for line in [
        "#ifndef FATBIN_EMBED_MY_BLOBS_H",
        "extern FATBIN_EMBED_HIDDEN const unsigned char one[5];",
        "extern FATBIN_EMBED_HIDDEN const unsigned char one_end[];",
        "extern FATBIN_EMBED_HIDDEN const uint64_t one_size;",
        "extern FATBIN_EMBED_HIDDEN const unsigned char two[];",
        "extern FATBIN_EMBED_HIDDEN const struct fatbin_embed_entry all[3];",
        "extern FATBIN_EMBED_HIDDEN const uint64_t all_count;",
        "namespace a {\nnamespace b {\nextern FATBIN_EMBED_HIDDEN const unsigned char c[3];",
    ] {
        assert!(header.contains(line), "{line}: not in\n{header}");
    }
    sandbox.fatbin("embed -o o --header h.h --host s390x-linux-gnu -s one=one -s two=two").ok();
    let header = String::from_utf8(sandbox.read("h.h")).unwrap();
    assert!(header.contains("#define one_end (one + 5) /* odd, and so no symbol of C */\n"), "{header}");
    assert!(header.contains("extern const unsigned char two_end[];"), "{header}");
    sandbox.fatbin("embed -o o --header h.h --symbols binary one").ok();
    let header = String::from_utf8(sandbox.read("h.h")).unwrap();
    assert!(header.contains("const unsigned char _binary_one_size[]; /* its address is the size */"), "{header}");
}

#[test]
fn the_module_has_a_function_for_each_file() {
    let sandbox = sandbox();
    sandbox.fatbin("embed -o o --rust m.rs -s one=one -s a::b=two -s k.v1=three -s match=one").ok();
    let module = String::from_utf8(sandbox.read("m.rs")).unwrap();
    for line in [
        "        #[link_name = \"_ZN1a1bE\"]\n        pub safe static a_b: [u8; 0];",
        "        #[link_name = \"k.v1\"]\n        pub safe static k_v1: [u8; 3];",
        "pub fn one() -> &'static [u8] {",
        "pub fn file_match() -> &'static [u8] {",
        "        (\"a::b\", a_b()),",
        "pub fn all() -> [(&'static str, &'static [u8]); 4] {",
    ] {
        assert!(module.contains(line), "{line}: not in\n{module}");
    }
    let run = sandbox.fatbin("embed -o o --rust m.rs -s a.b=one -s a_b=two");
    let message = "fatbin: duplicate symbol a_b: the function of a.b and the function of a_b; rename one of them\n";
    assert_eq!((run.status, run.err.as_str()), (2, message));
}

#[test]
fn mistakes_are_errors_and_leave_no_output() {
    let sandbox = sandbox();
    for (arguments, message) in [
        ("", "embed: no file given; specify NAME=FILE"),
        ("-s x=one -s x_end=three", "duplicate symbol x_end: the end of x and the start of x_end; rename one of them"),
        ("-s x=one -s x=three", "duplicate symbol x: the start of x and the start of x; rename one of them"),
        ("-s x=one --index x_end", "duplicate symbol x_end: the end of x and the index x_end; rename one of them"),
        ("-s x@1=one --host x86_64-linux", "invalid symbol name \"x@1\": linkers read what follows @ as a version"),
        ("-s a.b=one --header h", "--header: symbol \"a.b\" is not a C identifier; rename it or omit --header"),
        (
            "-s x=one --index a.b --header h",
            "--header: symbol \"a.b\" is not a C identifier; rename it or omit --header",
        ),
        ("-s x=one --index a::b", "invalid symbol name \"a::b\": the index is a variable of C, without namespaces"),
        ("-s x=one --align 24", "--align 24: expected a power of two from 8 to 1073741824"),
        (
            "-s x=one --align 16384 --host x86_64-pc-windows-msvc",
            "--align 16384: expected a power of two from 8 to 8192",
        ),
        (
            "-s x=one --section blobs --host arm64-apple-macosx",
            "--section blobs: expected SEGMENT,SECTION, each of at most 16 bytes",
        ),
        (
            "-s x=one --large always --host arm64-apple-macosx",
            "--large always: objects for arm64-apple-macosx have no large sections; omit it",
        ),
        ("one", "one: no name; specify NAME=one or --symbols binary"),
        ("-s x=missing", "missing: cannot open: no such file or directory"),
        ("-s x=one --header o", "o: duplicate output; specify another path"),
        ("-s x=one --host pdp11", ""),
    ] {
        let run = sandbox.fatbin(&format!("embed -o o {arguments}"));
        assert_eq!(run.status, 2, "{arguments}");
        assert!(message.is_empty() || run.err == format!("fatbin: {message}\n"), "{arguments}: {}", run.err);
        assert_eq!(sandbox.names(), ["one", "three", "two"], "{arguments}");
    }
    let run = sandbox.fatbin("embed -o one -s x=one");
    assert_eq!(run.status, 2);
    assert_eq!(sandbox.read("one"), b"first");
}

#[cfg(unix)]
#[test]
fn embeds_more_files_than_a_process_may_open() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("files")).unwrap();
    let mut list = String::new();
    for number in 0..300 {
        sandbox.file(&format!("files/{number}"), format!("file {number}\n").repeat(number));
        list += &format!("file_{number}=files/{number}\n");
    }
    sandbox.file("list", list);
    sandbox.shell("ulimit -n 40 && fatbin embed -o o --symbols-from list").ok();
    let object = sandbox.read("o");
    let symbols = symbols(&object);
    assert_eq!(symbols.len(), 900);
    for number in 0..300 {
        let find = |suffix: &str| {
            let name = format!("file_{number}{suffix}");
            symbols.iter().find(|symbol| symbol.0 == name).unwrap().1 as usize
        };
        assert_eq!(object[find("")..find("_end")], *sandbox.read(&format!("files/{number}")), "{number}");
    }
}

#[test]
fn verbose_prints_host_and_size() {
    let sandbox = sandbox();
    let run = sandbox.fatbin("embed -v -o o -s one=one -s three=three --host x86_64-linux --large always");
    let line = "fatbin: o: host x86_64-unknown-linux-gnu, 2 files, 8 bytes, among the large sections\n";
    assert_eq!((run.status, run.out.as_str(), run.err.as_str()), (0, "", line));
}

#[test]
fn sections_for_containers_hold_nothing_else() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    sandbox.fatbin("bundle --raw --type o --align 4096 --target hipv4-amdgcn-amd-amdhsa--gfx90a=a -o a.hipfb").ok();
    sandbox.fatbin("embed -o a.o --symbol __hip_fatbin_1=a.hipfb --section .hip_fatbin --align 4096").ok();
    let table = sandbox.fatbin("scan -v a.o").ok();
    assert!(table.contains(" 1 device image\n") && table.contains(" 0 unexplained"), "{table}");
    assert_eq!(sandbox.fatbin("verify a.o").ok(), "a.o: 1 device image, intact\n");
    let object = sandbox.read("a.o");
    let object = object::File::parse(&*object).unwrap();
    let size = object.symbols().find(|symbol| symbol.name() == Ok("__hip_fatbin_1_size")).unwrap();
    let section = object.section_by_index(size.section_index().unwrap()).unwrap();
    let number = &section.data().unwrap()[size.address() as usize..][..8];
    assert_eq!(number, (sandbox.read("a.hipfb").len() as u64).to_le_bytes());
}
