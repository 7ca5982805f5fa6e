//! `--proof`: files that are compared with proofs, and invalid proofs.

use super::Sandbox;

const POLICY: &str = "images.proven = true";

#[test]
fn finds_the_archive_around_a_member_in_a_directory() {
    let sandbox = Sandbox::with_device_code();
    std::fs::create_dir(sandbox.path("dist")).unwrap();
    // A file with the name of a member is not the archive.
    for (from, to) in [("pruned.whl", "dist/a.whl"), ("cuda.whl", "dist/a!b.whl"), ("pruned.o", "dist/a")] {
        sandbox.file(to, sandbox.read(from));
    }
    let run = sandbox.check(POLICY, "dist --proof whl.json --proof pruned.json");
    assert_eq!(run.status, 1, "{}", run.err);
    let violations: Vec<&str> = run.out.lines().filter(|line| line.contains(": proven: ")).collect();
    assert!(matches!(violations[..], [line] if line.starts_with("dist/a!b.whl!lib/cuda.so: ")), "{}", run.out);
}

#[test]
fn standard_input_is_undecided() {
    let sandbox = Sandbox::with_device_code();
    sandbox.file("policy.toml", POLICY);
    let run = sandbox.shell("fatbin check --policy policy.toml --proof pruned.json - < pruned.o");
    let expected = "standard input: undecided: proven: cannot be compared with proofs: standard input is not a file; specify its path\n";
    assert!(run.status == 2 && run.out.starts_with(expected), "{}{}", run.out, run.err);
}

#[test]
fn rejects_files_that_are_not_proofs() {
    let sandbox = Sandbox::with_device_code();
    let proof = String::from_utf8(sandbox.read("pruned.json")).unwrap();
    sandbox.file("other.json", proof.replace("fatbin.proof/1", "fatbin.proof/2"));
    sandbox.file("cut.json", &proof[..proof.len() / 2]);
    for (name, message) in [
        ("missing.json", "cannot open: no such file"),
        ("text", "not a proof of a change: expected "),
        ("cut.json", "not a proof of a change: EOF while parsing "),
        ("other.json", "schema: \"fatbin.proof/2\", expected \"fatbin.proof/1\""),
    ] {
        let run = sandbox.check(POLICY, &format!("pruned.o --proof {name}"));
        assert_eq!((run.status, run.out.as_str()), (2, ""), "{name}: {}", run.err);
        assert!(run.err.starts_with(&format!("fatbin: {name}: {message}")), "{name}: {}", run.err);
    }
}

#[test]
fn warns_of_a_proof_without_effect() {
    let sandbox = Sandbox::with_device_code();
    let run = sandbox.check("", "pruned.o --proof pruned.json");
    let expected = "fatbin: warning: policy.toml: --proof has no effect; set images.proven = true\n";
    assert_eq!((run.status, run.err.as_str()), (0, expected), "{}", run.out);
}
