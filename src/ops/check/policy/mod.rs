//! Policies: requirements for files.
//!
//! A policy is written in TOML (`syntax`) and checked as a whole before any file is read (`resolve`), so that a policy
//! with a mistake never passes a file.

mod contradiction;
mod error;
mod resolve;
mod size;
mod syntax;
mod wrong_type;

use std::collections::BTreeSet;

use regex::bytes::Regex;

use super::asked::Asked;
use super::rule::Rule;
use super::target::PolicyTarget;
use crate::analyze::requires::Driver;
use crate::analyze::survey::SurveyOptions;
use fatbin_core::base::file_path::FilePath;
use fatbin_core::format::readers::Reader;
use fatbin_core::image::DebugLevel;

pub use error::PolicyError;
pub use size::Size;

/// A policy.
#[derive(Debug)]
pub struct Policy {
    /// Path of the policy, for findings that are not about a file.
    #[doc(hidden)]
    pub path: String,
    /// Patterns that must each match a file with device code.
    pub(crate) must_hold: Vec<Pattern>,
    /// Patterns of files that are not evaluated.
    pub(crate) skip: Vec<Pattern>,
    /// Rules whose violations are warnings.
    pub(crate) warn: BTreeSet<Rule>,
    /// Size limit for the device code of all files.
    pub(crate) total: Option<Size>,
    /// Size limit for each package, as it is stored.
    pub(crate) package: Option<Size>,
    /// All files must be built for the same feature settings of each processor.
    pub(crate) consistent_features: bool,
    /// The metadata of packages must agree with their device code.
    pub(crate) metadata: bool,
    /// Devices that each package as a whole must run on.
    pub(crate) package_coverage: PackageCoverage,
    /// Every kernel that an index promises must exist next to it.
    pub(crate) promised_kernels: bool,
    /// Requirements for all files.
    pub(crate) requirements: Requirements,
    /// Requirements for some files, in the order of the policy. Later ones win.
    pub(crate) exceptions: Vec<Exception>,
}

/// A glob pattern for paths.
#[derive(Debug)]
pub struct Pattern {
    /// The text of the pattern.
    pub text: String,
    matcher: Regex,
}

/// Requirements that replace the general ones for some files.
#[derive(Debug)]
pub struct Exception {
    /// Pattern of the files.
    pub pattern: Pattern,
    /// Requirements for them. Requirements that are `None` are inherited.
    pub requirements: Requirements,
}

/// Requirements for one file; `None` where the policy sets no requirement.
#[derive(Debug, Clone, Default)]
pub struct Requirements {
    /// Devices that machine code in the file must run on.
    pub devices: Option<Vec<PolicyTarget>>,
    /// Lowest PTX that replaces missing machine code.
    pub ptx_fallback: Option<PolicyTarget>,
    /// Architectures that the file must contain code for.
    pub require: Option<Vec<PolicyTarget>>,
    /// Architectures that the build was asked for.
    pub asked: Option<Asked>,
    /// Architectures that the file must not contain code for.
    pub forbid: Option<Vec<PolicyTarget>>,
    /// The only architectures that the file may contain code for.
    pub only: Option<Vec<PolicyTarget>>,
    /// Size limit for the device code of the file.
    pub file_size: Option<Size>,
    /// Size limits for the code of the file by architecture.
    pub arch_sizes: Option<Vec<(PolicyTarget, Size)>>,
    /// Largest amount of debug information.
    pub debug: Option<DebugLevel>,
    /// Images may contain paths of the build machine.
    pub build_paths: Option<bool>,
    /// Images must be stored compressed, or must not be.
    pub compressed: Option<bool>,
    /// Releases that must be able to read the containers.
    pub readable_by: Option<Vec<Reader>>,
    /// Releases whose HIP runtimes must find the bundle entries.
    pub findable_by: Option<Vec<Reader>>,
    /// Drivers of NVIDIA that must load the code.
    pub loadable_by: Option<Vec<Driver>>,
    /// Images are inspected, and must not be damaged.
    pub intact: Option<bool>,
    /// ptxas must assemble the PTX for the devices that depend on it.
    pub ptx_assembles: Option<bool>,
    /// Every CUDA and HIP container must be registered exactly once.
    pub registered: Option<bool>,
    /// An image may be stored twice.
    pub duplicates: Option<bool>,
    /// Metal libraries must load on every system that the name of their wheel allows.
    pub platform_tag: Option<bool>,
    /// Host code must need the release of CUDA or ROCm that the device code and the package are for.
    pub host_runtime: Option<bool>,
    /// The file must be the result of a proven change.
    pub proven: Option<bool>,
    /// Requirements for kernels.
    pub kernels: Option<Vec<KernelRequirement>>,
}

/// Devices that each package as a whole must run on.
#[derive(Debug)]
pub struct PackageCoverage {
    /// Devices that some code of the package must run on.
    pub devices: Vec<PolicyTarget>,
    /// Requirements for families of kernels.
    pub kernels: Vec<FamilyRequirement>,
    /// PTX that the driver compiles counts.
    pub with_jit: bool,
}

impl PackageCoverage {
    /// Returns whether packages must run on any device.
    pub fn is_required(&self) -> bool {
        !self.devices.is_empty() || !self.kernels.is_empty()
    }
}

/// Devices that families of kernels must run on.
#[derive(Debug)]
pub struct FamilyRequirement {
    /// Expression for the names of kernels. If it has a group, the text of the group is the family.
    pub matching: Regex,
    /// The devices.
    pub devices: Vec<PolicyTarget>,
}

/// A requirement for kernels.
#[derive(Debug, Clone)]
pub struct KernelRequirement {
    /// Expression for the names of the kernels; `None` for all kernels.
    pub matching: Option<Regex>,
    /// Architectures that the kernels must be available for.
    pub archs: Option<KernelTargets>,
    /// Devices that the kernels must run on.
    pub devices: Option<KernelTargets>,
    /// Limits for each kernel.
    pub limits: Vec<(KernelLimit, u64)>,
    /// Line of the policy.
    pub line: usize,
}

/// Architectures that kernels must be available for, or devices that they must run on.
#[derive(Debug, Clone)]
pub enum KernelTargets {
    /// All architectures of the file, or each device that the container of the kernel has code for.
    All,
    /// The listed ones.
    Listed(Vec<PolicyTarget>),
}

/// A limited resource of a device that kernels use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KernelLimit {
    /// Registers of a thread.
    Registers,
    /// Registers that were spilled.
    Spills,
    /// Private memory of a thread, in bytes.
    Scratch,
    /// Memory of a work-group, in bytes.
    Shared,
}

impl KernelLimit {
    /// Returns the name in messages, with its unit.
    pub fn name(self) -> &'static str {
        match self {
            KernelLimit::Registers => "registers",
            KernelLimit::Spills => "spilled registers",
            KernelLimit::Scratch => "bytes of scratch",
            KernelLimit::Shared => "bytes of shared memory",
        }
    }
}

impl Pattern {
    /// Returns whether the pattern matches a path, or the path of a member in its archive. A pattern without `/` matches
    /// the last component, as in `.gitignore`.
    pub fn matches(&self, path: &FilePath) -> bool {
        if self.text.contains('/') {
            let in_archive = path.member().is_some_and(|member| self.matcher.is_match(member.as_bytes()));
            in_archive || self.matcher.is_match(path.with_slashes().as_bytes())
        } else {
            self.matcher.is_match(path.name().as_bytes())
        }
    }
}

impl Policy {
    /// Parses a policy. `path` is its name in errors and findings.
    pub fn parse(path: &str, text: &str) -> Result<Policy, PolicyError> {
        resolve::policy(path, text)
    }

    /// Requires architectures in all files, in place of those that the policy lists.
    #[doc(hidden)]
    pub fn asking_for(mut self, asked: Asked) -> Policy {
        self.requirements.asked = Some(asked);
        self
    }

    /// Requires that PTX assembles, unless the policy states whether it must.
    #[doc(hidden)]
    pub fn assembling_ptx(mut self) -> Policy {
        self.requirements.ptx_assembles.get_or_insert(true);
        self
    }

    /// Returns an entry whose meaning depends on a release of CUDA that the policy does not name.
    #[doc(hidden)]
    pub fn assumed_release(&self) -> Option<&str> {
        self.all_requirements().find_map(|requirements| requirements.asked.as_ref()?.assumed.as_deref())
    }

    /// Returns whether a file is not evaluated.
    #[doc(hidden)]
    pub fn skips(&self, path: &FilePath) -> bool {
        self.skip.iter().any(|pattern| pattern.matches(path))
    }

    /// Returns the requirements for a file.
    #[doc(hidden)]
    pub fn requirements_for(&self, path: &FilePath) -> Requirements {
        let own = self.exceptions.iter().filter(|exception| exception.pattern.matches(path));
        own.fold(self.requirements.clone(), |requirements, exception| {
            exception.requirements.clone().overriding(requirements)
        })
    }

    /// Returns what must be known about the images of a file to evaluate it.
    #[doc(hidden)]
    pub fn survey_options(&self, path: &FilePath) -> SurveyOptions {
        if self.skips(path) {
            return SurveyOptions::default();
        }
        let options = self.requirements_for(path).survey_options();
        SurveyOptions {
            inspection: options.inspection || self.needs_kernels_of_packages(),
            empty_images: options.empty_images
                || self.metadata
                || self.consistent_features
                || self.package_coverage.is_required(),
            ..options
        }
    }

    /// Returns whether a rule about packages is about kernels.
    fn needs_kernels_of_packages(&self) -> bool {
        self.promised_kernels || !self.package_coverage.kernels.is_empty()
    }

    /// Returns whether the host half of any file is compared with its package.
    pub(crate) fn compares_host_runtimes(&self) -> bool {
        self.all_requirements().any(|requirements| requirements.host_runtime == Some(true))
    }

    /// Returns whether a rule compares files with one another, and needs more than sums.
    #[doc(hidden)]
    pub fn needs_whole_files(&self) -> bool {
        self.metadata || self.compares_host_runtimes()
    }

    /// Patterns for files that are skipped or have exceptions.
    pub(crate) fn named(&self) -> impl Iterator<Item = &Pattern> {
        self.skip.iter().chain(self.exceptions.iter().map(|exception| &exception.pattern))
    }

    /// Returns whether hashes of images are needed.
    pub(crate) fn needs_hashes(&self) -> bool {
        self.all_requirements().any(|requirements| requirements.duplicates == Some(false))
    }

    /// Returns whether a file must be the result of a proven change.
    pub(crate) fn requires_proof(&self, path: &FilePath) -> bool {
        !self.skips(path) && self.requirements_for(path).proven == Some(true)
    }

    /// Returns the general requirements and the requirements of all exceptions.
    #[doc(hidden)]
    pub fn all_requirements(&self) -> impl Iterator<Item = &Requirements> {
        std::iter::once(&self.requirements).chain(self.exceptions.iter().map(|exception| &exception.requirements))
    }
}

impl Requirements {
    /// Returns what must be known about images to evaluate these requirements.
    fn survey_options(&self) -> SurveyOptions {
        let inspection = self.kernels.is_some()
            || self.intact == Some(true)
            || self.debug.is_some_and(|level| level < DebugLevel::Full);
        let archs = [self.require.is_some(), self.devices.is_some(), self.forbid.is_some(), self.only.is_some()];
        SurveyOptions {
            inspection,
            empty_images: archs.contains(&true)
                || self.asked.is_some()
                || self.loadable_by.is_some()
                || self.host_runtime == Some(true),
            demangled: self.kernels.is_some(),
            build_paths: self.build_paths == Some(false),
            toolkit: self.loadable_by.is_some() || self.host_runtime == Some(true),
            host: self.host_runtime == Some(true),
            ..SurveyOptions::default()
        }
    }

    /// Fills requirements that are `None` from `other`.
    fn overriding(self, other: Requirements) -> Requirements {
        Requirements {
            devices: self.devices.or(other.devices),
            ptx_fallback: self.ptx_fallback.or(other.ptx_fallback),
            require: self.require.or(other.require),
            asked: self.asked.or(other.asked),
            forbid: self.forbid.or(other.forbid),
            only: self.only.or(other.only),
            file_size: self.file_size.or(other.file_size),
            arch_sizes: self.arch_sizes.or(other.arch_sizes),
            debug: self.debug.or(other.debug),
            build_paths: self.build_paths.or(other.build_paths),
            compressed: self.compressed.or(other.compressed),
            readable_by: self.readable_by.or(other.readable_by),
            findable_by: self.findable_by.or(other.findable_by),
            loadable_by: self.loadable_by.or(other.loadable_by),
            intact: self.intact.or(other.intact),
            ptx_assembles: self.ptx_assembles.or(other.ptx_assembles),
            registered: self.registered.or(other.registered),
            duplicates: self.duplicates.or(other.duplicates),
            platform_tag: self.platform_tag.or(other.platform_tag),
            host_runtime: self.host_runtime.or(other.host_runtime),
            proven: self.proven.or(other.proven),
            kernels: self.kernels.or(other.kernels),
        }
    }
}
