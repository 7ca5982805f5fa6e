//! One question has one answer: commands that are asked about the same files and devices do not contradict each other.
//!
//! The files are made from a seed: modules in containers of several formats, with images for several processors, with
//! and without kernels, intact and damaged. `select` is the reference, because tests compare it with real runtimes.

use std::collections::{BTreeMap, BTreeSet};

use crate::Sandbox;
use serde_json::Value;

/// Number of files.
const FILES: usize = 1000;

/// Seed of the files.
const SEED: u64 = 65;

/// Devices that all commands are asked about. The names of two of them leave settings open.
const DEVICES: [&str; 12] = [
    "sm_75",
    "sm_80",
    "sm_86",
    "sm_89",
    "sm_90",
    "sm_100",
    "sm_120",
    "gfx906:sramecc+:xnack-",
    "gfx908",
    "gfx90a",
    "gfx90a:sramecc+:xnack-",
    "gfx942:sramecc+:xnack-",
];

/// Of the files and devices with code that runs, one in this number is pruned.
const SELECTIONS_PER_PRUNE: usize = 40;

/// Name of the kernel in the fixtures. Each file has another name of the same length.
const NAME: &str = "answer_kernel";

/// Random numbers (Knuth, MMIX).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }
}

fn replace(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let mut bytes = bytes.to_vec();
    for at in 0..=bytes.len() - old.len() {
        if bytes[at..].starts_with(old) {
            bytes[at..at + new.len()].copy_from_slice(new);
        }
    }
    bytes
}

/// An image for a device.
struct Image {
    arch: String,
    bytes: Vec<u8>,
    is_ptx: bool,
}

/// Makes images.
struct Images {
    cubin: Vec<u8>,
    code_object: Vec<u8>,
}

impl Images {
    /// Machine code or PTX for an NVIDIA architecture. Cubins of CUDA 13 have it in bits 8 to 15 of `e_flags`.
    fn nvidia(&self, random: &mut Random, kernel: &str) -> Image {
        let number = random.one_of(&[75_u32, 80, 86, 90, 100, 120]);
        let has_kernel = !random.one_in(4);
        if random.one_in(3) {
            let code = if has_kernel { format!(".visible .entry {kernel}()\n{{\n\tret;\n}}\n") } else { String::new() };
            let version = if number < 90 { "7.0" } else { "8.7" };
            let text = format!(".version {version}\n.target sm_{number}\n.address_size 64\n{code}\0");
            return Image { arch: format!("sm_{number}"), bytes: text.into_bytes(), is_ptx: true };
        }
        let mut bytes = replace(&self.cubin, NAME.as_bytes(), kernel.as_bytes());
        bytes[0x31] = number as u8;
        if !has_kernel {
            // A function instead of an entry point.
            bytes = replace(&bytes, b"\x12\x10", b"\x12\x00");
        }
        Image { arch: format!("sm_{number}"), bytes, is_ptx: false }
    }

    /// A code object for an AMD processor, with its features in `e_flags`.
    fn amd(&self, random: &mut Random, kernel: &str) -> Image {
        let (arch, flags) = random.one_of(&[
            ("gfx906", 0x52f_u32),
            ("gfx908", 0x530),
            ("gfx90a", 0x53f),
            ("gfx90a:xnack+", 0x73f),
            ("gfx90a:xnack-", 0x63f),
            ("gfx942", 0x54c),
        ]);
        let mut bytes = replace(&self.code_object, NAME.as_bytes(), kernel.as_bytes());
        bytes[0x30..0x34].copy_from_slice(&flags.to_le_bytes());
        if random.one_in(4) {
            // Neither metadata nor a kernel descriptor.
            bytes = replace(&bytes, b"AMDGPU\0", b"XMDGPU\0");
            bytes = replace(&bytes, format!("{kernel}.kd").as_bytes(), format!("{kernel}.xx").as_bytes());
        }
        Image { arch: arch.to_owned(), bytes, is_ptx: false }
    }
}

fn aligned(bytes: &mut Vec<u8>, alignment: usize) {
    bytes.resize(bytes.len().next_multiple_of(alignment), 0);
}

fn fat_binary(images: &[Image]) -> Vec<u8> {
    let mut entries = Vec::new();
    for image in images {
        let number: u32 = image.arch["sm_".len()..].parse().unwrap();
        let size = image.bytes.len().next_multiple_of(8);
        entries.extend([if image.is_ptx { 1_u16 } else { 2 }, 0x101].iter().flat_map(|it| it.to_le_bytes()));
        entries.extend(64_u32.to_le_bytes());
        entries.extend((size as u64).to_le_bytes());
        entries.extend([0_u32, 0, 0x0008_0007, number].iter().flat_map(|it| it.to_le_bytes()));
        entries.extend([0_u64, 0x11, 0, 0].iter().flat_map(|it| it.to_le_bytes()));
        entries.resize(entries.len().next_multiple_of(8), 0);
        entries.extend(&image.bytes);
        aligned(&mut entries, 8);
    }
    let mut bytes = [0xba55_ed50_u32, 0x0010_0001].iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<_>>();
    bytes.extend((entries.len() as u64).to_le_bytes());
    bytes.extend(entries);
    bytes
}

fn bundle(images: &[Image]) -> Vec<u8> {
    let ids = images.iter().map(|image| format!("hipv4-amdgcn-amd-amdhsa--{}", image.arch));
    let ids: Vec<String> = ["host-x86_64-unknown-linux--".to_owned()].into_iter().chain(ids).collect();
    let mut bytes = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    bytes.extend((ids.len() as u64).to_le_bytes());
    let mut offset = 4096_u64;
    let mut code = Vec::new();
    for (index, id) in ids.iter().enumerate() {
        let image = if index == 0 { &[][..] } else { &images[index - 1].bytes };
        for number in [offset, image.len() as u64, id.len() as u64] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(id.as_bytes());
        code.extend(image);
        aligned(&mut code, 4096);
        offset = 4096 + code.len() as u64;
    }
    bytes.resize(4096, 0);
    bytes.extend(code);
    bytes
}

/// Makes a file of one to three modules, each a container. The kernel has the same name in all of them.
fn file(random: &mut Random, images: &Images, kernel: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..1 + random.below(3) {
        let count = 1 + random.below(4);
        let is_amd = random.one_in(2);
        let mut made: Vec<Image> = Vec::new();
        for _ in 0..count {
            let image = if is_amd { images.amd(random, kernel) } else { images.nvidia(random, kernel) };
            if made.iter().all(|known| known.arch != image.arch || known.is_ptx != image.is_ptx) {
                made.push(image);
            }
        }
        let container = if is_amd { bundle(&made) } else { fat_binary(&made) };
        bytes.extend(container);
        aligned(&mut bytes, 4096);
    }
    if random.one_in(20) {
        bytes.truncate(bytes.len() - 1 - random.below(bytes.len() / 4));
    }
    bytes
}

/// What a command concludes about a file on a device.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Conclusion {
    /// In each setting that the name of the device leaves open, some module runs.
    runs: bool,
    /// Some module, or a kernel of it, runs in all settings.
    runs_always: bool,
    /// Some module with kernels, or a kernel, has nothing in some setting.
    lacks: bool,
    /// It is not known.
    is_unknown: bool,
}

/// Answers of code that runs.
const RUNNING: [&str; 3] = ["native", "compatible", "jit"];

/// Conclusions by file and device.
type Conclusions = BTreeMap<(String, String), Conclusion>;

fn document(sandbox: &Sandbox, command: &str) -> Value {
    serde_json::from_str(&sandbox.fatbin(command).out).unwrap_or_else(|error| panic!("{command}: {error}"))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value}")).to_owned()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns the conclusion of `select`: the answer of a file, and its number of modules by answer.
fn conclusion(answer: &str, modules: &Value) -> Conclusion {
    let modules = modules.as_object().unwrap();
    Conclusion {
        runs: RUNNING.contains(&answer),
        runs_always: RUNNING.iter().any(|service| modules.contains_key(*service)),
        lacks: modules.contains_key("nothing"),
        is_unknown: modules.contains_key("undecided"),
    }
}

/// `select` about all devices at once.
fn of_select(sandbox: &Sandbox) -> Conclusions {
    let document = document(sandbox, &format!("select --json --device {} d", DEVICES.join(",")));
    let mut found = Conclusions::new();
    for file in array(&document["libraries"]).iter().flat_map(|library| array(&library["files"])) {
        for answer in array(&file["answers"]) {
            let conclusion = conclusion(answer["answer"].as_str().unwrap(), &answer["choices"]);
            found.insert((text(&file["path"]), text(&answer["device"])), conclusion);
        }
    }
    found
}

/// `select` about one device: the lists of images.
fn of_select_alone(sandbox: &Sandbox, device: &str, found: &mut Conclusions) {
    let document = document(sandbox, &format!("select --json --device {device} d"));
    for file in array(&document["files"]) {
        if let Some(answer) = file["answer"].as_str() {
            let conclusion = conclusion(answer, &file["modules"]);
            let concerned = array(&file["choices"]).iter().filter(|choice| choice["concerned"] == true);
            let with_kernels = concerned.filter(|choice| choice["without_kernels"] != true);
            let answers = || with_kernels.clone().flat_map(|choice| array(&choice["answers"]));
            let lacks = answers().any(|it| it["answer"] == "nothing");
            // Images that the program selects are a module without a choice.
            assert!(conclusion.lacks >= lacks, "{file}");
            found.insert((text(&file["path"]), device.to_owned()), conclusion);
        }
    }
}

/// The kernels of all files by device. The kernel has another name in each file.
fn of_matrix(sandbox: &Sandbox, paths: &BTreeMap<String, String>) -> Conclusions {
    let document = document(sandbox, &format!("inspect --matrix --json --device {} d", DEVICES.join(",")));
    let mut found = Conclusions::new();
    for kernel in array(&document["matrix"]["kernels"]) {
        let path = &paths[&text(&kernel["name"])];
        for cell in array(&kernel["devices"]) {
            let state = text(&cell["state"]);
            let conclusion = found.entry((path.clone(), text(&cell["device"]))).or_default();
            match state.as_str() {
                "unknown" => conclusion.is_unknown = true,
                "none" | "gap" => conclusion.lacks = true,
                "other-platform" => {}
                _ => conclusion.runs_always = true,
            }
        }
    }
    found.retain(|_, conclusion| *conclusion != Conclusion::default());
    found
}

/// Files and devices with a finding of a rule.
fn of_check(sandbox: &Sandbox, rule: &str, policy: &str) -> BTreeMap<(String, String), bool> {
    sandbox.file("policy.toml", policy);
    let document = document(sandbox, "check --json --policy policy.toml d");
    let mut found = BTreeMap::new();
    for finding in array(&document["findings"]).iter().filter(|finding| finding["rule"] == rule) {
        let message = text(&finding["message"]);
        // The longest name that the message has: `gfx90a` is a part of others.
        let named = DEVICES.iter().filter(|device| message.contains(**device)).max_by_key(|device| device.len());
        let device = named.unwrap_or_else(|| panic!("{message}"));
        found.insert((text(&finding["path"]), (*device).to_owned()), finding["outcome"] == "violated");
    }
    found
}

fn of_requires(sandbox: &Sandbox) -> BTreeMap<(String, String), bool> {
    let devices: String = DEVICES.iter().map(|device| format!(" --device {device}")).collect();
    let document = document(sandbox, &format!("requires --json{devices} d"));
    let mut found = BTreeMap::new();
    for file in array(&document["files"]) {
        for device in array(&file["devices"]) {
            found.insert((text(&file["path"]), text(&device["device"])), device["runs"] == true);
        }
    }
    found
}

/// Prunes some files for a device that they have code for, and asks `select` again.
fn of_prune(sandbox: &Sandbox, select: &Conclusions) -> Vec<String> {
    let mut disagreements = Vec::new();
    for (key, before) in select.iter().filter(|(_, conclusion)| conclusion.runs).step_by(SELECTIONS_PER_PRUNE) {
        let (path, device) = key;
        let run = sandbox.fatbin(&format!("prune --device {device} -o pruned {path}"));
        // A file whose images are all needed has nothing to prune.
        let pruned = if run.status == 0 { "pruned" } else { path };
        let after = document(sandbox, &format!("select --json --device {device} {pruned}"));
        let file = &after["files"][0];
        let after = file["answer"].as_str().map(|answer| conclusion(answer, &file["modules"]));
        // Modules for other devices may be gone.
        let is_kept = after.is_some_and(|after| after.runs && after.runs_always == before.runs_always);
        if !is_kept {
            disagreements.push(disagreement("select", "prune", key, &(before, &run.err)));
        }
        let _ = std::fs::remove_file(sandbox.path("pruned"));
    }
    disagreements
}

/// Names a disagreement.
fn disagreement(one: &str, other: &str, key: &(String, String), found: &dyn std::fmt::Debug) -> String {
    format!("{one} and {other} disagree about {} on {}: {found:?}", key.0, key.1)
}

#[test]
fn commands_agree_about_what_runs_where() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "cubin").fixture("answer-gfx90a.hsaco", "code-object");
    let images = Images { cubin: sandbox.read("cubin"), code_object: sandbox.read("code-object") };
    std::fs::create_dir(sandbox.path("d")).unwrap();
    let mut random = Random(SEED);
    let mut paths = BTreeMap::new();
    for number in 0..FILES {
        let kernel = format!("kernel_{number:06}");
        sandbox.file(&format!("d/{number:04}.bin"), file(&mut random, &images, &kernel));
        paths.insert(kernel, format!("d/{number:04}.bin"));
    }
    let select = of_select(&sandbox);
    assert!(select.len() > 5 * FILES, "{}", select.len());
    let mut disagreements = Vec::new();
    let mut alone = Conclusions::new();
    for device in DEVICES {
        of_select_alone(&sandbox, device, &mut alone);
    }
    let matrix = of_matrix(&sandbox, &paths);
    let devices = DEVICES.map(|device| format!("{device:?}")).join(", ");
    let accept = "ptx-fallback = \"compute_50\"\n";
    let of_files = of_check(&sandbox, "devices", &format!("[archs]\ndevices = [{devices}]\n{accept}"));
    let of_kernels = of_check(
        &sandbox,
        "kernel-coverage",
        &format!("[archs]\n{accept}[[kernels]]\nmatch = \".*\"\ndevices = [{devices}]\n"),
    );
    let requires = of_requires(&sandbox);
    let keys: BTreeSet<_> = select.keys().chain(alone.keys()).chain(matrix.keys()).collect();
    for key in keys {
        let reference = select.get(key).cloned().unwrap_or_default();
        let of_one = alone.get(key).cloned().unwrap_or_default();
        if reference != of_one {
            disagreements.push(disagreement("select", "select about one device", key, &(&reference, of_one)));
        }
        if reference.is_unknown {
            continue;
        }
        let kernels = matrix.get(key).cloned().unwrap_or_default();
        let differs = (reference.runs_always, reference.lacks) != (kernels.runs_always, kernels.lacks);
        if !kernels.is_unknown && differs {
            disagreements.push(disagreement("select", "inspect --matrix", key, &(&reference, &kernels)));
        }
        if of_files.get(key) == Some(&true) && reference.runs || !of_files.contains_key(key) && !reference.runs {
            disagreements.push(disagreement("select", "check: devices", key, &(&reference, of_files.get(key))));
        }
        if !kernels.is_unknown && of_kernels.contains_key(key) != (kernels.lacks || !kernels.runs_always) {
            disagreements.push(disagreement(
                "inspect --matrix",
                "check: kernels",
                key,
                &(kernels, of_kernels.get(key)),
            ));
        }
        if requires.get(key).is_some_and(|runs| *runs != reference.runs) {
            disagreements.push(disagreement("select", "requires", key, &(&reference, requires.get(key))));
        }
    }
    disagreements.extend(of_prune(&sandbox, &select));
    let count = disagreements.len();
    disagreements.truncate(10);
    assert!(disagreements.is_empty(), "{count} disagreements, such as:\n{}", disagreements.join("\n"));
}
