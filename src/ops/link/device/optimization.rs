//! Levels of optimization.

/// Levels of compilers that linkers and assemblers do not know, and their replacements.
const LEVELS: [(&str, &str); 5] = [("", "1"), ("s", "2"), ("z", "2"), ("g", "1"), ("fast", "3")];

/// Level in an option of a compiler, as linkers and assemblers know it; `None` for other options.
pub fn level(option: &str) -> Option<&str> {
    let level = option.strip_prefix("-O")?;
    Some(LEVELS.iter().find(|(of_compilers, _)| *of_compilers == level).map_or(level, |(_, known)| known))
}
