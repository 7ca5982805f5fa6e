//! `-type=a`: archives of bundles, and the errors about them.

use super::environment::Settings;
use super::{Result, errors, verbose};
use fatbin_core::base::io::Input;
use fatbin_ops::embed::bundle::{BundleError, Explain, UnbundleOptions};

/// Unbundles an archive, after a check of its target IDs if one is requested.
pub fn unbundle(input: &Input, options: &UnbundleOptions, settings: &Settings, trace: &mut Explain) -> Result<()> {
    let mut done = || {
        if settings.check_archive {
            fatbin_ops::embed::bundle::check_archive(input)?;
        }
        if settings.verbose {
            fatbin_ops::embed::bundle::member_decompression_stats(input, &mut |size, figures| {
                verbose::print(size, &figures, settings.smallest_file);
            })?;
        }
        fatbin_ops::embed::bundle::unbundle(input, options, trace, &mut |_| ()).map(drop)
    };
    done().map_err(|error| describe(&error, input, options))
}

fn describe(error: &BundleError, input: &Input, options: &UnbundleOptions) -> String {
    let archive = input.path().display().to_string();
    match error {
        BundleError::ConflictingEntries { path, one, other } => {
            let path = path.display().to_string();
            let member = path.strip_prefix(&format!("{archive}!")).unwrap_or(&path);
            format!("conflicting TargetIDs [{one}, {other}] found in {member} of {archive}")
        }
        BundleError::MissingTargets { missing, .. } => {
            let first = options.targets.iter().find(|target| missing.contains(&target.id));
            let id = first.map_or("", |target| &target.id);
            format!("no compatible code object found for the target '{id}' in heterogeneous archive library: {archive}")
        }
        // The tool's message for a file of any size that is not an archive.
        BundleError::NotABundle { path, .. } if path == input.path() => "file too small to be an archive".to_owned(),
        other => errors::format_bundle_error(other),
    }
}
