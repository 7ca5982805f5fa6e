//! The rule `host-runtime`, on shared libraries that need libraries of CUDA in several ways.

use super::wheel;
use crate::{Run, Sandbox};

/// Returns shared libraries with cubins of CUDA 13: one that needs the runtime of CUDA 12, one that needs CUDA 13,
/// one that needs none, and two that load it by name; and one with PTX only.
fn libraries() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "a").fixture("answer-sm_80.ptx", "b.ptx");
    let wrap = "wrap --allow-missing-kernels --kind cuda --entry kernel=stub";
    sandbox.fatbin(&format!("{wrap} -o cuda.o a")).ok();
    sandbox.fatbin(&format!("{wrap} -o ptx.o b.ptx")).ok();
    sandbox.file("s.c", "int cudart_symbol;\n");
    for major in [12, 13] {
        let name = format!("libcudart.so.{major}");
        sandbox.shell(&format!("cc -shared -fPIC -Wl,-soname,{name} -o {name} s.c")).ok();
        let link = format!("cc -shared -Wl,--no-as-needed -o needs{major}.so cuda.o ./{name}");
        sandbox.shell(&link).ok();
    }
    sandbox.shell("cc -shared -o none.so cuda.o").ok();
    sandbox.shell("cc -shared -Wl,--no-as-needed -o ptx.so ptx.o ./libcudart.so.13").ok();
    sandbox.file("one.c", "const char *name = \"libcudart.so.12\";\n");
    sandbox.file("two.c", "const char *name = \"libcudart.so.12\\0libcudart.so.13\";\n");
    sandbox.shell("cc -shared -fPIC -o one.so one.c cuda.o && cc -shared -fPIC -o two.so two.c cuda.o").ok();
    sandbox.file("policy.toml", "images.host-runtime = true\n");
    sandbox
}

fn check(sandbox: &Sandbox, file: &str) -> Run {
    sandbox.fatbin(&format!("check --policy policy.toml {file}"))
}

#[test]
fn the_runtime_is_as_new_as_the_cubins() {
    let sandbox = libraries();
    for (file, status, message) in [
        ("needs13.so", 0, ""),
        ("needs12.so", 1, "needs12.so: host-runtime: needs libcudart.so.12, but its cubins are of CUDA 13."),
        // A static runtime, or the driver interface only.
        ("none.so", 0, ""),
        // A program tries one name after the other.
        ("two.so", 0, ""),
        ("one.so", 1, "one.so: host-runtime: needs libcudart.so.12, but its cubins are of CUDA 13."),
        ("ptx.so", 2, "ptx.so: undecided: host-runtime: needs libcudart.so.13, and nothing else states a release"),
    ] {
        let run = check(&sandbox, file);
        assert!(run.status == status && run.out.contains(message), "{file}: {} {}", run.status, run.out);
    }
}

#[test]
fn the_wheel_and_its_requirements_are_for_the_release_that_host_code_needs() {
    let sandbox = libraries();
    let metadata = |requirement: &str| {
        let text = format!("Metadata-Version: 2.1\nName: x\nRequires-Dist: {requirement}\n\nText\n");
        ("x-1.dist-info/METADATA", text.into_bytes())
    };
    let library = |name: &str| ("x/lib.so", sandbox.read(name));
    for (name, files, status, message) in [
        ("x-1+cu130-py3-none-any.whl", vec![library("needs13.so")], 0, ""),
        (
            "x-1+cu128-py3-none-any.whl",
            vec![library("ptx.so")],
            1,
            "needs libcudart.so.13, but the wheel is for CUDA 12 (cu128)",
        ),
        ("x_cu12-1-py3-none-any.whl", vec![library("none.so")], 1, ", but the wheel is for CUDA 12 (cu12)"),
        (
            "x-1-py3-none-any.whl",
            vec![library("needs13.so"), metadata("nvidia-cuda-runtime-cu12==12.8.90")],
            1,
            "needs libcudart.so.13, but METADATA requires nvidia-cuda-runtime-cu12",
        ),
        ("x-1-py3-none-any.whl", vec![library("ptx.so"), metadata("nvidia-cuda-runtime~=13.0")], 0, ""),
        // A library of the wheel without device code.
        (
            "y-1+cu130-py3-none-any.whl",
            vec![library("needs13.so"), ("x/host.so", sandbox.read("libcudart.so.12"))],
            0,
            "",
        ),
    ] {
        let run = check(sandbox.file(name, wheel(&files)), name);
        assert!(run.status == status && run.out.contains(message), "{name}: {} {}", run.status, run.out);
    }
}

#[test]
fn requires_prints_the_libraries_of_runtimes() {
    let sandbox = libraries();
    let out = sandbox.fatbin("requires needs12.so").ok();
    assert!(out.contains("\n  Host code needs libcudart.so.12.\n"), "{out}");
    let out = sandbox.fatbin("requires two.so").ok();
    assert!(out.contains("\n  Host code loads by name libcudart.so.12 and libcudart.so.13.\n"), "{out}");
    let document: serde_json::Value = serde_json::from_str(&sandbox.fatbin("requires --json needs12.so").ok()).unwrap();
    crate::schema::check_document(&sandbox, "requires", &document);
    let library = serde_json::json!({
        "name": "libcudart.so.12", "product": "cuda", "major": 12, "loaded_by_name": false
    });
    assert_eq!(document["files"][0]["host_libraries"], serde_json::json!([library]));
}
