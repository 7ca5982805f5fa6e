//! NVIDIA code with 32-bit addresses, which CUDA up to 12.0 compiles.

use crate::Sandbox;

const PTX: &str = ".version 7.0\n.target sm_75\n.address_size 32\n.visible .entry k(.param .u32 p)\n{\nret;\n}\n";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_75-32.cubin", "a.cubin").file("a.ptx", PTX);
    sandbox
}

#[test]
fn a_32_bit_cubin_is_device_code() {
    let sandbox = sandbox();
    let table = "\
a.cubin: elf, 2072 bytes, 1 device image
  CONTAINER   SECTION  KIND  TRIPLE             ARCH   IMAGE  OFFSET  SIZE
  device-elf  -        -     nvptx-nvidia-cuda  sm_75  elf       0x0  2072
";
    assert_eq!(sandbox.fatbin("scan a.cubin").ok(), table);
    let inspected = "\
a.cubin: image 0: nvptx-nvidia-cuda sm_75 elf, 1 kernel
  REGS  SCRATCH  SHARED  CONST  PARAMS  WAVE  CODE  KERNEL
     4        0       0    356       4    32   128  answer_kernel
";
    assert_eq!(sandbox.fatbin("inspect a.cubin").ok(), inspected);
    assert_eq!(sandbox.fatbin("verify a.cubin a.ptx").ok().matches("intact").count(), 2);
    sandbox.file("short", &sandbox.read("a.cubin")[..2000]);
    let run = sandbox.fatbin("scan short");
    assert!(run.status == 2 && run.err.contains("ELF program header offset at 0x1c"), "{}", run.err);
}

#[test]
fn a_fat_binary_states_the_size_of_addresses() {
    let sandbox = sandbox();
    sandbox.fatbin("pack --kind cuda -o fat a.cubin a.ptx").ok();
    assert_eq!(sandbox.fatbin("verify fat").ok(), "fat: 2 device images, intact\n");
    let table = sandbox.fatbin("scan fat").ok();
    assert_eq!(table.matches("nvptx-nvidia-cuda").count(), 2, "{table}");
    sandbox.fatbin("extract fat --image 0 --to out").ok();
    assert_eq!(sandbox.read("out"), sandbox.read("a.cubin"));
    for file in ["fat", "a.ptx"] {
        let run = sandbox.fatbin(&format!("select --device T4 {file}"));
        let reason = "it has 32-bit addresses, and 64-bit programs load 64-bit code only";
        assert!(run.status == 1 && run.out.contains(reason), "{file}: {}{}", run.out, run.err);
    }
    let run = sandbox.fatbin("check --asked 7.5 fat");
    let finding = "no code for sm_75 (7.5); nothing runs there; available: sm_75 (32-bit)";
    assert!(run.status == 1 && run.out.contains(finding), "{}", run.out);
    let metadata = sandbox.fatbin("metadata --format conda fat");
    assert!(!metadata.out.contains("__cuda_arch"), "{}", metadata.out);
}
