//! A policy: what is demanded of which files.
//!
//! Its author writes TOML (`syntax`), which is checked as a whole before any file is looked at (`resolve`): a policy that
//! cannot be meant as it stands must not pass anything.

mod contradiction;
mod error;
mod resolve;
mod size;
mod syntax;
mod target;

use std::collections::BTreeSet;

use globset::GlobMatcher;
use regex::Regex;

use super::readers::Reader;
use super::rule::Rule;
use crate::inspect::DebugLevel;
use crate::survey::Wanted;

pub use error::PolicyError;
pub use size::Size;
pub use target::{PolicyTarget, compute};

/// Everything that a policy says.
#[derive(Debug)]
pub struct Policy {
    /// What the policy is called in findings that are about no file.
    pub path: String,
    /// Each of these has to match a file with device code.
    pub must_hold: Vec<Pattern>,
    /// Files that are not judged.
    pub skip: Vec<Pattern>,
    /// Rules whose violations are told and do not fail.
    pub warn: BTreeSet<Rule>,
    /// For the device code of all files.
    pub total: Option<Size>,
    /// Whether all files have to fix the same features of a processor.
    pub consistent_features: bool,
    pub requirements: Requirements,
    /// In the order of the policy; later ones win.
    pub exceptions: Vec<Exception>,
}

/// Which files something is about.
#[derive(Debug)]
pub struct Pattern {
    pub text: String,
    matcher: GlobMatcher,
}

/// Other demands for some files.
#[derive(Debug)]
pub struct Exception {
    pub pattern: Pattern,
    pub requirements: Requirements,
}

/// What is demanded of a file. Absent is what nothing is said of.
#[derive(Debug, Clone, Default)]
pub struct Requirements {
    pub devices: Option<Vec<PolicyTarget>>,
    /// The lowest PTX that does where machine code is missing.
    pub ptx_fallback: Option<PolicyTarget>,
    pub require: Option<Vec<PolicyTarget>>,
    pub forbid: Option<Vec<PolicyTarget>>,
    pub only: Option<Vec<PolicyTarget>>,
    pub file_size: Option<Size>,
    pub arch_sizes: Option<Vec<(PolicyTarget, Size)>>,
    /// The most that there may be.
    pub debug: Option<DebugLevel>,
    /// Whether there may be any.
    pub build_paths: Option<bool>,
    pub compressed: Option<bool>,
    pub readable_by: Option<Vec<Reader>>,
    /// Whether images are looked into to see that they are whole.
    pub intact: Option<bool>,
    /// Whether every container of CUDA and HIP has to be registered, once.
    pub registered: Option<bool>,
    /// Whether an image may be stored twice.
    pub duplicates: Option<bool>,
    pub kernels: Option<Vec<KernelRequirement>>,
}

/// What is demanded of kernels.
#[derive(Debug, Clone)]
pub struct KernelRequirement {
    /// Which ones; all of them where it says nothing.
    pub matching: Option<Regex>,
    pub archs: Option<KernelArchs>,
    /// The most that each may take.
    pub limits: Vec<(KernelLimit, u64)>,
    /// The line of the policy.
    pub line: usize,
}

/// The architectures that kernels have to be there for.
#[derive(Debug, Clone)]
pub enum KernelArchs {
    /// Those of the file.
    All,
    Listed(Vec<PolicyTarget>),
}

/// Something that a kernel takes of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelLimit {
    Registers,
    Spills,
    Scratch,
    Shared,
}

impl KernelLimit {
    /// What messages call it.
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
    /// Whether it is about this file. A pattern without `/` is about the last part of a path, as in `.gitignore`.
    pub fn matches(&self, path: &str) -> bool {
        let last = path.rsplit(['/', '!']).next().unwrap_or(path);
        self.matcher.is_match(if self.text.contains('/') { path } else { last })
    }
}

impl Policy {
    /// Reads the text of a policy; `path` is what it is called.
    pub fn parse(path: &str, text: &str) -> Result<Policy, PolicyError> {
        resolve::policy(path, text)
    }

    /// Whether a file is not to be judged.
    pub fn skips(&self, path: &str) -> bool {
        self.skip.iter().any(|pattern| pattern.matches(path))
    }

    /// What is demanded of a file.
    pub fn requirements_for(&self, path: &str) -> Requirements {
        let own = self.exceptions.iter().filter(|exception| exception.pattern.matches(path));
        own.fold(self.requirements.clone(), |requirements, exception| {
            exception.requirements.clone().overriding(requirements)
        })
    }

    /// What has to be known of the images of a file to judge it.
    pub fn analysis_options(&self, path: &str) -> Wanted {
        if self.skips(path) { Wanted::default() } else { self.requirements_for(path).analysis_options() }
    }

    /// Whether images of any file have to be looked into.
    pub fn needs_inspection(&self) -> bool {
        self.all_requirements().any(|requirements| requirements.analysis_options().is_anything())
    }

    /// Whether hashes of images are needed.
    pub fn needs_hashes(&self) -> bool {
        self.all_requirements().any(|requirements| requirements.duplicates == Some(false))
    }

    fn all_requirements(&self) -> impl Iterator<Item = &Requirements> {
        std::iter::once(&self.requirements).chain(self.exceptions.iter().map(|exception| &exception.requirements))
    }
}

impl Requirements {
    /// What has to be known of the images that they are about.
    fn analysis_options(&self) -> Wanted {
        let inspection = self.kernels.is_some()
            || self.intact == Some(true)
            || self.debug.is_some_and(|level| level < DebugLevel::Full);
        Wanted { inspection, build_paths: self.build_paths == Some(false), ..Wanted::default() }
    }

    /// These where they say something, else the others.
    fn overriding(self, other: Requirements) -> Requirements {
        Requirements {
            devices: self.devices.or(other.devices),
            ptx_fallback: self.ptx_fallback.or(other.ptx_fallback),
            require: self.require.or(other.require),
            forbid: self.forbid.or(other.forbid),
            only: self.only.or(other.only),
            file_size: self.file_size.or(other.file_size),
            arch_sizes: self.arch_sizes.or(other.arch_sizes),
            debug: self.debug.or(other.debug),
            build_paths: self.build_paths.or(other.build_paths),
            compressed: self.compressed.or(other.compressed),
            readable_by: self.readable_by.or(other.readable_by),
            intact: self.intact.or(other.intact),
            registered: self.registered.or(other.registered),
            duplicates: self.duplicates.or(other.duplicates),
            kernels: self.kernels.or(other.kernels),
        }
    }
}
