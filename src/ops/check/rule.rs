//! Rules by name: rules that a policy enables, and rules that always apply.

/// Declares [`Rule`] from one table, so that a rule without a name or a description does not compile. The function that
/// evaluates a rule is chosen by a `match` over all rules in `check::rules`.
macro_rules! rules {
    ($($rule:ident => $name:literal, $description:literal;)+) => {
        /// A rule of a check. Rules sort like findings in a report.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = $description] $rule,)+
        }

        impl Rule {
            /// All rules, in order.
            pub const ALL: &[Rule] = &[$(Rule::$rule),+];

            /// Returns the name in reports and in the `warn` list of a policy.
            pub fn name(self) -> &'static str {
                match self { $(Rule::$rule => $name,)+ }
            }

            /// Returns the requirement as a sentence.
            #[doc(hidden)]
            pub fn description(self) -> &'static str {
                match self { $(Rule::$rule => $description,)+ }
            }
        }
    };
}

rules! {
    Readable => "readable", "All files, containers and images can be read.";
    HoldsDeviceCode => "holds-device-code", "Every input, and every file that must, contains device code.";
    MatchesSomething => "matches-something", "Every entry of the policy applies to something.";
    ValidImages => "valid-images", "Stored hashes are correct, and images match what their containers state.";
    RequiredArchs => "required-archs", "Code built for exactly these architectures is present.";
    Asked => "asked-archs", "Code is present for each architecture that the build was asked for.";
    Devices => "devices", "Code that runs on these devices is present.";
    ForbiddenArchs => "forbidden-archs", "No code is built for these architectures.";
    OnlyArchs => "only-archs", "No code is built for any other architecture.";
    ConsistentFeatures => "consistent-features",
        "All files are built for the same xnack/sramecc settings of each processor.";
    KernelCoverage => "kernel-coverage", "Kernels are present for every architecture, and run on every device, that requires them.";
    KernelLimits => "kernel-limits", "No kernel exceeds its limits of registers and memory.";
    FileSize => "file-size", "The device code of a file does not exceed its size limit.";
    ArchSize => "arch-size", "The code of a file for an architecture does not exceed its size limit.";
    TotalSize => "total-size", "The device code of all files does not exceed the total size limit.";
    PackageSize => "package-size", "No package exceeds the size limit, as it is stored.";
    PackageCoverage => "package-coverage", "Each package as a whole runs on the devices that it must run on.";
    DebugInformation => "debug-information", "Images contain no more debug information than allowed.";
    BuildPaths => "build-paths", "Images contain no paths of the build machine.";
    Compression => "compression", "Images are stored compressed or uncompressed, as required.";
    ReadableBy => "readable-by", "The required releases can read all containers.";
    FindableBy => "findable-by", "The HIP runtimes of the required releases find all bundle entries by their IDs.";
    LoadableBy => "loadable-by", "The required NVIDIA drivers load an image wherever one runs.";
    PtxAssembles => "ptx-assembles", "ptxas assembles the PTX for the devices that depend on it.";
    Wrappers => "wrappers", "Every CUDA and HIP container is registered exactly once.";
    DuplicateImages => "duplicate-images", "No image is stored twice in a file.";
    Metadata => "metadata", "The metadata of packages names the devices that the code is for, and no others.";
    PromisedKernels => "promised-kernels", "Every kernel that an index names is in a code object next to it.";
    PlatformTag => "platform-tag", "Metal libraries load on every system that the name of their wheel allows.";
    HostRuntime => "host-runtime", "Host code needs the release of CUDA or ROCm that the device code and the package are for.";
    Proven => "proven", "The file is the result of a proven change.";
}

impl Rule {
    /// Returns the rule with this name.
    pub(crate) fn from_name(name: &str) -> Option<Rule> {
        Rule::ALL.iter().copied().find(|rule| rule.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_numbers_are_positions() {
        for (index, &rule) in Rule::ALL.iter().enumerate() {
            assert_eq!(rule as usize, index, "{}", rule.name());
            assert_eq!(Rule::from_name(rule.name()), Some(rule));
        }
    }
}
