//! Code objects in the files of ROCm's libraries: MIOpen's databases and AOTriton's storages.

use crate::Sandbox;
use crate::check::wheel;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer.kdb", "a.kdb");
    sandbox.fixture("answer.aks2", "a.aks2");
    sandbox
}

type Pair = (&'static str, &'static str);

/// Files in each, with the fixture of the image in them.
const FILES: [(&str, &str, [Pair; 2]); 2] = [
    ("a.kdb", "answer.cpp.o#1", [("answer.cpp.o#1", "answer-gfx90a.hsaco"), ("answer.cpp.o#2", "answer-gfx90a.hsaco")]),
    (
        "a.aks2",
        "answer.hsaco",
        [("answer.hsaco", "answer-gfx90a.hsaco"), ("xnack.hsaco", "answer-gfx90a-xnack+.hsaco")],
    ),
];

#[test]
fn code_objects_are_files_with_one_image() {
    let sandbox = sandbox();
    for (file, _, members) in FILES {
        let table = sandbox.fatbin(&format!("scan {file}")).ok();
        let files: Vec<&str> = table.lines().filter(|line| line.contains("device image")).collect();
        let expected = members.map(|(member, fixture)| {
            format!("{file}!{member}: elf, {} bytes, 1 device image", crate::fixture(fixture).len())
        });
        assert_eq!(files, expected, "{table}");
        sandbox.fatbin(&format!("verify {file}")).ok();
        sandbox.fatbin(&format!("extract {file} -o out --name {{member}}")).ok();
        for (member, fixture) in members {
            let written = member.replace('#', "_");
            assert_eq!(sandbox.read(&format!("out/{written}")), crate::fixture(fixture), "{member}");
        }
    }
}

#[test]
fn policies_apply_to_code_objects_also_in_a_wheel() {
    let sandbox = sandbox();
    let files = FILES.map(|(file, ..)| (file, sandbox.read(file)));
    sandbox.file("a.whl", wheel(&files));
    for (policy, status) in [("archs.devices = ['gfx90a:sramecc+:xnack+']", 0), ("archs.devices = ['gfx942']", 1)] {
        sandbox.file("policy.toml", policy);
        for file in ["a.kdb", "a.aks2", "a.whl"] {
            let run = sandbox.fatbin(&format!("check --policy policy.toml {file}"));
            assert_eq!(run.status, status, "{policy} {file}: {}{}", run.out, run.err);
        }
    }
}

#[test]
fn damaged_code_objects_are_errors() {
    let sandbox = sandbox();
    // A byte of the magic of a block of bzip2, of a stored hash, and of an xz stream.
    let kdb = sandbox.read("a.kdb");
    let stream = kdb.windows(4).position(|word| word == b"BZh9").unwrap() + 5;
    let code = crate::fixture("answer-gfx90a.hsaco");
    let stored = kdb.windows(16).position(|word| word == &code[..16]).unwrap() + 8;
    let aks2 = sandbox.read("a.aks2").len() / 2;
    for (file, at) in [("a.kdb", stream), ("a.kdb", stored), ("a.aks2", aks2)] {
        let mut bytes = sandbox.read(file);
        bytes[at] ^= 0x10;
        std::fs::write(sandbox.path(&format!("broken-{file}")), bytes).unwrap();
        let run = sandbox.fatbin(&format!("scan broken-{file}"));
        assert_eq!(run.status, 2, "{file} {at}: {}{}", run.out, run.err);
        assert!(run.err.contains(&format!("broken-{file}")), "{}", run.err);
    }
}

/// Writes a library of solutions, whose kernels have these names.
fn tensile(kernels: &[&str]) -> Vec<u8> {
    let solutions: Vec<_> =
        kernels.iter().enumerate().map(|(index, name)| serde_json::json!({ "name": name, "index": index })).collect();
    rmp_serde::to_vec(&serde_json::json!({ "solutions": solutions, "library": { "type": "Hardware", "rows": [] } }))
        .unwrap()
}

#[test]
fn kernels_of_an_index_are_next_to_it() {
    let code = crate::fixture("answer-gfx90a.hsaco");
    let cut = code[..code.len() / 2].to_vec();
    let missing =
        "lib/T.dat: promised-kernels: 1 of 2 kernels are in no code object of the directory; for example Cijk_missing";
    type Files<'a> = &'a [(&'a str, Vec<u8>)];
    let cases: [(Files<'_>, i32, &str); 7] = [
        (&[("lib/T.dat", tensile(&["answer_kernel"])), ("lib/T.co", code.clone())], 0, ""),
        (&[("lib/T.dat", tensile(&["answer_kernel", "Cijk_missing"])), ("lib/T.co", code.clone())], 1, missing),
        (&[("lib/T.dat", tensile(&["answer_kernel"])), ("other/T.co", code.clone())], 1, "1 of 1 kernels"),
        (
            &[("lib/T.dat", tensile(&["Cijk_missing"])), ("lib/T.co", code.clone()), ("lib/U.co", cut)],
            2,
            "kernels of U.co are not known",
        ),
        (
            &[("lib/T.dat", tensile(&["a"])[..20].to_vec()), ("lib/T.co", code.clone())],
            2,
            "undecided: promised-kernels: Tensile",
        ),
        (
            &[("lib/k.json", b"{}".to_vec()), ("lib/T.co", code.clone())],
            1,
            "policy.toml: promised-kernels: no index of kernels",
        ),
        (
            &[("lib/data.dat", b"text".to_vec()), ("lib/T.co", code.clone())],
            1,
            "policy.toml: promised-kernels: no index of kernels",
        ),
    ];
    for (files, status, message) in cases {
        promised(files, status, message);
    }
}

/// Checks files in a directory and in a wheel by the rule.
fn promised(files: &[(&str, Vec<u8>)], status: i32, message: &str) {
    let sandbox = Sandbox::new();
    sandbox.file("policy.toml", "package.promised-kernels = true\n");
    sandbox.file("a.whl", wheel(files));
    for (name, bytes) in files {
        let path = sandbox.path("d").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    for input in ["a.whl", "d"] {
        let run = sandbox.fatbin(&format!("check --policy policy.toml {input}"));
        assert_eq!(run.status, status, "{message} {input}: {}{}", run.out, run.err);
        assert!(run.out.contains(message), "{message} {input}: {}", run.out);
    }
}

#[test]
fn files_of_a_group_of_triton_are_next_to_it_and_for_its_processor() {
    let code = || ("c/k.hsaco", crate::fixture("answer-gfx90a.hsaco"));
    let cubin = || ("c/k.cubin", crate::fixture("answer-sm_90.cubin"));
    let group = |names: &[&str]| {
        let files: serde_json::Map<_, _> =
            names.iter().map(|name| ((*name).to_owned(), format!("/c/{name}").into())).collect();
        ("c/__grp__k.json", serde_json::json!({ "child_paths": files }).to_string().into_bytes())
    };
    let kernel = |backend: &str, arch: serde_json::Value| {
        let target = serde_json::json!({ "backend": backend, "arch": arch, "warp_size": 32 });
        ("c/k.json", serde_json::json!({ "hash": "ab", "target": target, "name": "k" }).to_string().into_bytes())
    };
    let files = ["k.hsaco", "k.ttir", "k.json"];
    promised(&[group(&files), code(), kernel("hip", "gfx90a".into())], 0, "");
    promised(&[group(&["k.cubin", "k.json"]), cubin(), kernel("cuda", 90.into())], 0, "");
    promised(&[cubin(), kernel("xpu", serde_json::json!({}))], 0, "");
    let other = "c/k.json: promised-kernels: k.hsaco is for gfx90a, and the kernel is described for gfx942";
    promised(&[code(), kernel("hip", "gfx942".into())], 1, other);
    promised(&[cubin(), kernel("cuda", 89.into())], 1, "k.cubin is for sm_90, and the kernel is described for sm_89");
    promised(&[kernel("cuda", 90.into())], 1, "c/k.json: promised-kernels: no file of the directory has code of k");
    promised(&[group(&["k.hsaco", "k.cubin"]), code()], 1, "k.cubin is missing, or has no device code");
    promised(&[group(&files), code()], 1, "k.json is missing, or has no device code");
    let unlisted = "c/k.cubin: promised-kernels: no index of the directory lists this file";
    promised(&[group(&["k.hsaco"]), code(), cubin()], 1, unlisted);
    promised(&[("c/__grp__k.json", b"{".to_vec()), code()], 2, "undecided: promised-kernels: not JSON");
}

#[test]
fn files_of_flashinfer_have_their_hashes() {
    let cubin = crate::fixture("answer-sm_90.cubin");
    // By sha256sum.
    let hash = "3aa63c29cd0e756a265bd649f88e6843288965724c5375cb3b1f07e0421a7dd5";
    let library = crate::fixture("answer-x86_64.so");
    let with = |list: &str, code: &[u8]| {
        [("c/checksums.txt", list.as_bytes().to_vec()), ("c/a.cubin", code.to_vec()), ("c/b.so", library.clone())]
    };
    let lines = format!("{hash}  a.cubin\n{hash}  include/a.h\n");
    promised(&with(&lines, &cubin), 0, "");
    let mut changed = cubin.clone();
    let last = changed.len() - 1;
    changed[last] ^= 1;
    promised(&with(&lines, &changed), 1, "c/checksums.txt: promised-kernels: a.cubin has another SHA-256");
    promised(&with(&lines, b"text"), 1, "a.cubin is missing, or has no device code");
    promised(&with(&format!("{lines}{hash}  sub/b.cubin\n"), &cubin), 1, "sub/b.cubin is missing");
    promised(&with(&format!("{lines}{hash}\n"), &cubin), 2, "line 3 is not a SHA-256 and a name");
    let unlisted = "c/a.cubin: promised-kernels: no index of the directory lists this file";
    promised(&with(&format!("{hash}  b.so\n"), &cubin), 1, unlisted);
}

#[test]
fn measurements_of_miopen_are_named_with_their_processor() {
    let sandbox = Sandbox::new();
    sandbox.file("gfx90a6e.HIP.fdb.txt", "64-56-1x1=ConvAsm1x1U:1.5,0,miopenConvolutionFwdAlgoDirect\n");
    let run = sandbox.fatbin("scan gfx90a6e.HIP.fdb.txt");
    let line = "  records     gfx90a6e.HIP.fdb.txt: MIOpen's measurements for gfx90a, without code\n";
    assert!(run.status == 1 && run.out.contains(line), "{} {}", run.status, run.out);
    let json = sandbox.fatbin("scan --json gfx90a6e.HIP.fdb.txt").out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["files"][0]["signs"], serde_json::json!([{ "kind": "records", "name": "gfx90a" }]));
}
