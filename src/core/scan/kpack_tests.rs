//! Tests of host files whose device code is in kpack archives.

use super::{Host, wrapper};
use crate::base::bytes::View;
use crate::format::kpack::KpackMarker;
use crate::scan::KpackSearch;
use crate::scan::inventory::WrapperKind;

#[test]
fn a_file_that_rocm_kpack_has_split_has_no_errors() {
    let mut host = Host::elf();
    // The section that remains after its device code was removed.
    host.section("", ".hip_fatbin", &[0; 4096]);
    let marker = KpackMarker { search_paths: vec!["../.kpack/x_@GFXARCH@.kpack"], kernel_name: "lib/x.so" };
    let reference = host.section("", ".rocm_kpack_ref", &marker.to_bytes());
    let mut split = wrapper(b"HIPK");
    split[16] = 7;
    let wrappers = host.section("", ".hipFatBinSegment", &split);
    host.points(wrappers, 8, reference, 0);
    let file = host.scan();
    assert_eq!((file.containers.len(), file.errors.len()), (0, 0));
    let [wrapper] = &file.wrappers[..] else { panic!("{:?}", file.wrappers) };
    assert_eq!((wrapper.kind, wrapper.defect().is_some()), (WrapperKind::HipSplitByKpack, false));
    assert_eq!(wrapper.index, Some(7));
    let [reference] = &file.kpack[..] else { panic!("{:?}", file.kpack) };
    assert_eq!((reference.kernel_name.as_str(), &reference.indices[..]), ("lib/x.so", &[7][..]));
    assert_eq!(
        (&reference.search_paths[..], reference.archives.len()),
        (&["../.kpack/x_@GFXARCH@.kpack".to_owned()][..], 0)
    );
}

#[test]
fn a_marker_of_rocm_kpack_that_cannot_be_read_is_an_error() {
    let mut host = Host::elf();
    let reference = host.section("", ".rocm_kpack_ref", b"\x82\xa7version\x01");
    let wrappers = host.section("", ".hipFatBinSegment", &wrapper(b"HIPK").repeat(2));
    host.points(wrappers, 8, reference, 0).points(wrappers, 32, reference, 0);
    let file = host.scan();
    let [error] = &file.errors[..] else { panic!("{:?}", file.errors) };
    assert_eq!(error.field, "kpack marker");
    assert!(file.kpack.is_empty());
}

#[test]
fn an_error_of_an_archive_precedes_those_of_later_containers() {
    let mut host = Host::elf();
    let marker = KpackMarker { search_paths: vec!["x.kpack"], kernel_name: "lib/x.so" };
    let reference = host.section("", ".rocm_kpack_ref", &marker.to_bytes());
    let wrappers = host.section("", ".hipFatBinSegment", &wrapper(b"HIPK"));
    host.points(wrappers, 8, reference, 0);
    host.section("", ".llvm.offloading", b"\x10\xff\x10\xad\x01");
    let mut file = host.scan();
    let [container] = &file.errors[..] else { panic!("{:?}", file.errors) };
    let container = container.offset;
    KpackSearch::default().run(&mut file, None, View::new(&[]));
    let offsets: Vec<u64> = file.errors.iter().map(|error| error.offset).collect();
    assert!(matches!(offsets[..], [archive, last] if archive < last && last == container), "{:?}", file.errors);
}
