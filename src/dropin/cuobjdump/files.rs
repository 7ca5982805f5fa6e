//! The input file: its members, and their containers in output order.

use std::path::{Path, PathBuf};

use super::options::TOOL;
use crate::access;
use crate::nvidia_options::ToolFailure;
use fatbin_core::base::bytes::View;
use fatbin_core::base::io::Input;
use fatbin_core::format::cuda_fatbin::MAGIC;
use fatbin_core::format::{ContainerType, DeviceImage, ImageKind};
use fatbin_core::scan::inventory::{Container, File};
use fatbin_core::scan::{self, InputSlice, OpenOptions, Options, Source};
use fatbin_core::target::Platform;

/// Sections of containers: executable code, and code to be linked.
const EXECUTABLE: &str = ".nv_fatbin";
const RELOCATABLE: &str = "__nv_relfatbin";

/// Size of a container's header. The tool reports shorter files as truncated containers.
const SMALLEST: u64 = 16;

/// Contents of a file or of a member of an archive.
#[derive(Debug)]
pub enum Contents<'data> {
    /// A cubin without a container.
    Cubin(View<'data>),
    /// Containers.
    Containers {
        /// The containers, in the order of the output.
        containers: Vec<View<'data>>,
        /// True if bytes after them are not a container.
        is_damaged: bool,
    },
    /// No device code.
    Nothing,
}

/// Absolute path, as it appears in messages.
pub fn absolute(path: &Path) -> PathBuf {
    if path == Path::new("") {
        return PathBuf::new();
    }
    std::env::current_dir().map_or(path.to_owned(), |directory| directory.join(path))
}

/// Passes each member of an archive to `take`, or the file itself if it is not an archive.
pub fn each_member(path: &Path, take: &mut dyn FnMut(Result<InputSlice, ToolFailure>)) -> Result<(), ToolFailure> {
    let failure = |_| TOOL.fatal(format!("Could not open input file '{}'", absolute(path).display()));
    if path.is_dir() {
        return Err(TOOL.fatal("Memory allocation failure"));
    }
    // The tool treats `-` as a file name.
    let place = if path == Path::new("-") { Path::new("./-") } else { path };
    let options = OpenOptions::libraries(access::get());
    let input = Input::open(place, options.access).map_err(failure)?;
    if input.size() < SMALLEST {
        return Err(invalid_header(path));
    }
    scan::expand_input(input, place, options, &mut |slice| {
        take(slice.map_err(|error| TOOL.fatal(error.to_string())));
    });
    Ok(())
}

/// Failure for bytes that are not a container.
pub fn invalid_header(path: &Path) -> ToolFailure {
    TOOL.fatal(format!("Invalid fatbin header in '{}'", absolute(path).display()))
}

/// True for an ELF file for NVIDIA's devices.
pub fn is_cubin(image: &DeviceImage) -> bool {
    image.image_kind == ImageKind::Elf && Platform::of(image.triple.as_deref(), None) == Some(Platform::Nvidia)
}

impl<'data> Contents<'data> {
    /// Finds the device code of a member. With `is_all`, relocatable code is included even if there is other code.
    ///
    /// A file without the sections of NVIDIA's compilers may still hold containers: a raw file, a DLL, a library whose
    /// sections were renamed or whose section headers were stripped.
    pub fn find(slice: &'data InputSlice, is_all: bool) -> Result<Self, ToolFailure> {
        let view = slice.view();
        if is_cubin(&DeviceImage::identify(view)) {
            return Ok(Contents::Cubin(view));
        }
        let scan = |structure_only| {
            let options = Options::default().with_structure_only(structure_only);
            scan::scan(slice, options).map_err(|error| TOOL.fatal(error.to_string()))
        };
        let file = scan(true)?;
        let executable = Contents::in_section(&file, view, EXECUTABLE);
        let relocatable = || Contents::in_section(&file, view, RELOCATABLE);
        let found = match executable {
            Contents::Nothing => relocatable(),
            found if is_all => found.and(relocatable()),
            found => found,
        };
        if let Contents::Nothing = found {
            let file = scan(false)?;
            let is_fatbin = view.starts_with(&MAGIC);
            return Ok(Contents::of(&file, view, |_| true, |_| is_fatbin));
        }
        Ok(found)
    }

    fn in_section(file: &File, view: View<'data>, name: &str) -> Self {
        let sections: Vec<_> = file.sections.iter().filter(|section| section.name == name).collect();
        let contains = |offset: u64| {
            sections.iter().any(|section| offset.checked_sub(section.offset).is_some_and(|at| at < section.size))
        };
        Contents::of(file, view, |container| container.section_name() == Some(name), contains)
    }

    /// Wanted containers, up to the first error at a relevant offset.
    fn of(
        file: &File,
        view: View<'data>,
        is_wanted: impl Fn(&Container) -> bool,
        is_relevant: impl Fn(u64) -> bool,
    ) -> Self {
        let is_fatbin = |container: &&Container| container.container_type == ContainerType::CudaFatbin;
        let others = file.containers.iter().filter(|container| !is_fatbin(container)).filter_map(|other| other.offset);
        let errors = file.errors.iter().map(|error| error.offset).chain(others);
        let damage = errors.filter(|&offset| is_relevant(offset)).min();
        let wanted = file.containers.iter().filter(is_fatbin).filter(|container| is_wanted(container));
        let ranges = wanted.filter_map(Container::range);
        let intact = ranges.take_while(|range| damage.is_none_or(|damage| range.start < damage));
        let parts = intact.map(|range| view.from(range.start)).collect::<Vec<_>>();
        if parts.is_empty() && damage.is_none() {
            return Contents::Nothing;
        }
        Contents::Containers { containers: parts, is_damaged: damage.is_some() }
    }

    /// Appends other containers. Containers after damage are not read.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (
                Contents::Containers { mut containers, is_damaged: false },
                Contents::Containers { containers: others, is_damaged },
            ) => {
                containers.extend(others);
                Contents::Containers { containers, is_damaged }
            }
            (own, _) => own,
        }
    }
}
