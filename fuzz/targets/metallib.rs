//! Reads arbitrary bytes as a Metal library. Functions lie inside of it, and what is inspected is what the list states.

#![no_main]

use fatbin::View;
use fatbin_core::format::metal_library::MetalLibrary;
use fatbin_core::format::{ContainerType, FORMATS, ImageKind};
use fatbin_core::image::{Demangler, inspect};
use fatbin_fuzz::{budget, check_container, fuzz_target};

fuzz_target!(|data: &[u8]| {
    let format = FORMATS.iter().find(|format| format.container_type == ContainerType::MetalLibrary);
    check_container(data, format.expect("it has a magic").read);
    let budget = budget(data);
    let view = View::with_budget(data, &budget);
    let inspection = inspect(ImageKind::MetalLibrary, view, &Demangler::default());
    let Ok(library) = MetalLibrary::read(view) else { return };
    let functions: Vec<_> = library.functions().map_while(Result::ok).collect();
    assert!(inspection.kernels.len() <= functions.len());
    for function in functions {
        let range = function.module.range_in(library.view);
        assert_eq!(data.get(range.start as usize..range.end as usize), Some(function.module.data()));
    }
});
