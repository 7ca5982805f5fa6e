//! AMD code objects of every version, for every system, unlinked and without code. Headers are those of clang 14 and 22.

use serde_json::Value;

use crate::Sandbox;

/// Offsets in the header of an ELF file.
const OS_ABI: usize = 7;
const ABI_VERSION: usize = 8;
const TYPE: usize = 16;
const FLAGS: usize = 48;

/// Returns a code object with another header.
fn code_object(os_abi: u8, abi_version: u8, e_type: u8, flags: u32) -> Vec<u8> {
    let mut code = crate::fixture("answer-gfx90a.hsaco");
    code[OS_ABI] = os_abi;
    code[ABI_VERSION] = abi_version;
    code[TYPE] = e_type;
    code[FLAGS..FLAGS + 4].copy_from_slice(&flags.to_le_bytes());
    code
}

fn json(sandbox: &Sandbox, arguments: &str) -> Value {
    serde_json::from_str(&sandbox.fatbin(arguments).out).unwrap()
}

#[test]
fn headers_of_every_version_and_system_have_their_target() {
    let rows = [
        ("v3", code_object(64, 1, 3, 0x12c), "amdgcn-amd-amdhsa", "gfx900:xnack+"),
        ("v3", code_object(64, 1, 3, 0x22f), "amdgcn-amd-amdhsa", "gfx906:sramecc+:xnack-"),
        ("v3", code_object(64, 1, 3, 0x130), "amdgcn-amd-amdhsa", "gfx908:sramecc-:xnack+"),
        ("v3", code_object(64, 1, 3, 0x36), "amdgcn-amd-amdhsa", "gfx1030"),
        ("v4", code_object(64, 2, 3, 0x52f), "amdgcn-amd-amdhsa", "gfx906"),
        ("v6", code_object(64, 4, 3, 0x100_0151), "amdgcn-amd-amdhsa", "gfx9-generic"),
        ("pal", code_object(65, 0, 3, 0x330), "amdgcn-amd-amdpal", "gfx908:sramecc+:xnack+"),
        ("mesa", code_object(66, 0, 3, 0x36), "amdgcn-mesa-mesa3d", "gfx1030"),
        ("none", code_object(0, 0, 3, 0x36), "amdgcn-unknown-unknown", "gfx1030"),
    ];
    let sandbox = Sandbox::new();
    for (name, code, triple, arch) in rows {
        sandbox.file(name, code);
        let found = json(&sandbox, &format!("scan --json {name}"));
        let image = &found["files"][0]["containers"][0]["images"][0];
        assert_eq!((&image["triple"], &image["arch"]), (&triple.into(), &arch.into()), "{name}: {image}");
    }
}

/// Every command has the same answer about code that HIP does not load.
#[test]
fn code_that_hip_does_not_load_serves_no_device() {
    let hsa = "HIP and OpenMP load code for HSA (ELF OS ABI 64)";
    let rows = [
        ("linked", code_object(64, 4, 3, 0x36), "it is for this processor".to_owned()),
        ("unlinked", code_object(64, 4, 1, 0x36), "it is relocatable (ET_REL), and must be linked first".to_owned()),
        ("pal", code_object(65, 0, 3, 0x36), format!("it is for PAL (ELF OS ABI 65), and {hsa}")),
        ("mesa", code_object(66, 0, 3, 0x36), format!("it is for Mesa (ELF OS ABI 66), and {hsa}")),
        ("none", code_object(0, 0, 3, 0x36), format!("it is for no system (ELF OS ABI 0), and {hsa}")),
    ];
    let sandbox = Sandbox::new();
    sandbox.file("host", "");
    for (name, code, reason) in rows {
        let status = i32::from(name != "linked");
        sandbox.file(name, code);
        let id = "hipv4-amdgcn-amd-amdhsa--gfx1030";
        let bundle = format!("--type o --target host-x86_64-unknown-linux-gnu=host --target {id}={name} -o b");
        sandbox.fatbin(&format!("bundle --raw {bundle}")).ok();
        for file in [name, "b"] {
            let select = sandbox.fatbin(&format!("select --device gfx1030 {file}"));
            assert_eq!(select.status, status, "{name} {file}: {}", select.out);
            assert!(select.out.contains(&reason), "{name} {file}: {}", select.out);
            let check = sandbox.fatbin(&format!("check --asked-hip gfx1030 {file}"));
            assert_eq!(check.status, status, "{name} {file}: {}", check.out);
        }
        let wrap = sandbox.fatbin(&format!("wrap --allow-missing-kernels --kind hip -o w.o {name}"));
        assert_eq!(wrap.status != 0, name != "linked", "{name}: {}", wrap.err);
    }
}

#[test]
fn a_container_that_states_another_target_is_a_contradiction() {
    let sandbox = Sandbox::new();
    sandbox.file("host", "").file("pal", code_object(65, 0, 3, 0x36)).file("v3", code_object(64, 1, 3, 0x12c));
    for (name, id, own) in [
        ("pal", "amdgcn-amd-amdhsa--gfx1030", "amdgcn-amd-amdhsa, the image's own header amdgcn-amd-amdpal"),
        ("v3", "amdgcn-amd-amdhsa--gfx900", "gfx900, the image's own header gfx900:xnack+"),
    ] {
        let targets = format!("--target host-x86_64-unknown-linux-gnu=host --target hipv4-{id}={name}");
        sandbox.fatbin(&format!("bundle --raw --type o {targets} -o b")).ok();
        let expected = format!("the container states {own}");
        for command in ["scan", "verify"] {
            let run = sandbox.fatbin(&format!("{command} b"));
            assert!(format!("{}{}", run.out, run.err).contains(&expected), "{command} {name}: {}{}", run.out, run.err);
        }
    }
    let select = sandbox.fatbin("select --device gfx900:xnack- b");
    assert!(select.out.contains("HIP selects it but cannot load it"), "{}", select.out);
    assert_eq!(select.status, 1);
}

/// Containers get the target ID of the header, in the form of its version.
#[test]
fn wrap_and_pack_write_the_id_of_version_3() {
    let sandbox = Sandbox::new();
    sandbox.file("v3", code_object(64, 1, 3, 0x22f));
    sandbox.fatbin("wrap --allow-missing-kernels --kind hip -o w.o v3").ok();
    sandbox.fatbin("pack -o packed v3").ok();
    for file in ["w.o", "packed"] {
        let found = json(&sandbox, &format!("scan --json {file}"));
        let images = found["files"][0]["containers"][0]["images"].as_array().unwrap();
        assert_eq!(images.last().unwrap()["arch"], "gfx906:sramecc+:xnack-", "{file}: {found}");
    }
}

/// Sections of a code object with debug information, changed as tools that split debug information change them.
fn debug_file(change: impl Fn(u32, u64) -> (u32, u64)) -> Vec<u8> {
    let mut file = crate::fixture("answer-gfx90a-debug.hsaco");
    let headers = u64::from_le_bytes(file[40..48].try_into().unwrap()) as usize;
    let count = usize::from(u16::from_le_bytes([file[60], file[61]]));
    for header in file[headers..].chunks_exact_mut(64).take(count) {
        let section_type = u32::from_le_bytes(header[4..8].try_into().unwrap());
        let flags = u64::from_le_bytes(header[8..16].try_into().unwrap());
        let (section_type, flags) = change(section_type, flags);
        header[4..8].copy_from_slice(&section_type.to_le_bytes());
        header[8..16].copy_from_slice(&flags.to_le_bytes());
    }
    file
}

#[test]
fn debug_information_without_code_is_no_device_code() {
    const ALLOC: u64 = 2;
    const NOTE: u32 = 7;
    const NOBITS: u32 = 8;
    // `llvm-objcopy --only-keep-debug`, and split DWARF, which has no sections in memory.
    let without_code =
        debug_file(|kind, flags| (if flags & ALLOC != 0 && kind != NOTE { NOBITS } else { kind }, flags));
    let split = debug_file(|kind, flags| (kind, flags & !ALLOC));
    let sandbox = Sandbox::new();
    sandbox.file("host", "").file("complete", debug_file(|kind, flags| (kind, flags)));
    sandbox.fatbin("check --asked-hip gfx90a complete").ok();
    for (name, bytes) in [("k.debug", without_code), ("k.dwo", split)] {
        sandbox.file(name, bytes);
        let id = "hipv4-amdgcn-amd-amdhsa--gfx90a";
        let targets = format!("--target host-x86_64-unknown-linux-gnu=host --target {id}={name}");
        sandbox.fatbin(&format!("bundle --raw --type o {targets} -o b")).ok();
        for file in [name, "b"] {
            for command in ["scan", "verify", "inspect", "select --device gfx90a", "check --asked-hip gfx90a"] {
                assert_eq!(sandbox.fatbin(&format!("{command} {file}")).status, 1, "{command} {name}");
            }
        }
        for command in ["wrap --kind hip -o o", "wrap --kind openmp -o o", "pack -o o"] {
            let run = sandbox.fatbin(&format!("{command} {name}"));
            let expected = format!("fatbin: {name}: is debug information without code; specify the file with the code");
            assert!(run.status == 2 && run.err.starts_with(&expected), "{command} {name}: {}", run.err);
        }
        let image = &json(&sandbox, "scan --json b")["files"][0]["containers"][0]["images"][1];
        assert_eq!(image["image"], "debug-elf", "{image}");
    }
}

/// Objects whose section for device images is compressed as ELF allows it, as `llvm-objcopy --compress-sections` does.
#[test]
fn compressed_sections_are_named_with_their_remedy() {
    const SHF_COMPRESSED: u64 = 1 << 11;
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "code");
    for section in [".llvm.offloading", ".hip_fatbin", ".nv_fatbin"] {
        sandbox.fatbin(&format!("embed -o plain.o --symbol code=code --section {section}")).ok();
        let mut object = sandbox.read("plain.o");
        let headers = u64::from_le_bytes(object[40..48].try_into().unwrap()) as usize;
        let names = headers + 64 * usize::from(u16::from_le_bytes([object[62], object[63]]));
        let names = u64::from_le_bytes(object[names + 24..names + 32].try_into().unwrap()) as usize;
        let is_section = |object: &[u8], header: usize| {
            let name = u32::from_le_bytes(object[header..header + 4].try_into().unwrap()) as usize;
            object[names + name..].starts_with(format!("{section}\0").as_bytes())
        };
        let count = usize::from(u16::from_le_bytes([object[60], object[61]]));
        let header =
            (0..count).map(|number| headers + 64 * number).find(|&header| is_section(&object, header)).unwrap();
        let flags = u64::from_le_bytes(object[header + 8..header + 16].try_into().unwrap()) | SHF_COMPRESSED;
        object[header + 8..header + 16].copy_from_slice(&flags.to_le_bytes());
        if section == ".llvm.offloading" {
            object[header + 4..header + 8].copy_from_slice(&0x6fff_4c0b_u32.to_le_bytes());
        }
        sandbox.file("compressed.o", object);
        let expected = "compressed section (SHF_COMPRESSED), which no reader of device code accepts; decompress it with \
                        llvm-objcopy";
        for command in ["scan", "verify", "doctor", "link -- ld -o program"] {
            // The linker does not read the sections of fat binaries.
            if command.starts_with("link") && section != ".llvm.offloading" {
                continue;
            }
            let run = sandbox.fatbin(&format!("{command} compressed.o"));
            assert!(run.status == 2 && run.err.contains(expected), "{command} {section}: {}{}", run.out, run.err);
        }
    }
}
