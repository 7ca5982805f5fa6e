//! SPIR-V: spirv-link combines modules. A single one needs no link.

use std::ffi::OsString;

use super::{DeviceLinker, DeviceProgram, Find, Job};
use crate::link::error::Result;
use crate::link::programs::CommandLine;
use fatbin_core::format::{DeviceImage, ImageKind};

pub const LINKER: DeviceLinker = DeviceLinker {
    architectures: &["spirv64"],
    check_processor: |_| Ok(()),
    commands,
    extension: None,
    needs_clang: |kind| kind == ImageKind::Bitcode,
    is_complete: |image| DeviceImage::identify(image).image_kind == ImageKind::SpirV,
    links_complete: true,
    assembles_text: false,
};

const SPIRV_LINK: DeviceProgram = DeviceProgram { name: "spirv-link", package: "spirv-tools" };

fn commands(job: &Job<'_>, find: Find<'_>) -> Result<Vec<CommandLine>> {
    let mut arguments: Vec<OsString> = job.linker_arguments().collect();
    arguments.extend(job.paths());
    arguments.extend(["-o".into(), job.output.into()]);
    Ok(vec![CommandLine { program: find(SPIRV_LINK)?, arguments }])
}
