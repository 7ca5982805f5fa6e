//! Replays the inputs of `fuzz/corpus` without a fuzzer: each reaches code that no smaller one reaches.
//!
//! The targets come from `fuzz/targets`. Here they are functions, and they import this crate.

use std::path::{Path, PathBuf};

use fatbin::View;
use fatbin_core::base::archive::ArchiveFormat;
use fatbin_core::format::ContainerType;

extern crate self as fatbin_fuzz;

#[path = "../../fuzz/buffer.rs"]
mod buffer;
#[path = "../../fuzz/properties.rs"]
mod properties;

pub use buffer::Bounded;
pub use properties::{budget, budget_for, check_container, check_disjoint_images, check_text, check_view};

/// Defines a module and a test for each target.
macro_rules! targets {
    ($($target:ident = $path:literal),+ $(,)?) => {
        $(
            #[path = $path]
            #[allow(unused_attributes, reason = "the targets have no main function")]
            mod $target;

            #[test]
            fn $target() {
                replay(stringify!($target), $target::run);
            }
        )+

        const TARGETS: &[&str] = &[$(stringify!($target)),+];
    };
}

targets! {
    archive = "../../fuzz/targets/archive.rs",
    bitcode = "../../fuzz/targets/bitcode.rs",
    bundle = "../../fuzz/targets/bundle.rs",
    ccob = "../../fuzz/targets/ccob.rs",
    cuda_fatbin = "../../fuzz/targets/cuda_fatbin.rs",
    demangle = "../../fuzz/targets/demangle.rs",
    device_elf = "../../fuzz/targets/device_elf.rs",
    dxbc = "../../fuzz/targets/dxbc.rs",
    embed_record = "../../fuzz/targets/embed_record.rs",
    embedded = "../../fuzz/targets/embedded.rs",
    hcf = "../../fuzz/targets/hcf.rs",
    host_match = "../../fuzz/targets/host_match.rs",
    host_object = "../../fuzz/targets/host_object.rs",
    image_hashes = "../../fuzz/targets/image_hashes.rs",
    inspect = "../../fuzz/targets/inspect.rs",
    kernel_store = "../../fuzz/targets/kernel_store.rs",
    kpack = "../../fuzz/targets/kpack.rs",
    lock = "../../fuzz/targets/lock.rs",
    metal_archive = "../../fuzz/targets/metal_archive.rs",
    metallib = "../../fuzz/targets/metallib.rs",
    names = "../../fuzz/targets/names.rs",
    ocloc_archive = "../../fuzz/targets/ocloc_archive.rs",
    offload_binary = "../../fuzz/targets/offload_binary.rs",
    options = "../../fuzz/targets/options.rs",
    oxart = "../../fuzz/targets/oxart.rs",
    package_metadata = "../../fuzz/targets/package_metadata.rs",
    patch_tokens = "../../fuzz/targets/patch_tokens.rs",
    policy = "../../fuzz/targets/policy.rs",
    promise = "../../fuzz/targets/promise.rs",
    rebuild = "../../fuzz/targets/rebuild.rs",
    report = "../../fuzz/targets/report.rs",
    scan = "../../fuzz/targets/scan.rs",
    selection = "../../fuzz/targets/selection.rs",
    syclbin = "../../fuzz/targets/syclbin.rs",
    tile_ir = "../../fuzz/targets/tile_ir.rs",
}

/// Defines the body of a target as a function. The definition follows the targets, which import it by its path.
#[macro_export]
macro_rules! fuzz_target {
    (|$data:ident: &[u8]| $body:block) => {
        pub fn run($data: &[u8]) {
            $body
        }
    };
}

/// Number of prefixes, and of changed bytes, of each input.
const MUTANTS: usize = 50;

/// Runs a target on each input of its corpus, on prefixes of it, and with changed bytes.
fn replay(target: &str, run: fn(&[u8])) {
    for path in inputs(target) {
        // The name of an input that fails.
        println!("{}", path.display());
        let input = std::fs::read(&path).unwrap();
        run(&input);
        for at in (0..input.len()).step_by(input.len().div_ceil(MUTANTS)) {
            println!("{at:#x}");
            run(&input[..at]);
            for byte in [0, 0xff] {
                let mut changed = input.clone();
                changed[at] = byte;
                run(&changed);
            }
        }
    }
}

fn inputs(target: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} is empty", directory.display());
    paths
}

#[test]
fn every_target_is_replayed() {
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/targets")).unwrap() {
        let path = entry.unwrap().path();
        let target = path.file_stem().unwrap().to_str().unwrap();
        assert!(TARGETS.contains(&target), "{target} is not replayed");
    }
}

#[test]
fn every_format_of_archives_has_an_input() {
    let inputs: Vec<Vec<u8>> = inputs("archive").iter().map(|path| std::fs::read(path).unwrap()).collect();
    for format in ArchiveFormat::all() {
        let is_of =
            |input: &Vec<u8>| ArchiveFormat::of(View::new(input)).is_some_and(|found| std::ptr::eq(found, format));
        assert!(inputs.iter().any(is_of), "fuzz/corpus/archive has no input for {format:?}");
    }
}

/// Fuzz target of each type of container, and the seed of scripts/torture by its text in scripts/trials/seeds.py.
fn target_and_seed(container: ContainerType) -> (&'static str, &'static str) {
    match container {
        ContainerType::OffloadBinary => ("offload_binary", "offload-binary-"),
        ContainerType::Bundle => ("bundle", "\"bundle\""),
        ContainerType::Ccob => ("ccob", "ccob-"),
        ContainerType::CudaFatbin => ("cuda_fatbin", "cuda-fatbin"),
        ContainerType::Kpack => ("kpack", "kpack/"),
        ContainerType::Oxart => ("oxart", "answer.oxart"),
        ContainerType::MetalLibrary => ("metallib", "answer.metallib"),
        ContainerType::SyclBin => ("syclbin", "syclbin/"),
        ContainerType::DxContainer => ("dxbc", "dxbc/"),
        ContainerType::Hcf => ("hcf", "hcf/"),
        ContainerType::MetalArchive | ContainerType::MetalBinary => ("metal_archive", "metal_archive/"),
        ContainerType::OclocArchive => ("ocloc_archive", "ocloc_archive/"),
        ContainerType::SyclImage => ("scan", "sycl-image.o"),
        ContainerType::BundleSection => ("scan", "bundle.o"),
        ContainerType::DeviceElf => ("device_elf", "answer-sm_90.cubin"),
        ContainerType::Ptx => ("device_elf", "answer-sm_80.ptx"),
        ContainerType::Bitcode => ("bitcode", "wrapped.bc"),
        ContainerType::SpirV => ("device_elf", "module.spv"),
        ContainerType::LtoIr => ("device_elf", "answer-sm_90.ltoir"),
        ContainerType::OptixIr => ("device_elf", "code.optixir"),
        ContainerType::TileIr => ("tile_ir", "answer.tilebc"),
        ContainerType::PatchTokens => ("patch_tokens", "answer-gen9.gen"),
        ContainerType::Embedded => ("embedded", "arrays.o"),
    }
}

#[test]
fn every_container_has_a_target_and_a_seed_of_torture() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/trials/seeds.py");
    let seeds = std::fs::read_to_string(seeds).unwrap();
    for container in ContainerType::ALL {
        let (target, seed) = target_and_seed(container);
        assert!(TARGETS.contains(&target), "{container:?}: {target}");
        assert!(seeds.contains(seed), "{container:?}: {seed}");
    }
    // Archives and files of code objects, which are read like archives.
    for seed in ["corpus / \"archive\"", "answer.kdb", "answer.aks2"] {
        assert!(seeds.contains(seed), "{seed}");
    }
}
