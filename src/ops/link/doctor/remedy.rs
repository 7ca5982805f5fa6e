//! Remedies of problems, as imperatives. Each fixes its case if it is followed literally. `remedies.txt` lists them with
//! the trial that follows each. Remedies of relocations depend on the linker, see [`super::overflow`].

use fatbin_core::format::ContainerType;
use fatbin_core::scan::inventory::{Container, WrapperKind};

/// Images in offload binaries. The linker drops them.
pub const LINK_OFFLOAD_BINARIES: &str =
    "link with fatbin link -- COMMAND LINE, or with the compiler and its offload options";

/// Images of HIP in sections of a bundle.
pub const LINK_HIP_BUNDLES: &str = "link with clang --hip-link -fgpu-rdc --no-offload-new-driver, or compile with --offload-new-driver and \
     link with fatbin link -- COMMAND LINE";

/// Images of OpenMP in sections of a bundle. clang up to LLVM 14 wrote them.
pub const LINK_OPENMP_BUNDLES: &str = "link with the clang that compiled the object, and its -fopenmp-targets";

/// Images of DPC++.
pub const LINK_SYCL: &str = "link with the DPC++ compiler and -fsycl";

/// Bytecode of GCC.
pub const LINK_GCC: &str = "link with the GCC that compiled the object, its offload compiler, and GNU ld or gold";

/// Relocatable code of CUDA.
pub const LINK_CUDA: &str = "link the output of nvcc -dlink, too";

/// An image that nothing points to.
pub const WRAP: &str = "wrap the image with fatbin wrap, and link the wrapper in place of the object";

/// A wrapper of nothing.
pub const COMPILE_AGAIN: &str = "compile the object again, with its device code";

/// One image in several wrappers.
pub const LINK_ONE_WRAPPER: &str = "link one of the wrappers";

/// Several wrappers of the same entries.
pub const LINK_EACH_ALONE: &str =
    "link each object by itself with fatbin link -- LINKER -r OBJECT -o OUTPUT, instead of wrapping its images";

/// An entry without a kernel.
pub const LINK_DEVICE_CODE: &str = "link the objects that define it, and their device code";

/// Tile kernels without code.
pub const COMPILE_TILES: &str = "compile for sm_80 or newer (nvcc -arch), which run tile kernels";

/// A kernel without an entry.
pub const LINK_HOST_OBJECT: &str = "link the host object that launches it, or remove the kernel";

/// A device link for other architectures.
pub const LINK_ARCH: &str = "link with the -arch or -gencode options that compiled the object";

/// A device function without code for an architecture.
pub const COMPILE_ARCH: &str = "compile the object that defines it for the same architectures, and link it";

/// Modules that two libraries register.
pub const BIND_MODULES: &str = "link every object of the device link into the library, with -Wl,-Bsymbolic, or leave its module to the other library";

/// Images whose targets exclude each other.
pub const SAME_TARGETS: &str = "compile all objects for the same targets, with the same features";

/// Fat binaries in the bytecode of the host compiler.
pub const WITHOUT_ASSEMBLY: &str = "compile the objects with nvcc -Xfatbin --no-asm, or without -flto";

/// Entries without any image.
pub const LINK_IMAGES: &str = "link the objects with their device code, which a tool or an option has removed";

/// An object whose registration is incomplete.
pub const BUILD_AGAIN: &str = "build the object again, and leave its symbols, relocations and sections as they are";

/// A stub that no input defines.
pub const DEFINE_KERNEL: &str = "link the object that defines the kernel, or instantiate the template";

/// Objects with the same module ID.
pub const COMPILE_WITH_ID: &str =
    "compile each source file with a different ID (clang -cuid=ID), and without a cache that ignores the path";

/// Objects that define the same symbol.
pub const RENAME: &str = "link one of the objects, or rename the symbol";

/// Prefixes of the IDs of HIP's and OpenMP's images in the names of sections.
const IDS: [(&str, &str); 2] = [("hip", LINK_HIP_BUNDLES), ("openmp", LINK_OPENMP_BUNDLES)];

/// Remedy for a container in a section that the linker drops; `None` if that is no loss.
pub fn of_dropped(container: &Container) -> Option<&'static str> {
    let id = container.section_name().and_then(|name| name.strip_prefix(BUNDLE)).unwrap_or_default();
    match container.container_type {
        ContainerType::OffloadBinary => Some(LINK_OFFLOAD_BINARIES),
        ContainerType::SyclImage => Some(LINK_SYCL),
        ContainerType::BundleSection if id.starts_with("sycl") => Some(LINK_SYCL),
        ContainerType::BundleSection => {
            let own = IDS.iter().find(|(kind, _)| id.starts_with(kind)).map(|(_, remedy)| *remedy);
            Some(own.unwrap_or(LINK_OFFLOAD_BINARIES))
        }
        _ => None,
    }
}

/// Prefix of the names of sections with the images of a bundle.
const BUNDLE: &str = "__CLANG_OFFLOAD_BUNDLE__";

/// Remedy for a wrapper whose container no input defines.
pub fn of_missing(kind: WrapperKind, symbol: Option<&str>) -> String {
    let Some(symbol) = symbol else { return COMPILE_AGAIN.to_owned() };
    let section = match kind {
        WrapperKind::Hip => ".hip_fatbin --align 4096",
        _ => ".nv_fatbin",
    };
    format!(
        "link the object with the device code, or write it with fatbin embed -o OBJECT --symbol {symbol}=FAT_BINARY --section {section}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_each_remedy_with_its_trial() {
        let list = include_str!("remedies.txt");
        let embedded = of_missing(WrapperKind::Hip, Some("SYMBOL"));
        let remedies = [
            LINK_OFFLOAD_BINARIES,
            LINK_HIP_BUNDLES,
            LINK_OPENMP_BUNDLES,
            LINK_SYCL,
            LINK_GCC,
            LINK_CUDA,
            BIND_MODULES,
            SAME_TARGETS,
            WITHOUT_ASSEMBLY,
            LINK_ARCH,
            COMPILE_ARCH,
            LINK_IMAGES,
            BUILD_AGAIN,
            DEFINE_KERNEL,
            WRAP,
            COMPILE_AGAIN,
            LINK_ONE_WRAPPER,
            LINK_EACH_ALONE,
            LINK_DEVICE_CODE,
            LINK_HOST_OBJECT,
            COMPILE_WITH_ID,
            RENAME,
            &embedded,
        ];
        for remedy in remedies {
            assert!(list.lines().any(|line| line.starts_with(&format!("{remedy} | "))), "{remedy}");
        }
    }
}
