//! Producer and format version of an image, if headers state them.
//!
//! Nothing is decompressed and no code is inspected, because every scan reports this for every image.

mod metal_functions;

use object::elf::{self, FileHeader32, FileHeader64};
use object::endian::Endianness;
use object::read::elf::{FileHeader, SectionHeader};

use super::CudaCode;
use crate::base::bytes::{ObjectBytes, View};
use crate::base::codec::is_compressed;
use crate::format::lto_ir;
use crate::format::tile_ir::TileIrVersion;
use crate::format::{ImageKind, ImageView, is_32_bit_cubin};
use crate::target::amdgpu::ELFOSABI_HSA;
use crate::target::cuda_tool_note::{self, CudaToolNote};
use crate::target::nvptx;

pub use metal_functions::MetalFunctions;

/// Origin of an image. Properties that it does not state are absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// Name that the compiler gives itself, or else the linker.
    pub producer: Option<String>,
    /// Version of the format. For an AMD code object it is the value of `-mcode-object-version`, for a cubin its ABI
    /// version, and for PTX, SPIR-V, LTO-IR, OptiX IR, Tile IR and Metal the version of the language.
    pub format_version: Option<String>,
    /// Properties of NVIDIA code that its drivers depend on.
    pub cuda: CudaCode,
    /// The functions of a Metal library.
    pub metal: Option<Box<MetalFunctions>>,
}

/// Maximum length of a producer string, in bytes.
const MAX_PRODUCER_SIZE: usize = 256;

/// Origin of an image, without properties that require decompression.
pub fn stored_origin(image: &ImageView<'_>) -> Origin {
    let is_plain = !is_compressed(image.codec);
    if is_plain {
        let origin = origin(image.image_kind, image.view);
        return Origin { cuda: CudaCode { is_mercury: image.is_mercury, ..origin.cuda }, ..origin };
    }
    Origin { cuda: CudaCode::stated(image), ..Origin::default() }
}

/// Origin of the image of this kind that is all of `view`.
pub fn origin(image_kind: ImageKind, view: View<'_>) -> Origin {
    match image_kind {
        ImageKind::Elf | ImageKind::HostObject => elf_file(view).unwrap_or_default(),
        ImageKind::Ptx => ptx(view),
        ImageKind::Nvvm | ImageKind::OptixIr => intermediate(lto_ir::version(view)),
        ImageKind::TileIr => {
            let version = TileIrVersion::read(view).ok();
            intermediate(version.map(|version| (version.major.into(), version.minor.into())))
        }
        ImageKind::SpirV => spirv(view).unwrap_or_default(),
        ImageKind::MetalLibrary => {
            let metal = MetalFunctions::read(view).map(Box::new);
            let language = metal.as_ref().and_then(|functions| functions.language);
            let format_version = language.map(|(major, minor)| format!("{major}.{minor}"));
            Origin { format_version, metal, ..Origin::default() }
        }
        _ => Origin::default(),
    }
}

fn intermediate(ir_version: Option<(u16, u16)>) -> Origin {
    let format_version = ir_version.map(|(major, minor)| format!("{major}.{minor}"));
    Origin { format_version, cuda: CudaCode { ir_version, ..CudaCode::default() }, ..Origin::default() }
}

/// Version of code objects with ABI version 0. The ABI versions 0 to 4 denote versions 2 to 6 (AMDGPU usage document of
/// LLVM, ELF header).
const FIRST_CODE_OBJECT: u8 = 2;

fn elf_file(view: View<'_>) -> Option<Origin> {
    if is_32_bit_cubin(view) {
        return elf_file_of::<FileHeader32<Endianness>>(view);
    }
    elf_file_of::<FileHeader64<Endianness>>(view)
}

fn elf_file_of<H: FileHeader<Endian = Endianness>>(view: View<'_>) -> Option<Origin> {
    let header = H::parse(view.data()).ok()?;
    let endian = header.endian().ok()?;
    let file = Elf { header, endian, view };
    let abi = header.e_ident().abi_version;
    Some(match header.e_machine(endian) {
        elf::EM_CUDA => {
            let CudaNotes { tool, toolkit, virtual_arch } = file.cuda_notes();
            let producer = tool.or(toolkit.map(|(major, minor)| format!("CUDA {major}.{minor}")));
            let cuda = CudaCode { abi_version: Some(abi), toolkit, virtual_arch, ..CudaCode::default() };
            Origin { producer, format_version: Some(abi.to_string()), cuda, ..Origin::default() }
        }
        elf::EM_AMDGPU if header.e_ident().os_abi == ELFOSABI_HSA => {
            let format_version = abi.checked_add(FIRST_CODE_OBJECT).map(|version| version.to_string());
            Origin { producer: file.comment(), format_version, ..Origin::default() }
        }
        _ => Origin { producer: file.comment(), ..Origin::default() },
    })
}

struct Elf<'data, H> {
    header: &'data H,
    endian: Endianness,
    view: View<'data>,
}

/// Prefix that lld writes before its name in `.comment`.
const LINKER: &str = "Linker: ";

/// Types of the notes in `.note.nv.tkinfo` and `.note.nv.cuinfo`. The layout of the second note was derived from cubins
/// of ptxas 13.5. CUDA 12.8 and 12.9 write a note of the same type to `.note.nv.cuver` instead. It has no toolkit
/// number.
const TOOL: elf::NoteType = elf::NoteType(cuda_tool_note::NOTE_TYPE);
const TOOLKIT: elf::NoteType = elf::NoteType(1000);

/// Fields of the second note: its form, the architecture of the PTX, 16 bits each, and the toolkit's number, 135 for
/// 13.5.
const TOOLKIT_FORM: u64 = 0;
const VIRTUAL_ARCH: u64 = 2;
const TOOLKIT_NUMBER: u64 = 4;

/// Form with these fields.
const KNOWN_FORM: u16 = 2;

/// Smallest number of a toolkit. A smaller `e_version` is the ordinary 1. Cubins of CUDA 9.1 have 91.
const FIRST_TOOLKIT: u16 = 20;

/// Maximum number of notes that are read. nvlink writes two for each input.
const MAX_NOTES: usize = 1 << 14;

impl<H: FileHeader<Endian = Endianness>> Elf<'_, H> {
    /// Returns the string of the compiler in `.comment`. Every tool adds a string there. If the compiler has none,
    /// returns the string of another tool.
    fn comment(&self) -> Option<String> {
        let sections = self.header.sections(self.endian, ObjectBytes(self.view)).ok()?;
        let (_, section) = sections.section_by_name(self.endian, b".comment")?;
        let data = section.data(self.endian, self.view.data()).ok()?;
        let texts = data.split(|&byte| byte == 0).filter(|text| !text.is_empty()).take(8);
        let texts: Vec<String> = texts.map(readable).collect();
        let compiler = texts.iter().find(|text| !text.starts_with(LINKER)).or(texts.first())?;
        Some(compiler.trim_start_matches(LINKER).to_owned())
    }

    /// Returns the first tool that names itself in a cubin, the latest release of CUDA among its tools, and the first
    /// architecture of PTX. A cubin
    /// that nvlink has linked has the notes of its inputs, too. CUDA 12.8 and later write notes for `sm_100`, CUDA 13
    /// for all architectures. Otherwise, `e_version` is the number of the release.
    fn cuda_notes(&self) -> CudaNotes {
        let endian = self.endian;
        let mut tool_name = None;
        let mut virtual_arch = None;
        let mut latest = release(self.header.e_version(endian));
        let sections = self.header.section_headers(endian, self.view.data()).unwrap_or_default();
        let notes = sections.iter().filter(|section| section.sh_type(endian) == elf::SHT_NOTE);
        let notes = notes.filter_map(|section| section.notes(endian, self.view.data()).ok().flatten());
        let notes = notes.flat_map(|mut notes| std::iter::from_fn(move || notes.next().ok().flatten()));
        for note in notes.take(MAX_NOTES) {
            let bytes = View::new(note.desc());
            match note.n_type(endian) {
                TOOL => {
                    let note = CudaToolNote(bytes);
                    latest = latest.max(note.cuda_release());
                    tool_name = tool_name.or_else(|| tool(note));
                }
                TOOLKIT => {
                    latest = latest.max(bytes.u32("toolkit", TOOLKIT_NUMBER).ok().and_then(release));
                    virtual_arch = virtual_arch.or_else(|| arch_of_ptx(bytes));
                }
                _ => {}
            }
        }
        CudaNotes { tool: tool_name, toolkit: latest, virtual_arch }
    }
}

/// What the notes of a cubin state.
struct CudaNotes {
    tool: Option<String>,
    toolkit: Option<(u16, u16)>,
    virtual_arch: Option<u16>,
}

fn arch_of_ptx(note: View<'_>) -> Option<u16> {
    let has_form = note.u16("note", TOOLKIT_FORM).ok()? == KNOWN_FORM;
    note.u16("virtual architecture", VIRTUAL_ARCH).ok().filter(|_| has_form)
}

/// Converts a number to a release of CUDA: 135 is 13.5.
fn release(number: u32) -> Option<(u16, u16)> {
    let number = u16::try_from(number).ok().filter(|&number| number >= FIRST_TOOLKIT)?;
    Some((number / 10, number % 10))
}

fn tool(note: CudaToolNote<'_>) -> Option<String> {
    Some(readable(format!("{}, {}", note.name()?, note.version()?).as_bytes()))
}

/// Comments at the start of PTX that name the tool (nvcc), or precede its name (LLVM).
const PTX_PRODUCERS: [&str; 2] = ["// Cuda compilation tools", "// Generated by LLVM"];

fn ptx(view: View<'_>) -> Origin {
    let version = nvptx::Ptx::read(view.data()).map(|ptx| ptx.version);
    let format_version = version.map(|(major, minor)| format!("{major}.{minor}"));
    let comments =
        view.data().split(|&byte| byte == b'\n').take_while(|line| line.is_empty() || line.starts_with(b"//"));
    let mut comments = comments.take(32).filter(|line| line.len() <= MAX_PRODUCER_SIZE).map(readable);
    let producer = comments.find(|line| PTX_PRODUCERS.iter().any(|known| line.starts_with(known)));
    Origin {
        producer: producer.map(|line| line.trim_start_matches("// ").trim_start_matches("Generated by ").to_owned()),
        format_version,
        metal: None,
        cuda: CudaCode { ptx_version: version, ..CudaCode::default() },
    }
}

/// Tools in the registry of SPIR-V's generators (Khronos, spir-v.xml) that write kernels.
const GENERATORS: [(u32, &str); 4] = [
    (6, "Khronos LLVM/SPIR-V Translator"),
    (17, "Khronos SPIR-V Tools Linker"),
    (22, "LLVM MLIR SPIR-V Serializer"),
    (43, "LLVM SPIR-V Backend"),
];

/// Reads the second and third word. The second has the bytes `0 major minor 0`; the third has the tool's number in the
/// upper half.
fn spirv(view: View<'_>) -> Option<Origin> {
    let is_swapped = view.data().starts_with(&[7]);
    let word = |at| view.u32("SPIR-V header", at).ok().map(|word| if is_swapped { word.swap_bytes() } else { word });
    let version = word(4)?;
    let generator = word(8)? >> 16;
    let known = GENERATORS.iter().find(|(number, _)| *number == generator);
    let producer = known.map_or(format!("SPIR-V generator {generator}"), |&(_, name)| name.to_owned());
    let format_version = format!("{}.{}", version >> 16 & 0xff, version >> 8 & 0xff);
    Some(Origin { producer: Some(producer), format_version: Some(format_version), ..Origin::default() })
}

/// Converts bytes to text of limited length.
fn readable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(..MAX_PRODUCER_SIZE).unwrap_or(bytes)).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::DeviceImage;

    fn of(bytes: &[u8]) -> (Option<String>, Option<String>) {
        let view = View::new(bytes);
        let Origin { producer, format_version, .. } = origin(DeviceImage::identify(view).image_kind, view);
        (producer, format_version)
    }

    fn cuda_of(bytes: &[u8]) -> CudaCode {
        let kind = if bytes.starts_with(b"\x7fELF") { ImageKind::Elf } else { ImageKind::Ptx };
        origin(kind, View::new(bytes)).cuda
    }

    fn fixture(name: &str) -> Vec<u8> {
        std::fs::read(format!("{}/../../fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    fn origin_of(producer: &str, version: &str) -> (Option<String>, Option<String>) {
        (Some(producer.to_owned()), Some(version.to_owned()))
    }

    #[test]
    fn reads_the_producer_of_every_kind_of_image() {
        assert_eq!(of(&fixture("answer-gfx90a.hsaco")), origin_of("Debian LLD 22.1.8", "6"));
        let ptxas = "ptxas, Cuda compilation tools, release 13.5, V13.5.37";
        assert_eq!(of(&fixture("answer-sm_90.cubin")), origin_of(ptxas, "8"));
        assert_eq!(of(&fixture("answer-sm_80.ptx")), origin_of("LLVM NVPTX Back-End", "7.0"));
        let header =
            "//\n// Generated by NVIDIA NVVM Compiler\n//\n// Cuda compilation tools, release 12.1, V12.1.66\n";
        let text = [header.as_bytes(), b".version 8.1\n.target sm_80\n.address_size 64\n"].concat();
        assert_eq!(of(&text), origin_of("Cuda compilation tools, release 12.1, V12.1.66", "8.1"));
    }

    #[test]
    fn reads_the_toolkit_of_a_cubin_without_notes_from_its_header() {
        let mut cubin = fixture("answer-sm_90.cubin");
        // As in cubins of CUDA 11.8: no section of notes, and 118 as `e_version`.
        cubin[0x14..0x18].copy_from_slice(&118_u32.to_le_bytes());
        let headers = u64::from_le_bytes(cubin[0x28..0x30].try_into().unwrap()) as usize;
        for header in cubin[headers..].chunks_exact_mut(64).filter(|header| header[4..8] == [7, 0, 0, 0]) {
            header[4..8].copy_from_slice(&1_u32.to_le_bytes());
        }
        assert_eq!(of(&cubin).0, Some("CUDA 11.8".to_owned()));
        assert_eq!(cuda_of(&cubin), CudaCode { abi_version: Some(8), toolkit: Some((11, 8)), ..CudaCode::default() });
        // As in cubins of CUDA 9.1; an ordinary ELF file has 1.
        for (version, toolkit) in [(91_u32, Some((9, 1))), (1, None), (1_000_000, None)] {
            cubin[0x14..0x18].copy_from_slice(&version.to_le_bytes());
            assert_eq!(cuda_of(&cubin).toolkit, toolkit, "{version}");
            // The header alone states it.
            assert_eq!(cuda_of(&cubin[..64]).toolkit, toolkit, "{version}");
        }
    }

    #[test]
    fn the_latest_tool_of_a_cubin_counts() {
        let mut cubin = fixture("answer-sm_90.cubin");
        let toolkit = |cubin: &[u8]| cuda_of(cubin).toolkit;
        assert_eq!(toolkit(&cubin), Some((13, 5)));
        let release = b"release 13.5";
        let at = cubin.windows(release.len()).position(|bytes| bytes == release).unwrap();
        cubin[at..at + release.len()].copy_from_slice(b"release 14.1");
        assert_eq!(toolkit(&cubin), Some((14, 1)));
        cubin[at..at + release.len()].copy_from_slice(b"release 12.9");
        // The other note still states 13.5.
        assert_eq!(toolkit(&cubin), Some((13, 5)));
        assert_eq!(cuda_of(&fixture("answer-sm_80.ptx")).ptx_version, Some((7, 0)));
    }

    #[test]
    fn reads_the_version_of_spirv_in_either_byte_order() {
        let words = [0x0723_0203_u32, 0x0001_0400, 0x0006_000e, 1, 0];
        let expected = origin_of("Khronos LLVM/SPIR-V Translator", "1.4");
        assert_eq!(of(&words.map(u32::to_le_bytes).concat()), expected);
        assert_eq!(of(&words.map(u32::to_be_bytes).concat()), expected);
        let other = [0x0723_0203_u32, 0x0001_0600, 0xffff_0000, 1, 0];
        assert_eq!(of(&other.map(u32::to_le_bytes).concat()), origin_of("SPIR-V generator 65535", "1.6"));
    }

    #[test]
    fn truncated_and_damaged_images_do_not_panic() {
        for name in ["answer-sm_90.cubin", "answer-gfx90a.hsaco", "answer-sm_80.ptx"] {
            let bytes = fixture(name);
            for at in 0..bytes.len() {
                of(&bytes[..at]);
                let mut broken = bytes.clone();
                broken[at] ^= 0xff;
                of(&broken);
            }
        }
    }
}
