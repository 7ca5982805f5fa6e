//! Kernels that have a body for some devices, and only end or trap on others.

use serde_json::Value;

use crate::Sandbox;

/// Writes a fixture with another ELF flags word and other code at the start of its kernel.
fn fixture(sandbox: &Sandbox, name: &str, fixture: &str, number: (usize, &[u8]), code: (&[u8], &[u8])) {
    sandbox.fixture(fixture, name);
    let mut bytes = sandbox.read(name);
    bytes[number.0..number.0 + number.1.len()].copy_from_slice(number.1);
    let start = bytes.windows(code.0.len()).position(|it| it == code.0).unwrap();
    bytes[start..start + code.1.len()].copy_from_slice(code.1);
    sandbox.file(name, bytes);
}

/// The fixture's second instruction is `LDC.64 R2`. `EXIT` or `BPT.TRAP` replaces it.
fn cubin(sandbox: &Sandbox, name: &str, arch: u8, instruction: u64) {
    let code = (&0x0000_8400_ff02_7b82_u64.to_le_bytes()[..], &instruction.to_le_bytes()[..]);
    fixture(sandbox, name, "answer-sm_90.cubin", (0x31, &[arch]), code);
}

/// The fixture's first instruction is `s_load_dwordx2`. `s_endpgm` or `s_trap 2` replaces it.
fn code_object(sandbox: &Sandbox, name: &str, flags: u32, instruction: u32) {
    let code = (&0xc006_0002_u32.to_le_bytes()[..], &instruction.to_le_bytes()[..]);
    fixture(sandbox, name, "answer-gfx90a.hsaco", (0x30, &flags.to_le_bytes()), code);
}

fn ptx(sandbox: &Sandbox, name: &str, body: &str) {
    let text = ".version 8.7\n.target sm_120\n.address_size 64\n.visible .entry answer_kernel(.param .u64 p)\n";
    sandbox.file(name, format!("{text}{{\n\t{body}\n}}\n"));
}

#[test]
fn a_kernel_that_only_ends_or_traps_has_nothing_there() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "full.cubin");
    sandbox.fixture("answer-gfx90a.hsaco", "full.co");
    cubin(&sandbox, "exit.cubin", 120, 0x794d);
    cubin(&sandbox, "trap.cubin", 120, 0x4_0000_795c);
    code_object(&sandbox, "exit.co", 0x54c, 0xbf81_0000);
    code_object(&sandbox, "trap.co", 0x54c, 0xbf92_0002);
    ptx(&sandbox, "exit.ptx", "ret;");
    ptx(&sandbox, "trap.ptx", ".reg .b64 %rd<2>; ld.param.u64 %rd1, [p]; trap; ret;");
    let cases = [
        ("cuda", "full.cubin", "H100", "RTX-5090", "sm_120", ["exit.cubin", "trap.cubin"]),
        ("cuda", "full.cubin", "H100", "RTX-5090", "sm_120", ["exit.ptx", "trap.ptx"]),
        ("hip", "full.co", "MI250X", "MI300X", "gfx942", ["exit.co", "trap.co"]),
    ];
    for (kind, full, served, device, arch, stubs) in cases {
        for (stub, absence) in stubs.iter().zip(["exit", "trap"]) {
            let context = format!("{kind} {stub}");
            let targets = ["--target hipv4-amdgcn-amd-amdhsa--gfx90a", "--target hipv4-amdgcn-amd-amdhsa--gfx942"];
            let command = match kind {
                "hip" => format!("bundle --type o -o x {}={full} {}={stub}", targets[0], targets[1]),
                _ => format!("pack --kind cuda -o x {full} {stub}"),
            };
            sandbox.fatbin(&command).ok();
            let select = sandbox.fatbin(&format!("select --device {device} x"));
            let reason = "selects it, and its kernels only end or trap: nothing of its module runs";
            assert!(select.status == 1 && select.out.contains(reason), "{context}: {}", select.out);
            assert_eq!(sandbox.fatbin(&format!("select --device {served} x")).status, 0, "{context}");
            let matrix = sandbox.fatbin(&format!("inspect --matrix --json --device {device},{served} x")).out;
            let document: Value = serde_json::from_str(&matrix).unwrap();
            let gap = &document["matrix"]["gaps"][0];
            assert_eq!((&gap["absence"], &gap["kernel"]), (&absence.into(), &"answer_kernel".into()), "{context}");
            assert_eq!(document["matrix"]["gaps"].as_array().unwrap().len(), 1, "{context}");
            let screen = sandbox.fatbin("./x").ok();
            assert!(screen.contains(&format!("{arch} 1 without a body")), "{context}: {screen}");
            assert!(screen.contains("gaps      1 kernel has no body on some device"), "{context}: {screen}");
            sandbox.file(
                "p.toml",
                format!("[archs]\ndevices = [\"{arch}\"]\nptx-fallback = \"compute_50\"\n[[kernels]]\nmatch = \".*\"\ndevices = \"all\"\n"),
            );
            let check = sandbox.fatbin("check --policy p.toml x");
            let verb = if absence == "exit" { "ends at once" } else { "traps" };
            let finding = format!("{verb} on {arch}: image 1 is selected there and has no body; image 0 has one");
            assert!(check.status == 1 && check.out.contains(&finding), "{context}: {}", check.out);
            assert!(check.out.contains("x: devices: no code that runs"), "{context}: {}", check.out);
            assert_eq!(sandbox.fatbin(&format!("requires --device {device} x")).status, 1, "{context}");
            let prune = sandbox.fatbin(&format!("prune --device {device} -o y x"));
            assert!(prune.status == 1 && prune.err.contains("no image runs on"), "{context}: {}", prune.err);
        }
    }
    let asked = sandbox.fatbin("check --asked-hip gfx90a;gfx942 x");
    assert!(asked.status == 1 && asked.out.contains("available: gfx90a, gfx942 (stubs)"), "{}", asked.out);
}

/// A kernel without a body for any device does nothing on purpose.
#[test]
fn a_kernel_without_a_body_anywhere_is_served() {
    let sandbox = Sandbox::new();
    cubin(&sandbox, "exit.cubin", 90, 0x794d);
    cubin(&sandbox, "later.cubin", 120, 0x4_0000_795c);
    sandbox.fatbin("pack --kind cuda -o x exit.cubin later.cubin").ok();
    sandbox.fatbin("select --device H100,RTX-5090 x").ok();
    let matrix = sandbox.fatbin("inspect --matrix x").ok();
    assert!(matrix.starts_with("1 kernel, 2 devices, no gaps\n"), "{matrix}");
    // Another module with a body changes nothing.
    sandbox.fixture("answer-sm_90.cubin", "full.cubin");
    sandbox.fatbin("pack --kind cuda -o full full.cubin").ok();
    sandbox.shell("cat x full > both").ok();
    sandbox.fatbin("select --device H100 both").ok();
    let run = sandbox.fatbin("select --device RTX-5090 both");
    assert!(run.out.contains("2 choices: 1 native, 1 nothing"), "{}", run.out);
    // In a package, the kernels of all files are one table.
    std::fs::create_dir(sandbox.path("d")).unwrap();
    sandbox.shell("cp x d/a.bin && cp full d/b.bin").ok();
    let screen = sandbox.fatbin("d").ok();
    assert!(screen.contains("RTX 5090 sm_120 native, 1 without code"), "{screen}");
}
