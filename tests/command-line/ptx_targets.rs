//! PTX whose `.target` decides where it runs, whatever its container states and however it is written.

use crate::Sandbox;

/// Returns a directory with `plain`, a fat binary with PTX in an entry for the architecture of `stated`, which is the
/// directive in place of `own`.
fn sandbox(stated: &str, own: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let text = String::from_utf8(crate::fixture("answer-sm_80.ptx")).unwrap().replace(".target sm_80", stated);
    sandbox.file("stated.ptx", text);
    sandbox.fatbin("pack --kind cuda -o plain stated.ptx").ok();
    let mut bytes = sandbox.read("plain");
    let at = bytes.windows(stated.len()).position(|part| part == stated.as_bytes()).unwrap();
    bytes[at..at + own.len()].copy_from_slice(own.as_bytes());
    sandbox.file("plain", bytes);
    sandbox
}

#[test]
fn the_target_of_ptx_decides_in_plain_and_in_compressed_entries() {
    let sandbox = sandbox(".target sm_80", ".target sm_90");
    for codec in ["lz4", "zstd"] {
        sandbox.fatbin(&format!("transcode --to {codec} -o {codec} plain")).ok();
    }
    for file in ["plain", "lz4", "zstd"] {
        let run = sandbox.fatbin(&format!("verify {file}"));
        assert_eq!(run.status, 2, "{file}: {}", run.err);
        let message = "image 0: the container states sm_80, the image's own header sm_90\n";
        assert_eq!(run.err.matches(message).count(), 1, "{file}: {}", run.err);
        let run = sandbox.fatbin(&format!("select -v --device A100 {file}"));
        assert_eq!(run.status, 1, "{file}");
        let message = "CUDA selects it but cannot load it: it is for 9.0 and later, the device is 8.0";
        assert!(run.out.contains(message), "{file}: {}", run.out);
        sandbox.fatbin(&format!("select --device H100 {file}")).ok();
        let scan = sandbox.fatbin(&format!("scan --json {file}")).ok();
        assert!(scan.contains("\"own_arch\": \"sm_90\""), "{file}: {scan}");
    }
}

#[test]
fn ptx_for_an_older_architecture_than_its_entry_is_intact() {
    // Any newer device compiles it; the driver goes by the entry.
    let sandbox = sandbox(".target sm_90", ".target sm_80");
    for codec in ["lz4", "zstd"] {
        sandbox.fatbin(&format!("transcode --to {codec} -o {codec} plain")).ok();
    }
    for file in ["plain", "lz4", "zstd"] {
        sandbox.fatbin(&format!("verify {file}")).ok();
        sandbox.fatbin(&format!("select --device H100 {file}")).ok();
        assert_eq!(sandbox.fatbin(&format!("select --device A100 {file}")).status, 1, "{file}");
    }
}

#[test]
fn a_suffix_of_the_target_is_read_in_compressed_entries() {
    let sandbox = sandbox(".target sm_90 ", ".target sm_90a");
    sandbox.fatbin("transcode --to zstd -o zstd plain").ok();
    for (device, status) in [("H100", 0), ("RTX-5090", 1)] {
        assert_eq!(sandbox.fatbin(&format!("select --device {device} zstd")).status, status, "{device}");
    }
    assert!(sandbox.fatbin("verify zstd").err.contains("the container states sm_90, the image's own header sm_90a"));
}

#[test]
fn directives_need_no_white_space() {
    let sandbox = Sandbox::new();
    let header = ".version 8.0.target sm_90.address_size 64\n";
    let kernel =
        ".visible.entry k(.param.u64 p,.param .align 8 .b8 q[16]).maxntid 256,1,1{.shared.align 4 .b8 s[64];ret;}";
    sandbox.file("a.ptx", format!("{header}{kernel}.visible.entry m(){{ret;}}"));
    let inspection = sandbox.fatbin("inspect a.ptx").ok();
    assert!(inspection.contains("sm_90 ptx, 2 kernels"), "{inspection}");
    assert!(inspection.contains("      64      24    32      256  k\n"), "{inspection}");
}

#[test]
fn an_architecture_that_does_not_exist_runs_nowhere() {
    let sandbox = Sandbox::new();
    sandbox.file("a.ptx", ".version 8.0\n.target sm_89a\n.address_size 64\n.visible .entry k(){ret;}\n");
    let run = sandbox.fatbin("select -v --device sm_89 a.ptx");
    assert_eq!(run.status, 1, "{}", run.out);
    assert!(run.out.contains("no architecture has the name sm_89a"), "{}", run.out);
}

#[test]
fn no_code_is_written_for_an_architecture_that_does_not_exist() {
    let sandbox = Sandbox::new();
    for (arch, exists) in [("sm_89a", false), ("sm_82", false), ("sm_90f", false), ("sm_90a", true), ("sm_131a", true)]
    {
        sandbox.file("a.ptx", format!(".version 8.0\n.target {arch}\n.address_size 64\n.visible .entry k(){{ret;}}\n"));
        for command in [
            "pack --kind cuda -o x a.ptx",
            "pack -o x a.ptx",
            "wrap --kind cuda --entry k=stub -o x.o a.ptx",
            "wrap --kind openmp -o x.o a.ptx",
        ] {
            let run = sandbox.fatbin(command);
            let message = format!("a.ptx: no architecture has the name {arch}\n");
            assert_eq!((run.status == 0, run.err.ends_with(&message)), (exists, !exists), "{command}: {}", run.err);
        }
        let run = sandbox.fatbin(&format!("bundle --type o -o x --target cuda-nvptx64-nvidia-cuda--{arch}=a.ptx"));
        assert_eq!(run.status == 0, exists, "{}", run.err);
        // Unchanged bytes are the caller's business.
        sandbox.fatbin("wrap --kind openmp --raw -o x.o a.ptx").ok();
    }
}
