//! Code that releases of runtimes load or do not load: `select` and `requires` of objects with images of several
//! versions.

use serde_json::{Value, json};

use crate::schema::check_document;
use crate::{BITCODE, Sandbox};

const GPU: &str = "answer-gfx90a.hsaco";
const DEVICE: &str = "gfx90a:sramecc+:xnack-";

/// Returns the AMD fixture as a code object of a version.
fn code_object(version: u8) -> Vec<u8> {
    let mut bytes = std::fs::read(format!("{}/fixtures/{GPU}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    bytes[8] = version - 2;
    bytes
}

/// Returns a directory with `w.o`, which registers a code object of a version with libomptarget.
fn openmp(version: u8) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("code", code_object(version));
    assert_eq!(sandbox.fatbin("wrap --kind openmp --abi llvm19 --allow-missing-kernels -o w.o code").status, 0);
    sandbox
}

#[test]
fn wrap_warns_of_images_that_the_runtime_leaves_out() {
    let sandbox = Sandbox::new();
    for (version, left_out) in
        [(3, &["llvm19", "llvm22", "llvm24"][..]), (4, &["llvm22", "llvm24"]), (5, &[]), (6, &["llvm19"])]
    {
        sandbox.file("code", code_object(version));
        for abi in ["llvm16", "llvm19", "llvm22", "llvm24"] {
            let run = sandbox.fatbin(&format!("wrap --kind openmp --abi {abi} -o w.o code"));
            let warning =
                format!("code: code object version {version}: the OpenMP runtime of {abi} leaves this image out");
            assert_eq!(
                (run.status, run.err.contains(&warning)),
                (0, left_out.contains(&abi)),
                "{version}: {}",
                run.err
            );
        }
        sandbox.fatbin("wrap --kind hip -o w.o code").ok();
    }
    let run = sandbox.fatbin("wrap --kind openmp --abi llvm16 -v -o w.o code");
    assert!(run.err.ends_with("fatbin: w.o: 1 image: ROCm 6.3, LLVM 15 to 16 and LLVM 22 or newer\n"), "{}", run.err);
}

#[test]
fn requires_names_the_releases_of_libomptarget_that_load_a_code_object() {
    let cases = [(3, "LLVM 15 to 16"), (4, "LLVM 15 to 19"), (5, "LLVM 14"), (6, "LLVM 15 to 16 and LLVM 22 or newer")];
    for (version, releases) in cases {
        let out = openmp(version).fatbin("requires w.o").ok();
        let heading = out.lines().next().unwrap();
        assert!(heading.starts_with("w.o: 1 image: ") && heading.ends_with(releases), "{version}: {out}");
    }
    let out = openmp(4).fatbin("w.o").ok();
    assert!(out.contains("  needs     LLVM 15 to 19\n"), "{out}");
    let sandbox = openmp(6);
    let document: Value = serde_json::from_str(&sandbox.fatbin("requires --json w.o").ok()).unwrap();
    check_document(&sandbox, "requires", &document);
    let all = document["files"][0]["all"].as_array().unwrap();
    let floor = &all.iter().find(|it| it["product"] == "llvm").unwrap()["floor"];
    assert_eq!((&floor["known"], &floor["loaded_by"]), (&json!(false), &json!(["15", "16", "22"])));
}

#[test]
fn select_prints_the_release_of_libomptarget_that_differs() {
    let run = openmp(4).fatbin_with_answer(&format!("select --device {DEVICE} w.o"));
    assert_eq!(run.status, 1);
    let reason = "rejected  libomptarget of LLVM 22 does not load it: code object version 4\n";
    assert!(run.out.contains(reason), "{}", run.out);
    assert!(run.out.contains("\n  libomptarget of LLVM 19 selects image 0: "), "{}", run.out);
    let out = openmp(6).fatbin(&format!("select --device {DEVICE} w.o")).ok();
    let answer = "\n  libomptarget of LLVM 19 selects nothing: it does not load code object version 6 (image 0)\n";
    assert!(out.contains("selects image 0\n") && out.contains(answer), "{out}");
}

#[test]
fn requires_knows_offload_entries_with_a_version() {
    for (abi, releases) in [("llvm19", "LLVM 14"), ("llvm20", "LLVM 20"), ("llvm22", "LLVM 20")] {
        let sandbox = Sandbox::new();
        sandbox.fixture("answer-x86_64.so", "a");
        sandbox.fatbin(&format!("wrap --kind openmp --abi {abi} --entry answer -o w.o a")).ok();
        let out = sandbox.fatbin("requires w.o").ok();
        assert!(out.starts_with(&format!("w.o: 1 image: {releases}\n")), "{abi}: {out}");
    }
}

#[test]
fn hip_loads_code_objects_by_release() {
    let sandbox = Sandbox::new();
    for (version, floor) in [(4, "no floor known"), (5, "unknown, newer than ROCm 5.2"), (6, "ROCm 6.3")] {
        sandbox.file("code", code_object(version));
        sandbox.fatbin("wrap --kind hip --allow-missing-kernels -o w.o code").ok();
        let out = sandbox.fatbin("requires w.o").ok();
        assert!(out.starts_with(&format!("w.o: 1 image: {floor}\n")), "{version}: {out}");
        let out = sandbox.fatbin(&format!("select --device {DEVICE} w.o")).ok();
        let answer =
            format!("\n  HIP of ROCm 5.2 selects nothing: it does not load code object version {version} (image 0)\n");
        assert_eq!(out.contains(&answer), version > 4, "{version}: {out}");
    }
}

#[test]
fn hip_stops_at_an_empty_entry() {
    let code = code_object(4);
    let id = "hipv4-amdgcn-amd-amdhsa--gfx90a";
    let entries = [("host-x86_64-unknown-linux--", &[][..]), (id, &[]), (id, &code)];
    let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    bundle.extend((entries.len() as u64).to_le_bytes());
    for (id, code) in entries {
        for number in [4096, code.len(), id.len()] {
            bundle.extend((number as u64).to_le_bytes());
        }
        bundle.extend(id.as_bytes());
    }
    bundle.resize(4096, 0);
    bundle.extend(code);
    let sandbox = Sandbox::new();
    sandbox.file("bundle", bundle);
    let run = sandbox.fatbin_with_answer(&format!("select --device {DEVICE} bundle"));
    assert_eq!(run.status, 1);
    assert!(
        run.out.contains("0  gfx90a  empty  rejected  HIP selects it but cannot load it: it is empty\n"),
        "{}",
        run.out
    );
}

#[test]
fn libomptarget_compiles_the_bitcode_of_a_program() {
    let sandbox = Sandbox::new();
    sandbox.file("bits.bc", BITCODE);
    let image = "--image file=bits.bc,triple=amdgcn-amd-amdhsa,arch=gfx1030";
    sandbox.fatbin(&format!("wrap --kind openmp --abi llvm19 --allow-missing-kernels -o w.o {image}")).ok();
    let row = "unknown, at least LLVM 16  best image  LLVM bitcode, which libomptarget compiles since LLVM 16";
    let out = sandbox.fatbin("requires w.o").ok();
    assert!(out.contains(row), "{out}");
    let run = sandbox.fatbin_with_answer("check --asked-hip gfx1030 w.o");
    assert!(run.out.contains("available: gfx1030 (unlinked)"), "an object: {}", run.out);
    // The header of a shared library.
    let mut program = sandbox.read("w.o");
    program[16] = 3;
    sandbox.file("program", program);
    let out = sandbox.fatbin("check --asked-hip gfx1030 program").ok();
    assert!(!out.contains("unlinked"), "{out}");
}

/// Returns a CUDA fat binary of these entries: kind, number of the architecture, flags, payload.
fn cuda_fatbin(entries: &[(u16, u32, u64, &[u8])]) -> Vec<u8> {
    let mut all = Vec::new();
    for &(kind, arch, flags, payload) in entries {
        let size = payload.len().next_multiple_of(8);
        let version: [u16; 2] = if kind == 2 { [7, 1] } else { [3, 8] };
        all.extend([kind, 0x101].map(u16::to_le_bytes).concat());
        all.extend([64, size as u32, 0, 0, 0].map(u32::to_le_bytes).concat());
        all.extend(version.map(u16::to_le_bytes).concat());
        all.extend([arch, 0, 0].map(u32::to_le_bytes).concat());
        all.extend([flags, 0, 0].map(u64::to_le_bytes).concat());
        all.extend(payload);
        all.resize(all.len().next_multiple_of(8), 0);
    }
    let header = [&0xba55_ed50_u32.to_le_bytes()[..], &[1, 0, 16, 0], &(all.len() as u64).to_le_bytes()].concat();
    [header, all].concat()
}

#[test]
fn cuda_orders_equal_entries_as_its_driver_does() {
    let cubin = std::fs::read(format!("{}/fixtures/answer-sm_90.cubin", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let ptx = b".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n\0";
    let sandbox = Sandbox::new();
    let select = |entries: &[(u16, u32, u64, &[u8])]| {
        sandbox.file("out", cuda_fatbin(entries));
        sandbox.fatbin("select --device sm_90 out").ok()
    };
    let mercury = 0x100_0011;
    let out = select(&[(2, 90, mercury, &cubin), (2, 90, 0x11, &cubin)]);
    assert!(out.contains("CUDA on sm_90 selects image 1\n"), "{out}");
    let out = select(&[(2, 90, 0x11, &cubin), (2, 90, mercury, &cubin)]);
    assert!(out.contains("CUDA on sm_90 selects image 0\n"), "{out}");
    let out = select(&[(1, 90, 0x11, ptx), (1, 90, 0x11, ptx)]);
    assert!(out.contains("CUDA on sm_90 selects image 1 (JIT from PTX)\n"), "{out}");
    assert!(out.contains("\n  CUDA of driver 580 selects image 0 (JIT from PTX): "), "{out}");
    for (driver, selected) in [("580", 0), ("13.0", 0), ("13.3", 1)] {
        let out = sandbox.fatbin(&format!("select --device sm_90 --driver {driver} out")).ok();
        assert!(out.contains(&format!(" selects image {selected} (JIT from PTX)\n")), "{driver}: {out}");
    }
}

#[test]
fn lto_ir_names_its_linker() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.ltoir", "a");
    for pack in ["", "pack --kind cuda -o packed a"] {
        let name = if pack.is_empty() { "a" } else { "packed" };
        if !pack.is_empty() {
            sandbox.fatbin(pack).ok();
        }
        let run = sandbox.fatbin_with_answer(&format!("requires {name}"));
        let answer = format!("{name}: LTO-IR, to be linked first: nvJitLink of CUDA 13.5 or newer\n");
        assert_eq!((run.status, run.out), (1, answer));
        let out = sandbox.fatbin_with_answer(&format!("select --device sm_120 {name}")).out;
        assert!(out.contains("; nvJitLink of CUDA 13.5 or newer links it for this device\n"), "{out}");
        let out = sandbox.fatbin_with_answer(&format!("select --device sm_75 {name}")).out;
        assert!(out.contains("it is for 9.0 and later, the device is 7.5"), "{out}");
    }
}
