//! The help, in the layout of the tools.
//!
//! `--help` lists the options under two headings: the options of every tool, and the tool's own. `--help-list` prints
//! one list. All help texts begin in the same column. The widest option that is shown anywhere determines the column.

use super::{GENERIC, GENERIC_CATEGORY, LlvmOption, Shown, Tool, ValueType};

/// Text between an option and its help.
const SEPARATOR: &str = " - ";

/// Text before each value of a choice.
const VALUE_INDENT: &str = "    =";

/// Text of `--help` and `--help-hidden`.
pub fn by_category(tool: &Tool, program: &str, hidden: bool) -> String {
    // The help with headings mentions the list without them.
    let is_shown = |option: &LlvmOption| option.is_shown(hidden) || option.name == "help-list";
    let width = width(tool.all_options().filter(|option| is_shown(option)));
    let mut categories = [(GENERIC_CATEGORY, &GENERIC[..]), (tool.category, tool.options)];
    categories.sort_unstable_by_key(|(category, _)| *category);
    let mut text = head(tool, program);
    for (category, options) in categories {
        text += &format!("\n{category}:\n\n");
        for option in sorted(options.iter().filter(|option| is_shown(option))) {
            text += &entry(option, width);
        }
    }
    text
}

/// Text of `--help-list` and `--help-list-hidden`.
pub fn list(tool: &Tool, program: &str, hidden: bool) -> String {
    let shown = || tool.all_options().filter(|option| option.is_shown(hidden));
    let entries = sorted(shown()).into_iter().map(|option| entry(option, width(shown())));
    std::iter::once(head(tool, program)).chain(entries).collect()
}

fn head(tool: &Tool, program: &str) -> String {
    let positional = tool.positional.as_ref().map(|positional| format!(" {}", positional.help)).unwrap_or_default();
    format!("OVERVIEW: {}\nUSAGE: {program} [options]{positional}\n\nOPTIONS:\n", tool.overview)
}

fn sorted<'a>(options: impl Iterator<Item = &'a LlvmOption>) -> Vec<&'a LlvmOption> {
    let mut options: Vec<_> = options.collect();
    options.sort_unstable_by_key(|option| option.name);
    options
}

fn width<'a>(options: impl Iterator<Item = &'a LlvmOption>) -> usize {
    options.map(LlvmOption::width).max().unwrap_or(0)
}

fn entry(option: &LlvmOption, width: usize) -> String {
    let mut lines = option.help.lines();
    let first = lines.next().unwrap_or_default();
    let column = width + SEPARATOR.len();
    let mut text = format!("{:width$}{SEPARATOR}{first}\n", option.spelled());
    for line in lines {
        text += &format!("{:column$}{line}\n", "");
    }
    if let ValueType::Choice(values) = option.value {
        for (value, meaning) in values {
            text += &format!("{:width$}{SEPARATOR}  {meaning}\n", format!("{VALUE_INDENT}{value}"));
        }
    }
    text
}

impl LlvmOption {
    fn is_shown(&self, hidden: bool) -> bool {
        self.shown == Shown::Always || hidden && self.shown == Shown::InHelpHidden
    }

    /// Option with the name of its value.
    fn spelled(&self) -> String {
        let name = super::dashed(self.name);
        match self.value {
            ValueType::Flag | ValueType::Immediately(_) => format!("  {name}"),
            ValueType::Choice(_) => format!("  {name}=<value>"),
            ValueType::Text(value) | ValueType::Unsigned(value) | ValueType::Integer(value) => {
                let before = if self.name.chars().count() == 1 { " " } else { "=" };
                format!("  {name}{before}<{value}>")
            }
        }
    }

    fn width(&self) -> usize {
        let values = match self.value {
            ValueType::Choice(values) => values,
            _ => &[],
        };
        let values = values.iter().map(|(value, _)| VALUE_INDENT.len() + value.len());
        values.chain([self.spelled().len()]).max().unwrap_or(0)
    }
}
