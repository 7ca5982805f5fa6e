//! `fatbin link`: which programs it calls, and with what. The programs are shell scripts here; linker-tests has the real ones.

use crate::program::write_program;
use crate::{BITCODE, Run, Sandbox};

/// Device linker that prints its name and the arguments that do not name temporary files, and writes a code object.
const DEVICE_LINKER: &str = r#"#!/bin/sh
name=${0##*/}
for word; do
    if [ "$last" = -o ]; then /bin/cp code.hsaco "$word"; fi
    case $word in /*|-o) ;; *) line="$line $word" ;; esac
    last=$word
done
echo "$name:$line"
"#;

/// Host linker that prints its arguments.
const HOST_LINKER: &str = "#!/bin/sh\necho host: \"$@\"\n: > program\n";

/// Returns a directory with an offload binary of bitcode for two AMD processors, a host linker, and a code object for [`DEVICE_LINKER`].
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("a.bc", BITCODE).fixture("answer-gfx90a.hsaco", "code.hsaco");
    let image = |arch: &str| format!("--image file=a.bc,triple=amdgcn-amd-amdhsa,kind=hip,arch={arch}");
    sandbox.fatbin(&format!("pack -o code {} {}", image("gfx90a"), image("gfx942"))).ok();
    program(&sandbox, "host", HOST_LINKER);
    sandbox
}

/// Writes a shell script.
fn program(sandbox: &Sandbox, name: &str, script: &str) {
    let path = sandbox.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    write_program(&path, script).unwrap();
}

/// Runs `fatbin link` with a `PATH` that has no device linkers. The directory `bin` is in it.
fn link(sandbox: &Sandbox, arguments: &str) -> Run {
    let path = std::env::join_paths([sandbox.path("bin").as_path(), "/nonexistent".as_ref()]).unwrap();
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_fatbin"));
    crate::run(command.arg("link").args(arguments.split_whitespace()).env("PATH", path))
}

#[test]
fn a_device_linker_is_that_of_the_option_then_of_rocm_then_in_path() {
    let sandbox = sandbox();
    let first_line = |arguments: &str| {
        let run = link(&sandbox, &format!("{arguments} -- ./host code -o program"));
        assert_eq!((run.status, run.out.lines().count()), (0, 1), "{}", run.err);
        run.err.split(':').next().unwrap().to_owned()
    };
    // Each linker is preferred to those before it.
    program(&sandbox, "bin/ld.lld", DEVICE_LINKER);
    assert_eq!(first_line(""), "ld.lld");
    program(&sandbox, "bin/ld.lld-22", DEVICE_LINKER);
    assert_eq!(first_line("--abi llvm22"), "ld.lld-22");
    let rocm = DEVICE_LINKER.replace("${0##*/}", "rocm");
    program(&sandbox, "rocm/llvm/bin/ld.lld", &rocm);
    assert_eq!(first_line("--rocm-path rocm"), "rocm");
    program(&sandbox, "cuda/bin/nvlink", DEVICE_LINKER);
    program(&sandbox, "cuda/bin/ptxas", DEVICE_LINKER);
    sandbox.fixture("answer-sm_80.ptx", "ptx");
    sandbox.fatbin("pack -o cuda.offload --image file=ptx,kind=openmp").ok();
    let run = link(&sandbox, "--cuda-path cuda -- ./host cuda.offload -o program");
    // The replacement writes an image for another processor, which is refused.
    assert!(run.status == 2 && run.err.starts_with("ptxas: -arch sm_80"), "{}", run.err);
    program(&sandbox, "own", DEVICE_LINKER);
    for target in ["amdgcn", "amdgcn-amd-amdhsa"] {
        assert_eq!(first_line(&format!("--rocm-path rocm --device-link-tool {target}=./own")), "own");
    }
    assert_eq!(first_line("--device-link-tool nvptx64=./own"), "ld.lld-22");
}

#[test]
fn device_linkers_get_their_arguments_and_print_in_the_order_of_the_images() {
    let sandbox = sandbox();
    program(
        &sandbox,
        "bin/ld.lld",
        &DEVICE_LINKER.replace("echo \"", "[ -n \"${line##*gfx90a*}\" ] || /bin/sleep 0.2; echo \""),
    );
    let arguments =
        "--device-linker -one --device-linker amdgcn-amd-amdhsa=-two --device-linker nvptx64-nvidia-cuda=-three";
    for jobs in [1, 2] {
        let run = link(&sandbox, &format!("{arguments} --jobs {jobs} -- ./host code -o program"));
        let line = |arch| format!("ld.lld: --no-undefined -shared -plugin-opt=mcpu={arch} -one -two\n");
        assert_eq!((run.status, run.err), (0, line("gfx90a") + &line("gfx942")));
        assert!(run.out.starts_with("host: ") && run.out.lines().count() == 1, "{}", run.out);
    }
    let run = link(&sandbox, "--jobs 0 -- ./host code -o program");
    assert!(run.status == 2 && run.err.contains("--jobs"), "{}", run.err);
}

#[test]
fn members_of_archives_are_linked_for_processors_that_are_asked_for() {
    let sandbox = sandbox();
    program(&sandbox, "bin/ld.lld", DEVICE_LINKER);
    let image = "--image file=a.bc,triple=amdgcn-amd-amdhsa,kind=hip,arch=gfx1100";
    sandbox.shell(&format!("fatbin pack -o only {image} && ar rc libx.a only")).ok();
    let targets = |arguments: &str| {
        let run = link(&sandbox, &format!("--dry-run {arguments} -o program"));
        assert_eq!(run.status, 0, "{}", run.err);
        let fat_binary = run.err.lines().find(|line| line.contains("fat binary of")).expect("a fat binary").to_owned();
        fat_binary.split("of ").nth(1).unwrap().to_owned()
    };
    assert_eq!(targets("-- ./host code libx.a"), "gfx942, gfx90a");
    assert_eq!(targets("--should-extract gfx1100 -- ./host code libx.a"), "gfx942, gfx90a, gfx1100");
    assert_eq!(targets("-- ./host code --whole-archive libx.a"), "gfx942, gfx90a, gfx1100");
    assert_eq!(targets("-- ./host code -L. -lx --whole-archive -lx"), "gfx942, gfx90a, gfx1100");
}

#[test]
fn libraries_that_only_the_compiler_finds_are_left_to_it() {
    let sandbox = sandbox();
    program(&sandbox, "bin/ld.lld", DEVICE_LINKER);
    let run = link(&sandbox, "-- ./host code -lsomewhere -o program");
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.ends_with("program.hip.image.wrapper.o -lsomewhere -o program\n"), "{}", run.out);
}

#[test]
fn files_between_the_steps_are_kept_on_request_only() {
    let sandbox = sandbox();
    program(&sandbox, "bin/ld.lld", DEVICE_LINKER);
    let before = sandbox.names();
    assert_eq!(link(&sandbox, "-- ./host code -o program").status, 0);
    let after = sandbox.names();
    assert_eq!(after.iter().filter(|name| !before.contains(name)).collect::<Vec<_>>(), ["program"]);
    for run in 0..2 {
        assert_eq!(link(&sandbox, "--save-temps -- ./host code -o program").status, 0, "run {run}");
        let kept: Vec<String> = sandbox.names().into_iter().filter(|name| !after.contains(name)).collect();
        let expected = [
            "code-amdgcn-amd-amdhsa-gfx90a.o",
            "code-amdgcn-amd-amdhsa-gfx942.o",
            "program.amdgcn.gfx90a.img",
            "program.amdgcn.gfx942.img",
            "program.hip.image.wrapper.o",
            "program.hipfb",
        ];
        assert_eq!(kept, expected, "run {run}");
    }
}

#[test]
fn the_host_is_the_machine_of_the_object_that_registers() {
    let sandbox = sandbox();
    program(&sandbox, "bin/ld.lld", DEVICE_LINKER);
    let line = "--save-temps --host aarch64-unknown-linux-gnu -- ./host code -o program";
    assert_eq!(link(&sandbox, line).status, 0);
    let object = sandbox.read("program.hip.image.wrapper.o");
    assert_eq!(u16::from_le_bytes([object[18], object[19]]), object::elf::EM_AARCH64.0);
    let run = link(&sandbox, "--host vax-dec-ultrix -- ./host code -o program");
    assert!(run.status == 2 && run.err.contains("vax-dec-ultrix"), "{}", run.err);
}

#[test]
fn an_image_may_replace_those_in_the_inputs() {
    let sandbox = sandbox();
    let line = "--emit-fatbin-only -- ./host code -o program";
    sandbox.fixture("answer-sm_90.cubin", "cubin").fixture("answer-sm_80.ptx", "ptx").file("text", "text");
    for (image, listed) in [("hip=code.hsaco", "gfx90a  elf"), ("cuda=cubin", "sm_90  elf"), ("cuda=ptx", "sm_80  ptx")]
    {
        assert_eq!(
            link(&sandbox, &format!("--override-image {image} {line}")),
            Run { status: 0, out: String::new(), err: String::new() }
        );
        let table = sandbox.fatbin("scan program").ok();
        assert!(table.contains(listed) && table.contains("1 device image\n"), "{table}");
    }
    for (image, message) in [
        ("hip=text", "fatbin: text: the target of this image is unknown"),
        ("hip=none", "fatbin: none: cannot open"),
        ("host=text", "invalid kind: expected openmp, cuda, hip or sycl"),
        ("text", "is not KIND=FILE"),
    ] {
        let run = link(&sandbox, &format!("--override-image {image} {line}"));
        assert!(run.status == 2 && run.err.contains(message), "{}", run.err);
    }
}

/// An object with the entries of two kernels and a variable, and device code with the first kernel.
fn with_entries(sandbox: &Sandbox) {
    let entries = "--allow-missing-kernels --entry answer_kernel --entry other --entry variable,size=8";
    sandbox.fatbin(&format!("wrap --kind hip {entries} -o entries.o code.hsaco")).ok();
    sandbox.fatbin("pack -o linked --image file=code.hsaco,kind=hip").ok();
}

#[test]
fn kernels_that_no_image_has_are_reported_before_the_program_is_linked() {
    let sandbox = sandbox();
    with_entries(&sandbox);
    let run = |mode: &str| link(&sandbox, &format!("{mode} -- ./host entries.o linked -o program"));
    let warned = run("--check-entries=warn");
    let warning = "fatbin: warning: entries.o: no hip image has kernel other; its launch will fail\n";
    assert_eq!((warned.status, warned.err.as_str()), (0, warning));
    assert_eq!(run("--check-entries=off").err, "");
    std::fs::remove_file(sandbox.path("program")).unwrap();
    for mode in ["", "--check-entries", "--check-entries=error"] {
        let failed = run(mode);
        let error = "fatbin: entries.o: no hip image has kernel other; link the objects that define it\n";
        assert_eq!(failed, Run { status: 2, out: String::new(), err: error.to_owned() });
        assert!(!sandbox.path("program").exists());
    }
    // The kernels of bitcode are unknown.
    let bitcode = "--device-link-tool amdgcn=./copy -- ./host entries.o code -o program";
    program(&sandbox, "copy", &DEVICE_LINKER.replace("code.hsaco", "a.bc"));
    assert!(!link(&sandbox, bitcode).err.contains("warning"));
}

#[test]
fn an_archive_that_contributes_nothing_is_reported() {
    let sandbox = sandbox();
    sandbox.fatbin("pack -o other --image file=a.bc,triple=amdgcn-amd-amdhsa,kind=hip,arch=gfx942").ok();
    sandbox.fatbin("pack -o linked --image file=code.hsaco,kind=hip").ok();
    sandbox.shell("ar rc libx.a other").ok();
    let line = "-- ./host linked libx.a -o program";
    let note = "fatbin: link: libx.a: not linked: no object has code for amdgcn-amd-amdhsa gfx942";
    let run = link(&sandbox, &format!("-v {line}"));
    assert!(run.err.contains(note), "{}", run.err);
    assert_eq!(link(&sandbox, line).err, "");
}

#[test]
fn the_report_names_images_inputs_and_programs() {
    let sandbox = sandbox();
    program(&sandbox, "bin/ld.lld", DEVICE_LINKER);
    with_entries(&sandbox);
    sandbox.shell("cp code lazy && ar rc libx.a lazy").ok();
    let line = "--check-entries=warn -- ./host code libx.a entries.o -o program";
    let run = link(&sandbox, &format!("--report text {line}"));
    let table: Vec<String> =
        run.out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let expected = [
        "program: 2 device images",
        "KIND TRIPLE ARCH LINKER SIZE INPUTS",
        "hip amdgcn-amd-amdhsa gfx90a ld.lld 3456 code libx.a!lazy",
        "hip amdgcn-amd-amdhsa gfx942 ld.lld 3456 code libx.a!lazy",
    ];
    assert_eq!(table, expected, "{}", run.err);
    // The host linker's output does not mix with the report.
    assert!(run.err.contains("host: "), "{}", run.err);
    let run = link(&sandbox, &format!("--report json {line}"));
    let document: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    crate::schema::check_document(&sandbox, "link", &document);
    assert_eq!(document["targets"][0]["inputs"], serde_json::json!(["code", "libx.a!lazy"]));
    assert_eq!(document["missing_kernels"][0]["name"], "other");
    assert_eq!(document["unused_archives"], serde_json::json!([]));
    let states: Vec<String> = document["inputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|input| format!("{} {}", input["path"].as_str().unwrap(), input["state"].as_str().unwrap()))
        .collect();
    assert_eq!(states, ["code linked", "libx.a!lazy linked", "entries.o linked-already"]);
}

#[test]
fn an_output_that_violates_the_policy_is_removed() {
    let sandbox = sandbox();
    program(&sandbox, "host", "#!/bin/sh\nfor last; do :; done\n/bin/cp \"$last\" program\n");
    sandbox.fatbin("pack -o linked --image file=code.hsaco,kind=hip").ok();
    sandbox.file("good.toml", "[archs]\nonly = [\"gfx90a\"]\n");
    sandbox.file("bad.toml", "[archs]\nonly = [\"gfx942\"]\n");
    let run = |policy: &str| link(&sandbox, &format!("--policy {policy} -- ./host first linked -o program"));
    assert_eq!(run("good.toml"), Run { status: 0, out: String::new(), err: String::new() });
    assert!(sandbox.path("program").exists());
    let violated = run("bad.toml");
    assert!(violated.status == 1 && violated.err.contains("gfx942"), "{}", violated.err);
    assert!(!sandbox.path("program").exists());
    let missing = run("none.toml");
    assert!(missing.status == 2 && missing.err.contains("none.toml: cannot open"), "{}", missing.err);
}

#[test]
fn every_failure_is_reported_and_leaves_nothing() {
    let sandbox = sandbox();
    let image = |kind: &str| format!("--image file=a.bc,triple=amdgcn-amd-amdhsa,{kind}");
    sandbox.fatbin(&format!("pack -o unknown {}", image("arch=gfx9999,kind=hip"))).ok();
    sandbox.fatbin(&format!("pack -o kinds {} {}", image("arch=gfx90a,kind=hip"), image("arch=gfx90a,kind=sycl"))).ok();
    sandbox.fatbin("pack -o strange --image file=a.bc,triple=vax-dec-ultrix,arch=x,kind=openmp").ok();
    sandbox.file("none", "");
    program(&sandbox, "fails", "#!/bin/sh\necho first problem; echo second problem >&2; exit 3\n");
    program(&sandbox, "silent", "#!/bin/sh\n");
    program(&sandbox, "empty", "#!/bin/sh\nfor last; do :; done\n: > \"$last\"\n");
    let cases = [
        ("-- ./host code", "code: amdgcn-amd-amdhsa gfx90a needs ld.lld, which was not found; install lld"),
        ("--device-link-tool amdgcn=./none/x -- ./host code", "./none/x: cannot start"),
        (
            "--device-link-tool amdgcn=./fails -- ./host code",
            "first problem\nsecond problem\nfirst problem\nsecond problem\n./fails: failed with exit status 3",
        ),
        ("--device-link-tool amdgcn=./silent -- ./host code", "program.amdgcn.gfx90a.img"),
        (
            "--device-link-tool amdgcn=./empty -- ./host code",
            "code: the linked image for amdgcn-amd-amdhsa gfx90a is empty",
        ),
        ("-- ./host unknown", "unknown: unknown processor \"gfx9999\""),
        ("-- ./host kinds", "SYCL images for amdgcn-amd-amdhsa gfx90a cannot be linked with"),
        ("-- ./host strange", "strange: device images for vax-dec-ultrix cannot be linked"),
        ("--emit-fatbin-only -- ./host none", "no device images in the inputs"),
        ("-- ./missing none", "./missing: cannot start"),
    ];
    let before = sandbox.names();
    for (arguments, message) in cases {
        let run = link(&sandbox, &format!("{arguments} -o program"));
        assert_eq!((run.status, run.out.as_str()), (2, ""), "{arguments}: {}", run.err);
        let err = run.err.replace("fatbin: ", "");
        assert!(err.contains(message), "{arguments}: {err}");
        assert_eq!(err.lines().count(), message.lines().count(), "{arguments}: {err}");
        assert_eq!(sandbox.names(), before, "{arguments}");
    }
    let run = link(&sandbox, "--device-link-tool amdgcn -- ./host code");
    assert!(run.status == 2 && run.err.contains("--device-link-tool amdgcn: is not TARGET=PATH"), "{}", run.err);
}
