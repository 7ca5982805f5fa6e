//! Releases of runtimes and tools, and the container versions that they read.
//!
//! Compressed bundles in LLVM: version 1 since clang 18, version 2 since 19 (llvm-project #88827), version 3 since 20
//! (release notes of clang 20). Version 2 is the first that states its size. HIP's runtime reads none before ROCm 6.2
//! (nixpkgs #299589: crash with 6.0), and version 2 since then. It never reads version 1, because it expects the size
//! where version 1 has another field (ROCm/clr #99). Version 3 requires a comgr built from LLVM 20 or later; ROCm 7.0
//! is the first release with one (llvm-project #152600).
//!
//! Offload binaries in LLVM: version 1 since LLVM 14, version 2 since 23 (#169425), version 3 since 24 (#222774), the
//! main branch of autumn 2026.
//!
//! CUDA fat binaries: drivers decompress zstd entries since CUDA 12.4 (manual of nvcc, `--compress-mode`; driver
//! 550.54.14). All releases in use decompress LZ4. A release of CUDA is the version of the driver's interface.
//!
//! Bundle entry IDs: clang-offload-bundler refuses a bundle since LLVM 21 if the ID of any entry has fewer than five
//! components, whichever entry it extracts (#122629, merged in March 2025; measured with 16.0.6, 19.1.7 and 22.1.8). HIP's
//! runtime and comgr of ROCm up to 7.2 find code for AMD's GPUs by the text `amdgcn-amd-amdhsa`
//! only (llvm-project #214841, #217640).

use std::fmt;

use super::ContainerType;
use crate::base::codec::Codec;
use crate::target::BundleEntryId;
use crate::target::bundle_entry_id::FoundByHip;
use crate::target::metal::System;

/// A release of a product that reads containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    product: Product,
    release: (u32, u32),
}

/// A product that reads containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Product {
    /// AMD's ROCm with the HIP runtime.
    Rocm,
    /// LLVM with its tools and libomptarget.
    Llvm,
    /// NVIDIA's CUDA, by the version of the driver's interface.
    Cuda,
    /// A system of Apple, which loads Metal libraries.
    Apple(System),
}

impl Product {
    /// The products that read containers of several versions.
    pub const ALL: [Product; 3] = [Product::Rocm, Product::Llvm, Product::Cuda];
}

/// First release of CUDA whose driver decompresses entries with zstd.
const CUDA_ZSTD: (u32, u32) = (12, 4);

/// First release of LLVM whose bundler requires a kind and a triple of four components in the ID of each entry, and the
/// number of hyphens that it requires. It counts hyphens in features, too.
const LLVM_LONG_IDS: (u32, u32) = (21, 0);
const LONG_ID_HYPHENS: usize = 4;

/// First release of a product that reads a version of a container; `None` if no release does.
struct SupportRow {
    product: Product,
    version: u32,
    since: Option<(u32, u32)>,
}

const fn support_row(product: Product, version: u32, since: Option<(u32, u32)>) -> SupportRow {
    SupportRow { product, version, since }
}

const CCOB: [SupportRow; 6] = [
    support_row(Product::Llvm, 1, Some((18, 0))),
    support_row(Product::Llvm, 2, Some((19, 0))),
    support_row(Product::Llvm, 3, Some((20, 0))),
    support_row(Product::Rocm, 1, None),
    support_row(Product::Rocm, 2, Some((6, 2))),
    support_row(Product::Rocm, 3, Some((7, 0))),
];

const OFFLOAD_BINARY: [SupportRow; 3] = [
    support_row(Product::Llvm, 1, Some((14, 0))),
    support_row(Product::Llvm, 2, Some((23, 0))),
    support_row(Product::Llvm, 3, Some((24, 0))),
];

/// The list is empty if every release reads the containers.
const fn support_for(container: ContainerType) -> &'static [SupportRow] {
    match container {
        ContainerType::Ccob => &CCOB,
        ContainerType::OffloadBinary => &OFFLOAD_BINARY,
        ContainerType::Bundle
        | ContainerType::CudaFatbin
        | ContainerType::Kpack
        | ContainerType::Oxart
        | ContainerType::MetalLibrary
        | ContainerType::SyclBin
        | ContainerType::DxContainer
        | ContainerType::Hcf
        | ContainerType::MetalArchive
        | ContainerType::MetalBinary
        | ContainerType::OclocArchive
        | ContainerType::SyclImage
        | ContainerType::BundleSection
        | ContainerType::DeviceElf
        | ContainerType::Ptx
        | ContainerType::Bitcode
        | ContainerType::SpirV
        | ContainerType::LtoIr
        | ContainerType::OptixIr
        | ContainerType::TileIr
        | ContainerType::PatchTokens
        | ContainerType::Embedded => &[],
    }
}

/// Support of a reader for a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// The reader reads it.
    Yes,
    /// The reader does not read it; the first release that does, if any.
    No(Option<Reader>),
    /// The product does not handle such containers.
    NotApplicable,
}

impl Reader {
    /// Parses a release such as `rocm-6.2` or `llvm-19`.
    pub fn parse(text: &str) -> Option<Reader> {
        let (product, release) = text.split_once('-')?;
        let product = match product {
            "rocm" => Product::Rocm,
            "llvm" => Product::Llvm,
            "cuda" => Product::Cuda,
            _ => return None,
        };
        let mut numbers = release.split('.').map(|number| number.parse::<u32>().ok());
        let major = numbers.next()??;
        let minor = numbers.next().unwrap_or(Some(0))?;
        numbers.all(|number| number.is_some()).then_some(Reader { product, release: (major, minor) })
    }

    /// Returns whether it is a release with a HIP runtime.
    pub fn has_hip_runtime(self) -> bool {
        self.product == Product::Rocm
    }

    /// Returns whether its HIP runtime finds the entry with an ID.
    pub fn finds(self, id: &BundleEntryId<'_>) -> Support {
        let is_found = match id.found_by_hip() {
            FoundByHip::Always => true,
            FoundByHip::AfterRocm6_4 => self.release > (6, 4),
            FoundByHip::Never => false,
        };
        match (self.has_hip_runtime(), is_found) {
            (false, _) => Support::NotApplicable,
            (true, true) => Support::Yes,
            (true, false) => Support::No(None),
        }
    }

    /// Returns whether it reads containers of a type and version.
    pub fn reads(self, container: ContainerType, version: Option<u32>) -> Support {
        let mut rows = support_for(container).iter().filter(|row| row.product == self.product).peekable();
        if rows.peek().is_none() {
            return Support::NotApplicable;
        }
        match rows.find(|row| Some(row.version) == version).and_then(|row| row.since) {
            Some(since) if since <= self.release => Support::Yes,
            since => Support::No(since.map(|release| Reader { release, ..self })),
        }
    }

    /// Returns whether it reads bundles with an entry of this ID.
    pub fn reads_bundle_with(self, id: &str) -> bool {
        let needs_long_ids = self.product == Product::Llvm && self.release >= LLVM_LONG_IDS;
        !needs_long_ids || id.matches('-').count() >= LONG_ID_HYPHENS
    }

    /// Returns whether it decompresses images with a codec in containers of a type.
    pub fn decompresses(self, container: ContainerType, codec: Codec) -> Support {
        match (self.product, container, codec) {
            (Product::Cuda, ContainerType::CudaFatbin, _) => match Reader::first_cuda(codec) {
                Some(first) if self.release < first.release => Support::No(Some(first)),
                _ => Support::Yes,
            },
            _ => Support::NotApplicable,
        }
    }

    /// Returns the product.
    pub fn product(self) -> Product {
        self.product
    }

    /// Returns the major and minor number of the release.
    pub fn release(self) -> (u32, u32) {
        self.release
    }

    /// Returns the products that handle a container, each with the first release that reads it; none if no release
    /// does.
    pub fn products_of(container: ContainerType, version: Option<u32>) -> Vec<(Product, Option<Reader>)> {
        let rows = support_for(container);
        let products = Product::ALL.into_iter().filter(|&product| rows.iter().any(|row| row.product == product));
        let first = |product| {
            let mut rows = rows.iter().filter(|row| row.product == product);
            let release = rows.find(|row| Some(row.version) == version).and_then(|row| row.since);
            release.map(|release| Reader { product, release })
        };
        products.map(|product| (product, first(product))).collect()
    }

    /// Returns the first release of CUDA whose driver decompresses entries of fat binaries with a codec; `None` if
    /// every release in use does.
    pub fn first_cuda(codec: Codec) -> Option<Reader> {
        (codec == Codec::Zstd).then_some(Reader { product: Product::Cuda, release: CUDA_ZSTD })
    }

    /// Returns the first release of each product that reads a container. A product is absent if all of its releases do,
    /// or none.
    pub fn first_of(
        container: ContainerType,
        version: Option<u32>,
        codecs: impl IntoIterator<Item = Codec>,
    ) -> Vec<Reader> {
        let mut first: Vec<Reader> =
            Reader::products_of(container, version).into_iter().filter_map(|(_, first)| first).collect();
        let is_fatbin = container == ContainerType::CudaFatbin;
        if is_fatbin {
            first.extend(codecs.into_iter().find_map(Reader::first_cuda));
        }
        first
    }

    /// Returns the later one of two releases; `None` if they are of different products.
    pub fn later(self, other: Reader) -> Option<Reader> {
        (self.product == other.product).then_some(if self.release < other.release { other } else { self })
    }
}

impl fmt::Display for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.product, self.release) {
            (Product::Rocm, (major, minor)) => write!(f, "ROCm {major}.{minor}"),
            (Product::Llvm, (major, _)) => write!(f, "LLVM {major}"),
            (Product::Cuda, (major, minor)) => write!(f, "CUDA {major}.{minor}"),
            (Product::Apple(system), (major, minor)) => write!(f, "{} {major}.{minor}", system.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_read_earlier_versions() {
        let reads = |reader: &str, version| Reader::parse(reader).unwrap().reads(ContainerType::Ccob, Some(version));
        let first = |reader: &str| Support::No(Reader::parse(reader));
        assert_eq!(reads("rocm-6.1", 2), first("rocm-6.2"));
        assert_eq!(reads("rocm-6.2.3", 2), Support::Yes);
        assert_eq!(reads("rocm-6.4", 3), first("rocm-7.0"));
        assert_eq!(reads("rocm-10", 3), Support::Yes);
        assert_eq!(reads("rocm-7.2", 1), Support::No(None));
        assert_eq!(reads("llvm-18", 2), first("llvm-19"));
        let cuda = Reader::parse("rocm-7").unwrap().reads(ContainerType::CudaFatbin, Some(1));
        assert_eq!(cuda, Support::NotApplicable);
    }

    #[test]
    fn releases_of_llvm_read_offload_binaries() {
        let reads =
            |reader: &str, version| Reader::parse(reader).unwrap().reads(ContainerType::OffloadBinary, Some(version));
        for (reader, newest) in [("llvm-22", 1), ("llvm-23", 2), ("llvm-24", 3)] {
            for version in 1..=3 {
                assert_eq!(reads(reader, version) == Support::Yes, version <= newest, "{reader} {version}");
            }
        }
    }

    #[test]
    fn drivers_decompress_zstd_since_cuda_12_4() {
        let support =
            |reader: &str, codec| Reader::parse(reader).unwrap().decompresses(ContainerType::CudaFatbin, codec);
        for codec in [Codec::None, Codec::Lz4] {
            assert_eq!(support("cuda-11.8", codec), Support::Yes);
        }
        assert_eq!(support("cuda-12.3", Codec::Zstd), Support::No(Reader::parse("cuda-12.4")));
        assert_eq!([support("cuda-12.4", Codec::Zstd), support("cuda-13", Codec::Zstd)], [Support::Yes; 2]);
        assert_eq!(support("rocm-7.0", Codec::Zstd), Support::NotApplicable);
    }

    #[test]
    fn first_releases_are_of_each_product_that_has_one() {
        let names = |container, version, codecs: &[Codec]| {
            let first = Reader::first_of(container, version, codecs.iter().copied());
            first.iter().map(Reader::to_string).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(names(ContainerType::Ccob, Some(3), &[]), "ROCm 7.0, LLVM 20");
        assert_eq!(names(ContainerType::Ccob, Some(1), &[]), "LLVM 18");
        assert_eq!(names(ContainerType::OffloadBinary, Some(2), &[]), "LLVM 23");
        assert_eq!(names(ContainerType::CudaFatbin, Some(1), &[Codec::None, Codec::Zstd]), "CUDA 12.4");
        assert_eq!(names(ContainerType::CudaFatbin, Some(1), &[Codec::Lz4]), "");
        let reader = |text| Reader::parse(text).unwrap();
        assert_eq!(reader("rocm-6.2").later(reader("rocm-7.0")), Some(reader("rocm-7")));
        assert_eq!(reader("rocm-6.2").later(reader("llvm-19")), None);
    }

    #[test]
    fn hip_runtimes_find_entries_by_one_triple() {
        let finds = |reader: &str, id| Reader::parse(reader).unwrap().finds(&BundleEntryId::parse(id).unwrap());
        assert_eq!(finds("rocm-7.2", "hipv4-amdgcn-amd-amdhsa--gfx90a"), Support::Yes);
        assert_eq!(finds("rocm-7.2", "hipv4-amdgpu9.0a-amd-amdhsa--gfx90a"), Support::No(None));
        assert_eq!(finds("llvm-23", "hipv4-amdgpu9.0a-amd-amdhsa--gfx90a"), Support::NotApplicable);
    }

    #[test]
    fn llvm_21_refuses_bundles_with_short_ids() {
        let refuses = |reader: &str, id| !Reader::parse(reader).unwrap().reads_bundle_with(id);
        for id in
            ["host-x86_64-unknown-linux", "hip-amdgcn-amd-amdhsa", "gfx906:xnack-", "gfx906:sramecc-:xnack-", "---", ""]
        {
            assert_eq!([refuses("llvm-22", id), refuses("llvm-21", id)], [true; 2], "{id}");
            assert_eq!([refuses("llvm-20", id), refuses("rocm-7", id)], [false; 2], "{id}");
        }
        for id in [
            "host-x86_64-unknown-linux-gnu",
            "hip-amdgcn-amd-amdhsa-gfx906",
            "hip-amdgcn-amd--",
            "hip-amdgcn-amd-amdhsa:xnack-",
            "a:b-c-d-e-",
        ] {
            assert!(!refuses("llvm-22", id), "{id}");
        }
    }

    #[test]
    fn rejects_invalid_releases() {
        for text in ["rocm", "rocm-", "rocm-x", "hip-6", "llvm-19.x", "rocm-6.2-1"] {
            assert_eq!(Reader::parse(text), None, "{text}");
        }
    }
}
