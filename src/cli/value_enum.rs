//! Types of the library that are values of options.

use crate::analyze::metadata::Backend;
use crate::analyze::size::Level;
use crate::edit::KeepPtx;
use crate::embed::files::SymbolStyle;
use crate::embed::wrap::LargeImages;
use crate::target::OffloadKind;

/// Implements clap's trait with the names of values, and their help texts. Public types have a wrapper instead: the trait
/// would be in the interface of the library.
macro_rules! value_enum {
    ($wrapper:ident($type:ident): $($variant:ident $name:literal),+) => {
        #[doc = concat!("Value of an option that is [`", stringify!($type), "`].")]
        #[derive(Debug, Clone, Copy)]
        pub struct $wrapper(pub $type);

        impl clap::ValueEnum for $wrapper {
            fn value_variants<'a>() -> &'a [Self] {
                &[$($wrapper($type::$variant)),+]
            }

            fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
                match self.0 {
                    $($type::$variant => Some(clap::builder::PossibleValue::new($name)),)+
                    #[allow(unreachable_patterns, reason = "some types have values that options lack")]
                    _ => None,
                }
            }
        }
    };
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

value_enum!(LargeValue(LargeImages): Auto "auto", Always "always", Never "never");
value_enum!(KeepPtx: Newest "newest", All "all", None "none");
value_enum!(Backend: Cuda "cuda" "NVIDIA", Rocm "rocm" "AMD", Xpu "xpu" "Intel");
value_enum!(KindValue(OffloadKind): OpenMp "openmp", Cuda "cuda", Hip "hip", Sycl "sycl");
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
