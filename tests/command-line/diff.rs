//! `fatbin diff`: changes of a library from one build to the next.

use serde_json::Value;

use crate::{Run, Sandbox, fixture};

/// Returns a directory per build with a library that contains these images.
fn builds(old: &[&[u8]], new: &[&[u8]]) -> Sandbox {
    let sandbox = Sandbox::new();
    for (folder, images) in [("old", old), ("new", new)] {
        std::fs::create_dir(sandbox.path(folder)).unwrap();
        library(&sandbox, &format!("{folder}/lib.so"), images);
    }
    sandbox
}

fn library(sandbox: &Sandbox, path: &str, images: &[&[u8]]) {
    let mut names = String::new();
    for (number, image) in images.iter().enumerate() {
        sandbox.file(&format!("image-{number}"), image);
        names += &format!(" image-{number}");
    }
    sandbox.fatbin(&format!("wrap --kind openmp -o {path}{names}")).ok();
}

fn gfx90a() -> Vec<u8> {
    fixture("answer-gfx90a.hsaco")
}

/// Returns the code object with a stated kernel size of more than its 32 bytes.
fn grown() -> Vec<u8> {
    let mut image = gfx90a();
    let size = |image: &[u8], at: usize| u64::from_le_bytes(image[at..at + 8].try_into().unwrap());
    // The size of the only global function in the only symbol table.
    let places: Vec<usize> =
        (16..image.len() - 8).filter(|&at| size(&image, at) == 32 && image[at - 12] == 0x12).collect();
    assert_eq!(places.len(), 1);
    image[places[0]] = 96;
    image
}

fn differs(run: Run) -> String {
    assert_eq!((run.status, run.err.as_str()), (1, ""), "{}", run.out);
    run.out
}

#[test]
fn equal_builds_do_not_differ_by_name_or_form() {
    let sandbox = builds(&[&gfx90a()], &[&gfx90a()]);
    sandbox.fatbin("lock old -o old.lock").ok();
    sandbox.fatbin("lock new/lib.so --code-only -o code.lock").ok();
    std::fs::copy(sandbox.path("new/lib.so"), sandbox.path("another")).unwrap();
    let sides =
        ["old new", "old/lib.so another", "old.lock new", "old.lock new/lib.so", "new old.lock", "old code.lock"];
    for sides in sides {
        let out = sandbox.fatbin(&format!("diff {sides}")).ok();
        assert!(out.starts_with("device code is identical\n"), "{sides}: {out}");
    }
}

#[test]
fn each_side_may_be_standard_input() {
    let sandbox = builds(&[&gfx90a()], &[&gfx90a()]);
    sandbox.fatbin("lock old/lib.so -o old.lock").ok();
    sandbox.file("policy.toml", "");
    for command in [
        "fatbin diff - new/lib.so < old.lock",
        "cat old.lock | fatbin diff - new/lib.so",
        "fatbin diff old.lock - < new/lib.so",
        "fatbin diff - new/lib.so < old/lib.so",
        "fatbin diff - - < old.lock",
        "fatbin diff - - < old/lib.so",
        "fatbin check --policy policy.toml --baseline - new/lib.so --format markdown < old.lock",
    ] {
        let run = sandbox.shell(command);
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{command}: {}", run.out);
    }
}

#[test]
fn distinguishes_an_added_arch_from_debug_information() {
    let sandbox = builds(&[&gfx90a()], &[&fixture("answer-gfx90a-debug.hsaco"), &fixture("answer-sm_90.cubin")]);
    let sizes = ["old", "new"].map(|it| sandbox.read(&format!("{it}/lib.so")).len() as i64);
    let (old, new, grown) = (sizes[0], sizes[1], sizes[1] - sizes[0]);
    let percent = 100.0 * grown as f64 / old as f64;
    let expected = format!(
        "\
device code differs
  device code: 3456 -> 8528 bytes (+5072, +146.8 %), 1 -> 2 images, 1 -> 2 kernels
  stored: 3600 -> 8816 bytes (+5216, +144.9 %)
  archs added: sm_90
lib.so: {old} -> {new} bytes (+{grown}, +{percent:.1} %)
  ARCH    KIND    IMAGE   OLD   NEW  CHANGE  DETAILS
  sm_90   openmp  elf       -  3312   +3312  added: 1 kernel
  gfx90a  openmp  elf    3456  5216   +1760  same code, other debug information: none -> full
"
    );
    assert_eq!(differs(sandbox.fatbin("diff old new")), expected);
}

#[test]
fn names_a_kernel_that_grew_from_files_and_from_locks() {
    let sandbox = builds(&[&gfx90a(), &fixture("answer-sm_90.cubin")], &[&grown()]);
    let out = differs(sandbox.fatbin("diff old new"));
    let size = |it: &str| sandbox.read(&format!("{it}/lib.so")).len();
    let kernel =
        "  ARCH    OLD  NEW  CHANGE  DETAILS       KERNEL\n  gfx90a   32   96     +64  code differs  answer_kernel\n";
    assert!(out.ends_with(kernel), "{out}");
    assert!(out.contains("\n  archs removed: sm_90\n"), "{out}");
    assert!(out.contains("  sm_90   openmp  elf    3312     -   -3312  removed: 1 kernel\n"), "{out}");
    assert!(out.contains(&format!("\nlib.so: {} -> {} bytes", size("old"), size("new"))), "{out}");
    sandbox.fatbin("lock old -o old.lock").ok();
    sandbox.fatbin("lock new/lib.so -o new.lock").ok();
    let of_locks = differs(sandbox.fatbin("diff old.lock new.lock"));
    assert_eq!(of_locks.replace("new/lib.so (was old/lib.so)", "lib.so"), out);
}

#[test]
fn prints_one_row_for_a_kernel_that_grew_on_every_arch() {
    let sandbox = Sandbox::new();
    let lock = |extra: u64| {
        let mut text = "fatbin.lock/2\nfile a.so\n".to_owned();
        for arch in ["sm_80", "sm_90", "sm_100"] {
            text += &format!("unit image=elf\nimage {arch}\n");
            let registers = if arch == "sm_100" { 32 + extra } else { 32 };
            text += &format!("  kernel large code_size={} registers={registers}\n", 1000 + extra * 100);
            (0..19).for_each(|k| text += &format!("  kernel k{k:02} code_size={}\n", 100 + extra * (k + 1)));
        }
        text
    };
    let out = differs(sandbox.file("a", lock(0)).file("b", lock(1)).fatbin("diff a b"));
    let large = "sm_80, sm_90, sm_100  3000  3300    +300  registers 32 -> 32..33  large\n";
    assert!(out.contains(large), "{out}");
    let all = differs(sandbox.fatbin("diff --all a b"));
    assert!(all.contains("  sm_80, sm_90: code differs; sm_100: registers 32 -> 33  large\n"), "{all}");
    assert!(out.contains("  sm_80, sm_90, sm_100   300   303      +3  code differs "), "{out}");
    assert!(!out.contains("more kernel"), "20 kernels fit, whatever number of archs: {out}");
}

#[test]
fn compares_only_code_with_code_only() {
    let sandbox = builds(&[&gfx90a()], &[&fixture("answer-gfx90a-debug.hsaco")]);
    differs(sandbox.fatbin("diff old new"));
    sandbox.fatbin("diff --code-only old new").ok();
    library(&sandbox, "new/lib.so", &[&grown()]);
    differs(sandbox.fatbin("diff --code-only old new"));
}

#[test]
fn reports_lost_compression_as_a_storage_difference() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    sandbox.fatbin("pack --compress -o old a").ok();
    sandbox.fatbin("pack --format-version 3 -o new a").ok();
    let out = differs(sandbox.fatbin("diff old new"));
    assert!(out.contains("only storage differs, zstd -> uncompressed"), "{out}");
    assert_eq!(sandbox.fatbin("diff --max-growth 5% old new").status, 1, "stored, it grew");
    sandbox.fatbin("diff --code-only old new").ok();
}

#[test]
fn growth_limit_decides_the_exit_status() {
    let sandbox = builds(&[&gfx90a()], &[&gfx90a(), &fixture("answer-sm_90.cubin")]);
    let status = |limits: &str| sandbox.fatbin(&format!("diff old new {limits}")).status;
    let cases = [
        ("--max-growth 10M", 0),
        ("--max-growth 3456", 0),
        ("--max-growth 3455", 1),
        ("--max-growth 5%", 1),
        ("--max-growth 500%", 0),
        ("--max-growth gfx90a=0%", 0),
        ("--max-growth sm_90=500%", 1),
        ("--max-growth gfx90a=0 --max-growth sm_90=1K", 1),
        ("--max-growth gfx942=5%", 2),
        ("--max-growth five", 2),
    ];
    for (limits, expected) in cases {
        assert_eq!(status(limits), expected, "{limits}");
    }
    let out = differs(sandbox.fatbin("diff --max-growth 5% old new"));
    assert!(out.contains("  growth limit 5 %: EXCEEDED, +3312, +95.8 %\n"), "{out}");
    let run = sandbox.fatbin("diff --max-growth gfx942=5% old new");
    assert_eq!(run.err, "fatbin: no code for gfx942 in OLD or NEW; cannot check its growth\n");
    sandbox.fatbin("lock --code-only old -o code.lock").ok();
    let run = sandbox.fatbin("diff --max-growth 5% code.lock new");
    assert_eq!((run.status, run.out.as_str()), (2, ""));
    assert_eq!(run.err, "fatbin: OLD records no sizes; --max-growth needs them\n");
}

#[test]
fn json_follows_its_schema() {
    let sandbox = builds(&[&gfx90a()], &[&grown(), &fixture("answer-sm_90.cubin")]);
    let run = sandbox.fatbin("diff --json --max-growth 5% old new");
    assert_eq!(run.status, 1);
    let document: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((&document["schema"], &document["equal"]), (&"fatbin.diff/1".into(), &false.into()));
    assert_eq!(document["added_archs"], serde_json::json!(["sm_90"]));
    assert_eq!(document["budgets"][0]["exceeded"], true);
    assert_eq!((&document["old"]["size"], &document["new"]["kernels"]), (&3456.into(), &2.into()));
    let file = &document["files"][0];
    assert_eq!((&file["path"], &file["change"]), (&"lib.so".into(), &"changed".into()));
    let changes = |index: usize| (file["targets"][index]["arch"].clone(), file["targets"][index]["change"].clone());
    assert_eq!([changes(0), changes(1)], [("sm_90".into(), "added".into()), ("gfx90a".into(), "code".into())]);
    let kernel = &file["targets"][1]["kernels"][0];
    assert_eq!((&kernel["name"], &kernel["change"]), (&"answer_kernel".into(), &"changed".into()));
    assert_eq!((&kernel["old"]["code_size"], &kernel["new"]["code_size"]), (&32.into(), &96.into()));
}

#[test]
fn pairs_members_of_two_versions_of_a_wheel() {
    let sandbox = Sandbox::new();
    for (version, image) in [("1.0", gfx90a()), ("1.1", grown())] {
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for folder in ["x", &format!("x-{version}.data/purelib")] {
            writer.start_file(format!("{folder}/x.hsaco"), zip::write::SimpleFileOptions::default()).unwrap();
            std::io::Write::write_all(&mut writer, &image).unwrap();
        }
        sandbox.file(&format!("x-{version}-cp312-cp312-linux_x86_64.whl"), writer.finish().unwrap().into_inner());
    }
    let [old, new] = ["1.0", "1.1"].map(|version| format!("x-{version}-cp312-cp312-linux_x86_64.whl"));
    sandbox.fatbin(&format!("lock {old} -o old.lock")).ok();
    for old in [old.as_str(), "old.lock"] {
        let out = differs(sandbox.fatbin(&format!("diff {old} {new}")));
        assert_eq!(out.matches("  gfx90a   32   96     +64  code differs  answer_kernel\n").count(), 2, "{out}");
        assert!(!out.contains("added") && !out.contains("removed"), "{out}");
    }
}

#[test]
fn reports_errors_apart_from_differences() {
    let sandbox = builds(&[&gfx90a()], &[&gfx90a()]);
    sandbox
        .file("text", "no code")
        .file("bad.lock", "fatbin.lock/2\nfile a size=x\n")
        .file("new.lock", "fatbin.lock/3\n");
    let cases = [
        ("missing old", "missing: cannot open: no such file or directory"),
        ("old bad.lock", "bad.lock: line 2: invalid size \"x\", expected a number"),
        ("new.lock old", "new.lock: line 1: invalid header \"fatbin.lock/3\", expected \"fatbin.lock/2\""),
        ("text text", "text: no device code to compare on either side"),
    ];
    for (sides, message) in cases {
        let run = sandbox.fatbin(&format!("diff {sides}"));
        assert_eq!((run.status, run.out.as_str(), run.err.as_str()), (2, "", format!("fatbin: {message}\n").as_str()));
    }
    assert!(differs(sandbox.fatbin("diff text old/lib.so")).contains("archs added: gfx90a"));
}

#[test]
fn escapes_and_shortens_names_from_a_lock() {
    let sandbox = Sandbox::new();
    let long = "k".repeat(300);
    let lock = |size: u64| {
        let kernels = format!("  kernel \"\\u001b]0;x\" code_size={size}\n  kernel {long} code_size={size}\n");
        format!("fatbin.lock/2\nfile \"a\\nb\"\nunit image=elf\nimage sm_80\n{kernels}")
    };
    let out = differs(sandbox.file("a", lock(1)).file("b", lock(9)).fatbin("diff a b"));
    assert!(out.chars().all(|c| c == '\n' || !c.is_control()), "{out:?}");
    assert!(out.lines().all(|line| line.chars().count() < 220), "{out}");
    assert!(differs(sandbox.fatbin("diff --all a b")).contains(&long));
}

/// PTX of a static kernel as nvcc names it.
const PTX: &str = "// Cuda compilation tools, release 13.5, V13.5.37\n.version 8.1\n.target sm_90\n.address_size 64\n\
                   .file 1 \"/home/me/k.cu\", 1700000000, 99\n\
                   .entry __nv_static_25__debbe712_4_k_cu_3c7ab8be__Z4statPi() {\n.loc 1 2 3\nret;\n}\n";

/// Returns the document of `diff --json` for files of the PTX and the PTX after a change.
fn causes_of_change(sandbox: &Sandbox, from: &str, to: &str) -> Value {
    for (name, text) in [("old", PTX.to_owned()), ("new", PTX.replace(from, to))] {
        sandbox.file("k.ptx", text).fatbin(&format!("pack --kind cuda -o {name} k.ptx")).ok();
    }
    let run = sandbox.fatbin("diff --json old new");
    let document = serde_json::from_str(&run.out).unwrap();
    crate::schema::check_document(sandbox, "diff", &document);
    document
}

#[test]
fn names_the_cause_of_a_difference_with_the_same_code() {
    let sandbox = Sandbox::new();
    let cases = [
        ("debbe712", "acb73014", "module-ids"),
        ("V13.5.37", "V13.5.38", "tools"),
        ("/home/me", "/home/you", "paths"),
        ("1700000000", "1700000001", "time-stamps"),
        (".loc 1 2", ".loc 1 4", "debug-information"),
        ("// Cuda", "// tmpxft_00006241_00000000-6_k.ptx\n// Cuda", "temporary-names"),
    ];
    for (from, to, cause) in cases {
        let document = causes_of_change(&sandbox, from, to);
        let expected = if cause == "temporary-names" { vec![cause, "tools"] } else { vec![cause] };
        assert_eq!(document["causes"], serde_json::json!(expected), "{from}: {document:#}");
        assert_eq!((&document["equal"], &document["same_code"]), (&false.into(), &true.into()), "{from}");
    }
    let document = causes_of_change(&sandbox, "ret;", "exit;");
    assert_eq!((&document["same_code"], &document["causes"]), (&false.into(), &serde_json::json!([])));
}

#[test]
fn a_lock_of_code_does_not_depend_on_generated_names() {
    let sandbox = Sandbox::new();
    causes_of_change(&sandbox, "debbe712", "acb73014");
    let out = differs(sandbox.fatbin("diff old new"));
    let line = "  same code, other module IDs; pin the code with fatbin lock --code-only, which is equal for both\n";
    assert!(out.contains(line) && !out.contains("KERNEL"), "{out}");
    let lock = |name: &str| {
        std::fs::copy(sandbox.path(name), sandbox.path("lib")).unwrap();
        sandbox.fatbin("lock --code-only -o - lib").ok()
    };
    assert_eq!(lock("old"), lock("new"));
    assert!(lock("old").contains("kernel __nv_static_25__*_4_k_cu_*__Z4statPi"));
    sandbox.fatbin("lock -o old.lock old").ok();
    let out = differs(sandbox.fatbin("diff old.lock new"));
    assert!(out.contains("  same code; compare files instead of locks for causes\n"), "{out}");
}

#[test]
fn order_and_compression_alone_are_causes() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_90.cubin", "b");
    sandbox.fatbin("pack -o old a b").ok();
    sandbox.fatbin("pack -o new b a").ok();
    let out = sandbox.fatbin("diff old new").ok();
    assert!(
        out.starts_with("device code is identical\n") && out.contains("  same code, other order of images; "),
        "{out}"
    );
    let document: Value = serde_json::from_str(&sandbox.fatbin("diff --json old new").out).unwrap();
    assert_eq!(
        (&document["causes"], &document["reordered"]),
        (&serde_json::json!(["order"]), &serde_json::json!(["new"]))
    );
    sandbox.fatbin("pack --compress -o new a b").ok();
    let run = sandbox.fatbin("diff --json old new");
    let document: Value = serde_json::from_str(&run.out).unwrap();
    assert!(document["causes"].to_string().contains("compression"), "{document:#}");
    assert_eq!(document["reordered"], serde_json::json!([]));
}

#[test]
fn growth_by_duplication_is_listed() {
    let sandbox = builds(&[&gfx90a()], &[&gfx90a()]);
    std::fs::copy(sandbox.path("new/lib.so"), sandbox.path("new/copy.so")).unwrap();
    let out = differs(sandbox.fatbin("diff old new"));
    let expected = "  grown by duplication: +3456 bytes\n    image for gfx90a: 1 -> 2 copies, +3456 bytes\n";
    assert!(out.contains(expected), "{out}");
    // The same kernel in images that differ.
    let lock = |files: &[&str]| {
        let mut text = "fatbin.lock/2\n".to_owned();
        for (number, kernel) in files.iter().enumerate() {
            text +=
                &format!("file {number}.so\nunit image=elf\nimage sm_90 code={}\n", format!("{number:x}").repeat(64));
            text += &format!("  kernel {kernel} code_size=100 registers=8\n");
        }
        text
    };
    sandbox.file("old.lock", lock(&["f"])).file("new.lock", lock(&["f", "f", "g"]));
    let out = differs(sandbox.fatbin("diff old.lock new.lock"));
    assert!(out.contains("    kernel f for sm_90: 1 -> 2 copies, +100 bytes\n"), "{out}");
    let document: Value = serde_json::from_str(&sandbox.fatbin("diff --json old.lock new.lock").out).unwrap();
    crate::schema::check_document(&sandbox, "diff", &document);
    assert_eq!(document["duplicates"].as_array().unwrap().len(), 1, "{document:#}");
    let out = differs(sandbox.fatbin("diff new.lock old.lock"));
    assert!(!out.contains("duplication"), "{out}");
}

/// Writes PTX with kernels of templates in a namespace with a version.
fn versioned(sandbox: &Sandbox, name: &str, namespace: &str, bodies: &[&str]) {
    let entry = |(number, body): (usize, &&str)| {
        format!(".entry _ZN3cub{}{namespace}6KernelILi{number}EEEvv() {{ {body} ret; }} ", namespace.len())
    };
    let entries: String = bodies.iter().enumerate().map(entry).collect();
    sandbox.file(name, format!(".version 8.1\n.target sm_90\n.address_size 64\n{entries}"));
}

/// cupy and ctranslate2 list hundreds of kernels of CUB as added and removed for each version of CUB (cccl #1269).
#[test]
fn kernels_of_two_versions_of_a_library_are_one_kernel() {
    let sandbox = Sandbox::new();
    versioned(&sandbox, "old.ptx", "CUB_200700_530_600_NS", &[""; 9]);
    versioned(&sandbox, "new.ptx", "_V_300200_SM_750_800", &["", "bar.sync 0;", "", "", "", "", "", "", "", ""]);
    let run = sandbox.fatbin("diff old.ptx new.ptx");
    assert_eq!(run.status, 1, "{}", run.err);
    let line = "  9 kernels with other versions in the name: cub::CUB_200700_530_600_NS -> cub::_V_300200_SM_750_800\n";
    assert!(run.out.contains(line), "{}", run.out);
    let rows: Vec<&str> = run.out.lines().filter(|line| line.contains("cub::Kernel<")).collect();
    let [changed, added] = rows[..] else { panic!("{}", run.out) };
    assert!(changed.ends_with("code differs  void cub::Kernel<1>()"), "{changed}");
    assert!(added.ends_with("added         void cub::Kernel<9>()"), "{added}");
    let document: Value = serde_json::from_str(&sandbox.fatbin("diff --json old.ptx new.ptx").out).unwrap();
    let target = &document["files"][0]["targets"][0];
    assert_eq!(target["other_versions"]["kernels"], 9, "{document:#}");
    let changed = target["kernels"].as_array().unwrap().iter().find(|it| it["change"] == "changed").unwrap();
    assert_eq!(changed["old_name"], "_ZN3cub21CUB_200700_530_600_NS6KernelILi1EEEvv");
    assert_eq!(changed["name"], "_ZN3cub20_V_300200_SM_750_8006KernelILi1EEEvv");
}

#[test]
fn two_versions_of_a_library_have_the_same_families() {
    let sandbox = Sandbox::new();
    versioned(&sandbox, "old.ptx", "CUB_1_5_0", &[""; 9]);
    versioned(&sandbox, "new.ptx", "CUB_2_5_0", &["bar.sync 0;"; 9]);
    let run = sandbox.fatbin("diff old.ptx new.ptx");
    assert_eq!(run.status, 1, "{}", run.err);
    assert!(run.out.contains("9 changed  cub::Kernel\n"), "{}", run.out);
    assert!(run.out.ends_with("  9 kernels; use -v to list them\n"), "{}", run.out);
    let listed = sandbox.fatbin("diff -v old.ptx new.ptx").out;
    assert!(listed.contains(" cub::Kernel<0>()\n"), "{listed}");
    let all = sandbox.fatbin("diff --all old.ptx new.ptx").out;
    assert!(all.contains("cub::CUB_2_5_0::Kernel<0>()\n"), "{all}");
}

/// An installer of conda that writes a shorter prefix into a line table ends its lists of directories and files early.
#[test]
fn a_line_table_without_its_files_is_no_other_time_stamp() {
    let sandbox = Sandbox::new();
    let mut cubin = fixture("answer-sm_90-debug.cubin");
    sandbox.file("before.cubin", &cubin);
    let at = cubin.windows(9).position(|window| window == b"answer.c\0").unwrap();
    cubin[at] = 0;
    sandbox.file("after.cubin", &cubin);
    let run = sandbox.fatbin("diff before.cubin after.cubin");
    assert!(run.out.contains("same code") && !run.out.contains("time stamps"), "{}", run.out);
    assert_eq!(sandbox.fatbin("verify before.cubin").ok(), "before.cubin: 1 device image, intact\n");
    let problem = "line table: a row is of source file 1, and the table lists 0\n";
    for command in ["verify", "inspect"] {
        let run = sandbox.fatbin(&format!("{command} after.cubin"));
        assert!(run.status == 2 && run.err.contains(problem), "{command}: {}{}", run.out, run.err);
    }
}
