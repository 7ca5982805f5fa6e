//! `fatbin select`: the selected image, reasons against the others, exit statuses.

use serde_json::{Value, json};

use crate::Sandbox;

const GPU: &str = "answer-gfx90a.hsaco";
const DEVICE: &str = "gfx90a:sramecc+:xnack-";

/// Processors and the `e_flags` of their code, with every feature unspecified.
const FLAGS: [(&str, u32); 4] = [("gfx906", 0x52f), ("gfx90a", 0x53f), ("gfx942", 0x54c), ("gfx9-generic", 0x100_0151)];

/// Returns a directory with `bundle`, which has these target IDs in order, each with code whose header agrees.
fn bundle(ids: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    let mut targets = String::new();
    for (number, id) in ids.iter().enumerate() {
        let processor = id.split(':').next().unwrap();
        let (_, flags) = FLAGS.iter().find(|(name, _)| *name == processor).unwrap();
        let mut code = crate::fixture(GPU);
        code[48..52].copy_from_slice(&flags.to_le_bytes());
        sandbox.file(&format!("code{number}"), code);
        targets += &format!(" --target hipv4-amdgcn-amd-amdhsa--{id}=code{number}");
    }
    sandbox.file("none", "");
    sandbox
        .fatbin(&format!("bundle --raw --type o -o bundle --target host-x86_64-unknown-linux-gnu=none{targets}"))
        .ok();
    sandbox
}

/// Returns an object with a fat binary of a cubin for 9.0 and PTX for 8.0.
fn fat_binary() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "a").fixture("answer-sm_80.ptx", "b.ptx");
    sandbox.fatbin("wrap --allow-missing-kernels --kind cuda --entry kernel=stub -o cuda.o a b.ptx").ok();
    sandbox
}

fn document(sandbox: &Sandbox, arguments: &str) -> Value {
    serde_json::from_str(&sandbox.fatbin(&format!("select --json {arguments}")).out).unwrap()
}

/// Returns the first answer of the first choice and its image.
fn answer(sandbox: &Sandbox, arguments: &str) -> (String, Option<u64>) {
    let document = document(sandbox, arguments);
    let answer = &document["files"][0]["choices"][0]["answers"][0];
    (answer["answer"].as_str().unwrap().to_owned(), answer["chosen"].as_u64())
}

#[test]
fn prints_the_selected_image_and_reasons_for_the_others() {
    let sandbox = bundle(&["gfx90a:xnack+", "gfx90a:xnack-", "gfx942"]);
    let table = "\
bundle: MI250X gfx90a:sramecc+:xnack-: 1 choice: native
bundle: bundle at 0x0: HIP on gfx90a:sramecc+:xnack- selects image 1
  NUMBER  ARCH           IMAGE  VERDICT   REASON
       0  gfx90a:xnack+  elf    rejected  it requires xnack+, not xnack-
       1  gfx90a:xnack-  elf    selected  it is for this processor
       2  gfx942         elf    rejected  it is for gfx942, not for gfx90a
  HIP of ROCm 5.2 selects nothing: it does not load code object version 6 (image 1)
";
    assert_eq!(sandbox.fatbin(&format!("select --device {DEVICE} bundle")).ok(), table);
}

#[test]
fn reports_compilation_from_ptx() {
    let sandbox = fat_binary();
    let cases = [
        ("sm_90", "native", Some(0), 0, "CUDA on sm_90 selects image 0"),
        ("sm_89", "jit-ptx", Some(1), 0, "CUDA on sm_89 selects image 1 (JIT from PTX)"),
        ("sm_100", "jit-ptx", Some(1), 0, "CUDA on sm_100 selects image 1 (JIT from PTX)"),
        ("sm_75", "nothing", None, 1, "CUDA on sm_75 selects nothing"),
    ];
    for (device, word, chosen, status, message) in cases {
        let run = sandbox.fatbin(&format!("select --device {device} cuda.o"));
        assert_eq!((run.status, run.err.as_str()), (status, ""));
        assert!(run.out.contains(message), "{}", run.out);
        assert_eq!(answer(&sandbox, &format!("--device {device} cuda.o")), (word.to_owned(), chosen));
    }
}

#[test]
fn falls_back_to_generic_code() {
    let sandbox = bundle(&["gfx9-generic", "gfx906"]);
    assert_eq!(answer(&sandbox, "--device gfx906:sramecc+:xnack- bundle"), ("native".to_owned(), Some(1)));
    assert_eq!(answer(&sandbox, "--device gfx900:xnack- bundle"), ("generic".to_owned(), Some(0)));
    assert_eq!(answer(&sandbox, "--device gfx90a:sramecc+:xnack- bundle"), ("nothing".to_owned(), None));
}

#[test]
fn hip_asks_for_generic_code_with_features_that_the_generic_processor_lacks() {
    let sandbox = bundle(&["gfx9-generic"]);
    let run = sandbox.fatbin("select -v --device gfx906 bundle");
    assert_eq!(run.status, 1);
    let message = "HIP looks for gfx9-generic:sramecc+:xnack+, and gfx9-generic does not support feature \"sramecc\"";
    assert!(run.out.contains(message), "{}", run.out);
    let run = sandbox.fatbin("prune --device gfx906 -o pruned bundle");
    assert_ne!(run.status, 0, "{}", run.out);
    sandbox.fatbin("select --device gfx900 bundle").ok();
}

#[test]
fn reports_code_that_is_selected_but_cannot_be_loaded() {
    let sandbox = bundle(&["gfx90a"]);
    let mut bytes = sandbox.read("bundle");
    let id = bytes.windows(6).position(|bytes| bytes == b"gfx90a").unwrap();
    bytes[id..id + 6].copy_from_slice(b"gfx942");
    let run = sandbox.file("bundle", bytes).fatbin("select --device gfx942:sramecc+:xnack- bundle");
    let message = "HIP selects it but cannot load it: it is for gfx90a, not for gfx942\n";
    assert_eq!(run.status, 1);
    assert!(run.out.contains(message), "{}", run.out);
}

#[test]
fn reads_ids_of_compressed_bundles() {
    let sandbox = Sandbox::new();
    sandbox.fixture(GPU, "code").file("none", "");
    let targets = "--target host-x86_64-unknown-linux-gnu=none --target hipv4-amdgcn-amd-amdhsa--gfx90a=code";
    sandbox.fatbin(&format!("bundle --raw --type o --compress -o bundle {targets}")).ok();
    let document = document(&sandbox, &format!("--device {DEVICE} bundle"));
    let choice = &document["files"][0]["choices"][0];
    assert_eq!((&choice["type"], &choice["answers"][0]["chosen"]), (&json!("ccob"), &json!(0)));
}

#[test]
fn answers_for_each_setting_that_the_device_name_leaves_open() {
    let sandbox = bundle(&["gfx90a:xnack+"]);
    let run = sandbox.fatbin("select --device gfx90a:sramecc+ bundle");
    assert_eq!(run.status, 1, "on one of the devices there is nothing");
    assert!(run.out.contains("HIP on gfx90a:sramecc+:xnack+ selects image 0\n"), "{}", run.out);
    assert!(run.out.contains("HIP on gfx90a:sramecc+:xnack- selects nothing\n"), "{}", run.out);
    assert!(run.out.contains("bundle: MI250X gfx90a:sramecc+: 1 choice: nothing\n"), "{}", run.out);
    let run = bundle(&["gfx90a"]).fatbin("select --device gfx90a bundle").ok();
    assert!(run.contains("\nbundle: bundle at 0x0: HIP on gfx90a selects image 0\n"), "{run}");
}

#[test]
fn prints_both_answers_where_releases_of_libomptarget_differ() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-x86_64.so", "a").fixture("answer-x86_64.so", "b").fixture(GPU, "c");
    sandbox.fatbin("wrap --kind openmp -o w.o a b c").ok();
    let out = sandbox.fatbin("select --device x86_64 w.o").ok();
    assert!(out.contains("libomptarget on x86_64 selects image 0\n"), "{out}");
    assert!(
        out.contains("\n  libomptarget of LLVM 15 to 20 selects image 1: the last image that its plugin accepts\n")
    );
    let expected = json!({
        "release": "LLVM 15 to 20", "order": "the last image that its plugin accepts", "answer": "native", "chosen": 1
    });
    let document = document(&sandbox, "--device x86_64 w.o");
    assert_eq!(document["files"][0]["choices"][0]["answers"][0]["earlier"], expected);
}

#[test]
fn rocm_6_4_finds_spirv_by_one_id_and_later_releases_by_two() {
    let module = [0x0723_0203_u32, 0x0001_0400, 0, 24, 0, 0x2_0011, 4, 0x2_0011, 6, 0x3_000e, 2, 2];
    let module = module.map(u32::to_le_bytes).concat();
    let sandbox = Sandbox::new();
    let finds = |id: &str, status| {
        let bundle = fatbin_core::format::bundle::write(&[(id, &module[..])], 4096).unwrap().to_vec();
        let run = sandbox.file("bundle", bundle).fatbin("select -v --device gfx942 bundle");
        assert_eq!(run.status, status, "{id}: {}", run.out);
        run.out
    };
    let earlier = "HIP of ROCm 6.4 selects nothing";
    assert!(!finds("hip-spirv64-amd-amdhsa--amdgcnspirv", 0).contains(earlier));
    assert!(finds("hip-spirv64-amd-amdhsa-unknown-amdgcnspirv", 0).contains(earlier));
    let requires = sandbox.fatbin("requires bundle").ok();
    assert!(requires.contains("newer than ROCm 6.4") && requires.contains("-unknown-"), "{requires}");
    let policy = "images.findable-by = ['rocm-7.2']\n";
    sandbox.file("policy.toml", policy).fatbin("check --policy policy.toml bundle").ok();
    sandbox.file("policy.toml", policy.replace("7.2", "6.4"));
    assert_eq!(sandbox.fatbin("check --policy policy.toml bundle").status, 1);
    assert!(!finds("hip-spirv64-amd-unknown-unknown-amdgcnspirv", 1).contains(earlier));
}

/// Returns a shader with an entry point, as spirv-as writes it.
pub fn shader() -> Vec<u8> {
    let header = [0x0723_0203_u32, 0x0001_0500, 0, 5, 0, 0x2_0011, 1, 0x3_000e, 0, 1];
    let entry = [0x5_000f, 5, 1, u32::from_le_bytes(*b"main"), 0, 0x6_0010, 1, 17, 64, 1, 1];
    let types = [0x2_0013, 2, 0x3_0021, 3, 2];
    let function = [0x5_0036, 2, 1, 0, 3, 0x2_00f8, 4, 0x1_00fd, 0x1_0038];
    [&header[..], &entry, &types, &function].concat().into_iter().flat_map(u32::to_le_bytes).collect()
}

#[test]
fn every_device_with_vulkan_compiles_shaders() {
    let sandbox = Sandbox::new();
    sandbox.file("s.spv", shader());
    assert!(sandbox.fatbin("scan s.spv").ok().contains("  spirv-unknown-vulkan  "));
    for device in ["RX-7900-XTX", "H100", "spir64", "bmg"] {
        let out = sandbox.fatbin(&format!("select --device {device} s.spv")).ok();
        assert!(out.contains("Vulkan on") && out.contains("(JIT from SPIR-V)"), "{device}: {out}");
    }
    for device in ["macos", "x86_64"] {
        assert_eq!(sandbox.fatbin(&format!("select --device {device} s.spv")).status, 1, "{device}");
    }
    // A kernel is for OpenCL and Level Zero.
    let mut kernel = shader();
    kernel[24] = 6;
    kernel[32] = 2;
    sandbox.file("k.spv", kernel);
    assert_eq!(sandbox.fatbin("select --device H100 k.spv").status, 1);
    assert!(sandbox.fatbin("select --device spir64 k.spv").ok().contains("SYCL on spir64"));
}

#[test]
fn json_follows_its_schema() {
    let sandbox = fat_binary();
    let image = |index, image, arch, offset, chosen, reason| {
        json!({
            "index": index, "kind": "cuda", "image": image, "triple": "nvptx64-nvidia-cuda", "arch": arch,
            "offset": offset, "chosen": chosen, "reason": reason
        })
    };
    let mut found = document(&sandbox, "--device sm_100 cuda.o missing");
    let choice = found["files"][0]["choices"][0].clone();
    let images = choice["answers"][0]["images"].clone();
    let expected = json!({
        "type": "cuda-fatbin", "section": ".nv_fatbin", "offset": choice["offset"],
        "runtime": {
            "name": "CUDA", "release": "CUDA 11 to 13", "order": "the nearest compatible cubin, else the nearest PTX"
        },
        "concerned": true,
        "answers": [{
            "devices": ["sm_100"], "answer": "jit-ptx", "chosen": 1,
            "images": [
                image(0, "elf", "sm_90", &images[0]["offset"], false, "it is for 9.0, the device is 10.0: another major version"),
                image(1, "ptx", "sm_80", &images[1]["offset"], true, "it is compiled from PTX at load time"),
            ]
        }]
    });
    assert_eq!(choice, expected);
    found["files"][0]["choices"] = json!([]);
    let error = json!({"message": "missing: cannot open: no such file or directory"});
    let files = json!([
        {"path": "cuda.o", "answer": "jit", "modules": {"jit": 1}, "choices": [], "errors": []}, {"path": "missing", "choices": [], "errors": [error]}
    ]);
    assert_eq!(found, json!({"schema": "fatbin.select/1", "device": "sm_100", "devices": ["sm_100"], "files": files}));
}

#[test]
fn summarizes_an_application_with_a_line_per_file() {
    let sandbox = fat_binary();
    sandbox.fixture(GPU, "gpu").file("text", "nothing here\n");
    let run = sandbox.fatbin("select --device sm_90 cuda.o gpu text");
    let lines: Vec<&str> = run.out.lines().take(3).collect();
    let expected =
        ["cuda.o: H100 sm_90: 1 choice: native", "gpu: no code for NVIDIA devices", "text: no code for NVIDIA devices"];
    assert_eq!(
        (run.status, lines.as_slice()),
        (0, &expected[..]),
        "libraries without code for such devices are no failure"
    );
    let run = sandbox.fatbin("select --device sm_90 gpu text");
    assert_eq!(run.status, 1, "there is nothing at all");
}

#[test]
fn rejects_unknown_devices_and_unreadable_files() {
    let sandbox = fat_binary();
    let run = sandbox.fatbin("select --device sm_90a cuda.o");
    let message = "fatbin: --device sm_90a: devices have no suffix: sm_90a is code for device sm_90\n";
    assert_eq!((run.status, run.err.as_str(), run.out.as_str()), (2, message, ""));
    let run = sandbox.fatbin("select --device sm_90 missing cuda.o");
    assert_eq!(run.status, 2);
    assert!(run.out.contains("selects image 0"), "the others are still listed: {}", run.out);
}

#[test]
fn groups_containers_with_the_same_answer() {
    let sandbox = bundle(&["gfx90a", "gfx942"]);
    let twice = [sandbox.read("bundle"), sandbox.read("bundle")].concat();
    let out = sandbox.file("twice", twice).fatbin(&format!("select --device {DEVICE} twice")).ok();
    assert!(out.contains("\n  and 1 more choice like this\n"), "{out}");
    assert!(out.starts_with("twice: MI250X gfx90a:sramecc+:xnack-: 2 choices: all native\n"), "{out}");
}

#[test]
fn a_library_with_specialized_kernels_is_served_in_part() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "a").fixture("answer-sm_80.ptx", "b.ptx");
    sandbox.fatbin("wrap --allow-missing-kernels --kind cuda --entry kernel=stub -o special.o a").ok();
    sandbox.fatbin("wrap --allow-missing-kernels --kind cuda --entry kernel=stub -o general.o b.ptx").ok();
    sandbox.shell("ld -r -o lib.o special.o general.o").ok();
    let run = sandbox.fatbin("select --device sm_89 lib.o");
    let verdict = "\
lib.o: RTX 4090 sm_89: 2 choices: 1 compiled from PTX, 1 nothing
  nothing in 1 choice with code for sm_90 only
    1 kernel: answer_kernel
";
    assert_eq!(run.status, 1);
    assert!(run.out.starts_with(verdict), "{}", run.out);
    assert_eq!(sandbox.fatbin("select --some --device sm_89 lib.o").status, 0);
    assert_eq!(sandbox.fatbin("select --some --device sm_75 lib.o").status, 1);
    assert_eq!(sandbox.fatbin("select --device sm_90 lib.o").status, 0);
    // The status does not depend on the number of devices.
    assert_eq!(sandbox.fatbin("select --device sm_89,sm_90 lib.o").status, 1);
    assert_eq!(sandbox.fatbin("select --device sm_75 lib.o").status, 1);
    // Each file is a separate library.
    assert_eq!(sandbox.fatbin("select --device sm_89 general.o special.o").status, 1);
    let gaps = &document(&sandbox, "--device sm_89 lib.o")["files"][0]["gaps"];
    assert_eq!(gaps, &json!([{ "archs": ["sm_90"], "choices": 1, "kernels": ["answer_kernel"] }]));
}

#[test]
fn devices_have_the_names_of_their_gpus() {
    let sandbox = fat_binary();
    for name in ["H200", "h200", "sm_90", "NVIDIA-H200"] {
        let gpu = if name == "sm_90" { "H100" } else { "H200" };
        let out = sandbox.fatbin(&format!("select --device {name} cuda.o")).ok();
        assert!(out.starts_with(&format!("cuda.o: {gpu} sm_90: 1 choice: native\n")), "{name}: {out}");
        assert!(out.contains("CUDA on sm_90 selects image 0\n"), "{out}");
        assert_eq!(document(&sandbox, &format!("--device {name} cuda.o"))["device"], "sm_90", "{name}");
    }
    let run = sandbox.fatbin("select --device H100,RTX-4090,V100 cuda.o");
    let verdicts: Vec<&str> = run.out.lines().filter(|line| line.contains("choice: ")).collect();
    let expected = [
        "cuda.o: H100 sm_90: 1 choice: native",
        "cuda.o: RTX 4090 sm_89: 1 choice: compiled from PTX",
        "cuda.o: V100 sm_70: 1 choice: nothing",
    ];
    assert_eq!((run.status, verdicts.as_slice()), (1, &expected[..]), "{}", run.out);
}

#[test]
fn all_devices_are_the_gpus_of_the_platforms_that_the_files_are_for() {
    let sandbox = fat_binary();
    let out = sandbox.fatbin("select --device all cuda.o").out;
    assert!(out.contains("cuda.o: B300 sm_103: 1 choice: compiled from PTX\n") && !out.contains("gfx"), "{out}");
    assert!(out.contains(" lists of images; use -v to print them\n") && !out.contains("NUMBER"), "{out}");
    let listed = sandbox.fatbin("select -v --device all cuda.o").out;
    assert!(listed.contains("CUDA on sm_103 selects image 1 (JIT from PTX)\n  NUMBER"), "{listed}");
    let run = sandbox.fatbin("select --json --device all cuda.o");
    assert!(run.status == 1 && run.out.contains("\"schema\": \"fatbin.select-set/1\""), "{}", run.out);
    let matrix = sandbox.fatbin("inspect --matrix --device MI300X,all cuda.o").ok();
    assert!(matrix.contains("  MI300X gfx942 ") && matrix.contains("  B300 sm_103 "), "{matrix}");
}

#[test]
fn devices_that_do_not_exist_are_errors() {
    let sandbox = fat_binary();
    let cases = [
        ("sm_93", "unknown device \"sm_93\"; did you mean sm_53 or sm_90?"),
        ("sm_999", "unknown device \"sm_999\"; did you mean sm_89 or sm_90?"),
        ("gfx9O6", "unknown processor \"gfx9O6\"; did you mean gfx906?"),
        ("H10O", "unknown device \"H10O\"; did you mean H100?"),
        ("MI300", "unknown device \"MI300\"; did you mean MI100 or MI300A or MI300X?"),
    ];
    for (name, message) in cases {
        for command in ["select", "requires", "inspect --matrix"] {
            let run = sandbox.fatbin(&format!("{command} --device {name} cuda.o"));
            let expected = format!("fatbin: --device {name}: {message}");
            assert!(run.status == 2 && run.err.starts_with(&expected), "{command}: {}", run.err);
            assert_eq!(run.err.matches("unknown").count(), 1, "{}", run.err);
        }
    }
    sandbox.file("p.toml", "archs.require = ['H100']\n");
    sandbox.fatbin("check --policy p.toml cuda.o").ok();
    let run = sandbox.file("p.toml", "archs.require = ['sm_93']\n").fatbin("check --policy p.toml cuda.o");
    assert!(run.err.contains("unknown architecture \"sm_93\"; did you mean sm_53 or sm_90?"), "{}", run.err);
}
