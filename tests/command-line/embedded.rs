//! Images without a container in every command: listed, extracted, judged, kept, and never decided about.

use serde_json::Value;

use crate::Sandbox;

/// Returns a directory with `blobs.o`, an object with a cubin, a code object and PTX.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .fixture("answer-sm_90.cubin", "cubin")
        .fixture("answer-gfx90a.hsaco", "code")
        .fixture("answer-sm_80.ptx", "ptx");
    sandbox.fatbin("embed -o blobs.o --symbol k90=cubin --symbol code=code --symbol text=ptx").ok();
    sandbox
}

fn json(sandbox: &Sandbox, arguments: &str) -> Value {
    serde_json::from_str(&sandbox.fatbin(arguments).out).unwrap()
}

#[test]
fn scan_lists_them_with_their_symbols() {
    let sandbox = sandbox();
    for options in ["", " --fast"] {
        let document = json(&sandbox, &format!("scan --json{options} blobs.o"));
        let containers = document["files"][0]["containers"].as_array().unwrap();
        let listed: Vec<_> = containers
            .iter()
            .map(|container| {
                assert_eq!(container["type"], "embedded");
                let image = &container["images"][0];
                assert_eq!(image["size"], container["size"]);
                (image["symbol"].as_str().unwrap(), image["arch"].as_str().unwrap(), image["image"].as_str().unwrap())
            })
            .collect();
        assert_eq!(listed, [("k90", "sm_90", "elf"), ("code", "gfx90a", "elf"), ("text", "sm_80", "ptx")], "{options}");
    }
}

#[test]
fn extract_writes_their_bytes_and_inspect_reads_them() {
    let sandbox = sandbox();
    sandbox.fatbin("extract blobs.o -o out --arch sm_90").ok();
    let [name] = &std::fs::read_dir(sandbox.path("out")).unwrap().map(|it| it.unwrap().path()).collect::<Vec<_>>()[..]
    else {
        panic!("one file");
    };
    assert_eq!(std::fs::read(name).unwrap(), sandbox.read("cubin"));
    assert_eq!(sandbox.fatbin("inspect blobs.o").ok().matches("answer_kernel").count(), 3);
    assert_eq!(sandbox.fatbin("verify blobs.o").ok(), "blobs.o: 3 device images, intact\n");
}

#[test]
fn the_best_of_the_embedded_images_is_the_answer() {
    let sandbox = sandbox();
    let run = sandbox.fatbin("select --device sm_90 blobs.o");
    let text = "\
blobs.o: H100 sm_90: native: the program selects from 2 embedded images
blobs.o: 2 embedded NVIDIA images, from which the program selects by its own rules
  NUMBER  ARCH   IMAGE  SYMBOL
       0  sm_90  elf    k90
       2  sm_80  ptx    text
";
    assert_eq!((run.status, run.out.as_str()), (0, text));
    let document = json(&sandbox, "select --device sm_90 --json blobs.o");
    let images = document["files"][0]["selected_by_program"].as_array().unwrap();
    assert_eq!(images.iter().map(|image| image["index"].as_u64().unwrap()).collect::<Vec<_>>(), [0, 2]);
    let run = sandbox.fatbin("select --device sm_75 blobs.o");
    assert_eq!(
        (run.status, run.out.lines().next().unwrap()),
        (1, "blobs.o: T4 sm_75: nothing: the program selects from 2 embedded images")
    );
    let run = sandbox.fatbin("select --device spir64 blobs.o");
    assert_eq!((run.status, run.out.as_str()), (1, "blobs.o: no code for SPIR-V devices\n"));
    // The answer about many files counts them.
    std::fs::create_dir(sandbox.path("many")).unwrap();
    for number in 0..9 {
        sandbox.file(&format!("many/{number}.o"), sandbox.read("blobs.o"));
    }
    let run = sandbox.fatbin("select --device sm_90 many");
    assert_eq!((run.status, run.out.as_str()), (0, "H100 sm_90: embedded images in 9 files: 9 native\n"));
    let run = sandbox.fatbin("select --device sm_75 many");
    let first = "T4 sm_75: embedded images in 9 files: 9 nothing\nmany/0.o: T4 sm_75: nothing: ";
    assert!(run.status == 1 && run.out.starts_with(first), "{}", run.out);
    // Next to a container, both answers count.
    sandbox.fatbin("wrap --allow-missing-kernels --kind cuda --entry kernel=stub -o cuda.o cubin").ok();
    sandbox.shell("ld -r -o both.o cuda.o blobs.o").ok();
    let run = sandbox.fatbin("select --device sm_90 both.o");
    assert_eq!(run.status, 0, "{}", run.out);
    assert!(run.out.contains("1 choice: native; 2 embedded images: native"), "{}", run.out);
    assert!(run.out.contains("2 embedded NVIDIA images"), "{}", run.out);
}

#[test]
fn check_counts_them_for_architectures() {
    let sandbox = sandbox();
    sandbox.file("good.toml", "[archs]\nrequire = [\"sm_90\", \"gfx90a\"]\n");
    sandbox.file("bad.toml", "[archs]\nrequire = [\"sm_100\"]\n");
    sandbox.file("registered.toml", "[images]\nregistered = true\n");
    assert_eq!(sandbox.fatbin("check --policy good.toml blobs.o").status, 0);
    assert_eq!(sandbox.fatbin("check --policy bad.toml blobs.o").status, 1);
    assert_eq!(sandbox.fatbin("check --policy registered.toml blobs.o").status, 0);
}

#[test]
fn prune_keeps_them() {
    let sandbox = sandbox();
    for options in ["--device sm_100", "--keep gfx90a", "--drop sm_90"] {
        sandbox.fatbin(&format!("prune {options} blobs.o -o pruned.o"));
        assert_eq!(sandbox.read("pruned.o"), sandbox.read("blobs.o"), "{options}");
    }
}
