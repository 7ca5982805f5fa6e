//! Artifact bundles of cuda-oxide.

use crate::Sandbox;

#[test]
fn bundles_are_listed_and_extracted() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer.oxart", "a.oxart");
    let expected = "\
a.oxart: raw, 352 bytes, 4 device images
  CONTAINER  SECTION  KIND  TRIPLE               ARCH   IMAGE    OFFSET  SIZE
  oxart      -        cuda  nvptx64-nvidia-cuda  sm_90  ptx        0xc8    27
  oxart      -        cuda  nvptx64-nvidia-cuda  sm_90  unknown    0xf8    22
  oxart      -        cuda  nvptx64-nvidia-cuda  sm_90  nvvm      0x120     4
  oxart      -        cuda  nvptx64-nvidia-cuda  sm_90  elf       0x138    12
";
    assert_eq!(sandbox.fatbin("scan a.oxart").ok(), expected);
    let json = sandbox.fatbin("scan --json a.oxart").ok();
    for text in
        ["\"bundle\": \"answer\"", "\"payload\": \"answer.ll\"", "\"form\": \"nvvm-ir\"", "\"name\": \"answer_kernel\""]
    {
        assert!(json.contains(text), "{text}: {json}");
    }
    sandbox.fatbin("extract a.oxart --arch sm_90 -o out --name {number}").ok();
    assert_eq!(sandbox.read("out/1"), b"; ModuleID = 'answer'\n");
}

#[test]
fn the_program_selects_its_code() {
    let sandbox = Sandbox::new();
    let run = sandbox.fixture("answer.oxart", "a.oxart").fatbin("select --device sm_90 a.oxart");
    assert_eq!(run.status, 0);
    assert!(run.out.contains("native: the program selects from 4"), "{}", run.out);
}

#[test]
fn replacing_keeps_the_size_if_the_code_fits() {
    let sandbox = Sandbox::new();
    sandbox
        .fixture("answer.oxart", "a.oxart")
        .file("new.ptx", ".version 8.0\n.target sm_90\n.visible .entry k() { ret; }\n");
    sandbox.fatbin("replace --image 0=new.ptx -o larger a.oxart").ok();
    assert_eq!(sandbox.read("larger").len(), 352 + 56);
    sandbox.fatbin("extract larger -o out --name {number}").ok();
    assert_eq!(sandbox.read("out/0"), sandbox.read("new.ptx"));
    let old = sandbox.read("a.oxart");
    assert_eq!(sandbox.read("larger")[0xe8..352], old[0xe8..]);
}

#[test]
fn pruning_keeps_what_only_the_program_knows() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer.oxart", "a.oxart");
    sandbox.fatbin("prune --device sm_90 -o pruned a.oxart").ok();
    assert_eq!(sandbox.read("pruned"), sandbox.read("a.oxart"));
    let run = sandbox.fatbin("prune --device gfx90a -o none a.oxart");
    assert_eq!((run.status, sandbox.path("none").exists()), (1, false), "{}", run.err);
}
