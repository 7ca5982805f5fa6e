//! The account of a link: the state of each input with device code or offload entries.

use std::collections::BTreeSet;
use std::path::Path;

use object::read::{File, Object, ObjectSection};

use super::device_code::DeviceCode;
use super::error::Result;
use super::groups::Group;
use super::inputs::HostFile;
use super::trace::TracedFiles;
use crate::embed::wrap::host_entries;
use fatbin_core::base::bytes::{ObjectBytes, View};
use fatbin_core::format::fat_binary_wrapper::{CUDA, HIP};

/// An input with device code or offload entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountedInput {
    /// Path, or `ARCHIVE!MEMBER`.
    pub path: String,
    /// State of the input after the link.
    pub state: InputState,
    /// Targets of its images: triple and processor.
    pub targets: BTreeSet<(String, String)>,
}

/// State of an input after a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InputState {
    /// Its images are linked, or it has entries only.
    Linked,
    /// An earlier link has linked and registered its images.
    LinkedAlready,
    /// The host linker does not take this member of an archive.
    NotTaken,
    /// No object has code for the target of its images.
    NotLinked,
    /// Its images cannot be linked here.
    Refused,
}

impl AccountedInput {
    /// Describes the input if its images are not in the output.
    pub fn loss(&self) -> Option<String> {
        let targets: Vec<String> = self.targets.iter().map(|(triple, arch)| format!("{triple} {arch}")).collect();
        let reason = match self.state {
            InputState::Linked | InputState::LinkedAlready => return None,
            InputState::NotTaken => "the linker does not take it".to_owned(),
            InputState::NotLinked => format!("no object has code for {}", targets.join(", ")),
            InputState::Refused => "refused".to_owned(),
        };
        Some(format!("{}: {reason}", self.path))
    }
}

impl InputState {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            InputState::Linked => "linked",
            InputState::LinkedAlready => "linked-already",
            InputState::NotTaken => "not-taken",
            InputState::NotLinked => "not-linked",
            InputState::Refused => "refused",
        }
    }
}

/// Sections of containers that the object itself registers.
const REGISTERED: [&str; 3] = [".llvm.offloading.relocatable", HIP.container_section, CUDA.container_section];

/// Account of all files, in their order. `used` are the numbers of the images that were linked.
pub fn account(
    files: &[HostFile],
    code: &DeviceCode<'_>,
    used: &BTreeSet<usize>,
    traced: Option<&TracedFiles>,
) -> Result<Vec<AccountedInput>> {
    let mut targets: Vec<BTreeSet<(String, String)>> = vec![BTreeSet::new(); files.len()];
    let mut is_used = vec![false; files.len()];
    for (number, input) in code.inputs.iter().enumerate() {
        let target = input.target();
        targets[input.index].insert((target.triple.to_owned(), target.arch.to_owned()));
        is_used[input.index] |= used.contains(&number);
    }
    let refused: BTreeSet<&str> = code.refused.iter().map(|refused| refused.path.as_str()).collect();
    let mut account = Vec::new();
    for (index, (file, targets)) in files.iter().zip(targets).enumerate() {
        let is_taken = is_taken(index, file, code, traced);
        let state = if refused.contains(file.path()) {
            InputState::Refused
        } else if is_used[index] {
            InputState::Linked
        } else if !targets.is_empty() {
            if is_taken { InputState::NotLinked } else { InputState::NotTaken }
        } else if code.linked_already.contains(&index) || registers_images(file.view()) {
            InputState::LinkedAlready
        } else if host_entries::read(file.view(), Path::new(file.path()))?.is_empty() {
            continue;
        } else if is_taken {
            InputState::Linked
        } else {
            InputState::NotTaken
        };
        account.push(AccountedInput { path: file.path().to_owned(), state, targets });
    }
    Ok(account)
}

/// Numbers of the images in groups.
pub fn used(groups: &[Group<'_>]) -> BTreeSet<usize> {
    groups.iter().flat_map(|group| group.images.iter().copied()).collect()
}

/// The linker's list of archive members decides. Without one, the symbols decide.
fn is_taken(index: usize, file: &HostFile, code: &DeviceCode<'_>, traced: Option<&TracedFiles>) -> bool {
    match (traced.filter(|traced| !traced.members.is_empty()), file.archive()) {
        (Some(traced), Some(archive)) if file.is_lazy() => {
            let name = file.name().to_string_lossy();
            let has_name =
                |member: &str| member == name || Path::new(&*name).file_name().is_some_and(|own| own == member);
            traced.members.iter().any(|(path, member)| path == Path::new(archive) && has_name(member))
        }
        _ => code.takes(index, file),
    }
}

fn registers_images(view: View<'_>) -> bool {
    let Ok(file) = File::parse(ObjectBytes(view)) else { return false };
    file.sections().any(|section| section.name().is_ok_and(|name| REGISTERED.contains(&name)))
}
