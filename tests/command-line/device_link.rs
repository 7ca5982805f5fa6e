//! Relocatable CUDA code: programs as nvcc links them, made by the assembler of the C compiler. The answers about the
//! H100 come from real programs of nvcc 13.0, with driver 580.159.04.

use serde_json::Value;

use crate::{Run, Sandbox};

/// A container of relocatable code: the name of its source, and its images.
type Input<'a> = (&'a str, &'a str);

/// Source of NVIDIA's device runtime, as module names contain it.
const DEVICE_RUNTIME: &str = "cuda_device_runtime_cu";

/// Offset of the number of the architecture in a cubin.
const CUBIN_ARCH: usize = 0x31;

/// A CUDA fat binary without images.
const EMPTY: [u8; 16] = [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Writes a fat binary of images such as `sm_80` and `sm_80.ptx`, or `sm_80.func` for PTX without kernels; an empty one
/// without any.
fn fatbin(sandbox: &Sandbox, name: &str, images: &str) {
    let mut files = String::new();
    for (index, image) in images.split_whitespace().enumerate() {
        let (arch, extension) = image.split_once('.').unwrap_or((image, "cubin"));
        let file = format!("{name}-{index}.{}", if extension == "func" { "ptx" } else { extension });
        let bytes = match extension {
            "func" => {
                let header = format!(".version 7.0\n.target {arch}\n.address_size 64\n");
                (header + ".visible .func part() { ret; }\n").into_bytes()
            }
            "ptx" => String::from_utf8(crate::fixture("answer-sm_80.ptx")).unwrap().replace("sm_80", arch).into_bytes(),
            _ => {
                let mut cubin = crate::fixture("answer-sm_90.cubin");
                cubin[CUBIN_ARCH] = arch.strip_prefix("sm_").unwrap().parse().unwrap();
                cubin
            }
        };
        sandbox.file(&file, bytes);
        files += &format!(" {file}");
    }
    if files.is_empty() {
        sandbox.file(name, EMPTY);
    } else {
        sandbox.fatbin(&format!("pack --kind cuda -o {name}{files}")).ok();
    }
}

/// Returns the assembly of device links. Each link has the images of its linked code and its inputs. `modules` adds the
/// names of modules.
fn assembly(sandbox: &Sandbox, links: &[(&str, &[Input<'_>])], modules: bool) -> String {
    let (mut code, mut wrappers, mut names, mut definitions) = Default::default();
    let add = |text: &mut String, line: String| *text += &(line + "\n");
    for (number, (linked, inputs)) in links.iter().enumerate() {
        fatbin(sandbox, &format!("linked{number}"), linked);
        add(&mut code, format!(".section .nv_fatbin,\"a\"\n.p2align 3\nlinked{number}: .incbin \"linked{number}\""));
        for (index, (source, images)) in inputs.iter().enumerate() {
            let file = format!("input{number}_{index}");
            fatbin(sandbox, &file, images);
            add(&mut code, format!(".section __nv_relfatbin,\"a\"\n.p2align 3\n{file}: .incbin \"{file}\""));
            add(&mut wrappers, format!(".long 0x466243b1, 1\n.quad {file}, 0"));
            let module = format!("_0123abcd_{}_{source}_{number}{index}", source.len());
            add(&mut names, format!(".asciz \"{module}\""));
            add(&mut definitions, format!(".asciz \"def {module}\""));
        }
        add(&mut wrappers, format!(".long 0x466243b1, 2\n.quad linked{number}, prelinked{number}"));
        add(&mut code, format!(".bss\n.p2align 3\nprelinked{number}: .skip {}", 8 * (inputs.len() + 1)));
        names += &std::mem::take(&mut definitions);
    }
    let names = if modules { format!(".section __nv_module_id,\"a\"\n{names}") } else { String::new() };
    format!("{code}.section .nvFatBinSegment,\"aw\"\n.p2align 3\n{wrappers}{names}")
}

/// Links a library with one device link.
fn library(sandbox: &Sandbox, linked: &str, inputs: &[Input<'_>]) {
    links(sandbox, &[(linked, inputs)], true);
}

fn links(sandbox: &Sandbox, links: &[(&str, &[Input<'_>])], modules: bool) {
    sandbox.file("lib.s", assembly(sandbox, links, modules));
    sandbox.shell("cc -shared -nostdlib -o lib.so lib.s && cc -c -o lib.o lib.s").ok();
}

fn json(sandbox: &Sandbox, arguments: &str) -> Value {
    serde_json::from_str(&sandbox.fatbin(arguments).out).unwrap()
}

/// Returns the answers of all choices that concern the device, each with the images that are loaded.
fn answers(sandbox: &Sandbox, device: &str) -> Vec<String> {
    let document = json(sandbox, &format!("select --json --device {device} lib.so"));
    let choices = document["files"][0]["choices"].as_array().unwrap().iter();
    let choices = choices.filter(|choice| choice["concerned"] == true);
    let answer = |choice: &Value| {
        let answer = &choice["answers"][0];
        let images = answer["images"].as_array().unwrap().iter().filter(|image| image["chosen"] == true);
        let images: Vec<String> = images.map(|image| image["index"].to_string()).collect();
        let linked = if answer["linked"] == true { "linked " } else { "" };
        format!("{linked}{} {}", answer["answer"].as_str().unwrap(), images.join(" ")).trim_end().to_owned()
    };
    choices.map(answer).collect()
}

#[test]
fn the_driver_links_what_linked_code_does_not_serve() {
    // Linked code, the inputs, and the answer on an H100.
    let rows: [(&str, &[Input<'_>], &str); 14] = [
        // A kernel calls the function of the other input.
        ("sm_80", &[("a_cu", "sm_80 sm_80.ptx"), ("b_cu", "sm_80 sm_80.func")], "linked jit-ptx 2 4"),
        ("sm_80", &[("a_cu", "sm_80 sm_80.ptx"), ("b_cu", "sm_80 sm_80.ptx")], "linked jit-ptx 2 4"),
        ("", &[("a_cu", "sm_80.ptx"), ("b_cu", "sm_80.ptx")], "linked jit-ptx 0 1"),
        ("sm_80", &[("a_cu", "sm_80 sm_90"), ("b_cu", "sm_80 sm_80.ptx")], "linked jit-ptx 2 4"),
        ("sm_80", &[("a_cu", "sm_80 sm_90"), ("b_cu", "sm_80 sm_90")], "linked jit-link 2 4"),
        ("sm_80", &[("a_cu", "sm_80 sm_75.ptx"), ("b_cu", "sm_80 sm_86.ptx")], "linked jit-ptx 2 4"),
        ("sm_80", &[("a_cu", "sm_80 sm_86.ptx sm_80.ptx"), ("b_cu", "sm_80 sm_75.ptx")], "linked jit-ptx 2 5"),
        ("sm_90", &[("a_cu", "sm_90 sm_80.ptx"), ("b_cu", "sm_90 sm_80.ptx")], "native 0"),
        ("sm_80", &[("a_cu", "sm_80 sm_80.ptx"), ("b_cu", "sm_80")], "nothing"),
        ("sm_80", &[("a_cu", "sm_80"), ("b_cu", "sm_80")], "nothing"),
        ("sm_80", &[("a_cu", "sm_80 sm_120.ptx"), ("b_cu", "sm_80 sm_80.ptx")], "nothing"),
        ("sm_80", &[("a_cu", "sm_80 sm_80.ptx"), (DEVICE_RUNTIME, "sm_75 sm_90 sm_121.ptx")], "linked jit-ptx 2 4"),
        // The device runtime of CUDA 13 has nothing for some devices that the rest of the link is for.
        ("", &[("a_cu", "sm_80.ptx"), (DEVICE_RUNTIME, "sm_75 sm_121.ptx")], "linked jit-ptx 0"),
        ("sm_80", &[("a_cu", "sm_80"), (DEVICE_RUNTIME, "sm_75 sm_90 sm_121.ptx")], "nothing"),
    ];
    for (linked, inputs, expected) in rows {
        let sandbox = Sandbox::new();
        library(&sandbox, linked, inputs);
        assert_eq!(answers(&sandbox, "sm_90"), [expected], "{linked:?} {inputs:?}");
        let status = sandbox.fatbin("select --device sm_90 lib.so").status;
        assert_eq!(status, i32::from(expected == "nothing"), "{linked:?} {inputs:?}");
        sandbox.file("policy.toml", "[archs]\ndevices = [\"sm_90\"]\nptx-fallback = \"compute_75\"\n");
        let Run { status, out, err } = sandbox.fatbin("check --policy policy.toml lib.so");
        assert_eq!(status, i32::from(expected == "nothing"), "{linked:?} {inputs:?} {out}{err}");
    }
}

#[test]
fn the_answer_names_the_container_without_code() {
    let sandbox = Sandbox::new();
    library(&sandbox, "sm_80", &[("a_cu", "sm_80 sm_80.ptx"), ("b_cu", "sm_80")]);
    let text = sandbox.fatbin("select --device sm_90 lib.so").out;
    let row = text.lines().find(|line| line.contains("cannot be linked")).unwrap_or_default();
    assert!(row.trim_start().starts_with("2 ") && row.ends_with(" (b_cu) has no code for this device"), "{text}");
}

/// The program of a release gate: dynamic parallelism, for sm_90 alone.
const FOR_SM_90: (&str, &[Input<'_>]) =
    ("sm_90", &[("a_cu", "sm_90"), (DEVICE_RUNTIME, "sm_75 sm_80 sm_90 sm_120 sm_121.ptx")]);

#[test]
fn the_device_runtime_is_not_code_of_the_program() {
    let sandbox = Sandbox::new();
    library(&sandbox, FOR_SM_90.0, FOR_SM_90.1);
    for (policy, expected) in [
        ("devices = [\"sm_75\"]", 1),
        ("devices = [\"sm_80\"]", 1),
        ("devices = [\"sm_120\"]", 1),
        ("devices = [\"sm_90\"]", 0),
        ("require = [\"sm_120\"]", 1),
        ("require = [\"sm_90\"]", 0),
        ("only = [\"sm_90\"]", 0),
        ("forbid = [\"sm_120\"]", 0),
    ] {
        sandbox.file("policy.toml", format!("[archs]\n{policy}\n"));
        assert_eq!(sandbox.fatbin("check --policy policy.toml lib.so").status, expected, "{policy}");
    }
    let variant = &json(&sandbox, "metadata --format json lib.so")["backends"][0];
    assert_eq!(variant["machine_code"], serde_json::json!(["sm_90"]), "{variant}");
    assert_eq!(variant["forward_compatible"], false, "{variant}");
    let matrix = &json(&sandbox, "inspect --matrix --json lib.so")["matrix"];
    assert_eq!(matrix["devices"], serde_json::json!(["sm_90"]), "{matrix}");
    let sizes = sandbox.fatbin("size --by arch lib.so").out;
    assert!(sizes.contains(" sm_90\n") && sizes.contains(" sm_120 relocatable\n"), "{sizes}");
    let run = sandbox.fatbin("prune --device sm_120 -o out lib.so");
    let expected = "fatbin: lib.so: no image runs on sm_120; there is code for sm_90; no output was written\n";
    assert_eq!((run.status, run.err.as_str()), (1, expected));
}

#[test]
fn relocatable_code_that_nothing_registers_is_not_code_of_a_library() {
    let sandbox = Sandbox::new();
    fatbin(&sandbox, "a", "sm_90");
    fatbin(&sandbox, "b", "sm_120");
    let text = ".section .nv_fatbin,\"a\"\n.incbin \"a\"\n.section __nv_relfatbin,\"a\"\n.p2align 3\n.incbin \"b\"\n";
    sandbox.file("x.s", text).shell("cc -shared -nostdlib -o lib.so x.s").ok();
    sandbox.file("policy.toml", "[archs]\ndevices = [\"sm_120\"]\n");
    let run = sandbox.fatbin("check --policy policy.toml lib.so");
    assert_eq!(run.status, 1);
    let expected = "lib.so: devices: no code that runs on sm_120; available: sm_90, sm_120 (unlinked)\n";
    assert!(run.out.contains(expected), "{}", run.out);
    assert_eq!(answers(&sandbox, "sm_120"), ["nothing"]);
}

#[test]
fn a_link_counts_where_all_of_it_runs() {
    let sandbox = Sandbox::new();
    library(&sandbox, "", &[("a_cu", "sm_80.ptx"), ("b_cu", "sm_80.ptx"), (DEVICE_RUNTIME, "sm_75 sm_80 sm_121.ptx")]);
    let text = sandbox.fatbin("requires lib.so").out;
    assert!(text.starts_with("lib.so: 2 images: ") && text.contains("sm_80"), "{text}");
    let conda = sandbox.fatbin("metadata --format conda lib.so").out;
    assert!(conda.contains("__cuda_arch >=8.0\""), "{conda}");
    let variant = &json(&sandbox, "metadata --format json lib.so")["backends"][0];
    assert_eq!((&variant["machine_code"], &variant["forward_compatible"]), (&serde_json::json!([]), &true.into()));
    let matrix = sandbox.fatbin("inspect --matrix lib.so --device sm_90,sm_75").out;
    let lines: Vec<&str> = matrix.lines().filter(|line| line.contains(" sm_")).collect();
    assert!(
        lines.iter().any(|line| line.split_whitespace().eq(["H100", "sm_90", "0", "0", "1", "0", "0", "0"])),
        "{matrix}"
    );
    assert!(
        lines.iter().any(|line| line.split_whitespace().eq(["T4", "sm_75", "0", "0", "0", "1", "0", "0"])),
        "{matrix}"
    );
}

#[test]
fn a_device_counts_that_a_link_of_machine_code_and_ptx_serves() {
    let sandbox = Sandbox::new();
    library(&sandbox, "sm_75", &[("a_cu", "sm_75 sm_90"), ("b_cu", "sm_75 sm_80.ptx")]);
    assert_eq!(answers(&sandbox, "sm_90"), ["linked jit-ptx 2 4"]);
    let conda = sandbox.fatbin("metadata --format conda lib.so").out;
    assert!(conda.contains("__cuda_arch ==7.5|==9.0") || conda.contains("9.0"), "{conda}");
    let claims = |fallback: &str| format!("[archs]\nrequire = [\"sm_90\"]\n{fallback}");
    sandbox.file("strict.toml", claims("")).file("ptx.toml", claims("ptx-fallback = \"compute_80\"\n"));
    sandbox.file("later.toml", claims("ptx-fallback = \"compute_90\"\n"));
    sandbox.fatbin("check --policy ptx.toml lib.so").ok();
    for policy in ["strict", "later"] {
        let run = sandbox.fatbin(&format!("check --policy {policy}.toml lib.so"));
        assert_eq!(run.status, 1, "{policy}: {}", run.out);
    }
}

#[test]
fn relocatable_code_of_an_object_is_to_be_linked_first() {
    let sandbox = Sandbox::new();
    library(&sandbox, "", &[("a_cu", "sm_90 sm_80.ptx")]);
    let answer = "lib.o: relocatable code for sm_80 ptx, sm_90, to be linked first\n";
    let run = sandbox.fatbin_with_answer("select --device sm_90 lib.o");
    assert_eq!((run.status, run.out.as_str(), run.err), (1, answer, format!("fatbin: {answer}")));
    let run = sandbox.fatbin_with_answer("requires lib.o");
    assert_eq!(
        (run.out.as_str(), run.err.as_str()),
        (answer, "fatbin: lib.o: nothing that a driver or runtime loads\n")
    );
    sandbox.shell("ar rc lib.a lib.o").ok();
    assert!(sandbox.fatbin("select --device sm_90 lib.a").out.contains("to be linked first"));
    let matrix = sandbox.fatbin("inspect --matrix lib.o").out;
    assert!(matrix.contains("TO BE LINKED") && matrix.contains("\n  to be linked on sm_80, sm_90\n"), "{matrix}");
    // An object counts as code for every device that its linker can build code for.
    sandbox.file("policy.toml", "[archs]\nrequire = [\"sm_90\"]\n");
    sandbox.fatbin("check --policy policy.toml lib.o").ok();
    sandbox.fatbin("prune --device sm_90 -o out.o lib.o").ok();
    assert!(sandbox.fatbin("scan out.o").out.contains("sm_90"));
}

#[test]
fn module_names_separate_the_links_of_a_library() {
    let both: [(&str, &[Input<'_>]); 2] =
        [("sm_80", &[("a_cu", "sm_80 sm_80.ptx"), ("b_cu", "sm_80 sm_80.ptx")]), ("sm_80", &[("c_cu", "sm_80")])];
    let sandbox = Sandbox::new();
    links(&sandbox, &both, true);
    assert_eq!(answers(&sandbox, "sm_90"), ["linked jit-ptx 3 5", "nothing"]);
    // Without names, each input may be one of either link.
    links(&sandbox, &both, false);
    assert_eq!(answers(&sandbox, "sm_90"), ["nothing", "nothing"]);
    assert_eq!(answers(&sandbox, "sm_80"), ["native 0", "native 1"]);
}

#[test]
fn links_are_found_in_stripped_files_and_renamed_sections() {
    let sandbox = Sandbox::new();
    library(&sandbox, "sm_80", &[("a_cu", "sm_80 sm_80.ptx"), ("b_cu", "sm_80 sm_80.ptx")]);
    for change in ["strip lib.so", "objcopy --rename-section __nv_relfatbin=.moved lib.so"] {
        sandbox.shell(change).ok();
        assert_eq!(answers(&sandbox, "sm_90"), ["linked jit-ptx 2 4"], "{change}");
    }
}

#[test]
fn pruning_drops_relocatable_code_and_reports_the_devices_that_need_it() {
    let sandbox = Sandbox::new();
    library(&sandbox, "sm_80", &[("a_cu", "sm_80 sm_80.ptx"), ("b_cu", "sm_80 sm_80.ptx")]);
    let run = sandbox.fatbin("prune --relocatable -o out.so lib.so");
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.err.contains("sm_90") && !run.err.contains("sm_86"), "{}", run.err);
    let is_report = run.err.starts_with("fatbin: warning: lib.so: ");
    assert!(is_report && run.err.ends_with(", later devices lose 2 images\n"), "{}", run.err);
    assert_eq!(sandbox.fatbin("scan out.so").out.matches(" sm_80 ").count(), 1);
    for (device, status) in [("sm_80", 0), ("sm_86", 0), ("sm_90", 1)] {
        assert_eq!(sandbox.fatbin(&format!("select --device {device} out.so")).status, status, "{device}");
    }
    sandbox.fatbin("verify out.so").ok();
    // By default, relocatable code for the wanted devices stays.
    sandbox.fatbin("prune --device sm_80 -o out.so lib.so").ok();
    assert_eq!(sandbox.fatbin("scan out.so").out.matches(" sm_80 ").count(), 5);
    sandbox.fatbin("prune --device sm_80 --relocatable -o out.so lib.so").ok();
    assert_eq!(sandbox.fatbin("scan out.so").out.matches(" sm_80 ").count(), 1);
    // What is not linked yet stays, and so does a program that consists of relocatable code.
    let run = sandbox.fatbin("prune --relocatable -o out.o lib.o");
    let warning = "fatbin: warning: lib.o: no relocatable code is left in a program or library\n";
    assert_eq!((run.status, run.err.as_str()), (0, warning));
    library(&sandbox, "", &[("a_cu", "sm_80.ptx"), ("b_cu", "sm_80.ptx")]);
    assert_eq!(sandbox.fatbin("prune --relocatable -o out.so lib.so").status, 1);
}

#[test]
fn containers_without_kernels_need_no_device() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_80.ptx", "k.ptx");
    sandbox.file("none.ptx", ".version 7.0\n.target sm_120\n.address_size 64\n.global .u32 x;\n");
    sandbox.fatbin("pack --kind cuda -o a k.ptx").ok();
    sandbox.fatbin("pack --kind cuda -o b none.ptx").ok();
    sandbox.file("x.s", ".section .nv_fatbin,\"a\"\n.incbin \"a\"\n.p2align 3\n.incbin \"b\"\n");
    sandbox.shell("cc -shared -nostdlib -o lib.so x.s").ok();
    let run = sandbox.fatbin("select --device sm_90 lib.so");
    assert_eq!(run.status, 0, "{}", run.out);
    assert!(run.out.contains("1 choice: compiled from PTX") && !run.out.contains("nothing in"), "{}", run.out);
    // One with a kernel does.
    sandbox.file(
        "none.ptx",
        ".version 7.0\n.target sm_120\n.address_size 64\n.visible .entry other() { bar.sync 0; ret; }\n",
    );
    sandbox.fatbin("pack --kind cuda -o b none.ptx").ok();
    sandbox.shell("cc -shared -nostdlib -o lib.so x.s").ok();
    assert_eq!(sandbox.fatbin("select --device sm_90 lib.so").status, 1);
}

#[test]
fn a_row_explains_the_first_line_of_requires() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "k.cubin");
    sandbox.file("k.ptx", ".version 9.5\n.target sm_90\n.address_size 64\n.visible .entry k() { bar.sync 0; ret; }\n");
    sandbox.fatbin("pack --kind cuda -o a k.cubin k.ptx").ok();
    let run = sandbox.fatbin("requires a");
    let text = run.ok();
    assert!(text.starts_with("a: 2 images: CUDA 13.0 (driver 580.65.06)\n"), "{text}");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    for row in [
        "CUDA 13.0 (driver 580.65.06) best image cubin of CUDA 13.5 (image 0) sm_90",
        "CUDA 13.5 all images PTX ISA 9.5 (image 1) all",
        "On H100 (sm_90): driver 580.65.06 (CUDA 13.0) or newer.",
        "For all images: CUDA 13.5 or newer.",
    ] {
        assert!(rows.contains(&row.split(' ').collect()), "{row}: {text}");
    }
    // Metadata states what the first line states.
    let conda = sandbox.fatbin("metadata --format conda a").ok();
    assert!(conda.contains("\"__cuda >=13.0\""), "{conda}");
}
