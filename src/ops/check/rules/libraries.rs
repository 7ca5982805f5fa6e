//! Libraries of files for different processors, such as `Kernels_gfx90a.hsaco` and `Kernels_gfx942.hsaco`: a member need
//! not have code for the processors of the others.

use std::collections::BTreeMap;

use super::findings::RuleFinding;
use crate::analyze::select::LibraryName;
use crate::check::coverage::{has_exact_code, runs_on_device};
use crate::check::facts::FileFacts;
use crate::check::rule::Rule;
use crate::check::target::PolicyTarget;
use fatbin_core::base::file_path::FilePath;
use fatbin_core::target::nvptx;

/// What the members of libraries have, and the findings about members.
#[derive(Default)]
pub struct Libraries {
    libraries: BTreeMap<String, Library>,
    findings: Vec<MemberFindings>,
}

#[derive(Default)]
struct Library {
    members: usize,
    native: Vec<String>,
    ptx: Vec<nvptx::Arch>,
    /// What it was reported to lack.
    reported: Vec<(Rule, PolicyTarget)>,
}

/// Findings of a rule about a member.
pub struct MemberFindings {
    library: String,
    pub position: usize,
    pub path: String,
    pub rule: Rule,
    pub findings: Vec<RuleFinding>,
}

/// Returns whether the members of a library meet the requirements of a rule together.
pub fn is_met_together(rule: Rule) -> bool {
    matches!(rule, Rule::RequiredArchs | Rule::Asked | Rule::Devices)
}

/// Returns the library of a file, if its path names processors.
pub fn library(path: &FilePath) -> Option<String> {
    let name = LibraryName::of(path, "");
    name.names_processors().then(|| name.into_key())
}

impl Libraries {
    /// Adds a member.
    pub fn add(&mut self, library: &str, facts: &FileFacts<'_>) {
        let library = self.libraries.entry(library.to_owned()).or_default();
        library.members += 1;
        for id in facts.native_targets() {
            if !library.native.iter().any(|known| known == id) {
                library.native.push(id.to_owned());
            }
        }
        library.ptx.extend(facts.ptx());
        library.ptx.sort();
        library.ptx.dedup();
    }

    /// Keeps the findings about a member until all members are known.
    pub fn defer(&mut self, library: String, position: usize, path: &str, rule: Rule, findings: Vec<RuleFinding>) {
        self.findings.push(MemberFindings { library, position, path: path.to_owned(), rule, findings });
    }

    /// Returns the findings that other members do not resolve. What a library lacks is reported once.
    pub fn finish(self) -> Vec<MemberFindings> {
        let Libraries { mut libraries, mut findings } = self;
        for member in &mut findings {
            let Some(library) = libraries.get_mut(&member.library).filter(|library| library.members > 1) else {
                continue;
            };
            member.findings.retain(|finding| finding.target.as_ref().is_none_or(|it| library.lacks(member.rule, it)));
        }
        findings
    }
}

impl Library {
    /// Returns whether no member has code for a target, and that was not reported.
    fn lacks(&mut self, rule: Rule, target: &PolicyTarget) -> bool {
        let native: Vec<&str> = self.native.iter().map(String::as_str).collect();
        let has_code = match target {
            PolicyTarget::Native(id) if rule == Rule::Devices => runs_on_device(&native, id),
            PolicyTarget::Native(id) => has_exact_code(&native, id),
            PolicyTarget::Ptx(arch) => self.ptx.contains(arch),
            PolicyTarget::AnyPtx => !self.ptx.is_empty(),
            PolicyTarget::LtoIr(_) | PolicyTarget::Triple(_) => false,
        };
        let lacking = (rule, target.clone());
        let is_new = !has_code && !self.reported.contains(&lacking);
        if is_new {
            self.reported.push(lacking);
        }
        is_new
    }
}
