//! `addr2line`: the source of instructions, by function and offset or by address, in the images of files.

use std::collections::{BTreeMap, HashMap};

use fatbin_core::base::code::{Code, Coded, ErrorClass};
use fatbin_core::base::error::{Error, Malformed};
use fatbin_core::base::spelling::Suggestions;
use fatbin_core::format::ImageKind;
use fatbin_core::image::{Demangler, Frame, SourceIndex, function_names};
use fatbin_core::scan::ImageRef;

/// A place in device code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// Name of the function, mangled or demangled; an address in the image without one.
    pub function: Option<String>,
    /// Offset in the function in bytes, or the address.
    pub offset: u64,
}

/// Reason why a location is in no image, or in several.
#[derive(Debug, thiserror::Error)]
pub enum LocateError {
    /// No image can be searched.
    #[error("no image with machine code: {found}")]
    NoImage {
        /// What was found instead.
        found: &'static str,
    },
    /// No image has the function.
    #[error("no image has the function{suggestions}")]
    NoFunction {
        /// Similar names.
        suggestions: Suggestions,
    },
    /// The code of the function ends before the offset.
    #[error("the function is shorter")]
    Outside,
    /// Several images have it.
    #[error("in images {}; select one of them", .images.join(", "))]
    Several {
        /// Index and arch of each.
        images: Vec<String>,
    },
    /// Functions of the image have no addresses.
    #[error("functions of {arch} images all begin at address 0; specify FUNCTION+OFFSET")]
    NeedsFunction {
        /// The arch.
        arch: String,
    },
    /// The image cannot be read.
    #[error(transparent)]
    Input(#[from] Error),
}

impl Coded for LocateError {
    fn class(&self) -> ErrorClass {
        match self {
            LocateError::NoImage { .. } | LocateError::NoFunction { .. } | LocateError::Outside => Code::NoMatch.into(),
            LocateError::Several { .. } => Code::SeveralMatches.into(),
            LocateError::NeedsFunction { .. } => Code::InvalidValue.into(),
            LocateError::Input(error) => error.class(),
        }
    }
}

/// Images that are searched for locations. The debug information of an image is read when a location is in it.
#[derive(Debug)]
pub struct Locator<'scan> {
    images: Vec<ImageRef<'scan>>,
    /// Images with a function, by its mangled name.
    by_function: HashMap<String, Vec<usize>>,
    /// Mangled names by demangled names, once a name was not found.
    mangled: Option<HashMap<String, String>>,
    indexes: BTreeMap<usize, SourceIndex>,
}

/// An instruction with its source.
#[derive(Debug)]
pub struct Located<'a> {
    /// The image.
    pub image: &'a ImageRef<'a>,
    /// Functions that the instruction belongs to, the innermost inlined function first.
    pub frames: Vec<Frame<'a>>,
}

impl<'scan> Locator<'scan> {
    /// Searches the ELF files among these images.
    pub fn new(images: impl IntoIterator<Item = ImageRef<'scan>>) -> Result<Locator<'scan>, LocateError> {
        let mut found = "no device images";
        let mut elf_files = Vec::new();
        for image in images {
            if image.image_kind == ImageKind::Elf {
                elf_files.push(image);
            } else {
                found = "PTX, SPIR-V and bitcode are compiled when they are loaded or linked";
            }
        }
        if elf_files.is_empty() {
            return Err(LocateError::NoImage { found });
        }
        let mut by_function: HashMap<String, Vec<usize>> = HashMap::new();
        for (number, image) in elf_files.iter().enumerate() {
            for name in function_names(image.bytes()?.view()).unwrap_or_default() {
                by_function.entry(name).or_default().push(number);
            }
        }
        Ok(Locator { images: elf_files, by_function, mangled: None, indexes: BTreeMap::new() })
    }

    /// Finds the source of a location.
    pub fn locate(&mut self, location: &Location) -> Result<Located<'_>, LocateError> {
        let (number, address) = match &location.function {
            Some(function) => {
                let name = self.mangled_name(function)?;
                let number = self.single(&self.by_function[&name])?;
                let address = self.index(number)?.address(&name, location.offset);
                (number, address.ok_or(LocateError::Outside)?)
            }
            None => {
                let number = self.single(&(0..self.images.len()).collect::<Vec<_>>())?;
                if self.index(number)?.needs_function() {
                    let arch = self.images[number].arch.clone().unwrap_or_default();
                    return Err(LocateError::NeedsFunction { arch });
                }
                (number, location.offset)
            }
        };
        self.index(number)?;
        Ok(Located { image: &self.images[number], frames: self.indexes[&number].frames(address) })
    }

    fn mangled_name(&mut self, function: &str) -> Result<String, LocateError> {
        if self.by_function.contains_key(function) {
            return Ok(function.to_owned());
        }
        let by_function = &self.by_function;
        let mangled = self.mangled.get_or_insert_with(|| {
            let demangler = Demangler::default();
            let demangled = |name: &String| demangler.demangle(name).map(|text| (text, name.clone()));
            by_function.keys().filter_map(demangled).collect()
        });
        let known = || by_function.keys().chain(mangled.keys());
        mangled.get(function).cloned().ok_or_else(|| LocateError::NoFunction {
            suggestions: Suggestions::new(function, known().map(String::as_str)),
        })
    }

    fn single(&self, numbers: &[usize]) -> Result<usize, LocateError> {
        let label = |&number: &usize| {
            let image = &self.images[number];
            format!("{} ({})", image.index(), image.arch.as_deref().unwrap_or("unknown arch"))
        };
        match numbers {
            &[number] => Ok(number),
            numbers => Err(LocateError::Several { images: numbers.iter().map(label).collect() }),
        }
    }

    fn index(&mut self, number: usize) -> Result<&SourceIndex, LocateError> {
        if !self.indexes.contains_key(&number) {
            self.indexes.insert(number, self.images[number].source_index()?);
        }
        Ok(&self.indexes[&number])
    }

    /// Errors in the debug information that was read, which may hide sources.
    pub fn problems(&self) -> impl Iterator<Item = (usize, &Malformed)> {
        self.indexes.iter().flat_map(|(number, index)| {
            let number = self.images[*number].index();
            index.problems.iter().map(move |problem| (number, problem))
        })
    }
}
