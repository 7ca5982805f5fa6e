//! Types of the library that are values of options.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use fatbin_core::target::OffloadKind;
use fatbin_dropin::ExtraTools;
use fatbin_ops::analyze::metadata::Backend;
use fatbin_ops::analyze::size::Level;
use fatbin_ops::edit::KeepPtx;
use fatbin_ops::embed::files::SymbolStyle;
use fatbin_ops::embed::wrap::LargeImages;

/// Values of an option: each with its name, and a help text or none.
type Values<T> = &'static [(T, &'static str, &'static str)];

pub const KEEP_PTX: Values<KeepPtx> =
    &[(KeepPtx::Newest, "newest", ""), (KeepPtx::All, "all", ""), (KeepPtx::None, "none", "")];

pub const BACKENDS: Values<Backend> =
    &[(Backend::Cuda, "cuda", "NVIDIA"), (Backend::Rocm, "rocm", "AMD"), (Backend::Xpu, "xpu", "Intel")];

pub const SYMBOL_STYLES: Values<SymbolStyle> = &[
    (SymbolStyle::StartEnd, "start-end", ""),
    (SymbolStyle::StartSize, "start-size", ""),
    (SymbolStyle::StartEndSize, "start-end-size", ""),
    (SymbolStyle::Binary, "binary", ""),
];

pub const LEVELS: Values<Level> = &[
    (Level::Arch, "arch", "Architecture, and format of the code unless it is ELF"),
    (Level::File, "file", "File"),
    (Level::Container, "container", "Types of the containers, and section"),
    (Level::Kernel, "kernel", "Kernel"),
    (Level::Family, "family", "Kernels of one template"),
    (Level::Tu, "tu", "Translation unit: the outermost container"),
    (Level::Codec, "codec", "Codec"),
    (Level::Kind, "kind", "Format of the image"),
    (Level::Section, "section", "Section of the image"),
    (Level::Category, "category", "Code, constants, debug information, symbols and others, by their sections"),
];

pub const EXTRA_TOOLS: Values<ExtraTools> = &[
    (ExtraTools::Cuobjdump, "cuobjdump", "NVIDIA's cuobjdump"),
    (ExtraTools::RocObj, "roc-obj", "ROCm's roc-obj-ls and roc-obj-extract"),
    (ExtraTools::LlvmObj, "llvm-obj", "LLVM's llvm-objdump, llvm-readobj and llvm-objcopy, for offloading only"),
];

/// Parses one of these values.
pub fn one_of<T: Copy + Send + Sync + 'static>(values: Values<T>) -> impl TypedValueParser<Value = T> {
    let possible = values.iter().map(|(_, name, help)| match *help {
        "" => PossibleValue::new(*name),
        help => PossibleValue::new(*name).help(help),
    });
    let value = |name: &str| values.iter().find(|(_, own, _)| *own == name).map(|(value, ..)| *value);
    PossibleValuesParser::new(possible).try_map(move |name| value(&name).ok_or("unknown value"))
}

/// Parses an offload kind that has a runtime.
pub fn offload_kind() -> impl TypedValueParser<Value = OffloadKind> {
    let names = PossibleValuesParser::new(["openmp", "cuda", "hip", "sycl"]);
    names.try_map(|name| OffloadKind::from_name(&name.to_ascii_lowercase()).ok_or("unknown offload kind"))
}

/// Parses when images lie among large sections.
pub fn large_images() -> impl TypedValueParser<Value = LargeImages> {
    PossibleValuesParser::new(["auto", "always", "never"]).map(|name| match name.as_str() {
        "always" => LargeImages::Always,
        "never" => LargeImages::Never,
        _ => LargeImages::Auto,
    })
}
