//! `fatbin select` about a set of packages and several devices.

use std::collections::BTreeSet;
use std::path::{Path, is_separator};

use super::Status;
use super::failure::Result;
use super::problems::Problems;
use super::scanned::Scanned;
use super::session::Session;
use crate::report;
use fatbin_core::base::file_path::FilePath;
use fatbin_ops::analyze::requires::Driver;
use fatbin_ops::analyze::select::{
    FileAnswer, LibraryName, NamedDevice, Outcome, RequestedDevice, SetMember, SetSelection,
};
use fatbin_ops::analyze::vendored::VendoredLibrary;

/// Endings of archives that are inputs of a linker and no packages.
const LINKED: [&str; 2] = [".a", ".lib"];

/// Package of loose files in the working directory.
const HERE: &str = ".";

/// What is asked about a set.
pub struct SetRequest<'a> {
    /// The devices, each once.
    pub devices: Vec<RequestedDevice>,
    /// NVIDIA driver that must load the images.
    pub driver: Option<&'a Driver>,
    /// Names of the inputs.
    pub names: &'a [String],
    /// The devices are the GPUs of a machine.
    pub is_machine: bool,
    /// One library that runs is enough.
    pub some: bool,
    /// Libraries of others, which are not judged.
    pub vendored: &'a [VendoredLibrary],
}

/// The answer, and whether all images were read.
pub struct AnsweredSet<'a> {
    set: SetSelection<'a>,
    is_complete: bool,
}

/// Returns the directory of the OCI image that has this file as a layer (OCI Image Layout Specification).
fn image_around(path: &str) -> Option<&str> {
    let (directory, _) = path.rsplit_once("/blobs/")?;
    Path::new(directory).join("oci-layout").is_file().then_some(directory)
}

impl SetRequest<'_> {
    /// Returns whether the inputs are several packages, files of one library for different processors, or several files
    /// for several devices.
    pub fn is_about_set(&self, files: &[Scanned]) -> bool {
        let with_code: Vec<&FilePath> =
            files.iter().map(Scanned::file).filter(|it| it.has_device_code()).map(|it| &it.path).collect();
        let packages = with_code.iter().filter_map(|path| self.package_of(path));
        let packages = packages.filter(|package| !LINKED.iter().any(|ending| package.ends_with(ending)));
        let libraries: BTreeSet<String> = with_code.iter().map(|path| LibraryName::of(path, "").into_key()).collect();
        let are_joined = libraries.len() < with_code.len();
        packages.collect::<BTreeSet<_>>().len() > 1 || are_joined || (self.devices.len() > 1 && with_code.len() > 1)
    }

    /// Returns the path of the package around a file: the outermost archive, the image of containers around it, or the first directory in an input. `None`
    /// for files that are inputs.
    fn package_of<'p>(&self, path: &'p FilePath) -> Option<&'p str> {
        if path.member().is_some() {
            let archive = path.on_disk_text();
            return Some(image_around(archive).unwrap_or(archive));
        }
        let below = |name: &String| {
            let rest = path.strip_prefix(name.trim_end_matches(is_separator))?.strip_prefix(is_separator)?;
            let start = path.len().checked_sub(rest.len())?;
            match rest.find(is_separator) {
                Some(end) => path.get(..start + end),
                None => path.get(..start)?.strip_suffix(is_separator),
            }
        };
        self.names.iter().find_map(below)
    }

    /// Returns the request for one device alone.
    pub fn about(&self, device: &NamedDevice) -> SetRequest<'_> {
        SetRequest { devices: vec![RequestedDevice { device: device.clone(), count: None }], ..*self }
    }

    /// Selects on all devices.
    pub fn answer<'a>(&'a self, files: &'a [Scanned], problems: &Problems) -> AnsweredSet<'a> {
        let mut is_complete = true;
        let set = self.joined(files, &mut |scanned, requested| {
            let (answered, _, is_read) = scanned.answers(&requested.device, self.driver, problems);
            is_complete &= is_read;
            FileAnswer::of(&answered)
        });
        AnsweredSet { set, is_complete }
    }

    /// Joins the answers of files, each for all devices.
    pub fn joined<'a>(
        &'a self,
        files: &'a [Scanned],
        answer: &mut dyn FnMut(&'a Scanned, &'a RequestedDevice) -> Option<FileAnswer>,
    ) -> SetSelection<'a> {
        let mut members = Vec::new();
        for scanned in files.iter().filter(|it| it.file().failure.is_none()) {
            let file = scanned.file();
            let answers = self.devices.iter().map(|requested| answer(scanned, requested)).collect();
            let directory = || file.path.printed().parent().map(|it| it.to_string_lossy().into_owned());
            let package = self.package_of(&file.path).map(str::to_owned).or_else(directory);
            let package = package.filter(|it| !it.is_empty()).unwrap_or(HERE.to_owned());
            members.push(SetMember { file, package, answers });
        }
        SetSelection::new(&self.devices, members)
    }

    /// Returns the exit status. It depends on what runs, and not on the number of files or devices.
    pub fn status(&self, set: &SetSelection<'_>) -> Status {
        match set.outcome() {
            Outcome::Undecided => Status::Trouble,
            Outcome::Served => Status::Yes,
            Outcome::Partly | Outcome::Nothing if self.some && set.runs_somewhere() => Status::Yes,
            Outcome::Partly | Outcome::Nothing => Status::No,
        }
    }
}

impl AnsweredSet<'_> {
    /// Prints the answer, and returns the exit status.
    pub fn print(
        &self,
        request: &SetRequest<'_>,
        session: &Session,
        is_json: bool,
        is_verbose: bool,
    ) -> Result<Status> {
        let screen = session.screen();
        let text = if is_json {
            report::set_json(&self.set, request.driver.map(Driver::to_string).as_deref(), request.vendored)
        } else {
            report::set_text(&self.set, is_verbose, &screen) + &report::not_judged(request.vendored.iter(), &screen)
        };
        let mut out = session.output(&screen);
        out.write(&text)?;
        out.flush()?;
        Ok(if self.is_complete { request.status(&self.set) } else { Status::Trouble })
    }
}
