//! Metal libraries: functions in AIR, which is LLVM bitcode, for Apple's GPUs.
//!
//! Layout: a header of 88 bytes, a list of functions, metadata of functions in two parts, and the modules. An entry of the list is
//! its size, and fields: a tag of four letters, the size of the value in two bytes, the value; `ENDT` ends it. Apple does not
//! document the format. Sources: YuAo/MetalLibraryArchive, section Binary Layout; gfx-rs/naga, wiki page Metallib file format; and
//! the 17,248 functions of mlx-metal 0.32.4 for macOS 14, where each `HASH` is the SHA-256 of the function's module.

use sha2::{Digest, Sha256};

use super::container_type::METAL_LIBRARY_MAGIC;
use crate::base::bytes::{Extent, Resource, View};
use crate::base::error::{Cause, Malformed};
use crate::target::metal::{Language, Release, System};

/// Fields of the header.
mod header {
    /// Bit 15 is set for macOS.
    pub const PLATFORM: u64 = 4;
    /// Type of the library, see [`super::LibraryType`], and the system; bit 7 of the system is set if the release follows.
    pub const TYPE: u64 = 10;
    /// Major number of the oldest release; the minor number and the patch level follow, in a byte each.
    pub const RELEASE: u64 = 12;
    /// Size of the library.
    pub const SIZE: u64 = 16;
    /// Offset of the list of functions. Its size follows, without the number of functions.
    pub const FUNCTIONS: u64 = 24;
    /// Offset of the modules. Their size follows.
    pub const MODULES: u64 = 72;
    /// Size of the header.
    pub const END: u64 = 88;
}

/// Number of bytes whose hash is a step of work.
const BYTES_PER_STEP: u64 = 8;

/// Size of the number of functions, and of the size of an entry.
const WORD: u64 = 4;

/// Type of a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LibraryType {
    /// Functions that programs use.
    Executable,
    /// Functions for Core Image.
    CoreImage,
    /// A library that other libraries link.
    Dynamic,
    /// Symbols of another library.
    SymbolCompanion,
    /// A number that is newer than this program.
    Unknown(u8),
}

/// Type of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionType {
    /// Shades vertices.
    Vertex,
    /// Shades fragments.
    Fragment,
    /// Computes.
    Kernel,
    /// Is called by other functions of the library.
    Unqualified,
    /// Is called through a table of functions.
    Visible,
    /// Is called by functions of other libraries.
    External,
    /// Tests intersections of rays.
    Intersection,
    /// A number that is newer than this program.
    Unknown(u8),
}

/// A function.
#[derive(Debug, Clone, Copy)]
pub struct Function<'data> {
    /// Name that programs look up.
    pub name: &'data str,
    /// Type.
    pub function_type: FunctionType,
    /// Version of the Metal language, if it is stated.
    pub language: Option<Language>,
    /// The module.
    pub module: View<'data>,
    /// SHA-256 of the module, and its place in the list.
    pub hash: Option<View<'data>>,
}

/// A library whose header has been checked.
#[derive(Debug, Clone, Copy)]
pub struct MetalLibrary<'data> {
    /// All of the library.
    pub view: View<'data>,
    /// Type.
    pub library_type: LibraryType,
    /// System and oldest release, where they are known.
    pub system: Option<(System, Release)>,
    functions: View<'data>,
    modules: View<'data>,
    count: u32,
}

impl<'data> MetalLibrary<'data> {
    /// Reads the library at the start of a view that may extend beyond it.
    pub fn read(view: View<'data>) -> Result<Self, Malformed> {
        if !view.starts_with(&METAL_LIBRARY_MAGIC) {
            let value = u64::from(view.u32("Metal library magic", 0)?);
            return Err(view.malformed("Metal library magic", 0, Cause::Unexpected { value, expected: "MTLB" }));
        }
        let size = view.u64("Metal library size", header::SIZE)?;
        let view = view.prefix(view.field("Metal library size", header::SIZE), size)?;
        if size < header::END {
            return Err(view.malformed(
                "Metal library size",
                header::SIZE,
                Cause::Unexpected { value: size, expected: "88 or more" },
            ));
        }
        let [library_type, system] = view.u16("Metal library type", header::TYPE)?.to_le_bytes();
        let Extent { offset, size } = extent(view, "Metal library functions", header::FUNCTIONS)?;
        let list = view.from(offset);
        let count = list.u32("Metal library function count", 0)?;
        let functions = list.from(WORD).prefix(view.field("Metal library functions", header::FUNCTIONS), size)?;
        let field = "Metal library modules";
        let modules = view.part(view.field(field, header::MODULES), extent(view, field, header::MODULES)?)?;
        Ok(MetalLibrary {
            view,
            library_type: library_type_of(library_type),
            system: system_of(view, system)?,
            functions,
            modules,
            count,
        })
    }

    /// Returns the functions, up to the first error that ends the list.
    pub fn functions(&self) -> impl Iterator<Item = Result<Function<'data>, Malformed>> + use<'data> {
        let library = *self;
        let mut rest = Some(self.functions);
        (0..self.count).map_while(move |_| {
            let list = rest.take()?;
            let entry = library.entry(list);
            if let Ok((_, size)) = entry {
                rest = Some(list.from(size));
            }
            Some(entry.map(|(function, _)| function))
        })
    }

    /// Reads the entry at the start of a view, and returns its size, too.
    fn entry(&self, list: View<'data>) -> Result<(Function<'data>, u64), Malformed> {
        let size = u64::from(list.u32("Metal function size", 0)?);
        let entry = list.prefix("Metal function size", size.max(WORD))?;
        let mut fields = Fields { rest: entry.from(WORD) };
        let mut name = None;
        let mut function_type = None;
        let mut place = None;
        let mut module_size = None;
        let mut hash = None;
        let mut language = None;
        while let Some((tag, value)) = fields.next_field()? {
            match &tag {
                b"NAME" => name = Some(value),
                b"TYPE" => function_type = value.data().first().copied(),
                b"HASH" => hash = Some(value),
                // Offsets into the public metadata, the private metadata and the modules.
                b"OFFT" => place = Some((value.u64("Metal function module", 16)?, value)),
                // Versions of AIR and of the language, each a major and a minor number.
                b"VERS" => {
                    let number = |at| value.u16("Metal function version", at);
                    language = Some((number(4)?, number(6)?));
                }
                b"MDSZ" => module_size = Some(value.u64("Metal function module size", 0)?),
                _ => {}
            }
        }
        let missing = |field| entry.malformed(field, 0, Cause::EndsInside);
        let name = name.ok_or_else(|| missing("Metal function name"))?;
        let (offset, at) = place.ok_or_else(|| missing("Metal function module"))?;
        let size = module_size.ok_or_else(|| missing("Metal function module size"))?;
        let module = self.modules.part(at.field("Metal function module", 16), Extent { offset, size })?;
        let function_type = function_type_of(function_type.ok_or_else(|| missing("Metal function type"))?);
        let name = name.c_string("Metal function name", 0)?;
        Ok((Function { name, function_type, language, module, hash }, entry.size()))
    }
}

/// Fields of an entry that are left.
struct Fields<'data> {
    rest: View<'data>,
}

impl<'data> Fields<'data> {
    /// Returns the tag and the value of the next field; `None` at the end.
    fn next_field(&mut self) -> Result<Option<([u8; 4], View<'data>)>, Malformed> {
        let tag = self.rest.u32("Metal function field", 0)?.to_le_bytes();
        if tag == *b"ENDT" {
            return Ok(None);
        }
        let size = u64::from(self.rest.u16("Metal function field size", 4)?);
        let value = self.rest.part(self.rest.field("Metal function field size", 4), Extent { offset: 6, size })?;
        self.rest = self.rest.from(6).from(size);
        Ok(Some((tag, value)))
    }
}

fn extent(view: View<'_>, field: &'static str, at: u64) -> Result<Extent, Malformed> {
    let header = view.from(at);
    Ok(Extent { offset: header.u64(field, 0)?, size: header.u64(field, 8)? })
}

fn library_type_of(number: u8) -> LibraryType {
    match number {
        0 => LibraryType::Executable,
        1 => LibraryType::CoreImage,
        2 => LibraryType::Dynamic,
        3 => LibraryType::SymbolCompanion,
        _ => LibraryType::Unknown(number),
    }
}

fn function_type_of(number: u8) -> FunctionType {
    match number {
        0 => FunctionType::Vertex,
        1 => FunctionType::Fragment,
        2 => FunctionType::Kernel,
        3 => FunctionType::Unqualified,
        4 => FunctionType::Visible,
        5 => FunctionType::External,
        6 => FunctionType::Intersection,
        _ => FunctionType::Unknown(number),
    }
}

/// Returns the system and its oldest release. Libraries of early releases state only whether they are for macOS.
fn system_of(view: View<'_>, number: u8) -> Result<Option<(System, Release)>, Malformed> {
    let platform = view.u16("Metal library platform", header::PLATFORM)?;
    let major = view.u16("Metal library release", header::RELEASE)?;
    let [minor, patch] = view.from(header::RELEASE).u16("Metal library release", 2)?.to_le_bytes();
    let system = match number & 0x7f {
        1 => System::MacOs,
        2 => System::Ios,
        3 => System::TvOs,
        4 => System::WatchOs,
        0 if platform & 0x8000 != 0 => System::MacOs,
        0 => System::Ios,
        _ => return Ok(None),
    };
    Ok(Some((system, Release { major: major.into(), minor: minor.into(), patch: patch.into() })))
}

/// Checks the list of functions, and that each module has its hash.
pub fn check(view: View<'_>) -> Result<(), Malformed> {
    for function in MetalLibrary::read(view)?.functions() {
        let Function { module, hash, .. } = function?;
        let Some(hash) = hash else { continue };
        module.charge("Metal function module", Resource::Work, module.size() / BYTES_PER_STEP)?;
        if Sha256::digest(module.data()).as_slice() != hash.data() {
            return Err(hash.malformed(
                "Metal function hash",
                0,
                Cause::Described("not the SHA-256 of the module".to_owned()),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Writes a library for macOS 14.2 as the sources describe it. The modules are not bitcode.
    pub fn library(functions: &[(&str, u8, &[u8])]) -> Vec<u8> {
        let mut list = Vec::new();
        let mut modules = Vec::new();
        for (name, function_type, module) in functions {
            let mut entry = Vec::new();
            let mut field = |tag: &[u8; 4], value: &[u8]| {
                entry.extend_from_slice(tag);
                entry.extend_from_slice(&(value.len() as u16).to_le_bytes());
                entry.extend_from_slice(value);
            };
            field(b"NAME", format!("{name}\0").as_bytes());
            field(b"TYPE", &[*function_type]);
            field(b"HASH", &Sha256::digest(module));
            let place = [0, 0, modules.len() as u64].map(u64::to_le_bytes).concat();
            field(b"OFFT", &place);
            field(b"VERS", &[2, 0, 6, 0, 3, 0, 1, 0]);
            field(b"MDSZ", &(module.len() as u64).to_le_bytes());
            entry.extend_from_slice(b"ENDT");
            list.extend_from_slice(&(entry.len() as u32 + 4).to_le_bytes());
            list.append(&mut entry);
            modules.extend_from_slice(module);
        }
        let places = [(88, list.len()), (92 + list.len(), 0), (92 + list.len(), 0), (92 + list.len(), modules.len())];
        let size = 92 + list.len() + modules.len();
        let mut bytes = b"MTLB\x01\x80\x02\0\x07\0\0\x81\x0e\0\x02\0".to_vec();
        bytes.extend_from_slice(&(size as u64).to_le_bytes());
        for (offset, size) in places {
            bytes.extend_from_slice(&(offset as u64).to_le_bytes());
            bytes.extend_from_slice(&(size as u64).to_le_bytes());
        }
        bytes.extend_from_slice(&(functions.len() as u32).to_le_bytes());
        [bytes, list, modules].concat()
    }

    const FUNCTIONS: [(&str, u8, &[u8]); 3] =
        [("add", 2, b"BC\xc0\xdeadd"), ("draw", 0, b"BC\xc0\xde"), ("mul", 2, b"BC\xc0\xdemul!")];

    #[test]
    fn reads_functions_and_the_system() {
        let bytes = library(&FUNCTIONS);
        let found = MetalLibrary::read(View::new(&[&bytes[..], b"what follows"].concat()))
            .map(|it| (it.system, it.view.size()));
        assert_eq!(found, Ok((Some((System::MacOs, Release::new(14, 2))), bytes.len() as u64)));
        let library = MetalLibrary::read(View::new(&bytes)).unwrap();
        let functions: Vec<_> = library.functions().map(Result::unwrap).collect();
        assert!(functions.iter().all(|function| function.language == Some((3, 1))));
        let seen: Vec<_> = functions.iter().map(|it| (it.name, it.function_type, it.module.data())).collect();
        let expected = FUNCTIONS.map(|(name, number, module)| (name, function_type_of(number), module));
        assert_eq!(seen, expected);
        assert_eq!(check(View::new(&bytes)), Ok(()));
    }

    #[test]
    fn a_release_may_have_a_patch_level() {
        let mut bytes = library(&FUNCTIONS);
        // The header of mlx.metallib in metaljax 0.11.9, whose modules are for macosx26.6.2.
        bytes[12..16].copy_from_slice(&[0x1a, 0, 6, 2]);
        let release = Release { major: 26, minor: 6, patch: 2 };
        assert_eq!(MetalLibrary::read(View::new(&bytes)).unwrap().system, Some((System::MacOs, release)));
        assert_eq!(release.to_string(), "26.6.2");
    }

    #[test]
    fn every_truncated_library_and_every_changed_module_is_an_error() {
        let bytes = library(&FUNCTIONS);
        for end in 4..bytes.len() {
            assert!(MetalLibrary::read(View::new(&bytes[..end])).is_err(), "{end}");
        }
        let modules = bytes.len() - FUNCTIONS.map(|(_, _, module)| module.len()).iter().sum::<usize>();
        for at in modules..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(check(View::new(&changed)).is_err(), "{at}");
        }
    }

    #[test]
    fn hostile_fields_are_errors_with_their_place() {
        let bytes = library(&FUNCTIONS);
        let at = |tag: &[u8]| bytes.windows(4).position(|word| word == tag).unwrap();
        let cases = [
            (16, u64::MAX, "Metal library size"),
            (16, 87, "Metal library size"),
            (24, u64::MAX, "Metal library function count"),
            (32, u64::MAX, "Metal library functions"),
            (80, u64::MAX - 1, "Metal library modules"),
            (at(b"OFFT") + 6 + 16, u64::MAX, "Metal function module"),
            (at(b"MDSZ") + 6, 1 << 40, "Metal function module"),
        ];
        for (at, value, field) in cases {
            let mut bytes = bytes.clone();
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            assert_eq!(check(View::new(&bytes)).unwrap_err().field, field, "{at}");
        }
        // More functions than the list has.
        let mut bytes = bytes.clone();
        bytes[88] = 200;
        assert_eq!(check(View::new(&bytes)).unwrap_err().field, "Metal function size");
    }
}
