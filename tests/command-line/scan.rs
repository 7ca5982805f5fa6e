//! `fatbin scan`: tables, JSON, exit statuses.

use serde_json::{Value, json};

use crate::Sandbox;

/// Returns the offset of the first offload binary of an object.
fn container(object: &[u8]) -> usize {
    object.windows(4).position(|bytes| bytes == [0x10, 0xff, 0x10, 0xad]).unwrap()
}

#[test]
fn table_has_a_row_per_image() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fatbin("wrap --kind openmp -o w.o a").ok();
    let object = sandbox.read("w.o");
    let (size, image) = (object.len(), container(&object) + 0x90);
    let table = format!(
        "\
w.o: elf, {size} bytes, 1 device image
  CONTAINER       SECTION           KIND    TRIPLE             ARCH    IMAGE  OFFSET  SIZE
  offload-binary  .llvm.offloading  openmp  amdgcn-amd-amdhsa  gfx90a  elf    {image:#6x}  3456
"
    );
    assert_eq!(sandbox.fatbin("scan w.o").ok(), table);
}

#[test]
fn a_long_list_ends_with_a_summary_by_arch() {
    let sandbox = Sandbox::new();
    let summary = |count: usize| {
        let (size, amd) = (count * 3312, crate::fixture("answer-gfx90a.hsaco").len());
        format!(
            "{} device images for 2 archs\n  ARCH    IMAGES  STORED  DECOMPRESSED\n  gfx90a       1    {amd}          \
             {amd}\n  sm_90   {count:>6}  {size:>6}  {size:>12}\n",
            count + 1
        )
    };
    sandbox.fixture("answer-gfx90a.hsaco", "amd");
    for count in 0..31 {
        sandbox.fixture("answer-sm_90.cubin", &format!("sm{count}"));
    }
    let out = sandbox.fatbin("scan .").ok();
    assert!(out.ends_with(&summary(31)), "{out}");
    assert_eq!(sandbox.fatbin("scan --summary .").ok(), summary(31));
    std::fs::remove_file(sandbox.path("sm0")).unwrap();
    assert!(!sandbox.fatbin("scan .").ok().contains("device images for"));
    assert_eq!(sandbox.fatbin("scan --summary .").ok(), summary(30));
    let run = sandbox.file("text", "nothing").fatbin("scan --summary text");
    assert_eq!((run.status, run.out.as_str()), (1, "no device images\n"), "{}", run.err);
}

#[test]
fn json_follows_its_schema() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fatbin("wrap --kind openmp -o w.o a").ok();
    let object = sandbox.read("w.o");
    let (size, at) = (object.len(), container(&object));
    let document: Value = serde_json::from_str(&sandbox.fatbin("scan --json w.o").ok()).unwrap();
    let expected = json!({
        "schema": "fatbin.scan/1",
        "files": [{
            "path": "w.o", "format": "elf", "size": size,
            "containers": [{
                "type": "offload-binary", "version": 1, "section": ".llvm.offloading", "offset": at, "size": 3456 + 0x90,
                "images": [{
                    "kind": "openmp", "image": "elf", "triple": "amdgcn-amd-amdhsa", "arch": "gfx90a",
                    "offset": at + 0x90, "size": 3456,
                    "address": format!("file://w.o#offset={}&size=3456", at + 0x90),
                    "producer": "Debian LLD 22.1.8", "format_version": "6"
                }]
            }],
            "sections": [{
                "name": ".llvm.offloading", "offset": at, "size": 3456 + 0x90,
                "in_containers": 3456 + 0x90, "padding": 0, "unexplained": 0
            }],
            "errors": []
        }]
    });
    assert_eq!(document, expected);
}

#[test]
fn walks_directories_in_name_order_and_prints_files_with_images() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("folder/b")).unwrap();
    sandbox.fixture("answer-gfx90a.hsaco", "folder/b/image").fixture("answer-sm_80.ptx", "folder/c.ptx");
    sandbox.file("folder/a.txt", "nothing").file("folder/d.bin", [0x10, 0xff, 0x10, 0xad]);
    let run = sandbox.fatbin("scan folder");
    let paths: Vec<&str> = run.out.lines().filter(|line| !line.starts_with(' ')).collect();
    let expected = [
        "folder/b/image: elf, 3456 bytes, 1 device image",
        "folder/c.ptx: raw, 505 bytes, 1 device image",
        "folder/d.bin: raw, 4 bytes, no device images",
    ];
    assert_eq!(paths, expected);
    assert_eq!(run.err, "fatbin: folder/d.bin: offload binary version at 0x4: truncated: need 4 bytes, 0 available\n");
    assert_eq!(run.status, 2);

    sandbox.file("list", "folder/c.ptx\n\nfolder/a.txt\n");
    let lines = sandbox.fatbin("scan --files-from list --ndjson").ok();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let paths: Vec<&str> = lines.iter().map(|line| line["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["folder/c.ptx", "folder/a.txt"]);
    let out = sandbox.fatbin("extract folder/b folder/c.ptx -o out").ok();
    assert_eq!(out.lines().count(), 2);
}

#[test]
fn lists_every_member_of_a_wheel() {
    let sandbox = Sandbox::new();
    let archive = |files: &[(&str, Vec<u8>)]| {
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (name, bytes) in files {
            writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            std::io::Write::write_all(&mut writer, bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    };
    let image = crate::fixture("answer-gfx90a.hsaco");
    sandbox.file("a.whl", archive(&[("a/__init__.py", b"pass".to_vec()), ("a/lib/x.hsaco", image.clone())]));
    sandbox.file("empty.whl", archive(&[("a/__init__.py", b"pass".to_vec())]));
    let out = sandbox.fatbin("scan a.whl empty.whl").ok();
    assert!(out.starts_with("a.whl!a/lib/x.hsaco: elf, 3456 bytes, 1 device image\n"), "{out}");
    assert!(out.contains("\nempty.whl: archive, ") && !out.contains("__init__"), "{out}");
    let run = sandbox.fatbin("scan --decompressed-limit 1K a.whl");
    assert_eq!(run.status, 2);
    let expected =
        "a.whl!a/lib/x.hsaco: archive member at 0x0: exceeds the limit of 1024 decompressed bytes for this file; use ";
    assert!(run.err.contains(expected), "{}", run.err);
    sandbox.fatbin("extract a.whl --to image").ok();
    assert_eq!(sandbox.read("image"), image);
}

#[test]
fn a_container_over_the_limit_hides_no_other() {
    let sandbox = Sandbox::new();
    sandbox.file("large", [1; 5000]);
    sandbox.fatbin("bundle --raw --type bc --compress --target hip-amdgcn-amd-amdhsa--gfx90a=large -o bundle").ok();
    sandbox.fixture("answer-gfx90a.hsaco", "image").fatbin("pack -o packed image").ok();
    // The search by magic charges its parts, of 4 MiB, one by one.
    let apart = vec![0; 5 << 20];
    sandbox.file("both", [b"both", &sandbox.read("bundle")[..], &apart, &sandbox.read("packed")].concat());
    let run = sandbox.fatbin("scan --decompressed-limit 1K both");
    assert_eq!(run.status, 2);
    assert!(run.err.contains("exceeds the limit for this file"), "{}", run.err);
    assert!(run.out.contains("gfx90a"), "{}", run.out);
}

#[test]
fn the_factor_raises_all_limits() {
    let sandbox = Sandbox::new();
    let mut zeros = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    (0..100).for_each(|_| std::io::Write::write_all(&mut zeros, &vec![0; 1 << 20]).unwrap());
    sandbox.file("zeros.gz", zeros.finish().unwrap());
    let run = sandbox.fatbin("scan zeros.gz");
    assert_eq!(run.status, 2);
    assert!(run.err.contains("decompressed bytes for this file"), "{}", run.err);
    assert_eq!(sandbox.fatbin("scan --limit-factor 2 zeros.gz").status, 1);
}

#[test]
fn lists_members_of_universal_static_libraries() {
    let sandbox = Sandbox::new();
    let image = crate::fixture("answer-gfx90a.hsaco");
    let header = format!("!<arch>\n{:<16}{:<24}{:<8}{:<10}`\n", "a.hsaco/", 0, 644, image.len());
    let library = [header.as_bytes(), &image].concat();
    // mach-o/fat.h: numbers are big-endian.
    let size = library.len() as u32;
    let mut bytes = [0xcafe_babe_u32, 2].map(u32::to_be_bytes).concat();
    bytes.extend([0x0100_0007, 3, 64, size, 3, 0x0100_000c, 0, 64 + size, size, 3].map(u32::to_be_bytes).concat());
    bytes.resize(64, 0);
    sandbox.file("libkernels.a", [bytes, library.clone(), library].concat());
    let out = sandbox.fatbin("scan --ndjson libkernels.a").ok();
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let paths: Vec<&Value> = lines.iter().map(|line| &line["path"]).collect();
    assert_eq!(paths, ["libkernels.a!x86_64!a.hsaco", "libkernels.a!arm64!a.hsaco"]);
    assert_eq!(lines[1]["containers"][0]["images"][0]["arch"], "gfx90a");
}

#[test]
fn hash_is_that_of_the_decompressed_image() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    sandbox.fatbin("pack -o plain a").ok();
    sandbox.fatbin("pack --compress -o compressed a").ok();
    let out = sandbox.fatbin("scan --json --hash a plain compressed").ok();
    let document: Value = serde_json::from_str(&out).unwrap();
    let hash = |file: usize| document["files"][file]["containers"][0]["images"][0]["sha256"].clone();
    // sha256sum fixtures/answer-gfx90a.hsaco
    let sum = crate::run(sandbox.command("sha256sum").arg("a")).ok();
    assert_eq!(hash(0), sum.split_whitespace().next().unwrap());
    assert_eq!((hash(1), hash(2)), (hash(0), hash(0)));
}

#[test]
fn reports_skipped_and_unexplained_bytes() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fatbin("wrap --kind openmp -o w.o a").ok();
    let object = sandbox.read("w.o");
    let size = object.len() - 3456 - 0x90;
    let out = sandbox.fatbin("scan --fast w.o").ok();
    assert!(out.ends_with(&format!("  not searched: {size} bytes that no header refers to\n")), "{out}");
    let out = sandbox.fatbin("scan -v w.o").ok();
    assert!(
        out.ends_with(
            "  .llvm.offloading: 3600 bytes = 3600 in containers + 0 padding + 0 unexplained\n  \
             image 0: w.o!.llvm.offloading+0x90, code object 6, produced by Debian LLD 22.1.8\n"
        ),
        "{out}"
    );
    let mut broken = object.clone();
    broken[container(&object) + 4] = 99;
    let run = sandbox.file("broken.o", broken).fatbin("scan broken.o");
    assert_eq!(run.status, 2);
    // The image is found in what is left of the container.
    assert!(run.out.contains("\n  embedded   .llvm.offloading  -     amdgcn-amd-amdhsa  gfx90a  elf "), "{}", run.out);
    assert!(
        run.out.ends_with("  .llvm.offloading: 3600 bytes = 3456 in containers + 0 padding + 144 unexplained\n"),
        "{}",
        run.out
    );
}

#[test]
fn exits_with_1_when_nothing_is_found() {
    let sandbox = Sandbox::new();
    let run = sandbox.file("text", "nothing here\n").fatbin("scan text");
    assert_eq!((run.status, run.err.as_str()), (1, ""));
    let looked_for = "  looked for  offload-binary, bundle, ccob, cuda-fatbin, kpack, oxart,\n";
    let expected = format!("text: raw, 13 bytes, no device images\n  searched    text\n{looked_for}");
    assert!(run.out.starts_with(&expected), "{}", run.out);
    assert!(run.out.lines().all(|line| line.len() <= 80) && run.out.lines().count() < 24, "{}", run.out);
    let document: Value = serde_json::from_str(&sandbox.fatbin("scan --json text").out).unwrap();
    let names: Vec<&str> = document["looked_for"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(["offload-binary", "dxbc", "hcf", "spirv"].iter().all(|name| names.contains(name)), "{names:?}");
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    let run = sandbox.fatbin("scan text a");
    assert!(!run.out.contains("looked for"), "{}", run.out);
}

#[test]
fn exits_with_0_for_one_image_and_with_2_for_an_unreadable_file() {
    let sandbox = Sandbox::new();
    sandbox
        .file("text", "nothing here\n")
        .fixture("answer-gfx90a.hsaco", "a")
        .fatbin("wrap --kind openmp -o w.o a")
        .ok();
    assert_eq!(sandbox.fatbin("scan text w.o").status, 0);
    let run = sandbox.fatbin("scan text missing w.o");
    assert_eq!(run.status, 2);
    assert_eq!(run.err, "fatbin: missing: cannot open: no such file or directory\n");
    assert!(run.out.contains("w.o: elf"), "the others are still listed");
    let document: Value = serde_json::from_str(&sandbox.fatbin("scan --json missing w.o").out).unwrap();
    assert_eq!(document["files"][0]["path"], "missing");
    assert_eq!(document["files"][0]["errors"][0]["message"], "missing: cannot open: no such file or directory");
    assert_eq!(document["files"][1]["containers"][0]["images"][0]["arch"], "gfx90a");
}

#[test]
fn reports_a_damaged_container_and_lists_the_rest() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_90.cubin", "b");
    sandbox.fatbin("wrap --kind openmp -o w.o a b").ok();
    let mut object = sandbox.read("w.o");
    let version = container(&object) + 4;
    object[version] = 99;
    let run = sandbox.file("w.o", object).fatbin("scan w.o");
    assert_eq!(run.status, 2);
    assert_eq!(
        run.err,
        format!("fatbin: w.o: offload binary version at {version:#x}: unsupported version 99 (supported: 1 to 3)\n")
    );
    assert!(run.out.contains("sm_90"), "{}", run.out);
}

#[test]
fn searches_a_file_without_section_headers() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fatbin("wrap --kind openmp -o w.o a").ok();
    let mut object = sandbox.read("w.o");
    object[0x28..0x30].fill(0);
    object[0x3c..0x40].fill(0);
    let table = sandbox.file("w.o", object).fatbin("scan w.o").ok();
    assert!(table.contains("offload-binary  -        openmp  amdgcn-amd-amdhsa  gfx90a"), "{table}");
}

#[test]
fn ignores_a_closed_pipe() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    let files = "a ".repeat(3000);
    sandbox.shell(&format!("fatbin scan {files} 2>err | head -n 1 >/dev/null")).ok();
    assert_eq!(sandbox.read("err"), b"");
}

#[test]
fn reports_an_image_section_that_cannot_be_read() {
    let sandbox = Sandbox::new();
    sandbox.file("a", "HIPK and whatever a newer tool makes of it").fatbin("wrap --kind hip --raw -o w.o a").ok();
    let run = sandbox.fatbin("scan w.o");
    let at = sandbox.read("w.o").windows(4).position(|bytes| bytes == b"HIPK").unwrap();
    assert_eq!(run.status, 2);
    assert_eq!(
        run.err,
        format!(
            "fatbin: w.o: section for device images at {at:#x}: unrecognized container magic (48 49 50 4b 20 61 6e 64)\n"
        )
    );
}

#[test]
fn lists_an_image_without_a_container() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_80.ptx", "a").fatbin("wrap --kind openmp --raw -o w.o a").ok();
    let document: Value = serde_json::from_str(&sandbox.fatbin("scan --json w.o").ok()).unwrap();
    let container = &document["files"][0]["containers"][0];
    assert_eq!((container["type"].as_str(), container["images"][0]["arch"].as_str()), (Some("ptx"), Some("sm_80")));
    sandbox.fatbin("extract w.o -o out").ok();
    assert_eq!(sandbox.read("out/w.o.0-nvptx64-nvidia-cuda-sm_80.ptx"), sandbox.read("a"));
}

#[test]
fn reads_compressed_bundles_and_reports_a_wrong_hash() {
    use fatbin::Codec;
    use fatbin_core::base::codec::Compression;
    use fatbin_core::base::content::Content;
    use fatbin_core::format::{bundle, ccob};
    let sandbox = Sandbox::new();
    let bundle = bundle::write(&[("hipv4-amdgcn-amd-amdhsa--gfx906:xnack+", &b"device code"[..])], 4096).unwrap();
    let compressed = |codec, version| {
        let mut stream = Vec::new();
        let bundle = Content::from(bundle.to_vec());
        let written = ccob::compress(&bundle, Compression::new(codec), version, &mut stream, &mut |_| ()).unwrap();
        [written.header, stream].concat()
    };
    let one = compressed(Codec::Zstd, ccob::Version::Three);
    let two = compressed(Codec::Zlib, ccob::Version::Two);
    sandbox.file("a", [&one[..], &[0; 100], &two].concat());
    let document: Value = serde_json::from_str(&sandbox.fatbin("scan --json a").ok()).unwrap();
    let containers = document["files"][0]["containers"].as_array().unwrap();
    let listed: Vec<_> = containers.iter().map(|it| (it["type"].as_str(), it["version"].as_u64())).collect();
    assert_eq!(listed, [(Some("ccob"), Some(3)), (Some("ccob"), Some(2))]);
    assert_eq!(containers[1]["images"][0]["arch"].as_str(), Some("gfx906:xnack+"));
    let out = sandbox.fatbin("extract a -o out").ok();
    assert_eq!(out.lines().map(|path| sandbox.read(path)).collect::<Vec<_>>(), [b"device code", b"device code"]);

    let mut wrong = one.clone();
    wrong[24] ^= 1;
    let run = sandbox.file("wrong", wrong).fatbin("scan wrong");
    assert_eq!(run.status, 2);
    assert!(run.err.starts_with("fatbin: wrong: compressed bundle hash at 0x18: "), "{}", run.err);
}

#[test]
fn flags_an_image_whose_container_states_another_processor() {
    let sandbox = Sandbox::new();
    let (any, fixed) = (crate::fixture("answer-gfx90a.hsaco"), crate::fixture("answer-gfx90a-xnack+.hsaco"));
    let entries = [
        ("hip-amdgcn-amd-amdhsa--gfx908", any.as_slice()),
        ("hip-amdgcn-amd-amdhsa--gfx90a:xnack-", &any),
        ("hip-amdgcn-amd-amdhsa--gfx90a:xnack+", &fixed),
        ("hip-amdgcn-amd-amdhsa--gfx90a", &fixed),
    ];
    sandbox.file("bundle", fatbin_core::format::bundle::write(&entries, 1).unwrap().to_vec());
    let out = sandbox.fatbin("scan bundle").ok();
    let flagged: Vec<&str> = out.lines().filter(|line| line.contains("own header")).collect();
    assert_eq!(flagged.len(), 2, "{out}");
    assert!(flagged[0].ends_with(": the container states gfx908, the image's own header gfx90a"), "{out}");
    assert!(flagged[1].ends_with(": the container states gfx90a, the image's own header gfx90a:xnack+"), "{out}");
    let document: Value = serde_json::from_str(&sandbox.fatbin("scan --json bundle").ok()).unwrap();
    let images = &document["files"][0]["containers"][0]["images"];
    assert_eq!((&images[0]["own_arch"], &images[1]["own_arch"]), (&json!("gfx90a"), &Value::Null));
}

fn place(object: &[u8], bytes: &[u8]) -> usize {
    object.windows(bytes.len()).position(|there| there == bytes).unwrap()
}

#[test]
fn lists_registration_structures() {
    let sandbox = Sandbox::new();
    sandbox
        .fixture("answer-gfx90a.hsaco", "a")
        .fatbin("wrap --allow-missing-kernels --kind hip --entry k=k -o w.o a")
        .ok();
    let object = sandbox.read("w.o");
    let (code, wrapper) = (place(&object, b"__CLANG_OFFLOAD_BUNDLE__"), place(&object, b"FPIH"));
    let out = sandbox.fatbin("scan -v w.o").ok();
    assert!(out.contains("  hip wrapper .hipFatBinSegment+0x0 points to bundle at .hip_fatbin+0x0\n"), "{out}");
    let document: Value = serde_json::from_str(&sandbox.fatbin("scan --json --fast w.o").ok()).unwrap();
    let expected = json!([{ "kind": "hip", "section": ".hipFatBinSegment", "offset": wrapper, "container": code }]);
    assert_eq!(document["files"][0]["wrappers"], expected);
    assert_eq!(document["files"][0]["unreferenced"], Value::Null);

    // A second, unregistered container.
    let bundle =
        fatbin_core::format::bundle::write(&[("hip-amdgcn-amd-amdhsa--gfx906", &b"code"[..])], 1).unwrap().to_vec();
    sandbox.file("more.o", [&object[..], &bundle].concat());
    let document: Value = serde_json::from_str(&sandbox.fatbin("scan --json more.o").ok()).unwrap();
    assert_eq!(document["files"][0]["unreferenced"], json!([object.len()]));
    let out = sandbox.fatbin("scan -v more.o").ok();
    assert!(out.contains(&format!("  no wrapper points to bundle more.o+{:#x}\n", object.len())), "{out}");
}

#[test]
fn identifies_files_split_by_rocm_kpack() {
    let sandbox = Sandbox::new();
    sandbox
        .fixture("answer-gfx90a.hsaco", "a")
        .fatbin("wrap --allow-missing-kernels --kind hip --entry k=k -o w.o a")
        .ok();
    let mut object = sandbox.read("w.o");
    let (code, wrapper) = (place(&object, b"__CLANG_OFFLOAD_BUNDLE__"), place(&object, b"FPIH"));
    // It replaces the device code by zeros and writes the magic HIPK.
    object[code..code + 4096 + 3456].fill(0);
    object[wrapper..wrapper + 4].copy_from_slice(b"HIPK");
    let run = sandbox.file("split.o", object).fatbin("scan split.o");
    assert_eq!(run.status, 2);
    assert!(run.err.starts_with("fatbin: split.o: kpack marker at 0x"), "{}", run.err);
    let message = "  split by rocm-kpack: the device code of 1 wrapper is in kpack archives\n";
    assert!(run.out.ends_with(message), "{}", run.out);
    let document: Value = serde_json::from_str(&sandbox.fatbin("scan --json split.o").out).unwrap();
    assert_eq!(document["files"][0]["wrappers"][0]["split_by"], "rocm-kpack");
}
