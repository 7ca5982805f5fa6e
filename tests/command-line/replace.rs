//! `replace`: images replaced in files of containers and in host files.

use crate::Sandbox;

/// PTX for `sm_80` that compresses badly, of a number of lines.
fn ptx(lines: u32) -> String {
    let mut state = 1_u32;
    let mut text = ".version 8.0\n.target sm_80\n.address_size 64\n".to_owned();
    for _ in 0..lines {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
        text += &format!("// {state:08x}\n");
    }
    text + ".visible .entry kernel()\n{\n  ret;\n}\n"
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "amd").fixture("answer-gfx90a-debug.hsaco", "debug");
    sandbox.fixture("answer-gfx90a-xnack+.hsaco", "xnack").fixture("answer-sm_90.cubin", "sm90");
    sandbox.file("old.ptx", ptx(500)).file("small.ptx", ptx(100)).file("large.ptx", ptx(1000));
    let ids = "--target host-x86_64-unknown-linux-gnu=/dev/null --target hipv4-amdgcn-amd-amdhsa--gfx90a=debug";
    sandbox.fatbin(&format!("bundle --raw --type o --align 4096 {ids} -o plain")).ok();
    sandbox.fatbin(&format!("bundle --raw --type o --compress --level 1 {ids} -o ccob")).ok();
    sandbox.fatbin("pack --kind cuda -o cuda sm90 old.ptx").ok();
    sandbox.fatbin("pack --kind cuda --compress=lz4 -o lz4 sm90 old.ptx").ok();
    sandbox.fatbin("pack -o offload debug sm90").ok();
    for (kind, file) in [("hip", "plain"), ("hip", "ccob"), ("cuda", "cuda"), ("cuda", "lz4")] {
        sandbox.fatbin(&format!("wrap --kind {kind} -o {file}.o {file}")).ok();
        // Objects of Windows are changed in place, as linked files are.
        sandbox.fatbin(&format!("wrap --kind {kind} --host x86_64-pc-windows-msvc -o {file}.obj {file}")).ok();
    }
    sandbox
}

#[test]
fn one_image_is_replaced_and_the_others_stay() {
    let sandbox = sandbox();
    let cases = [
        ("plain", "0", "amd"),
        ("plain.o", "arch:gfx90a", "amd"),
        ("ccob", "id:hipv4-amdgcn-amd-amdhsa--gfx90a", "amd"),
        ("ccob.o", "kind:hip,image:elf", "amd"),
        ("offload", "triple:amdgcn-amd-amdhsa", "amd"),
        ("cuda", "image:ptx", "small.ptx"),
        ("cuda.o", "1", "small.ptx"),
        ("cuda.o", "1", "large.ptx"),
        ("cuda.obj", "1", "small.ptx"),
        ("plain.obj", "arch:gfx90a", "amd"),
        ("lz4.o", "arch:sm_80", "small.ptx"),
        ("lz4", "arch:sm_80", "large.ptx"),
    ];
    for (input, selector, new) in cases {
        let out = sandbox.fatbin(&format!("replace --image {selector}={new} -o out {input}")).ok();
        assert!(out.starts_with(&format!("{input}: image ")) && out.contains(" replaced, "), "{out}");
        let filter = if new == "amd" { "--arch gfx90a" } else { "--arch sm_80" };
        sandbox.fatbin(&format!("extract out {filter} --to image")).ok();
        assert!(sandbox.read("image") == sandbox.read(new), "{input} {selector}");
        if new != "amd" {
            sandbox.fatbin("extract out --arch sm_90 --to image").ok();
            assert!(sandbox.read("image") == sandbox.read("sm90"), "{input} {selector}");
        }
        if input.ends_with(".obj") {
            assert_eq!(sandbox.read("out").len(), sandbox.read(input).len());
        }
        sandbox.fatbin("verify out").ok();
    }
}

#[test]
fn the_same_image_changes_nothing() {
    let sandbox = sandbox();
    for input in ["lz4", "lz4.o"] {
        sandbox.fatbin(&format!("replace --image 1=old.ptx -o out {input}")).ok();
        assert!(sandbox.read("out") == sandbox.read(input));
    }
}

#[test]
fn an_image_of_unknown_size_may_be_followed_by_padding() {
    let sandbox = sandbox();
    sandbox.fixture("answer-sm_90.ltoir", "code.ltoir");
    assert_eq!(sandbox.read("code.ltoir").len() % 8, 4);
    sandbox.fatbin("pack --kind cuda -o lto code.ltoir sm90").ok();
    sandbox.fatbin("replace --image 0=code.ltoir -o out lto").ok();
    assert!(sandbox.read("out") == sandbox.read("lto"));
}

#[test]
fn an_image_that_does_not_fit_is_refused_with_sizes_and_remedies() {
    let sandbox = sandbox();
    let run = sandbox.fatbin("replace --image 1=large.ptx -o out cuda.obj");
    assert_eq!(run.status, 2, "{}", run.out);
    let (sizes, remedies) = run.err.trim_end().split_once("; ").expect(&run.err);
    let numbers: Vec<u64> = sizes.split(' ').filter_map(|word| word.parse().ok()).collect();
    assert!(sizes.starts_with("fatbin: cuda.obj: container at 0x") && numbers[0] > numbers[1], "{sizes}");
    assert!(remedies.starts_with("--to zstd --best fits with "), "{remedies}");
    assert!(!sandbox.path("out").exists());
    sandbox.fatbin("replace --image 1=large.ptx --to zstd --best -o out cuda.obj").ok();
    sandbox.fatbin("extract out --arch sm_80 --to image").ok();
    assert!(sandbox.read("image") == sandbox.read("large.ptx"));
    // What no codec makes small enough.
    sandbox.file("huge.ptx", ptx(20_000));
    let run = sandbox.fatbin("replace --image 1=huge.ptx -o out lz4.obj");
    assert!(run.status == 2 && run.err.contains("; --to zstd --best makes "), "{}", run.err);
}

#[test]
fn other_targets_need_an_option() {
    let sandbox = sandbox();
    let run = sandbox.fatbin("replace --image 0=xnack -o out plain");
    let message = "fatbin: plain: image 0 is elf amdgcn-amd-amdhsa gfx90a, the new one elf amdgcn-amd-amdhsa gfx90a:xnack+; \
                   use --allow-other-target for another target of the same format\n";
    assert_eq!((run.status, run.err.as_str()), (2, message));
    sandbox.fatbin("replace --image 0=xnack --allow-other-target -o out plain").ok();
    let run = sandbox.fatbin("replace --image 0=old.ptx --allow-other-target -o out cuda");
    assert!(
        run.status == 2 && run.err.contains("image 0 is elf nvptx64-nvidia-cuda sm_90, the new one ptx"),
        "{}",
        run.err
    );
    // The entry states the new target.
    sandbox.file("sm_75.ptx", ptx(3).replace("sm_80", "sm_75"));
    sandbox.fatbin("replace --image 1=sm_75.ptx --allow-other-target -o out cuda").ok();
    sandbox.fatbin("extract out --arch sm_75 --to image").ok();
    assert!(sandbox.read("image") == sandbox.read("sm_75.ptx"));
}

#[test]
fn selectors_select_exactly_one_image() {
    let sandbox = sandbox();
    sandbox.file("text", "nothing").file("empty", "").file("cut", &sandbox.read("sm90")[..900]);
    let cases = [
        ("--image 2=small.ptx", "cuda: no image 2: the file has device images 0 to 1"),
        (
            "--image arch:sm_70=small.ptx",
            "cuda: no image matches arch sm_70; available: cuda nvptx64-nvidia-cuda sm_80, cuda",
        ),
        ("--image kind:cuda=small.ptx", "cuda: several images match kind cuda: 0, 1; use one of these numbers"),
        ("--image 1=small.ptx --image arch:sm_80=large.ptx", "cuda: duplicate replacement of image 1"),
        ("--image 1", "\"1\" is not SELECTOR=FILE"),
        ("--image 1=", "missing file"),
        ("--image gfx90a=amd", "\"gfx90a\": expected a number or KEY:VALUE, such as arch:gfx90a"),
        ("--image arch=amd", "\"arch\": expected a number or KEY:VALUE"),
        ("--image name:x=amd", "unknown key \"name\" (available: kind, triple, arch, id, image)"),
        ("--image kind:gpu=amd", "unknown kind \"gpu\""),
        ("--image image:x=amd", "unknown image format \"x\""),
        ("--image 1=empty", "empty: empty file"),
        ("--image 0=cut", "cut: "),
        ("--image 1=missing", "missing: cannot open"),
    ];
    for (options, message) in cases {
        let run = sandbox.fatbin(&format!("replace {options} -o out cuda"));
        assert!(run.status == 2 && run.err.contains(message), "{options}: {}", run.err);
    }
    let run = sandbox.fatbin("replace --image 0=amd -o out text");
    assert_eq!((run.status, run.err.as_str()), (1, "fatbin: text: no device images\n"));
    assert!(!sandbox.path("out").exists());
}

#[test]
fn archives_are_searched_for_the_image() {
    let sandbox = sandbox();
    sandbox.shell("ar rc lib.a plain.o cuda.obj && ar rc twice.a cuda.obj lz4.obj").ok();
    sandbox.fatbin("replace --image arch:gfx90a=amd --image image:ptx=small.ptx -o new.a lib.a").ok();
    sandbox.fatbin("extract new.a --arch gfx90a --to image").ok();
    assert!(sandbox.read("image") == sandbox.read("amd"));
    sandbox.fatbin("extract new.a --arch sm_80 --to image").ok();
    assert!(sandbox.read("image") == sandbox.read("small.ptx"));
    let cases = [
        ("twice.a", "1", "number 1 selects images in several files: twice.a!cuda.obj and twice.a!lz4.obj"),
        ("lib.a", "arch:sm_70", "lib.a!plain.o: no image matches arch sm_70"),
        ("lib.a", "7", "lib.a!plain.o: no image 7: the file has one device image"),
    ];
    for (input, selector, message) in cases {
        let run = sandbox.fatbin(&format!("replace --image {selector}=small.ptx -o out {input}"));
        assert!(run.status == 2 && run.err.contains(message), "{}", run.err);
        assert!(!sandbox.path("out").exists());
    }
    sandbox.fatbin("replace --image 1=small.ptx --in-place lz4").ok();
    sandbox.fatbin("extract lz4 --arch sm_80 --to image").ok();
    assert!(sandbox.read("image") == sandbox.read("small.ptx"));
}
