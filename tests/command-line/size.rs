//! `size`: what the bytes of files are for.

use serde_json::Value;

use crate::Sandbox;

const LEVELS: [&str; 10] =
    ["arch", "file", "container", "kernel", "family", "tu", "codec", "kind", "section", "category"];

/// Containers of several types, plain and compressed, and host files with them.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "amd").fixture("answer-gfx90a-xnack+.hsaco", "xnack");
    sandbox.fixture("answer-sm_90.cubin", "sm90").fixture("answer-sm_80.ptx", "sm80.ptx");
    let ids = "--target host-x86_64-unknown-linux-gnu=sm80.ptx --target hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+=xnack";
    sandbox.fatbin(&format!("bundle --raw --type o {ids} -o plain")).ok();
    sandbox.fatbin(&format!("bundle --raw --type o --compress {ids} -o ccob")).ok();
    sandbox.fatbin("pack --kind cuda -o fatbin sm90 sm80.ptx").ok();
    sandbox.fatbin("pack --kind cuda --compress -o compressed sm90 sm80.ptx").ok();
    sandbox.fatbin("wrap --kind openmp -o openmp.o amd sm90").ok();
    sandbox.fatbin("wrap --kind hip -o hip.o ccob").ok();
    sandbox.fatbin("wrap --kind cuda -o cuda.o compressed").ok();
    sandbox
}

const FILES: [&str; 11] =
    ["amd", "xnack", "sm90", "sm80.ptx", "plain", "ccob", "fatbin", "compressed", "openmp.o", "hip.o", "cuda.o"];

fn document(sandbox: &Sandbox, arguments: &str) -> Value {
    serde_json::from_str(&sandbox.fatbin(&format!("size --json {arguments}")).ok()).unwrap()
}

/// Checks that the rows of every level add up to the row above, for stored and for decompressed bytes.
fn check_sums(rows: &Value, stored: &Value, decompressed: &Value, what: &str) {
    let rows = rows.as_array().unwrap();
    let sum = |key: &str| rows.iter().map(|row| row[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!(
        (sum("stored"), sum("decompressed")),
        (stored.as_u64().unwrap(), decompressed.as_u64().unwrap()),
        "{what}"
    );
    for row in rows.iter().filter(|row| row["rows"].is_array()) {
        check_sums(&row["rows"], &row["stored"], &row["decompressed"], what);
    }
}

#[test]
fn rows_add_up_to_the_size_of_the_file_at_all_levels() {
    let sandbox = sandbox();
    for file in FILES {
        for (outer, inner) in LEVELS.iter().flat_map(|outer| LEVELS.iter().map(move |inner| (outer, inner))) {
            let what = format!("--by {outer},{inner} {file}");
            let document = document(&sandbox, &what);
            assert_eq!(document["size"], sandbox.read(file).len(), "{what}");
            check_sums(&document["rows"], &document["size"], &document["decompressed_size"], &what);
        }
    }
    let all = document(&sandbox, &format!("--by file,kernel {}", FILES.join(" ")));
    let sizes: usize = FILES.iter().map(|file| sandbox.read(file).len()).sum();
    assert_eq!(all["size"], sizes);
    check_sums(&all["rows"], &all["size"], &all["decompressed_size"], "all");
}

#[test]
fn every_row_has_its_share_of_the_file() {
    let sandbox = sandbox();
    let expected = "\
fatbin: 3984 bytes
  STORED     %  DECOMPRESSED  CODE  KERNELS  ARCH / KERNEL
    3312  83.1          3312   256        1  sm_90
    2436  61.1          2436     0        0    [not in kernels]
     876  22.0           876   256        1    answer_kernel
     505  12.7           505   279        1  sm_80 ptx
     279   7.0           279   279        1    answer_kernel
     226   5.7           226     0        0    [not in kernels]
     167   4.2           167     0        0  [container headers]
";
    assert_eq!(sandbox.fatbin("size --by arch,kernel fatbin").ok(), expected);
    let csv =
        "container,codec,stored,decompressed\ncuda-fatbin,none,3817,3817\ncuda-fatbin,[container headers],167,167\n";
    assert_eq!(sandbox.fatbin("size --csv --by container,codec fatbin").ok(), csv);
    let out = sandbox.fatbin("size --by kind plain").ok();
    assert!(out.contains("[host code in bundles]"), "{out}");
}

#[test]
fn a_baseline_adds_changes() {
    let sandbox = sandbox();
    let expected = "\
fatbin: 3984 bytes, +2608
  STORED  CHANGE       %  DECOMPRESSED  CHANGE  ARCH
    3312   +2393  +260.4          3312      +0  sm_90
     505    +212   +72.4           505      -1  sm_80 ptx
     167      +3    +1.8           167      +3  [container headers]
";
    assert_eq!(sandbox.fatbin("size --baseline compressed fatbin").ok(), expected);
    let document = document(&sandbox, "--baseline amd fatbin");
    assert_eq!(document["size_before"], sandbox.read("amd").len());
    let removed = document["rows"].as_array().unwrap().iter().find(|row| row["name"] == "gfx90a").unwrap();
    assert_eq!((&removed["stored"], &removed["stored_before"]), (&0.into(), &3456.into()));
    assert_eq!(sandbox.fatbin("size --baseline missing fatbin").status, 2);
}

#[test]
fn duplicates_are_found_in_all_files() {
    let sandbox = Sandbox::new();
    let kernel =
        |name: &str, body: &str| format!(".visible .entry {name}(.param .u64 {name}_param_0)\n{{\n{body}\nret;\n}}\n");
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let ptx = [head, &kernel("one", "bar.sync 0;"), &kernel("other", "bar.sync 0;"), &kernel("third", "")].concat();
    sandbox.file("k.ptx", &ptx).fixture("answer-gfx90a.hsaco", "amd").fixture("answer-gfx90a.hsaco", "copy");
    sandbox.fatbin("pack --kind cuda --compress -o fatbin k.ptx").ok();
    let twice = [sandbox.read("fatbin"), sandbox.read("fatbin")].concat();
    let document = document(sandbox.file("twice", twice), "--duplicates --by arch twice amd copy");
    let duplicates = &document["duplicates"];
    let images = duplicates["images"].as_array().unwrap();
    let archs: Vec<_> = images.iter().map(|it| (&it["arch"], &it["wasted_decompressed"])).collect();
    let size = Value::from(ptx.len() + 1);
    assert_eq!(archs, [(&"gfx90a".into(), &3456.into()), (&"sm_80 ptx".into(), &size)]);
    assert_eq!(images[0]["copies"][1], serde_json::json!({ "file": "copy", "index": 0 }));
    let kernels = duplicates["kernels"].as_array().unwrap();
    let names: Vec<_> = kernels.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["other", "one", "third"], "{duplicates}");
    assert!(kernels.iter().all(|it| it["units"] == 2 && it["copies"] == 2 && it["bodies"] == 1), "{duplicates}");
    let identical = duplicates["identical_kernels"].as_array().unwrap();
    assert_eq!((identical.len(), &identical[0]["names"]), (1, &serde_json::json!(["one", "other"])), "{duplicates}");
    let table = sandbox.fatbin("size --duplicates twice amd copy").ok();
    assert!(table.contains("kernels that differ in their names only: 1 ("), "{table}");
    assert!(table.contains("  gfx90a of amd#0 and 1 other\n"), "{table}");
}

#[test]
fn effects_of_changes_are_those_of_the_commands() {
    let sandbox = sandbox();
    let changes = "--what-if none --what-if zstd-19 --what-if lz4-12 --what-if drop:sm_80,gfx90a:xnack+";
    let cases = [("fatbin", "--to zstd --level 19"), ("compressed", "--to none"), ("fatbin", "--to lz4 --level 12")];
    for (file, form) in cases {
        sandbox.fatbin(&format!("transcode {form} -o out {file}")).ok();
        let name = form.replace("--to ", "").replace(" --level ", "-");
        let effects = document(&sandbox, &format!("{changes} {file}"))["what_if"].clone();
        let size = |change: &str| {
            effects.as_array().unwrap().iter().find(|it| it["change"] == change).unwrap()["size"].clone()
        };
        assert_eq!(size(&name), sandbox.read("out").len(), "{file} {form}");
        assert_eq!(size("unchanged"), sandbox.read(file).len());
    }
    assert_eq!(sandbox.fatbin("prune --drop sm_80 -o pruned compressed").status, 0);
    let of_two = document(&sandbox, "--what-if drop:sm_80 compressed amd");
    assert_eq!(of_two["what_if"][1]["size"], sandbox.read("pruned").len() + sandbox.read("amd").len());
    let archs: Vec<_> =
        of_two["what_if"][0]["decompression"].as_array().unwrap().iter().map(|it| &it["arch"]).collect();
    assert_eq!(archs, ["gfx90a", "sm_80 ptx", "sm_90"]);
    let table = sandbox.fatbin("size --what-if none --sample 50 fatbin compressed").ok();
    assert!(table.contains("\nwhat if, estimated from 50 % of the bytes; "), "{table}");
}

#[test]
fn a_change_that_does_nothing_or_is_not_known_is_an_error() {
    let sandbox = sandbox();
    let run = sandbox.fatbin("size --what-if drop:sm_70 fatbin");
    assert_eq!(run.status, 2);
    assert!(run.err.contains("--what-if drop:sm_70: no image is for such an arch"), "{}", run.err);
    for change in ["zstd-99", "zstd-", "lz4-x", "drop:", "smaller"] {
        let run = sandbox.fatbin(&format!("size --what-if {change} fatbin"));
        assert!(run.status == 2 && run.err.contains(change), "{change}: {}", run.err);
    }
}

#[test]
fn files_without_device_code_have_one_row_and_status_1() {
    let sandbox = Sandbox::new();
    let run = sandbox.file("text", "nothing here").fatbin("size text");
    assert_eq!(run.status, 1, "{}", run.err);
    assert_eq!(
        run.out,
        "text: 12 bytes\n  STORED      %  DECOMPRESSED  ARCH\n      12  100.0            12  [not device code]\n"
    );
    assert_eq!(sandbox.fatbin("size missing").status, 2);
    assert_eq!(sandbox.fatbin("size --what-if none text").status, 1);
}

#[test]
fn a_damaged_image_is_a_problem_and_its_bytes_are_counted() {
    let sandbox = Sandbox::new();
    let mut damaged = crate::fixture("answer-gfx90a.hsaco");
    damaged[0x28..0x30].fill(0xff);
    let run = sandbox.file("damaged", &damaged).fatbin("size --json --by kernel damaged");
    assert_eq!(run.status, 2, "{}", run.err);
    let document: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(document["size"], damaged.len());
}

/// Writes a wheel with device code, a library without, and a text.
pub fn wheel(sandbox: &Sandbox) -> u64 {
    use std::io::Write;
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let object = sandbox.read("hip.o");
    let text = vec![b'x'; 10_000];
    let members: [(&str, &[u8]); 3] = [("a/libk.so", &object), ("a/libplain.so.1", &text), ("a/__init__.py", &text)];
    for (name, bytes) in members {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    let wheel = zip.finish().unwrap().into_inner();
    let size = wheel.len() as u64;
    sandbox.file("a-1.0-py3-none-any.whl", wheel);
    size
}

#[test]
fn the_stored_bytes_of_a_wheel_add_up_to_its_size() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fatbin("wrap --kind hip -o hip.o a").ok();
    let size = wheel(&sandbox);
    let document: serde_json::Value =
        serde_json::from_str(&sandbox.fatbin("size --json a-1.0-py3-none-any.whl").ok()).unwrap();
    let package = &document["packages"][0];
    let part = |name: &str| package[name].as_u64().unwrap();
    let parts = ["device_code", "host_code", "libraries", "others", "overhead"].map(part);
    assert!(parts.iter().all(|part| *part > 0), "{package}");
    assert_eq!((parts.iter().sum::<u64>(), part("size")), (size, size), "{package}");
    let table = sandbox.fatbin("size a-1.0-py3-none-any.whl").ok();
    assert!(table.starts_with(&format!("a-1.0-py3-none-any.whl: {size} bytes\n  ")), "{table}");
    assert!(table.contains("  libraries without device code\n") && table.contains("  all\n"), "{table}");
}

#[test]
fn a_policy_limits_the_stored_size_of_packages() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fatbin("wrap --kind hip -o hip.o a").ok();
    let size = wheel(&sandbox);
    for (limit, input, status, message) in [
        (size, "a-1.0-py3-none-any.whl", 0, "5 checks: 5 passed"),
        (size - 1, "a-1.0-py3-none-any.whl", 1, "a-1.0-py3-none-any.whl: package-size: "),
        (size, "hip.o", 1, "policy.toml: package-size: no package among the inputs"),
    ] {
        sandbox.file("policy.toml", format!("sizes.package = '{limit} B'"));
        let run = sandbox.fatbin(&format!("check --policy policy.toml {input}"));
        assert!(run.status == status && run.out.contains(message), "{limit} {input}: {}{}", run.out, run.err);
    }
}

#[test]
fn sections_add_up_to_the_image() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90-debug.cubin", "a");
    let document: serde_json::Value = serde_json::from_str(&sandbox.fatbin("size --by section --json a").ok()).unwrap();
    let rows = document["rows"].as_array().unwrap();
    let stored: u64 = rows.iter().map(|row| row["stored"].as_u64().unwrap()).sum();
    assert_eq!(stored, sandbox.read("a").len() as u64);
    for name in [".symtab", ".strtab", ".text"] {
        assert!(rows.iter().any(|row| row["name"] == name), "{name}: {document}");
    }
    assert!(rows.iter().any(|row| row["part"] == "not-in-sections"), "{document}");
}

#[test]
fn bytes_of_images_have_categories() {
    let sandbox = sandbox();
    let expected = "\
fatbin: 3984 bytes
  STORED     %  DECOMPRESSED  CATEGORY
    1304  32.7          1304  headers
     651  16.3           651  symbols
     536  13.5           536  constants
     505  12.7           505  ptx
     256   6.4           256  code
     192   4.8           192  notes
     120   3.0           120  attributes
     104   2.6           104  debug
      68   1.7            68  metadata
      57   1.4            57  padding
      24   0.6            24  relocations
     167   4.2           167  [container headers]
";
    let sorted = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let out = sandbox.fatbin("size --by category fatbin").ok();
    assert_eq!(sorted(&out), sorted(expected), "{out}");
    let change = document(&sandbox, "--by category --baseline fatbin compressed");
    let row = |name: &str| change["rows"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone();
    let code = row("code");
    assert!(code["stored"].as_u64() < Some(256) && code["stored_before"] == 256, "{code}");
    assert_eq!((&code["decompressed"], &code["decompressed_before"]), (&256.into(), &256.into()));
}

#[test]
fn bytes_of_kernels_have_categories_and_sections() {
    let sandbox = sandbox();
    let expected = "\
sm90: 3312 bytes
  STORED     %  DECOMPRESSED  CODE  KERNELS  KERNEL / CATEGORY / SECTION
    2436  73.6          2436     0        0  [not in kernels]
";
    let out = sandbox.fatbin("size --by kernel,category,section sm90").ok();
    assert!(out.starts_with(expected), "{out}");
    let kernel = "
     876  26.4           876   256        1  answer_kernel
     536  16.2           536     0        0    constants
     536  16.2           536     0        0      .nv.constant0
     256   7.7           256   256        1    code
     256   7.7           256   256        1      .text
      84   2.5            84     0        0    attributes
      84   2.5            84     0        0      .nv.info
";
    assert!(out.ends_with(kernel), "{out}");
    let rows = document(&sandbox, "--by category,kernel amd")["rows"].clone();
    let code = rows.as_array().unwrap().iter().find(|row| row["name"] == "code").unwrap();
    let of_kernel = code["rows"].as_array().unwrap().iter().find(|row| row["name"] == "answer_kernel").unwrap();
    assert_eq!((&of_kernel["kernels"], &of_kernel["stored"]), (&1.into(), &of_kernel["code"]), "{rows}");
}

/// Releases before CUDA 13 state sections of shared memory with a size but without bytes.
#[test]
fn sections_without_bytes_are_not_counted() {
    let sandbox = Sandbox::new();
    let mut cubin = crate::fixture("answer-sm_90.cubin");
    let headers = u64::from_le_bytes(cubin[0x28..0x30].try_into().unwrap()) as usize;
    let header = headers + 64 * 13;
    cubin[header + 4..][..4].copy_from_slice(&0x7000_000a_u32.to_le_bytes());
    cubin[header + 32..][..8].copy_from_slice(&4096_u64.to_le_bytes());
    let out = sandbox.file("a", &cubin).fatbin("size --by section a").ok();
    assert!(out.contains("  .text\n") && !out.contains(".nv.shared"), "{out}");
}

#[test]
fn shaders_have_the_names_of_their_symbols() {
    let sandbox = Sandbox::new();
    sandbox.file("s.spv", crate::select::shader());
    sandbox.fatbin("embed -o a.o --symbol mul_mm_data=s.spv --symbol add_data=s.spv").ok();
    for level in ["kernel", "family"] {
        let out = sandbox.fatbin(&format!("size --by {level} a.o")).ok();
        assert!(out.contains("  mul_mm_data\n") && out.contains("  add_data\n"), "{out}");
        assert!(!out.contains("[not in kernels]"), "{out}");
    }
}
