//! The options that solve a problem. The library does not know them.

use std::borrow::Cow;

use fatbin_core::base::code::{Coded, Remedy};
use fatbin_core::scan::inventory::File;
use fatbin_ops::check::Verdict;

/// Texts around the message of an error.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Text before the message: the option with an invalid value.
    pub before: &'static str,
    /// Text after the message: the imperative.
    pub after: Cow<'static, str>,
}

/// Returns the message of an error, with the option that solves the problem.
pub fn message(error: &impl Coded) -> String {
    let Options { before, after } = error.class().remedy.as_ref().map(options).unwrap_or_default();
    format!("{before}{error}{after}")
}

/// Returns why a file could not be read, with the option that lets it be read.
pub fn failure(file: &File) -> Option<String> {
    let failure = file.failure.clone()?;
    Some(failure + &file.remedy.as_ref().map(options).unwrap_or_default().after)
}

/// Adds the options that solve the problems to the messages of a verdict.
pub fn complete(verdict: &mut Verdict) {
    for finding in &mut verdict.findings {
        if let Some(remedy) = finding.remedy.take() {
            finding.message += &options(&remedy).after;
        }
    }
}

/// Returns the texts that name the option.
pub fn options(remedy: &Remedy) -> Options {
    let (before, after) = match remedy {
        Remedy::RaiseDecompressedLimit => ("", "; use --decompressed-limit to raise it"),
        Remedy::RaiseLimits => ("", "; use --limit-factor to raise it"),
        Remedy::ReplaceBinaries => ("", "; specify another file, or --force"),
        Remedy::SpecifyReferences => ("", "; specify them with --kpack-path"),
        Remedy::EmbedUnchanged => ("", "; use --raw to embed it unchanged"),
        Remedy::SpecifyArch(file) => return image(format!("file={},arch=ARCH", file.display())),
        Remedy::SpecifyTriple(file) => return image(format!("file={},triple=TRIPLE", file.display())),
        Remedy::SpecifyHost => ("", "; specify --host TRIPLE"),
        Remedy::SpecifyRelease => ("", "; specify the release with --abi"),
        Remedy::ChangeRelease => ("--abi ", ""),
        Remedy::TakeReleaseOfObjects => ("", "; use --abi auto"),
        Remedy::SpellLegacy => ("", "; use --id-style legacy"),
        Remedy::AllowSmallImages => ("--large-images always: ", "; omit it"),
        Remedy::AllowSmallImagesOrEmitObject => ("--large-images always: ", "; omit it or use --emit object"),
        Remedy::AllowSmallFiles => ("--large always: ", "; omit it"),
        Remedy::ChangeSection => ("--section ", ""),
        Remedy::ChangeAlignment => ("--align ", ""),
        Remedy::RenameOrOmitHeader => ("--header: ", "; rename it or omit --header"),
        Remedy::ExtractStored => ("", "; use --stored to extract the raw bytes"),
        Remedy::DistinguishNames => ("", "; add {number} or {file} to --name"),
        Remedy::AllowOtherTarget => ("", "; use --allow-other-target for another target of the same format"),
        Remedy::BreakSignature => ("", "; use --break-signature, and sign the result again"),
        Remedy::SplitIntoFiles => ("", "; use --to files"),
        Remedy::WriteLock => ("", "; compare locks, which are written without --summary"),
        Remedy::RecordSizes => ("", "; --max-growth needs them"),
        Remedy::SpecifyProof => ("", "; pass its proof with --proof"),
        Remedy::SpecifyPtxas => ("", "; pass the path of ptxas with --ptxas"),
    };
    Options { before, after: after.into() }
}

fn image(properties: String) -> Options {
    Options { before: "", after: format!("; specify --image {properties}").into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fatbin_core::base::error::{Cause, Resource};

    #[test]
    fn the_security_policy_lists_the_option_for_each_limit() {
        let policy = include_str!("../../../SECURITY.md");
        for resource in Resource::ALL {
            let row = format!("| {} | ", resource.unit());
            let row = policy.lines().find(|line| line.starts_with(&row)).unwrap();
            let option = row.rsplit('`').nth(1).unwrap();
            let message = message(&Cause::OverBudget { limit: 7, resource });
            let expected =
                format!("exceeds the limit of 7 {} for this file; use {option} to raise it", resource.unit());
            assert_eq!(message, expected);
        }
    }
}
