//! `check`: scans files, analyzes what a policy needs to know about them, and evaluates the policy.

use std::ops::ControlFlow;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use crate::analyze::host_runtime::RequiredPackages;
use crate::analyze::metadata::PackageMetadata;
use crate::analyze::promise::Promise;
use crate::analyze::survey::{Survey, SurveyOptions};
use crate::check::ptx_assembler::{Assembly, PtxAssembler};
use crate::check::{Check, CheckedFile, Policy, ProofStatus, StoredPackage, Verdict};
use fatbin_core::base::bytes::View;
use fatbin_core::base::error::Error;
use fatbin_core::base::file_path::FilePath;
use fatbin_core::scan::{CacheBudget, Options, Outcome, Scanner, Source, expand_paths};

/// Scans and analyzes files for a policy.
#[derive(Debug, Clone, Copy)]
pub struct Checker<'p> {
    policy: &'p Policy,
    options: Options,
    inspects_all: bool,
    assembler: Option<&'p PtxAssembler>,
}

impl<'p> Checker<'p> {
    /// Creates a checker. It hashes images if the policy or `options` require it.
    pub fn new(policy: &'p Policy, options: Options) -> Self {
        let hash = options.hash || policy.needs_hashes();
        Checker { policy, options: options.with_hash(hash), inspects_all: false, assembler: None }
    }

    /// Sets whether all images are inspected, for reports that show more than the policy requires.
    pub fn inspect_all(self, inspects_all: bool) -> Self {
        Checker { inspects_all, ..self }
    }

    /// Sets what assembles the PTX of files whose requirements need it.
    pub fn with_assembler(self, assembler: Option<&'p PtxAssembler>) -> Self {
        Checker { assembler, ..self }
    }

    /// Returns a scanner with its options, from one for the same options. It also keeps files without device code that
    /// the policy requires.
    pub fn scanner(&self, scanner: Scanner) -> Scanner {
        let scanner = scanner.with_cache(CacheBudget::default());
        let host = self.policy.compares_host_runtimes();
        match (self.policy.metadata, self.policy.promised_kernels) {
            _ if host => scanner.with_kept_files(is_kept),
            (true, true) => scanner.with_kept_files(|path| PackageMetadata::has_path(path) || Promise::has_path(path)),
            (true, false) => scanner.with_kept_files(PackageMetadata::has_path),
            (false, true) => scanner.with_kept_files(Promise::has_path),
            (false, false) => scanner,
        }
    }

    /// Returns the options of the scan whose outcomes [`Checker::analyze`] takes.
    pub fn scan_options(&self) -> Options {
        self.options
    }

    /// Analyzes the outcome of scanning a file that was found in the input with this index. Returns the error if the
    /// file cannot be read. The caller compares files with proofs.
    pub fn analyze(&self, input: usize, outcome: Outcome) -> (CheckedFile, Option<Error>) {
        let metadata = |path: &FilePath, view: View<'_>| PackageMetadata::parse(path, view.data()).transpose();
        let required =
            |path: &FilePath, view: View<'_>| RequiredPackages::parse(path, &String::from_utf8_lossy(view.data()));
        let policy = self.policy;
        let metadata = policy.metadata.then(|| read(&outcome, PackageMetadata::has_path, metadata)).flatten();
        let promise = policy.promised_kernels.then(|| read(&outcome, Promise::has_path, Promise::read)).flatten();
        let sha256 = if policy.promised_kernels { sha256(&outcome) } else { None };
        let has_required = policy.compares_host_runtimes();
        let required = has_required.then(|| read(&outcome, RequiredPackages::has_path, required)).flatten();
        let package = stored_package(&outcome);
        let assemblies = self.assemblies(&outcome);
        let wanted = |path: &FilePath| {
            let required = self.policy.survey_options(path);
            let inspection = required.inspection || self.inspects_all;
            SurveyOptions { inspection, own_sizes: self.inspects_all, ..required }
        };
        let (survey, error) = Survey::of_outcome(outcome, &wanted, &mut |_| ());
        let proof = ProofStatus::default();
        (CheckedFile { survey, input, proof, package, metadata, promise, sha256, required, assemblies }, error)
    }

    /// Assembles the PTX of a file. The analysis of the file reports the error if it cannot be opened.
    fn assemblies(&self, outcome: &Outcome) -> Option<Vec<Assembly>> {
        let Outcome::Scanned(scanned) = outcome else { return None };
        let path = &scanned.file().path;
        let requirements = self.policy.requirements_for(path);
        if requirements.ptx_assembles != Some(true) || self.policy.skips(path) {
            return None;
        }
        self.assembler?.assemble(scanned, &requirements).ok()
    }

    /// Returns whether the policy requires that the file is the result of a proven change.
    pub fn requires_proof(&self, file: &CheckedFile) -> bool {
        file.survey.file.has_device_code() && self.policy.requires_proof(&file.survey.file.path)
    }

    /// Scans and checks files, directories and archives.
    fn check_paths(&self, paths: &[PathBuf]) -> Verdict {
        let (inputs, failed) = expand_paths(paths);
        let analyze = |input, outcome| self.analyze(input, outcome).0;
        let mut check = Check::new(self.policy, paths.iter().map(|path| path.to_string_lossy().into_owned()).collect());
        for (input, outcome) in failed {
            check.add(analyze(input, outcome));
        }
        let scanner = self.scanner(Scanner::new(self.options));
        let _ = scanner.scan_inputs(&inputs, &analyze, &|_| (), &mut |file| {
            check.add(file);
            ControlFlow::Continue(())
        });
        check.finish()
    }
}

/// Returns the package that a file was found in.
fn stored_package(outcome: &Outcome) -> Option<StoredPackage> {
    let path = match outcome {
        Outcome::Scanned(scanned) if scanned.member().is_some() => scanned.outermost()?,
        Outcome::Empty(file) => file.path.printed(),
        Outcome::Scanned(_) | Outcome::Unreadable { .. } => return None,
    };
    let size = std::fs::metadata(path).ok()?.len();
    Some(StoredPackage { path: path.to_string_lossy().into_owned(), size })
}

/// Parses a file, if its path is accepted. The analysis of the file reports the error if it cannot be opened.
fn read<T>(
    outcome: &Outcome,
    accepts: fn(&FilePath) -> bool,
    parse: fn(&FilePath, View<'_>) -> Option<T>,
) -> Option<T> {
    let Outcome::Scanned(scanned) = outcome else { return None };
    let path = &scanned.file().path;
    if !accepts(path) {
        return None;
    }
    let scan = scanned.open().ok()?;
    parse(path, scan.source().view())
}

/// Returns whether a file without device code is kept for any rule.
fn is_kept(path: &FilePath) -> bool {
    let is_library = [".so", ".pyd", ".dll"].iter().any(|ending| path.ends_with(ending)) || path.contains(".so.");
    is_library || RequiredPackages::has_path(path) || PackageMetadata::has_path(path) || Promise::has_path(path)
}

/// Hashes a file with device code whose hash an index may state. A hash that is missing is undecided.
fn sha256(outcome: &Outcome) -> Option<[u8; 32]> {
    let Outcome::Scanned(scanned) = outcome else { return None };
    if !Promise::has_hash(&scanned.file().path) || !scanned.file().has_findings() {
        return None;
    }
    let scan = scanned.open().ok()?;
    let source = scan.source();
    let mut hash = Sha256::new();
    source.blocks(0..source.view().size(), 0, &mut |_, bytes| hash.update(bytes)).ok()?;
    Some(hash.finalize().into())
}

/// Checks files, directories and archives by a policy.
pub fn check_paths(policy: &Policy, paths: impl IntoIterator<Item: Into<PathBuf>>) -> Verdict {
    let paths: Vec<PathBuf> = paths.into_iter().map(Into::into).collect();
    Checker::new(policy, Options::default()).check_paths(&paths)
}
