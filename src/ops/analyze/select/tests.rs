//! Containers as in real files, and the image selected from each.

use super::*;
use fatbin_core::base::file_path::FilePath;
use fatbin_core::format::ImageKind;
use fatbin_core::format::{ContainerType, UnknownValue};
use fatbin_core::scan::inventory::{FileFormat, SectionRef};

/// A kind that is newer than the program.
const NEWER_KIND: UnknownValue = UnknownValue { field: UnknownValue::KIND, value: 0x200 };

/// An image described by one word: `sm_90`, `sm_90.ptx`, `gfx90a:xnack+`, `x86_64`.
fn image(kind: OffloadKind, word: &str) -> Image {
    let (arch, image_kind) = match word.split_once('.') {
        Some((arch, "ptx")) => (arch, ImageKind::Ptx),
        Some((arch, "bc")) => (arch, ImageKind::Bitcode),
        Some((arch, "nvvm")) => (arch, ImageKind::Nvvm),
        Some((arch, "tileir")) => (arch, ImageKind::TileIr),
        Some((arch, "unknown")) => (arch, ImageKind::Unknown),
        Some((arch, "spv")) => (arch, ImageKind::SpirV),
        _ => (word, ImageKind::Elf),
    };
    let (triple, arch) = match arch {
        "x86_64" => ("x86_64-unknown-linux-gnu", None),
        "spir64" => ("spir64-unknown-unknown", None),
        "amdgcnspirv" => ("spirv64-amd-amdhsa", Some(arch)),
        arch if arch.starts_with("sm_") => (fatbin_core::target::triple::NVPTX64, Some(arch)),
        arch => (fatbin_core::target::triple::AMDGCN, Some(arch)),
    };
    Image {
        kind: Some(kind),
        image_kind,
        triple: Some(triple.to_owned()),
        arch: arch.map(str::to_owned),
        unknown: if image_kind == ImageKind::Unknown { vec![NEWER_KIND] } else { Vec::new() },
        offset: Some(0),
        size: Some(1),
        ..Default::default()
    }
}

fn container(container_type: ContainerType, images: Vec<Image>) -> Container {
    let (version, section, offset, codec, registration) = Default::default();
    Container { container_type, version, section, offset, size: 1, codec, registration, images, start: 0 }
}

fn file(containers: Vec<Container>) -> File {
    File { format: Some(FileFormat::Elf), containers, ..File::empty(FilePath::parse("app")) }
}

/// The word selected on a device and the load method, or `nothing`.
fn selected_image(kind: OffloadKind, words: &str, device: &str) -> String {
    let container_type = match kind {
        OffloadKind::Cuda => ContainerType::CudaFatbin,
        OffloadKind::Hip => ContainerType::Bundle,
        _ => ContainerType::OffloadBinary,
    };
    let words: Vec<&str> = words.split_whitespace().collect();
    let file = file(vec![container(container_type, words.iter().map(|word| image(kind, word)).collect())]);
    let choices = candidate_sets(&file);
    let choice = choices[0].select_on(&Device::parse(device).unwrap()[0]);
    assert_eq!(
        choice.rejected.len() + choice.also_selected.len() + usize::from(choice.selected.is_some()),
        words.len(),
        "every image is either selected or rejected"
    );
    choice.selected.map_or("nothing".to_owned(), |(index, way)| format!("{} {way:?}", words[index]))
}

#[test]
fn cuda_selects_the_nearest_cubin_else_the_nearest_ptx() {
    let cases = [
        ("sm_80 sm_86 sm_90.ptx", "sm_86", "sm_86 Exact"),
        ("sm_80 sm_86 sm_86.ptx", "sm_89", "sm_86 Compatible"),
        ("sm_80 sm_89.ptx", "sm_89", "sm_80 Compatible"),
        ("sm_70.ptx sm_80.ptx sm_86", "sm_90", "sm_80.ptx FromPtx"),
        ("sm_90 sm_90a sm_90.ptx", "sm_90", "sm_90a Exact"),
        ("sm_100 sm_100f sm_100a", "sm_103", "sm_100f Compatible"),
        ("sm_90a sm_90a.ptx", "sm_100", "nothing"),
        ("sm_80 sm_86", "sm_90", "nothing"),
        ("sm_90.nvvm sm_80.ptx", "sm_90", "sm_80.ptx FromPtx"),
        ("sm_80 sm_80", "sm_80", "sm_80 Exact"),
    ];
    for (words, device, expected) in cases {
        assert_eq!(selected_image(OffloadKind::Cuda, words, device), expected, "{words} on {device}");
    }
}

#[test]
fn an_image_that_may_be_preferred_leaves_the_selection_undecided() {
    let cases: [(&str, &str, &[usize], &[usize]); 7] = [
        // An unknown kind may be a better form of machine code.
        ("sm_90 sm_90.unknown", "sm_90", &[1], &[0, 1]),
        ("sm_90.unknown sm_80.ptx", "sm_90", &[0], &[0, 1]),
        ("sm_90.unknown", "sm_90", &[0], &[0]),
        // Tile IR is compiled, so machine code precedes it.
        ("sm_90 sm_90.tileir", "sm_90", &[], &[0]),
        ("sm_90.tileir sm_80.ptx", "sm_90", &[0], &[0, 1]),
        ("sm_80 sm_80.tileir", "sm_90", &[1], &[1]),
        // Code for another platform is not a candidate.
        ("sm_90.unknown sm_90.tileir", "gfx90a:sramecc+:xnack-", &[], &[]),
    ];
    for (words, device, undecided, needed) in cases {
        let images = words.split(' ').map(|word| image(OffloadKind::Cuda, word)).collect();
        let file = file(vec![container(ContainerType::CudaFatbin, images)]);
        let sets = candidate_sets(&file);
        let device = &Device::parse(device).unwrap()[0];
        let selection = sets[0].select_on(device);
        assert_eq!((&selection.undecided[..], selection.is_undecided()), (undecided, !undecided.is_empty()), "{words}");
        let mut kept = sets[0].needed_on(device);
        kept.sort_unstable();
        assert_eq!(kept, needed, "{words}");
        let is_selected = |it: &(usize, CandidateVerdict, String)| it.1 == CandidateVerdict::Selected;
        assert!(undecided.is_empty() || !selection.verdicts().iter().any(is_selected), "{words}");
    }
}

#[test]
fn hip_prefers_the_first_compatible_image_then_generic_code_then_spirv() {
    let cases = [
        ("gfx908 gfx90a gfx942", "gfx90a:sramecc+:xnack-", "gfx90a Exact"),
        ("gfx90a gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-", "gfx90a Exact"),
        ("gfx90a:xnack+ gfx90a:xnack-", "gfx90a:sramecc+:xnack-", "gfx90a:xnack- Exact"),
        ("gfx9-4-generic gfx942:xnack-", "gfx942:sramecc+:xnack-", "gfx942:xnack- Exact"),
        ("amdgcnspirv.spv gfx9-4-generic", "gfx942:sramecc+:xnack-", "gfx9-4-generic Generic"),
        ("amdgcnspirv.spv gfx908", "gfx1100", "amdgcnspirv.spv FromSpirV"),
        ("gfx90a:xnack+", "gfx90a:sramecc+:xnack-", "nothing"),
        ("gfx1030 gfx10-3-generic", "gfx1031", "gfx10-3-generic Generic"),
    ];
    for (words, device, expected) in cases {
        assert_eq!(selected_image(OffloadKind::Hip, words, device), expected, "{words} on {device}");
    }
}

#[test]
fn hip_does_not_find_ids_that_begin_with_amdgpu() {
    let named = |id: &str, arch| Image { id: Some(id.to_owned()), ..image(OffloadKind::Hip, arch) };
    let images =
        vec![named("hipv4-amdgpu9.0a-amd-amdhsa--gfx90a", "gfx90a"), named("hip-amdgcn-amd-amdhsa--gfx90a", "gfx90a")];
    let device = &Device::parse("gfx90a:sramecc+:xnack-").unwrap()[0];
    let file = file(vec![container(ContainerType::Bundle, images)]);
    let selection = candidate_sets(&file)[0].select_on(device);
    assert_eq!(selection.selected, Some((1, LoadMethod::Exact)));
    assert_eq!(
        selection.rejected[0].1.to_string(),
        "HIP does not find hipv4-amdgpu9.0a-amd-amdhsa--gfx90a, whose triple is not amdgcn-amd-amdhsa; bundle it again \
         as hipv4-amdgcn-amd-amdhsa--gfx90a"
    );
}

#[test]
fn hip_does_not_find_generic_code_for_devices_with_more_features() {
    let id = "hipv4-amdgcn-amd-amdhsa--gfx9-generic";
    let named = Image { id: Some(id.to_owned()), ..image(OffloadKind::Hip, "gfx9-generic") };
    let openmp = Image { id: Some(id.replace("hipv4", "openmp")), ..image(OffloadKind::OpenMp, "gfx9-generic") };
    let cases = [
        (named.clone(), "gfx900", Some(LoadMethod::Generic)),
        (named.clone(), "gfx906", None),
        // A code object in no bundle is not looked up.
        (Image { id: None, ..named }, "gfx906", Some(LoadMethod::Generic)),
        (openmp, "gfx906", Some(LoadMethod::Generic)),
    ];
    for (image, processor, expected) in cases {
        let file = file(vec![container(ContainerType::Bundle, vec![image])]);
        for device in &Device::parse(processor).unwrap() {
            let selection = candidate_sets(&file)[0].select_on(device);
            assert_eq!(selection.selected.map(|(_, method)| method), expected, "{device}");
        }
    }
}

#[test]
fn libomptarget_selects_the_first_image_that_its_plugin_accepts() {
    let cases = [
        ("x86_64 sm_80 sm_86", "sm_86", "sm_80 Compatible"),
        ("sm_86 sm_80", "sm_86", "sm_86 Exact"),
        ("gfx9-4-generic gfx942", "gfx942:sramecc+:xnack-", "gfx9-4-generic Generic"),
        ("sm_80.ptx", "sm_90", "nothing"),
        ("sm_80.bc", "sm_90", "sm_80.bc FromBitcode"),
        ("sm_90 x86_64 x86_64", "x86_64", "x86_64 Exact"),
        ("sm_100a sm_103", "sm_103", "nothing"),
    ];
    for (words, device, expected) in cases {
        assert_eq!(selected_image(OffloadKind::OpenMp, words, device), expected, "{words} on {device}");
    }
}

#[test]
fn an_unloadable_image_selected_by_libomptarget_hides_later_images() {
    let words = ["sm_100a", "sm_103", "sm_101a"];
    let images = words.iter().map(|word| image(OffloadKind::OpenMp, word)).collect();
    let file = file(vec![container(ContainerType::OffloadBinary, images)]);
    let choice = candidate_sets(&file)[0].select_on(&Device::Nvidia(103));
    let reasons: Vec<String> = choice.rejected.iter().map(|(_, reason)| reason.to_string()).collect();
    assert_eq!(
        reasons,
        [
            "libomptarget selects it but cannot load it: it is for 10.0 with suffix a, which runs on \
             10.0 only; the device is 10.3",
            "compatible, but image 0 is preferred",
            "it is for 10.1 with suffix a, which runs on 10.1 only; the device is 10.3",
        ]
    );
}

#[test]
fn libomptarget_before_llvm_21_selected_the_last_image() {
    let selected = |words: &[&str], device: Device| {
        let images = words.iter().map(|word| image(OffloadKind::OpenMp, word)).collect();
        let file = file(vec![container(ContainerType::OffloadBinary, images)]);
        candidate_sets(&file)[0]
            .select_on_earlier_release(&device)
            .map(|(_, choice)| choice.selected.map(|(index, _)| index))
    };
    assert_eq!(selected(&["sm_80", "sm_86", "x86_64"], Device::Nvidia(86)), Some(Some(1)));
    assert_eq!(selected(&["sm_103", "sm_100a"], Device::Nvidia(103)), Some(None), "selected but unloadable");
    assert_eq!(selected(&["sm_80", "x86_64"], Device::Nvidia(86)), None, "same selection");
}

#[test]
fn only_libomptarget_reads_the_header_of_an_image_before_selecting_it() {
    let device = &Device::parse("gfx90a:sramecc+:xnack-").unwrap()[0];
    let reason = |kind| {
        let mislabelled = Image { own_arch: Some("gfx90a:xnack+".to_owned()), ..image(kind, "gfx90a:xnack-") };
        let file = file(vec![container(ContainerType::OffloadBinary, vec![mislabelled])]);
        candidate_sets(&file)[0].select_on(device).rejected[0].1.to_string()
    };
    assert_eq!(reason(OffloadKind::OpenMp), "it requires xnack+, not xnack-");
    let unloadable = "HIP selects it but cannot load it: it requires xnack+, not xnack-";
    assert_eq!(reason(OffloadKind::Hip), unloadable);
}

/// The index that CUDA selects on 8.0, and the index that driver 580 selects if it differs.
fn selected_by_cuda(images: Vec<Image>) -> (Option<usize>, Option<usize>) {
    let file = file(vec![container(ContainerType::CudaFatbin, images)]);
    let set = &candidate_sets(&file)[0];
    let index = |selection: Selection| selection.selected.map(|(index, _)| index);
    let earlier = set.select_on_earlier_release(&Device::Nvidia(80));
    (index(set.select_on(&Device::Nvidia(80))), earlier.and_then(|(_, selection)| index(selection)))
}

#[test]
fn cuda_selects_the_first_of_equal_cubins_and_the_last_of_equal_ptx() {
    let images = |words: [&str; 2]| words.map(|word| image(OffloadKind::Cuda, word)).to_vec();
    assert_eq!(selected_by_cuda(images(["sm_80", "sm_80"])), (Some(0), None));
    assert_eq!(selected_by_cuda(images(["sm_80.ptx", "sm_80.ptx"])), (Some(1), Some(0)));
    assert_eq!(selected_by_cuda(images(["sm_80.ptx", "sm_75.ptx"])), (Some(0), None));
}

#[test]
fn cuda_prefers_a_cubin_without_mercury_code() {
    let cubin = |is_mercury| {
        let image = image(OffloadKind::Cuda, "sm_80");
        Image { cuda: fatbin_core::scan::inventory::CudaCode { is_mercury, ..image.cuda }, ..image }
    };
    for (bits, selected) in [(vec![true, false], 1), (vec![false, true], 0), (vec![true], 0)] {
        assert_eq!(selected_by_cuda(bits.into_iter().map(cubin).collect()).0, Some(selected));
    }
}

#[test]
fn a_suffix_that_no_gpu_has_runs_nowhere() {
    assert_eq!(selected_image(OffloadKind::Cuda, "sm_89a", "sm_89"), "nothing");
    assert_eq!(selected_image(OffloadKind::Cuda, "sm_89a sm_86", "sm_89"), "sm_86 Compatible");
    assert_eq!(selected_image(OffloadKind::Cuda, "sm_90a sm_90", "sm_90"), "sm_90a Exact");
}

#[test]
fn sycl_selects_spirv_without_aot_compiled_code() {
    assert_eq!(selected_image(OffloadKind::Sycl, "spir64.spv", "intel_gpu_pvc"), "spir64.spv FromSpirV");
    assert_eq!(selected_image(OffloadKind::Sycl, "spir64.spv sm_80", "sm_86"), "sm_80 Compatible");
    assert_eq!(selected_image(OffloadKind::Sycl, "spir64.spv", "sm_86"), "nothing");
}

#[test]
fn sycl_selects_all_images_of_one_target() {
    let words = ["sm_80", "spir64.spv", "spir64.spv"];
    let images = words.iter().map(|word| image(OffloadKind::Sycl, word)).collect();
    let file = file(vec![container(ContainerType::SyclImage, images)]);
    let choice = candidate_sets(&file)[0].select_on(&Device::SpirV(None));
    assert_eq!((choice.selected, choice.also_selected), (Some((1, LoadMethod::FromSpirV)), vec![2]));
}

/// An archive of ocloc with code for these archs, and SPIR-V.
fn archive(archs: &[&str]) -> Container {
    let member = |image_kind, arch: Option<&str>| Image {
        image_kind,
        arch: arch.map(str::to_owned),
        triple: Some("spir64_gen".to_owned()),
        ..image(OffloadKind::Sycl, "spir64")
    };
    let code = archs.iter().map(|arch| member(ImageKind::Elf, Some(arch)));
    container(ContainerType::OclocArchive, code.chain([member(ImageKind::SpirV, None)]).collect())
}

#[test]
fn sycl_selects_one_image_in_each_archive_of_ocloc() {
    let spirv = || container(ContainerType::SyclImage, vec![image(OffloadKind::Sycl, "spir64.spv")]);
    // Numbers: SPIR-V 0; 1 to 5; 6 to 8; 9 and 10.
    let archives = [archive(&["pvc", "bmg", "bmg_g21", "bmg_g21"]), archive(&["acm_g10", "bmg"]), archive(&["dg2"])];
    let file = file([spirv()].into_iter().chain(archives).collect());
    let sets = candidate_sets(&file);
    assert_eq!(sets.len(), 1);
    let cases = [
        ("intel_gpu_bmg_g21", LoadMethod::Exact, vec![3, 7]),
        ("intel_gpu_bmg_g31", LoadMethod::Exact, vec![2, 7]),
        ("intel_gpu_lnl_m", LoadMethod::Compatible, vec![2, 7]),
        ("intel_gpu_acm_g10", LoadMethod::Exact, vec![6, 9]),
        ("intel_gpu_acm_g11", LoadMethod::Exact, vec![9]),
        ("intel_gpu_skl", LoadMethod::FromSpirV, vec![5, 8, 10]),
    ];
    for (device, method, expected) in cases {
        let selection = sets[0].select_on(&Device::parse(device).unwrap()[0]);
        let (first, way) = selection.selected.unwrap();
        assert_eq!((way, [vec![first], selection.also_selected].concat()), (method, expected), "{device}");
    }
    let selection = sets[0].select_on(&Device::parse("intel_gpu_bmg_g21").unwrap()[0]);
    // The second of two members with one name is outranked by the first.
    assert_eq!(selection.rejected[3], (4, RejectReason::Outranked { by: 3 }));
    assert_eq!(selection.rejected[0], (0, RejectReason::Outranked { by: 3 }));
}

#[test]
fn groups_offload_binaries_by_kind_and_keeps_fat_binaries_apart() {
    use ContainerType::{CudaFatbin, OffloadBinary};
    let one = |container_type, kind, word| container(container_type, vec![image(kind, word)]);
    let file = file(vec![
        one(OffloadBinary, OffloadKind::OpenMp, "sm_80"),
        one(CudaFatbin, OffloadKind::Cuda, "sm_80"),
        one(OffloadBinary, OffloadKind::OpenMp, "gfx90a"),
        one(CudaFatbin, OffloadKind::Cuda, "sm_90"),
    ]);
    let numbers: Vec<Vec<usize>> = candidate_sets(&file)
        .iter()
        .map(|choices| choices.candidates.iter().map(|candidate| candidate.number).collect())
        .collect();
    assert_eq!(numbers, [vec![0, 2], vec![1], vec![3]]);
}

#[test]
fn includes_nested_containers_and_ignores_host_entries() {
    let inner = container(ContainerType::CudaFatbin, vec![image(OffloadKind::Cuda, "sm_80")]);
    let outer = Image { containers: vec![inner], ..image(OffloadKind::Cuda, "sm_80") };
    let host = image(OffloadKind::Host, "x86_64");
    let file = file(vec![container(ContainerType::Bundle, vec![host, outer])]);
    let choices = candidate_sets(&file);
    assert_eq!((choices.len(), choices[0].candidates[0].number), (1, 0));
    assert_eq!(choices[0].container.container_type, ContainerType::CudaFatbin);
}

#[test]
fn relocatable_code_is_linked_first_or_registered() {
    let section = Some(SectionRef { name: "__nv_relfatbin".to_owned(), offset: 0 });
    let relocatable = Container {
        section,
        offset: Some(0),
        ..container(ContainerType::CudaFatbin, vec![image(OffloadKind::Cuda, "sm_80")])
    };
    let device = Device::Nvidia(80);
    for (is_object, reason) in [(true, RejectReason::NeedsDeviceLink), (false, RejectReason::NotRegistered)] {
        let file = File { is_object, ..file(vec![relocatable.clone()]) };
        assert!(!candidate_sets(&file)[0].has_code_for(&device));
        assert_eq!(candidate_sets(&file)[0].select_on(&device).rejected, [(0, reason)]);
    }
}
