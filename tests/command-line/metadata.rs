//! `fatbin metadata`, and the rule of `check` that compares metadata with the code.

use serde_json::{Value, json};

use crate::schema::check_document;
use crate::{Run, Sandbox};

/// Returns a directory with objects for NVIDIA and AMD.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "sm90").fixture("answer-sm_80.ptx", "sm80.ptx");
    sandbox.fixture("answer-gfx90a-xnack+.hsaco", "amd").file("text", "nothing here\n");
    sandbox.fatbin("wrap --kind cuda -o cuda.o sm90 sm80.ptx").ok();
    sandbox.fatbin("wrap --kind hip -o hip.o amd").ok();
    sandbox
}

fn metadata(sandbox: &Sandbox, arguments: &str) -> Value {
    serde_json::from_str(&sandbox.fatbin(&format!("metadata --format {arguments}")).ok()).unwrap()
}

#[test]
fn prints_the_part_that_the_code_determines() {
    let sandbox = sandbox();
    let expected = json!({ "backend": { "type": "cuda", "archs": ["8.0+PTX", "9.0"] } });
    assert_eq!(metadata(&sandbox, "hf-kernels cuda.o"), expected);
    let expected = json!({ "backend": { "type": "rocm", "archs": ["gfx90a"] } });
    assert_eq!(metadata(&sandbox, "hf-kernels hip.o text"), expected);
    assert_eq!(metadata(&sandbox, "hf-kernels --backend rocm hip.o cuda.o"), expected);
    let variants = &metadata(&sandbox, "pep825 --cuda 12.8 --label cu128 hip.o cuda.o")["variants"];
    let nvidia = json!({ "cuda_version_lower_bound": ["12.8"], "sm_arch": ["80_virtual", "90_real"] });
    assert_eq!(*variants, json!({ "cu128": { "amd": { "gfx_arch": ["gfx90a"] }, "nvidia": nvidia } }));
    let expected = json!({ "constrains": ["__cuda_arch >=8.0"], "depends": ["__cuda >=13.0"] });
    assert_eq!(metadata(&sandbox, "conda cuda.o"), expected, "the cubin is from a toolkit of 13.x");
    let expected = json!({ "constrains": ["__cuda_arch >=9.0,<10.0"], "depends": ["__cuda >=12.8"] });
    assert_eq!(metadata(&sandbox, "conda --cuda 12.8 sm90"), expected);
}

#[test]
fn json_follows_its_schema_and_does_not_depend_on_the_order_of_the_code() {
    let sandbox = sandbox();
    sandbox.file("junk", "what is this").fixture("answer-dg2.zebin", "intel");
    sandbox.fatbin("pack -o nameless --image file=junk,triple=nvptx64-nvidia-cuda sm90").ok();
    let document = metadata(&sandbox, "json hip.o nameless cuda.o intel");
    check_document(&sandbox, "metadata", &document);
    let types: Vec<&str> =
        document["backends"].as_array().unwrap().iter().map(|it| it["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["cuda", "rocm", "xpu"]);
    assert_eq!(document["backends"][0]["torch_cuda_arch_list"], "8.0+PTX;9.0");
    assert_eq!(document["backends"][1]["machine_code"], json!(["gfx90a:xnack+"]));
    assert_eq!(document["undetermined"][0]["path"], "nameless");
    sandbox.fatbin("wrap --kind cuda -o reversed.o sm80.ptx sm90").ok();
    assert_eq!(metadata(&sandbox, "json reversed.o")["backends"], metadata(&sandbox, "json cuda.o")["backends"]);
    let empty = sandbox.fatbin("metadata --format json text");
    check_document(&sandbox, "metadata", &serde_json::from_str(&empty.out).unwrap());
    assert_eq!((empty.status, empty.err.as_str()), (1, ""));
    let run = sandbox.fatbin("metadata --format hf-kernels nameless");
    let warning = "fatbin: warning: nameless: image 0 does not state its target; it is left out\n";
    assert_eq!((run.status, run.err.as_str()), (0, warning));
}

#[test]
fn reports_what_a_format_cannot_describe() {
    let sandbox = sandbox();
    let cases = [
        ("conda text", 1, "text: no device code"),
        ("json missing", 2, "missing: cannot open"),
        (
            "hf-kernels hip.o cuda.o",
            2,
            "device code for cuda and rocm: metadata.json describes one of them; specify --backend",
        ),
        ("hf-kernels --backend xpu cuda.o", 1, "no device code for xpu; available: cuda"),
        ("conda hip.o", 2, "conda has virtual packages for NVIDIA devices only; found code for rocm"),
        ("conda --cuda 12 cuda.o", 2, "invalid CUDA version, expected one such as 12.8"),
        ("pep825 --label CU cuda.o", 2, "invalid label"),
        ("pep825 --label null cuda.o", 2, "invalid label"),
    ];
    for (arguments, status, message) in cases {
        let run = sandbox.fatbin(&format!("metadata --format {arguments}"));
        assert_eq!((run.status, run.out.as_str()), (status, ""), "{arguments}: {}", run.err);
        assert!(run.err.contains(message), "{arguments}: {}", run.err);
    }
}

#[test]
fn prints_nothing_about_a_package_that_cannot_be_read_whole() {
    let sandbox = sandbox();
    let whole = sandbox.read("cuda.o");
    sandbox.file("cut.o", &whole[..whole.len() - 200]);
    let run = sandbox.fatbin("metadata --format json hip.o cut.o");
    assert_eq!((run.status, run.out.as_str()), (2, ""));
}

/// Checks a package against the policy that its metadata is right.
fn check(sandbox: &Sandbox, package: &str) -> Run {
    sandbox.file("policy.toml", "[package]\nmetadata = true\n").fatbin(&format!("check --policy policy.toml {package}"))
}

impl Sandbox {
    /// Writes a wheel with an object and this text as `variant.json`.
    fn variant_wheel(&self, object: &str, variant: &str) {
        let files = [("lib/code.o", self.read(object)), ("demo-1.dist-info/variant.json", variant.as_bytes().to_vec())];
        self.file("demo.whl", crate::check::wheel(&files));
    }

    /// Writes the directory of a Hugging Face kernel with an object and these architectures.
    fn kernel(&self, object: &str, backend: &Value) {
        std::fs::create_dir_all(self.path("build/kernel")).unwrap();
        self.file("build/kernel/code.o", self.read(object));
        self.file("build/kernel/metadata.json", json!({ "name": "x", "backend": backend }).to_string());
    }
}

#[test]
fn metadata_that_was_printed_passes() {
    let sandbox = sandbox();
    for object in ["cuda.o", "hip.o"] {
        let variant = sandbox.fatbin(&format!("metadata --format pep825 {object}")).ok();
        sandbox.variant_wheel(object, &variant);
        assert_eq!(check(&sandbox, "demo.whl").status, 0);
        let document = metadata(&sandbox, &format!("hf-kernels {object}"));
        sandbox.kernel(object, &document["backend"]);
        assert_eq!(check(&sandbox, "build").ok().lines().count(), 1);
    }
}

#[test]
fn a_wheel_with_wrong_metadata_is_reported() {
    let sandbox = sandbox();
    let variant = sandbox.fatbin("metadata --format pep825 cuda.o").ok();
    sandbox.variant_wheel("cuda.o", &variant.replace("90_real", "100_real"));
    let run = check(&sandbox, "demo.whl");
    assert_eq!((run.status, run.err.as_str()), (1, ""));
    let expected = "demo.whl!demo-1.dist-info/variant.json: metadata: claims nvidia :: sm_arch :: 100_real, but no machine code \
                    runs on sm_100; available: sm_90 (image 0 of code.o), compute_80 (image 1 of code.o)\n";
    assert!(run.out.starts_with(expected), "{}", run.out);
    // Without its PTX, a device for the unclaimed cubin refuses the wheel.
    sandbox.variant_wheel("cuda.o", &variant.replace("90_real", "75_real").replace("80_virtual", "120_virtual"));
    let run = check(&sandbox, "demo.whl");
    let expected = "sm_90 is not claimed, so devices for it are refused; claimed in demo.whl!demo-1.dist-info/variant.json: \
                    120_virtual, 75_real\n";
    assert!(run.out.contains(expected), "{}", run.out);
    assert_eq!(run.status, 1);
}

#[test]
fn each_contradiction_of_a_kernel_is_reported() {
    let sandbox = sandbox();
    let cases = [
        ("cuda.o", json!({ "type": "cuda" }), 0, ""),
        ("cuda.o", json!({ "type": "cuda", "archs": ["8.0+PTX"] }), 0, ""),
        ("cuda.o", json!({ "type": "rocm" }), 1, "claims backend.type: rocm, but the device code is for cuda"),
        (
            "cuda.o",
            json!({ "type": "cuda", "archs": ["7.5", "8.0+PTX"] }),
            1,
            "claims backend.archs: 7.5, but no code runs on sm_75",
        ),
        (
            "cuda.o",
            json!({ "type": "cuda", "archs": ["8.0", "9.0"] }),
            1,
            "compute_80 is not claimed, so later devices are refused",
        ),
        ("cuda.o", json!({ "type": "cuda", "archs": ["sm_90"] }), 1, "it is not a compute capability such as 9.0"),
        ("hip.o", json!({ "type": "rocm", "archs": ["gfx90a"] }), 0, ""),
        (
            "hip.o",
            json!({ "type": "rocm", "archs": ["gfx942"] }),
            1,
            "gfx90a:xnack+ is not claimed, so devices for it are refused",
        ),
        (
            "hip.o",
            json!({ "type": "rocm", "archs": ["gfx90a:xnack+"] }),
            1,
            "the loader compares names of processors without features",
        ),
        ("text", json!({ "type": "cuda", "archs": ["9.0"] }), 1, "holds-device-code"),
    ];
    for (object, backend, status, message) in cases {
        sandbox.kernel(object, &backend);
        let run = check(&sandbox, "build");
        assert_eq!(run.status, status, "{backend}: {}", run.out);
        assert!(run.out.contains(message), "{backend}: {}", run.out);
    }
}

#[test]
fn conda_packages_are_checked_in_both_forms() {
    let sandbox = sandbox();
    let index = |constraint: &str| json!({ "name": "demo", "constrains": [constraint] }).to_string();
    let pack = |constraint: &str| {
        sandbox.shell(&format!(
            "mkdir -p p/lib p/info && cp sm90 p/lib/code && echo '{}' > p/info/index.json",
            index(constraint)
        ));
        sandbox.shell("tar -C p -cf demo.tar lib info").ok();
    };
    pack("__cuda_arch >=9.0,<10.0");
    assert_eq!(check(&sandbox, "demo.tar").status, 0);
    pack("__cuda_arch >=9.0");
    for package in ["demo.tar", "p"] {
        let run = check(&sandbox, package);
        assert_eq!(run.status, 1);
        let expected =
            "claims constrains: __cuda_arch >=9.0, but no code runs on sm_100, sm_103, sm_107, sm_120, sm_121";
        assert!(run.out.contains(expected), "{}", run.out);
    }
    // The newer form is a zip file of two compressed tar files.
    let tar = |name: &str, files: &str| {
        sandbox.shell(&format!("tar -C p -cf {name}.tar {files}")).ok();
        zstd::encode_all(sandbox.read(&format!("{name}.tar")).as_slice(), 1).unwrap()
    };
    let files = [("info-demo.tar.zst", tar("info", "info")), ("pkg-demo.tar.zst", tar("pkg", "lib"))];
    sandbox.file("demo.conda", crate::check::wheel(&files));
    let run = check(&sandbox, "demo.conda");
    let expected = "demo.conda!info-demo.tar.zst!info/index.json: metadata: claims constrains: __cuda_arch >=9.0, but no code runs";
    assert!(run.out.contains(expected), "{}", run.out);
}

#[test]
fn metadata_that_is_missing_or_cannot_be_read_does_not_pass() {
    let sandbox = sandbox();
    let run = check(&sandbox, "cuda.o");
    let expected = "policy.toml: metadata: no package with metadata (metadata.json, variant.json, info/index.json)\n";
    assert!(run.status == 1 && run.out.contains(expected), "{}", run.out);
    sandbox.variant_wheel("cuda.o", "{");
    let run = check(&sandbox, "demo.whl");
    assert!(run.status == 2 && run.out.contains("undecided: metadata: invalid JSON: "), "{}", run.out);
    // Code that does not state its target may be the code that is claimed.
    sandbox.file("junk", "what is this");
    sandbox.fatbin("pack -o nameless --image file=junk,triple=nvptx64-nvidia-cuda sm90").ok();
    sandbox.kernel("nameless", &json!({ "type": "cuda", "archs": ["8.0", "9.0"] }));
    let run = check(&sandbox, "build");
    let expected = "undecided: metadata: claims backend.archs: 8.0, but no code runs on sm_80; image 0 of build/kernel/code.o does not \
                    state its target; available: sm_90 (image 1 of code.o)\n";
    assert!(run.status == 2 && run.out.contains(expected), "{}", run.out);
}

#[test]
fn packages_of_distributions_name_devices_and_alternatives() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_90.cubin", "b");
    let deb = sandbox.fatbin("metadata --format deb --device-package amdrocm-blas a").ok();
    assert_eq!(deb, "gpu:Architecture=gfx90a\ngpu:Depends=amdrocm-blas | amdrocm-blas-gfx90a\n");
    let rpm = sandbox.fatbin("metadata --format rpm --device-package amdrocm-blas a").ok();
    assert_eq!(rpm, "Provides: gpu(gfx90a)\nRequires: (amdrocm-blas-gfx90a or amdrocm-blas)\n");
    assert_eq!(sandbox.fatbin("metadata --format deb a b").ok(), "gpu:Architecture=gfx90a sm_90\n");
    let wrong = sandbox.fatbin("metadata --format deb --device-package a|b a");
    assert_eq!(wrong.status, 2, "{}", wrong.err);
}
