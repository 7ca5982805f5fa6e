//! Reported problems of real projects as policies: the result, and a message with the file, the rule and the actual value.

use super::{Sandbox, position, wheel};

/// A delegate in a wheel had code only for the machine that built it: the wheel installs, and the model fails at its first
/// launch (pytorch/executorch #21567, #21668). The union of all libraries would have passed.
#[test]
fn reports_libraries_of_a_wheel_that_lack_code_for_a_gpu() {
    let sandbox = Sandbox::with_device_code();
    let files = [
        ("executorch/__init__.py", b"pass".to_vec()),
        ("executorch/lib/libaoti_cuda_backend.so", sandbox.read("cuda.o")),
        ("executorch/lib/libextension_cuda.so", sandbox.read("both.o")),
    ];
    sandbox.file("executorch.whl", wheel(&files)).file("cpu.whl", wheel(&files[..1]));
    let policy = "must-hold = ['libaoti_cuda_backend.so', 'libextension_cuda.so']\n\
                  archs = { devices = ['sm_80', 'sm_90'], ptx-fallback = 'compute_80' }\n";
    let run = sandbox.check(policy, "executorch.whl");
    let expected = "executorch.whl!executorch/lib/libextension_cuda.so: devices: no code that runs on sm_80; available: gfx90a, sm_90\n";
    assert_eq!((run.status, run.out.lines().count()), (1, 2), "{}", run.out);
    assert!(run.out.starts_with(expected), "{}", run.out);

    // A wheel built without the delegate has no device code, which is a violation.
    let run = sandbox.check(policy, "cpu.whl");
    assert_eq!(run.status, 1);
    assert!(run.out.contains("cpu.whl: holds-device-code: no device code\n"), "{}", run.out);
    assert!(run.out.contains("no file with device code matches \"libaoti_cuda_backend.so\"; available: none"));
}

/// EasyBuild's requirements for an installation (easybuild-framework #4692, #5008): machine code for each requested compute
/// capability or PTX for it, a warning for more, and exempt files. EasyBuild parses the output of cuobjdump, which omits PTX
/// in relocatable code.
#[test]
fn requires_code_for_each_capability_and_warns_of_more() {
    let sandbox = Sandbox::with_device_code();
    std::fs::create_dir(sandbox.path("bin")).unwrap();
    for (from, to) in [("cuda.o", "bin/app"), ("both.o", "bin/nvrtc-sample"), ("sm90", "bin/kernels.cubin")] {
        sandbox.file(to, sandbox.read(from));
    }
    let policy = "warn = ['only-archs']\nskip = ['nvrtc-sample']\n\
                  [archs]\nrequire = ['sm_90', 'sm_86']\nptx-fallback = 'compute_80'\nonly = ['sm_90', 'sm_86']\n";
    let run = sandbox.check(policy, "bin");
    assert_eq!(run.status, 1);
    let lines: Vec<&str> = run.out.lines().collect();
    assert!(lines[0].starts_with("bin/app: warning: only-archs: image 1 (compute_80)"), "{}", run.out);
    assert_eq!(lines[1], "bin/kernels.cubin: required-archs: no code for sm_86; available: sm_90");
    assert!(!run.out.contains("nvrtc-sample"), "{}", run.out);
    let excepted = format!("{policy}[files.'*.cubin'.archs]\nrequire = ['sm_90']\n");
    assert_eq!(sandbox.check(&excepted, "bin").status, 0);
}

/// `-a 107-real` was silently merged into sm_100, and cuobjdump prints sm_100 for code of the family as well
/// (NVIDIA/TensorRT-LLM #19067, #19069). A container states the difference; an image without a container does not.
#[test]
fn code_for_a_family_is_not_code_for_its_first_member() {
    let sandbox = Sandbox::with_device_code();
    let container = |suffix: u8| {
        let mut object = sandbox.read("cuda.o");
        let entry = position(&object, &[0x50, 0xed, 0x55, 0xba]) + 16;
        object[entry + 28] = 100;
        object[entry + 42] |= suffix;
        let cubin = position(&object, b"\x7fELF\x02\x01\x01\x41");
        object[cubin + 0x31] = 100;
        object
    };
    sandbox.file("libtensorrt_llm.so", container(0)).file("family.so", container(0x20));
    let run = sandbox.check("archs.require = ['sm_107']", "libtensorrt_llm.so");
    let expected = "libtensorrt_llm.so: required-archs: no code for sm_107; available: compute_80, sm_100\n";
    assert!(run.status == 1 && run.out.starts_with(expected), "{}", run.out);
    assert_eq!(sandbox.check("archs.require = ['sm_100f']", "family.so").status, 0);
    let run = sandbox.check("archs.require = ['sm_100f']", "libtensorrt_llm.so");
    assert!(run.status == 1 && run.out.contains("no code for sm_100f; available: compute_80, sm_100"), "{}", run.out);
    let run = sandbox.check("archs.require = ['sm_100f']", "sm100");
    assert!(run.status == 2 && run.out.contains("cubins with and without the suffix are identical"), "{}", run.out);
}
