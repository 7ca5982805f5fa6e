//! The libraries of CUDA and ROCm that host code needs, compared with the device code and the package around it.

use std::collections::BTreeSet;

use super::findings::{RuleFindings, undecided, violated};
use super::{AllFiles, Evaluator, wheel_name};
use crate::analyze::host_runtime::{RequiredPackages, StatedRelease, release_of_wheel};
use crate::analyze::select::FileFloors;
use crate::check::facts::FileFacts;
use crate::check::rule::Rule;
use fatbin_core::base::file_path::FilePath;
use fatbin_core::format::SelectionScope;
use fatbin_core::format::readers::Product;
use fatbin_core::scan::inventory::{NestedImage, Registration};

/// Checks that host code needs the release that the device code, the wheel and its requirements are for.
pub fn agrees(evaluator: &mut Evaluator<'_>, all: &AllFiles<'_>) {
    let policy = evaluator.policy;
    let required: Vec<&RequiredPackages> = all.files.iter().filter_map(|file| file.required.as_ref()).collect();
    for facts in all.facts {
        if policy.requirements_for(facts.path()).host_runtime != Some(true) {
            continue;
        }
        let required = RequiredPackages::of_file(facts.path(), &required);
        if facts.survey.host.is_some() {
            evaluator.apply(Rule::HostRuntime, facts.path(), |findings| check(facts, required, findings));
        }
    }
}

/// Releases that something states about a file.
struct Statement {
    majors: Vec<u32>,
    /// A clause.
    text: String,
    /// Code for a major release also runs with later ones.
    is_minimum: bool,
}

impl Statement {
    fn agrees_with(&self, major: u32) -> bool {
        self.majors.iter().any(|stated| *stated == major || (self.is_minimum && *stated < major))
    }
}

fn check(facts: &FileFacts<'_>, required: Option<&RequiredPackages>, findings: &mut RuleFindings) {
    let Some(host) = &facts.survey.host else { return };
    if host.is_unreadable {
        findings.add(undecided("cannot read the names of the libraries that it needs"));
    }
    for product in [Product::Cuda, Product::Rocm] {
        let code = of_code(facts, product);
        let package = of_package(facts.path(), required, product);
        let libraries = host.deciding(product);
        let majors: BTreeSet<u32> = libraries.iter().map(|it| it.major).collect();
        let names: Vec<&str> = libraries.iter().map(|it| it.name.as_str()).collect();
        let names = names.join(", ");
        let disagrees = |it: &&Statement| !majors.is_empty() && !majors.iter().any(|major| it.agrees_with(*major));
        let stated = || code.iter().chain(&package);
        for statement in stated().filter(disagrees) {
            findings.add(violated(format!("needs {names}, but {}", statement.text)));
        }
        if majors.len() > 1 && libraries.iter().any(|it| !it.is_loaded_by_name) {
            findings.add(violated(format!("needs libraries of several releases: {names}")));
        }
        if !majors.is_empty() && stated().next().is_none() && facts.survey.file.has_device_code() {
            findings.add(undecided(format!("needs {names}, and nothing else states a release")));
        }
        if let Some(code) = &code {
            let is_older = |it: &&Statement| !it.majors.iter().any(|major| code.agrees_with(*major));
            for statement in package.iter().filter(is_older) {
                findings.add(violated(format!("{}, but {}", code.text, statement.text)));
            }
        }
    }
}

/// The release that the device code needs: of the newest toolkit among the registered cubins, or the oldest ROCm that
/// loads the code.
fn of_code(facts: &FileFacts<'_>, product: Product) -> Option<Statement> {
    let file = &facts.survey.file;
    let read = facts.survey.cuda_codes();
    let (major, minor, text) = if product == Product::Cuda {
        let registered = file.nested_images().zip(&read).filter(|(nested, _)| is_registered(nested));
        let toolkits =
            registered.filter_map(|(nested, read)| read.and_then(|it| it.toolkit).or(nested.image.cuda.toolkit));
        let (major, minor) = toolkits.max()?;
        (u32::from(major), u32::from(minor), "its cubins are of CUDA")
    } else {
        let floors = FileFloors::new(file, &read).of_all_devices();
        let (_, need) = floors.into_iter().find(|(it, _)| *it == product)?;
        let (major, minor) = need.floor.release()?.version;
        (major, minor, "its device code needs ROCm")
    };
    Some(Statement { majors: vec![major], text: format!("{text} {major}.{minor}"), is_minimum: true })
}

/// Returns whether a runtime loads the image, and not the program.
fn is_registered(nested: &NestedImage<'_>) -> bool {
    let scope = nested.container().container_type.descriptor().selection_scope;
    let is_left_out = matches!(nested.registration(), Registration::Unregistered | Registration::InOtherData);
    scope != SelectionScope::Program && !is_left_out
}

/// The releases that the name of the wheel and its requirements state.
fn of_package(path: &FilePath, required: Option<&RequiredPackages>, product: Product) -> Vec<Statement> {
    let name = match product {
        Product::Cuda => "CUDA",
        _ => "ROCm",
    };
    let label = wheel_name(path).and_then(release_of_wheel).filter(|it| it.product == product);
    let label = label.map(|it| Statement {
        majors: vec![it.major],
        text: format!("the wheel is for {name} {} ({it})", it.major),
        is_minimum: false,
    });
    let releases: Vec<&StatedRelease> =
        required.into_iter().flat_map(|it| &it.releases).filter(|it| it.product == product).collect();
    let words = releases.first().map(|first| Statement {
        majors: releases.iter().map(|it| it.major).collect(),
        text: format!("METADATA requires {first}"),
        is_minimum: false,
    });
    label.into_iter().chain(words).collect()
}
