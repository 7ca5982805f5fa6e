//! `fatbin prune`.

use std::collections::BTreeSet;

use anyhow::anyhow;
use clap::Args;

use super::devices::DeviceArguments;
use super::editing::EditArguments;
use super::failure::Result;
use super::headings::SELECTION;
use super::session::Session;
use super::value_enum::{KEEP_PTX, one_of};
use super::{Status, known_names};
use crate::report;
use fatbin_core::base::spelling::Suggestions;
use fatbin_core::scan::inventory::DeviceLinks;
use fatbin_core::target::device::names_processor;
use fatbin_core::target::natural_order;
use fatbin_ops::analyze::select::{CandidateSet, NamedDevice, candidate_sets};
use fatbin_ops::edit::{ArchName, EditedInput, ImageFate, KeepPtx, KeptImages, Loss, Prune, losses};

/// Drop device images that the specified devices do not need
///
/// With --device, every container keeps the images that its runtime selects on these devices: code for an earlier
/// processor where there is none for the device itself, PTX where there is no machine code, everything that a device
/// linker takes. With --keep and --drop, images are chosen by the exact name of their processor, and devices that lose
/// code are reported.
///
/// Linked files are changed in place: all addresses stay, and dropped images become holes. The result is scanned again
/// and compared with the input before it gets its name.
///
/// Exit status: 0 if the output was written, 1 if the input has no device images or none would be left, 2 for trouble.
#[derive(Args)]
#[command(mut_arg("device", |option| {
    let option = option.required_unless_present_any(["keep", "drop", "relocatable"]);
    option.conflicts_with_all(["keep", "drop"]).help(DEVICES)
}))]
pub struct Arguments {
    #[command(flatten)]
    devices: DeviceArguments,

    /// Keep images for exactly these processors, such as sm_80, compute_80 (PTX), lto_80 or gfx90a:xnack+
    ///
    /// Images that state no processor, such as SPIR-V, are kept, too.
    #[arg(long, value_name = "ARCH", value_delimiter = ',', conflicts_with = "drop",
          help_heading = SELECTION, value_parser = known_names::arch(), hide_possible_values = true)]
    keep: Vec<String>,

    /// Drop images for exactly these processors
    #[arg(long, value_name = "ARCH", value_delimiter = ',', value_parser = known_names::arch(),
          hide_possible_values = true, help_heading = SELECTION)]
    drop: Vec<String>,

    /// Drop the relocatable code that device links have left in programs and libraries
    ///
    /// The driver links it again for devices that the linked code does not serve. Those devices are reported. Objects
    /// keep it.
    #[arg(long, help_heading = SELECTION)]
    relocatable: bool,

    /// PTX to keep with --device: where it is selected, all, or none
    #[arg(long, value_name = "WHICH", value_parser = one_of(KEEP_PTX), default_value = "newest", conflicts_with_all = ["keep", "drop"],
          help_heading = SELECTION)]
    keep_ptx: KeepPtx,

    #[command(flatten)]
    edit: EditArguments,
}

/// Help of `--device`.
const DEVICES: &str = "Keep what runtimes select on these devices, such as H100, MI300X, sm_90 or gfx90a:xnack+; all for \
     every GPU with a name";

impl Arguments {
    fn prune(&self) -> Prune {
        let names = |archs: &[String]| archs.iter().map(|arch| ArchName::new(arch)).collect();
        let by_name = if !self.devices.is_empty() {
            Some(Prune::ForDevices(self.devices.devices(), self.keep_ptx))
        } else if !self.keep.is_empty() {
            Some(Prune::Keep(names(&self.keep)))
        } else if !self.drop.is_empty() {
            Some(Prune::Drop(names(&self.drop)))
        } else {
            None
        };
        match by_name {
            Some(prune) if !self.relocatable => prune,
            others => Prune::WithoutRelocatable(others.map(Box::new)),
        }
    }
}

pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let prune = arguments.prune();
    let mut editing = arguments.edit.start(session, &[])?;
    let screen = session.screen();
    let mut text = String::new();
    let mut warnings = Vec::new();
    let is_planned = arguments.edit.is_planned();
    let named = arguments.devices.named();
    let mut unserved = named.clone();
    let mut unmatched: Vec<&String> = arguments.keep.iter().chain(&arguments.drop).collect();
    let mut is_any_kept = false;
    let mut has_relocatable = false;
    let mut archs = BTreeSet::new();
    let applied = editing.apply(&prune, &mut |edited| {
        let file = edited.scan.file();
        text += &report::edit_table(file, &edited.edited.fates, &screen);
        let kept = KeptImages::of_fates(&edited.edited.fates);
        unserved.retain(|device| !device.has_code_in(file));
        unmatched.retain(|name| !file.device_images().any(|image| ArchName::new(name).matches(image)));
        is_any_kept |= edited.edited.fates.iter().any(|fate| *fate != ImageFate::Dropped);
        let links = DeviceLinks::of(file);
        let code = file.nested_images().filter(|nested| links.is_code_of_file(nested));
        archs.extend(code.filter_map(|nested| nested.image.arch.clone()));
        if arguments.relocatable {
            has_relocatable |= candidate_sets(file).iter().any(CandidateSet::has_relocatable_code);
            let devices = if is_planned { NamedDevice::with_links(file) } else { prune.affected(file) };
            let lost = report::edit_losses_of_links(&losses(file, &kept, &devices));
            if is_planned {
                text += &lost.iter().map(|line| format!("  {line}\n")).collect::<String>();
            } else {
                warnings.extend(lost.iter().map(|line| anyhow!("{}: {line}", file.path)));
            }
        } else if is_planned {
            for loss in losses(file, &kept, &NamedDevice::of_file(file)) {
                text += &format!("  {}\n", report::edit_loss(&loss, Some(kernels(edited, &loss))));
            }
        } else {
            let losses = losses(file, &kept, &prune.affected(file));
            warnings.extend(losses.iter().map(|loss| anyhow!("{}: {}", file.path, report::edit_loss(loss, None))));
        }
    })?;
    let Some(applied) = applied else { return Ok(Status::No) };
    let input = arguments.edit.input().display();
    let mut found: Vec<&str> = archs.iter().map(String::as_str).collect();
    found.sort_by_cached_key(|arch| natural_order(arch));
    let found = if found.is_empty() { "no processor".to_owned() } else { found.join(", ") };
    let mut reasons: Vec<String> = Vec::new();
    for device in &unserved {
        reasons.push(format!("no image runs on {}; there is code for {found}", device.name));
    }
    for name in &unmatched {
        let suggestions = if names_processor(name) { Suggestions::default() } else { Suggestions::new(name, &archs) };
        reasons.push(format!("no image is for {name}; there is code for {found}{suggestions}"));
    }
    let is_unserved = !unserved.is_empty() && unserved.len() == named.len() && !arguments.devices.are_all();
    let is_unmatched = !arguments.keep.is_empty() && unmatched.len() == arguments.keep.len();
    if is_unserved || is_unmatched || !is_any_kept {
        reasons.push("no output was written".to_owned());
        let nothing = if reasons.len() == 1 { "nothing would be left; " } else { "" };
        editing.problems.report(anyhow!("{input}: {nothing}{}", reasons.join("; ")));
        return Ok(Status::No);
    }
    warnings.extend(reasons.iter().map(|reason| anyhow!("{input}: {reason}")));
    if arguments.relocatable && !has_relocatable {
        warnings.push(anyhow!("{input}: no relocatable code is left in a program or library"));
    }
    for warning in warnings {
        editing.problems.warn(warning);
    }
    editing.finish("prune", &applied, &text)?;
    Ok(Status::Yes)
}

/// Number of different kernels in the images that a device loses.
fn kernels(edited: EditedInput<'_>, loss: &Loss) -> usize {
    let images = edited.scan.images().filter(|image| loss.images.contains(&image.index()));
    let names: BTreeSet<String> = images.flat_map(|image| fatbin_core::scan::inspect::kernel_names(&image)).collect();
    names.len()
}
