//! Code that needs other code: parts of one program, which the driver links, and relocatable code, which nothing loads.

use crate::Sandbox;
use crate::dropin::called;

fn ptx(sandbox: &Sandbox, name: &str, body: &str) {
    sandbox.file(name, format!(".version 8.0\n.target sm_90\n.address_size 64\n{body}\n"));
}

/// Writes a fat binary with machine code for sm_90 and two entries of relocatable PTX, as `nvcc -reloc-ptx` does.
fn relocatable_ptx() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "a.cubin");
    ptx(&sandbox, "function.ptx", ".visible .func twice() { ret; }");
    ptx(&sandbox, "kernel.ptx", ".extern .func twice();\n.visible .entry work() { bar.sync 0; ret; }");
    sandbox.fatbin("pack --kind cuda -o x a.cubin function.ptx kernel.ptx").ok();
    let mut bytes = sandbox.read("x");
    // The header of an entry begins with its kind, its version and its size.
    let mut entry = 16;
    while entry < bytes.len() {
        let field = |at: usize| u32::from_le_bytes(bytes[entry + at..entry + at + 4].try_into().unwrap()) as usize;
        let next = entry + field(4) + field(8);
        if bytes[entry] == 1 {
            bytes[entry] = 0x40;
        }
        entry = next;
    }
    sandbox.file("x", bytes);
    sandbox
}

#[test]
fn entries_of_relocatable_ptx_are_parts_of_one_program() {
    let sandbox = relocatable_ptx();
    let select = sandbox.fatbin("select --device B200 x").ok();
    assert!(select.contains("CUDA on sm_100 links images 1, 2 at load time (JIT from PTX)"), "{select}");
    assert!(!select.contains("of equal PTX"), "{select}");
    let matrix = sandbox.fatbin("inspect --matrix --device B200 x").ok();
    assert!(matrix.contains("by PTX on sm_100\n  work\n"), "{matrix}");
    let inspect = sandbox.fatbin("inspect x").ok();
    assert_eq!(inspect.matches("a part of one program").count(), 2, "{inspect}");
    sandbox.fatbin("prune --device B200 -o y x").ok();
    let kept = sandbox.fatbin("inspect y").ok();
    assert!(kept.contains("ptx, no kernels") && kept.contains("ptx, 1 kernel"), "{kept}");
    sandbox.fatbin("select --device B200 y").ok();
    // Where machine code runs, no PTX is linked.
    let select = sandbox.fatbin("select --device H100 x").ok();
    assert!(select.contains("selects image 0"), "{select}");
}

#[test]
fn relocatable_machine_code_is_to_be_linked() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "full.cubin");
    let mut bytes = sandbox.read("full.cubin");
    // ET_REL.
    bytes[0x10] = 1;
    sandbox.file("r.cubin", &bytes);
    for command in ["select --device H100", "requires --device H100"] {
        let run = sandbox.fatbin(&format!("{command} r.cubin"));
        let message = "r.cubin: relocatable code for sm_90, to be linked first\n";
        assert!(run.status == 1 && [run.out, run.err].concat().contains(message), "{command}");
    }
    let matrix = sandbox.fatbin("inspect --matrix r.cubin").ok();
    assert!(matrix.contains("to be linked on sm_90"), "{matrix}");
    let screen = sandbox.fatbin("./r.cubin").ok();
    assert!(screen.contains("H100 sm_90 to be linked"), "{screen}");
    let wrap = sandbox.fatbin("wrap --kind cuda --entry answer_kernel=stub -o r.o r.cubin");
    assert!(wrap.status != 0 && wrap.err.contains("link it first"), "{}", wrap.err);
}

#[test]
fn the_target_of_ptx_decides_in_groups() {
    let sandbox = Sandbox::new();
    ptx(&sandbox, "a.ptx", ".visible .entry work() { bar.sync 0; ret; }");
    let images = "--image3=kind=ptx,sm=80,file=a.ptx --image3=kind=ptx,sm=70,file=a.ptx";
    called(&sandbox, "fatbinary", &format!("--create=x --concat --compress-all {images}")).ok();
    let run = sandbox.fatbin("select --device A100 x");
    let message = "CUDA selects it but cannot load it: it is for 9.0 and later, the device is 8.0";
    assert!(run.status == 1 && run.out.contains(message), "{}", run.out);
    sandbox.fatbin("select --device H100 x").ok();
    let verify = sandbox.fatbin("verify x");
    assert!(verify.err.contains("image 1: the container states sm_70, the image's own header sm_90"), "{}", verify.err);
}
