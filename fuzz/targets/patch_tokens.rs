//! Reads arbitrary bytes as code with patch tokens for Intel's GPUs, alone and between other bytes.

#![no_main]

use fatbin::View;
use fatbin_core::format::embedded::{Region, at_start};
use fatbin_core::format::patch_tokens::{Program, tokens};
use fatbin_core::format::{DeviceImage, ImageKind};
use fatbin_core::image::{Demangler, inspect};
use fatbin_fuzz::{budget, fuzz_target};

fuzz_target!(|data: &[u8]| {
    let budget = budget(data);
    let view = View::with_budget(data, &budget);
    let inspection = inspect(ImageKind::PatchTokens, view, &Demangler::default());
    assert!(inspection.problems.iter().all(|problem| problem.offset <= data.len() as u64));
    let Ok(program) = Program::read(view) else { return };
    assert!(program.size <= data.len() as u64);
    // Each kernel has a header of some bytes.
    assert!(inspection.kernels.len() <= program.kernels.len() && program.kernels.len() <= data.len());
    for kernel in &program.kernels {
        assert!(tokens(kernel.tokens).all(|token| token.is_ok()));
    }
    assert_eq!(DeviceImage::identify(view).own_size, Some(program.size));
    if let Some(image) = at_start(Region { view, may_hold_text: false }) {
        assert_eq!(image.view.size(), program.size);
    }
});
