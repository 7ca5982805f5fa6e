//! Files that were worked out by hand, and a property: the floor of a file follows from the floors of its sets.

use super::*;
use fatbin_core::base::codec::Codec;
use fatbin_core::base::file_path::FilePath;
use fatbin_core::format::ContainerType;
use fatbin_core::format::ImageKind;
use fatbin_core::format::readers::Product;
use fatbin_core::scan::inventory::{CudaCode, FileFormat};
use fatbin_core::target::triple;

/// An image described by words: `sm_90 cuda-12.8 zstd`, `sm_80 ptx-8.7`, `sm_80 abi-8 lz4`, `gfx90a`, `sm_90 nvvm`.
fn image(text: &str) -> Image {
    let mut words = text.split(' ');
    let arch = words.next().unwrap();
    let is_nvidia = arch.starts_with("sm_");
    let mut image = Image {
        kind: Some(if is_nvidia { OffloadKind::Cuda } else { OffloadKind::Hip }),
        image_kind: ImageKind::Elf,
        triple: Some(if is_nvidia { triple::NVPTX64 } else { triple::AMDGCN }.to_owned()),
        arch: Some(arch.to_owned()),
        ..Default::default()
    };
    let version =
        |text: &str| text.split_once('.').map(|(major, minor)| (major.parse().unwrap(), minor.parse().unwrap()));
    for word in words {
        let (name, value) = word.split_once('-').unwrap_or((word, ""));
        match name {
            "cuda" => image.cuda.toolkit = version(value),
            "ptx" => (image.image_kind, image.cuda.ptx_version) = (ImageKind::Ptx, version(value)),
            "abi" => image.cuda.abi_version = value.parse().ok(),
            "zstd" => image.codec = Some(Codec::Zstd),
            "lz4" => image.codec = Some(Codec::Lz4),
            "opaque" => image.codec = Some(Codec::Opaque),
            "group" => image.cuda.is_grouped = true,
            "nvvm" => image.image_kind = ImageKind::Nvvm,
            "tileir" => image.image_kind = ImageKind::TileIr,
            "id" => image.id = Some(value.to_owned()),
            _ => panic!("{word}"),
        }
    }
    image
}

fn container(container_type: ContainerType, version: Option<u32>, images: &str) -> Container {
    let images = images.split(", ").map(image).collect();
    let (section, offset, codec, registration) = Default::default();
    Container { container_type, version, section, offset, size: 1, codec, registration, images, start: 0 }
}

fn fatbin(images: &str) -> Container {
    container(ContainerType::CudaFatbin, Some(1), images)
}

fn file(containers: Vec<Container>) -> File {
    File { format: Some(FileFormat::Elf), containers, ..File::empty(FilePath::parse("app")) }
}

/// Returns what is needed for the preferred image on a device and, if that differs, for some image, each with its
/// reason.
fn needs(containers: Vec<Container>, device: &str) -> Vec<String> {
    let file = file(containers);
    let floors = FileFloors::new(&file, &[]);
    let text = |need: &Need| {
        let causes: Vec<String> = need.causes.iter().map(|cause| cause.requirement.to_string()).collect();
        format!("{}: {}", need.floor, causes.join("; "))
    };
    let needs = floors.on_all(&Device::parse(device).unwrap()).into_iter().flat_map(|need| {
        let some = (need.some.floor != need.preferred.floor).then(|| text(&need.some));
        std::iter::once(text(&need.preferred)).chain(some)
    });
    needs.collect()
}

#[test]
fn files_worked_out_by_hand() {
    let cases: [(&str, &str, &[&str]); 23] = [
        // A cu128 build with the default modes.
        (
            "sm_90 cuda-12.8 lz4, sm_120 abi-8 cuda-12.8 lz4",
            "sm_90",
            &["CUDA 12.0 (driver 525.60.13): cubin of CUDA 12.8"],
        ),
        ("sm_90 cuda-12.8 lz4, sm_120 abi-8 cuda-12.8 lz4", "sm_120", &["CUDA 12.8 (driver 570.26): code for sm_120"]),
        // torch 2.9+cu130.
        (
            "sm_80 abi-8 zstd, sm_90 abi-8 zstd",
            "sm_90",
            &["CUDA 13.0 (driver 580.65.06): cubin with ABI 8, of CUDA 13"],
        ),
        // Compressed by zstd, with CUDA 12.
        ("sm_80 cuda-12.9 zstd", "sm_80", &["CUDA 12.4 (driver 550.54.14): compressed with zstd"]),
        // Triton's PTX, on a device that is younger than the PTX.
        ("sm_90 ptx-8.7", "sm_90", &["CUDA 12.8 (driver 570.26): PTX ISA 8.7"]),
        ("sm_80 ptx-7.0", "sm_120", &["CUDA 12.8 (driver 570.26): device sm_120"]),
        ("sm_80 ptx-7.0", "sm_80", &["CUDA 11.0 (driver 450.51.05): PTX ISA 7.0"]),
        ("sm_75 ptx-9.5", "sm_75", &["CUDA 13.5: PTX ISA 9.5"]),
        // Old drivers take the first of equal PTX.
        ("sm_75 ptx-9.5, sm_75 ptx-6.3", "sm_75", &["CUDA 13.5: PTX ISA 9.5"]),
        ("sm_75 ptx-9.6", "sm_75", &["unknown, newer than CUDA 13.5: PTX ISA 9.6"]),
        // A cubin, and PTX that needs less.
        (
            "sm_80 cuda-13.0, sm_75 ptx-7.5",
            "sm_80",
            &["CUDA 13.0 (driver 580.65.06): cubin of CUDA 13.0", "CUDA 11.5 (driver 495.29.05): PTX ISA 7.5"],
        ),
        // The driver takes the nearest PTX, and fails if it is too new: the other is no alternative, neither to it nor
        // to the cubin.
        ("sm_75 ptx-6.3, sm_90 ptx-9.5", "sm_90", &["CUDA 13.5: PTX ISA 9.5"]),
        (
            "sm_90 cuda-13.0, sm_75 ptx-6.3, sm_90 ptx-9.5",
            "sm_90",
            &["CUDA 13.0 (driver 580.65.06): cubin of CUDA 13.0"],
        ),
        // PTX that needs more is compiled only where no cubin runs.
        ("sm_80 cuda-11.8, sm_80 ptx-8.5", "sm_80", &["CUDA 11.0 (driver 450.80.02): cubin of CUDA 11.8"]),
        ("sm_80 cuda-11.8, sm_80 ptx-8.5", "sm_90", &["CUDA 12.5 (driver 555.42.02): PTX ISA 8.5"]),
        ("sm_70 cuda-10.2", "sm_70", &["CUDA 10.2 (driver 440.33): cubin of CUDA 10.2"]),
        ("sm_35 cuda-7.5", "sm_35", &["CUDA 7.5 (driver 352.31): cubin of CUDA 7.5"]),
        (
            "sm_100 abi-8",
            "sm_100",
            &["unknown, at least CUDA 12.8 (driver 570.26): cubin that does not state its toolkit; code for sm_100"],
        ),
        (
            "sm_90 cuda-13.1 zstd group",
            "sm_90",
            &["unknown, newer than CUDA 13.0 (driver 580.65.06): compressed together with others"],
        ),
        (
            "sm_80 cuda-12.0 opaque",
            "sm_80",
            &["unknown, at least CUDA 12.0 (driver 525.60.13): compressed with an unknown codec; cubin of CUDA 12.0"],
        ),
        ("sm_90 nvvm", "sm_90", &[]),
        ("sm_90 cuda-12.4", "sm_80", &[]),
        (
            "sm_100 tileir",
            "sm_100",
            &["unknown, at least CUDA 12.8 (driver 570.26): Tile IR that states no version; device sm_100"],
        ),
    ];
    for (images, device, expected) in cases {
        assert_eq!(needs(vec![fatbin(images)], device), expected, "{images} on {device}");
    }
}

#[test]
fn tile_ir_leaves_open_what_is_preferred() {
    let expected = [
        "unknown, at least CUDA 13.0 (driver 580.65.06): PTX ISA 9.0; Tile IR that states no version",
        "CUDA 13.0 (driver 580.65.06): PTX ISA 9.0",
    ];
    assert_eq!(needs(vec![fatbin("sm_90 ptx-9.0, sm_90 tileir")], "sm_90"), expected);
    let expected = ["CUDA 12.0 (driver 525.60.13): cubin of CUDA 12.8"];
    assert_eq!(needs(vec![fatbin("sm_90 cuda-12.8, sm_90 tileir")], "sm_90"), expected);
}

#[test]
fn bundles_need_the_release_that_reads_their_version() {
    let ccob = |version| vec![container(ContainerType::Ccob, Some(version), "gfx90a, gfx942")];
    assert_eq!(needs(ccob(2), "gfx90a"), ["ROCm 6.2: ccob version 2", "LLVM 19: ccob version 2"]);
    assert_eq!(needs(ccob(3), "gfx942"), ["ROCm 7.0: ccob version 3", "LLVM 20: ccob version 3"]);
    let unread = "unknown: ccob version 1, which no known release reads";
    assert_eq!(needs(ccob(1), "gfx942"), [unread, "LLVM 18: ccob version 1"]);
    let bundle = |images| vec![container(ContainerType::Bundle, None, images)];
    assert_eq!(needs(bundle("gfx90a id-hipv4-amdgcn-amd-amdhsa--gfx90a"), "gfx90a"), ["none known: "]);
    let expected = ["unknown, newer than ROCm 7.2: entry ID whose triple is not amdgcn-amd-amdhsa"];
    assert_eq!(needs(bundle("gfx90a id-hipv4-amdgpu9.0a-amd-amdhsa--gfx90a"), "gfx90a"), expected);
}

#[test]
fn bytes_that_were_read_replace_what_headers_do_not_state() {
    let file = file(vec![fatbin("sm_90 abi-7 lz4, sm_100 abi-8 lz4")]);
    let code = |release| Some(CudaCode { toolkit: Some(release), ..CudaCode::default() });
    let floors = FileFloors::new(&file, &[code((12, 4)), code((13, 5))]);
    let all: Vec<String> = floors.all().iter().map(|(_, need)| need.floor.to_string()).collect();
    assert_eq!(all, ["CUDA 13.0 (driver 580.65.06)"]);
}

#[test]
fn images_of_the_program_count_for_the_file() {
    let embedded = container(ContainerType::Embedded, None, "sm_90 ptx-8.7");
    let file = file(vec![fatbin("sm_80 cuda-11.8"), embedded]);
    let floors = FileFloors::new(&file, &[]);
    let texts = |needs: Vec<(Product, Need)>| needs.iter().map(|(_, need)| need.floor.to_string()).collect::<Vec<_>>();
    assert_eq!((floors.loaded(), floors.selected_by_program()), (2, 1));
    assert_eq!(texts(floors.all()), ["CUDA 12.8 (driver 570.26)"]);
    assert_eq!(texts(floors.by_program()), ["CUDA 12.8 (driver 570.26)"]);
    assert_eq!(floors.devices().0.iter().map(|device| device.name.as_str()).collect::<Vec<_>>(), ["sm_80"]);
}

#[test]
fn input_of_a_device_linker_is_not_loaded() {
    let section = fatbin_core::scan::inventory::SectionRef { name: "__nv_relfatbin".to_owned(), offset: 0 };
    let relocatable = Container { section: Some(section), offset: Some(0), ..fatbin("sm_80 cuda-13.0") };
    for is_object in [false, true] {
        let file = File { is_object, ..file(vec![relocatable.clone()]) };
        let floors = FileFloors::new(&file, &[]);
        assert_eq!((floors.loaded(), floors.devices().0.len()), (0, 0));
    }
}

/// Images that the property test builds its containers from.
const POOL: [&str; 12] = [
    "sm_80 cuda-11.8",
    "sm_80 cuda-12.9 zstd",
    "sm_86 abi-8 zstd",
    "sm_90 cuda-12.4 lz4",
    "sm_90a cuda-12.0",
    "sm_100 abi-8",
    "sm_120 abi-8 cuda-12.9 zstd",
    "sm_75 ptx-7.5",
    "sm_80 ptx-9.6",
    "sm_90 ptx-8.7 zstd group",
    "sm_90 nvvm",
    "sm_90 tileir",
];

#[test]
fn the_floor_of_a_file_is_that_of_its_sets() {
    let mut state = 1_u32;
    let mut next = |limit: usize| {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
        (state >> 16) as usize % limit
    };
    let mut compared = 0;
    for _ in 0..300 {
        let mut containers = Vec::new();
        for _ in 0..1 + next(4) {
            let images: Vec<&str> = (0..1 + next(5)).map(|_| POOL[next(POOL.len())]).collect();
            containers.push(fatbin(&images.join(", ")));
        }
        let whole = file(containers.clone());
        for device in ["sm_80", "sm_86", "sm_90", "sm_100", "sm_120"] {
            let device = &Device::parse(device).unwrap()[0];
            let on = |file: &File| FileFloors::new(file, &[]).on(device).pop();
            let floors = |need: DeviceNeed| (need.some.floor, need.preferred.floor);
            let sets = containers.iter().filter_map(|set| on(&file(vec![set.clone()])).map(floors));
            let joined = sets.reduce(|one, other| (one.0.and(other.0), one.1.and(other.1)));
            let found = on(&whole).map(floors);
            assert_eq!(found, joined, "{device} {containers:?}");
            // The preferred image is one of all.
            assert!(found.is_none_or(|(some, preferred)| some.least <= preferred.least));
            compared += usize::from(found.is_some());
        }
    }
    assert!(compared > 500, "{compared}");
}

#[test]
fn work_does_not_grow_with_the_number_of_processors_and_versions() {
    let images = |text: fn(usize) -> String| fatbin(&(0..4000).map(text).collect::<Vec<_>>().join(", "));
    let many_devices = images(|number| format!("sm_{} cuda-12.4", number + 100));
    let many_versions = images(|number| format!("sm_80 ptx-9.{}", number + 10));
    let file = file(vec![many_devices, many_versions]);
    let floors = FileFloors::new(&file, &[]);
    let (devices, omitted) = floors.devices();
    assert_eq!((devices.len(), omitted), (100, 3901));
    for device in &devices {
        for need in floors.on_all(&device.devices) {
            assert!((1..=17).contains(&need.preferred.causes.len()), "{}", need.preferred.causes.len());
        }
    }
}

#[test]
fn a_runtime_that_does_not_check_selects_what_the_driver_rejects() {
    let open_mp = |words: &str| {
        let image = Image { kind: Some(OffloadKind::OpenMp), ..image(words) };
        Container { images: vec![image], ..container(ContainerType::OffloadBinary, Some(1), "sm_90") }
    };
    let file = file(vec![open_mp("sm_90 cuda-13.0"), open_mp("sm_90 cuda-12.0")]);
    let requirements = ImageRequirements::new(&file, &[]);
    let driver = crate::analyze::requires::Driver::parse("525").unwrap();
    let check = DriverCheck { driver: &driver, requirements: &requirements };
    let set = &candidate_sets(&file)[0];
    let selection = set.select_with(&Device::Nvidia(90), Some(check));
    assert_eq!((set.candidates.len(), selection.selected), (2, None));
    assert!(matches!(selection.rejected[0].1, RejectReason::Driver { .. }), "{selection:?}");
    // CUDA's own selection goes on to the next image.
    let fat = File { containers: vec![fatbin("sm_90 cuda-13.0, sm_90 cuda-12.0")], ..file.clone() };
    let requirements = ImageRequirements::new(&fat, &[]);
    let check = DriverCheck { driver: &driver, requirements: &requirements };
    let selection = candidate_sets(&fat)[0].select_with(&Device::Nvidia(90), Some(check));
    assert_eq!(selection.selected.map(|(index, _)| index), Some(1));
}
