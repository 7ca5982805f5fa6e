//! From what its author wrote to what a policy means: names looked up, patterns compiled, and no two demands that cannot
//! both be met.

use std::collections::BTreeMap;
use std::ops::Range;

use globset::GlobBuilder;
use regex::Regex;
use toml::Spanned;

use super::error::PolicyError;
use super::target::did_you_mean;
use super::written::{self, Bytes, List, Text};
use super::{Demands, Exception, KernelArchs, KernelDemand, Limit, Pattern, Policy, Size, Target, contradiction};
use crate::check::readers::Reader;
use crate::check::rule::Rule;
use crate::inspect::DebugLevel;
use crate::target::{nvptx, processors::Processor, target_id::cut};

type Result<T> = std::result::Result<T, PolicyError>;

/// Reads and resolves a policy.
pub fn policy(path: &str, text: &str) -> Result<Policy> {
    let written: written::Policy = toml::from_str(text).map_err(|error| PolicyError::of_toml(path, text, &error))?;
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

    fn policy(&self, written: written::Policy) -> Result<Policy> {
        let consistent_features = written.archs.consistent_features == Some(true);
        let total = self.size(written.sizes.total.as_ref())?;
        contradiction::sizes(self, &written.sizes)?;
        let demands = self.demands(written.archs, written.sizes, written.images, written.kernels)?;
        let mut files: Vec<(Text, written::Exception)> = written.files.into_iter().collect();
        files.sort_by_key(|(pattern, _)| pattern.span().start);
        let exception = |(pattern, own): (Text, written::Exception)| {
            let demands = self.demands(own.archs.into(), own.sizes.into(), own.images, own.kernels)?;
            Ok(Exception { pattern: self.pattern(&pattern)?, demands })
        };
        let exceptions = files.into_iter().map(exception).collect::<Result<_>>()?;
        let warn = written.warn.iter().map(|name| self.rule(name)).collect::<Result<_>>()?;
        let patterns = |texts: &[Text]| texts.iter().map(|text| self.pattern(text)).collect::<Result<Vec<_>>>();
        let (must_hold, skip) = (patterns(&written.must_hold)?, patterns(&written.skip)?);
        let path = self.path.to_owned();
        Ok(Policy { path, must_hold, skip, warn, total, consistent_features, demands, exceptions })
    }

    fn demands(
        &self,
        archs: written::Archs,
        sizes: written::Sizes,
        images: written::Images,
        kernels: Option<Vec<Spanned<written::Kernels>>>,
    ) -> Result<Demands> {
        contradiction::archs(self, &archs)?;
        let readers = images.readable_by.map(|names| names.iter().map(|name| self.reader(name)).collect());
        let kernels = kernels.map(|kernels| kernels.iter().map(|it| self.kernels(it)).collect());
        let debug = |level| match level {
            written::Debug::None => DebugLevel::None,
            written::Debug::Lines => DebugLevel::Lines,
            written::Debug::Full => DebugLevel::Full,
        };
        Ok(Demands {
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
    pub fn target(&self, text: &Text) -> Result<Target> {
        Target::parse(text.get_ref()).or_else(|what| self.error(text.span(), what))
    }

    pub fn targets(&self, list: &List) -> Result<Vec<Target>> {
        self.each_once(list.get_ref())
    }

    fn each_once(&self, texts: &[Text]) -> Result<Vec<Target>> {
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
    fn devices(&self, list: &List) -> Result<Vec<Target>> {
        for text in list.get_ref() {
            match self.target(text)? {
                Target::Native(id) if is_device(&id) => {}
                target => {
                    let what = format!("{target} is no device; say what it is, such as \"sm_90\" or \"gfx90a\"");
                    return self.error(text.span(), what);
                }
            }
        }
        self.targets(list)
    }

    fn ptx(&self, text: &Text) -> Result<Target> {
        match Target::parse(text.get_ref()) {
            Ok(target @ Target::Ptx(_)) => Ok(target),
            _ => {
                let number = text.get_ref().trim_start_matches("sm_").replace('.', "");
                let meant = format!("compute_{number}");
                let hint = match Target::parse(&meant) {
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
            None => self.error(text.span(), no_size(text.get_ref())),
        }
    }

    fn arch_sizes(&self, sizes: &BTreeMap<Text, Text>) -> Result<Vec<(Target, Size)>> {
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

    fn kernels(&self, written: &Spanned<written::Kernels>) -> Result<KernelDemand> {
        let written::Kernels { matching, archs, max_registers, max_spills, max_scratch, max_shared } =
            written.get_ref();
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
            written::KernelArchs::These(texts) => self.each_once(texts).map(KernelArchs::These),
            written::KernelArchs::Word(word) if word == "all" => Ok(KernelArchs::All),
            written::KernelArchs::Word(word) => {
                self.error(archs.span(), format!("{word:?} is neither \"all\" nor a list of architectures"))
            }
        });
        let bytes = |bytes: &Option<Spanned<Bytes>>| {
            let Some(bytes) = bytes else { return Ok(None) };
            match bytes.get_ref() {
                Bytes::Number(number) => Ok(Some(*number)),
                Bytes::Size(text) => match Size::parse(text) {
                    Some(size) => Ok(Some(size.0)),
                    None => self.error(bytes.span(), no_size(text)),
                },
            }
        };
        let limits = [
            (Limit::Registers, *max_registers),
            (Limit::Spills, *max_spills),
            (Limit::Scratch, bytes(max_scratch)?),
            (Limit::Shared, bytes(max_shared)?),
        ];
        let limits: Vec<(Limit, u64)> = limits.into_iter().filter_map(|(limit, most)| Some((limit, most?))).collect();
        if archs.is_none() && limits.is_empty() {
            return self.error(written.span(), "demands nothing of these kernels".to_owned());
        }
        let matching = matching.as_ref().map(regex).transpose()?;
        let line = PolicyError::new(self.path, self.text, written.span(), String::new()).line;
        Ok(KernelDemand { matching, archs: archs.transpose()?, limits, line })
    }
}

/// Code with a suffix and generic code is for devices, but no device is called so.
fn is_device(id: &str) -> bool {
    match nvptx::Arch::parse(id) {
        Some(arch) => arch.suffix.is_none(),
        None => Processor::named(cut(id).0).is_some_and(|processor| !processor.name.ends_with("generic")),
    }
}

fn no_size(text: &str) -> String {
    format!("{text:?} is no size such as \"850 MB\" or \"1.5 GiB\"")
}
