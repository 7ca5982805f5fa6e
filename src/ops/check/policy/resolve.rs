//! Resolves a parsed policy: looks up names, compiles patterns, and refuses contradictions.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

use regex::bytes::Regex;
use toml::Spanned;

use super::contradiction::{Located, SpannedArchs, SpannedSizes};
use super::error::{PolicyCause, PolicyError, line_and_column};
use super::syntax::{self, AllOrList, ByteCount, List, Text};
use super::{
    Exception, FamilyRequirement, KernelLimit, KernelRequirement, KernelTargets, PackageCoverage, Pattern, Policy,
    Requirements, Size,
};
use crate::analyze::requires::Driver;
use crate::check::asked::{Asked, cuda_release};
use crate::check::rule::Rule;
use crate::check::target::PolicyTarget;
use fatbin_core::base::pattern::PatternBudget;
use fatbin_core::base::spelling::Suggestions;
use fatbin_core::format::readers::Reader;
use fatbin_core::image::DebugLevel;
use fatbin_core::target::{intel, nvptx, processors::Processor, target_id::cut};

type Result<T> = std::result::Result<T, PolicyError>;

/// Targets with their places in the policy.
type SpannedTargets = Vec<Spanned<PolicyTarget>>;

/// Parses and resolves a policy.
pub fn policy(path: &str, text: &str) -> Result<Policy> {
    let written: syntax::PolicyToml =
        toml::from_str(text).map_err(|error| PolicyError::from_toml(path, text, &error))?;
    Resolver { path, text, patterns: RefCell::default() }.policy(written)
}

/// The name and text of a policy, for the places of errors.
struct Resolver<'a> {
    path: &'a str,
    text: &'a str,
    patterns: RefCell<PatternBudget>,
}

impl Resolver<'_> {
    fn error(&self, span: Range<usize>, cause: impl Into<PolicyCause>) -> PolicyError {
        PolicyError::new(self.path, self.text, span, cause.into())
    }

    fn contradiction(&self, (span, contradiction): Located) -> PolicyError {
        self.error(span, contradiction)
    }

    fn policy(&self, written: syntax::PolicyToml) -> Result<Policy> {
        let consistent_features = written.archs.consistent_features == Some(true);
        let metadata = written.package.metadata == Some(true);
        let promised_kernels = written.package.promised_kernels == Some(true);
        let package_coverage = self.package_coverage(written.package)?;
        let sizes = self.sizes(&written.sizes)?;
        sizes.check().map_err(|it| self.contradiction(it))?;
        let total = sizes.total.as_ref().map(|size| *size.get_ref());
        let package = sizes.package.as_ref().map(|size| *size.get_ref());
        let requirements = self.requirements(written.archs, sizes, written.images, written.kernels)?;
        let mut files: Vec<(Text, syntax::ExceptionToml)> = written.files.into_iter().collect();
        files.sort_by_cached_key(|(pattern, _)| pattern.span().start);
        let exception = |(pattern, own): (Text, syntax::ExceptionToml)| {
            let sizes = self.sizes(&own.sizes.into())?;
            let requirements = self.requirements(own.archs.into(), sizes, own.images, own.kernels)?;
            Ok(Exception { pattern: self.pattern(&pattern)?, requirements })
        };
        let exceptions = files.into_iter().map(exception).collect::<Result<_>>()?;
        let warn = written.warn.iter().map(|name| self.rule(name)).collect::<Result<_>>()?;
        let patterns = |texts: &[Text]| texts.iter().map(|text| self.pattern(text)).collect::<Result<Vec<_>>>();
        let must_hold = patterns(&written.must_hold)?;
        let skip = patterns(&written.skip)?;
        let path = self.path.to_owned();
        Ok(Policy {
            path,
            must_hold,
            skip,
            warn,
            total,
            package,
            consistent_features,
            metadata,
            package_coverage,
            promised_kernels,
            requirements,
            exceptions,
        })
    }

    fn package_coverage(&self, package: syntax::Package) -> Result<PackageCoverage> {
        let devices = |list: &List| self.devices(list.get_ref()).map(into_inner);
        let family = |it: &syntax::PackageKernels| {
            Ok(FamilyRequirement { matching: self.regex(&it.matching)?, devices: devices(&it.devices)? })
        };
        Ok(PackageCoverage {
            devices: package.devices.as_ref().map(devices).transpose()?.unwrap_or_default(),
            kernels: package.kernels.iter().flatten().map(family).collect::<Result<_>>()?,
            with_jit: package.jit != Some(false),
        })
    }

    fn requirements(
        &self,
        archs: syntax::Archs,
        sizes: SpannedSizes,
        images: syntax::Images,
        kernels: Option<Vec<Spanned<syntax::Kernels>>>,
    ) -> Result<Requirements> {
        let ptx_fallback = archs.ptx_fallback.as_ref().map(|text| self.ptx(text)).transpose()?;
        let archs = self.archs(&archs)?;
        archs.check().map_err(|it| self.contradiction(it))?;
        let readers = images.readable_by.map(|names| names.iter().map(|name| self.reader(name)).collect());
        let runtimes = images.findable_by.map(|names| names.iter().map(|name| self.runtime(name)).collect());
        let drivers = images.loadable_by.map(|names| names.iter().map(|name| self.driver(name)).collect());
        let kernels = kernels.map(|kernels| kernels.iter().map(|it| self.kernels(it)).collect());
        let debug = |level| match level {
            syntax::DebugKeyword::None => DebugLevel::None,
            syntax::DebugKeyword::Lines => DebugLevel::Lines,
            syntax::DebugKeyword::Full => DebugLevel::Full,
        };
        let arch_sizes = |sizes: Vec<(PolicyTarget, Spanned<Size>)>| {
            sizes.into_iter().map(|(target, size)| (target, size.into_inner())).collect()
        };
        Ok(Requirements {
            devices: archs.devices.map(into_inner),
            ptx_fallback,
            require: archs.require.map(into_inner),
            asked: archs.asked.map(Spanned::into_inner),
            forbid: archs.forbid.map(into_inner),
            only: archs.only.map(into_inner),
            file_size: sizes.file.map(Spanned::into_inner),
            arch_sizes: sizes.archs.map(arch_sizes),
            debug: images.debug.map(debug),
            build_paths: images.build_paths,
            compressed: images.compressed,
            readable_by: readers.transpose()?,
            findable_by: runtimes.transpose()?,
            loadable_by: drivers.transpose()?,
            intact: images.intact,
            ptx_assembles: images.ptx_assembles,
            registered: images.registered,
            duplicates: images.duplicates,
            platform_tag: images.platform_tag,
            host_runtime: images.host_runtime,
            proven: images.proven,
            kernels: kernels.transpose()?,
        })
    }

    fn archs(&self, archs: &syntax::Archs) -> Result<SpannedArchs> {
        let targets = |list: &Option<List>| list.as_ref().map(|list| self.unique_targets(list.get_ref())).transpose();
        Ok(SpannedArchs {
            devices: archs.devices.as_ref().map(|list| self.devices(list.get_ref())).transpose()?,
            require: targets(&archs.require)?,
            asked: self.asked(archs)?,
            forbid: targets(&archs.forbid)?,
            only: targets(&archs.only)?,
            has_ptx_fallback: archs.ptx_fallback.is_some(),
        })
    }

    fn asked(&self, archs: &syntax::Archs) -> Result<Option<Spanned<Asked>>> {
        let release = |text: &Text| cuda_release(text.get_ref()).map_err(|cause| self.error(text.span(), cause));
        let release = archs.asked_cuda.as_ref().map(|text| Ok((release(text)?, text.span()))).transpose()?;
        match (&archs.asked, release) {
            (Some(text), release) => match Asked::parse(text.get_ref(), None, release.map(|(release, _)| release)) {
                Ok(asked) => Ok(Some(Spanned::new(text.span(), asked))),
                Err(cause) => Err(self.error(text.span(), cause)),
            },
            (None, Some((_, span))) => Err(self.error(span, PolicyCause::UnusedRelease)),
            (None, None) => Ok(None),
        }
    }

    fn unique_targets(&self, texts: &[Text]) -> Result<SpannedTargets> {
        let mut targets: Vec<Spanned<PolicyTarget>> = Vec::new();
        for text in texts {
            for target in PolicyTarget::parse_all(text.get_ref()).map_err(|cause| self.error(text.span(), cause))? {
                if targets.iter().any(|known| *known.get_ref() == target) {
                    return Err(self.error(text.span(), PolicyCause::DuplicateArch(target)));
                }
                targets.push(Spanned::new(text.span(), target));
            }
        }
        Ok(targets)
    }

    /// Resolves a list of devices. A device has a processor; PTX is not a device.
    fn devices(&self, texts: &[Text]) -> Result<SpannedTargets> {
        let devices = self.unique_targets(texts)?;
        for device in &devices {
            if !is_device(device.get_ref()) {
                return Err(self.error(device.span(), PolicyCause::NotADevice(device.get_ref().clone())));
            }
        }
        Ok(devices)
    }

    fn ptx(&self, text: &Text) -> Result<PolicyTarget> {
        let name = text.get_ref();
        if let Ok(target @ PolicyTarget::Ptx(_)) = PolicyTarget::parse(name) {
            return Ok(target);
        }
        let suggestion = format!("compute_{}", name.trim_start_matches("sm_").replace('.', ""));
        let suggestions = if PolicyTarget::parse(&suggestion).is_ok() { vec![suggestion] } else { Vec::new() };
        let cause = PolicyCause::InvalidPtx { name: name.clone(), suggestions: Suggestions(suggestions) };
        Err(self.error(text.span(), cause))
    }

    fn sizes(&self, sizes: &syntax::Sizes) -> Result<SpannedSizes> {
        let size = |text: &Option<Text>| text.as_ref().map(|text| self.size(text)).transpose();
        Ok(SpannedSizes {
            total: size(&sizes.total)?,
            package: size(&sizes.package)?,
            file: size(&sizes.file)?,
            archs: sizes.arch.as_ref().map(|sizes| self.arch_sizes(sizes)).transpose()?,
        })
    }

    fn size(&self, text: &Text) -> Result<Spanned<Size>> {
        match Size::parse(text.get_ref()) {
            Some(size) if size.0 > 0 => Ok(Spanned::new(text.span(), size)),
            Some(_) => Err(self.error(text.span(), PolicyCause::ZeroSize)),
            None => Err(self.error(text.span(), PolicyCause::InvalidSize(text.get_ref().clone()))),
        }
    }

    fn arch_sizes(&self, sizes: &BTreeMap<Text, Text>) -> Result<Vec<(PolicyTarget, Spanned<Size>)>> {
        let arch_size = |(arch, size): (&Text, &Text)| {
            let size = self.size(size)?;
            let target = PolicyTarget::parse(arch.get_ref()).map_err(|cause| self.error(arch.span(), cause))?;
            Ok((target, size))
        };
        sizes.iter().map(arch_size).collect()
    }

    fn pattern(&self, text: &Text) -> Result<Pattern> {
        match self.patterns.borrow_mut().glob(text.get_ref()) {
            Ok(matcher) => Ok(Pattern { text: text.get_ref().clone(), matcher }),
            Err(error) => Err(self.error(text.span(), PolicyCause::InvalidPattern(error))),
        }
    }

    fn rule(&self, text: &Text) -> Result<Rule> {
        let name = text.get_ref();
        Rule::from_name(name).ok_or_else(|| {
            let suggestions = Suggestions::new(name, Rule::ALL.iter().map(|rule| rule.name().to_owned()));
            self.error(text.span(), PolicyCause::UnknownRule { name: name.clone(), suggestions })
        })
    }

    fn reader(&self, text: &Text) -> Result<Reader> {
        let invalid = || self.error(text.span(), PolicyCause::InvalidRelease(text.get_ref().clone()));
        Reader::parse(text.get_ref()).ok_or_else(invalid)
    }

    /// Resolves a release with a HIP runtime.
    fn runtime(&self, text: &Text) -> Result<Reader> {
        let invalid = || self.error(text.span(), PolicyCause::NoHipRuntime(text.get_ref().clone()));
        Reader::parse(text.get_ref()).filter(|reader| reader.has_hip_runtime()).ok_or_else(invalid)
    }

    fn driver(&self, text: &Text) -> Result<Driver> {
        let invalid = || self.error(text.span(), PolicyCause::InvalidDriver(text.get_ref().clone()));
        Driver::parse(text.get_ref()).ok_or_else(invalid)
    }

    fn kernels(&self, written: &Spanned<syntax::Kernels>) -> Result<KernelRequirement> {
        let syntax::Kernels { matching, archs, devices, max_registers, max_spills, max_scratch, max_shared } =
            written.get_ref();
        let archs = self.kernel_targets(archs, PolicyCause::InvalidKernelArchs, Self::unique_targets)?;
        let devices = self.kernel_targets(devices, PolicyCause::InvalidKernelDevices, Self::devices)?;
        let limits = [
            (KernelLimit::Registers, *max_registers),
            (KernelLimit::Spills, *max_spills),
            (KernelLimit::Scratch, self.byte_count(max_scratch)?),
            (KernelLimit::Shared, self.byte_count(max_shared)?),
        ];
        let limits: Vec<(KernelLimit, u64)> =
            limits.into_iter().filter_map(|(limit, most)| Some((limit, most?))).collect();
        if archs.is_none() && devices.is_none() && limits.is_empty() {
            return Err(self.error(written.span(), PolicyCause::EmptyKernels));
        }
        let matching = matching.as_ref().map(|text| self.regex(text)).transpose()?;
        let (line, _) = line_and_column(self.text, written.span().start);
        Ok(KernelRequirement { matching, archs, devices, limits, line })
    }

    fn kernel_targets(
        &self,
        written: &Option<Spanned<AllOrList>>,
        invalid: fn(String) -> PolicyCause,
        resolve: fn(&Self, &[Text]) -> Result<SpannedTargets>,
    ) -> Result<Option<KernelTargets>> {
        let Some(written) = written else { return Ok(None) };
        match written.get_ref() {
            AllOrList::Listed(texts) => Ok(Some(KernelTargets::Listed(into_inner(resolve(self, texts)?)))),
            AllOrList::Keyword(word) if word == "all" => Ok(Some(KernelTargets::All)),
            AllOrList::Keyword(word) => Err(self.error(written.span(), invalid(word.clone()))),
        }
    }

    fn byte_count(&self, count: &Option<Spanned<ByteCount>>) -> Result<Option<u64>> {
        let Some(count) = count else { return Ok(None) };
        match count.get_ref() {
            ByteCount::Number(number) => Ok(Some(*number)),
            ByteCount::Size(text) => match Size::parse(text) {
                Some(size) => Ok(Some(size.0)),
                None => Err(self.error(count.span(), PolicyCause::InvalidSize(text.clone()))),
            },
        }
    }

    fn regex(&self, text: &Text) -> Result<Regex> {
        let regex = self.patterns.borrow_mut().regex(text.get_ref());
        regex.map_err(|error| self.error(text.span(), PolicyCause::InvalidRegex(error)))
    }
}

fn into_inner(targets: Vec<Spanned<PolicyTarget>>) -> Vec<PolicyTarget> {
    targets.into_iter().map(Spanned::into_inner).collect()
}

/// Returns whether a device has this name. Code with a suffix and generic code runs on devices, but none is named so.
fn is_device(target: &PolicyTarget) -> bool {
    let PolicyTarget::Native(id) = target else { return target.system().is_some() };
    match nvptx::Arch::parse(id) {
        Some(arch) => arch.suffix.is_none(),
        None if intel::is_name(id) => true,
        None => Processor::named(cut(id).0).is_some_and(|processor| !processor.name.ends_with("generic")),
    }
}
