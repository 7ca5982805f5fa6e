//! Libraries of others in a package: what they run on says nothing about the package's own code. The rules about code
//! judge them only where the input has no other code, as the other commands do.

use std::collections::BTreeSet;

use super::findings::RuleFindings;
use crate::analyze::vendored::VendoredLibrary;
use crate::check::rule::Rule;

/// Findings about libraries of others, until all files are known.
#[derive(Default)]
pub struct VendoredFindings {
    deferred: Vec<Deferred>,
    /// Inputs with code of their own.
    inputs_with_code: BTreeSet<usize>,
}

/// Findings of a rule about a library of others.
pub struct Deferred {
    pub position: usize,
    pub path: String,
    pub rule: Rule,
    pub findings: RuleFindings,
    input: usize,
    name: String,
}

/// Returns whether a rule is about the devices and kernels that the code is for.
pub fn is_about_code(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::RequiredArchs
            | Rule::Asked
            | Rule::Devices
            | Rule::ForbiddenArchs
            | Rule::OnlyArchs
            | Rule::KernelCoverage
            | Rule::KernelLimits
            | Rule::LoadableBy
    )
}

impl VendoredFindings {
    /// Records that an input has code of its own.
    pub fn add_own_code(&mut self, input: usize) {
        self.inputs_with_code.insert(input);
    }

    /// Keeps the findings of a rule about a library of an input.
    pub fn defer(
        &mut self,
        library: &VendoredLibrary,
        input: usize,
        (position, path): (usize, &str),
        rule: Rule,
        findings: RuleFindings,
    ) {
        let name = library.name.clone();
        self.deferred.push(Deferred { position, path: path.to_owned(), rule, findings, input, name });
    }

    /// Returns the findings about libraries of inputs without other code, and the names of the libraries that are not
    /// judged.
    pub fn finish(self) -> (Vec<Deferred>, Vec<String>) {
        let VendoredFindings { deferred, inputs_with_code } = self;
        let (left_out, judged): (Vec<Deferred>, Vec<Deferred>) =
            deferred.into_iter().partition(|it| inputs_with_code.contains(&it.input));
        let names: BTreeSet<String> = left_out.into_iter().map(|it| it.name).collect();
        (judged, names.into_iter().collect())
    }
}
