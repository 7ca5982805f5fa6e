//! What `wrap`, `pack` and `bundle` refuse: files that contradict what is stated about them, and outputs that would replace
//! files of another kind.

use crate::Sandbox;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "amd").fixture("answer-sm_90.cubin", "nvidia");
    sandbox.fixture("answer-sm_75-32.cubin", "short").fixture("answer-x86_64.so", "host");
    let mut pal = sandbox.read("amd");
    pal[7] = 65;
    sandbox.file("pal", pal);
    sandbox
}

#[test]
fn a_triple_that_contradicts_the_header_is_refused() {
    let sandbox = sandbox();
    let cases = [
        ("amd", "nvptx64-nvidia-cuda", Some("amdgcn-amd-amdhsa")),
        ("amd", "amdgcn-amd-amdpal", Some("amdgcn-amd-amdhsa")),
        ("pal", "amdgcn-amd-amdhsa", Some("amdgcn-amd-amdpal")),
        ("nvidia", "amdgcn-amd-amdhsa", Some("nvptx64-nvidia-cuda")),
        ("nvidia", "nvptx-nvidia-cuda", Some("nvptx64-nvidia-cuda")),
        ("short", "nvptx64-nvidia-cuda", Some("nvptx-nvidia-cuda")),
        ("host", "amdgcn-amd-amdhsa", Some("x86_64-unknown-linux-gnu")),
        ("host", "aarch64-linux-gnu", Some("x86_64-unknown-linux-gnu")),
        ("amd", "amdgpu9.0a-amd-amdhsa", None),
        ("amd", "amdgcn-amd-amdhsa-", None),
        ("nvidia", "nvptx64", None),
        ("host", "x86_64-pc-linux-gnu", None),
    ];
    for (file, triple, found) in cases {
        let image = format!("--image file={file},triple={triple}");
        let expected = found.map_or(String::new(), |found| {
            format!("fatbin: {file}: triple={triple} contradicts the image's header: {found}\n")
        });
        let status = if found.is_some() { 2 } else { 0 };
        for command in ["wrap --kind openmp --abi llvm16 -o o", "pack -o o"] {
            let run = sandbox.fatbin(&format!("{command} {image}"));
            assert_eq!((run.status, run.err.as_str()), (status, expected.as_str()), "{command} {image}");
            let _ = std::fs::remove_file(sandbox.path("o"));
        }
        // Without a container around the image, nothing states a triple.
        sandbox.fatbin(&format!("wrap --kind openmp --abi llvm16 --raw -o o {image}")).ok();
    }
}

#[test]
fn a_bundle_has_what_its_ids_state() {
    let sandbox = sandbox();
    for (id, file, message) in [
        ("hip-amdgcn-amd-amdhsa--gfx908", "amd", "arch=gfx908 contradicts the image's header: gfx90a"),
        ("hip-amdgcn-amd-amdhsa--gfx90a", "nvidia", "triple=amdgcn-amd-amdhsa contradicts the image's header"),
        ("openmp-nvptx64-nvidia-cuda--sm_80", "nvidia", "arch=sm_80 contradicts the image's header: sm_90"),
        ("hip-amdgcn-amd-amdhsa--gfx90a:xnack+", "amd", ""),
        ("host-x86_64-unknown-linux-gnu", "amd", ""),
    ] {
        let words = format!("bundle --type bc --target {id}={file} -o o");
        let run = sandbox.fatbin(&words);
        let status = if message.is_empty() { 0 } else { 2 };
        assert_eq!((run.status, run.err.contains(message)), (status, true), "{id}: {}", run.err);
        sandbox.fatbin(&format!("{words} --raw")).ok();
    }
}

/// A SPIR-V module with a capability, an addressing model and an empty function.
fn spirv(capability: u32, addressing: u32) -> Vec<u8> {
    let words = [0x0723_0203, 0x0001_0000, 0, 1, 0, 0x0002_0011, capability, 0x0003_000e, addressing, 2];
    // A function and its end.
    let words = words.into_iter().chain([0x0005_0036, 1, 2, 0, 3, 0x0001_0038]);
    words.flat_map(u32::to_le_bytes).collect()
}

#[test]
fn the_memory_model_of_spirv_names_its_triple() {
    let sandbox = Sandbox::new();
    sandbox.file("wide", spirv(6, 2)).file("narrow", spirv(6, 1));
    for (command, file, triple) in [
        ("wrap --kind openmp -o o", "wide", "spirv64-intel"),
        ("wrap --kind sycl -o o", "wide", "spirv64-unknown-unknown"),
        ("wrap --kind sycl -o o", "narrow", "spirv32-unknown-unknown"),
        ("pack -o o", "wide", "spirv64-unknown-unknown"),
    ] {
        sandbox.fatbin(&format!("{command} {file}")).ok();
        let scan = sandbox.fatbin("scan o").ok();
        assert!(scan.contains(triple), "{command} {file}: {scan}");
    }
}

#[test]
fn code_replaces_no_file_of_another_kind() {
    let sandbox = sandbox();
    let commands = [
        "wrap --kind openmp -o OUT amd",
        "pack -o OUT amd",
        "pack --kind cuda -o OUT nvidia",
        "bundle --type bc --target hip-amdgcn-amd-amdhsa--gfx90a=amd -o OUT",
        "embed -o OUT name=amd",
    ];
    for command in commands {
        let command = command.replace("OUT", "o");
        for text in ["some text\n", "int main(void) { return 0; }\n", "{\"a\": 1}\n"] {
            let run = sandbox.file("o", text).fatbin(&command);
            let message = "fatbin: o: is no object, archive, program or container, and would be replaced by one; \
                           specify another file, or --force\n";
            assert_eq!((run.status, run.err.as_str()), (2, message), "{command}");
            assert_eq!(sandbox.read("o"), text.as_bytes());
        }
        sandbox.fatbin(&format!("{command} --force")).ok();
        // The command replaces what it or another of these commands has written.
        sandbox.fatbin(&command).ok();
        for other in &commands {
            sandbox.fatbin(&other.replace("OUT", "o")).ok();
        }
        sandbox.file("o", "").fatbin(&command).ok();
    }
}

#[test]
fn embed_reads_names_as_its_integrations_do() {
    let sandbox = Sandbox::new();
    sandbox.file("text", "text").file("a=b", "file with a sign");
    sandbox.fatbin("embed -o o first=text second=text").ok();
    let scan = sandbox.fatbin("embed -o o first=text -s first=text");
    assert_eq!(scan.status, 2, "one name for two files: {}", scan.err);
    assert_eq!(sandbox.fatbin("embed --symbols binary -o o a=b").status, 0);
    assert_eq!(sandbox.fatbin("embed -o o a=missing").status, 2);
}
