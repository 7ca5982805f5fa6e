//! `-targets`: valid targets, conflicting targets, and the IDs that are stored for targets.
//!
//! Until LLVM 20, the tool takes the text after a name's last dash as the target ID if it knows that processor, and all
//! before it as a triple of any length. Until LLVM 16 it stores the name as written, later with a triple of four parts.
//! Since LLVM 21, it splits a name at its first five dashes, regardless of the text between them: kind, four parts of a
//! triple, target ID. It stores the triple in normal form and drops a target ID with an unknown processor, so
//! `hip-amdgcn-amd-amdhsa-gfx906` becomes code for any processor. Here, an ID is stored as the tool stores it if that
//! loses nothing. Otherwise it is stored in the intended form, with a warning.
//!
//! Source: the output of clang-offload-bundler 14.0.6, 15.0.6, 16.0.6, 19.1.7 and 22.1.8; for 22.1.8, with every
//! processor that is known here.

use super::Result;
use crate::stand_in::StandIn;
use fatbin_core::target::processors::{FORMER, Processor};
use fatbin_core::target::target_id::{TargetId, cut};
use fatbin_core::target::{BundleEntryId, IdStyle, OffloadKind, Triple, compatibility, names_architecture, subarch};
use fatbin_ops::embed::llvm::Release;
use fatbin_ops::embed::llvm::bundler::IdForm;

const FORMAT: &str = "Targets need to follow the format '<offload kind>-<target triple>', where '<target triple>' follows \
                      the format '<kind>-<arch>-<vendor>-<os>-<env>[-<target id>[:target features]]'.";

const KINDS: [&str; 4] = ["host", "openmp", "hip", "hipv4"];

/// Number of parts of a complete triple.
const TRIPLE_PARTS: usize = 4;

/// A target of `-targets`.
#[derive(Debug, PartialEq, Eq)]
pub struct Target {
    /// Stored ID.
    pub id: String,
    /// ID that the tool stores, if it differs.
    pub tool_id: Option<String>,
    /// True if the target is the host.
    pub is_host: bool,
    /// Warning about the part of the target that the tool would lose, if any.
    pub lost: Option<String>,
}

/// Parses all names. Invalid, duplicate and conflicting targets are errors.
pub fn read(names: &[String], stand_in: &StandIn) -> Result<Vec<Target>> {
    let mut targets: Vec<Target> = Vec::new();
    let mut split_names = Vec::new();
    for (index, name) in names.iter().enumerate() {
        if names[..index].contains(name) {
            return Err(DUPLICATE.to_owned());
        }
        let (split, target) = read_one(name, stand_in)?;
        if targets.iter().any(|other| canonical(&other.id) == canonical(&target.id)) {
            return Err(DUPLICATE.to_owned());
        }
        targets.push(target);
        split_names.push(split);
    }
    if stand_in.release.bundler.rejects_conflicts {
        check_conflicts(&split_names)?;
    }
    Ok(targets)
}

fn check_conflicts(names: &[SplitName]) -> Result<()> {
    for name in names {
        let same_triple = names.iter().filter(|other| (other.kind, &other.triple) == (name.kind, &name.triple));
        if let Some((one, other)) = compatibility::conflict(same_triple.map(|other| other.target_id)) {
            let [one, other] = [one, other].map(|target_id| format!("{}-{}-{target_id}", name.kind, name.triple));
            return Err(format!("Cannot bundle inputs with conflicting targets: '{one}' and '{other}'"));
        }
    }
    Ok(())
}

const DUPLICATE: &str = "Duplicate targets are not allowed";

/// Target of an ID in its canonical form, for any spelling of the triple.
fn canonical(id: &str) -> Option<String> {
    IdStyle::Legacy.id(&BundleEntryId::parse(id)?).ok()
}

/// Parses a name in the form of the release. If nothing specifies the release, a name that it refuses or loses may have
/// the form of an earlier release.
fn read_one<'text>(name: &'text str, stand_in: &StandIn) -> Result<(SplitName<'text>, Target)> {
    let is_subarch = name.split('-').nth(1).is_some_and(subarch::is_spelled_amdgpu);
    let release = &stand_in.release_with(|release| !is_subarch || release.reads_subarchs);
    let own = in_form(release.bundler.ids, name, release);
    if stand_in.is_specified || own.as_ref().is_ok_and(|(_, target)| target.lost.is_none()) {
        return own;
    }
    match (own, in_form(IdForm::Completed, name, release)) {
        (Ok((_, own)), Ok((split, other))) if other.tool_id.is_none() => {
            Ok((split, Target { tool_id: own.tool_id, ..other }))
        }
        (Err(_), Ok(other)) => Ok(other),
        (own, _) => own,
    }
}

fn in_form<'text>(form: IdForm, name: &'text str, release: &Release) -> Result<(SplitName<'text>, Target)> {
    let split = match form {
        IdForm::AsWritten | IdForm::Completed => SplitName::before_processor(name, form, release),
        IdForm::FourParts => SplitName::of_four_parts(name, release)?,
    };
    split.check(name, release)?;
    let target = split.target(name, release.name)?;
    Ok((split, target))
}

/// A name, split like the tool splits it.
struct SplitName<'text> {
    kind: &'text str,
    triple: String,
    target_id: &'text str,
    /// ID that the tool stores.
    stored: String,
}

impl<'text> SplitName<'text> {
    /// Splits a name before its last part, if that is a processor.
    fn before_processor(name: &'text str, form: IdForm, release: &Release) -> Self {
        let before_features = name.split(':').next().unwrap_or_default();
        let (before, last) = before_features.rsplit_once('-').unwrap_or((before_features, ""));
        let is_target_id = last.is_empty() || last == GENERIC || is_known_to_the_tool(last, release);
        let (rest, target_id) =
            if is_target_id { (before, &name[before_features.len() - last.len()..]) } else { (before_features, "") };
        let (kind, triple) = rest.split_once('-').unwrap_or((rest, ""));
        let triple = if form == IdForm::Completed { completed(triple) } else { triple.to_owned() };
        // A name that ends in a dash is appended as a whole.
        let appended = if before_features.ends_with('-') { name } else { target_id };
        let stored = match form {
            IdForm::AsWritten => name.to_owned(),
            IdForm::Completed | IdForm::FourParts => format!("{kind}-{triple}-{appended}"),
        };
        SplitName { kind, triple, target_id, stored }
    }

    fn of_four_parts(name: &'text str, release: &Release) -> Result<Self> {
        let mut parts = name.splitn(2 + TRIPLE_PARTS, '-');
        let kind = parts.next().unwrap_or_default();
        let triple: Vec<&str> = parts.by_ref().take(TRIPLE_PARTS).collect();
        if triple.len() < TRIPLE_PARTS {
            return Err(FORMAT.to_owned());
        }
        let triple = triple.join("-");
        let target_id = parts.next().unwrap_or_default();
        let kept = if is_known_to_the_tool(target_id, release) { target_id } else { "" };
        let stored = format!("{kind}-{}-{kept}", Triple::normalize(&triple));
        Ok(SplitName { kind, triple, target_id, stored })
    }

    fn check(&self, name: &str, release: &Release) -> Result<()> {
        let mut message = format!("invalid target '{name}'");
        let is_spelling_known = release.reads_subarchs || !subarch::is_spelled_amdgpu(&self.triple);
        let kind = KINDS.contains(&self.kind);
        let triple = names_architecture(&self.triple) && is_spelling_known;
        if !kind {
            message += &format!(", unknown offloading kind '{}'", self.kind);
        }
        if !triple {
            message += &format!(", unknown target triple '{}'", self.triple);
        }
        if kind && triple { Ok(()) } else { Err(message) }
    }

    fn target(&self, name: &str, release: &str) -> Result<Target> {
        let meant = BundleEntryId::parse(name).ok_or_else(|| format!("invalid target '{name}'"))?;
        let is_host = meant.kind == OffloadKind::Host;
        let stored = &self.stored;
        let written = meant.target_id.unwrap_or_default();
        if BundleEntryId::parse(stored).is_some_and(|id| id.target_id == meant.target_id) {
            return Ok(Target { id: stored.clone(), tool_id: None, is_host, lost: None });
        }
        let tool_id = Some(stored.clone());
        if written.is_empty() || stored.trim_end_matches('-').ends_with(&format!("-{written}")) {
            return Ok(Target { id: meant.with_target_id(written), tool_id, is_host, lost: None });
        }
        let id = meant.canonical();
        let release = release.trim_start_matches("llvm");
        let lost = format!(
            "clang-offload-bundler of LLVM {release} would store '{name}' as '{stored}'; it is stored as '{id}'"
        );
        Ok(Target { id, tool_id, is_host, lost: Some(lost) })
    }
}

/// Last part of the names of generic processors. The tool knows it as a processor.
const GENERIC: &str = "generic";

/// Triple with all of its parts, which may be empty.
fn completed(triple: &str) -> String {
    let mut parts: Vec<&str> = triple.splitn(TRIPLE_PARTS, '-').collect();
    parts.resize(TRIPLE_PARTS, "");
    parts.join("-")
}

/// Tests whether the tool knows the processor of a target ID. Of the processors known here, it does not know NVIDIA's
/// family names, AMD's alternative names, two that AMD has dropped, and until LLVM 22 the recent ones.
fn is_known_to_the_tool(target_id: &str, release: &Release) -> bool {
    let (written, _) = cut(target_id);
    let is_family = written.starts_with("sm_") && written.ends_with('f');
    let is_primary_name = TargetId::parse(written).is_ok_and(|id| id.processor() == written);
    let is_too_recent = Processor::named(written).is_some_and(|it| it.is_recent && !release.reads_subarchs);
    is_primary_name && !is_family && !FORMER.contains(&written) && !is_too_recent
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stand_in(release: u32) -> StandIn {
        StandIn { release: Release::numbered(release), is_specified: true }
    }

    /// Any release may be the caller.
    fn unspecified() -> StandIn {
        StandIn { is_specified: false, ..stand_in(22) }
    }

    fn read_as(stand_in: &StandIn, names: &str) -> Result<Vec<Target>> {
        read(&names.split(' ').map(str::to_owned).collect::<Vec<_>>(), stand_in)
    }

    fn stored(name: &str) -> (String, bool) {
        let target = read_as(&stand_in(22), name).unwrap().remove(0);
        (target.id, target.lost.is_some())
    }

    #[test]
    fn subarchitectures_are_known_since_llvm_23() {
        // The main branch of clang-offload-bundler stores these; LLVM 14 to 22 refuse them.
        for id in ["hip-amdgpu9.4-amd-amdhsa--gfx9-4-generic:xnack+", "hip-amdgpu9.0a-amd-amdhsa--"] {
            for stand_in in [stand_in(23), stand_in(24), unspecified()] {
                let target = read_as(&stand_in, id).unwrap().remove(0);
                assert_eq!((target.id.as_str(), target.tool_id), (id, None), "{}", stand_in.release.name);
            }
        }
        let recent = read_as(&stand_in(23), "hip-amdgcn-amd-amdhsa--gfx1170").unwrap().remove(0);
        assert_eq!((recent.id.as_str(), recent.lost), ("hip-amdgcn-amd-amdhsa--gfx1170", None));
        for release in [14, 19, 22] {
            let message = read_as(&stand_in(release), "hip-amdgpu9.0a-amd-amdhsa--gfx90a").unwrap_err();
            let expected = "invalid target 'hip-amdgpu9.0a-amd-amdhsa--gfx90a', unknown target triple \
                            'amdgpu9.0a-amd-amdhsa-'";
            assert_eq!(message, expected, "{release}");
        }
        let both = "hip-amdgpu9.0a-amd-amdhsa--gfx90a hip-amdgcn-amd-amdhsa--gfx90a";
        assert_eq!(read_as(&stand_in(23), both).unwrap_err(), DUPLICATE);
        assert!(stored("hip-amdgcn-amd-amdhsa--gfx1170").1, "LLVM 22 does not know it");
    }

    #[test]
    fn accepts_and_stores_the_ids_of_each_release() {
        let cases = [
            (
                "host-x86_64-unknown-linux",
                [Some("host-x86_64-unknown-linux"), Some("host-x86_64-unknown-linux--"), None],
            ),
            (
                "host-x86_64-pc-linux-gnu",
                [
                    Some("host-x86_64-pc-linux-gnu"),
                    Some("host-x86_64-pc-linux-gnu-"),
                    Some("host-x86_64-pc-linux-gnu-"),
                ],
            ),
            (
                "host-x86_64-pc-linux-gnu-",
                [
                    Some("host-x86_64-pc-linux-gnu-"),
                    Some("host-x86_64-pc-linux-gnu-"),
                    Some("host-x86_64-pc-linux-gnu-"),
                ],
            ),
            ("hip-amdgcn-amd-amdhsa", [Some("hip-amdgcn-amd-amdhsa"), Some("hip-amdgcn-amd-amdhsa--"), None]),
            (
                "hip-amdgcn-amd-amdhsa-gfx906",
                [
                    Some("hip-amdgcn-amd-amdhsa-gfx906"),
                    Some("hip-amdgcn-amd-amdhsa--gfx906"),
                    Some("hip-amdgcn-amd-amdhsa--gfx906"),
                ],
            ),
            (
                "hip-amdgcn-amd-amdhsa-gfx90a:xnack+",
                [
                    Some("hip-amdgcn-amd-amdhsa-gfx90a:xnack+"),
                    Some("hip-amdgcn-amd-amdhsa--gfx90a:xnack+"),
                    Some("hip-amdgcn-amd-amdhsa--gfx90a:xnack+"),
                ],
            ),
            (
                "hip-amdgcn-amd-amdhsa-unknown-gfx906",
                [
                    Some("hip-amdgcn-amd-amdhsa-unknown-gfx906"),
                    Some("hip-amdgcn-amd-amdhsa-unknown-gfx906"),
                    Some("hip-amdgcn-amd-amdhsa--gfx906"),
                ],
            ),
            (
                "hip-amdgcn-amd-amdhsa--fiji",
                [
                    Some("hip-amdgcn-amd-amdhsa--fiji"),
                    Some("hip-amdgcn-amd-amdhsa--fiji"),
                    Some("hip-amdgcn-amd-amdhsa--gfx803"),
                ],
            ),
            ("hip-amdgcn-amd-amdhsa--gfx9-4-generic", [Some("hip-amdgcn-amd-amdhsa--gfx9-4-generic"); 3]),
            (
                "hip-spirv64-amd-amdhsa-amdgcnspirv",
                [
                    Some("hip-spirv64-amd-amdhsa-amdgcnspirv"),
                    Some("hip-spirv64-amd-amdhsa--amdgcnspirv"),
                    Some("hip-spirv64-amd-amdhsa--amdgcnspirv"),
                ],
            ),
        ];
        for (name, ids) in cases {
            for (releases, id) in [14..=16, 17..=20, 21..=23].into_iter().zip(ids) {
                for release in releases {
                    let target = read_as(&stand_in(release), name).ok().map(|mut targets| targets.remove(0).id);
                    assert_eq!(target.as_deref(), id, "{name} for LLVM {release}");
                }
            }
        }
    }

    #[test]
    fn accepts_the_ids_of_every_release_if_none_is_specified() {
        let cases = [
            ("host-x86_64-unknown-linux", "host-x86_64-unknown-linux--", None),
            ("hip-amdgcn-amd-amdhsa-gfx906", "hip-amdgcn-amd-amdhsa--gfx906", Some("hip-amdgcn-amd-amdhsa--")),
            ("hip-amdgcn-amd-amdhsa--gfx906", "hip-amdgcn-amd-amdhsa--gfx906", None),
            ("host-x86_64-pc-linux-gnu", "host-x86_64-pc-linux-gnu-", None),
        ];
        for (name, id, tool_id) in cases {
            let target = read_as(&unspecified(), name).unwrap().remove(0);
            assert_eq!((target.id.as_str(), target.tool_id.as_deref(), target.lost), (id, tool_id, None), "{name}");
        }
        let lost = read_as(&unspecified(), "hip-amdgcn-amd-amdhsa--gfx940").unwrap().remove(0).lost;
        assert!(lost.is_some());
        assert_eq!(read_as(&unspecified(), "host").unwrap_err(), FORMAT);
    }

    #[test]
    fn errors_are_those_of_the_release() {
        let cases = [
            (14, "host", "invalid target 'host', unknown target triple ''"),
            (19, "host", "invalid target 'host', unknown target triple '---'"),
            (19, "foo", "invalid target 'foo', unknown offloading kind 'foo', unknown target triple '---'"),
            (
                16,
                "hip--amdgcn-amd-amdhsa--gfx906",
                "invalid target 'hip--amdgcn-amd-amdhsa--gfx906', unknown target triple '-amdgcn-amd-amdhsa-'",
            ),
            (
                19,
                "hip--amdgcn-amd-amdhsa--gfx906",
                "invalid target 'hip--amdgcn-amd-amdhsa--gfx906', unknown target triple '-amdgcn-amd-amdhsa-'",
            ),
            (
                22,
                "hip--amdgcn-amd-amdhsa--gfx906",
                "invalid target 'hip--amdgcn-amd-amdhsa--gfx906', unknown target triple '-amdgcn-amd-amdhsa'",
            ),
            (
                16,
                "hip-amdgcn-amd-amdhsa-gfx906 hip-amdgcn-amd-amdhsa-gfx906:xnack+",
                "Cannot bundle inputs with conflicting targets: 'hip-amdgcn-amd-amdhsa-gfx906' and 'hip-amdgcn-amd-amdhsa-gfx906:xnack+'",
            ),
            (
                19,
                "hip-amdgcn-amd-amdhsa-gfx906 hip-amdgcn-amd-amdhsa--gfx906:xnack+",
                "Cannot bundle inputs with conflicting targets: 'hip-amdgcn-amd-amdhsa--gfx906' and 'hip-amdgcn-amd-amdhsa--gfx906:xnack+'",
            ),
        ];
        for (release, names, message) in cases {
            assert_eq!(read_as(&stand_in(release), names).unwrap_err(), message, "LLVM {release}");
        }
        let conflict = "hip-amdgcn-amd-amdhsa-gfx906 hip-amdgcn-amd-amdhsa-gfx906:xnack+";
        assert_eq!(read_as(&stand_in(15), conflict).unwrap().len(), 2);
    }

    #[test]
    fn stores_a_target_like_the_tool_if_nothing_is_lost() {
        let cases = [
            ("host-x86_64-unknown-linux-gnu", "host-x86_64-unknown-linux-gnu-"),
            ("host-x86_64-unknown-linux-", "host-x86_64-unknown-linux-unknown-"),
            ("hip-x86_64-linux-gnu-", "hip-x86_64-unknown-linux-gnu-"),
            ("hip-amdgcn-amd-amdhsa-", "hip-amdgcn-amd-amdhsa--"),
            ("hipv4-amdgcn-amd-amdhsa-unknown-gfx906", "hipv4-amdgcn-amd-amdhsa--gfx906"),
            ("hip-amdgcn-amd-amdhsa--gfx906:xnack+:sramecc-", "hip-amdgcn-amd-amdhsa--gfx906:xnack+:sramecc-"),
            ("hip-amdgcn-amd-amdhsa--gfx906:bogus+", "hip-amdgcn-amd-amdhsa--gfx906:bogus+"),
            ("hip-amdgcn-amd-amdhsa--gfx9-4-generic:xnack+", "hip-amdgcn-amd-amdhsa--gfx9-4-generic:xnack+"),
            ("openmp-nvptx64-nvidia-cuda--sm_70", "openmp-nvptx64-nvidia-cuda-unknown-sm_70"),
            ("hip-spirv64-amd-amdhsa--amdgcnspirv", "hip-spirv64-amd-amdhsa--amdgcnspirv"),
        ];
        for (name, id) in cases {
            assert_eq!(stored(name), (id.to_owned(), false), "{name}");
        }
    }

    #[test]
    fn keeps_what_the_tool_would_lose_and_warns() {
        let cases = [
            ("hip-amdgcn-amd-amdhsa--fiji", "hip-amdgcn-amd-amdhsa--gfx803"),
            ("hip-amdgcn-amd-amdhsa--gfx940", "hip-amdgcn-amd-amdhsa--gfx940"),
            ("hip-amdgcn-amd-amdhsa--gfx9999:xnack+", "hip-amdgcn-amd-amdhsa--gfx9999:xnack+"),
            ("hip-amdgcn-amd-amdhsa-gfx906", "hip-amdgcn-amd-amdhsa--gfx906"),
            ("openmp-nvptx64-nvidia-cuda--sm_100f", "openmp-nvptx64-nvidia-cuda-unknown-sm_100f"),
            ("host-x86_64-unknown-linux-gnu-skylake", "host-x86_64-unknown-linux-gnu-skylake"),
        ];
        for (name, id) in cases {
            assert_eq!(stored(name), (id.to_owned(), true), "{name}");
        }
        let target = read_as(&stand_in(22), "hip-amdgcn-amd-amdhsa--fiji").unwrap().remove(0);
        let message = "clang-offload-bundler of LLVM 22 would store 'hip-amdgcn-amd-amdhsa--fiji' as \
                       'hip-amdgcn-amd-amdhsa--'; it is stored as 'hip-amdgcn-amd-amdhsa--gfx803'";
        assert_eq!(target.lost.as_deref(), Some(message));
    }

    #[test]
    fn rejects_invalid_duplicate_and_conflicting_targets() {
        let cases = [
            ("foo foo", FORMAT),
            ("host-x86_64-unknown-linux", FORMAT),
            ("", FORMAT),
            ("cuda-nvptx64-nvidia-cuda-", "invalid target 'cuda-nvptx64-nvidia-cuda-', unknown offloading kind 'cuda'"),
            (
                "foo-bar-a-b-c",
                "invalid target 'foo-bar-a-b-c', unknown offloading kind 'foo', unknown target triple 'bar-a-b-c'",
            ),
            ("hip-amdgcn-a/b-linux-gnu", "invalid target 'hip-amdgcn-a/b-linux-gnu'"),
            ("hip-amdgcn-amd-amdhsa-- hip-amdgcn-amd-amdhsa--", DUPLICATE),
            ("hip-amdgcn-amd-amdhsa--gfx906 hip-amdgcn-amd-amdhsa-unknown-gfx906", DUPLICATE),
            ("hip-amdgcn-amd-amdhsa--fiji hip-amdgcn-amd-amdhsa--polaris10", DUPLICATE),
            (
                "hip-amdgcn-amd-amdhsa--gfx906:xnack+ hip-amdgcn-amd-amdhsa--gfx906",
                "Cannot bundle inputs with conflicting targets: 'hip-amdgcn-amd-amdhsa--gfx906' and \
                 'hip-amdgcn-amd-amdhsa--gfx906:xnack+'",
            ),
        ];
        for (names, message) in cases {
            assert_eq!(read_as(&stand_in(22), names).unwrap_err(), message, "{names}");
        }
        let different = "hip-amdgcn-amd-amdhsa--gfx906:xnack+ hipv4-amdgcn-amd-amdhsa--gfx906";
        assert_eq!(read_as(&stand_in(22), different).unwrap().len(), 2);
    }
}
