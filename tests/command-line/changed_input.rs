//! Inputs that commands cannot change, and standard input and output: the same for all commands that change files.

use crate::Sandbox;

/// Commands that change files, without input and output.
const CHANGES: [&str; 4] = [
    "prune --device sm_90",
    "strip --device-debug",
    "transcode --to zstd",
    "replace --image image:elf=answer-sm_90.cubin",
];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "answer-sm_90.cubin");
    sandbox.fixture("answer.kdb", "answer.kdb");
    sandbox.fixture("answer.aks2", "answer.aks2");
    sandbox.fatbin("pack --kind cuda -o file answer-sm_90.cubin").ok();
    sandbox.fatbin("wrap --kind cuda -o file.o file").ok();
    sandbox
}

#[test]
fn inputs_that_cannot_be_changed_are_errors_of_one_line() {
    let sandbox = sandbox();
    std::fs::create_dir(sandbox.path("directory")).unwrap();
    sandbox.shell("tar -czf x.tar.gz file.o; tar -cf x.tar file.o; gzip -k file; ar rcT thin.a file.o").ok();
    sandbox.shell("cp x.tar.gz data.tar.gz; echo 2.0 > debian-binary; ar rc x.deb debian-binary data.tar.gz").ok();
    sandbox.shell("ar rc stores.a answer.kdb").ok();
    let names = sandbox.names();
    let package = "only members of static libraries and zip files can be changed; extract it, and change the files";
    for (input, message) in [
        ("x.tar.gz", package),
        ("x.tar", package),
        ("file.gz", package),
        ("answer.kdb", package),
        ("answer.aks2", package),
        ("x.deb!data.tar.gz", package),
        ("stores.a!answer.kdb", package),
        ("thin.a", "a thin archive only lists its members; change these files"),
        ("directory", "is a directory, not a regular file"),
    ] {
        for (change, output) in CHANGES.into_iter().flat_map(|change| [(change, "-o out"), (change, "-i")]) {
            let file = input.split('!').next().unwrap();
            let run = sandbox.fatbin(&format!("{change} {output} {file}"));
            let error = format!("fatbin: {input}: {message}\n");
            assert_eq!((run.status, run.out.as_str(), run.err), (2, "", error), "{change} {output}");
        }
    }
    let run = sandbox.fatbin("prune --device sm_90 --dry-run x.tar.gz");
    assert_eq!((run.status, run.err), (2, format!("fatbin: x.tar.gz: {package}\n")));
    for (input, message) in [
        ("x.tar.gz", "x.tar.gz: is an archive; unpack it and split the files in it"),
        ("answer.kdb", "answer.kdb: is an archive; unpack it and split the files in it"),
        ("thin.a", "thin.a: a thin archive only lists its members; split these files"),
        ("directory", "directory: is a directory, not a regular file"),
        ("-", "standard input has no name for the files to write; specify a file"),
    ] {
        let run = sandbox.fatbin(&format!("split -o parts {input}"));
        assert_eq!((run.status, run.out.as_str(), run.err), (2, "", format!("fatbin: {message}\n")));
    }
    assert_eq!(sandbox.names(), names);
}

#[test]
fn standard_input_and_output_have_the_same_result() {
    let sandbox = sandbox();
    for change in CHANGES {
        sandbox.fatbin(&format!("{change} -o out file.o")).ok();
        let mut command = sandbox.command(env!("CARGO_BIN_EXE_fatbin"));
        command.args(format!("{change} --proof proof.json -o - -").split(" "));
        let output = command.stdin(std::fs::File::open(sandbox.path("file.o")).unwrap()).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{change}: {output:?}");
        assert!(output.stdout == sandbox.read("out"), "{change}");
        let proof: serde_json::Value = serde_json::from_slice(&sandbox.read("proof.json")).unwrap();
        let sum = sandbox.shell("sha256sum file.o").ok()[..64].to_owned();
        assert_eq!(proof["input"]["sha256"].as_str(), Some(sum.as_str()), "{change}");
        let run = sandbox.fatbin(&format!("{change} -i -"));
        let error = "fatbin: --in-place: standard input is not a file; use -o\n";
        assert_eq!((run.status, run.err.as_str()), (2, error), "{change}");
    }
}
