//! What releases of runtimes do with code of several versions, as measured: see `requires::loaders`.

use super::*;
use fatbin_core::base::file_path::FilePath;
use fatbin_core::scan::inventory::{CudaCode, FileFormat};
use fatbin_core::target::triple;

/// An image described by words: `gfx90a v5`, `sm_75 abi8`, `gfx906 empty`, `sm_30 ptx`.
fn image(kind: OffloadKind, text: &str) -> Image {
    let mut words = text.split(' ');
    let arch = words.next().unwrap();
    let triple = if arch.starts_with("sm_") { triple::NVPTX64 } else { triple::AMDGCN };
    let mut image =
        Image { kind: Some(kind), ..Image::of_target(ImageKind::Elf, Some(triple.to_owned()), Some(arch.to_owned())) };
    for word in words {
        match word {
            "empty" => image.image_kind = ImageKind::Empty,
            "ptx" => image.image_kind = ImageKind::Ptx,
            "abi7" => image.cuda.abi_version = Some(7),
            "abi8" => image.cuda.abi_version = Some(8),
            version => image.format_version = version.strip_prefix('v').map(str::to_owned),
        }
    }
    image
}

fn container(container_type: ContainerType, images: Vec<Image>) -> Container {
    let (version, section, offset, codec, registration) = Default::default();
    Container { container_type, version, section, offset, size: 1, codec, registration, images, start: 0 }
}

fn file(containers: Vec<Container>) -> File {
    File { format: Some(FileFormat::Elf), containers, ..File::empty(FilePath::parse("app")) }
}

/// The selected index of the current release, and the answer of each earlier release that differs.
fn releases(kind: OffloadKind, images: &str, device: &str) -> String {
    let container_type = if kind == OffloadKind::Hip { ContainerType::Bundle } else { ContainerType::OffloadBinary };
    let images = images.split(", ").map(|text| image(kind, text)).collect();
    let file = file(vec![container(container_type, images)]);
    let set = &candidate_sets(&file)[0];
    let device = &Device::parse(device).unwrap()[0];
    let text = |selection: &Selection| selection.selected.map_or("nothing".to_owned(), |(index, _)| index.to_string());
    let mut answers = vec![text(&set.select_on(device))];
    let earlier = set.select_with_earlier_releases(device, None);
    answers.extend(earlier.iter().map(|(runtime, selection)| format!("{}: {}", runtime.release, text(selection))));
    answers.join("; ")
}

#[test]
fn releases_of_libomptarget_load_different_code() {
    let cases = [
        ("gfx90a v3", "gfx90a:sramecc+:xnack-", "nothing; LLVM 15 and 16: 0"),
        ("gfx90a v4", "gfx90a:sramecc+:xnack-", "nothing; LLVM 19: 0; LLVM 15 and 16: 0"),
        ("gfx90a v5", "gfx90a:sramecc+:xnack-", "0"),
        ("gfx90a v6", "gfx90a:sramecc+:xnack-", "0; LLVM 19: nothing"),
        ("gfx90a", "gfx90a:sramecc+:xnack-", "0"),
        ("gfx9-generic v6", "gfx906:sramecc-:xnack-", "0; LLVM 19: nothing; LLVM 15 and 16: nothing"),
        ("sm_75 abi7", "sm_75", "0"),
        ("sm_75 abi8", "sm_75", "0; LLVM 19: nothing"),
        ("sm_100 abi8", "sm_100", "0; LLVM 19: nothing; LLVM 15 and 16: nothing"),
        // The refused image is skipped.
        ("gfx90a v4, gfx90a v5", "gfx90a:sramecc+:xnack-", "1"),
        ("gfx90a v5, gfx90a v6", "gfx90a:sramecc+:xnack-", "0; LLVM 15 and 16: 1"),
        ("gfx90a v5, gfx90a v5", "gfx90a:sramecc+:xnack-", "0; LLVM 15 to 20: 1"),
    ];
    for (images, device, expected) in cases {
        assert_eq!(releases(OffloadKind::OpenMp, images, device), expected, "{images} on {device}");
    }
}

#[test]
fn reasons_name_the_release_and_the_property() {
    let file = file(vec![container(ContainerType::OffloadBinary, vec![image(OffloadKind::OpenMp, "gfx90a v4")])]);
    let device = &Device::parse("gfx90a:sramecc+:xnack-").unwrap()[0];
    let selection = candidate_sets(&file)[0].select_on(device);
    assert_eq!(selection.rejected[0].1.to_string(), "libomptarget of LLVM 22 does not load it: code object version 4");
}

#[test]
fn hip_stops_at_an_empty_entry() {
    let device = "gfx906:sramecc-:xnack-";
    assert_eq!(releases(OffloadKind::Hip, "gfx906 empty, gfx906 v4", device), "nothing");
    assert_eq!(releases(OffloadKind::Hip, "gfx906 v4, gfx906 empty", device), "0");
    assert_eq!(releases(OffloadKind::Hip, "gfx900 empty, gfx906 v4", device), "1");
}

#[test]
fn hip_of_rocm_5_loads_older_code_only() {
    let device = "gfx906:sramecc-:xnack-";
    let cases = [
        ("gfx906 v4", "0"),
        ("gfx906", "0"),
        ("gfx906 v5", "0; ROCm 5.2: nothing"),
        ("gfx906 v6", "0; ROCm 5.2: nothing"),
        ("gfx9-generic v6", "0; ROCm 5.2: nothing"),
        // The first entry is selected, and fails to load.
        ("gfx906 v5, gfx906 v4", "0; ROCm 5.2: nothing"),
        ("gfx9-generic v6, gfx906 v4", "1"),
    ];
    for (images, expected) in cases {
        assert_eq!(releases(OffloadKind::Hip, images, device), expected, "{images}");
    }
}

/// The selection from images of GCC, each in a container.
fn selected_by_libgomp(images: &str, device: &str) -> (Vec<usize>, Option<LoadMethod>, bool) {
    let embedded = |text| container(ContainerType::Embedded, vec![image(OffloadKind::OpenMp, text)]);
    let file = file(images.split(", ").map(embedded).collect());
    let sets = candidate_sets(&file);
    assert_eq!((sets.len(), selected_by_program(&file).count()), (1, 0));
    assert_eq!(sets[0].runtime.name, "libgomp");
    let selection = sets[0].select_on(&Device::parse(device).unwrap()[0]);
    let selected = selection.selected.map(|(index, _)| index);
    let all = selected.into_iter().chain(selection.also_selected.iter().copied()).collect();
    assert_eq!(
        selection.rejected.len() + selected.map_or(0, |_| selection.also_selected.len() + 1),
        images.split(", ").count()
    );
    (all, selection.selected.map(|(_, method)| method), selection.is_link())
}

#[test]
fn libgomp_links_all_ptx() {
    let texts = "sm_30 ptx, sm_30 ptx, gfx906:xnack- v4, sm_35 ptx";
    for device in ["sm_75", "sm_120"] {
        assert_eq!(selected_by_libgomp(texts, device), (vec![0, 1, 3], Some(LoadMethod::FromPtx), true), "{device}");
    }
    assert_eq!(selected_by_libgomp(texts, "sm_30"), (vec![], None, false), "one text is for a later GPU");
}

#[test]
fn libgomp_compares_processors_only() {
    let native = (vec![0], Some(LoadMethod::Exact), false);
    for device in ["gfx906:sramecc+:xnack-", "gfx906:sramecc-:xnack+"] {
        assert_eq!(selected_by_libgomp("gfx906:xnack- v4", device), native, "{device}");
    }
    for (image, device) in [("gfx906:xnack- v4", "gfx900:xnack-"), ("gfx9-generic v6", "gfx906:sramecc-:xnack-")] {
        assert_eq!(selected_by_libgomp(image, device), (vec![], None, false), "{image} on {device}");
    }
}

/// Returns why CUDA does not load LTO-IR on a device.
fn reason(version: (u16, u16), arch: &str, device: &str) -> String {
    let lto_ir = Image { image_kind: ImageKind::Nvvm, ..image(OffloadKind::Cuda, arch) };
    let lto_ir = Image { cuda: CudaCode { ir_version: Some(version), ..lto_ir.cuda }, ..lto_ir };
    let file = file(vec![container(ContainerType::CudaFatbin, vec![lto_ir])]);
    let selection = candidate_sets(&file)[0].select_on(&Device::parse(device).unwrap()[0]);
    selection.rejected[0].1.to_string()
}

/// The answers of nvJitLink 13.0.88 and 13.5.37 for seven devices.
#[test]
fn lto_ir_is_linked_for_the_devices_that_nvjitlink_takes() {
    let devices = ["sm_75", "sm_90", "sm_100", "sm_103", "sm_120", "sm_121"];
    let cases = [
        ("sm_75", [true; 6]),
        ("sm_90", [false, true, true, true, true, true]),
        ("sm_100f", [false, false, true, true, false, false]),
        ("sm_120", [false, false, false, false, true, true]),
        // With -arch=sm_120a.
        ("sm_120a", [false, false, false, false, true, false]),
    ];
    for (arch, expected) in cases {
        for (device, is_linked) in devices.iter().zip(expected) {
            let reason = reason((1, 65), arch, device);
            assert_eq!(reason.contains("nvJitLink of CUDA 13.0 or newer"), is_linked, "{arch} {device}: {reason}");
        }
    }
    assert_eq!(
        reason((1, 67), "sm_120a", "sm_120"),
        "it is input for a device linker, not machine code; nvJitLink of CUDA 13.5 or newer with -arch=sm_120a links it \
         for this device"
    );
}
