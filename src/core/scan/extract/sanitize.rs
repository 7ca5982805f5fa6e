//! Text from files as parts of file names.

use crate::base::escape::is_escaped;

/// Maximum length of a part of a name that comes from the contents of a file, in bytes. A whole name has at most 255
/// bytes.
const MAX_PART: usize = 48;

/// Converts text from a file to a part of a file name: without characters that separate directories or need quoting,
/// without a leading dot, and of bounded length.
pub fn name_part(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '_' };
    let text: String = text.chars().map(plain).take(MAX_PART).collect();
    match text.strip_prefix('.') {
        Some(rest) => format!("_{rest}"),
        None => text,
    }
}

/// Device names on Windows, regardless of the extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
const NUMBERED_DEVICES: [&str; 2] = ["com", "lpt"];

/// Converts a component of a path to a plain file name on every system.
pub fn path_component(part: &str) -> String {
    let forbidden = |c: char| is_escaped(c) || "<>:\"|?*\\".contains(c);
    let part = part.replace(forbidden, "_");
    let stem = part.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let number = NUMBERED_DEVICES.iter().find_map(|device| stem.strip_prefix(device));
    let is_numbered = number.is_some_and(|number| number.len() == 1 && number != "0");
    let is_device = is_numbered || DEVICES.contains(&stem.as_str());
    let front = if is_device || part.starts_with('.') { "_" } else { "" };
    let rest = part.strip_prefix('.').unwrap_or(&part);
    let kept = rest.trim_end_matches(['.', ' ']);
    format!("{front}{kept}{}", "_".repeat(rest.len() - kept.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_component_is_a_file_name_on_every_system() {
        let cases = [
            ("con.elf", "_con.elf"),
            ("LPT1", "_LPT1"),
            ("com10.x", "com10.x"),
            ("a:b?c", "a_b_c"),
            ("a\u{1b}\u{9b}\u{202e}\u{200b}é", "a____é"),
            ("end. ", "end__"),
            ("..", "__"),
            (".hidden", "_hidden"),
        ];
        for (part, expected) in cases {
            assert_eq!(path_component(part), expected, "{part}");
        }
    }
}
