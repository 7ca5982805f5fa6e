//! The device links of all targets.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Output;

use super::device::{self, DeviceFile, DeviceLinker, DeviceProgram, Job, stated};
use super::error::{LinkError, Result};
use super::event::LinkEvent;
use super::files::Files;
use super::groups::{self, Group, Target};
use super::host_line::HostWord;
use super::inputs::DeviceInput;
use super::linked_image::{DeviceLink, ExtractedImage, ImageBytes, LinkedImage};
use super::options::{LinkOptions, Spelling};
use super::programs::CommandLine;
use super::unused_archives::{self, UnusedArchive};
use super::{account, device_libraries, extraction, program_names};
use fatbin_core::base::content::Content;
use fatbin_core::base::io::Sink;
use fatbin_core::base::parallel::map_parallel;
use fatbin_core::format::DeviceImage;
use fatbin_core::format::offload_binary::image_kind;
use fatbin_core::target::{OffloadKind, subarch, triple};

/// The device images of a program.
#[derive(Debug)]
pub struct LinkedImages<'data> {
    /// Images, by first occurrence of their targets.
    pub images: Vec<LinkedImage<'data>>,
    /// Archives whose device images are all left out of the link.
    pub unused_archives: Vec<UnusedArchive>,
    /// Numbers of the inputs that were linked.
    pub used: BTreeSet<usize>,
}

/// Links the images of each target, and returns them by first occurrence of their targets. Device linkers run at the
/// same time, and all of them run even if one fails.
pub fn link<'data>(
    inputs: &'data [DeviceInput<'data>],
    libraries: &[&HostWord],
    options: &LinkOptions,
    files: &mut Files,
    report: &mut dyn FnMut(&LinkEvent<'_>),
) -> Result<LinkedImages<'data>> {
    let targets: Vec<Target> = inputs.iter().map(DeviceInput::target).collect();
    let rules = options.release.linker;
    let is_shared = |word: &&&HostWord| rules.shares_inputs || word.is_library_option();
    let libraries: Vec<&HostWord> = libraries.iter().filter(is_shared).copied().collect();
    let mut preparation =
        Preparation { inputs, libraries: &libraries, options, files, written: vec![None; inputs.len()] };
    let groups = if rules.resolves_symbols {
        extraction::group(inputs, &targets, &options.requested, rules)?
    } else {
        groups::group(&targets, &options.requested, rules)
    };
    let links: Vec<DeviceLink<'data>> = groups.iter().map(|group| preparation.prepare(group)).collect::<Result<_>>()?;
    let unused_archives = unused_archives::find(inputs, &groups);
    for archive in &unused_archives {
        report(&LinkEvent::UnusedArchive(archive));
    }
    for extracted in preparation.extracted() {
        report(&LinkEvent::Extract(&extracted));
    }
    for link in &links {
        report(&LinkEvent::Device(link));
    }
    if !options.is_dry_run {
        run(&links, options.jobs, report)?;
    }
    let images = links.into_iter().map(|link| {
        let bytes = match link.linked {
            Some(image) => Some(ImageBytes::Unchanged(image)),
            None => files.open(&link.output, options)?.map(|input| ImageBytes::File(input.into())),
        };
        if bytes.as_ref().is_some_and(|bytes| bytes.view().size() == 0) {
            let target = describe(link.triple, link.arch);
            let path = link.host_files.first().copied().unwrap_or_default().to_owned();
            return Err(LinkError::EmptyImage { path, target });
        }
        let programs = link.commands.into_iter().map(|command| command.program).collect();
        let DeviceLink { triple, kinds, host_files, output, .. } = link;
        // The image is for the processors that its own header states.
        let arch = stated(link.arch).unwrap_or_default();
        Ok(LinkedImage { triple, arch, kinds, host_files, programs, path: output, bytes })
    });
    Ok(LinkedImages { images: images.collect::<Result<_>>()?, unused_archives, used: account::used(&groups) })
}

/// Runs the device linkers. The first failure is the error.
fn run(links: &[DeviceLink<'_>], jobs: usize, report: &mut dyn FnMut(&LinkEvent<'_>)) -> Result<()> {
    let mut outcome = Ok(());
    let run = |link: &DeviceLink<'_>| run_in_order(&link.commands);
    map_parallel(links, jobs, run, &mut |(printed, ran): (String, Result<()>)| {
        report(&LinkEvent::Printed(&printed));
        if outcome.is_ok() {
            outcome = ran;
        }
    });
    outcome
}

/// Runs commands until one fails, and returns what they print.
fn run_in_order(commands: &[CommandLine]) -> (String, Result<()>) {
    let mut printed = String::new();
    for command in commands {
        let Output { status, stdout, stderr } = match command.capture() {
            Ok(output) => output,
            Err(error) => return (printed, Err(error)),
        };
        printed += &String::from_utf8_lossy(&stdout);
        printed += &String::from_utf8_lossy(&stderr);
        if !status.success() {
            return (printed, Err(LinkError::Failed { program: command.program.clone(), status }));
        }
    }
    (printed, Ok(()))
}

/// The preparation of device links, one after another.
struct Preparation<'data, 'a> {
    inputs: &'data [DeviceInput<'data>],
    libraries: &'a [&'a HostWord],
    options: &'a LinkOptions,
    files: &'a mut Files,
    /// Files with images, by their indices. An image may belong to several targets.
    written: Vec<Option<DeviceFile>>,
}

impl<'data> Preparation<'data, '_> {
    /// Images that have files, grouped by host file.
    fn extracted(&self) -> Vec<Vec<ExtractedImage<'data>>> {
        let mut of_files: Vec<Vec<ExtractedImage<'data>>> = Vec::new();
        for (input, file) in self.inputs.iter().zip(&self.written) {
            let Some(DeviceFile { path, .. }) = file else { continue };
            let image = ExtractedImage { input, path: path.clone() };
            match of_files.last_mut().filter(|images| images[0].input.file.path() == input.file.path()) {
                Some(images) => images.push(image),
                None => of_files.push(vec![image]),
            }
        }
        of_files
    }

    fn prepare(&mut self, group: &Group<'data>) -> Result<DeviceLink<'data>> {
        let images = || group.images.iter().map(|&index| &self.inputs[index]);
        let mut host_files: Vec<&str> = images().map(|image| image.file.path()).collect();
        host_files.dedup();
        let kinds = kinds(group, images())?;
        let first = host_files.first().copied().unwrap_or_default().to_owned();
        let unsupported = || LinkError::UnsupportedTarget { path: first.clone(), triple: group.triple.to_owned() };
        let is_known = self.options.accepts_subarchs || !subarch::is_spelled_amdgpu(group.triple);
        let linker = if is_known { DeviceLinker::of(group.triple) } else { None };
        let linker = linker.ok_or_else(unsupported)?;
        let is_sycl = kinds.contains(&OffloadKind::Sycl);
        let is_linked = !(is_sycl || linker.links_complete && group.images.len() > 1);
        let linked = images().find(|image| is_linked && (linker.is_complete)(image.entry.image));
        let Group { triple, arch, .. } = *group;
        (linker.check_processor)(arch).map_err(|cause| LinkError::Target { path: first.clone(), cause })?;
        if let Some(image) = linked
            && group.images.len() > 1
        {
            return Err(LinkError::LinkedAlready { path: image.file.path().to_owned(), target: target(group) });
        }
        let architecture = triple.split('-').next().unwrap_or_default();
        let processor = stated(arch).unwrap_or_default();
        let output = self.files.of_output(&format!("{architecture}.{processor}.img"));
        let mut link =
            DeviceLink { triple, arch, output, host_files, commands: Vec::new(), for_clang: Vec::new(), kinds, linked };
        let mut inputs =
            group.images.iter().map(|&index| self.file(index, linker, linked.is_none())).collect::<Result<Vec<_>>>()?;
        let source = if self.options.release.linker.has_own_lto && device::is_assembled(triple) {
            self.find_libraries(&images().collect::<Vec<_>>(), &mut inputs)?
        } else {
            None
        };
        let name = link.output.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let directory = self.options.output().parent().unwrap_or(Path::new(""));
        let job = Job {
            triple,
            arch,
            features: &features(images()),
            is_sycl,
            inputs: &inputs,
            source: source.as_deref(),
            output: &link.output,
            dump_prefix: &directory.join(format!("{name}.")),
            keeps_files: self.options.keeps_files,
            libraries: self.libraries,
            arguments: &self.options.device,
            rules: self.options.release.linker,
        };
        link.for_clang = job.for_clang();
        if linked.is_none() {
            let find = |DeviceProgram { name, package }| {
                let own = || host_compiler(self.options, triple).filter(|_| name == device::HOST_COMPILER);
                let found = self.options.programs.specified(triple).or_else(own);
                let found = found.or_else(|| self.options.programs.find(name));
                let found = if self.options.is_dry_run { found.or(Some(name.into())) } else { found };
                let path = first.clone();
                found.ok_or_else(|| LinkError::MissingTool { path, target: target(group), tool: name, package })
            };
            let commands = linker.commands(&job, &find)?;
            link.commands = commands.into_iter().map(|it| self.files.shortened(it)).collect::<Result<_>>()?;
        }
        Ok(link)
    }

    /// Marks the files of libraries, and returns the path of source code that uses them; `None` if there are none.
    fn find_libraries(&mut self, images: &[&DeviceInput<'_>], files: &mut [DeviceFile]) -> Result<Option<PathBuf>> {
        let libraries = device_libraries::find(images)?;
        for &number in &libraries.images {
            files[number].is_library = true;
        }
        let source = device::source_with_uses(&libraries.defined);
        if source.is_empty() {
            return Ok(None);
        }
        let path = self.files.of_output("uses.c");
        self.files.write_content(&path, &Content::from(source.as_bytes()), std::iter::empty)?;
        Ok(Some(path))
    }

    /// File with an image. The file is written when it is needed for the first time. An image that is linked already
    /// has only a name.
    fn file(&mut self, index: usize, linker: &DeviceLinker, is_written: bool) -> Result<DeviceFile> {
        if let Some(file) = &self.written[index] {
            return Ok(file.clone());
        }
        let image = &self.inputs[index];
        let Target { triple, arch, .. } = image.target();
        let stem = image.file.name().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // clang up to 19 stores the assembly text of `-S` for a CPU as what is PTX for a GPU.
        let is_text = linker.assembles_text && image.entry.image_kind == image_kind::PTX;
        let extension = if is_text { "s" } else { "o" };
        let path = self.files.path(format!("{stem}-{triple}-{arch}.{extension}"));
        if is_written {
            let mut sink = Sink::new([image.file.input()]);
            sink.push(image.entry.image.data());
            self.files.write(&path, &sink, [image.file.input()])?;
            if let Some(extension) = linker.extension {
                self.files.alias(&path, extension)?;
            }
        }
        let image_kind = DeviceImage::identify(image.entry.image).image_kind;
        let file = DeviceFile { path, image_kind, is_assembly: is_text, is_library: false };
        self.written[index] = Some(file.clone());
        Ok(file)
    }
}

/// The compiler that links the program, for a device that is the host's CPU: it knows the libraries of its language.
fn host_compiler(options: &LinkOptions, device: &str) -> Option<PathBuf> {
    let architecture = triple::architecture(device)?;
    let is_own = options.spelling == Spelling::AsWritten && triple::architecture(&options.host) == Some(architecture);
    let is_cross =
        |text: &[u8]| [&b"--target"[..], b"-target", b"-m32", b"--sysroot"].iter().any(|it| text.starts_with(it));
    let has_target = || options.line.words.iter().any(|word| is_cross(word.text()));
    let found = is_own && program_names::is_compiler(&options.linker) && !has_target();
    found.then(|| options.linker.clone())
}

fn kinds<'data>(
    group: &Group<'_>,
    images: impl Iterator<Item = &'data DeviceInput<'data>>,
) -> Result<Vec<OffloadKind>> {
    let mut kinds: Vec<OffloadKind> =
        images.filter_map(|image| OffloadKind::from_bit(image.entry.offload_kind)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    if kinds.contains(&OffloadKind::Sycl) && kinds.len() > 1 {
        return Err(LinkError::MixedKinds { target: target(group) });
    }
    Ok(kinds)
}

/// Features of the processor that any of the images needs.
fn features<'data>(images: impl Iterator<Item = &'data DeviceInput<'data>>) -> Vec<&'data str> {
    let mut features: Vec<&str> = Vec::new();
    for feature in images.filter_map(|image| image.entry.string("feature")).flat_map(|text| text.split(',')) {
        if !feature.is_empty() && !features.contains(&feature) {
            features.push(feature);
        }
    }
    features
}

fn target(group: &Group<'_>) -> String {
    describe(group.triple, group.arch)
}

fn describe(triple: &str, arch: &str) -> String {
    if arch.is_empty() { triple.to_owned() } else { format!("{triple} {arch}") }
}
