//! What a build was asked for, as options: the variables of builds, without a policy and with one.

use super::{Sandbox, wheel};

#[test]
fn the_list_of_the_build_is_a_policy() {
    let sandbox = Sandbox::with_device_code();
    sandbox.file("two.whl", wheel(&[("lib/a.so", sandbox.read("cuda.o")), ("lib/b.so", sandbox.read("more.o"))]));
    let run = sandbox.fatbin("check --asked 9.0;8.0+PTX two.whl");
    assert_eq!(run.status, 1);
    let expected = "two.whl!lib/a.so: asked-archs: no code for sm_80 (8.0+PTX); the driver compiles compute_80 there; \
                    available: compute_80, sm_90\n\
                    two.whl!lib/b.so: asked-archs: no code for sm_80 (8.0+PTX); nothing runs there; available: compute_90, \
                    sm_90\n\
                    two.whl!lib/b.so: asked-archs: no code for compute_80 (8.0+PTX); the oldest PTX is \
                    compute_90; available: compute_90, sm_90\n";
    assert!(run.out.starts_with(expected), "{}", run.out);
    let lists =
        [("--asked", "9.0", "sm90"), ("--asked-cmake", "90-real", "sm90"), ("--asked-hip", "gfx90a:xnack-", "amd")];
    for (option, list, file) in lists {
        assert_eq!(sandbox.fatbin(&format!("check {option} {list} {file}")).ok(), "5 checks: 5 passed\n");
        // A policy of the directory is another question.
        sandbox.file("gpu.toml", "archs.forbid = ['sm_90', 'gfx90a']");
        assert_eq!(sandbox.fatbin(&format!("check {option} {list} {file}")).ok(), "5 checks: 5 passed\n");
        assert_eq!(sandbox.fatbin(&format!("check {file}")).status, 1);
    }
    let both = sandbox.fatbin("check --asked 9.0 --asked-hip gfx90a both.o");
    assert_eq!(both.status, 0, "{}", both.out);
}

#[test]
fn the_list_replaces_the_list_of_a_policy() {
    let sandbox = Sandbox::with_device_code();
    sandbox.file("policy.toml", "archs.asked = '8.0'\nsizes.file = '1 B'\nfiles.amd.archs.asked = 'gfx90a'");
    let run = sandbox.fatbin("check --policy policy.toml --asked 9.0a sm90 amd");
    assert_eq!(run.status, 1);
    assert!(run.out.contains("sm90: asked-archs: no code for sm_90a (9.0a)"), "{}", run.out);
    assert!(!run.out.contains("amd: asked-archs") && run.out.contains("file-size"), "{}", run.out);
}

#[test]
fn lists_that_mean_nothing_are_usage_errors() {
    let sandbox = Sandbox::with_device_code();
    let cases = [
        (
            "--asked=",
            "--asked: empty list of architectures: the build was asked for nothing, or the variable is not set",
        ),
        ("--asked-cmake native", "--asked-cmake: native depends on the GPUs of the machine that built the code"),
        ("--asked 90", "--asked: 90 is an entry of CMAKE_CUDA_ARCHITECTURES, not of TORCH_CUDA_ARCH_LIST"),
        ("--asked-hip 9.0", "--asked-hip: 9.0 is an entry of TORCH_CUDA_ARCH_LIST, not of PYTORCH_ROCM_ARCH"),
        ("--asked-cmake all --asked-cuda 10.2", "--asked-cuda: invalid release of CUDA \"10.2\""),
        ("--asked-hip gfx9O6", "unknown architecture \"gfx9O6\"; did you mean gfx906?"),
    ];
    for (options, message) in cases {
        let run = sandbox.fatbin(&format!("check {options} sm90"));
        assert_eq!((run.status, run.out.as_str()), (2, ""), "{options}");
        assert!(run.err.contains(message), "{options}: {}", run.err);
    }
}

#[test]
fn the_assumed_release_of_nvcc_is_named() {
    let sandbox = Sandbox::with_device_code();
    let run = sandbox.fatbin("check --asked-cmake all-major sm90");
    assert!(run.err.contains("all-major depends on the release of nvcc, CUDA 13.5 is assumed"), "{}", run.err);
    assert!(run.out.contains("no code for sm_110 (all-major of CUDA 13.5)"), "{}", run.out);
    let run = sandbox.fatbin("check --asked-cmake all-major --asked-cuda 12.9 sm90");
    assert!(!run.err.contains("assumed") && !run.out.contains("sm_110"), "{}{}", run.err, run.out);
}

#[test]
fn the_spellings_of_builds_are_read_by_filters_and_as_devices() {
    let sandbox = Sandbox::with_device_code();
    let archs = |option: &str| {
        let run = sandbox.fatbin(&format!("inspect --json {option} cuda.o"));
        let document: serde_json::Value = serde_json::from_str(&run.ok()).unwrap();
        let images = document["files"][0]["images"].as_array().unwrap().clone();
        images.iter().map(|image| image["arch"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    for (option, expected) in [
        ("--arch 9.0", "sm_90"),
        ("--arch 90-real", "sm_90"),
        ("--arch 80-virtual", "sm_80"),
        ("--arch 8.0+PTX", "sm_80"),
        ("--compatible-with 9.0", "sm_90 sm_80"),
    ] {
        assert_eq!(archs(option), expected, "{option}");
    }
    assert_eq!(sandbox.fatbin("inspect --arch 8.0 cuda.o").status, 1);
    assert_eq!(sandbox.fatbin("select --device 9.0 cuda.o").ok(), sandbox.fatbin("select --device sm_90 cuda.o").ok());
    assert_eq!(sandbox.fatbin("prune --keep 90-real cuda.o -o kept.o").status, 0);
    assert_eq!(sandbox.fatbin("check --asked 9.0 kept.o").status, 0);
}
