//! Whether host code registers what is there: once, and nothing that is not there.

use std::collections::BTreeMap;

use super::findings::{Findings, undecided, violated};
use crate::check::facts::FileFacts;
use crate::check::policy::Requirements;
use crate::format::ContainerType;
use crate::inventory::{PointsTo, Wrapper};

/// Containers that host code has to register, for a program to find its kernels in them.
const REGISTERED: [ContainerType; 3] = [ContainerType::CudaFatbin, ContainerType::Bundle, ContainerType::Ccob];

pub fn registered(facts: &FileFacts<'_>, _: &Requirements, findings: &mut Findings) {
    let file = &facts.survey.file;
    let mut registered: BTreeMap<u64, Vec<&Wrapper>> = BTreeMap::new();
    for wrapper in &file.wrappers {
        let at = format!("the {} wrapper at {:#x}", wrapper.kind.name(), wrapper.offset);
        match &wrapper.points_to {
            PointsTo::Container(offset) => registered.entry(*offset).or_default().push(wrapper),
            PointsTo::Symbol(name) => {
                findings.add(undecided(format!("{at} registers {name}, which another file defines")));
            }
            PointsTo::Bytes(_) | PointsTo::Nothing if !wrapper.is_orphan() => {}
            PointsTo::Bytes(offset) => {
                findings.add(violated(format!("{at} registers what begins at {offset:#x}, and no container does")));
            }
            PointsTo::Nothing => findings.add(violated(format!("{at} registers nothing"))),
        }
    }
    for (offset, wrappers) in registered.into_iter().filter(|(_, wrappers)| wrappers.len() > 1) {
        let places: Vec<String> = wrappers.iter().map(|wrapper| format!("{:#x}", wrapper.offset)).collect();
        let message = format!("the container at {offset:#x} is registered {} times", wrappers.len());
        findings.add(violated(message).there(format!("the wrappers are at {}", places.join(", "))));
    }
    for container in file.unreferenced() {
        let at = container.offset.unwrap_or_default();
        findings.add(violated(format!("the {} at {at:#x} is registered by nothing", container.container_type.name())));
    }
    let has_some = file.containers.iter().any(|container| REGISTERED.contains(&container.container_type));
    if file.wrappers.is_empty() && has_some {
        findings.add(undecided("no wrapper was found that registers the containers; they may be loaded in other ways"));
    }
}
