//! The rules by their names: those of a policy, and those that always hold.

/// What can be demanded. The order is that in which findings are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    Readable,
    HoldsDeviceCode,
    MatchesSomething,
    ValidImages,
    RequiredArchs,
    Devices,
    ForbiddenArchs,
    OnlyArchs,
    ConsistentFeatures,
    KernelCoverage,
    KernelLimits,
    FileSize,
    ArchSize,
    TotalSize,
    DebugInformation,
    BuildPaths,
    Compression,
    ReadableBy,
    Wrappers,
    DuplicateImages,
}

/// A rule's name, which reports and the policy's `warn` have, and what it demands.
struct Row {
    rule: Rule,
    name: &'static str,
    requirement: &'static str,
}

const fn row(rule: Rule, name: &'static str, requirement: &'static str) -> Row {
    Row { rule, name, requirement }
}

const ROWS: [Row; 20] = [
    row(Rule::Readable, "readable", "Everything can be read: no file, container or image is broken."),
    row(Rule::HoldsDeviceCode, "holds-device-code", "Every input, and every file that must, holds device code."),
    row(Rule::MatchesSomething, "matches-something", "Every part of the policy applies to something."),
    row(Rule::ValidImages, "valid-images", "Stored hashes are right, and images are what their containers say."),
    row(Rule::RequiredArchs, "required-archs", "There is code for exactly these architectures."),
    row(Rule::Devices, "devices", "There is code that runs on these devices."),
    row(Rule::ForbiddenArchs, "forbidden-archs", "There is no code for these architectures."),
    row(Rule::OnlyArchs, "only-archs", "There is no code for any other architecture."),
    row(Rule::ConsistentFeatures, "consistent-features", "All files fix the same features of a processor."),
    row(Rule::KernelCoverage, "kernel-coverage", "Kernels are there for all architectures that they have to be for."),
    row(Rule::KernelLimits, "kernel-limits", "No kernel takes more of a device than it may."),
    row(Rule::FileSize, "file-size", "The device code of a file takes no more room than it may."),
    row(Rule::ArchSize, "arch-size", "A file's code for an architecture takes no more room than it may."),
    row(Rule::TotalSize, "total-size", "The device code of all files takes no more room than it may."),
    row(Rule::DebugInformation, "debug-information", "Images have no more debug information than they may."),
    row(Rule::BuildPaths, "build-paths", "Images hold no paths of the machine that they were built on."),
    row(Rule::Compression, "compression", "Images are stored compressed, or are not, as demanded."),
    row(Rule::ReadableBy, "readable-by", "The runtime can read the containers."),
    row(Rule::Wrappers, "wrappers", "Every container of CUDA and HIP is registered, once."),
    row(Rule::DuplicateImages, "duplicate-images", "No image is stored twice in a file."),
];

impl Rule {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Rule> {
        ROWS.iter().map(|row| row.rule)
    }

    /// The name that users see.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// What it demands, as a sentence.
    pub fn description(self) -> &'static str {
        self.row().requirement
    }

    /// The rule with this name.
    pub fn named(name: &str) -> Option<Rule> {
        ROWS.iter().find(|row| row.name == name).map(|row| row.rule)
    }

    fn row(self) -> &'static Row {
        // A test says that the rows are in the order of the rules.
        &ROWS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_its_row() {
        for (index, rule) in Rule::all().enumerate() {
            assert_eq!(rule as usize, index, "{}", rule.name());
            assert_eq!(Rule::named(rule.name()), Some(rule));
        }
    }
}
