//! Execution of requests, by the operations of fatbin's own commands.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::environment::Settings;
use super::request::{BundlerAction, Request};
use super::{Diagnostics, Result, archives, compatibility_trace, errors, objcopy, verbose, write_stderr};
use crate::files::{file_message, open};
use fatbin_core::base::io::Input;
use fatbin_core::format::bundle::{BundleForm, FileType};
use fatbin_core::host::rewrite;
use fatbin_core::target::compatibility::KindRules;
use fatbin_ops::embed::bundle::{
    BundleError, BundleInput, BundleOptions, FollowingData, RequestedTarget, UnbundleOptions,
};

/// Executes a request and returns the text for standard output.
pub fn run(request: &Request, settings: &Settings, diagnostics: Diagnostics) -> Result<String> {
    let open = |path: &OsString| open(Path::new(path)).map_err(|error| file_message(&error));
    let mut inputs = request.inputs.iter().map(open).collect::<Result<Vec<Input>>>()?;
    let file_type = FileType::named(&request.file_type)
        .filter(|file_type| request.has_hipi || file_type.name != "hipi")
        .ok_or_else(|| format!("'{}': invalid file type specified", request.file_type))?;
    let runner = Runner { request, settings, diagnostics, file_type };
    match request.action {
        BundlerAction::Bundle => runner.bundle(inputs).map(|()| String::new()),
        BundlerAction::Unbundle => runner.unbundle(&inputs.remove(0)).map(|()| String::new()),
        BundlerAction::List => runner.list(&inputs.remove(0)),
    }
}

struct Runner<'a> {
    request: &'a Request,
    settings: &'a Settings,
    diagnostics: Diagnostics<'a>,
    file_type: FileType,
}

impl Runner<'_> {
    fn bundle(&self, inputs: Vec<Input>) -> Result<()> {
        let targets = &self.request.targets;
        let settings = self.settings;
        if settings.alignment == 0 {
            return Err("for the --bundle-align option: must be at least 1!".to_owned());
        }
        for lost in targets.iter().filter_map(|target| target.lost.as_deref()) {
            self.diagnostics.warning(lost);
        }
        let output = PathBuf::from(&self.request.outputs[0]);
        let host = targets.iter().position(|target| target.is_host);
        let host = host.filter(|&host| self.is_object(&inputs[host]));
        if let (Some(host), true) = (host, settings.dry_run) {
            let files = targets.iter().zip(&self.request.inputs);
            let files: Vec<_> = files.map(|(target, path)| (target.id.as_str(), Path::new(path))).collect();
            write_stderr(&objcopy::adding(&files, host, &output));
            return Ok(());
        }
        // A bundle of objects is an object, and stays uncompressed.
        let compression = if host.is_none() { settings.compression } else { None };
        let files = targets.iter().zip(inputs).map(|(target, input)| BundleInput { id: target.id.clone(), input });
        let options = BundleOptions {
            file_type: self.file_type,
            alignment: settings.alignment,
            compression: compression.map(|compression| (compression, settings.version)),
            output,
            replaces_inputs: true,
        };
        let bundled = fatbin_ops::embed::bundle::bundle(&files.collect::<Vec<_>>(), &options, &mut |_| ())
            .map_err(|error| errors::format_bundle_error(&error))?;
        if settings.verbose
            && let Some(figures) = bundled.compressed
        {
            write_stderr(&verbose::compressed(&figures));
        }
        Ok(())
    }

    fn unbundle(&self, input: &Input) -> Result<()> {
        let targets = &self.request.targets;
        let settings = self.settings;
        let dry_run = settings.dry_run && self.is_object(input);
        if dry_run && targets.iter().any(|target| target.is_host) {
            write_stderr(&objcopy::removing(Path::new(&self.request.inputs[0])));
        }
        // llvm-objcopy would write the host's object.
        let wanted = targets.iter().zip(&self.request.outputs).filter(|(target, _)| !(dry_run && target.is_host));
        let requested = wanted.map(|(target, path)| RequestedTarget {
            id: target.id.clone(),
            fallback: target.tool_id.clone(),
            output: path.into(),
        });
        let options = UnbundleOptions {
            file_type: Some(self.file_type),
            targets: requested.collect(),
            allow_missing: settings.allow_missing,
            rules: KindRules { hip_openmp: settings.hip_openmp },
            only_first: true,
            replaces_input: true,
        };
        let mut trace = |_: &Path, found: &str, requested: &str, verdict: &_| {
            if settings.trace {
                write_stderr(&compatibility_trace::line(found, requested, verdict));
            }
        };
        if self.file_type.form == BundleForm::Archive {
            return archives::unbundle(input, &options, settings, &mut trace);
        }
        self.print_figures(input)?;
        fatbin_ops::embed::bundle::unbundle(input, &options, &mut trace, &mut |_| ()).map_err(|error| match error {
            BundleError::MissingTargets { missing, .. } => not_found(missing.iter().map(String::as_str).collect()),
            BundleError::NotABundle { .. } => not_found(targets.iter().map(|target| target.id.as_str()).collect()),
            other => errors::format_bundle_error(&other),
        })?;
        if let Some(following) = fatbin_ops::embed::bundle::following_data(input, Some(self.file_type)) {
            self.diagnostics.warning(&ignored(input.path(), following));
        }
        Ok(())
    }

    fn list(&self, input: &Input) -> Result<String> {
        self.print_figures(input)?;
        let mut ids = String::new();
        let mut listed = HashSet::new();
        let list = |_: &Path, id: &str| {
            if listed.insert(id.to_owned()) {
                ids += &format!("{id}\n");
            }
        };
        // The type of an input that is called an archive is detected from its content.
        let file_type = Some(self.file_type).filter(|file_type| file_type.form != BundleForm::Archive);
        fatbin_ops::embed::bundle::list(input, file_type, list).map_err(|error| errors::format_bundle_error(&error))?;
        Ok(ids)
    }

    /// Prints what `-verbose` reports about an input, before the input is processed.
    fn print_figures(&self, input: &Input) -> Result<()> {
        if self.settings.verbose {
            let figures = fatbin_ops::embed::bundle::decompression_stats(input)
                .map_err(|error| errors::format_bundle_error(&error))?;
            verbose::print(input.size(), &figures, self.settings.smallest_file);
        }
        Ok(())
    }

    /// True for an object that sections are or were added to.
    fn is_object(&self, input: &Input) -> bool {
        self.file_type.form == BundleForm::Object && rewrite::object_format(input.view()).is_some()
    }
}

/// Warning about data after the first bundle.
fn ignored(path: &Path, following: FollowingData) -> String {
    let what = match following.bundles {
        0 => "other data follows".to_owned(),
        1 => "1 bundle follows".to_owned(),
        bundles => format!("{bundles} bundles follow"),
    };
    let path = path.display();
    let offset = following.offset;
    format!("{path}: {what} the first bundle at {offset:#x}; use fatbin extract to extract all images")
}

/// Message about missing targets, listed in English.
fn not_found(mut ids: Vec<&str>) -> String {
    ids.sort_unstable();
    let listed = match ids[..] {
        [.., _, _, _] => format!("{}, and {}", ids[..ids.len() - 1].join(", "), ids[ids.len() - 1]),
        _ => ids.join(" and "),
    };
    format!("Can't find bundles for {listed}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_missing_targets_in_english() {
        for (ids, listed) in [("a", "a"), ("b a", "a and b"), ("c a b", "a, b, and c"), ("d c b a", "a, b, c, and d")] {
            assert_eq!(not_found(ids.split(' ').collect()), format!("Can't find bundles for {listed}"));
        }
    }
}
