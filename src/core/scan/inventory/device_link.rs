//! Relocatable CUDA code: the inputs of a device linker, and the code that the driver links again.
//!
//! In an object or a static library, relocatable code must be linked before a device runs it. nvcc leaves it in the
//! finished file, next to the linked code, and registers each relocatable container with the link (`crt/link.stub`).
//! The driver prefers the linked code. For a device that the linked code does not serve, it takes the nearest cubin or
//! PTX of each registered container and links them. It ignores LTO-IR, and skips a container that has nothing for the
//! device. Then the kernels in that container are missing, and also the kernels that call its functions. Measured with
//! driver 580.159.04 on an H100; NVIDIA's nvcc manual, JIT Linking Support.

use std::collections::{BTreeMap, HashMap};

use super::{Container, File, Image, NestedImage, Registration, Wrapper, WrapperKind};
use crate::format::KernelContent;
use crate::format::fat_binary_wrapper::{LINK_VERSION, VERSION, is_relocatable_section};
use crate::format::{ImageKind, RegisteringRuntime};
use crate::target::nvptx::{Arch, NUMBERS};

/// Purpose of the code in a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeRole {
    /// A driver or runtime loads it.
    Loaded,
    /// Relocatable code of an object. A device linker takes it.
    LinkInput,
    /// Relocatable code of a finished file. The driver links it again for devices that the linked code does not serve.
    Relinked,
    /// Relocatable code of a finished file that no device link registers. Nothing loads it.
    Leftover,
    /// Output of an earlier step of a compilation, next to the code that programs load. Nothing loads it.
    LeftBehind,
}

/// A device link of a finished file.
#[derive(Debug, Clone)]
pub struct DeviceLink<'a> {
    /// The container with the linked code; absent if its wrapper is damaged.
    pub output: Option<&'a Container>,
    /// The relocatable containers that were linked.
    pub inputs: Vec<LinkInput<'a>>,
    /// Devices with code in every input that the link needs, and devices with machine code in each.
    served: Served,
    served_by_machine_code: Served,
}

/// A relocatable container of a device link.
#[derive(Debug, Clone, Copy)]
pub struct LinkInput<'a> {
    /// The container.
    pub container: &'a Container,
    /// Name of the module that was compiled to it, if known.
    pub module: Option<&'a str>,
}

/// Source file of the only module of `libcudadevrt.a`, as spelled in module names.
const DEVICE_RUNTIME: &str = "cuda_device_runtime_cu";

impl<'a> LinkInput<'a> {
    /// Name of the source file, with other characters replaced by `_`. It follows its length:
    /// `_e2e73d85_5_d1_cu__Z2h1f`.
    pub fn source(self) -> Option<&'a str> {
        let (_, rest) = self.module?.strip_prefix('_')?.split_once('_')?;
        let (length, rest) = rest.split_once('_')?;
        rest.get(..length.parse().ok()?)
    }

    /// True for NVIDIA's device runtime, which has code for every architecture of its toolkit. nvcc links it to all
    /// code that might launch kernels. If it has no code for a device, the link works without it.
    pub fn is_device_runtime(self) -> bool {
        self.source() == Some(DEVICE_RUNTIME)
    }
}

/// The device links of a file, and the purpose of its containers.
#[derive(Debug, Clone, Default)]
pub struct DeviceLinks<'a> {
    links: Vec<DeviceLink<'a>>,
    /// Purposes of the relocatable containers, by their offsets.
    roles: HashMap<u64, CodeRole>,
    /// Places of containers in the links, by the offsets of the containers.
    places: HashMap<u64, Vec<LinkPlace>>,
}

/// Place of a container in a device link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkPlace {
    /// Number of the link.
    pub link: usize,
    /// Index among the inputs of the link; absent for the output.
    pub input: Option<usize>,
}

/// Maximum number of links that all inputs are assigned to if the file does not state the inputs of each.
const MAX_UNKNOWN_LINKS: usize = 16;

impl<'a> DeviceLinks<'a> {
    /// Determines the links of a file. If the file does not state the inputs of each link, every link gets the inputs
    /// of all links. A device may then get an answer that is worse than the truth, but never a better one.
    pub fn of(file: &'a File) -> Self {
        let is_registered_with_cuda =
            |it: &&Container| it.container_type.descriptor().registered_with == Some(RegisteringRuntime::Cuda);
        let fatbins = file.containers.iter().filter(is_registered_with_cuda);
        let in_section = fatbins.filter(|it| it.section_name().is_some_and(is_relocatable_section));
        let role = if file.is_object { CodeRole::LinkInput } else { CodeRole::Leftover };
        let roles: HashMap<u64, CodeRole> = in_section.filter_map(|it| Some((it.offset?, role))).collect();
        let outputs: Vec<&Wrapper> = file.wrappers.iter().filter(|it| is_cuda(it, LINK_VERSION)).collect();
        let mut links = DeviceLinks { roles, ..DeviceLinks::default() };
        let is_known = outputs.iter().any(|wrapper| wrapper.link.is_some());
        if file.is_object || !is_known && outputs.len() > MAX_UNKNOWN_LINKS {
            return links;
        }
        let known = |link: Option<usize>| if is_known { link } else { None };
        let inputs = links.registered(file);
        let mut by_link: HashMap<Option<usize>, Vec<LinkInput<'_>>> = HashMap::new();
        for (link, input) in inputs.into_values() {
            by_link.entry(known(link)).or_default().push(input);
        }
        for wrapper in outputs {
            let inputs = by_link.get(&known(wrapper.link));
            let output = wrapper.target.container().and_then(|offset| file.container_at(offset));
            links.add(output, inputs.cloned().unwrap_or_default());
        }
        links
    }

    /// Returns the relocatable containers that wrappers of version 1 register, by offset, with the numbers of their
    /// links.
    fn registered(&self, file: &'a File) -> BTreeMap<u64, (Option<usize>, LinkInput<'a>)> {
        let mut registered = BTreeMap::new();
        for wrapper in file.wrappers.iter().filter(|it| is_cuda(it, VERSION)) {
            let Some(offset) = wrapper.target.container() else { continue };
            if wrapper.link.is_some() || self.roles.contains_key(&offset) {
                let container = file.container_at(offset);
                let input = container.map(|container| LinkInput { container, module: wrapper.module.as_deref() });
                registered.extend(input.map(|input| (offset, (wrapper.link, input))));
            }
        }
        registered
    }

    fn add(&mut self, output: Option<&'a Container>, inputs: Vec<LinkInput<'a>>) {
        let link = self.links.len();
        let numbered = inputs.iter().enumerate().map(|(index, input)| (Some(index), input.container));
        for (input, container) in numbered.chain(output.map(|container| (None, container))) {
            let Some(offset) = container.offset else { continue };
            self.places.entry(offset).or_default().push(LinkPlace { link, input });
            if input.is_some() {
                self.roles.insert(offset, CodeRole::Relinked);
            }
        }
        let needed = || inputs.iter().filter(|input| !input.is_device_runtime()).map(|input| &input.container.images);
        let is_machine_code = |image: &&Image| image.image_kind == ImageKind::Elf;
        let served = needed().map(|images| Served::by_any(images.iter())).reduce(Served::and).unwrap_or_default();
        let by_machine_code = needed().map(|images| Served::by_any(images.iter().filter(is_machine_code)));
        let served_by_machine_code = by_machine_code.reduce(Served::and).unwrap_or_default();
        self.links.push(DeviceLink { output, inputs, served, served_by_machine_code });
    }

    /// A link, by its number.
    pub fn link(&self, number: usize) -> Option<&DeviceLink<'a>> {
        self.links.get(number)
    }

    /// True if the driver links relocatable code of the file for an NVIDIA device that the linked code does not serve.
    pub fn serves(&self, number: u32) -> bool {
        self.links.iter().any(|link| link.served.has(number))
    }

    /// Like [`Self::serves`], for all devices later than the known ones.
    pub fn serves_later_devices(&self) -> bool {
        self.links.iter().any(|link| link.served.later)
    }

    /// Places of a container in the links of the file.
    pub fn places(&self, container: &Container) -> &[LinkPlace] {
        container.offset.and_then(|offset| self.places.get(&offset)).map_or(&[], Vec::as_slice)
    }

    /// Purpose of an image.
    pub fn role_of(&self, nested: &NestedImage<'_>) -> CodeRole {
        let container = nested.containers.first();
        if nested.registration() == Registration::LeftBehind {
            return CodeRole::LeftBehind;
        }
        let role = container.and_then(|container| self.roles.get(&container.offset?));
        let own = if nested.image.is_relocatable_cubin() { CodeRole::LinkInput } else { CodeRole::Loaded };
        role.copied().unwrap_or(own)
    }

    /// Architecture and form of an image, with a mark for relocatable code of a finished file: `sm_90 relocatable`.
    pub fn label(&self, nested: &NestedImage<'_>) -> String {
        let label = nested.image.arch_and_form();
        match self.role_of(nested) {
            CodeRole::Loaded | CodeRole::LinkInput | CodeRole::LeftBehind => label,
            CodeRole::Relinked | CodeRole::Leftover => format!("{label} relocatable"),
        }
    }

    /// True if an image is code of the file for the devices that it states. Relocatable code of a finished file counts
    /// if the other inputs of its link have code for all of these devices, too. Machine code also needs machine code in
    /// the other inputs. The device runtime never counts, and linked code without kernels, or with stubs only,
    /// does not, either: nvcc links code without kernels for sm_75 into every program whose link names no architecture.
    pub fn is_code_of_file(&self, nested: &NestedImage<'_>) -> bool {
        match self.role_of(nested) {
            CodeRole::Loaded => nested.image.content == KernelContent::Kernels,
            CodeRole::LinkInput => true,
            CodeRole::Leftover | CodeRole::LeftBehind => false,
            CodeRole::Relinked => {
                let own = Served::by(nested.image);
                let places = nested.containers.first().map_or(&[][..], |container| self.places(container));
                own.devices != 0 && places.iter().any(|place| self.is_served(*place, own, nested.image))
            }
        }
    }

    /// True if the link at `place` has code of the same form as an image for all devices that run the image.
    fn is_served(&self, place: LinkPlace, own: Served, image: &Image) -> bool {
        let Some(link) = self.link(place.link) else { return false };
        let input = place.input.and_then(|input| link.inputs.get(input));
        let is_machine_code = image.image_kind == ImageKind::Elf;
        let served = if is_machine_code { link.served_by_machine_code } else { link.served };
        input.is_some_and(|input| !input.is_device_runtime()) && served.and(own) == own
    }
}

fn is_cuda(wrapper: &Wrapper, version: u32) -> bool {
    wrapper.kind == WrapperKind::Cuda && wrapper.version == version
}

/// NVIDIA devices that code serves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Served {
    /// A bit for each of [`NUMBERS`].
    devices: u64,
    /// True for PTX that all later devices compile.
    later: bool,
}

impl Served {
    /// Devices that run or compile an image.
    fn by(image: &Image) -> Served {
        let is_ptx = image.image_kind == ImageKind::Ptx;
        if !is_ptx && image.image_kind != ImageKind::Elf {
            return Served::default();
        }
        let Some(arch) = image.arch.as_deref().and_then(Arch::parse) else { return Served::default() };
        let runs = |number: &u32| arch.runs_on(Arch { number: *number, suffix: None }, is_ptx);
        let devices = NUMBERS.iter().enumerate().filter(|(_, number)| runs(number));
        let devices = devices.fold(0, |devices, (index, _)| devices | 1_u64 << index);
        Served { devices, later: is_ptx && arch.suffix.is_none() }
    }

    /// Devices that run or compile at least one of several images.
    fn by_any<'i>(images: impl Iterator<Item = &'i Image>) -> Served {
        let or = |one: Served, other: Served| Served {
            devices: one.devices | other.devices,
            later: one.later || other.later,
        };
        images.map(Served::by).fold(Served::default(), or)
    }

    fn has(self, number: u32) -> bool {
        let index = NUMBERS.iter().position(|known| *known == number);
        index.is_some_and(|index| self.devices & 1_u64 << index != 0)
    }

    fn and(self, other: Served) -> Served {
        Served { devices: self.devices & other.devices, later: self.later && other.later }
    }
}
