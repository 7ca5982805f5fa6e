//! Form of the code in an image.

use fatbin_core::format::ImageKind;
use fatbin_core::scan::inventory::Image;
use fatbin_core::target::Platform;
use fatbin_core::target::runs_on::CodeForm;

/// Returns the form of the code in an image for a platform.
pub fn of(image: &Image, platform: Option<Platform>) -> CodeForm {
    if let Some(kind) = image.unknown_kind() {
        return CodeForm::UnknownKind(kind);
    }
    match image.image_kind {
        ImageKind::Elf if image.is_unlinked && !image.is_relocatable_cubin() => CodeForm::Unlinked,
        ImageKind::Elf | ImageKind::PatchTokens => CodeForm::Machine,
        ImageKind::Ptx => CodeForm::Ptx,
        ImageKind::SpirV => CodeForm::SpirV,
        ImageKind::Bitcode => CodeForm::Bitcode,
        ImageKind::Nvvm => CodeForm::LinkTime,
        ImageKind::OptixIr => CodeForm::OptixIr,
        ImageKind::TileIr => CodeForm::TileIr,
        ImageKind::MetalLibrary => CodeForm::Air,
        // AOT-compiled code for Intel GPUs and for FPGAs has separate formats.
        ImageKind::Unknown if platform == Some(Platform::SpirV) => CodeForm::Machine,
        _ => CodeForm::Other,
    }
}
