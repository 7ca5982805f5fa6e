//! Intel's Level Zero binaries.

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
