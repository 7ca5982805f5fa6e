//! Reads the symbols of and the offload binaries in arbitrary bytes as bitcode, and in bitcode that contains arbitrary bytes.

#![no_main]

use fatbin::Host;
use fatbin::OffloadKind;
use fatbin::View;
use fatbin::embed::{TargetOverride, WrapperBuilder, WrapperFormat};
use fatbin_core::format;
use fatbin_core::format::bitcode::embedded::offload_binaries;
use fatbin_core::format::bitcode::symbols::symbols;
use fatbin_fuzz::{budget, fuzz_target};

/// Maximum number of bytes that a byte of bitcode yields: an element of an array has at least one bit.
const MAX_EXPANSION: usize = 8;

fuzz_target!(|data: &[u8]| {
    let budget = budget(data);
    if let Ok(binaries) = offload_binaries(View::with_budget(data, &budget)) {
        assert!(binaries.len() <= data.len() * MAX_EXPANSION);
    }
    if let Ok(symbols) = symbols(View::with_budget(data, &budget)) {
        assert!(symbols.len() <= data.len() * MAX_EXPANSION);
    }

    let mut wrapper = WrapperBuilder::new(OffloadKind::OpenMp, Host::X86_64);
    let target = TargetOverride::new(Some("nvptx64-nvidia-cuda".to_owned()), None);
    wrapper.image_for("image", View::new(data), target);
    wrapper.format = WrapperFormat::Bitcode;
    let mut bitcode = Vec::new();
    // Damaged containers are rejected.
    if wrapper.write_to(&mut bitcode).is_ok() {
        let binaries = offload_binaries(View::new(&bitcode)).expect("complete bitcode");
        let container = format::read(View::new(&binaries)).expect("a known magic").expect("an offload binary");
        let is_image = |image: &format::ImageView| image.view.data() == data;
        assert!(format::of_magic(View::new(data)).is_some() || container.images().iter().any(is_image));
    }
});
