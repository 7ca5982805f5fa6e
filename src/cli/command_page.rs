//! The definition of a command as a page in Markdown.

use std::fmt::Write;

use clap::{Arg, Command};

use super::help::{JOBS, Job};

/// Variables that all commands read, and their meanings.
const VARIABLES: [(&str, &str); 6] = [
    ("FATBIN_THREADS", "Maximum number of threads, as `--threads`"),
    ("FATBIN_LLVM", "Release of LLVM that a drop-in is, where nothing else states it"),
    ("NO_COLOR", "No colors, if it is not empty"),
    ("CLICOLOR", "0: no colors; another value: colors on terminals"),
    ("CLICOLOR_FORCE", "Colors everywhere, if it is not empty"),
    ("ROCM_PATH, CUDA_PATH", "Directories with the device linkers of `link`"),
];

/// Beginning of the paragraph about the exit status.
const STATUS: &str = "Exit status: ";

/// Returns the page of a command: synopsis, description, arguments, options and exit status. `guide` are the paths of
/// pages of the guide about it, with their titles.
pub fn command_page(command: &Command, guide: &[(String, &str)]) -> String {
    let name = display_name(command);
    let mut page = format!("# {name}\n\n");
    let about = command.get_long_about().or_else(|| command.get_about()).map(ToString::to_string).unwrap_or_default();
    let (description, status) = about.split_once(STATUS).unwrap_or((&about, ""));
    let mut paragraphs = description.split("\n\n").map(str::trim).filter(|it| !it.is_empty());
    if let Some(summary) = paragraphs.next() {
        write_paragraph(&mut page, summary);
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    page += &format!("```text\n{usage}\n```\n\n");
    for paragraph in paragraphs {
        write_paragraph(&mut page, paragraph);
    }
    for (path, title) in guide {
        page += &format!("In the guide: [{}]({path})\n\n", escaped(title));
    }
    let arguments: Vec<&Arg> = command.get_positionals().collect();
    write_arguments(&mut page, "Arguments", &arguments);
    let options = command.get_arguments().filter(|it| !it.is_positional() && !it.is_hide_set() && !is_common(it));
    let options: Vec<&Arg> = options.collect();
    let mut headings = vec![None];
    headings.extend(options.iter().map(|option| option.get_help_heading()).filter(Option::is_some));
    for (index, heading) in headings.iter().enumerate().filter(|(index, it)| !headings[..*index].contains(it)) {
        let options: Vec<&Arg> = options.iter().copied().filter(|it| it.get_help_heading() == *heading).collect();
        let title = if index == 0 { "Options" } else { heading.unwrap_or_default() };
        write_arguments(&mut page, title, &options);
    }
    if !status.is_empty() {
        page += "## Exit status\n\n";
        write_paragraph(&mut page, status);
    }
    page.truncate(page.trim_end().len());
    page + "\n"
}

/// Returns the page that lists all commands, with the options and variables that they share.
pub fn index_page(program: &Command) -> String {
    let mut page = "# Commands\n\nThe pages are generated from the definitions of the options: `fatbin help COMMAND` prints the same.\n"
        .to_owned();
    for Job { name, meaning, commands } in JOBS {
        let _ = write!(page, "\n## {name} {meaning}\n\n| command | purpose |\n|---|---|\n");
        for command in commands.iter().filter_map(|name| program.find_subcommand(name)) {
            let name = command.get_name();
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(page, "| [{name}]({name}.md) | {} |", escaped(&about).replace('|', "\\|"));
        }
    }
    page += "\n";
    let common: Vec<&Arg> = program.get_arguments().collect();
    write_arguments(&mut page, "Options of all commands", &common);
    page += "## Environment\n\n| variable | meaning |\n|---|---|\n";
    for (name, meaning) in VARIABLES {
        let _ = writeln!(page, "| `{}` | {meaning} |", name.replace(", ", "`, `"));
    }
    let about = program.get_long_about().map(ToString::to_string).unwrap_or_default();
    if let Some((_, status)) = about.split_once(STATUS) {
        page += "\n## Exit status\n\n";
        write_paragraph(&mut page, status);
    }
    page.truncate(page.trim_end().len());
    page + "\n"
}

/// Returns the commands with pages.
pub fn commands(program: &Command) -> impl Iterator<Item = &Command> {
    program.get_subcommands().filter(|command| !command.is_hide_set())
}

fn display_name(command: &Command) -> String {
    command.get_bin_name().unwrap_or(command.get_name()).to_owned()
}

fn is_common(argument: &Arg) -> bool {
    argument.is_global_set() || matches!(argument.get_id().as_str(), "help" | "version")
}

fn write_arguments(page: &mut String, heading: &str, arguments: &[&Arg]) {
    if arguments.is_empty() {
        return;
    }
    let _ = write!(page, "## {heading}\n\n");
    for argument in arguments {
        let help = argument.get_long_help().or_else(|| argument.get_help()).map(ToString::to_string);
        let help = help.unwrap_or_default();
        let mut paragraphs = help.split("\n\n").map(str::trim).filter(|it| !it.is_empty());
        let mut lines = paragraphs.next().unwrap_or_default().lines();
        let _ = write!(page, "- `{}`: {}\n\n", syntax(argument), escaped(lines.next().unwrap_or_default()));
        // A value in each line.
        let values: String = lines.map(|line| format!("    - {}\n", escaped(line))).collect();
        if !values.is_empty() {
            let _ = writeln!(page, "{values}");
        }
        for paragraph in paragraphs {
            let _ = write!(page, "    {}\n\n", escaped(paragraph));
        }
        write_values(page, argument);
    }
}

/// Writes the default of an argument, and its possible values.
fn write_values(page: &mut String, argument: &Arg) {
    if !argument.get_action().takes_values() {
        return;
    }
    let defaults: Vec<String> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if !defaults.is_empty() && !argument.is_hide_default_value_set() {
        let _ = write!(page, "    Default: `{}`\n\n", defaults.join(" "));
    }
    let values: Vec<_> = argument.get_possible_values().into_iter().filter(|value| !value.is_hide_set()).collect();
    if values.is_empty() || argument.is_hide_possible_values_set() {
        return;
    }
    let value = |value: &clap::builder::PossibleValue| match value.get_help() {
        Some(help) => format!("`{}` ({})", value.get_name(), escaped(&help.to_string())),
        None => format!("`{}`", value.get_name()),
    };
    let _ = write!(page, "    Values: {}\n\n", values.iter().map(value).collect::<Vec<_>>().join(", "));
}

/// Formats an argument as it is written on the command line.
fn syntax(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    let values: Vec<String> = names.iter().map(|name| format!("<{name}>")).collect();
    let values = if argument.get_action().takes_values() { values.join(" ") } else { String::new() };
    let is_optional = argument.get_num_args().is_some_and(|range| range.min_values() == 0);
    let short = argument.get_short().map(|letter| format!("-{letter}"));
    let long = argument.get_long().map(|name| format!("--{name}"));
    let option = [short, long].into_iter().flatten().collect::<Vec<_>>().join(", ");
    match (option.is_empty(), values.is_empty()) {
        (true, _) if argument.is_required_set() => values,
        (true, _) => format!("[{}]", values.trim_matches(['<', '>'])),
        (false, true) => option,
        (false, false) if is_optional => format!("{option}[={}]", values.trim_matches(['<', '>'])),
        (false, false) => format!("{option} {values}"),
    }
}

fn write_paragraph(page: &mut String, text: &str) {
    let _ = write!(page, "{}\n\n", escaped(text));
}

/// Escapes words that Markdown would take for markup, by making them code.
fn escaped(text: &str) -> String {
    let mut is_code = false;
    let words = text.split_whitespace().map(|word| {
        let was_code = is_code;
        is_code ^= word.matches('`').count() % 2 == 1;
        let has_markup = word.contains(['*', '<']) || word.starts_with('_') || word.contains("__");
        if was_code || word.contains('`') || !has_markup {
            return word.to_owned();
        }
        let end = word.trim_end_matches([',', '.', ';', ':', ')']).len();
        let start = word.len() - word.trim_start_matches('(').len();
        format!("{}`{}`{}", &word[..start], &word[start..end], &word[end..])
    });
    words.collect::<Vec<_>>().join(" ")
}
