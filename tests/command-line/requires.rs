//! `fatbin requires`: floors of packed files, exit statuses, and the JSON document.

use serde_json::Value;

use crate::Sandbox;
use crate::schema::check_document;

/// Returns PTX of a version of the ISA for an architecture.
fn ptx(version: &str, arch: &str) -> String {
    format!(".version {version}\n.target {arch}\n.address_size 64\n.visible .entry k() {{ bar.sync 0; ret; }}\n")
}

/// Returns a directory with a cubin `a`, PTX `b`, and AMD code `g`.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "a").fixture("answer-gfx90a.hsaco", "g").file("b", ptx("8.7", "sm_80"));
    sandbox
}

/// Returns a cubin as CUDA 11 and 12 write it: ABI 7, no notes, and the number of the release as `e_version`.
fn cubin_without_notes(number: u32) -> Vec<u8> {
    let mut old = crate::fixture("answer-sm_90.cubin");
    old[7..9].copy_from_slice(&[0x33, 7]);
    old[0x14..0x18].copy_from_slice(&number.to_le_bytes());
    old[0x30..0x34].copy_from_slice(&0x5a_055a_u32.to_le_bytes());
    let headers = u64::from_le_bytes(old[0x28..0x30].try_into().unwrap()) as usize;
    for header in old[headers..].chunks_exact_mut(64).filter(|header| header[4..8] == [7, 0, 0, 0]) {
        header[4..8].copy_from_slice(&1_u32.to_le_bytes());
    }
    old
}

/// Returns the release in the row about every image of a file, of one product.
fn of_every_image(sandbox: &Sandbox, file: &str) -> String {
    let out = sandbox.fatbin(&format!("requires {file}")).ok();
    let row = out.lines().find_map(|line| line.split_once("  all images ")).unwrap_or_else(|| panic!("{out}"));
    row.0.trim().to_owned()
}

/// Returns the releases in the header line of a file.
fn total(sandbox: &Sandbox, file: &str) -> String {
    let out = sandbox.fatbin(&format!("requires {file}")).ok();
    out.lines().next().unwrap().rsplit_once(" image").unwrap().1.trim_start_matches(['s', ':', ' ']).to_owned()
}

#[test]
fn prints_the_floor_of_each_device_and_its_cause() {
    let sandbox = sandbox();
    sandbox.fatbin("pack --kind cuda -o out a --image file=b,compress=zstd").ok();
    let table = "\
out: 2 images: CUDA 13.0 (driver 580.65.06)
  OLDEST RELEASE                TO LOAD     BECAUSE OF                    DEVICES
  CUDA 12.8 (driver 570.26)     best image  PTX ISA 8.7 (image 0)         sm_80
  CUDA 13.0 (driver 580.65.06)  best image  cubin of CUDA 13.5 (image 1)  sm_90
  CUDA 12.8 (driver 570.26)     some image  PTX ISA 8.7 (image 0)         sm_90
  CUDA 13.0 (driver 580.65.06)  all images  cubin of CUDA 13.5 (image 1)  all
  On A100 (sm_80): driver 570.26 (CUDA 12.8) or newer.
  On H100 (sm_90): driver 580.65.06 (CUDA 13.0) or newer.
";
    assert_eq!(sandbox.fatbin("requires out").ok(), table);
    let out = sandbox.fatbin("requires --device sm_120,sm_75 out").ok();
    assert!(out.contains("CUDA 12.8 (driver 570.26)     best image  PTX ISA 8.7 (image 0)"), "{out}");
    assert!(out.contains("CUDA 13.0 (driver 580.65.06)  all images  cubin of CUDA 13.5 (image 1)"), "{out}");
    assert!(out.ends_with("  nothing runs on sm_75\n"), "{out}");
    let run = sandbox.fatbin_with_answer("requires --device sm_75 out");
    assert_eq!((run.status, run.err.as_str()), (1, "fatbin: out: no code that runs on the devices\n"));
}

#[test]
fn code_without_a_known_floor_runs() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-dg2.zebin", "a");
    let out = sandbox.fatbin("requires --device intel_gpu_dg2_g10 a").ok();
    assert!(out.ends_with("  no floor known for code on intel_gpu_dg2_g10\n"), "{out}");
    let run = sandbox.fatbin("requires --device intel_gpu_pvc a");
    assert!(run.status == 1 && run.out.ends_with("  nothing runs on intel_gpu_pvc\n"), "{run:?}");
}

#[test]
fn every_version_of_the_ptx_isa_has_its_release() {
    let sandbox = Sandbox::new();
    let cases = [
        ("3.2", "CUDA 5.5"),
        ("5.0", "CUDA 8.0 (driver 367.48)"),
        ("6.3", "CUDA 10.0 (driver 410.48)"),
        ("7.0", "CUDA 11.0 (driver 450.51.05)"),
        ("7.8", "CUDA 11.8 (driver 520.61.05)"),
        ("8.5", "CUDA 12.5 (driver 555.42.02)"),
        ("8.6", "CUDA 12.7 (driver 565)"),
        ("9.0", "CUDA 13.0 (driver 580.65.06)"),
        ("9.3", "CUDA 13.3 (driver 610.43.02)"),
        ("9.5", "CUDA 13.5"),
        ("9.6", "unknown, newer than CUDA 13.5"),
    ];
    for (version, floor) in cases {
        sandbox.file("a.ptx", ptx(version, "sm_50"));
        assert_eq!(of_every_image(&sandbox, "a.ptx"), floor, "{version}");
        // The header of an entry states the version of compressed PTX.
        sandbox.fatbin("pack --kind cuda --compress=lz4 -o out a.ptx").ok();
        assert_eq!(of_every_image(&sandbox, "out"), floor, "{version}");
    }
}

#[test]
fn files_for_windows_need_drivers_for_windows() {
    let sandbox = Sandbox::new();
    sandbox.file("a.ptx", ptx("8.4", "sm_50"));
    let wrap = "wrap --allow-missing-kernels --kind cuda --entry kernel=stub -o object a.ptx";
    for (host, driver, loads, fails) in [
        ("x86_64-unknown-linux-gnu", "550.54.14", "550.54.14", "550.54.13"),
        ("x86_64-pc-windows-msvc", "551.61", "551.61", "551.60"),
    ] {
        sandbox.fatbin(&format!("{wrap} --host {host}")).ok();
        let out = sandbox.fatbin("requires object").ok();
        assert!(out.contains(&format!("driver {driver} (CUDA 12.4) or newer")), "{host}: {out}");
        for (driver, status) in [(loads, 0), (fails, 1)] {
            let run = sandbox.fatbin(&format!("select --device V100 --driver {driver} object"));
            assert_eq!(run.status, status, "{host} {driver}: {}", run.out);
        }
    }
    // Cubins of CUDA 12, in a file for Windows.
    sandbox.file("a.ptx", cubin_without_notes(121));
    for (host, driver) in [("x86_64-unknown-linux-gnu", "525.60.13"), ("x86_64-pc-windows-msvc", "528.33")] {
        sandbox.fatbin(&format!("{wrap} --host {host}")).ok();
        let out = sandbox.fatbin("requires object").ok();
        assert!(out.contains(&format!("driver {driver} (CUDA 12.0) or newer")), "{host}: {out}");
    }
}

#[test]
fn compressed_cubins_have_the_floor_of_uncompressed_ones() {
    let sandbox = sandbox();
    sandbox.file("old", cubin_without_notes(118));
    for (name, codec, floor) in [
        ("old", "none", "CUDA 11.8 (driver 520.61.05)"),
        ("old", "lz4", "CUDA 11.8 (driver 520.61.05)"),
        ("old", "zstd", "CUDA 12.4 (driver 550.54.14)"),
        ("a", "none", "CUDA 13.0 (driver 580.65.06)"),
        ("a", "lz4", "CUDA 13.0 (driver 580.65.06)"),
        ("a", "zstd", "CUDA 13.0 (driver 580.65.06)"),
    ] {
        let compress = if codec == "none" { String::new() } else { format!(" --compress={codec}") };
        sandbox.fatbin(&format!("pack --kind cuda{compress} -o out {name}")).ok();
        assert_eq!(total(&sandbox, "out"), floor, "{name} {codec}");
    }
    let out = sandbox.fatbin("requires old").ok();
    assert!(out.contains("code for sm_90 (image 0)"), "{out}");
}

#[test]
fn a_group_is_unknown_and_at_least_what_its_images_need() {
    let sandbox = sandbox();
    sandbox.fatbin("pack --kind cuda --compress=zstd --concat -o out b b").ok();
    assert_eq!(total(&sandbox, "out"), "unknown, newer than CUDA 13.0 (driver 580.65.06)");
    let out = sandbox.fatbin("requires out").ok();
    assert!(out.contains("compressed together with others (image 0)"), "{out}");
}

#[test]
fn bundles_and_offload_binaries_need_rocm_and_llvm() {
    let sandbox = sandbox();
    sandbox.file("none", "");
    let bundle = "bundle --raw --type o --target host-x86_64-unknown-linux-gnu=none";
    let id = "hipv4-amdgcn-amd-amdhsa--gfx90a";
    sandbox.fatbin(&format!("{bundle} -o plain --target {id}=g")).ok();
    assert_eq!(total(&sandbox, "plain"), "ROCm 6.3");
    for (version, floors) in [(2, "ROCm 6.3, LLVM 19"), (3, "ROCm 7.0, LLVM 20")] {
        sandbox.fatbin(&format!("transcode --to ccob{version} -o packed plain")).ok();
        assert_eq!(total(&sandbox, "packed"), floors);
    }
    for (version, floors) in
        [(1, "CUDA 13.0 (driver 580.65.06), LLVM 14"), (2, "CUDA 13.0 (driver 580.65.06), LLVM 23")]
    {
        sandbox.fatbin(&format!("pack --format-version {version} -o packed a")).ok();
        let mut found: Vec<String> = total(&sandbox, "packed").split(", ").map(str::to_owned).collect();
        found.sort();
        assert_eq!(found.join(", "), floors);
    }
}

#[test]
fn images_of_the_program_count_for_the_file_only() {
    let sandbox = sandbox();
    sandbox.fatbin("embed --symbols binary -o blobs.o a b").ok();
    let out = sandbox.fatbin("requires blobs.o").ok();
    assert!(out.starts_with("blobs.o: 2 images: CUDA 13.0 (driver 580.65.06)\n"), "{out}");
    assert!(out.contains("program's choice") && !out.contains("best image"), "{out}");
}

#[test]
fn exit_statuses() {
    let sandbox = sandbox();
    sandbox.file("text", "nothing");
    for (arguments, status) in [
        ("a", 0),
        ("text", 1),
        ("a text", 0),
        ("--device sm_80 a", 1),
        ("--device sm_90 a", 0),
        ("missing", 2),
        ("a missing", 2),
        ("--device sm_90a a", 2),
    ] {
        assert_eq!(sandbox.fatbin(&format!("requires {arguments}")).status, status, "{arguments}");
    }
    assert_eq!(sandbox.fatbin("requires text").out, "text: no device images\n");
    let run = sandbox.fatbin("requires --device sm_90a a");
    assert!(run.err.contains("--device sm_90a: devices have no suffix"), "{}", run.err);
}

#[test]
fn json_has_bounds_causes_and_sources() {
    let sandbox = sandbox();
    sandbox.file("new", ptx("9.6", "sm_50")).file("text", "nothing");
    sandbox.fatbin("pack --kind cuda -o out a --image file=b,compress=zstd").ok();
    sandbox.fatbin("embed --symbols binary -o blobs.o a b").ok();
    let document: Value =
        serde_json::from_str(&sandbox.fatbin("requires --json out new g blobs.o text missing").out).unwrap();
    check_document(&sandbox, "requires", &document);
    let files = document["files"].as_array().unwrap();
    assert_eq!(files.len(), 6);
    let need = &files[0]["devices"][1]["needs"][0];
    assert_eq!(need["preferred"]["at_least"]["driver"], "580.65.06");
    assert_eq!(need["some"]["at_least"]["release"], "12.8");
    assert_eq!(need["some"]["causes"][0]["property"], "ptx-isa");
    assert_eq!(need["some"]["causes"][0]["images"], serde_json::json!([0]));
    let floor = &files[1]["all"][0]["floor"];
    assert_eq!((floor["known"].as_bool(), floor["newer_than"]["release"].as_str()), (Some(false), Some("13.5")));
    assert_eq!(files[2]["all"][0]["floor"]["known"], true);
    assert_eq!(files[3]["selected_by_program"], 2);
}

#[test]
fn select_rejects_what_a_driver_cannot_load() {
    let sandbox = sandbox();
    sandbox.fatbin("pack --kind cuda -o out --image file=a b").ok();
    let cases = [
        ("580.65.06", 0, "selects image 0"),
        ("cuda-13.0", 0, "selects image 0"),
        ("575", 0, "selects image 1 (JIT from PTX)"),
        ("12.8", 0, "selects image 1 (JIT from PTX)"),
        ("550.54.14", 1, "selects nothing"),
        ("12.7", 1, "selects nothing"),
    ];
    for (driver, status, verdict) in cases {
        let run = sandbox.fatbin(&format!("select --device sm_90 --driver {driver} out"));
        assert_eq!(run.status, status, "{driver}");
        assert!(run.out.lines().any(|line| line.ends_with(verdict)), "{driver}: {}", run.out);
    }
    let out = sandbox.fatbin("select --device sm_90 --driver 550 out").out;
    let reason = "driver 550 does not load it: PTX ISA 8.7; oldest release: CUDA 12.8 (driver 570.26)";
    assert!(out.contains(reason), "{out}");
    // A driver that does not know the device loads nothing there.
    let out = sandbox.fatbin("select --device sm_120 --driver 12.7 out").out;
    assert!(out.contains("PTX ISA 8.7; device sm_120; oldest release: CUDA 12.8"), "{out}");
    let document: Value =
        serde_json::from_str(&sandbox.fatbin("select --json --device sm_90 --driver 575 out").ok()).unwrap();
    check_document(&sandbox, "select", &document);
    assert_eq!(document["driver"], "driver 575");
    let run = sandbox.fatbin("select --device sm_90 --driver R550 out");
    assert!(run.status == 2 && run.err.contains("expected a driver such as 550"), "{}", run.err);
}

#[test]
fn select_does_not_decide_what_no_document_dates() {
    let sandbox = sandbox();
    sandbox.file("new", ptx("9.6", "sm_80"));
    sandbox.fatbin("pack --kind cuda -o out new").ok();
    for (driver, status) in [("13.5", 1), ("610", 1), ("13.6", 2), ("615", 2)] {
        let run = sandbox.fatbin(&format!("select --device sm_90 --driver {driver} out"));
        assert_eq!(run.status, status, "{driver}: {}", run.out);
    }
    // Machine code that loads is preferred to any PTX.
    sandbox.fatbin("pack --kind cuda -o out a new").ok();
    sandbox.fatbin("select --device sm_90 --driver 13.6 out").ok();
}
