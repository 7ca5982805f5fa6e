//! The host half of a library with device code: the libraries of CUDA and ROCm that it needs, and the release that its
//! package is for.
//!
//! The number behind `.so.` and before `.dll` is the major release of CUDA for the libraries in the table (NVIDIA, CUDA
//! Toolkit Release Notes, and the wheels of CUDA 11 to 13), and of ROCm for `libamdhip64`. Releases with one major number
//! replace each other (NVIDIA, CUDA Compatibility, Minor Version Compatibility). A library with a static runtime, or with
//! the driver interface only, needs none of them.

use std::collections::BTreeSet;
use std::fmt;

use aho_corasick::AhoCorasick;
use object::elf::DT_SONAME;
use object::read::ImportLibrary;
use object::read::elf::{ElfFile, FileHeader};
use object::{File, LittleEndian, Object, ReadRef};

use fatbin_core::base::error::Result;
use fatbin_core::base::file_path::FilePath;
use fatbin_core::format::readers::Product;
use fatbin_core::scan::Source;

/// A library whose name states a release.
struct Row {
    /// Name without the parts of a system: `cudart` of `libcudart.so.12` and `cudart64_12.dll`.
    stem: &'static str,
    product: Product,
}

const ROWS: [Row; 7] = [
    Row { stem: "cudart", product: Product::Cuda },
    Row { stem: "cublas", product: Product::Cuda },
    Row { stem: "cublasLt", product: Product::Cuda },
    Row { stem: "nvrtc", product: Product::Cuda },
    Row { stem: "nvJitLink", product: Product::Cuda },
    Row { stem: "amdhip64", product: Product::Rocm },
    Row { stem: "hiprtc", product: Product::Rocm },
];

/// Longest name of a library.
const MAX_NAME: usize = 80;

/// A library of a runtime that host code needs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostLibrary {
    /// Name: `libcudart.so.12`.
    pub name: String,
    /// CUDA or ROCm.
    pub product: Product,
    /// Major release.
    pub major: u32,
    /// The code loads it by its name, and may try others.
    pub is_loaded_by_name: bool,
}

/// The libraries of runtimes that a host file needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostRuntime {
    /// The libraries, by name.
    pub libraries: Vec<HostLibrary>,
    /// The names of imported libraries cannot be read.
    pub is_unreadable: bool,
}

impl HostLibrary {
    /// Parses the name of a library; `None` for other libraries, and for names without a release.
    pub fn parse(name: &str) -> Option<HostLibrary> {
        let lower = name.to_ascii_lowercase();
        let (stem, number) = if let Some(base) = lower.strip_suffix(".dll") {
            match base.split_once('_') {
                Some((stem, rest)) => (stem, leading_number(rest)?),
                None => with_four_digits(base)?,
            }
        } else {
            let (front, rest) = lower.strip_prefix("lib")?.split_once(".so.")?;
            // auditwheel adds a hash to the names of bundled libraries: `libcudart.3eda8113.so.13`.
            (front.split(['.', '-']).next()?, leading_number(rest)?)
        };
        let plain = |stem: &str| stem.trim_end_matches("64").to_ascii_lowercase();
        let row = ROWS.iter().find(|row| plain(row.stem) == plain(stem))?;
        // DLLs have the minor number, too: `cudart64_110`, `cudart64_90`.
        let major = if number >= 20 { number / 10 } else { number };
        Some(HostLibrary { name: name.to_owned(), product: row.product, major, is_loaded_by_name: false })
    }

    fn is_same_library(&self, other: &HostLibrary) -> bool {
        let stem = |name: &str| name.split(['.', '_', '-']).next().map(str::to_owned);
        stem(&self.name) == stem(&other.name)
    }
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

/// Splits the name of a DLL of ROCm: two digits each are the major and the minor number of `hiprtc0714`.
fn with_four_digits(base: &str) -> Option<(&str, u32)> {
    let stem = base.trim_end_matches(|it: char| it.is_ascii_digit());
    let digits = base.strip_prefix(stem).filter(|it| it.len() == 4)?;
    Some((stem, digits.parse::<u32>().ok()? / 100))
}

impl HostRuntime {
    /// Reads the imports of a file, and the names in its bytes of libraries that it does not import. A library does not
    /// load itself: its own name is left out. Of other formats than ELF and PE nothing is read.
    pub fn read(source: &impl Source) -> Result<HostRuntime> {
        let view = source.view();
        let is_host = view.starts_with(b"\x7fELF") || view.starts_with(b"MZ");
        if !is_host {
            return Ok(HostRuntime::default());
        }
        let file = File::parse(view.data()).ok();
        let imported = file.as_ref().and_then(imports);
        let own = file.as_ref().and_then(own_name).and_then(|name| HostLibrary::parse(&name));
        let is_unreadable = imported.is_none();
        let mut libraries: BTreeSet<HostLibrary> =
            imported.into_iter().flatten().filter_map(|name| HostLibrary::parse(&name)).collect();
        let mut named = BTreeSet::new();
        source.blocks(0..view.size(), 2 * MAX_NAME, &mut |_, block| named.extend(names(block)))?;
        named.retain(|it| !libraries.iter().chain(&own).any(|known| known.is_same_library(it)));
        libraries.extend(named);
        Ok(HostRuntime { libraries: libraries.into_iter().collect(), is_unreadable })
    }

    /// Returns the libraries of a product that decide the release: the imported ones, or those that the code loads by
    /// name if it imports none.
    pub fn deciding(&self, product: Product) -> Vec<&HostLibrary> {
        let own = || self.libraries.iter().filter(|it| it.product == product);
        let imported: Vec<&HostLibrary> = own().filter(|it| !it.is_loaded_by_name).collect();
        if imported.is_empty() { own().collect() } else { imported }
    }
}

/// Names of imported libraries; `None` if they cannot be read.
fn imports(file: &File<'_>) -> Option<Vec<String>> {
    let name = |library: object::Result<ImportLibrary<'_>>| {
        library.ok().map(|library| String::from_utf8_lossy(library.name()).into_owned())
    };
    file.import_libraries().ok()?.map(name).collect()
}

/// Name that other files import a library by.
fn own_name(file: &File<'_>) -> Option<String> {
    let name = match file {
        File::Elf32(_) | File::Elf64(_) => soname(file),
        File::Pe64(pe) => {
            let directory = pe.export_table().ok()??.directory();
            let bytes = pe.section_table().pe_data_at(pe.data(), directory.name.get(LittleEndian))?;
            bytes.split(|byte| *byte == 0).next()
        }
        _ => None,
    };
    name.map(|name| String::from_utf8_lossy(name).into_owned())
}

/// Returns the name that an ELF library states in its dynamic section.
pub fn soname<'data>(file: &File<'data, impl ReadRef<'data>>) -> Option<&'data [u8]> {
    match file {
        File::Elf32(elf) => elf_soname(elf),
        File::Elf64(elf) => elf_soname(elf),
        _ => None,
    }
}

fn elf_soname<'data, Elf: FileHeader>(elf: &ElfFile<'data, Elf, impl ReadRef<'data>>) -> Option<&'data [u8]> {
    let table = elf.elf_dynamic_table().ok()?;
    let entry = table.iter().find(|entry| entry.tag == DT_SONAME)?;
    table.string(entry).ok()
}

/// Returns the libraries whose names are in the bytes.
fn names(data: &[u8]) -> BTreeSet<HostLibrary> {
    let stems = AhoCorasick::new(ROWS.map(|row| row.stem)).expect("a few short patterns");
    let mut found = BTreeSet::new();
    for stem in stems.find_iter(data) {
        let front = data.get(..stem.start()).unwrap_or_default();
        let start = front.strip_suffix(b"lib").unwrap_or(front).len();
        let tail = data.get(start..).unwrap_or_default();
        let tail = tail.get(..tail.len().min(MAX_NAME)).unwrap_or_default();
        let end = tail.iter().position(|byte| !byte.is_ascii_alphanumeric() && !b"._-".contains(byte));
        let name = end.and_then(|end| std::str::from_utf8(tail.get(..end)?).ok());
        found.extend(name.and_then(HostLibrary::parse).map(|it| HostLibrary { is_loaded_by_name: true, ..it }));
    }
    found
}

/// A release that a package states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatedRelease {
    /// CUDA or ROCm.
    pub product: Product,
    /// Major release.
    pub major: u32,
    /// The words that state it.
    pub text: String,
}

impl fmt::Display for StatedRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Returns the release in the name of a wheel: of its version (`+cu128`), else of its distribution (`cupy_cuda12x`).
pub fn release_of_wheel(name: &str) -> Option<StatedRelease> {
    let mut parts = name.split('-');
    let (distribution, version) = (parts.next()?, parts.next()?);
    let local = version.split_once('+').map(|(_, local)| local);
    let words = |text: &str| text.split(['_', '.', '-']).find_map(release_of_word);
    local.and_then(words).or_else(|| words(distribution))
}

/// Returns the release in a word: `cu128`, `cuda12x`, `rocm7`, `rocm62`.
fn release_of_word(word: &str) -> Option<StatedRelease> {
    let (product, number) = if let Some(rest) = word.strip_prefix("rocm") {
        (Product::Rocm, leading_number(rest)?)
    } else {
        let rest = word.strip_prefix("cuda").or_else(|| word.strip_prefix("cu"))?;
        (Product::Cuda, leading_number(rest)?)
    };
    // Minor numbers follow without a dot. The first release of CUDA with wheels was 9; the numbers of ROCm are 4 to 10.
    let major = match (product, number) {
        (Product::Rocm, 20..=99) => number / 10,
        (Product::Rocm, 400..=999) => number / 100,
        (_, 20..) => number / 10,
        _ => number,
    };
    Some(StatedRelease { product, major, text: word.to_owned() })
}

/// The requirements in the metadata of an installed or packed distribution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredPackages {
    /// Releases of CUDA and ROCm that the required packages are for.
    pub releases: Vec<StatedRelease>,
    /// Beginning of the paths of the files of the distribution.
    root: String,
}

/// Name of the file with the metadata.
const METADATA: &str = "METADATA";

/// Packages whose version is the release.
const VERSIONED: [(&str, Product); 5] = [
    ("cuda-toolkit", Product::Cuda),
    ("nvidia-cuda-runtime", Product::Cuda),
    ("nvidia-cuda-nvrtc", Product::Cuda),
    ("rocm", Product::Rocm),
    ("rocm-sdk-core", Product::Rocm),
];

impl RequiredPackages {
    /// Returns whether the file with this path is the metadata of a distribution.
    pub fn has_path(path: &FilePath) -> bool {
        let mut components = path.components_from_end();
        components.next() == Some(METADATA) && components.next().is_some_and(|it| it.ends_with(".dist-info"))
    }

    /// Reads the metadata at this path (PyPA, Core metadata specifications, Requires-Dist).
    pub fn parse(path: &FilePath, text: &str) -> Option<RequiredPackages> {
        if !RequiredPackages::has_path(path) {
            return None;
        }
        let (root, _) = path.split_before(2);
        let headers = text.lines().take_while(|line| !line.is_empty());
        let required = headers.filter_map(|line| line.strip_prefix("Requires-Dist:"));
        let releases = required.filter_map(|it| release_of_requirement(it.trim())).collect();
        Some(RequiredPackages { releases, root: root.to_owned() })
    }

    /// Returns the requirements of the distribution that a file belongs to; `None` where several are installed in one
    /// directory.
    pub fn of_file<'r>(path: &str, all: &[&'r RequiredPackages]) -> Option<&'r RequiredPackages> {
        let around = all.iter().copied().filter(|it| path.starts_with(&it.root));
        let nearest = around.max_by_key(|it| it.root.len())?;
        let is_only = all.iter().filter(|it| it.root == nearest.root).count() == 1;
        is_only.then_some(nearest)
    }
}

/// Returns the release that a requirement is for: `nvidia-cublas-cu12`, `nvidia-cuda-runtime~=13.0`.
fn release_of_requirement(requirement: &str) -> Option<StatedRelease> {
    let end = requirement.find(|it: char| !it.is_ascii_alphanumeric() && !"-_.".contains(it));
    let (name, rest) = requirement.split_at(end.unwrap_or(requirement.len()));
    let name = name.to_ascii_lowercase().replace(['_', '.'], "-");
    if name.starts_with("nvidia-")
        && let Some(release) = name.rsplit('-').next().and_then(release_of_word)
    {
        return Some(StatedRelease { text: name, ..release });
    }
    let (_, product) = VERSIONED.iter().find(|(known, _)| *known == name)?;
    let rest = rest.split(';').next()?;
    let version = rest.split_once("==").or_else(|| rest.split_once("~="))?.1;
    let major = leading_number(version.trim_start())?;
    Some(StatedRelease { product: *product, major, text: format!("{name} {major}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_libraries_state_the_major_release() {
        let cases = [
            ("libcudart.so.12", Some((Product::Cuda, 12))),
            ("libcudart.so.11.0", Some((Product::Cuda, 11))),
            ("libcudart.3eda8113.so.13", Some((Product::Cuda, 13))),
            ("libnvrtc-672ee683.so.11.2", Some((Product::Cuda, 11))),
            ("libcublasLt.so.13", Some((Product::Cuda, 13))),
            ("cudart64_110.dll", Some((Product::Cuda, 11))),
            ("cudart64_90.dll", Some((Product::Cuda, 9))),
            ("cublas64_12-0a1b2c.dll", Some((Product::Cuda, 12))),
            ("cudart64_12.dll", Some((Product::Cuda, 12))),
            ("nvrtc64_120_0.dll", Some((Product::Cuda, 12))),
            ("nvJitLink_120_0.dll", Some((Product::Cuda, 12))),
            ("libamdhip64.so.6", Some((Product::Rocm, 6))),
            ("libamdhip64.so.5", Some((Product::Rocm, 5))),
            ("libamdhip64.so.7", Some((Product::Rocm, 7))),
            ("amdhip64_7.dll", Some((Product::Rocm, 7))),
            ("hiprtc0714.dll", Some((Product::Rocm, 7))),
            ("amdhip64.dll", None),
            ("libcudart.so", None),
            ("libcuda.so.1", None),
            ("libcufft.so.11", None),
            ("libm.so.6", None),
        ];
        for (name, expected) in cases {
            assert_eq!(HostLibrary::parse(name).map(|it| (it.product, it.major)), expected, "{name}");
        }
    }

    #[test]
    fn wheels_state_their_release_by_version_or_name() {
        let cases = [
            ("torch-2.9.0+cu128-cp312-cp312-linux_x86_64", Some((Product::Cuda, 12))),
            ("torch-2.9.0+rocm6.4-cp312-cp312-linux_x86_64", Some((Product::Rocm, 6))),
            ("cupy_cuda12x-14.2.0-cp312-cp312-win_amd64", Some((Product::Cuda, 12))),
            ("nvidia_nccl_cu13-2.32.3-py3-none-any", Some((Product::Cuda, 13))),
            ("jax_rocm60_plugin-0.5.0-cp312-cp312-any", Some((Product::Rocm, 6))),
            ("jax_rocm7_pjrt-0.12.0-py3-none-any", Some((Product::Rocm, 7))),
            ("x-1+rocm10.0-py3-none-any", Some((Product::Rocm, 10))),
            ("torchvision-0.29.2-py3-none-any", None),
            ("cuml_x-1-py3-none-any", None),
        ];
        for (name, expected) in cases {
            assert_eq!(release_of_wheel(name).map(|it| (it.product, it.major)), expected, "{name}");
        }
    }

    #[test]
    fn requirements_state_releases_by_name_or_exact_version() {
        let text = "Name: x\nRequires-Dist: nvidia-cublas-cu12==12.8.4.1; platform_system == \"Linux\"\n\
                    Requires-Dist: nvidia-cuda-runtime~=13.0; extra == \"cuda\"\n\
                    Requires-Dist: cuda-toolkit[cublas,cudart]==12.*; extra == \"ctk\"\n\
                    Requires-Dist: nvidia-cuda-runtime>=12; python_version==\"3\"\nRequires-Dist: numpy\n\nRequires-Dist: nvidia-x-cu11\n";
        let required = RequiredPackages::parse(&FilePath::parse("a.whl!x-1.dist-info/METADATA"), text).unwrap();
        let found: Vec<String> = required.releases.iter().map(|it| format!("{it}={}", it.major)).collect();
        assert_eq!(found, ["nvidia-cublas-cu12=12", "nvidia-cuda-runtime 13=13", "cuda-toolkit 12=12"]);
        let of_file = |path, all: &[&RequiredPackages]| RequiredPackages::of_file(path, all).is_some();
        assert!(of_file("a.whl!x/lib.so", &[&required]) && !of_file("b.whl!x/lib.so", &[&required]));
        // Two distributions in one directory.
        let other = RequiredPackages::parse(&FilePath::parse("a.whl!y-1.dist-info/METADATA"), "Name: y\n").unwrap();
        assert!(!of_file("a.whl!x/lib.so", &[&required, &other]));
        let vendored =
            RequiredPackages::parse(&FilePath::parse("a.whl!x/_vendor/y-1.dist-info/METADATA"), "Name: y\n").unwrap();
        assert_eq!(RequiredPackages::of_file("a.whl!x/lib.so", &[&vendored, &required]), Some(&required));
    }
}
