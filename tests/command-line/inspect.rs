//! `fatbin inspect`: tables, JSON, exit statuses.

use serde_json::{Value, json};

use crate::Sandbox;

fn document(sandbox: &Sandbox, arguments: &str) -> Value {
    serde_json::from_str(&sandbox.fatbin(arguments).ok()).unwrap()
}

#[test]
fn table_has_only_columns_with_values() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_90.cubin", "b");
    sandbox.fatbin("wrap --kind openmp -o w.o a b").ok();
    let table = "\
w.o: image 0: openmp amdgcn-amd-amdhsa gfx90a elf, 1 kernel
  VGPRS  AGPRS  SGPRS  VSPILLS  SSPILLS  SCRATCH  SHARED  PARAMS  WAVE  THREADS  CODE  KERNEL
      2      0     10        0        0        0       0       8    64     1024    32  answer_kernel
w.o: image 1: openmp nvptx64-nvidia-cuda sm_90 elf, 1 kernel
  compiled from PTX for compute_80
  REGS  SCRATCH  SHARED  CONST  PARAMS  WAVE  CODE  KERNEL
     8        0       0    536       8    32   256  answer_kernel
";
    assert_eq!(sandbox.fatbin("inspect w.o").ok(), table);
}

#[test]
fn json_follows_its_schema() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "a").file("text", "nothing here\n");
    let expected = json!({
        "schema": "fatbin.inspect/1",
        "files": [{
            "path": "a",
            "images": [{
                "index": 0, "image": "elf", "triple": "nvptx64-nvidia-cuda", "arch": "sm_90", "offset": 0,
                "address": "file://a#offset=0&size=3312", "virtual_arch": "compute_80",
                "kernels": [{
                    "name": "answer_kernel", "registers": 8, "scratch": 0, "shared": 0, "constant": 536,
                    "parameter_size": 8, "wave_size": 32, "code_size": 256,
                    "constant_banks": [{"bank": 0, "size": 536}], "parameters": [{"offset": 0, "size": 8}]
                }],
                "debug": {"level": "none", "units": []},
                "errors": []
            }],
            "errors": []
        }, {
            "path": "text", "images": [], "errors": []
        }]
    });
    assert_eq!(document(&sandbox, "inspect --json a text"), expected);
}

#[test]
fn matrix_shows_the_devices_on_which_kernels_run() {
    let sandbox = Sandbox::new();
    let ptx = |entries: &str| format!(".version 8.1\n.target sm_90\n.address_size 64\n{entries}");
    sandbox.fixture("answer-sm_90.cubin", "a").fixture("answer-gfx90a.hsaco", "g");
    sandbox.file("b.ptx", ptx(".entry answer_kernel() { bar.sync 0; ret; } .entry _Z4morePi() { bar.sync 0; ret; }"));
    sandbox.fatbin("pack --kind cuda -o c.fatbin a b.ptx").ok();
    let table = "\
2 kernels, 3 devices, 1 with gaps
  DEVICE           NATIVE  COMPATIBLE  JIT  NONE  UNKNOWN  GAPS
  MI250X gfx90a         1           0    0     0        0     0
  H100 sm_90            1           0    0     0        0     1
  RTX 5090 sm_120       0           0    2     0        0     0

  gfx90a  sm_90   sm_120  KERNEL
          GAP     PTX     more(int*)
  native  native  PTX     answer_kernel
";
    let devices = "--device gfx90a,sm_90,sm_120";
    assert_eq!(sandbox.fatbin(&format!("inspect -v --matrix {devices} c.fatbin g")).ok(), table);
    let rolled_up = "
1 kernel not native everywhere:
  GAP on sm_90
  by PTX on sm_120
  more
1 kernel not native everywhere:
  by PTX on sm_120
  answer_kernel
";
    let out = sandbox.fatbin(&format!("inspect --matrix {devices} c.fatbin g")).ok();
    assert!(out.ends_with(rolled_up), "{out}");
    let native = sandbox.fatbin("inspect --matrix --device sm_90 a").ok();
    assert!(native.ends_with("\n1 kernel native everywhere\n"), "{native}");
    let cell = |device: &str, state: &str, arch: Option<&str>| match arch {
        Some(arch) => json!({"device": device, "state": state, "arch": arch}),
        None => json!({"device": device, "state": state}),
    };
    let expected = json!({
        "schema": "fatbin.inspect/1",
        "matrix": {
            "archs": ["sm_90", "sm_90 ptx"],
            "devices": ["sm_90", "sm_120"],
            "kernels": [
                {
                    "name": "_Z4morePi", "demangled": "more(int*)", "archs": ["sm_90 ptx"], "missing": ["sm_90"],
                    "devices": [json!({"device": "sm_90", "state": "gap", "absence": "absent"}), cell("sm_120", "jit-ptx", Some("sm_90"))]
                },
                {
                    "name": "answer_kernel", "archs": ["sm_90", "sm_90 ptx"], "missing": [],
                    "devices": [cell("sm_90", "native", Some("sm_90")), cell("sm_120", "jit-ptx", Some("sm_90"))]
                }
            ],
            "gaps": [
                {"path": "c.fatbin", "kernel": "_Z4morePi", "device": "sm_90", "selected": 0, "absence": "absent", "holder": 1}
            ]
        }
    });
    assert_eq!(document(&sandbox, "inspect --matrix --json --device sm_90,sm_120 c.fatbin"), expected);
    let [with, without] = ["--matrix", ""].map(|flag| format!("inspect {flag} --device sm_90 c.fatbin"));
    assert_eq!(sandbox.fatbin(&with).ok(), sandbox.fatbin(&without).ok());
    let run = sandbox.fatbin("inspect --device sm_90 --html page c.fatbin");
    assert_eq!(run.status, 2, "{}", run.err);
}

#[test]
fn matrix_merges_instances_into_families() {
    let sandbox = Sandbox::new();
    let entries = ".entry _Z1fIiEvT_() { ret; } .entry _Z1fIfEvT_() { ret; } .entry plain() { ret; }";
    sandbox.file("b.ptx", format!(".version 8.1\n.target sm_90\n.address_size 64\n{entries}"));
    let table = "\
3 kernels, 1 device, no gaps
  DEVICE      NATIVE  COMPATIBLE  JIT  NONE  UNKNOWN  GAPS
  H100 sm_90       0           0    3     0        0     0

  sm_90  KERNELS  FAMILY
  PTX          2  f
  PTX          1  plain
";
    assert_eq!(sandbox.fatbin("inspect --matrix --families b.ptx").ok(), table);
}

#[test]
fn matrix_folds_many_devices_where_all_kernels_are_native() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "a").fixture("answer-gfx90a.hsaco", "b");
    let out = sandbox.fatbin("inspect --matrix --device all a b").ok();
    assert!(out.contains("\n  all kernels native on 2 other devices:\n  sm_90, gfx90a\n"), "{out}");
    assert!(out.contains("\n  MI300X gfx942 ") && !out.contains("H100 sm_90"), "{out}");
    assert!(out.contains("1 kernel not native everywhere:\n  nothing on sm_30, sm_35, "), "{out}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_shows_families_of_many_kernels() {
    let sandbox = Sandbox::new();
    let entries: String = (0..9).map(|number| format!(".entry _ZN2ns1fILi{number}EEEvv() {{ ret; }} ")).collect();
    sandbox.file("b.ptx", format!(".version 8.1\n.target sm_90\n.address_size 64\n{entries}.entry g() {{ ret; }}"));
    let show = |command: &str| crate::terminal::at_a_terminal::shown(&sandbox, 80, command, ("NO_COLOR", "1"));
    let text = show("fatbin inspect b.ptx");
    assert!(text.contains("KERNELS  FAMILY\n") && text.contains("  9  ns::f\n") && text.contains("  1  g\n"), "{text}");
    let listed = show("fatbin inspect -v b.ptx");
    assert!(listed.contains("ns::f<0>()\n") && listed.lines().count() == 12, "{listed}");
    assert_eq!(show("fatbin inspect b.ptx | cat"), sandbox.fatbin("inspect b.ptx").ok());
}

#[test]
fn filters_images_like_extract() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_90.cubin", "b");
    sandbox.fatbin("wrap --kind openmp -o w.o a b").ok();
    let images = |arguments: &str| document(&sandbox, arguments)["files"][0]["images"].clone();
    let chosen = images("inspect --json --arch sm_90 w.o");
    assert_eq!((chosen[0]["index"].as_u64(), chosen.as_array().unwrap().len()), (Some(1), 1));
    let run = sandbox.fatbin("inspect --arch gfx942 w.o");
    assert_eq!((run.status, run.out.as_str()), (1, ""));
    assert!(run.err.starts_with("fatbin: w.o: no image matches arch gfx942; available: "), "{}", run.err);
}

#[test]
fn distinguishes_files_without_images_from_unreadable_files() {
    let sandbox = Sandbox::new();
    let run = sandbox.file("text", "nothing here\n").fatbin("inspect text");
    assert_eq!((run.status, run.out.as_str(), run.err.as_str()), (1, "text: no device images\n", ""));
    assert_eq!(sandbox.fatbin("inspect --matrix text").out, "text: no device images\n");
    let run = sandbox.fixture("answer-sm_90.cubin", "a").fatbin("inspect missing a");
    assert_eq!(run.status, 2);
    assert_eq!(run.err, "fatbin: missing: cannot open: no such file or directory\n");
    assert!(run.out.starts_with("a: image 0: "), "the others are still listed: {}", run.out);
}

#[test]
fn reports_damage_in_an_image_at_its_file_offset() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "a").fatbin("wrap --kind openmp -o w.o a").ok();
    let mut object = sandbox.read("w.o");
    let image = object.windows(4).rposition(|bytes| bytes == b"\x7fELF").unwrap();
    // The first attribute of `.nv.info`.
    object[image + 0x3f8] = 0x77;
    let run = sandbox.file("w.o", object).fatbin("inspect w.o");
    let at = image + 0x3f8;
    assert_eq!(run.status, 2);
    assert_eq!(
        run.err,
        format!("fatbin: w.o: NVIDIA attribute format at {at:#x}: invalid value 0x77, expected 1 to 4\n")
    );
    assert!(run.out.contains("answer_kernel"), "{}", run.out);
}

#[test]
fn inspects_images_in_compressed_containers() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "a").fixture("answer-gfx90a.hsaco", "b");
    sandbox.fatbin("pack --compress -o packed a b").ok();
    let table = sandbox.fatbin("inspect packed").ok();
    assert_eq!(table.matches("answer_kernel").count(), 2, "{table}");
}

#[test]
fn lists_bitcode_without_inspecting_it() {
    let sandbox = Sandbox::new();
    sandbox.file("a.bc", crate::BITCODE).fatbin("pack -o p --image file=a.bc,triple=amdgcn-amd-amdhsa,arch=gfx90a");
    let out = sandbox.fatbin("inspect p").ok();
    assert!(out.contains("bitcode, not inspected: LLVM bitcode"), "{out}");
}
