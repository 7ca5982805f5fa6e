//! `fatbin doctor`: predictions for objects whose device sections are sparse. linker-tests compares them with real links.

use std::fs::OpenOptions;

use object::elf;
use object::write::{Object, Relocation, SectionId, StandardSection, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SectionFlags, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope,
};
use serde_json::Value;

use crate::Sandbox;
#[cfg(unix)]
use crate::program::write_program;

/// Size of a device section that is out of the reach of 32 bits.
const LARGE: u64 = 2300 << 20;

fn object_file() -> Object<'static> {
    Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little)
}

/// Returns an object whose code refers to its data and its constants.
fn program(r_type: elf::RelocationType) -> Vec<u8> {
    let mut object = object_file();
    let text = object.section_id(StandardSection::Text);
    let data = object.section_id(StandardSection::Data);
    let constants = object.section_id(StandardSection::ReadOnlyData);
    for section in [text, data, constants] {
        object.append_section_data(section, &[0; 64], 16);
    }
    for (offset, section) in [(4, data), (12, constants)] {
        let symbol = object.section_symbol(section);
        let flags = RelocationFlags::Elf { r_type };
        object.add_relocation(text, Relocation { offset, symbol, addend: -4, flags }).unwrap();
    }
    object.write().unwrap()
}

/// Writes an object with a large section. The section's bytes are a hole at the end of the file.
fn sparse(sandbox: &Sandbox, path: &str, section: &str, flags: u64) {
    let mut object = object_file();
    let id = object.add_section(Vec::new(), section.into(), SectionKind::ReadOnlyData);
    object.section_mut(id).flags = SectionFlags::Elf { sh_flags: elf::SectionFlags(flags), sh_type: elf::SHT_PROGBITS };
    object.append_section_data(id, &[0; 8], 8);
    let mut bytes = object.write().unwrap();
    let word = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let headers = word(&bytes, 40) as usize;
    // The only section with these flags.
    let header = (headers..bytes.len() - 63).step_by(64).find(|&at| word(&bytes, at + 8) == flags).unwrap();
    let end = bytes.len() as u64;
    bytes[header + 24..header + 40].copy_from_slice(&[end.to_le_bytes(), LARGE.to_le_bytes()].concat());
    sandbox.file(path, bytes);
    let file = OpenOptions::new().write(true).open(sandbox.path(path)).unwrap();
    file.set_len(end + LARGE).unwrap();
}

const ALLOC: u64 = elf::SHF_ALLOC.0;

/// Returns the document of a run with a problem (status 1) or without (status 0), after checking it against the schema.
fn diagnose(sandbox: &Sandbox, arguments: &str, status: i32) -> Value {
    let run = sandbox.fatbin(&format!("doctor --json {arguments}"));
    assert_eq!((run.status, run.err.as_str()), (status, ""), "{arguments}: {}", run.out);
    let document = serde_json::from_str(&run.out).unwrap();
    crate::schema::check_document(sandbox, "doctor", &document);
    document
}

/// Returns the kinds of problems, one for each.
fn kinds(document: &Value) -> Vec<&str> {
    document["problems"].as_array().unwrap().iter().map(|problem| problem["kind"].as_str().unwrap()).collect()
}

fn order(document: &Value) -> Vec<&str> {
    document["layout"].as_array().unwrap().iter().map(|section| section["name"].as_str().unwrap()).collect()
}

#[test]
fn each_linker_has_its_own_layout() {
    let sandbox = Sandbox::new();
    sandbox.file("p.o", program(elf::R_X86_64_PC32));
    sparse(&sandbox, "big.o", ".nv_fatbin", ALLOC);
    let orders = [
        ("bfd", [".text", ".rodata", ".nv_fatbin", ".data"]),
        ("gold", [".text", ".rodata", ".nv_fatbin", ".data"]),
        ("lld", [".rodata", ".nv_fatbin", ".text", ".data"]),
        ("mold", [".nv_fatbin", ".rodata", ".text", ".data"]),
    ];
    for (linker, sections) in orders {
        // mold places the section where nothing crosses it.
        let status = i32::from(linker != "mold");
        let document = diagnose(&sandbox, &format!("--linker {linker} p.o big.o"), status);
        assert_eq!(order(&document), sections, "{linker}");
        if status == 0 {
            continue;
        }
        let problem = &document["problems"][0];
        assert_eq!((problem["kind"].as_str(), problem["path"].as_str()), (Some("relocation-overflow"), Some("p.o")));
        assert_eq!((problem["section"].as_str(), problem["count"].as_u64()), (Some(".text"), Some(1)));
        let target = if linker == "lld" { ".rodata" } else { ".data" };
        assert_eq!(problem["symbol"].as_str(), Some(target), "{linker}");
        assert_eq!(document["script"]["remaining"], 0, "{linker}");
    }
    // An executable at a fixed address has no address above 2 GiB, wherever the sections are.
    sandbox.file("f.o", program(elf::R_X86_64_32S));
    for linker in ["bfd", "gold", "lld", "mold"] {
        let document = diagnose(&sandbox, &format!("--linker {linker} -- ld.bfd f.o big.o"), 1);
        assert_eq!(kinds(&document)[0], "relocation-overflow", "{linker}");
    }
}

#[test]
fn the_script_moves_the_section_and_is_read_again() {
    let sandbox = Sandbox::new();
    sandbox.file("p.o", program(elf::R_X86_64_PC32));
    sparse(&sandbox, "big.o", ".hip_fatbin", ALLOC);
    for linker in ["ld.bfd", "ld.lld"] {
        let run = sandbox.fatbin(&format!("doctor --script s.ld -- {linker} -pie p.o big.o"));
        assert_eq!((run.status, run.err.as_str()), (1, ""));
        assert!(
            run.out.ends_with("With the linker script of --script, every relocation reaches its target.\n"),
            "{}",
            run.out
        );
        let script = String::from_utf8(sandbox.read("s.ld")).unwrap();
        assert!(script.ends_with("  .hip_fatbin : { *(.hip_fatbin) }\n}\nINSERT AFTER .bss;\n"), "{script}");
        for option in ["-T s.ld", "-Ts.ld", "--script=s.ld", "s.ld"] {
            let document = diagnose(&sandbox, &format!("-- {linker} -pie p.o big.o {option}"), 0);
            assert_eq!(order(&document).last(), Some(&".hip_fatbin"), "{linker} {option}");
        }
    }
    let run = sandbox.fatbin("doctor -- mold -pie p.o big.o -T s.ld");
    let message = "fatbin: s.ld: mold reads no scripts with INSERT; link with GNU ld or lld\n";
    assert_eq!((run.status, run.err.as_str()), (2, message));
    sandbox.file("full.ld", "SECTIONS { .text : { *(.text) } }");
    let run = sandbox.fatbin("doctor -- ld.bfd -pie p.o big.o -T full.ld");
    assert_eq!(run.status, 2, "{}", run.err);
}

#[test]
fn large_sections_are_recognized_by_name_or_flag() {
    let sandbox = Sandbox::new();
    sandbox.file("p.o", program(elf::R_X86_64_PC32)).file("f.o", program(elf::R_X86_64_32S));
    let large = ALLOC | 0x1000_0000;
    sparse(&sandbox, "both.o", ".lrodata.nv_fatbin", large);
    sparse(&sandbox, "name.o", ".lrodata.nv_fatbin", ALLOC);
    sparse(&sandbox, "flag.o", ".nv_fatbin", large);
    // Of PIE and executable, for the object with both, the name, and the flag.
    let expected = [
        ("bfd", [(0, 0), (0, 0), (1, 1)]),
        ("gold", [(0, 0), (1, 1), (0, 0)]),
        ("lld", [(0, 1), (1, 1), (0, 1)]),
        ("mold", [(0, 1), (0, 1), (0, 1)]),
    ];
    for (linker, statuses) in expected {
        for (object, (pie, executable)) in ["both.o", "name.o", "flag.o"].into_iter().zip(statuses) {
            diagnose(&sandbox, &format!("--linker {linker} p.o {object}"), pie);
            diagnose(&sandbox, &format!("--linker {linker} -- ld f.o {object}"), executable);
        }
    }
}

/// Writes the objects of two wrappers of one image.
fn wrapped() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    for name in ["one.o", "two.o"] {
        sandbox.fatbin(&format!("wrap --kind hip -o {name} a")).ok();
    }
    sandbox
}

#[test]
fn a_table_of_entries_is_registered_once() {
    let sandbox = wrapped();
    diagnose(&sandbox, "one.o", 0);
    // Each wrapper registers the entries of the other as well.
    for (line, order_of_sections) in [("one.o two.o", None), ("-- ld -r one.o two.o", Some(0))] {
        let document = diagnose(&sandbox, line, 1);
        assert_eq!(kinds(&document), ["registered-twice"], "{line}");
        let problem = &document["problems"][0];
        assert_eq!((&problem["path"], &problem["count"]), (&"one.o".into(), &2.into()));
        assert_eq!(problem["symbol"], "__start_llvm_offload_entries");
        assert!(order_of_sections.is_none_or(|count| order(&document).len() == count));
    }
    // libomptarget keeps an image per device and table.
    sandbox.fixture("answer-sm_90.cubin", "b");
    for (name, image) in [("amd.o", "a"), ("amd-2.o", "a"), ("nvidia.o", "b")] {
        sandbox.fatbin(&format!("wrap --kind openmp -o {name} {image}")).ok();
    }
    diagnose(&sandbox, "amd.o nvidia.o", 0);
    let document = diagnose(&sandbox, "nvidia.o amd.o amd-2.o", 1);
    assert_eq!((kinds(&document), &document["problems"][0]["count"]), (vec!["registered-twice"], &2.into()));
    // A wrapper of a third kind reads only its own entries.
    diagnose(&sandbox, "amd.o one.o", 0);
}

/// Two source files that instantiate one template have the same image, and their code launches its own.
#[test]
fn objects_may_have_equal_images() {
    let sandbox = wrapped();
    sandbox.fatbin("bundle --type o -o a.bundle --align 4096 --target host-x86_64-unknown-linux-gnu=/dev/null --target hip-amdgcn-amd-amdhsa--gfx90a=a").ok();
    let bundle = sandbox.read("a.bundle");
    for name in ["one.o", "two.o"] {
        let mut object = object_file();
        let code = section(&mut object, ".hip_fatbin", &bundle, ALLOC);
        let wrappers =
            section(&mut object, ".hipFatBinSegment", b"FPIH\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", ALLOC);
        let symbol = object.section_symbol(code);
        let flags = RelocationFlags::Elf { r_type: elf::R_X86_64_64 };
        object.add_relocation(wrappers, Relocation { offset: 8, symbol, addend: 0, flags }).unwrap();
        sandbox.file(name, object.write().unwrap());
    }
    assert_eq!(diagnose(&sandbox, "one.o two.o", 0)["objects"], 2);
}

#[test]
fn members_of_archives_count_if_they_are_linked() {
    let sandbox = wrapped();
    let member = sandbox.read("two.o");
    let mut archive =
        format!("!<arch>\n{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "two.o/", 0, 0, 0, 644, member.len()).into_bytes();
    archive.extend(member);
    sandbox.file("lib.a", archive);
    // Nothing needs a symbol of the member.
    diagnose(&sandbox, "-- ld.bfd -pie one.o lib.a", 0);
    for arguments in ["one.o lib.a", "-- ld.bfd -pie one.o --whole-archive lib.a", "one.o -- ld.bfd -pie two.o"] {
        assert_eq!(kinds(&diagnose(&sandbox, arguments, 1)), ["registered-twice"], "{arguments}");
    }
    let response = "-pie \"one.o\"\n--whole-archive lib.a";
    sandbox.file("words", response);
    assert_eq!(diagnose(&sandbox, "-- ld.bfd @words", 1)["objects"], 2);
    // The programs escape by a backslash, even in single quotes.
    let object = sandbox.read("two.o");
    sandbox.file("cd.o", object).file("escaped", r"-pie 'one.o' 'c\d.o'");
    assert_eq!(diagnose(&sandbox, "-- ld.bfd @escaped", 1)["objects"], 2);
}

/// Type of the section for offload binaries.
const OFFLOADING: elf::SectionType = elf::SectionType(0x6fff_4c0b);

/// Adds a section with bytes, and returns it.
fn section(object: &mut Object<'_>, name: &str, bytes: &[u8], flags: u64) -> SectionId {
    let id = object.add_section(Vec::new(), name.into(), SectionKind::ReadOnlyData);
    let sh_type = if name == ".llvm.offloading" { OFFLOADING } else { elf::SHT_PROGBITS };
    object.section_mut(id).flags = SectionFlags::Elf { sh_flags: elf::SectionFlags(flags), sh_type };
    object.append_section_data(id, bytes, 8);
    id
}

/// Returns an object with a global symbol at the start of a section.
fn with_symbol(name: &str, section_name: &str, bytes: &[u8], flags: u64) -> Vec<u8> {
    let mut object = object_file();
    let id = section(&mut object, section_name, bytes, flags);
    object.add_symbol(Symbol {
        name: name.into(),
        value: 0,
        size: 1,
        kind: SymbolKind::Data,
        scope: SymbolScope::Linkage,
        weak: false,
        section: SymbolSection::Section(id),
        flags: SymbolFlags::None,
    });
    object.write().unwrap()
}

#[test]
fn what_no_wrapper_registers_is_reported() {
    let sandbox = wrapped();
    sandbox.fatbin("pack -o a.offload --image file=a,triple=amdgcn-amd-amdhsa,kind=hip").ok();
    sandbox.fatbin("bundle --raw --type o -o a.bundle --target host-x86_64-unknown-linux-gnu-=/dev/null --target hip-amdgcn-amd-amdhsa--gfx90a=a").ok();
    let (packed, bundle) = (sandbox.read("a.offload"), sandbox.read("a.bundle"));
    let excluded = elf::SHF_EXCLUDE.0;
    sandbox.file("packed.o", with_symbol("x", ".llvm.offloading", &packed, excluded));
    sandbox.file("bundle.o", with_symbol("x", ".hip_fatbin", &bundle, ALLOC));
    for (object, section) in [("packed.o", ".llvm.offloading"), ("bundle.o", ".hip_fatbin")] {
        let document = diagnose(&sandbox, object, 1);
        assert_eq!(kinds(&document), ["unregistered"], "{object}");
        assert_eq!(document["problems"][0]["section"], section);
    }
    // clang-linker-wrapper links the images and registers them.
    diagnose(&sandbox, "-- clang-linker-wrapper --linker-path=ld.lld packed.o", 0);
}

#[test]
fn symbols_with_module_ids_are_defined_once() {
    let sandbox = wrapped();
    let id = "__hip_cuid_0123";
    for name in ["a.o", "b.o"] {
        sandbox.file(name, with_symbol(id, ".rodata.x", b"x", ALLOC));
    }
    diagnose(&sandbox, "a.o", 0);
    let document = diagnose(&sandbox, "a.o b.o", 1);
    assert_eq!(kinds(&document), ["duplicate-module-id"]);
    let problem = &document["problems"][0];
    assert_eq!((&problem["symbol"], &problem["message"]), (&id.into(), &"module ID 0123 is also that of b.o".into()));
    for name in ["c.o", "d.o"] {
        sandbox.file(name, with_symbol("plain", ".rodata.x", b"x", ALLOC));
    }
    // Of no concern for device code, so that the linker's own message has to do.
    diagnose(&sandbox, "c.o d.o", 0);
}

#[test]
fn entries_and_kernels_are_compared() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    sandbox.fatbin("wrap --allow-missing-kernels --kind hip --entry other_kernel -o other.o a").ok();
    sandbox.fatbin("wrap --kind hip --entry answer_kernel -o right.o a").ok();
    diagnose(&sandbox, "right.o", 0);
    let document = diagnose(&sandbox, "other.o", 1);
    assert_eq!(kinds(&document), ["entry-without-kernel", "kernel-without-entry"]);
    let symbols = [0, 1].map(|index| document["problems"][index]["symbol"].as_str().unwrap());
    assert_eq!(symbols, ["other_kernel", "answer_kernel"]);
    // libomptarget finds any function of an image for the host.
    sandbox.fixture("answer-x86_64.so", "host");
    let entry = "wrap --allow-missing-kernels --kind openmp --image=file=host,triple=x86_64-pc-linux-gnu";
    for (name, status) in [("answer_kernel", 0), ("other_kernel", 1)] {
        sandbox.fatbin(&format!("{entry} --entry {name} -o host.o")).ok();
        diagnose(&sandbox, "host.o", status);
    }
}

#[cfg(unix)]
#[test]
fn a_compiler_prints_the_command_line_of_its_linker() {
    let sandbox = wrapped();
    let script = |name: &str, text: &str| write_program(&sandbox.path(name), format!("#!/bin/sh\n{text}\n")).unwrap();
    script(
        "cc",
        r#"echo 'COMPILER_PATH=/usr' >&2; [ "$1" = -### ] && shift && echo " /lib/collect2 -fuse-ld=gold -pie start.o $*" >&2"#,
    );
    script("nvcc", r##"[ "$1" = --dryrun ] && shift && echo "#$ ./cc \"$1\"" >&2"##);
    script("failing", "echo 'error: no such file' >&2; exit 1");
    sandbox.file("start.o", object_file().write().unwrap());
    for compiler in ["./cc", "./nvcc"] {
        let document = diagnose(&sandbox, &format!("-- {compiler} one.o"), 0);
        assert_eq!((&document["linker"], &document["objects"]), (&"gold".into(), &2.into()), "{compiler}");
    }
    let run = sandbox.fatbin("doctor -- ./failing one.o");
    let message =
        "fatbin: ./failing: -### prints no link (error: no such file); specify the linker's own command line\n";
    assert_eq!((run.status, run.err.as_str()), (2, message));
    assert_eq!(sandbox.fatbin("doctor -- ./missing one.o").status, 2);
}

#[test]
fn the_layout_is_printed_on_request() {
    let sandbox = wrapped();
    let out = sandbox.fatbin("doctor --layout one.o").ok();
    assert!(out.lines().next().is_some_and(|line| line.split_whitespace().eq(["SECTION", "ADDRESS", "SIZE"])), "{out}");
    assert!(out.contains(".hip_fatbin") && out.ends_with("GNU ld, pie: 1 object, no problems\n"), "{out}");
}

#[test]
fn inputs_that_cannot_be_read_are_trouble() {
    let sandbox = Sandbox::new();
    sandbox.file("cut.o", &program(elf::R_X86_64_PC32)[..200]);
    let run = sandbox.fatbin("doctor cut.o");
    assert_eq!(run.status, 2, "{}", run.out);
    assert!(run.err.starts_with("fatbin: cut.o: invalid object: "), "{}", run.err);
    sandbox.file("text", "text");
    let run = sandbox.fatbin("doctor text");
    assert_eq!(
        (run.status, run.err.as_str()),
        (
            2,
            "fatbin: text: no objects in the inputs; specify the objects and archives of the link, or its command after --\n"
        )
    );
    assert_eq!(sandbox.fatbin("doctor missing.o").status, 2);
    let run = sandbox.fatbin("doctor -- wild x.o");
    let message = "fatbin: wild: the layout of this linker is not known; specify a similar one with --linker\n";
    assert_eq!((run.status, run.err.as_str()), (2, message));
    assert_eq!(sandbox.fatbin("doctor").status, 2);
}

/// Reported in kokkos, mold and bitsandbytes: the link succeeds, and the kernel has no code.
#[cfg(target_os = "linux")]
#[test]
fn objects_without_their_device_code_are_reported() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    let entry = "struct { long reserved; short version, kind; int flags; void *address; const char *name; long size, data; void *other; } \
                 entry __asm__(\".offloading.entry.scale\") __attribute__((section(\"llvm_offload_entries\"))) = { 0, 1, 4, 0, 0, \"scale\" };\n";
    sandbox.file("entry.c", entry);
    sandbox.file("launch.c", "void _Z20__device_stub__scalev(void); void run(void) { _Z20__device_stub__scalev(); }\n");
    sandbox.file("stub.c", "void _Z20__device_stub__scalev(void) {}\n");
    let gcc = "char bytecode[8] __attribute__((section(\".gnu.offload_lto_.main.1\"))) = {1};\n";
    sandbox.file("gcc.c", gcc);
    sandbox.shell("for n in entry launch stub gcc; do cc -fPIC -c $n.c; done; cc -shared -o libstub.so stub.o").ok();
    for (objects, kind, symbol) in [
        ("entry.o", "entry-without-kernel", "scale"),
        ("launch.o", "undefined-stub", "_Z20__device_stub__scalev"),
        ("gcc.o", "unregistered", ""),
        ("-- ld.lld -shared gcc.o", "unregistered", ""),
        ("-- ld.bfd -shared launch.o", "undefined-stub", "_Z20__device_stub__scalev"),
    ] {
        let document = diagnose(&sandbox, objects, 1);
        assert_eq!(kinds(&document), [kind], "{objects}");
        assert_eq!(document["problems"][0]["symbol"].as_str().unwrap_or_default(), symbol, "{objects}");
    }
    for objects in ["launch.o stub.o", "-- ld.bfd -shared launch.o libstub.so", "-- ld.bfd -r entry.o launch.o gcc.o"] {
        diagnose(&sandbox, objects, 0);
    }
    // Tools that change objects.
    for kind in ["hip", "openmp"] {
        sandbox.fatbin(&format!("wrap --kind {kind} -o whole.o a")).ok();
        diagnose(&sandbox, "whole.o", 0);
        for change in ["strip -s", "objcopy --prefix-symbols=x_"] {
            sandbox.shell(&format!("cp whole.o changed.o && {change} changed.o")).ok();
            let document = diagnose(&sandbox, "changed.o", 1);
            assert!(kinds(&document).contains(&"damaged-object"), "{kind} {change}: {document:#}");
        }
    }
}
