//! Small stacks: of the first thread (`ulimit -s`), and of the others by default (`RUST_MIN_STACK`).

use super::threads::{tar_gz_of, zip_of};
use super::*;

/// Commands on archives in archives, and commands whose codecs start threads.
const COMMANDS: [&str; 11] = [
    "--help",
    "scan --json in.zip",
    "inspect --json in.zip",
    "verify in.zip",
    "lock -o - in.zip",
    "check --init in.zip",
    "size in.zip",
    "diff in.zip one.so",
    "requires --json in.zip",
    "extract -o out in.zip",
    "bundle --raw --type o --compress --target hip-amdgcn-amd-amdhsa--gfx90a=image -o bundle",
];

/// Creates a package of archives that are as deep as they are opened.
fn inputs() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "image");
    sandbox.fatbin("wrap --kind hip -o one.so image").ok();
    let mut nested = sandbox.read("one.so");
    for level in 0..4 {
        let member = [(format!("{level}.so"), nested)];
        nested = if level % 2 == 0 { tar_gz_of(&member) } else { zip_of(&member) };
    }
    let members: Vec<(String, Vec<u8>)> = (0..6).map(|index| (format!("{index}.zip"), nested.clone())).collect();
    sandbox.file("in.zip", zip_of(&members));
    sandbox
}

#[test]
fn small_stacks_change_nothing() {
    let sandbox = inputs();
    for command in COMMANDS {
        let run = |limit: &str| {
            let run = sandbox.shell(&format!("{limit} exec fatbin {command}"));
            let _ = std::fs::remove_dir_all(sandbox.path("out"));
            let _ = std::fs::remove_file(sandbox.path("bundle"));
            run
        };
        let expected = run("");
        assert!(expected.status <= 1, "{command}: {expected:?}");
        for limit in ["RUST_MIN_STACK=1", "RUST_MIN_STACK=16384", "ulimit -s 24;", "ulimit -s 64;", "ulimit -s 512;"] {
            assert_eq!(run(limit), expected, "{limit} {command}");
        }
    }
}
