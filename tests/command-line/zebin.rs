//! Intel's Level Zero binaries, and the layout before them.

use crate::Sandbox;

#[test]
fn is_listed_with_its_processor_and_inspected() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-dg2.zebin", "a.zebin");
    let scan = sandbox.fatbin("scan a.zebin").ok();
    let row = scan.lines().last().unwrap_or_default();
    assert!(row.starts_with("  device-elf  -        -     spir64_gen-unknown-unknown  dg2   elf       0x0"), "{scan}");
    let inspected = sandbox.fatbin("inspect a.zebin").ok();
    let expected = "\
a.zebin: image 0: spir64_gen-unknown-unknown dg2 elf, 1 kernel
  REGS  WAVE  CODE  KERNEL
   128    32   384  answer_kernel
";
    assert_eq!(inspected, expected);
    let json = sandbox.fatbin("inspect --json a.zebin").ok();
    assert!(json.contains("\"name\": \"result\""), "{json}");
    assert_eq!(sandbox.fatbin("verify a.zebin").ok(), "a.zebin: 1 device image, intact\n");
}

#[test]
fn select_compares_the_processor() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-dg2.zebin", "a.zebin");
    let chosen = sandbox.fatbin("select --device intel_gpu_dg2 a.zebin").ok();
    assert!(chosen.starts_with("a.zebin: intel_gpu_dg2: 1 choice: native\n"), "{chosen}");
    let other = sandbox.fatbin("select --device intel_gpu_pvc a.zebin");
    assert_eq!(other.status, 1);
    assert!(other.out.contains("it is for dg2, not for intel_gpu_pvc"), "{}", other.out);
}

/// OpenCL's ELF file as ocloc writes it: SPIR-V, then code with patch tokens.
fn opencl_file(code: &[u8]) -> Vec<u8> {
    let names = b"\0.shstrtab\0SPIRV Object\0Intel(R) OpenCL Device Binary\0";
    // Capabilities, memory model, an entry point, and an empty function.
    #[rustfmt::skip]
    let spirv = [
        0x0723_0203_u32, 0x0001_0400, 0, 6, 0, 0x2_0011, 4, 0x2_0011, 6, 0x3_000e, 2, 2, 0x4_000f, 6, 3, 0x66, 0x2_0013, 1,
        0x3_0021, 2, 1, 0x5_0036, 1, 3, 0, 2, 0x2_00f8, 4, 0x1_00fd, 0x1_0038,
    ];
    let spirv = spirv.map(u32::to_le_bytes).concat();
    let mut file = vec![0; 64 + 4 * 64];
    let mut section = |number: usize, name: u32, section_type: u32, contents: &[u8]| {
        let offset = file.len() as u64;
        file.extend_from_slice(contents);
        file.resize(file.len().next_multiple_of(8), 0);
        let header = &mut file[64 + number * 64..][..64];
        header[..4].copy_from_slice(&name.to_le_bytes());
        header[4..8].copy_from_slice(&section_type.to_le_bytes());
        header[24..32].copy_from_slice(&offset.to_le_bytes());
        header[32..40].copy_from_slice(&(contents.len() as u64).to_le_bytes());
    };
    section(1, 11, 0xff00_0009, &spirv);
    section(2, 24, 0xff00_0005, code);
    section(3, 1, 3, names);
    file[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\xff\0\0");
    file[20] = 1;
    for (at, value) in [(40, 64), (52, 64), (54, 56), (58, 64), (60, 4), (62, 3)] {
        file[at] = value;
    }
    file
}

#[test]
fn code_with_patch_tokens_is_found_in_files_of_opencl() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gen9.gen", "a.gen").file("a.bin", opencl_file(&crate::fixture("answer-gen9.gen")));
    let scan = sandbox.fatbin("scan a.bin").ok();
    let row = scan.lines().last().unwrap_or_default();
    let expected = "  embedded   Intel(R) OpenCL Device Binary  -     spir64_gen-unknown-unknown  gen9  patchtokens";
    assert!(row.starts_with(expected), "{scan}");
    let size = sandbox.fatbin("size a.bin").ok();
    assert!(size.contains("  1104  gen9 patchtokens\n") && size.contains(" 376  [not device code]\n"), "{size}");
    assert_eq!(sandbox.fatbin("verify a.bin").ok(), "a.bin: 2 device images, intact\n");
    let kernel = "\
a.gen: image 0: spir64_gen-unknown-unknown gen9 patchtokens, 1 kernel
  REGS  WAVE  CODE  KERNEL
   128    32   256  answer_kernel
";
    assert_eq!(sandbox.fatbin("inspect a.gen").ok(), kernel);
    let inspected = sandbox.fatbin("inspect a.bin").ok();
    assert!(inspected.ends_with(&kernel.replace("a.gen: image 0", "a.bin: image 1")), "{inspected}");
    sandbox.fatbin("extract a.bin -o out --name {number}").ok();
    assert_eq!(sandbox.read("out/1"), crate::fixture("answer-gen9.gen"));
}

#[test]
fn code_with_patch_tokens_runs_on_its_core_family() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gen9.gen", "a.gen");
    for device in ["intel_gpu_skl", "intel_gpu_whl", "gen9"] {
        let chosen = sandbox.fatbin(&format!("select --device {device} a.gen")).ok();
        assert!(chosen.contains("1 choice: native\n"), "{device}: {chosen}");
    }
    let other = sandbox.fatbin("select --device intel_gpu_tgllp a.gen");
    assert_eq!(other.status, 1);
    assert!(other.out.contains("it is for gen9, not for intel_gpu_tgllp"), "{}", other.out);
    sandbox.file("p.toml", "archs.devices = [\"intel_gpu_kbl\"]\n").fatbin("check --policy p.toml a.gen").ok();
    sandbox.fatbin("prune --device intel_gpu_kbl a.gen -o out").ok();
}

#[test]
fn a_file_of_opencl_is_an_image_for_the_core_family_of_its_code() {
    let sandbox = Sandbox::new();
    sandbox.file("a.bin", opencl_file(&crate::fixture("answer-gen9.gen")));
    sandbox.fatbin("pack -o a.out --image file=a.bin,kind=sycl,triple=spir64_gen").ok();
    let inspected = sandbox.fatbin("inspect a.out").ok();
    let expected = "\
a.out: image 0: sycl spir64_gen gen9 elf, 1 kernel
  REGS  WAVE  CODE  KERNEL
   128    32   256  answer_kernel
";
    assert_eq!(inspected, expected);
}

#[test]
fn damaged_patch_tokens_are_reported() {
    let sandbox = Sandbox::new();
    let mut bytes = crate::fixture("answer-gen9.gen");
    sandbox.file("short.gen", &bytes[..1000]);
    bytes[0x10] = 2;
    sandbox.file("a.gen", &bytes);
    for (file, problem) in [("short.gen", "Intel kernel tokens at 0x2c: "), ("a.gen", "Intel kernel header at 0x450: ")]
    {
        let run = sandbox.fatbin(&format!("verify {file}"));
        assert_eq!(run.status, 2, "{}", run.out);
        assert!(run.err.contains(problem), "{}", run.err);
    }
}

#[test]
fn damaged_descriptions_are_reported() {
    let sandbox = Sandbox::new();
    let mut bytes = crate::fixture("answer-dg2.zebin");
    let at = bytes.windows(8).position(|window| window == b"version:").unwrap();
    bytes[at] = 0xff;
    sandbox.file("a.zebin", &bytes);
    let run = sandbox.fatbin("verify a.zebin");
    assert_eq!(run.status, 2);
    assert!(run.err.contains(".ze_info at "), "{}", run.err);
    sandbox.file("short.zebin", &crate::fixture("answer-dg2.zebin")[..1000]);
    let run = sandbox.fatbin("scan short.zebin");
    assert_eq!(run.status, 2, "{}", run.out);
}

#[test]
fn devices_have_the_names_of_dpcpp_in_every_command() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-dg2.zebin", "a.zebin");
    let commands = [
        "select --device DEVICE a.zebin",
        "prune --device DEVICE a.zebin -o out",
        "inspect --matrix --device DEVICE a.zebin",
        "requires --device DEVICE a.zebin",
        "check --policy p.toml a.zebin",
    ];
    for command in commands {
        for (device, is_known) in
            [("intel_gpu_dg2_g10", true), ("intel_gpu_12_56_5", true), ("intel_gpu_dg2_g13", false)]
        {
            sandbox.file("p.toml", format!("archs.devices = [\"{device}\"]\n"));
            let run = sandbox.fatbin(&command.replace("DEVICE", device));
            assert_eq!(run.status != 2, is_known, "{command}, {device}: {}{}", run.out, run.err);
            let suggestion = run.err.contains("did you mean intel_gpu_dg2_g1");
            assert_eq!(suggestion, !is_known, "{command}, {device}: {}", run.err);
        }
    }
}

#[test]
fn devices_have_the_names_of_ocloc_in_every_option() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-dg2.zebin", "a");
    for name in ["dg2", "DG2-G10", "acm-g10", "intel_gpu_acm_g10"] {
        sandbox.file("policy.toml", format!("archs.devices = ['{name}']\narchs.only = ['dg2']\n"));
        for command in [
            format!("select --device {name} a"),
            format!("requires --device {name} a"),
            format!("inspect --matrix --device {name} a"),
            format!("check --asked {name} a"),
            format!("check --asked-hip {name} a"),
            "check --policy policy.toml a".to_owned(),
        ] {
            let run = sandbox.fatbin(&command);
            assert_eq!(run.status, 0, "{command}: {}{}", run.out, run.err);
            assert!(!run.out.contains("nothing"), "{command}: {}", run.out);
        }
    }
    let run = sandbox.fatbin("select --device arl-h,PVC a");
    assert!(run.out.contains("Arc 140T intel_gpu_arl_h: 1 choice: nothing"), "{}", run.out);
    assert!(run.out.contains("Max 1550 intel_gpu_pvc: 1 choice: nothing"), "{}", run.out);
    // The file has code for Intel's devices, but not for this one.
    let run = sandbox.fatbin("check --asked-hip intel_gpu_pvc a");
    assert_eq!(run.status, 1);
    assert!(
        run.out.contains("asked-archs: no code for intel_gpu_pvc; nothing runs there; available: dg2"),
        "{}",
        run.out
    );
}

/// Every GPU of Intel compiles SPIR-V, also one that no image names.
#[test]
fn spirv_serves_a_device_of_a_policy() {
    let sandbox = Sandbox::new();
    // Capability Kernel and execution model Kernel instead of Shader and GLCompute.
    let mut kernel = crate::select::shader();
    kernel[24] = 6;
    kernel[32] = 2;
    kernel[44] = 6;
    sandbox.file("k.spv", kernel);
    sandbox.fatbin("pack -o a --image file=k.spv,triple=spir64-unknown-unknown,kind=sycl").ok();
    for policy in ["archs.devices = ['intel_gpu_arl_h']", "archs.devices = ['arl-h']", "package.devices = ['arl-h']"] {
        sandbox.file("policy.toml", policy);
        sandbox.fatbin("check --policy policy.toml a").ok();
    }
    sandbox.fatbin("select --device arl-h a").ok();
}
