//! From what its author wrote to what a policy means: names looked up, patterns compiled, and no two demands that cannot
//! both be met.

use std::collections::BTreeMap;
use std::ops::Range;

use globset::GlobBuilder;
use regex::Regex;
use toml::Spanned;

use super::error::PolicyError;
use super::syntax::{self, ByteCount, List, Text};
use super::target::did_you_mean;
use super::{
    Exception, KernelArchs, KernelLimit, KernelRequirement, Pattern, Policy, PolicyTarget, Requirements, Size,
    contradiction,
};
use crate::check::readers::Reader;
use crate::check::rule::Rule;
use crate::inspect::DebugLevel;
use crate::target::{nvptx, processors::Processor, target_id::cut};

type Result<T> = std::result::Result<T, PolicyError>;

/// Reads and resolves a policy.
pub fn policy(path: &str, text: &str) -> Result<Policy> {
    let written: syntax::Policy = toml::from_str(text).map_err(|error| PolicyError::of_toml(path, text, &error))?;
    Resolver { path, text }.policy(written)
}

/// The text that mistakes are in.
pub struct Resolver<'a> {
    pub path: &'a str,
    pub text: &'a str,
}

impl Resolver<'_> {
    pub fn error<T>(&self, span: Range<usize>, what: String) -> Result<T> {
        Err(PolicyError::new(self.path, self.text, span, what))
    }

    fn policy(&self, written: syntax::Policy) -> Result<Policy> {
        let consistent_features = written.archs.consistent_features == Some(true);
        let total = self.size(written.sizes.total.as_ref())?;
        contradiction::sizes(self, &written.sizes)?;
        let requirements = self.requirements(written.archs, written.sizes, written.images, written.kernels)?;
        let mut files: Vec<(Text, syntax::Exception)> = written.files.into_iter().collect();
        files.sort_by_key(|(pattern, _)| pattern.span().start);
        let exception = |(pattern, own): (Text, syntax::Exception)| {
            let requirements = self.requirements(own.archs.into(), own.sizes.into(), own.images, own.kernels)?;
            Ok(Exception { pattern: self.pattern(&pattern)?, requirements })
        };
        let exceptions = files.into_iter().map(exception).collect::<Result<_>>()?;
        let warn = written.warn.iter().map(|name| self.rule(name)).collect::<Result<_>>()?;
        let patterns = |texts: &[Text]| texts.iter().map(|text| self.pattern(text)).collect::<Result<Vec<_>>>();
        let (must_hold, skip) = (patterns(&written.must_hold)?, patterns(&written.skip)?);
        let path = self.path.to_owned();
        Ok(Policy { path, must_hold, skip, warn, total, consistent_features, requirements, exceptions })
    }

    fn requirements(
        &self,
        archs: syntax::Archs,
        sizes: syntax::Sizes,
        images: syntax::Images,
        kernels: Option<Vec<Spanned<syntax::Kernels>>>,
    ) -> Result<Requirements> {
        contradiction::archs(self, &archs)?;
        let readers = images.readable_by.map(|names| names.iter().map(|name| self.reader(name)).collect());
        let kernels = kernels.map(|kernels| kernels.iter().map(|it| self.kernels(it)).collect());
        let debug = |level| match level {
            syntax::DebugKeyword::None => DebugLevel::None,
            syntax::DebugKeyword::Lines => DebugLevel::Lines,
            syntax::DebugKeyword::Full => DebugLevel::Full,
        };
        Ok(Requirements {
            devices: archs.devices.as_ref().map(|list| self.devices(list)).transpose()?,
            ptx_fallback: archs.ptx_fallback.as_ref().map(|text| self.ptx(text)).transpose()?,
            require: archs.require.as_ref().map(|list| self.targets(list)).transpose()?,
            forbid: archs.forbid.as_ref().map(|list| self.targets(list)).transpose()?,
            only: archs.only.as_ref().map(|list| self.targets(list)).transpose()?,
            file_size: self.size(sizes.file.as_ref())?,
            arch_sizes: sizes.arch.as_ref().map(|sizes| self.arch_sizes(sizes)).transpose()?,
            debug: images.debug.map(debug),
            build_paths: images.build_paths,
            compressed: images.compressed,
            readable_by: readers.transpose()?,
            intact: images.intact,
            registered: images.registered,
            duplicates: images.duplicates,
            kernels: kernels.transpose()?,
        })
    }

    /// The architecture that a text names.
    pub fn target(&self, text: &Text) -> Result<PolicyTarget> {
        PolicyTarget::parse(text.get_ref()).or_else(|what| self.error(text.span(), what))
    }

    pub fn targets(&self, list: &List) -> Result<Vec<PolicyTarget>> {
        self.unique_targets(list.get_ref())
    }

    fn unique_targets(&self, texts: &[Text]) -> Result<Vec<PolicyTarget>> {
        let mut targets = Vec::new();
        for text in texts {
            let target = self.target(text)?;
            if targets.contains(&target) {
                return self.error(text.span(), format!("{target} is given twice"));
            }
            targets.push(target);
        }
        Ok(targets)
    }

    /// A device has a processor; PTX is no device.
    fn devices(&self, list: &List) -> Result<Vec<PolicyTarget>> {
        for text in list.get_ref() {
            match self.target(text)? {
                PolicyTarget::Native(id) if is_device(&id) => {}
                target => {
                    let what = format!("{target} is no device; say what it is, such as \"sm_90\" or \"gfx90a\"");
                    return self.error(text.span(), what);
                }
            }
        }
        self.targets(list)
    }

    fn ptx(&self, text: &Text) -> Result<PolicyTarget> {
        match PolicyTarget::parse(text.get_ref()) {
            Ok(target @ PolicyTarget::Ptx(_)) => Ok(target),
            _ => {
                let number = text.get_ref().trim_start_matches("sm_").replace('.', "");
                let meant = format!("compute_{number}");
                let hint = match PolicyTarget::parse(&meant) {
                    Ok(_) => format!("; did you mean {meant}?"),
                    Err(_) => String::new(),
                };
                self.error(text.span(), format!("{:?} is no PTX such as \"compute_80\"{hint}", text.get_ref()))
            }
        }
    }

    pub fn size(&self, text: Option<&Text>) -> Result<Option<Size>> {
        let Some(text) = text else { return Ok(None) };
        match Size::parse(text.get_ref()) {
            Some(size) if size.0 > 0 => Ok(Some(size)),
            Some(_) => self.error(text.span(), "no code fits into that".to_owned()),
            None => self.error(text.span(), invalid_size(text.get_ref())),
        }
    }

    fn arch_sizes(&self, sizes: &BTreeMap<Text, Text>) -> Result<Vec<(PolicyTarget, Size)>> {
        let one = |(arch, size): (&Text, &Text)| {
            self.size(Some(size))?.map(|size| self.target(arch).map(|arch| (arch, size))).transpose()
        };
        sizes.iter().filter_map(|pair| one(pair).transpose()).collect()
    }

    fn pattern(&self, text: &Text) -> Result<Pattern> {
        let glob = GlobBuilder::new(text.get_ref()).literal_separator(false).build();
        match glob {
            Ok(glob) => Ok(Pattern { text: text.get_ref().clone(), matcher: glob.compile_matcher() }),
            Err(error) => self.error(text.span(), format!("no pattern: {}", error.kind())),
        }
    }

    fn rule(&self, text: &Text) -> Result<Rule> {
        Rule::named(text.get_ref()).map_or_else(
            || {
                let hint = did_you_mean(text.get_ref(), Rule::all().map(|rule| rule.name().to_owned()));
                self.error(text.span(), format!("there is no rule {:?}{hint}", text.get_ref()))
            },
            Ok,
        )
    }

    fn reader(&self, text: &Text) -> Result<Reader> {
        let unknown = || format!("{:?} is no release such as \"rocm-6.2\" or \"llvm-19\"", text.get_ref());
        Reader::parse(text.get_ref()).map_or_else(|| self.error(text.span(), unknown()), Ok)
    }

    fn kernels(&self, written: &Spanned<syntax::Kernels>) -> Result<KernelRequirement> {
        let syntax::Kernels { matching, archs, max_registers, max_spills, max_scratch, max_shared } = written.get_ref();
        let regex = |text: &Text| match Regex::new(text.get_ref()) {
            Ok(regex) => Ok(regex),
            // Its own message is a drawing of several lines, of which the last says what is wrong.
            Err(error) => {
                let error = error.to_string();
                let cause = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
                self.error(text.span(), format!("no regular expression: {cause}"))
            }
        };
        let archs = archs.as_ref().map(|archs| match archs.get_ref() {
            syntax::KernelArchs::Listed(texts) => self.unique_targets(texts).map(KernelArchs::Listed),
            syntax::KernelArchs::Keyword(word) if word == "all" => Ok(KernelArchs::All),
            syntax::KernelArchs::Keyword(word) => {
                self.error(archs.span(), format!("{word:?} is neither \"all\" nor a list of architectures"))
            }
        });
        let bytes = |bytes: &Option<Spanned<ByteCount>>| {
            let Some(bytes) = bytes else { return Ok(None) };
            match bytes.get_ref() {
                ByteCount::Number(number) => Ok(Some(*number)),
                ByteCount::Size(text) => match Size::parse(text) {
                    Some(size) => Ok(Some(size.0)),
                    None => self.error(bytes.span(), invalid_size(text)),
                },
            }
        };
        let limits = [
            (KernelLimit::Registers, *max_registers),
            (KernelLimit::Spills, *max_spills),
            (KernelLimit::Scratch, bytes(max_scratch)?),
            (KernelLimit::Shared, bytes(max_shared)?),
        ];
        let limits: Vec<(KernelLimit, u64)> =
            limits.into_iter().filter_map(|(limit, most)| Some((limit, most?))).collect();
        if archs.is_none() && limits.is_empty() {
            return self.error(written.span(), "demands nothing of these kernels".to_owned());
        }
        let matching = matching.as_ref().map(regex).transpose()?;
        let line = PolicyError::new(self.path, self.text, written.span(), String::new()).line;
        Ok(KernelRequirement { matching, archs: archs.transpose()?, limits, line })
    }
}

/// Code with a suffix and generic code is for devices, but no device is called so.
fn is_device(id: &str) -> bool {
    match nvptx::Arch::parse(id) {
        Some(arch) => arch.suffix.is_none(),
        None => Processor::named(cut(id).0).is_some_and(|processor| !processor.name.ends_with("generic")),
    }
}

fn invalid_size(text: &str) -> String {
    format!("{text:?} is no size such as \"850 MB\" or \"1.5 GiB\"")
}
