//! Types of the library that are values of options.

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::analyze::metadata::Backend;
use crate::analyze::size::Level;
use crate::edit::KeepPtx;
use crate::embed::files::SymbolStyle;
use crate::embed::wrap::LargeImages;
use crate::target::OffloadKind;

/// Implements clap's trait with the names of values, and their help texts.
macro_rules! value_enum {
    ($type:ident: $($variant:ident $name:literal $($help:literal)?),+) => {
        impl clap::ValueEnum for $type {
            fn value_variants<'a>() -> &'a [Self] {
                &[$($type::$variant),+]
            }

            fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
                match self {
                    $($type::$variant => Some(clap::builder::PossibleValue::new($name)$(.help($help))?),)+
                }
            }
        }
    };
}

value_enum!(KeepPtx: Newest "newest", All "all", None "none");
value_enum!(Backend: Cuda "cuda" "NVIDIA", Rocm "rocm" "AMD", Xpu "xpu" "Intel");
value_enum!(SymbolStyle: StartEnd "start-end", StartSize "start-size", StartEndSize "start-end-size", Binary "binary");
value_enum!(
    Level:
    Arch "arch" "Architecture, and format of the code unless it is ELF",
    File "file" "File",
    Container "container" "Types of the containers, and section",
    Kernel "kernel" "Kernel",
    Family "family" "Kernels of one template",
    Tu "tu" "Translation unit: the outermost container",
    Codec "codec" "Codec",
    Kind "kind" "Format of the image",
    Section "section" "Section of the image",
    Category "category" "Code, constants, debug information, symbols and others, by their sections"
);

// Public types have parsers instead: a trait of clap would be in the interface of the library.

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
