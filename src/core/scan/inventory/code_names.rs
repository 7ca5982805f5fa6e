//! Names of the code in an image: of its architecture, its form and its file.

use super::Image;
use crate::format::ImageKind;
use crate::target::nvcc_names::{NvccForm, NvidiaCode, Spelling};
use crate::target::{TargetId, intel, nvptx, subarch};

/// Extensions for ELF files, by the architecture in the triple. ptxas, AMD's compilers and Intel's compilers use them.
/// Intel's device code is ELF only once it is compiled for a GPU.
const ELF_EXTENSIONS: [(&str, &str); 6] = [
    ("nvptx", "cubin"),
    ("nvptx64", "cubin"),
    ("amdgcn", "hsaco"),
    ("spir64", "zebin"),
    ("spir64_gen", "zebin"),
    ("spirv64", "zebin"),
];

impl Image {
    /// True if compilers use this name for the processor or its code: `gfx90a:xnack+` with its features in any order,
    /// `sm_80` in any form, `compute_80` for PTX, `lto_80` for LTO-IR, and the names of PyTorch and CMake.
    #[doc(hidden)]
    pub fn has_arch_name(&self, name: &str) -> bool {
        let Some(own) = self.arch.as_deref() else { return false };
        if let Some(code) = NvidiaCode::parse(name) {
            let has_form = |form: &NvccForm| match form {
                NvccForm::Ptx => self.image_kind == ImageKind::Ptx,
                NvccForm::LtoIr => self.image_kind == ImageKind::Nvvm,
                // nvcc's names of machine code are also the names of the architecture.
                NvccForm::Machine => code.spelling == Spelling::Nvcc || self.image_kind == ImageKind::Elf,
            };
            return nvptx::Arch::parse(own) == Some(code.arch) && code.forms.iter().any(has_form);
        }
        match (TargetId::parse(own), TargetId::parse(name)) {
            (Ok(own), Ok(named)) => own == named,
            _ => intel::is_same(own, name),
        }
    }

    /// File name extension that the tools for this kind of image use.
    pub fn extension(&self) -> &'static str {
        let triple = self.triple.as_deref().map(subarch::legacy_triple).unwrap_or_default();
        let architecture = triple.split('-').next().unwrap_or_default();
        let of_elf = ELF_EXTENSIONS.iter().find(|(name, _)| *name == architecture);
        match (self.image_kind, of_elf) {
            (ImageKind::Elf, Some((_, extension))) => extension,
            (kind, _) => kind.extension(),
        }
    }

    /// Architecture (or the triple, if unknown), followed by the form of code unless it is ELF: `sm_90 ptx`.
    pub fn arch_and_form(&self) -> String {
        let arch = self.arch.as_deref().or(self.triple.as_deref());
        match (arch, self.image_kind) {
            (Some(arch), ImageKind::Elf) => arch.to_owned(),
            (Some(arch), kind) => format!("{arch} {}", kind.name()),
            (None, kind) => kind.name().to_owned(),
        }
    }
}
