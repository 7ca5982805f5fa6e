//! Names of members that sign an archive.

use crate::base::archive::Member;

/// Returns whether a member has a name like one of the patterns.
pub fn has_name_like(members: &[Member<'_>], patterns: &[&str]) -> bool {
    let names = members.iter().filter_map(|member| member.name.as_deref());
    names.into_iter().any(|name| patterns.iter().any(|pattern| is_like(name, pattern)))
}

/// Returns whether a path has the form of a pattern. `*` is any text in a component, `**` any number of components.
/// Readers differ in whether they distinguish upper and lower case, and slashes and backslashes, so neither counts.
pub fn is_like(path: &str, pattern: &str) -> bool {
    let components: Vec<&str> = path.split(['/', '\\']).filter(|component| !matches!(*component, "" | ".")).collect();
    let patterns: Vec<&str> = pattern.split('/').collect();
    are_like(&components, &patterns)
}

fn are_like(components: &[&str], patterns: &[&str]) -> bool {
    let Some((pattern, later_patterns)) = patterns.split_first() else { return components.is_empty() };
    if *pattern == "**" {
        let mut rests = (0..=components.len()).filter_map(|start| components.get(start..));
        return rests.any(|rest| are_like(rest, later_patterns));
    }
    let Some((component, rest)) = components.split_first() else { return false };
    is_component_like(component, pattern) && are_like(rest, later_patterns)
}

fn is_component_like(component: &str, pattern: &str) -> bool {
    let component = component.to_ascii_lowercase();
    let pattern = pattern.to_ascii_lowercase();
    match pattern.split_once('*') {
        Some((start, end)) => component.strip_prefix(start).is_some_and(|rest| rest.ends_with(end)),
        None => component == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_components_in_any_case() {
        let cases = [
            ("META-INF/A.SF", "META-INF/*.SF", true),
            ("./meta-inf\\x.sf", "META-INF/*.SF", true),
            ("META-INF/a/B.SF", "META-INF/*.SF", false),
            ("META-INF/MANIFEST.MF", "META-INF/*.SF", false),
            ("A.SF", "META-INF/*.SF", false),
            ("META-INF/SIG-A", "META-INF/SIG-*", true),
            ("p-1.dist-info/RECORD.jws", "*.dist-info/RECORD.jws", true),
            ("a/p-1.dist-info/RECORD.jws", "*.dist-info/RECORD.jws", false),
            ("_CodeSignature/CodeResources", "**/_CodeSignature/CodeResources", true),
            ("Payload/A.app/_CodeSignature/CodeResources", "**/_CodeSignature/CodeResources", true),
            ("Payload/_CodeSignature/A/CodeResources", "**/_CodeSignature/CodeResources", false),
            ("_xmlsignatures/origin.sigs", "_xmlsignatures/**", true),
            ("a/_xmlsignatures/origin.sigs", "_xmlsignatures/**", false),
            ("_gpgorigin", "_gpg*", true),
            ("a_gpgorigin", "_gpg*", false),
        ];
        for (path, pattern, expected) in cases {
            assert_eq!(is_like(path, pattern), expected, "{path} {pattern}");
        }
    }
}
