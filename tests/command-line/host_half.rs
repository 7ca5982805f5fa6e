//! The host half of device code, damaged by linkers and by tools that change finished files: what `verify`, `check`,
//! `diff --repaired` and the first screen say. The trials of linker-tests compare the answers with loaders.

use serde_json::Value;

use crate::Sandbox;

/// Runs commands that must succeed. GNU tools may print warnings.
fn run(sandbox: &Sandbox, script: &str) {
    let done = sandbox.shell(&format!("set -e; {script}"));
    assert_eq!(done.status, 0, "{script}: {}", done.err);
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for name in ["answer-gfx90a.hsaco", "answer-sm_90.cubin", "answer-dg2.zebin"] {
        sandbox.fixture(name, name);
    }
    for (kind, image) in
        [("hip", "gfx90a.hsaco"), ("cuda", "sm_90.cubin"), ("openmp", "gfx90a.hsaco"), ("sycl", "dg2.zebin")]
    {
        sandbox.fatbin(&format!("wrap --kind {kind} -o {kind}.o answer-{image}")).ok();
    }
    sandbox
}

/// The messages of `verify`, without the path, and their codes.
fn defects(sandbox: &Sandbox, file: &str) -> Vec<(String, String)> {
    let run = sandbox.fatbin(&format!("verify --json {file}"));
    let document: Value = serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{file}: {}", run.err));
    let found = document["files"].as_array().into_iter().flatten().flat_map(|file| {
        let defects = file["defects"].as_array().into_iter().flatten();
        defects.map(|it| (it["code"].as_str().unwrap().to_owned(), it["message"].as_str().unwrap().to_owned()))
    });
    let found: Vec<_> = found.collect();
    assert_eq!(run.status == 2, !found.is_empty(), "{file}: {}", run.err);
    found
}

/// Every command says that a file has one defect with these words.
fn is_damaged(sandbox: &Sandbox, file: &str, words: &str) {
    let found = defects(sandbox, file);
    assert!(found.len() == 1 && found[0].1.contains(words), "{file}: {found:?}, expected {words}");
    for key in ["intact", "registered"] {
        sandbox.file("policy.toml", format!("[images]\n{key} = true\n"));
        let run = sandbox.fatbin(&format!("check --policy policy.toml {file}"));
        assert!(run.status == 1 && run.out.contains(words), "{key} of {file}: {}{}", run.out, run.err);
    }
    let select = sandbox.fatbin(&format!("select --device gfx90a {file}"));
    assert!(select.err.contains("fatbin: warning: ") && select.err.contains(words), "{file}: {}", select.err);
    let screen = sandbox.fatbin(&format!("./{file}")).out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(screen.contains(words), "{file}: {screen}");
}

fn is_intact(sandbox: &Sandbox, file: &str) {
    assert_eq!(defects(sandbox, file), [], "{file}");
}

/// A program with a table of entries in a section, which calls a function to launch kernels.
fn program(section: &str, entry: &str, launch: &str, other: &str) -> String {
    format!(
        "long entries[] __attribute__((section(\"{section}\"))) = {{{entry}}};\nint {launch}(void);\nvoid {other}(void);\n\
         int run(void) {{ return {launch}(); }}\n"
    )
}

#[test]
fn device_code_that_the_link_lost_is_missed() {
    let sandbox = sandbox();
    let new = "0, 1 | 1 << 16, 0, 0, 0, 0, 0";
    let old = "16, 16, 0, 0";
    let cases = [
        ("llvm_offload_entries", new, "__tgt_target_kernel", "__tgt_register_lib"),
        ("omp_offloading_entries", old, "__tgt_target_teams_mapper", "__tgt_register_lib"),
        ("hip_offloading_entries", old, "hipLaunchKernel", "__hipRegisterFatBinary"),
        ("cuda_offloading_entries", old, "cudaLaunchKernel", "__cudaRegisterFatBinary"),
        (".gnu.offload_funcs", "16", "GOMP_target_ext", "GOMP_offload_register_ver"),
        (".gnu.offload_funcs", "16", "GOACC_parallel_keyed", "GOMP_offload_register_ver"),
    ];
    for (section, entry, launch, register) in cases {
        sandbox.file("lost.c", program(section, &format!("{entry}, {entry}"), launch, "other"));
        run(&sandbox, "cc -shared -fPIC -o lost.so lost.c");
        let words = format!("2 entries for {launch}, and no image is registered: the link lost the device code");
        is_damaged(&sandbox, "lost.so", &words);
        assert_eq!(defects(&sandbox, "lost.so")[0].0, "E0313", "{section}");
        // It registers images, or it launches nothing, or it is not linked yet.
        let calls = format!("{}\nvoid start(void) {{ {register}(); }}\n", program(section, entry, launch, register));
        sandbox.file("registered.c", calls);
        sandbox.file("idle.c", program(section, entry, "other", "another"));
        for file in ["registered.so", "idle.so", "lost.o"] {
            let name = &file[..file.len() - 1].trim_end_matches(".s").trim_end_matches('.').to_owned();
            let form = if file.ends_with(".o") { "-c" } else { "-shared" };
            run(&sandbox, &format!("cc {form} -fPIC -o {file} {name}.c"));
            is_intact(&sandbox, file);
        }
    }
}

#[test]
fn a_call_of_a_renamed_registration_function_registers_nothing() {
    let sandbox = sandbox();
    for (kind, function) in
        [("hip", "__hipRegisterFatBinary"), ("cuda", "__cudaRegisterFatBinary"), ("openmp", "__tgt_register_lib")]
    {
        run(&sandbox, &format!("objcopy --redefine-sym {function}=x_{function} {kind}.o renamed.o"));
        run(&sandbox, "cc -shared -o renamed.so renamed.o");
        let words = format!("calls x_{function}, which is not the runtime's function {function}");
        for file in ["renamed.o", "renamed.so"] {
            is_damaged(&sandbox, file, &words);
        }
        let diff = sandbox.fatbin(&format!("diff --repaired {kind}.o renamed.o"));
        assert!(diff.status == 1 && diff.out.contains(&words), "{}", diff.out);
    }
}

#[test]
fn objects_without_relocations_or_with_another_section_type_are_damaged() {
    let sandbox = sandbox();
    for kind in ["openmp", "sycl"] {
        run(&sandbox, &format!("strip -s -o stripped.o {kind}.o"));
        is_intact(&sandbox, &format!("{kind}.o"));
        is_damaged(&sandbox, "stripped.o", "constructor without relocations");
        let diff = sandbox.fatbin(&format!("diff --repaired {kind}.o stripped.o"));
        assert_eq!(diff.status, 1, "{}", diff.out);
        run(&sandbox, &format!("objcopy --set-section-flags .llvm.offloading=alloc,data {kind}.o type.o"));
        is_damaged(&sandbox, "type.o", "has another type than SHT_LLVM_OFFLOADING");
    }
}

/// A linker script, or `/merge` of Microsoft's linkers.
#[test]
fn wrappers_are_found_in_other_sections() {
    let sandbox = sandbox();
    for (kind, section) in [("hip", ".hipFatBinSegment"), ("cuda", ".nvFatBinSegment")] {
        run(&sandbox, &format!("objcopy --rename-section {section}=.data.merged {kind}.o moved.o"));
        run(&sandbox, &format!("cc -shared -o before.so {kind}.o; cc -shared -o after.so moved.o"));
        let diff = sandbox.fatbin("diff --repaired before.so after.so");
        assert!(diff.status == 0 && diff.out.contains("intact"), "{}", diff.out);
        sandbox.file("policy.toml", "[images]\nregistered = true\n");
        sandbox.fatbin("check --policy policy.toml after.so").ok();
    }
}

#[test]
fn stubs_of_kernels_are_defined_once() {
    let sandbox = sandbox();
    sandbox.file("stubs.c", "void first__device_stub__(void) {}\nvoid second__device_stub__(void) {}\n");
    sandbox.file("undefined.c", "void _Z1k__device_stub__v(void); void run(void) { _Z1k__device_stub__v(); }\n");
    sandbox.file(
        "merged.c",
        "void first__device_stub__(void) {}\nvoid second__device_stub__(void) __attribute__((alias(\"first__device_stub__\")));\n",
    );
    run(&sandbox, "for n in stubs undefined merged; do cc -shared -fPIC -o $n.so $n.c cuda.o; done");
    is_intact(&sandbox, "stubs.so");
    is_damaged(&sandbox, "merged.so", "first__device_stub__ and second__device_stub__ are one function");
    is_damaged(&sandbox, "undefined.so", "_Z1k__device_stub__v: the kernel is launched, and neither");
    // Another library may define it.
    run(
        &sandbox,
        "cc -shared -fPIC -o libother.so stubs.c; cc -shared -fPIC -o needs.so undefined.c cuda.o -Wl,--no-as-needed libother.so",
    );
    is_intact(&sandbox, "needs.so");
    // HIP finds kernels by handles.
    run(&sandbox, "cc -shared -fPIC -o hip.so merged.c hip.o");
    is_intact(&sandbox, "hip.so");
}

#[test]
fn the_modules_of_a_device_link_are_in_its_own_library() {
    let sandbox = sandbox();
    let text = "void __fatbinwrap_core(void); void (*wrapper)(void) = __fatbinwrap_core;\n";
    sandbox.file("link.c", text).file("own.c", format!("{text}void __fatbinwrap_core(void) {{}}\n"));
    sandbox.file(
        "object.c",
        "void __cudaRegisterLinkedBinary_core(void); void run(void) { __cudaRegisterLinkedBinary_core(); }\n",
    );
    run(&sandbox, "for n in link own object; do cc -fPIC -c $n.c && cc -shared -o $n.so $n.o cuda.o; done");
    is_damaged(&sandbox, "link.so", "__fatbinwrap_core of its device link is in another library");
    is_damaged(&sandbox, "object.so", "calls __cudaRegisterLinkedBinary_core, which the object of nvcc -dlink defines");
    is_intact(&sandbox, "own.so");
    is_intact(&sandbox, "object.o");
}

/// Changes the 8-byte numbers of a file that have a value, and returns how many there were.
fn replace_numbers(sandbox: &Sandbox, file: &str, from: u64, to: u64) -> usize {
    let mut bytes = sandbox.read(file);
    let places: Vec<usize> = (0..bytes.len() - 7).filter(|&at| bytes[at..at + 8] == from.to_le_bytes()).collect();
    for &place in &places {
        bytes[place..place + 8].copy_from_slice(&to.to_le_bytes());
    }
    sandbox.file(file, bytes);
    places.len()
}

/// patchelf moves a section, and not the pointers to it.
#[cfg(target_arch = "x86_64")]
#[test]
fn descriptors_that_lead_to_no_image_are_damaged() {
    let sandbox = sandbox();
    for (kind, image, words) in
        [("openmp", "answer-gfx90a.hsaco", "OpenMP image"), ("sycl", "answer-dg2.zebin", "SYCL image")]
    {
        run(&sandbox, &format!("cc -shared -o before.so {kind}.o; cp before.so after.so"));
        is_intact(&sandbox, "before.so");
        let (bytes, image) = (sandbox.read("before.so"), sandbox.read(image));
        let at = bytes.windows(image.len()).position(|window| window == image).unwrap() as u64;
        // Read-only data has equal addresses and offsets.
        assert!(replace_numbers(&sandbox, "after.so", at, at - 8) > 0);
        is_damaged(&sandbox, "after.so", &format!("registers {:#x}, where no image begins", at - 8));
        assert!(defects(&sandbox, "after.so")[0].1.contains(words));
        assert_eq!(sandbox.fatbin("diff --repaired before.so after.so").status, 1);
    }
}

/// Offset in the file of a field of the first program header that a test accepts.
fn header(bytes: &[u8], field: usize, is_wanted: impl Fn(&[u8]) -> bool) -> usize {
    let number = |at: usize| u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()) as usize;
    let start = u64::from_le_bytes(bytes[0x20..0x28].try_into().unwrap()) as usize;
    let headers = (0..number(0x38)).map(|index| start + index * number(0x36));
    headers.into_iter().find(|&at| is_wanted(&bytes[at..at + 56])).unwrap() + field
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

const PT_LOAD: u8 = 1;
const PT_NOTE: u8 = 4;
const VADDR: usize = 16;
const FILE_SIZE: usize = 32;
const SIZE: usize = 40;

#[cfg(target_arch = "x86_64")]
#[test]
fn segments_that_the_loader_maps_otherwise_are_damaged() {
    let sandbox = sandbox();
    sandbox.file("zeroed.c", "int zeroed[9000]; int main(void) { return zeroed[0]; }\n");
    run(&sandbox, "cc -shared -fPIC -o lib.so zeroed.c hip.o; cc -o program zeroed.c -L. -l:lib.so");
    is_intact(&sandbox, "lib.so");
    let bytes = sandbox.read("lib.so");
    let has_zeroed = |header: &[u8]| header[0] == PT_LOAD && u64_at(header, SIZE) > u64_at(header, FILE_SIZE);
    let change = |at: usize, number: u64| {
        let mut changed = bytes.clone();
        changed[at..at + 8].copy_from_slice(&number.to_le_bytes());
        sandbox.file("changed.so", changed);
    };
    let size = header(&bytes, SIZE, has_zeroed);
    change(size, u64_at(&bytes, size - SIZE + FILE_SIZE));
    is_damaged(&sandbox, "changed.so", "is in no load segment");
    // The first segment grows over the second.
    let size = header(&bytes, SIZE, |header| header[0] == PT_LOAD);
    let second = header(&bytes, VADDR, |header| header[0] == PT_LOAD && u64_at(header, VADDR) > 0);
    change(size, u64_at(&bytes, second) + 0x10);
    is_damaged(&sandbox, "changed.so", "overlaps segment");
}

/// Linux maps no empty segment of a program; the loader checks all segments of a library.
#[cfg(target_arch = "x86_64")]
#[test]
fn empty_segments_of_a_program_do_not_matter() {
    let sandbox = sandbox();
    let names = "FatBinary Function Var ManagedVar Surface Texture".split(' ').map(|name| format!("Register{name}"));
    let names = names.chain(["UnregisterFatBinary".to_owned()]);
    sandbox.file("runtime.c", names.map(|name| format!("void __hip{name}(void) {{}}\n")).collect::<String>());
    sandbox.file("main.c", "int main(void) { return 0; }\n");
    run(&sandbox, "cc -shared -fPIC -w -o lib.so runtime.c hip.o; cc -w -o program main.c runtime.c hip.o");
    for (file, status) in [("program", 0), ("lib.so", 2)] {
        let mut bytes = sandbox.read(file);
        let note = header(&bytes, 0, |header| header[0] == PT_NOTE);
        let end = bytes.len() as u64;
        bytes[note] = PT_LOAD;
        for (field, number) in [(8, 8), (VADDR, end + 0x10_0003), (FILE_SIZE, 0), (SIZE, 0), (48, 0x1000)] {
            bytes[note + field..note + field + 8].copy_from_slice(&number.to_le_bytes());
        }
        sandbox.file(file, bytes);
        assert_eq!(sandbox.fatbin(&format!("verify {file}")).status, status, "{file}");
    }
}

#[test]
fn packed_relocations_depend_on_their_version() {
    let sandbox = sandbox();
    sandbox.file("main.c", "#include <stdlib.h>\nvoid *run(void) { return malloc(1); }\n");
    run(&sandbox, "cc -shared -fPIC -Wl,-z,pack-relative-relocs -o packed.so main.c hip.o");
    is_intact(&sandbox, "packed.so");
    let mut bytes = sandbox.read("packed.so");
    let name = b"GLIBC_ABI_DT_RELR";
    let at = bytes.windows(name.len()).position(|window| window == name).expect("GNU ld 2.38 or later");
    bytes[at] = b'X';
    sandbox.file("packed.so", bytes);
    is_damaged(&sandbox, "packed.so", "without a dependency on GLIBC_ABI_DT_RELR");
}
