//! Modules: code in one does not help another, files for different processors are one, and images without kernels serve
//! no device.

use serde_json::Value;

use crate::Sandbox;

const FIXTURE: &str = "answer-gfx90a.hsaco";

/// Writes the code object of the fixture with other `e_flags`.
fn code_object(sandbox: &Sandbox, name: &str, flags: u32) {
    sandbox.fixture(FIXTURE, name);
    let mut bytes = sandbox.read(name);
    bytes[0x30..0x34].copy_from_slice(&flags.to_le_bytes());
    sandbox.file(name, bytes);
}

/// Writes PTX for an architecture with some kernels.
fn ptx(sandbox: &Sandbox, name: &str, number: u32, kernels: &[&str]) {
    let kernels: String = kernels.iter().map(|kernel| format!(".visible .entry {kernel}() {{ ret; }}\n")).collect();
    sandbox.file(name, format!(".version 8.0\n.target sm_{number}\n.address_size 64\n.global .u32 x;\n{kernels}"));
}

/// Status and first line of a command.
fn answer(sandbox: &Sandbox, command: &str) -> (i32, String) {
    let run = sandbox.fatbin(command);
    (run.status, run.out.lines().next().unwrap_or_default().to_owned())
}

#[test]
fn a_kernel_in_one_module_does_not_serve_another() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("lib")).unwrap();
    code_object(&sandbox, "a.co", 0x53f);
    code_object(&sandbox, "b.co", 0x54c);
    let bundle = |out: &str, images: &[(&str, &str)]| {
        let images: String = images.iter().map(|(file, arch)| format!(" --image file={file},arch={arch}")).collect();
        sandbox
            .fatbin(&format!("wrap --kind hip --allow-missing-kernels --entry answer_kernel=stub -o {out}.o{images}"))
            .ok();
        sandbox.shell(&format!("cc -shared -nostdlib -o lib/{out}.so {out}.o")).ok();
    };
    bundle("liba", &[("a.co", "gfx90a"), ("b.co", "gfx942")]);
    bundle("libb", &[("a.co", "gfx90a")]);
    let screen = sandbox.fatbin("lib").ok();
    assert!(screen.contains("MI300X gfx942 native, 1 without code"), "{screen}");
    assert!(screen.contains("gaps      some kernels have no code for MI300X gfx942"), "{screen}");
    let matrix = sandbox.fatbin("inspect --matrix --device gfx90a,gfx942 lib").ok();
    assert!(matrix.starts_with("2 kernels, 2 devices, 1 device without code for some kernels\n"), "{matrix}");
    assert_eq!(sandbox.fatbin("select --device gfx942 lib").status, 1);
    // The same in one file.
    sandbox.shell("ld -r -o both.o liba.o libb.o").ok();
    assert_eq!(
        answer(&sandbox, "select --device gfx942 both.o"),
        (1, "both.o: MI300X gfx942: 2 choices: 1 native, 1 nothing".to_owned())
    );
    sandbox.file("p.toml", "[archs]\ndevices = [\"gfx942\"]\n[[kernels]]\nmatch = \".*\"\ndevices = [\"gfx942\"]\n");
    let run = sandbox.fatbin("check --policy p.toml both.o");
    let finding = "both.o: kernel-coverage: kernel answer_kernel: does not run on gfx942; its code is for gfx90a\n";
    assert!(run.status == 1 && run.out.starts_with(finding), "{}", run.out);
}

#[test]
fn files_for_different_processors_are_one_library() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("k")).unwrap();
    code_object(&sandbox, "k/kernels_gfx908.co", 0x530);
    code_object(&sandbox, "k/kernels_gfx942.co", 0x54c);
    code_object(&sandbox, "k/kernels_gfx90a-xnack+.co", 0x73f);
    code_object(&sandbox, "k/kernels_gfx90a-xnack-.co", 0x63f);
    for devices in ["gfx942", "gfx908,gfx942", "MI250X", "MI250X,MI300X,gfx908", "gfx90a:sramecc+:xnack+"] {
        assert_eq!(sandbox.fatbin(&format!("select --device {devices} k")).status, 0, "{devices}");
    }
    assert_eq!(sandbox.fatbin("select --device gfx908,gfx1100 k").status, 1);
    let out = sandbox.fatbin("select --device MI250X k").ok();
    assert_eq!(out.lines().last().unwrap(), "  k            4  native", "{out}");
    let matrix = sandbox.fatbin("inspect --matrix --device gfx908,gfx90a,gfx942 k").ok();
    assert!(matrix.contains("1 kernel native everywhere"), "{matrix}");
    sandbox.fatbin("check --asked-hip gfx908;gfx90a;gfx942 k").ok();
    sandbox.file(
        "p.toml",
        "[archs]\nrequire = [\"gfx908\", \"gfx90a\"]\ndevices = [\"gfx908\", \"gfx90a\", \"gfx942\"]\n",
    );
    sandbox.fatbin("check --policy p.toml k").ok();
    // What no member has is reported once.
    let run = sandbox.fatbin("check --asked-hip gfx908;gfx1100 k");
    assert_eq!((run.status, run.out.matches("no code for gfx1100").count()), (1, 1), "{}", run.out);
}

#[test]
fn an_image_without_kernels_serves_no_device() {
    let sandbox = Sandbox::new();
    ptx(&sandbox, "empty.ptx", 75, &[]);
    ptx(&sandbox, "full.ptx", 90, &["work"]);
    sandbox.fixture("answer-sm_90.cubin", "full.cubin");
    sandbox.fatbin("pack --kind cuda -o x.fatbin empty.ptx full.cubin").ok();
    assert_eq!(
        answer(&sandbox, "select --device sm_80 x.fatbin"),
        (1, "x.fatbin: A100 sm_80: 1 choice: nothing".to_owned())
    );
    assert!(sandbox.fatbin("select --device sm_80 x.fatbin").out.contains("CUDA selects it, and it holds no kernel"));
    let run = sandbox.fatbin("check --asked 7.5 x.fatbin");
    assert!(run.status == 1 && run.out.contains("available: compute_75 (no kernels), sm_90"), "{}", run.out);
    sandbox.file("p.toml", "[archs]\ndevices = [\"sm_80\"]\nptx-fallback = \"compute_50\"\n");
    assert_eq!(sandbox.fatbin("check --policy p.toml x.fatbin").status, 1);
    assert_eq!(sandbox.fatbin("requires --device sm_80 x.fatbin").status, 1);
    let conda = sandbox.fatbin("metadata --format conda x.fatbin").ok();
    assert!(conda.contains("\"__cuda_arch >=9.0,<10.0\""), "{conda}");
    let screen = sandbox.fatbin("./x.fatbin").ok();
    assert!(screen.contains("A100 sm_80 nothing") && screen.contains("H100 sm_90 native"), "{screen}");
    // A module without kernels asks for nothing.
    sandbox.fatbin("pack --kind cuda -o none.fatbin empty.ptx").ok();
    sandbox.shell("cat x.fatbin none.fatbin > two.bin").ok();
    assert_eq!(
        answer(&sandbox, "select --device sm_90 two.bin"),
        (0, "two.bin: H100 sm_90: 1 choice: native".to_owned())
    );
    assert_eq!(
        answer(&sandbox, "select --device sm_90 none.fatbin"),
        (1, "none.fatbin: H100 sm_90: no kernels in the code for NVIDIA devices".to_owned())
    );
}

#[test]
fn libraries_of_others_are_not_judged_with_a_package() {
    let sandbox = Sandbox::new();
    ptx(&sandbox, "driver.ptx", 52, &["copy"]);
    sandbox.fixture("answer-sm_90.cubin", "own.cubin");
    sandbox.fatbin("pack --kind cuda -o driver.fatbin driver.ptx").ok();
    let mut wheel = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, file) in [("a/own.cubin", "own.cubin"), ("a.libs/libcuda-0a1b2c3d.so.1", "driver.fatbin")] {
        wheel.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut wheel, &sandbox.read(file)).unwrap();
    }
    sandbox.file("a.whl", wheel.finish().unwrap().into_inner());
    let screen = sandbox.fatbin("a.whl").ok();
    assert!(screen.contains("T4 sm_75 nothing") && screen.contains("H100 sm_90 native"), "{screen}");
    assert!(
        screen.contains("others    libcuda-0a1b2c3d.so.1") && screen.contains("(of the NVIDIA driver)"),
        "{screen}"
    );
    let line = "not judged, as libraries of others: libcuda-0a1b2c3d.so.1";
    for (device, status) in [("T4", 1), ("H100", 0), ("T4,H100", 1)] {
        let run = sandbox.fatbin(&format!("select --device {device} a.whl"));
        assert!(run.status == status && run.out.contains(line), "{device}: {}", run.out);
    }
    for command in ["select --json --device T4", "select --json --device T4,H100", "inspect --matrix --json"] {
        let document: Value = serde_json::from_str(&sandbox.fatbin(&format!("{command} a.whl")).out).unwrap();
        let holder = if command.starts_with("inspect") { &document["matrix"] } else { &document };
        assert_eq!(holder["not_judged"], serde_json::json!(["libcuda-0a1b2c3d.so.1"]), "{command}");
    }
    // Metadata is about the package's own code.
    let run = sandbox.fatbin("metadata --format conda a.whl");
    assert!(run.status == 0 && run.out.contains("__cuda_arch >=9.0,<10.0"), "{}", run.out);
    assert!(run.err.contains("libcuda-0a1b2c3d.so.1: left out, as a library of others"), "{}", run.err);
    let matrix = sandbox.fatbin("inspect --matrix --device T4,H100 a.whl").ok();
    assert!(matrix.starts_with("1 kernel, ") && matrix.contains(line), "{matrix}");
    sandbox.file("p.toml", "[package]\ndevices = [\"T4\"]\n");
    assert_eq!(sandbox.fatbin("check --policy p.toml a.whl").status, 1);
    sandbox.file("p.toml", "[package]\ndevices = [\"H100\"]\n");
    sandbox.fatbin("check --policy p.toml a.whl").ok();
    // The rules about the code of each file, too.
    let rules = "[archs]\ndevices = [\"H100\"]\nrequire = [\"sm_90\"]\nonly = [\"sm_90\"]\n\
                 [[kernels]]\nmatch = \".*\"\ndevices = [\"H100\"]\n";
    sandbox.file("p.toml", rules);
    for command in ["check --policy p.toml", "check --asked 9.0"] {
        let out = sandbox.fatbin(&format!("{command} a.whl")).ok();
        assert!(out.contains(line), "{command}: {out}");
    }
    let json: Value = serde_json::from_str(&sandbox.fatbin("check --json --policy p.toml a.whl").out).unwrap();
    assert_eq!(json["not_judged"], serde_json::json!(["libcuda-0a1b2c3d.so.1"]));
    // A package of such libraries alone is judged by them.
    std::fs::create_dir_all(sandbox.path("b/b.libs")).unwrap();
    std::fs::rename(sandbox.path("driver.fatbin"), sandbox.path("b/b.libs/libcuda-0a1b2c3d.so.1")).unwrap();
    assert_eq!(sandbox.fatbin("check --asked 9.0 b").status, 1);
}

#[test]
fn nothing_loads_the_ptx_in_the_cache_of_triton() {
    let sandbox = Sandbox::new();
    for directory in ["cache/AAAA", "failed/BBBB"] {
        std::fs::create_dir_all(sandbox.path(directory)).unwrap();
        ptx(&sandbox, &format!("{directory}/answer_kernel.ptx"), 90, &["answer_kernel"]);
        sandbox.file(&format!("{directory}/answer_kernel.ttir"), "module {}\n");
    }
    sandbox.fixture("answer-sm_90.cubin", "cache/AAAA/answer_kernel.cubin");
    sandbox.file("cache/AAAA/__grp__answer_kernel.json", "{\"child_paths\": {}}");
    let screen = sandbox.fatbin("cache").ok();
    assert!(screen.contains("B200 sm_100 nothing") && screen.contains("H100 sm_90 native"), "{screen}");
    for (command, status) in [
        ("select --device B200 cache", 1),
        ("select --device H100 cache", 0),
        ("select --device B200 failed", 1),
        ("requires --device B200 cache", 1),
        ("check --asked 9.0 cache/AAAA/answer_kernel.cubin", 0),
    ] {
        assert_eq!(sandbox.fatbin(command).status, status, "{command}");
    }
    sandbox.file("p.toml", "[package]\ndevices = [\"B200\"]\n");
    for directory in ["cache", "failed"] {
        let run = sandbox.fatbin(&format!("check --policy p.toml {directory}"));
        assert!(run.status == 1 && run.out.contains("compute_90 (not loaded)"), "{directory}: {}", run.out);
    }
    // The same file elsewhere is code.
    std::fs::rename(sandbox.path("failed/BBBB/answer_kernel.ptx"), sandbox.path("alone.ptx")).unwrap();
    assert_eq!(sandbox.fatbin("select --device B200 alone.ptx").status, 0);
}
