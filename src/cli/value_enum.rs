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

/// Defines the values of an option. One that is forgotten does not compile.
macro_rules! values {
    ($name:ident: $type:ident { $($variant:ident $text:literal $help:literal,)+ }) => {
        pub const $name: Values<$type> = &[$(($type::$variant, $text, $help)),+];
        const _: fn($type) = |value| match value {
            $($type::$variant => (),)+
        };
    };
}

values!(KEEP_PTX: KeepPtx {
    Newest "newest" "",
    All "all" "",
    None "none" "",
});
values!(BACKENDS: Backend {
    Cuda "cuda" "NVIDIA",
    Rocm "rocm" "AMD",
    Xpu "xpu" "Intel",
});
values!(SYMBOL_STYLES: SymbolStyle {
    StartEnd "start-end" "",
    StartSize "start-size" "",
    StartEndSize "start-end-size" "",
    Binary "binary" "",
});
values!(LEVELS: Level {
    Arch "arch" "Architecture, and format of the code unless it is ELF",
    File "file" "File",
    Container "container" "Types of the containers, and section",
    Kernel "kernel" "Kernel",
    Family "family" "Kernels of one template",
    Tu "tu" "Translation unit: the outermost container",
    Codec "codec" "Codec",
    Kind "kind" "Format of the image",
    Section "section" "Section of the image",
    Category "category" "Code, constants, debug information, symbols and others, by their sections",
});
values!(EXTRA_TOOLS: ExtraTools {
    Cuobjdump "cuobjdump" "NVIDIA's cuobjdump",
    RocObj "roc-obj" "ROCm's roc-obj-ls and roc-obj-extract",
    LlvmObj "llvm-obj" "LLVM's llvm-objdump, llvm-readobj and llvm-objcopy, for offloading only",
});

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
