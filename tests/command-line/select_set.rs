//! `fatbin select` about a set of packages, and about the GPUs of a machine.

use serde_json::{Value, json};

use crate::schema::check_document;
use crate::{Sandbox, fixture};

/// Code for an AMD processor: the fixture with other `e_flags`.
fn hsaco(flags: u32) -> Vec<u8> {
    let mut code = fixture("answer-gfx90a.hsaco");
    code[48..52].copy_from_slice(&flags.to_le_bytes());
    code
}

const GFX942: u32 = 0x54c;
const GFX1030: u32 = 0x36;

fn directories(sandbox: &Sandbox, names: &[&str]) {
    for name in names {
        std::fs::create_dir_all(sandbox.path(name)).unwrap();
    }
}

/// A library for gfx942 and gfx1030, a library with a package for each of them, and one for NVIDIA.
fn amd_set() -> Sandbox {
    let sandbox = Sandbox::new();
    directories(&sandbox, &["set/lib_gfx1030", "set/lib_gfx942", "set/torch"]);
    sandbox
        .file("set/lib_gfx942/K_gfx942.co", hsaco(GFX942))
        .file("set/lib_gfx1030/K_gfx1030.co", hsaco(GFX1030))
        .file("a", hsaco(GFX942))
        .file("b", hsaco(GFX1030))
        .fixture("answer-sm_90.cubin", "set/torch/x.cubin");
    let targets = "--target host-x86_64-unknown-linux-gnu=/dev/null --target hipv4-amdgcn-amd-amdhsa--gfx942=a \
                   --target hipv4-amdgcn-amd-amdhsa--gfx1030=b";
    sandbox.fatbin(&format!("bundle --raw --type o -o set/torch/hip.bundle {targets}")).ok();
    sandbox
}

#[test]
fn a_set_has_a_verdict_on_each_device_then_packages_then_what_is_missing() {
    // Both libraries run on gfx942. gfx1031 runs none of them, but its override loads the code for gfx1030. gfx1101 has
    // an override, too, and the set has no gfx1100 code for it.
    let run = amd_set().fatbin("select --device gfx942 --device gfx1031,gfx1101 set");
    let expected = "\
MI300X gfx942: 2 libraries: 2 native
RX 6700 XT gfx1031: 2 libraries: 2 nothing
  HSA_OVERRIDE_GFX_VERSION=10.3.0 loads gfx1030 code for 2 of them, on Linux, unsupported by AMD
RX 7800 XT gfx1101: 2 libraries: 2 nothing
  no override helps: there is no gfx1100 code either
  PACKAGE          FILES  VERDICT            DEVICES
  set/lib_gfx1030      1  for other devices  MI300X gfx942
  set/lib_gfx1030      1  nothing            RX 6700 XT gfx1031, RX 7800 XT gfx1101
  set/lib_gfx942       1  native             MI300X gfx942
  set/lib_gfx942       1  nothing            RX 6700 XT gfx1031, RX 7800 XT gfx1101
  set/torch            1  native             MI300X gfx942
  set/torch            1  nothing            RX 6700 XT gfx1031, RX 7800 XT gfx1101
missing for RX 6700 XT gfx1031:
  K_*.co: for gfx942, gfx1030; K_gfx1031.co would have it
  hip.bundle: for gfx942, gfx1030
missing for RX 7800 XT gfx1101:
  K_*.co: for gfx942, gfx1030; K_gfx1101.co would have it
  hip.bundle: for gfx942, gfx1030
  1 file with code for other devices only
";
    assert_eq!((run.status, run.out.as_str()), (1, expected));
    // Members of one library in two packages serve both devices.
    amd_set().fatbin("select --device gfx942,gfx1030 set").ok();
}

#[test]
fn overrides_that_make_the_gpu_run_other_instructions_are_refused() {
    for (device, reason) in [
        ("gfx90a", "no override helps: code for other processors has other matrix instructions\n"),
        ("gfx1201", "no override helps: code for other generations hangs the GPU\n"),
        ("gfx1010", "no override helps: code for gfx1030 may have instructions that it lacks\n"),
        ("gfx1151", "no override is known to help\n"),
    ] {
        let run = amd_set().fatbin(&format!("select --device gfx942,{device} set"));
        assert!(run.status == 1 && run.out.contains(reason), "{device}: {}", run.out);
    }
}

#[test]
fn a_new_gpu_has_a_row_for_each_package() {
    // 10.7 runs code for itself, code for 10.0, and what it compiles. Code for 9.0 is for another major version.
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_80.ptx", "c.ptx");
    for (name, number) in [("a", 107), ("b", 100), ("d", 90)] {
        let mut cubin = fixture("answer-sm_90.cubin");
        cubin[0x31] = number;
        sandbox.file(name, cubin);
    }
    for (package, code) in [("native", "a"), ("minor", "b"), ("jit", "c.ptx"), ("old", "d")] {
        directories(&sandbox, &[&format!("set/{package}")]);
        let wrap = "wrap --allow-missing-kernels --kind cuda --entry kernel=stub";
        sandbox.fatbin(&format!("{wrap} -o set/{package}/lib.o {code}")).ok();
    }
    let run = sandbox.fatbin("select --device sm_107 set");
    let expected = "\
Rubin sm_107: 4 libraries: 1 native, 1 compatible, 1 JIT, 1 nothing
  PACKAGE     FILES  VERDICT
  set/jit         1  JIT from sm_80
  set/minor       1  by sm_100
  set/native      1  native
  set/old         1  nothing
missing for Rubin sm_107:
  lib.o: for sm_90
";
    assert_eq!((run.status, run.out.as_str()), (1, expected));
    sandbox.fatbin("select --device sm_107 set/jit set/minor set/native").ok();
}

#[test]
fn a_machine_is_what_the_tools_of_its_drivers_list() {
    let sandbox = amd_set();
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command-line/machines");
    for (tool, titles) in [
        ("nvidia-smi-list", "2x A100 sm_80; T4 sm_75"),
        ("nvidia-smi-table", "2x H100 sm_90; RTX 4090 sm_89"),
        ("rocm_agent_enumerator", "2x MI250X gfx90a; RX 6900 XT gfx1030"),
        ("rocminfo", "2x MI300X gfx942:sramecc+:xnack-"),
        ("vulkaninfo", "RX 6700 XT gfx1031; RTX 3080 sm_86"),
    ] {
        let list = std::fs::read(directory.join(format!("{tool}.txt"))).unwrap();
        let run = sandbox.file("machine", list).fatbin("select --json --machine machine set");
        let document: Value = serde_json::from_str(&run.out).unwrap();
        check_document(&sandbox, "select-set", &document);
        let devices = document["devices"].as_array().unwrap();
        let found: Vec<&str> = devices.iter().map(|device| device["title"].as_str().unwrap()).collect();
        assert_eq!(found.join("; "), titles, "{tool}");
    }
    let run = sandbox
        .file("machine", "GPU 0: Tesla T4 (UUID: 1)\nGPU 1: Voodoo 2 (UUID: 2)\n")
        .fatbin("select --machine machine set");
    let message = "fatbin: machine: line 2: unknown device \"Voodoo 2\"";
    assert!(run.status == 2 && run.err.starts_with(message) && run.out.is_empty(), "{}", run.err);
    let run = sandbox.file("machine", "no devices were found\n").fatbin("select --machine machine set");
    assert!(run.status == 2 && run.err.starts_with("fatbin: machine: line 1: unknown device"), "{}", run.err);
    let run = sandbox.fatbin("select set");
    assert!(run.status == 2 && run.err.contains("--device"), "{}", run.err);
}

#[test]
fn json_has_the_answers_of_each_device_package_and_library() {
    let sandbox = amd_set();
    let run = sandbox.fatbin("select --json --device gfx942,gfx1031 set");
    let document: Value = serde_json::from_str(&run.out).unwrap();
    check_document(&sandbox, "select-set", &document);
    assert_eq!(run.status, 1);
    let device = &document["devices"][1];
    assert_eq!(device["libraries"], json!({"nothing": 2}));
    let missing = json!({
        "library": "set/lib_*/K_*.co", "archs": ["gfx942", "gfx1030"], "member": "set/lib_gfx1031/K_gfx1031.co"
    });
    assert_eq!(device["missing"][0], missing);
    let value = json!({
        "variable": "HSA_OVERRIDE_GFX_VERSION", "value": "10.3.0", "arch": "gfx1030", "libraries": 2
    });
    assert_eq!(device["override"], value);
    let elsewhere = json!({"device": "gfx942", "files": [], "elsewhere": true});
    assert_eq!(document["packages"][0]["answers"][0], elsewhere);
    let answers = &document["libraries"][0]["files"][1]["answers"];
    let native = json!({"device": "gfx942", "answer": "native", "arch": "gfx942", "choices": {"native": 1}});
    assert_eq!(answers[0], native);
}
