//! Coverage of small libraries on devices, and its equality with `select` on random ones.

use super::*;
use crate::analyze::select::AnsweredFile;
use crate::analyze::survey::{ImageSurvey, PackageSurvey};
use fatbin_core::base::bytes::Limits;
use fatbin_core::base::file_path::FilePath;
use fatbin_core::format::{ContainerType, ImageKind};
use fatbin_core::image::{Inspection, Kernel};
use fatbin_core::scan::inventory::Container;

const CUDA: &str = "nvptx64-nvidia-cuda";

/// An image and the names of its kernels; `None` if it was not inspected.
type TestImage<'a> = (Image, Option<Vec<&'a str>>);

fn image<'a>(image_kind: ImageKind, triple: &str, arch: &str, kernels: &[&'a str]) -> TestImage<'a> {
    let arch = Some(arch.to_owned());
    (Image { image_kind, triple: Some(triple.to_owned()), arch, ..Image::default() }, Some(kernels.to_vec()))
}

fn cubin<'a>(arch: &str, kernels: &[&'a str]) -> TestImage<'a> {
    image(ImageKind::Elf, CUDA, arch, kernels)
}

fn ptx<'a>(arch: &str, kernels: &[&'a str]) -> TestImage<'a> {
    image(ImageKind::Ptx, CUDA, arch, kernels)
}

fn code_object<'a>(arch: &str, kernels: &[&'a str]) -> TestImage<'a> {
    image(ImageKind::Elf, "amdgcn-amd-amdhsa", arch, kernels)
}

fn file(path: &str, containers: Vec<(ContainerType, Vec<TestImage<'_>>)>) -> Survey {
    let mut file = File::empty(FilePath::new(path));
    let mut image_surveys = Vec::new();
    for (container_type, content) in containers {
        let mut images = Vec::new();
        for (image, names) in content {
            images.push(image);
            let kernel = |name: &str| Kernel { name: name.to_owned(), ..Kernel::default() };
            let not_inspected = if names.is_none() { Some("no reader") } else { None };
            let kernels = names.unwrap_or_default().into_iter().map(kernel).collect();
            let inspection = Inspection { kernels, not_inspected, ..Inspection::default() };
            image_surveys.push(ImageSurvey { inspection: Some(inspection), ..ImageSurvey::default() });
        }
        file.containers.push(Container {
            container_type,
            version: None,
            section: None,
            offset: Some(0),
            size: 0,
            codec: None,
            registration: Default::default(),
            images,
            start: 0,
        });
    }
    Survey { file, image_surveys, host: None, packed: None, limits: Limits::default() }
}

fn fatbins(containers: Vec<Vec<TestImage<'_>>>) -> Survey {
    file("lib.so", containers.into_iter().map(|images| (ContainerType::CudaFatbin, images)).collect())
}

/// Returns the rows as text: the cells of each device, and the kernel.
fn rows(files: &[Survey], devices: &[&str]) -> Vec<String> {
    let inspected: Vec<InspectedImages<'_>> = files.iter().map(InspectedImages::from).collect();
    rows_of(&inspected, devices)
}

fn rows_of(files: &[InspectedImages<'_>], devices: &[&str]) -> Vec<String> {
    let devices: Vec<NamedDevice> = devices.iter().map(|name| NamedDevice::parse(name).unwrap()).collect();
    let coverage = Coverage::new(files, &devices).unwrap();
    let row = |kernel: &CoveredKernel<'_>| {
        let cells: Vec<&str> = coverage.cells(kernel).map(CoverageCell::name).collect();
        format!("{} {}", kernel.name, cells.join(" "))
    };
    let heading = coverage.devices.join(" ");
    [heading].into_iter().chain(coverage.kernels.iter().map(row)).collect()
}

#[test]
fn specialized_kernels_and_parts_for_fewer_archs_have_no_gaps() {
    let library = fatbins(vec![
        vec![cubin("sm_80", &["a"]), cubin("sm_90", &["a"]), ptx("sm_90", &["a"])],
        vec![cubin("sm_90a", &["wgmma"])],
    ]);
    let other = fatbins(vec![vec![cubin("sm_75", &["b"])]]);
    assert_eq!(
        rows(&[library, other], &[]),
        ["sm_75 sm_80 sm_90", "b native none none", "wgmma none none native", "a none native native"]
    );
}

#[test]
fn files_of_a_package_are_judged_together_like_each_alone() {
    let one = |kernels: &[&str]| fatbins(vec![vec![cubin("sm_80", kernels), cubin("sm_90", kernels)]]);
    let with_gap = fatbins(vec![vec![cubin("sm_80", &["a", "d"]), cubin("sm_90", &["d"])]]);
    let other = fatbins(vec![vec![cubin("sm_75", &["b"])]]);
    let not_inspected = || fatbins(vec![vec![(cubin("sm_80", &[]).0, None)]]);
    let files = [one(&["a"]), one(&["b"]), with_gap, one(&["c", "a"]), other, not_inspected(), not_inspected()];
    let mut package = PackageSurvey::default();
    for file in &files {
        package.add(file.clone());
    }
    let package = package.finish();
    let joined = InspectedImages::of_package(&package);
    assert_eq!(joined.len(), 4);
    for devices in [&[][..], &["sm_70", "sm_89", "sm_100"]] {
        assert_eq!(rows_of(&joined, devices), rows(&files, devices));
    }
    let coverage = Coverage::new(&joined, &[]).unwrap();
    assert_eq!(coverage.not_inspected.into_values().collect::<Vec<_>>(), [2]);
}

#[test]
fn a_kernel_removed_for_one_arch_is_one_gap() {
    let library = fatbins(vec![
        vec![cubin("sm_80", &["a", "b"]), cubin("sm_86", &["a"]), cubin("sm_90", &["a", "b"])],
        vec![cubin("sm_80", &["c"]), cubin("sm_90", &["c"])],
    ]);
    let inspected = [InspectedImages::from(&library)];
    let coverage = Coverage::new(&inspected, &[]).unwrap();
    let expected =
        Gap { file: 0, kernel: "b", device: "sm_86".to_owned(), selected: 1, absence: Absence::Absent, holder: 0 };
    assert_eq!(coverage.gaps().collect::<Vec<_>>(), std::slice::from_ref(&expected));
    assert_eq!(coverage.gap(&coverage.kernels[0], 1), Some(expected));
    assert_eq!(
        rows(std::slice::from_ref(&library), &[]),
        ["sm_80 sm_86 sm_90", "b native gap native", "a native native native", "c native compatible native"]
    );
    // The claim of the library counts, not only the requested devices.
    assert_eq!(rows(std::slice::from_ref(&library), &["sm_89"])[1], "b gap");
    let counts = DeviceCounts { native: 1, compatible: 1, gaps: 1, ..DeviceCounts::default() };
    assert_eq!(coverage.counts()[1], counts);
}

#[test]
fn kernels_for_wavefronts_of_another_size_are_no_gaps() {
    let of = |size: u32| format!("_ZN7rocprim1kILNS_4arch9wavefront6targetE{size}EEEvT_");
    let (lanes_32, lanes_64) = (of(0), of(1));
    let library = file(
        "a.so",
        vec![(
            ContainerType::Bundle,
            vec![
                code_object("gfx90a", &[&lanes_64, "k"]),
                code_object("gfx942", &[&lanes_64]),
                code_object("gfx1030", &[&lanes_32, "k"]),
                code_object("gfx1100", &["k"]),
            ],
        )],
    );
    assert_eq!(
        rows(&[library], &["gfx90a:sramecc+:xnack-", "gfx942:sramecc+:xnack-", "gfx1030", "gfx1100"]),
        [
            "gfx90a:sramecc+:xnack- gfx942:sramecc+:xnack- gfx1030 gfx1100".to_owned(),
            format!("{lanes_32} other-platform other-platform native gap"),
            "k native gap native native".to_owned(),
            format!("{lanes_64} native native other-platform other-platform"),
        ]
    );
}

#[test]
fn the_preferred_image_must_have_the_kernel_itself() {
    // The cubin with the suffix is preferred on sm_90, so the kernel of the other one never runs.
    let library = fatbins(vec![vec![cubin("sm_90", &["k"]), cubin("sm_90a", &["fast"])]]);
    assert_eq!(rows(&[library], &[]), ["sm_90", "k gap", "fast native"]);
}

#[test]
fn images_that_no_device_loads_make_no_gaps() {
    let link_time = (Image { image_kind: ImageKind::Nvvm, ..cubin("sm_90", &[]).0 }, Some(vec!["linked"]));
    let library = fatbins(vec![vec![link_time, cubin("sm_90", &["k"])]]);
    assert_eq!(rows(&[library], &[]), ["sm_90", "linked none", "k native"]);
}

#[test]
fn images_that_were_not_inspected_leave_cells_unknown() {
    let unread = (cubin("sm_90", &[]).0, None);
    let library = fatbins(vec![vec![cubin("sm_80", &["k"]), unread]]);
    let inspected = [InspectedImages::from(&library)];
    let coverage = Coverage::new(&inspected, &[]).unwrap();
    assert_eq!(coverage.cells(&coverage.kernels[0]).nth(1).unwrap(), CoverageCell::Unknown);
    let unread = UninspectedImages { arch: "sm_90".to_owned(), reason: "no reader" };
    assert_eq!(coverage.not_inspected.into_iter().collect::<Vec<_>>(), [(unread, 1)]);
}

#[test]
fn a_device_name_that_leaves_settings_open_needs_each_of_them() {
    let bundle = file(
        "lib.so",
        vec![
            (
                ContainerType::Bundle,
                vec![code_object("gfx90a:xnack+", &["a", "b"]), code_object("gfx90a:xnack-", &["a"])],
            ),
            (ContainerType::Bundle, vec![code_object("gfx90a:xnack+", &["c"])]),
        ],
    );
    assert_eq!(
        rows(&[bundle], &["gfx90a", "gfx90a:xnack+", "sm_90"]),
        [
            "gfx90a gfx90a:xnack+ sm_90",
            "b gap native other-platform",
            "c none native other-platform",
            "a native native other-platform"
        ]
    );
}

#[test]
fn compiled_code_runs_and_embedded_images_are_sets_of_their_own() {
    let library = file(
        "lib.so",
        vec![
            (ContainerType::CudaFatbin, vec![ptx("sm_80", &["jit"])]),
            (ContainerType::Embedded, vec![cubin("sm_80", &["e"]), cubin("sm_90", &["f"])]),
        ],
    );
    assert_eq!(rows(&[library], &[]), ["sm_80 sm_90", "e native none", "f none native", "jit jit-ptx jit-ptx"]);
}

#[test]
fn families_count_their_kernels() {
    let names = ["_Z1fIiEvv", "_Z1fIfEvv"];
    let library =
        fatbins(vec![vec![cubin("sm_80", &names), cubin("sm_90", &names[..1])], vec![cubin("sm_80", &["g"])]]);
    let inspected = [InspectedImages::from(&library)];
    let coverage = Coverage::new(&inspected, &[]).unwrap();
    let families = coverage.families();
    let cell = |family: usize, device: usize| {
        let FamilyCell { running, gaps, common } = coverage.family_cells(&families[family])[device];
        (running, gaps, common.map(CoverageCell::name))
    };
    assert_eq!((families[0].name.as_str(), families[0].kernels, families[1].name.as_str()), ("f", 2, "g"));
    assert_eq!([cell(0, 0), cell(0, 1), cell(1, 1)], [(2, 0, Some("native")), (1, 1, None), (0, 0, Some("none"))]);
}

/// Linear congruential generator, so that failures can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn names(&mut self) -> Vec<&'static str> {
        ["a", "b", "c", "d"].into_iter().filter(|_| self.below(4) > 0).collect()
    }
}

/// Each cell of each set is equal to the answer of `select` on that set, worked out kernel by kernel.
#[test]
fn equals_select_container_by_container() {
    let random = &mut Random(11);
    let mut seen = BTreeMap::new();
    for round in 0..500 {
        let archs = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_120"];
        let images = (0..1 + random.below(5)).map(|_| {
            let arch = archs[random.below(archs.len())];
            let names = random.names();
            if random.below(4) == 0 { ptx(arch.trim_end_matches('a'), &names) } else { cubin(arch, &names) }
        });
        let library = fatbins(vec![images.collect()]);
        let device = ["sm_75", "sm_80", "sm_87", "sm_89", "sm_90", "sm_100"][random.below(6)];
        let devices = [NamedDevice::parse(device).unwrap()];
        let inspected = [InspectedImages::from(&library)];
        let coverage = Coverage::new(&inspected, &devices).unwrap();
        let answered = AnsweredFile::new(&library.file, &devices[0].devices);
        let selection = &answered.sets[0].answers[0].selection;
        for kernel in &coverage.kernels {
            let has = |index: usize| {
                let inspection = library.image_surveys[index].inspection.as_ref().unwrap();
                inspection.kernels.iter().any(|own| own.name == kernel.name)
            };
            let expected = match selection.selected {
                Some((index, method)) if has(index) => method.name(),
                Some(_) => "gap",
                None => "none",
            };
            assert_eq!(
                coverage.cells(kernel).next().unwrap().name(),
                expected,
                "round {round}: {} on {device}",
                kernel.name
            );
            *seen.entry(expected).or_insert(0) += 1;
        }
        let gaps = coverage.kernels.iter().filter(|kernel| coverage.gaps_of(kernel) > 0).count();
        assert_eq!((coverage.gaps().count(), coverage.kernels_with_gaps()), (gaps, gaps));
    }
    assert!(seen.len() == 5 && seen.values().all(|count| *count > 50), "{seen:?}");
}

/// The table has as many cells as kernels times devices: the square of the size of a small file.
#[test]
fn a_table_that_is_too_large_for_its_file_is_an_error() {
    let of = |devices: usize| {
        let names: Vec<String> = (0..devices).map(|number| format!("k{number}")).collect();
        let images = names.iter().enumerate().map(|(number, name)| cubin(&format!("sm_{}", 10_000 + number), &[name]));
        let library = fatbins(vec![images.collect()]);
        Coverage::new(&[InspectedImages::from(&library)], &[]).map(|it| (it.kernels.len(), it.gaps().count()))
    };
    assert_eq!(of(300).unwrap(), (300, 300 * 299));
    let error = of(3000).unwrap_err().to_string();
    let expected = "lib.so: kernels by device at 0x0: exceeds the limit of 8388608 steps of work for this file";
    assert_eq!(error, expected);
}
